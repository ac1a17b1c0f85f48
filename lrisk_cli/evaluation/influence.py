"""Intervals of figures by influence functions: one pass over the rows, no resampling.

A figure t of n rows is, to first order, the mean of t + IF_i; its standard error is the root of
mean(IF^2) / n, and the interval t -+ 1.96 of it. Letters: l_(1) <= ... <= l_(n) sorted losses,
sigma their weights, e errors, q the fraction of rows that are hits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np

from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array

# The quantile of the normal distribution that 95 % of it are within.
Z = 1.959963984540054

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScoredGroup:
    """The rows of a group. losses: as they are read, (n,). targets, predictions: numbers or codes.

    probabilities: of classes, (n, k). weights: of the rows, if they have any. All (n, ...).
    """

    losses: Array
    targets: Array
    predictions: Array
    probabilities: Array | None
    weights: Array | None = None

    @property
    def errors(self) -> Array:
        """prediction - target."""
        return self.predictions - self.targets


def risk_interval(ascending: Array, spectrum: Spectrum, value: float) -> Ends | None:
    """Of a spectral risk. With s(i/n) = n (sigma_i + sigma_(i+1)) / 2,

    IF of the row of rank j = sum over i < j of s(i/n) (l_(i+1) - l_(i)), less its mean.
    """
    n = len(ascending)
    if n < 2:
        return None
    sigma = spectrum.weights(n)
    steps = np.diff(ascending)
    steps *= (sigma[1:] + sigma[:-1]) * (0.5 * n)
    return _around(value, np.concatenate(([0.0], np.cumsum(steps))), least=0.0)


def error_interval(name: str, rows: ScoredGroup, value: float | None) -> Ends | None:
    """Of a metric of predictions; None where no influence function of it is known here."""
    formula = _FORMULAS.get(name)
    if formula is None or value is None or len(rows.losses) < 2:
        return None
    return formula(rows, value)


def _around(
    value: float, influence: Array, *, least: float = -np.inf, most: float = np.inf
) -> Ends | None:
    """value -+ 1.96 standard errors, within what the figure can be."""
    n = len(influence)
    error = float(np.std(influence, ddof=1)) / sqrt(n)
    if not np.isfinite(error):
        return None
    return max(value - Z * error, least), min(value + Z * error, most)


def wilson(q: float, n: int) -> Ends:
    """Wilson's interval of a fraction of n rows."""
    middle, width = q + Z * Z / (2 * n), Z * sqrt(q * (1.0 - q) / n + Z * Z / (4.0 * n * n))
    below = 1.0 + Z * Z / n
    return max((middle - width) / below, 0.0), min((middle + width) / below, 1.0)


def _rmse(rows: ScoredGroup, value: float) -> Ends | None:
    if value == 0.0:
        return None
    return _around(value, rows.errors**2 / (2.0 * value), least=0.0)


def _median(rows: ScoredGroup, _: float) -> Ends:
    """Between order statistics, whatever the distribution."""
    ascending, n = np.sort(np.abs(rows.errors)), len(rows.losses)
    away = 0.5 * Z * sqrt(n)
    low, high = int(np.floor(0.5 * n - away)), int(np.ceil(0.5 * n + away))
    return float(ascending[max(low, 0)]), float(ascending[min(high, n - 1)])


def _r2(rows: ScoredGroup, value: float) -> Ends | None:
    """1 - r2 is a ratio of means, of e^2 and of (y - mean y)^2."""
    away = (rows.targets - rows.targets.mean()) ** 2
    influence = (rows.errors**2 - (1.0 - value) * away) / away.mean()
    return _around(value, influence, most=1.0)


def _mape(rows: ScoredGroup, value: float) -> Ends | None:
    return _around(value, np.abs(rows.errors / rows.targets), least=0.0)


def _hits(rows: ScoredGroup, value: float) -> Ends:
    return wilson(value, len(rows.losses))


def _brier(rows: ScoredGroup, value: float) -> Ends | None:
    P = rows.probabilities
    if P is None:
        return None
    if P.shape[1] == 2:
        squares = (P[:, 1] - rows.targets) ** 2
    else:
        right = P[np.arange(len(P)), rows.targets.astype(np.intp)]
        squares = np.einsum("ij,ij->i", P, P) - right**2 + (1.0 - right) ** 2
    return _around(value, squares, least=0.0)


def _precision(rows: ScoredGroup, value: float) -> Ends | None:
    predicted = int(np.count_nonzero(rows.predictions == 1))
    return wilson(value, predicted) if _two_classes(rows) and predicted else None


def _recall(rows: ScoredGroup, value: float) -> Ends | None:
    actual = int(np.count_nonzero(rows.targets == 1))
    return wilson(value, actual) if _two_classes(rows) and actual else None


def _f1(rows: ScoredGroup, value: float) -> Ends | None:
    """A ratio of means: twice the hits over rows of the class and rows predicted as it."""
    if not _two_classes(rows):
        return None
    actual, predicted = rows.targets == 1, rows.predictions == 1
    below = actual.astype(np.float64) + predicted
    influence = (2.0 * (actual & predicted) - value * below) / below.mean()
    return _around(value, influence, least=0.0, most=1.0)


def _balanced(rows: ScoredGroup, value: float) -> Ends:
    """A mean of independent fractions."""
    actual = rows.targets.astype(np.intp)
    counts = np.bincount(actual)
    hits = np.bincount(actual, weights=rows.predictions == rows.targets)
    some = counts > 0
    recalls = hits[some] / counts[some]
    error = sqrt(float(np.sum(recalls * (1.0 - recalls) / counts[some]))) / len(recalls)
    return max(value - Z * error, 0.0), min(value + Z * error, 1.0)


def _roc_auc(rows: ScoredGroup, value: float) -> Ends | None:
    """By DeLong's placements: how often a row is on the right side of those of the other class."""
    if not _two_classes(rows) or rows.probabilities is None:
        return None
    p, second = rows.probabilities[:, 1], rows.targets == 1
    parts = np.sort(p[~second]), np.sort(p[second])
    if min(map(len, parts)) < 2:
        return None
    square = 0.0
    for own, other in (parts, parts[::-1]):
        below = np.searchsorted(other, own, "left") + np.searchsorted(other, own, "right")
        square += float(np.var(below / (2.0 * len(other)), ddof=1)) / len(own)
    return max(value - Z * sqrt(square), 0.0), min(value + Z * sqrt(square), 1.0)


def _two_classes(rows: ScoredGroup) -> bool:
    return rows.probabilities is not None and rows.probabilities.shape[1] == 2


_FORMULAS: dict[str, Callable[[ScoredGroup, float], Ends | None]] = {
    "rmse": _rmse,
    "mae": lambda rows, value: _around(value, np.abs(rows.errors), least=0.0),
    "median_error": _median,
    "r2": _r2,
    "bias": lambda rows, value: _around(value, rows.errors),
    "mape": _mape,
    "accuracy": _hits,
    "balanced_accuracy": _balanced,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "brier": _brier,
    "roc_auc": _roc_auc,
    "log_loss": lambda rows, value: _around(value, rows.losses, least=0.0),
    "mean_deviance": lambda rows, value: _around(value, 2.0 * rows.losses, least=0.0),
    "pinball": lambda rows, value: _around(value, rows.losses, least=0.0),
    "below": _hits,
}
