"""Intervals of figures by influence functions: one pass over the rows, no resampling.

A figure t of n rows is, to first order, the mean of t + IF_i; its standard error is the root of
mean(IF^2) / n, and the interval t -+ 1.96 of it. Letters: l_(1) <= ... <= l_(n) sorted losses,
sigma their weights, e errors, q the fraction of rows that are hits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from lrisk_cli.design.weights import effective_rows, total_weight
from lrisk_cli.names import WeightKind
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array, Flags

# The quantile of the normal distribution that 95 % of it are within.
Z = 1.959963984540054

Ends = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScoredGroup:
    """The rows of a group. losses: as they are read, (n,). targets, predictions: numbers or codes.

    probabilities: of classes, (n, k). weights: of the rows, if they have any, and their kind. All
    (n, ...).
    """

    losses: Array
    targets: Array
    predictions: Array
    probabilities: Array | None
    weights: Array | None = None
    kind: WeightKind = WeightKind.FREQUENCY

    @property
    def errors(self) -> Array:
        """prediction - target."""
        return self.predictions - self.targets

    def mean(self, values: Array) -> float:
        """By the weights of the rows. (n,)."""
        if self.weights is None:
            return float(values.mean())
        return float(self.weights @ values / self.weights.sum())

    def count(self, rows: Flags | slice = slice(None)) -> float:
        """How many equal rows these are as good as."""
        if self.weights is None:
            return float(
                np.count_nonzero(rows) if isinstance(rows, np.ndarray) else len(self.losses)
            )
        return count_rows(self.weights[rows], self.kind)

    def error(self, influence: Array, rows: Flags | slice = slice(None)) -> float:
        """The standard error of the mean of these numbers, each of one of these rows."""
        weights = None if self.weights is None else self.weights[rows]
        return standard_error(influence, weights, self.kind)


def count_rows(weights: Array, kind: WeightKind) -> float:
    """How many equal rows weighted ones are as good as: their sum, or Kish's effective number."""
    if not weights.any():
        return 0.0
    return effective_rows(weights) if kind is WeightKind.IMPORTANCE else total_weight(weights)


def standard_error(
    values: Array, weights: Array | None = None, kind: WeightKind = WeightKind.FREQUENCY
) -> float:
    """Of their mean: sd / sqrt(n), with k of equal rows for weighted ones, as `count_rows`.

    Of importances the variance is that of the sandwich, sum p^2 (v - mean)^2 k / (k - 1) with
    p = w / sum w; of frequencies that of copies, sum w (v - mean)^2 / (k - 1) / k. NaN for k <= 1.
    """
    if weights is None:
        return float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else nan
    k, p = count_rows(weights, kind), weights / weights.sum()
    if k <= 1.0:
        return nan
    away = np.square(values - p @ values)
    if kind is WeightKind.IMPORTANCE:
        return sqrt(float(np.square(p) @ away) * k / (k - 1.0))
    return sqrt(float(p @ away) / (k - 1.0))


def risk_interval(
    ascending: Array,
    spectrum: Spectrum,
    value: float,
    weights: Array | None = None,
    kind: WeightKind = WeightKind.FREQUENCY,
) -> Ends | None:
    """Of a spectral risk. With s(i/n) = n (sigma_i + sigma_(i+1)) / 2,

    IF of the row of rank j = sum over i < j of s(i/n) (l_(i+1) - l_(i)), less its mean. weights: of
    the sorted rows, if they have any; sigma is then that of a unit of weight on either side.
    """
    steps = np.diff(ascending)
    if weights is None:
        n = len(ascending)
        sigma = spectrum.weights(n)
        steps *= (sigma[1:] + sigma[:-1]) * (0.5 * n)
    else:
        steps *= _density_between(weights, spectrum)
    influence = np.concatenate(([0.0], np.cumsum(steps)))
    return _around(value, standard_error(influence, weights, kind), least=0.0)


def _density_between(weights: Array, spectrum: Spectrum) -> Array:
    """s between the sorted rows: that of a unit below and one above the border. (n - 1,)."""
    total, below = total_weight(weights), np.cumsum(weights)[:-1]
    unit = min(1.0, float(weights.min()))
    units, above = np.full(len(below), unit), np.maximum(total - below, 0.0)
    lower, upper = (above, above - unit) if spectrum.rising else (below - unit, below)
    found = spectrum.of_rows(units, np.maximum(lower, 0.0), total)
    found = found + spectrum.of_rows(units, np.maximum(upper, 0.0), total)
    return found * (0.5 * total / unit)


def error_interval(name: str, rows: ScoredGroup, value: float | None) -> Ends | None:
    """Of a metric of predictions; None where no influence function of it is known here."""
    formula = _FORMULAS.get(name)
    if formula is None or value is None or rows.count() < 2.0:
        return None
    return formula(rows, value)


def _around(
    value: float, error: float, *, least: float = -np.inf, most: float = np.inf
) -> Ends | None:
    """value -+ 1.96 standard errors, within what the figure can be."""
    if not np.isfinite(error):
        return None
    return max(value - Z * error, least), min(value + Z * error, most)


def wilson(q: float, n: float) -> Ends:
    """Wilson's interval of a fraction of n rows."""
    middle, width = q + Z * Z / (2 * n), Z * sqrt(q * (1.0 - q) / n + Z * Z / (4.0 * n * n))
    below = 1.0 + Z * Z / n
    low, high = (middle - width) / below, (middle + width) / below
    return (low if q > 0.0 else 0.0), (high if q < 1.0 else 1.0)


def _rmse(rows: ScoredGroup, value: float) -> Ends | None:
    if value == 0.0:
        return None
    return _around(value, rows.error(rows.errors**2 / (2.0 * value)), least=0.0)


