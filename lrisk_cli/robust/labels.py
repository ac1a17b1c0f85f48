"""Rows and classes, some of them wrong -> which labels are wrong.

Confident learning (Northcutt, Jiang & Chuang 2021), by likelihood instead of counts: probabilities
from fits that have not seen the row, rates of swaps that may differ between classes, and fits in
which a row counts by the probability that its label is right, in turns. One rate for all swaps is
the rule, one for every pair of classes needs more evidence. No label is called wrong unless swaps
explain the labels better than the best of several fits without them, curved ones included, and
unless the labels called wrong are more likely wrong than right.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.robust.bounded_columns import learn_columns
from lrisk_cli.robust.curved_columns import CurvedColumns, curve_columns
from lrisk_cli.robust.swaps import (
    Swaps,
    fit_weights,
    improve,
    one_rate,
    only_told_apart,
    right_labels,
    without_swaps,
)
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.types import Array, Flags, Index, Targets

# The fits learn from a sample: at most so many rows, fewer where columns are many. The others are
# judged by one fit to it, so many at a time.
MOST_ROWS, ROWS_PER_COLUMN, SAMPLE_WORK, CHUNK = 4000, 4, 1e9, 4096
# With fewer rows than this for each column no label is called wrong.
FEWEST_ROWS = 5
# Penalties of the fits, times the number of rows, for up to so many columns of variances near 1 and
# in proportion to them for more; of those with swaps, the first.
PENALTIES, PENALTY_COLUMNS = (3.0, 10.0, 30.0), 30
# Rounds of fits, what weights may still change at the end, the accuracy of a fit, steps of T for
# given fits.
ROUNDS, SETTLED, ACCURACY, STEPS = 15, 1e-2, 1e-4, 4
# Rows are judged by fits to the other folds, of several partitions of few rows. The first guess of
# the rate of swaps.
FOLDS, PARTITIONS, FEW_ROWS, FIRST_RATE = 5, 3, 1000, 0.2
# By so much the log-likelihood of the labels must be larger with swaps than without, and by so much
# more for rates of every pair: overfitted columns look like these.
EVIDENCE, EVIDENCE_PER_COLUMN = 6.0, 1.0 / 6.0
# Of more than FEW_ROWS rows, swaps found in one half must not explain the other so much worse.
HALVES_EVIDENCE = -6.0
# Squares and products of columns are used if they raise the log-likelihood by so much.
CURVED = 3.0
# Labels called wrong must be wrong with at least this probability, on average.
LIKELY = 0.5
# Where no swaps are found, scores are those of this rate.
USUAL_RATE = 0.01
TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class LabelJudgement:
    """scores: (n,) log-odds that the label is wrong, at a rate of 1 % where no swaps were found.

    wrong: (n,) the probability that it is; 0 where none is called wrong. flags: (n,) labels that
    are called wrong, as many as are estimated to be. weights: (n,) what a row counts in a fit to
    the true classes. remote: (n,) rows far from all others in some column that the others do not
    predict. disagree: the fraction of labels that disagree with the columns where the columns do
    not show which of them are wrong; 0 otherwise. thin: too few rows to judge.
    """

    scores: Array
    wrong: Array
    flags: Flags
    weights: Array
    remote: Flags
    disagree: float = 0.0
    thin: bool = False

    @property
    def fraction(self) -> float:
        """The estimated fraction of wrong labels."""
        return float(self.wrong.mean())


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The rows that the fits learn from. usable: (n,) those that count; partitions: (n,) folds."""

    y: Index
    n_classes: int
    usable: Flags
    partitions: tuple[Index, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Columns of the sample. make: a penalty -> the problem of their mean loss."""

    columns: CurvedColumns
    make: Callable[[float], Problem]
    sample: Sample

    def problem(self, k: int) -> Problem:
        """With the penalty k."""
        n_columns = self.columns.n_columns
        return self.make(PENALTIES[k] * max(1.0, n_columns / PENALTY_COLUMNS) / len(self.sample.y))


@dataclass(slots=True, eq=False)
class FoldFits:
    """Fits to all folds but one, each beginning where the one before ended."""

    problem: Problem
    folds: Index
    fits: list[Array] = field(default_factory=list)

    def margins(self, w: Array) -> Array:
        """Of every row by the fit that has not seen it, rows weighted by w. (n, C)."""
        if not self.fits:
            self.fits = [np.zeros(self.problem.shape) for _ in range(FOLDS)]
        Z = np.empty((len(w), self.problem.shape[1]))
        for k in range(FOLDS):
            mine = self.folds == k
            self.fits[k] = _weighted_fit(self.problem, np.where(mine, 0.0, w), self.fits[k])
            Z[mine] = self.problem.margins(self.fits[k])[mine]
        return _class_margins(Z)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Swaps and margins for every partition. penalty: its position; by_pair: see `improve`."""

    swaps: tuple[Swaps, ...]
    margins: tuple[Array, ...]
    penalty: int = 0
    by_pair: bool = False

    @property
    def likelihood(self) -> float:
        """The mean log-likelihood of the labels, over the partitions."""
        return float(np.mean([each.likelihood for each in self.swaps]))


def judge_labels(
    rows: Rows, y: Targets, loss: Loss, *, constant: bool, seed: int, until: float
) -> LabelJudgement:
    """y: (n,) codes of classes. constant: the last column is one. until: the moment at which the
    rounds of fits end.

    Rows remote in a column take no part; they count where a linear fit without them predicts them.
    """
    n_rows, n_columns = rows.shape
    at = _sample_of(n_rows, n_columns, seed)
    columns = rows.dense_rows(at, n_columns - constant)
    bounded = learn_columns(columns)
    remote = bounded.remote(rows)
    codes = np.asarray(y, np.intp)
    some = Sample(codes[at], max(2, loss.n_outputs), ~remote[at], _partitions_of(len(at), seed))
    curves = [
        Curve(each, _problems(each, columns, y[at], loss), some)
        for each in curve_columns(bounded, columns)
    ]
    thin = len(at) < FEWEST_ROWS * n_columns
    curve, found, any_swaps = _best_fit(curves, seed, until, thin=thin)
    swaps = found.swaps
    if any_swaps:
        swaps = tuple(
            only_told_apart(each, Z[some.usable], some.y[some.usable])
            for each, Z in zip(swaps, found.margins, strict=True)
        )
    beliefs = _beliefs(swaps, found.margins, some.y, any_swaps=any_swaps)
    if len(at) < n_rows:
        others = np.setdiff1d(np.arange(n_rows), at)
        w = some.usable * beliefs[2]
        Z = _margins_of(curve, w, rows.take(others), n_columns - constant)
        more = _beliefs(swaps[:1], (Z,), codes[others], any_swaps=any_swaps)
        beliefs = _merged(beliefs, more, at, others)
    if remote.any():
        beliefs = _judge_remote(beliefs, rows, y, loss, remote)
    return _conclude(beliefs, remote, thin=thin)


def _best_fit(
    curves: list[Curve], seed: int, until: float, *, thin: bool
) -> tuple[Curve, Found, bool]:
    """The fits that explain the labels best, and whether with swaps; never if thin."""
    without = [_fit_without(curves[0], until)]
    best = 0
    for k in range(1, len(curves)):
        if perf_counter() >= until:
            break
        without.append(_fit_without(curves[k], until))
        if without[k].likelihood > without[best].likelihood + CURVED:
            best = k
    curve, found, any_swaps = curves[best], without[best], False
    for k in () if thin else sorted({0, best}):
        if perf_counter() >= until:
            break
        swaps = _fit_swaps(curves[k], without[best], until)
        if swaps.likelihood > found.likelihood:
            curve, found, any_swaps = curves[k], swaps, True
    if any_swaps and len(curve.sample.y) > FEW_ROWS and perf_counter() < until:
        gain = _halves_gain(curves[best], without[best], seed, until, by_pair=found.by_pair)
        if gain < HALVES_EVIDENCE:
            return curves[best], without[best], False
    return curve, found, any_swaps


def _halves_gain(curve: Curve, none: Found, seed: int, until: float, *, by_pair: bool) -> float:
    """By how much swaps found in one half explain the labels of the other better than none do.

    Both ways. The weights of a fit depend on the labels of all rows that its rounds have seen;
    here those that are judged are not among them.
    """
    sample, n = curve.sample, len(curve.sample.y)
    first = np.random.default_rng([seed, 8]).permutation(n) < n // 2
    gain = 0.0
    for half in (first, ~first):
        learn, rest = replace(sample, usable=sample.usable & half), sample.usable & ~half
        fits = FoldFits(curve.problem(0), sample.partitions[0])
        swaps, Z = _alternate(learn, fits, until, by_pair=by_pair)
        w = learn.usable * fit_weights(swaps, Z, sample.y)
        y, Z = sample.y[rest], _margins_from(curve, 0, w)[rest]
        for _ in range(ROUNDS):
            swaps = improve(swaps, Z, y, by_pair=by_pair)
        plain = _margins_from(curve, none.penalty, learn.usable.astype(np.float64))[rest]
        gain += swaps.likelihood - without_swaps(plain, y).likelihood
    return gain


def _margins_from(curve: Curve, k: int, w: Array) -> Array:
    problem = curve.problem(k)
    return _class_margins(problem.margins(_weighted_fit(problem, w, np.zeros(problem.shape))))


def _partitions_of(n: int, seed: int) -> tuple[Index, ...]:
    """Folds of the rows, several times where they are few. Each (n,)."""
    draws = np.random.default_rng([seed, 4])
    times = PARTITIONS if n <= FEW_ROWS else 1
    return tuple(draws.permutation(n) % FOLDS for _ in range(times))


def _fit_without(curve: Curve, until: float) -> Found:
    """The best of the fits without swaps: of several penalties, and temperatures."""
    sample = curve.sample
    w = sample.usable.astype(np.float64)
    found: list[Found] = []
    for k in range(len(PENALTIES)):
        if found and perf_counter() >= until:
            break
        problem = curve.problem(k)
        margins = tuple(FoldFits(problem, folds).margins(w) for folds in sample.partitions)
        found.append(Found(tuple(_plain(sample, Z) for Z in margins), margins, k))
    return max(found, key=lambda each: each.likelihood)


def _fit_swaps(curve: Curve, none: Found, until: float) -> Found:
    """The swaps that explain the labels best; `none` where they explain them no better."""
    sample, problem = curve.sample, curve.problem(0)
    found, needed = none, EVIDENCE
    for by_pair in (False, True):
        each = [
            _alternate(sample, FoldFits(problem, folds), until, by_pair=by_pair)
            for folds in sample.partitions
        ]
        swaps, margins = zip(*each, strict=True)
        tried = Found(tuple(swaps), tuple(margins), 0, by_pair)
        if tried.likelihood - found.likelihood > needed:
            found = tried
        needed += EVIDENCE_PER_COLUMN * problem.rows.shape[1]
    return found


def _alternate(
    sample: Sample, fits: FoldFits, until: float, *, by_pair: bool
) -> tuple[Swaps, Array]:
    """Swaps and fits in turns, from the margins of fits to all labels."""
    usable, y = sample.usable, sample.y
    w = usable.astype(np.float64)
    Z = fits.margins(w)
    swaps = Swaps(one_rate(FIRST_RATE, sample.n_classes), _plain(sample, Z).temperature)
    for _ in range(ROUNDS):
        for _ in range(STEPS):
            swaps = improve(swaps, Z[usable], y[usable], by_pair=by_pair)
        before, w = w, usable * fit_weights(swaps, Z, y)
        if float(np.abs(w - before).max()) < SETTLED or perf_counter() >= until:
            break
        Z = fits.margins(w)
    return improve(swaps, Z[usable], y[usable], by_pair=by_pair), Z


def _plain(sample: Sample, Z: Array) -> Swaps:
    return without_swaps(Z[sample.usable], sample.y[sample.usable])


def _conclude(beliefs: tuple[Array, Array, Array], remote: Flags, *, thin: bool) -> LabelJudgement:
    """As many labels are called wrong as are estimated to be, if these are likely enough."""
    scores, wrong, weights = beliefs
    n = len(scores)
    flags = np.zeros(n, np.bool_)
    flags[np.lexsort((-scores, -wrong))[: round(float(wrong.sum()))]] = True
    inner, disagree = flags & ~remote, 0.0
    if inner.any() and float(wrong[inner].mean()) < LIKELY:
        disagree = float(wrong[~remote].sum()) / n
        wrong, weights = np.where(remote, wrong, 0.0), np.where(remote, weights, 1.0)
        flags = remote & (wrong > LIKELY)
    return LabelJudgement(scores, wrong, flags, weights, remote & flags, disagree, thin)


def _beliefs(
    swaps: tuple[Swaps, ...], margins: tuple[Array, ...], y: Index, *, any_swaps: bool
) -> tuple[Array, Array, Array]:
    """Log-odds that labels are wrong, the probability, and weights; means over the partitions."""
    each = list(zip(swaps, margins, strict=True))
    if not any_swaps:
        usual = one_rate(USUAL_RATE, margins[0].shape[1])
        odds = [right_labels(Swaps(usual, one.temperature), Z, y)[1] for one, Z in each]
        return np.mean(odds, axis=0), np.zeros(len(y)), np.ones(len(y))
    right = [right_labels(one, Z, y) for one, Z in each]
    return (
        np.mean([odds for _, odds in right], axis=0),
        1.0 - np.mean([probability for probability, _ in right], axis=0),
        np.mean([fit_weights(one, Z, y) for one, Z in each], axis=0),
    )


def _merged(
    first: tuple[Array, Array, Array], second: tuple[Array, Array, Array], at: Index, others: Index
) -> tuple[Array, Array, Array]:
    """Those of some rows and of all others, in the order of the rows."""
    order = np.argsort(np.concatenate([at, others]), kind="stable")
    a, b, c = (np.concatenate(pair)[order] for pair in zip(first, second, strict=True))
    return a, b, c


def _margins_of(curve: Curve, w: Array, rows: Rows, n_columns: int) -> Array:
    """Margins of rows that are not in the sample, by one fit to it. (m, C)."""
    problem = curve.problem(0)
    W = _weighted_fit(problem, w, np.zeros(problem.shape))
    starts = range(0, rows.shape[0], CHUNK)
    parts = (rows.dense_rows(slice(start, start + CHUNK), n_columns) for start in starts)
    margins = [DenseRows(curve.columns.fill(part)).margins(W) for part in parts]
    return _class_margins(np.concatenate(margins))


def _judge_remote(
    beliefs: tuple[Array, Array, Array], rows: Rows, y: Targets, loss: Loss, remote: Flags
) -> tuple[Array, Array, Array]:
    """Remote rows are right where a linear fit to the others finds their label the likeliest.

    In the bounded columns a remote row does not stand out; a linear fit that sees it follows it.
    """
    scores, wrong, weights = (each.copy() for each in beliefs)
    problem = _mean_problem(rows, y, loss, 1.0 / len(y))
    W = _weighted_fit(problem, np.where(remote, 0.0, weights), np.zeros(problem.shape))
    losses = loss.values(problem.margins(W), problem.y)[remote]
    wrong[remote] = losses >= np.log(2.0)
    weights[remote] = 1.0 - wrong[remote]
    # log((1 - p) / p) at the probability p = exp(-loss) of the label.
    scores[remote] = losses + np.log(np.maximum(-np.expm1(-losses), TINY))
    return scores, wrong, weights


def _weighted_fit(problem: Problem, w: Array, near: Array) -> Array:
    """The fit of least mean loss, rows weighted by w. near: where it begins."""
    return weighted_minimiser(problem, w / max(float(w.sum()), TINY), near, ACCURACY)[0]


def _class_margins(Z: Array) -> Array:
    """One margin for each class. Z: (n, outputs); (n, C)."""
    return np.column_stack([np.zeros(len(Z)), Z[:, 0]]) if Z.shape[1] == 1 else Z


def _problems(
    curve: CurvedColumns, columns: Array, y: Targets, loss: Loss
) -> Callable[[float], Problem]:
    rows = DenseRows(curve.fill(columns))
    return lambda penalty: _mean_problem(rows, y, loss, penalty)


def _mean_problem(rows: Rows, y: Targets, loss: Loss, penalty: float) -> Problem:
    return make_problem(rows, y, loss, parse_risk("mean"), penalty, None)


def _sample_of(n_rows: int, n_columns: int, seed: int) -> Index:
    low = min(MOST_ROWS, ROWS_PER_COLUMN * n_columns)
    most = int(np.clip(SAMPLE_WORK / n_columns**2, low, MOST_ROWS))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, 3]).permutation(n_rows)[:most])
