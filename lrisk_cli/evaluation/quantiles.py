"""Losses of several models on the same rows give their quantiles, and the differences of these.

Letters: n rows, p a level in (0, 1], l_(k) the k-th smallest loss, rho the correlation between two
models' losses being below their quantiles.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.deviations import sample_deviation
from lrisk_cli.evaluation.influence import count_rows
from lrisk_cli.evaluation.metrics import CONFIDENCE
from lrisk_cli.names import WeightKind
from lrisk_cli.native.kernels import core
from lrisk_cli.parameters import hint_percent, read_fraction, split_specs
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.value import sort_losses
from lrisk_cli.risk.weighted import SortedMasses
from lrisk_cli.types import Array

# Levels of a picture: every half percent, and finer where the tail is.
CURVE = np.concatenate([np.arange(1, 198) / 200, np.arange(990, 1001) / 1000])
# The tail is the worst tenth of the rows.
TAIL = 0.9
# Simulated shifts of a quantile's rank.
_MOVES = 1000
_CHUNK = 65_536
_ALPHA = (1.0 - CONFIDENCE) / 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Quantiles:
    """Numbers at some levels, with 95 % intervals; NaN where there is no end. All (levels,)."""

    values: Array
    low: Array
    high: Array


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """A model beside the baseline. difference: baseline - model, positive where it is better."""

    losses: Quantiles
    difference: Quantiles
    mean: float
    tail: float


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Models beside a baseline on the same n_rows rows; mean and tail: of all and of the worst
    tenth of the losses. levels: (levels,). effective: how many equal rows these are as good as."""

    n_rows: float
    effective: float
    levels: Array
    losses: Quantiles
    mean: float
    tail: float
    models: tuple[Compared, ...]

    def normalised(self, differences: Array) -> Array:
        """Differences in units of the baseline's mean loss; NaN where that is 0."""
        return differences / (self.mean if self.mean > 0.0 else np.nan)

    def at(self, levels: Array) -> NDArray[np.intp]:
        """Indices of the given levels, which must be among its own."""
        return np.searchsorted(self.levels, levels)


@dataclass(frozen=True, slots=True, eq=False)
class PairAt:
    """A model beside the baseline, for the formulas of metrics; see `registry.Pair`.

    level: where its quantiles are compared, one of those of the comparison.
    """

    comparison: Comparison
    compared: Compared
    level: float | None = None

    @property
    def tail_gained(self) -> float:
        """By how much the mean of the worst tenth is smaller."""
        return self.comparison.tail - self.compared.tail

    @property
    def average_lost(self) -> float:
        """By how much the mean is larger."""
        return self.compared.mean - self.comparison.mean

    def difference(self) -> float | None:
        """Baseline - model at the level; None where it is not defined."""
        return _number_or_none(self._difference())

    def normalised_difference(self) -> float | None:
        """The same in units of the baseline's mean loss."""
        return _number_or_none(self.comparison.normalised(self._difference()))

    def _difference(self) -> Array:
        return self.compared.difference.values[self.comparison.at(np.array([self.level]))]


def _number_or_none(values: Array) -> float | None:
    return None if np.isnan(values[0]) else float(values[0])


def parse_levels(texts: str | Sequence[str]) -> tuple[float, ...]:
    """Levels in (0, 1], separated by commas, in the order given."""
    place, given = opt("quantiles"), [texts] if isinstance(texts, str) else texts
    levels = tuple(parse_level(part, place) for part in split_specs(given) if part)
    if not levels:
        raise InvalidOption("quantiles", "takes levels such as 0.5,0.9,0.99; none was given")
    return levels


def parse_level(text: str, place: str) -> float:
    """One level in (0, 1]; `place` names the option in messages."""
    try:
        level = read_fraction(text)
    except ValueError:
        level = 0.0
    if not 0.0 < level <= 1.0:
        finding = f"a level is greater than 0 and at most 1; got {text.strip()!r}"
        raise UsageError(f"{place}: {finding}{hint_percent(level)}")
    return level


