"""Losses -> where the inliers end: the share of outliers, and the score beyond which rows are."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Kind = Literal["squared", "logistic"]

# A robust deviation of normal errors is this many times their median absolute value.
MAD_TO_DEVIATION = 1.4826
AUTO_THRESHOLD = 3.0


@dataclass(frozen=True, slots=True)
class Border:
    """Where inliers end.

    fraction: share of the rows taken for outliers, estimated or as given. threshold: a row is an
    outlier when its score exceeds it. scale: score = sqrt(2 loss) / scale for squared losses and
    squared distances; for logistic ones the loss itself (scale 1).
    """

    fraction: float
    threshold: float
    scale: float


def find_border(losses: Array, kind: Kind, contamination: float | None) -> Border:
    """The border of these losses. contamination: None to estimate it; losses: (n,).

    Of a fraction, exactly round(fraction n) rows exceed the threshold; fewer only where losses tie.
    """
    scale = 1.0
    if kind == "squared":
        scale = MAD_TO_DEVIATION * float(np.median(np.sqrt(2.0 * losses))) or 1.0
    values = scores(losses, kind, Border(0.0, 0.0, scale))
    n = len(values)
    if contamination is None:
        spread = MAD_TO_DEVIATION * float(np.median(np.abs(values - np.median(values))))
        usual = 1.0 if kind == "squared" else float(np.median(values)) / AUTO_THRESHOLD + spread
        threshold = AUTO_THRESHOLD * usual
        return Border(float(np.mean(values > threshold)), threshold, scale)
    place = n - round(contamination * n) - 1
    threshold = float(np.partition(values, place)[place])
    return Border(contamination, threshold, scale)


def scores(losses: Array, kind: Kind, border: Border) -> Array:
    """How outlying each row is; rises with the loss. (n,)."""
    if kind == "logistic":
        return losses / border.scale
    found: Array = np.sqrt(2.0 * losses) / border.scale
    return found