def _median(rows: ScoredGroup, _: float) -> Ends:
    """Between order statistics, whatever the distribution."""
    sizes, n = np.abs(rows.errors), rows.count()
    away = 0.5 * Z * sqrt(n)
    low, high = max(int(np.floor(0.5 * n - away)), 0), int(min(np.ceil(0.5 * n + away), n - 1.0))
    if rows.weights is None:
        ascending = np.sort(sizes)
        return float(ascending[low]), float(ascending[high])
    order = np.argsort(sizes)
    upto = np.cumsum(rows.weights[order])
    # The row that holds the middle of the unit of this rank.
    at = np.searchsorted(upto, (np.array([low, high]) + 0.5) * (upto[-1] / n))
    ends = sizes[order][np.minimum(at, len(sizes) - 1)]
    return float(ends[0]), float(ends[1])


def _r2(rows: ScoredGroup, value: float) -> Ends | None:
    """1 - r2 is a ratio of means, of e^2 and of (y - mean y)^2."""
    away = (rows.targets - rows.mean(rows.targets)) ** 2
    influence = (rows.errors**2 - (1.0 - value) * away) / rows.mean(away)
    return _around(value, rows.error(influence), most=1.0)


def _mape(rows: ScoredGroup, value: float) -> Ends | None:
    return _around(value, rows.error(np.abs(rows.errors / rows.targets)), least=0.0)


def _hits(rows: ScoredGroup, value: float) -> Ends:
    return wilson(value, rows.count())


def _brier(rows: ScoredGroup, value: float) -> Ends | None:
    P = rows.probabilities
    if P is None:
        return None
    if P.shape[1] == 2:
        squares = (P[:, 1] - rows.targets) ** 2
    else:
        right = P[np.arange(len(P)), rows.targets.astype(np.intp)]
        squares = np.einsum("ij,ij->i", P, P) - right**2 + (1.0 - right) ** 2
    return _around(value, rows.error(squares), least=0.0)


def _precision(rows: ScoredGroup, value: float) -> Ends | None:
    predicted = rows.count(rows.predictions == 1)
    return wilson(value, predicted) if _two_classes(rows) and predicted else None


def _recall(rows: ScoredGroup, value: float) -> Ends | None:
    actual = rows.count(rows.targets == 1)
    return wilson(value, actual) if _two_classes(rows) and actual else None


def _f1(rows: ScoredGroup, value: float) -> Ends | None:
    """A ratio of means: twice the hits over rows of the class and rows predicted as it."""
    if not _two_classes(rows):
        return None
    actual, predicted = rows.targets == 1, rows.predictions == 1
    below = actual.astype(np.float64) + predicted
    influence = (2.0 * (actual & predicted) - value * below) / rows.mean(below)
    return _around(value, rows.error(influence), least=0.0, most=1.0)


def _balanced(rows: ScoredGroup, value: float) -> Ends:
    """A mean of independent fractions."""
    actual = rows.targets.astype(np.intp)
    totals = np.asarray(np.bincount(actual, rows.weights), dtype=np.float64)
    hit = (rows.predictions == rows.targets).astype(np.float64)
    hits = np.bincount(actual, hit if rows.weights is None else hit * rows.weights)
    some = np.flatnonzero(totals > 0)
    recalls = hits[some] / totals[some]
    counts = totals[some]
    if rows.weights is not None and rows.kind is WeightKind.IMPORTANCE:
        counts = np.square(counts) / np.bincount(actual, np.square(rows.weights))[some]
    error = sqrt(float(np.sum(recalls * (1.0 - recalls) / counts))) / len(recalls)
    return max(value - Z * error, 0.0), min(value + Z * error, 1.0)


def _roc_auc(rows: ScoredGroup, value: float) -> Ends | None:
    """By DeLong's placements: how often a row is on the right side of those of the other class."""
    if not _two_classes(rows) or rows.probabilities is None:
        return None
    p, second = rows.probabilities[:, 1], rows.targets == 1
    square = 0.0
    for own in (~second, second):
        if not own.any() or own.all():
            return None
        square += rows.error(_placements(p[own], p[~own], rows, ~own), own) ** 2
    return _around(value, sqrt(square), least=0.0, most=1.0)


def _placements(own: Array, others: Array, rows: ScoredGroup, of_others: Flags) -> Array:
    """The fraction of the others below each, ties half. of_others: which of the rows they are."""
    order = np.argsort(others, kind="stable")
    ascending = others[order]
    weights = None if rows.weights is None else rows.weights[of_others][order]
    upto = np.arange(len(others) + 1.0) if weights is None else np.append(0.0, np.cumsum(weights))
    sides = (upto[np.searchsorted(ascending, own, side)] for side in ("left", "right"))
    return np.asarray(sum(sides) / (2.0 * upto[-1]))


def _two_classes(rows: ScoredGroup) -> bool:
    return rows.probabilities is not None and rows.probabilities.shape[1] == 2


_FORMULAS: dict[str, Callable[[ScoredGroup, float], Ends | None]] = {
    "rmse": _rmse,
    "mae": lambda rows, value: _around(value, rows.error(np.abs(rows.errors)), least=0.0),
    "median_error": _median,
    "r2": _r2,
    "bias": lambda rows, value: _around(value, rows.error(rows.errors)),
    "mape": _mape,
    "accuracy": _hits,
    "balanced_accuracy": _balanced,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "brier": _brier,
    "roc_auc": _roc_auc,
    "log_loss": lambda rows, value: _around(value, rows.error(rows.losses), least=0.0),
    "mean_deviance": lambda rows, value: _around(value, rows.error(2.0 * rows.losses), least=0.0),
    "pinball": lambda rows, value: _around(value, rows.error(rows.losses), least=0.0),
    "below": _hits,
}