def quantile_ranks(n_rows: int, levels: Array, masses: Array | None = None) -> NDArray[np.intp]:
    """ceil(n p - 1e-9), the rank of each quantile among the sorted losses, counted from 1.

    masses: of the sorted rows, where they have any; then the first with p of the mass up to it.
    """
    if masses is not None:
        upto = np.cumsum(masses)
        slack = max(1e-9 * upto[-1] / n_rows, 4e-16 * n_rows * upto[-1])
        found: NDArray[np.intp] = np.searchsorted(upto, upto[-1] * levels - slack) + 1
        return np.minimum(found, n_rows)
    # In floating point 100 x 0.07 is above 7; and n p of a long table is off by n eps.
    slack = max(1e-9, 4e-16 * n_rows)
    return np.clip(np.ceil(n_rows * levels - slack), 1, n_rows).astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class SortedLosses:
    """Ascending losses, (n,), and how many units they are: rows, or what weighted rows count for.

    ends: the rank of the last unit of each row, where rows have weights. (n,).
    """

    losses: Array
    n_units: int
    weights: Array | None = None
    ends: Array | None = None

    def at(self, ranks: NDArray[np.intp]) -> Array:
        """The losses of units, by their ranks from 1 on; ranks beyond are those of the ends."""
        ranks = np.clip(ranks, 1, self.n_units)
        if self.ends is None:
            return self.losses[ranks - 1]
        rows = np.searchsorted(self.ends, ranks - 0.5)
        return self.losses[np.minimum(rows, len(self.losses) - 1)]

    def quantiles(self, levels: Array) -> Array:
        """l_(ceil(n p)); of weighted rows the first with p of the weight up to it. (levels,)."""
        return self.losses[quantile_ranks(len(self.losses), levels, self.weights) - 1]

    def tail_mean(self, level: float) -> float:
        """The superquantile: see `tail_mean`."""
        if self.weights is None:
            return tail_mean(self.losses, level)
        return SortedMasses(self.weights).risk(self.losses, Spectrum("superquantile", level))


def sort_weighted(losses: Array, weights: Array | None, kind: WeightKind) -> SortedLosses:
    """Losses, sorted in place, and their weights, of which a copy is sorted. (n,) both."""
    if weights is None:
        return SortedLosses(sort_losses(losses), len(losses))
    weights = weights.copy()
    ascending = sort_losses(losses, weights)
    n_units = max(1, round(count_rows(weights, kind)))
    ends = np.cumsum(weights)
    return SortedLosses(ascending, n_units, weights, ends * (n_units / ends[-1]))


def loss_quantiles(ascending: SortedLosses, levels: Array) -> Quantiles:
    """l_(ceil(n p)) with order statistics around it: P(l_(r) <= quantile <= l_(s)) >= 95 %.

    r and s are those of the binomial distribution of the number of losses below the quantile.
    Losses are not negative, so 0 stands in for r = 0; where s > n there is no upper end.
    """
    n = ascending.n_units
    r, s = interval_ranks(n, levels)
    low = np.where(r > 0, ascending.at(r), 0.0)
    high = np.where(s <= n, ascending.at(s), np.nan)
    return Quantiles(ascending.quantiles(levels), low, high)


def tail_mean(ascending: Array, level: float) -> float:
    """The superquantile: sum of the losses above rank n p, one of them in part, over n (1-p).

    Summed chunk by chunk: an array of weights would take as much memory as the losses.
    """
    n = len(ascending)
    below = n * level
    first = int(below + 4e-16 * n)
    part = max(below - first, 0.0)
    ones = np.ones(min(n, _CHUNK))
    chunks = (ascending[i : i + _CHUNK] for i in range(first, n, _CHUNK))
    total = fsum(core.compensated_dot(chunk, ones[: len(chunk)]) for chunk in chunks)
    return (total - part * float(ascending[first])) / (n - below)


