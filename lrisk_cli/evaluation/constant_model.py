"""How much better a model is than one that predicts the same for every row."""

from collections.abc import Callable
from itertools import pairwise
from math import log

import numpy as np

from lrisk_cli.evaluation.class_errors import Counts
from lrisk_cli.losses.base import Loss
from lrisk_cli.models.model import Model
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.value import sort_losses, spectral_risk
from lrisk_cli.risk.weighted import SortedMasses
from lrisk_cli.types import Array, Codes, Targets

# Rows on which the two are compared, evenly spaced; all of them where there are no more.
MOST_ROWS = 20_000
_STEPS = 48
_RATIO = (5.0**0.5 - 1.0) / 2.0


def sampled(n_rows: int) -> slice:
    """Evenly spaced rows, at most MOST_ROWS."""
    return slice(0, n_rows, max(1, -(-n_rows // MOST_ROWS)))


def gain_over_constant(
    model: Model,
    Z: Array,
    targets: Targets,
    exposure: Array | None,
    masses: Array | None = None,
) -> float | None:
    """1 - R(model) / R(best constant) for the rising risk R that was minimised; None for others.

    Z: margins of the rows, (n, outputs). Without an intercept the constant is 0. masses: of the
    rows, where they count for unlike much. (n,).
    """
    spectrum, loss = model.spectrum, model.row_loss
    if not spectrum.rising:
        return None

    def risk(losses: Array) -> float:
        return _risk(losses, spectrum, masses)

    reached = risk(model.losses(Z, targets, exposure))
    if model.target.classes and model.encoding.intercept:
        codes: Codes = np.asarray(targets, dtype=np.int32)
        sizes = np.bincount(codes, masses, len(model.target.classes))
        best = class_entropy(sizes, spectrum)
    else:
        best = _least_risk(model, loss, loss.targets(targets, exposure), Z, risk)
    return 1.0 - reached / best if best > 0.0 else None


def class_entropy(counts: Counts, spectrum: Spectrum) -> float:
    """The least risk of constant class probabilities: max of the entropy H(q) over class masses q.

    F(m) is the weight of the m largest losses. Masses are possible if any classes with m rows
    have at most F(m); of these the most even are the slopes of the greatest convex minorant of
    (j, F(n_1 + ... + n_j)), smallest classes first. counts: rows of each class, or their mass.
    """
    sizes = np.sort(counts[counts > 0])
    upto = np.cumsum(sizes)
    if sizes.dtype.kind == "f":
        above = spectrum.of_rows(upto.astype(np.float64), np.zeros(len(upto)), float(upto[-1]))
    else:
        above = np.cumsum(spectrum.weights(int(upto[-1]))[::-1])[upto - 1]
    heights = [0.0, *above.tolist()]
    hull: list[int] = []
    for k in range(len(heights)):
        while len(hull) > 1 and _slope(heights, hull[-2], hull[-1]) >= _slope(heights, hull[-1], k):
            hull.pop()
        hull.append(k)
    masses = [(_slope(heights, low, high), high - low) for low, high in pairwise(hull)]
    return -sum(n * q * log(q) for q, n in masses if q > 0.0)


def _slope(heights: list[float], low: int, high: int) -> float:
    return (heights[high] - heights[low]) / (high - low)


def _risk(losses: Array, spectrum: Spectrum, masses: Array | None) -> float:
    ascending, ordered = np.array(losses), None if masses is None else np.array(masses)
    sort_losses(ascending, ordered)
    return spectral_risk(ascending, spectrum, None if ordered is None else SortedMasses(ordered))


def _least_risk(
    model: Model, loss: Loss, targets: Targets, Z: Array, risk: Callable[[Array], float]
) -> float:
    """By golden section: the risk is convex in the constant."""
    Z = model.in_units(Z)
    if not model.encoding.intercept or Z.shape[1] > 1:
        return risk(loss.values(np.zeros_like(Z), targets))

    def at(constant: float) -> float:
        with np.errstate(over="ignore"):
            losses = loss.values(np.full_like(Z, constant), targets)
        return risk(losses) if np.isfinite(losses).all() else float("inf")

    middle = float(np.median(Z))
    width = max(float(Z.max() - Z.min()), 1e-3 * abs(middle), model.target.scale)
    return _golden_section(at, *_bracket(at, middle, width))


def _bracket(at: Callable[[float], float], middle: float, width: float) -> tuple[float, float]:
    """An interval with the minimum inside."""
    low, high, here = middle - width, middle + width, at(middle)
    for _ in range(60):
        if at(low) >= here and at(high) >= here:
            break
        low, high = (low - (high - low), high) if at(low) < here else (low, high + (high - low))
    return low, high


def _golden_section(at: Callable[[float], float], low: float, high: float) -> float:
    left, right = high - _RATIO * (high - low), low + _RATIO * (high - low)
    of_left, of_right = at(left), at(right)
    for _ in range(_STEPS):
        if of_left <= of_right:
            high, right, of_right = right, left, of_left
            left = high - _RATIO * (high - low)
            of_left = at(left)
        else:
            low, left, of_left = left, right, of_right
            right = low + _RATIO * (high - low)
            of_right = at(right)
    return min(of_left, of_right)