def compare(
    losses: Sequence[Array],
    pairs: Sequence[Array],
    levels: Array,
    weights: Array | None = None,
    kind: WeightKind = WeightKind.FREQUENCY,
) -> Comparison:
    """The first model's losses are the baseline's. losses: (n,) each, sorted in place.

    pairs: losses of the same models on some of the rows, in one order for all, for rho; and the
    weights of these rows after them, if rows have any. weights: of all rows, in their order.
    """
    ascending = [sort_weighted(each, weights, kind) for each in losses]
    quantiles = [loss_quantiles(each, levels) for each in ascending]
    means = [each.tail_mean(0.0) for each in ascending]
    tails = [each.tail_mean(TAIL) for each in ascending]
    of_pairs = None if weights is None else pairs[len(losses)]
    models = []
    for k in range(1, len(losses)):
        rho = _agreement(pairs[0], pairs[k], quantiles[0].values, quantiles[k].values, of_pairs)
        low, high = _difference_interval(ascending[0], ascending[k], levels, rho)
        difference = Quantiles(quantiles[0].values - quantiles[k].values, low, high)
        models.append(Compared(quantiles[k], difference, means[k], tails[k]))
    n_rows = len(losses[0])
    effective = n_rows if weights is None else count_rows(weights, kind)
    return Comparison(n_rows, effective, levels, quantiles[0], means[0], tails[0], tuple(models))


def average(comparisons: Sequence[Comparison], test_share: float) -> Comparison:
    """The average over random splits, with intervals for what another split might show.

    test_share: rows tested over rows learned from. Splits overlap, so the variance of the mean of
    J of them is taken as (1/J + test_share) times that between splits (Nadeau and Bengio 2003).
    """
    first = comparisons[0]
    if len(comparisons) == 1:
        return first

    def across(pick: "Sequence[Quantiles]") -> Quantiles:
        return _across([each.values for each in pick], test_share)

    models = tuple(
        Compared(
            across([c.models[k].losses for c in comparisons]),
            across([c.models[k].difference for c in comparisons]),
            float(np.mean([c.models[k].mean for c in comparisons])),
            float(np.mean([c.models[k].tail for c in comparisons])),
        )
        for k in range(len(first.models))
    )
    return Comparison(
        float(np.mean([c.n_rows for c in comparisons])),
        float(np.mean([c.effective for c in comparisons])),
        first.levels,
        across([c.losses for c in comparisons]),
        float(np.mean([c.mean for c in comparisons])),
        float(np.mean([c.tail for c in comparisons])),
        models,
    )


def crossings(levels: Array, differences: Array) -> tuple[float, ...]:
    """Levels at which the sign of the differences turns, between the two levels that show it."""
    known = np.flatnonzero(differences)
    x, y = levels[known], differences[known]
    turns = np.flatnonzero(np.sign(y[1:]) != np.sign(y[:-1]))
    before, after = y[turns], y[turns + 1]
    share = before / (before - after)
    return tuple((x[turns] + share * (x[turns + 1] - x[turns])).tolist())


def better_from(levels: Array, differences: Array) -> float | None:
    """The level from which on the model is nowhere worse, up to the largest loss; else None."""
    worse = np.flatnonzero(differences < 0.0)
    if len(worse) == 0:
        return 0.0 if (differences > 0.0).any() else None
    if worse[-1] == len(levels) - 1 or not (differences[worse[-1] :] > 0.0).any():
        return None
    return crossings(levels[worse[-1] :], differences[worse[-1] :])[0]


def interval_ranks(n: int, levels: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """r, s with P(N < r) <= 2.5 % and P(N >= s) <= 2.5 %, N binomial (n, p), as close as can be.

    Between 0 and n + 1. Both (levels,).
    """
    r, s = np.array([_binomial_pair(n, level) for level in levels.tolist()], np.intp).T
    return r, s


@lru_cache(maxsize=4096)  # all models, and all splits, have as many rows
def _binomial_pair(n: int, p: float) -> tuple[int, int]:
    """One r and s; from the ratios of neighbouring probabilities, within 7 deviations of n p."""
    if p == 1.0:
        return n, n + 1
    reach = 7.0 * sqrt(n * p * (1.0 - p)) + 10.0
    first, last = max(0, int(n * p - reach)), min(n, int(n * p + reach))
    k = np.arange(first, last, dtype=np.float64)
    logs = np.append(0.0, np.cumsum(np.log((n - k) / (k + 1.0) * (p / (1.0 - p)))))
    below = np.cumsum(np.exp(logs - logs.max()))
    below /= below[-1]
    r = first + int(np.searchsorted(below, _ALPHA, side="right"))
    return r, first + int(np.searchsorted(below, 1.0 - _ALPHA)) + 1


def _agreement(
    a: Array, b: Array, a_quantiles: Array, b_quantiles: Array, weights: Array | None
) -> Array:
    """rho at each level: the correlation of "a is below its quantile" and "b is". (levels,)."""
    n_levels = len(a_quantiles)
    n = max(len(a), 1) if weights is None else float(weights.sum()) or 1.0

    def count(at_level: NDArray[np.intp]) -> Array:
        """The fraction of the pairs up to each level. (levels,)."""
        counts = np.bincount(at_level, weights, minlength=n_levels + 1)
        return np.minimum(np.cumsum(counts)[:n_levels] / n, 1.0)

    # The first level whose quantile is not below the loss; one past the last if there is none.
    a_level, b_level = np.searchsorted(a_quantiles, a), np.searchsorted(b_quantiles, b)
    a_below, b_below, both = map(count, (a_level, b_level, np.maximum(a_level, b_level)))
    spread = np.sqrt(a_below * (1.0 - a_below) * b_below * (1.0 - b_below))
    with np.errstate(invalid="ignore", divide="ignore"):
        rho = (both - a_below * b_below) / spread
    # Nothing is known where all rows of the sample lie on one side: no agreement is assumed.
    return np.clip(np.nan_to_num(rho, nan=0.0, posinf=0.0, neginf=0.0), -1.0, 1.0)


def _difference_interval(
    a: SortedLosses, b: SortedLosses, levels: Array, rho: Array
) -> tuple[Array, Array]:
    """Ends of a 95 % interval of the difference of two quantiles of paired losses. (levels,).

    Resampling the rows shifts the rank of a quantile by about sqrt(n p (1-p)), and those of two
    models with correlation rho; the ends are percentiles over such moves. Where the order
    statistics have no upper end, the difference has neither.
    """
    n = a.n_units
    z = np.random.Generator(np.random.PCG64(0)).standard_normal((2, _MOVES, 1))
    moved = rho * z[0] + np.sqrt(1.0 - rho * rho) * z[1]
    spread = np.sqrt(n * levels * (1.0 - levels))
    middle = quantile_ranks(n, levels)

    def moves(ascending: SortedLosses, by: Array) -> Array:
        return ascending.at(np.rint(middle + spread * by).astype(np.intp))

    ends = np.percentile(
        moves(a, z[0]) - moves(b, moved), [100.0 * _ALPHA, 100.0 * (1.0 - _ALPHA)], axis=0
    )
    unknown = interval_ranks(n, levels)[1] > n
    return np.where(unknown, np.nan, ends[0]), np.where(unknown, np.nan, ends[1])


def _across(values: Sequence[Array], test_share: float) -> Quantiles:
    from scipy.special import stdtrit

    n_splits = len(values)
    middle = np.mean(values, axis=0)
    deviation = sample_deviation(values)
    half = stdtrit(n_splits - 1, 1.0 - _ALPHA) * sqrt(1.0 / n_splits + test_share) * deviation
    return Quantiles(middle, middle - half, middle + half)
