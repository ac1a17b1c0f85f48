"""Rows and targets, some of them wrong -> the probability that each row is an inlier.

Numbers are judged by `judge.py`. Classes: the fraction of swapped labels and the fit to the others,
in turn, every row judged by a fit that has not seen it; swaps are accepted only if they explain the
labels better than a fit to all rows does.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.robust.bounded_columns import BoundedColumns, learn_columns
from lrisk_cli.robust.judge import Judgement, judge_numbers
from lrisk_cli.robust.scale_mixture import swapped
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.types import Array, Flags, Index, Targets

# The most rounds, the penalty of the fits, whose columns have variances near 1, and their accuracy.
CLASS_ROUNDS, CLASS_PENALTY, CLASS_ACCURACY = 40, 3e-3, 1e-4
# The search works on a sample: at most so many rows, fewer where columns are many.
CLASS_ROWS, ROWS_PER_COLUMN, SAMPLE_WORK = 4000, 4, 1e9
# Rows are judged by fits to the other folds. The first guess of the fraction of swapped labels.
FOLDS, FIRST_SHARE = 5, 0.2
# By so much the log-likelihood of the labels must be larger with swaps than without.
SWAP_EVIDENCE = 6.0
TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class InlierWeights:
    """weights: (n,) the probability that each row is an inlier. judgement: of numbers."""

    weights: Array
    judgement: Judgement | None = None

    @property
    def fraction(self) -> float:
        """Estimated fraction of outliers."""
        return 1.0 - float(self.weights.mean())


@np.errstate(all="ignore")
def find_inlier_weights(
    rows: Rows,
    y: Targets,
    loss: Loss,
    *,
    constant: bool,
    seed: int = 0,
    until: float = np.inf,
) -> InlierWeights:
    """Estimate the probability that each row is an inlier. constant: the last column is one, for
    the intercept.

    Classes: rows far from all others count only where a linear fit without them predicts them.
    until: the moment, by perf_counter, at which the iterations for classes stop.
    """
    numbers = loss.numbers(y)
    if numbers is not None:
        judgement = judge_numbers(rows, numbers, constant=constant, seed=seed)
        return InlierWeights(judgement.weights, judgement)
    n_rows, n_columns = rows.shape
    indices = _sample(n_rows, n_columns, CLASS_ROWS, seed)
    sample = rows.dense_rows(indices, n_columns - constant)
    bounded = learn_columns(sample)
    remote = bounded.remote(rows)
    w = _weigh_classes(rows, sample, y, loss, bounded, indices, remote, seed, until)
    if remote.any():
        w[remote] = _corroborated(rows, y, loss, remote, w)[remote]
    return InlierWeights(w)


def _weigh_classes(
    rows: Rows,
    sample: Array,
    y: Targets,
    loss: Loss,
    bounded: BoundedColumns,
    indices: Index,
    remote: Flags,
    seed: int,
    until: float,
) -> Array:
    """One minus the probability that the label was swapped, by fits to the rows that are not
    remote.

    Weights and fits in turns, every row judged by the fit to the other folds.
    """
    n_classes = max(2, loss.n_outputs)
    problem = _mean_problem(DenseRows(bounded.fill(sample)), y[indices], loss, CLASS_PENALTY)
    folds = np.random.default_rng([seed, 4]).permutation(len(indices)) % FOLDS
    fits = [np.zeros(problem.shape) for _ in range(FOLDS)]
    usable = ~remote[indices]
    w, fraction, without = usable.astype(np.float64), FIRST_SHARE, np.inf
    for n_round in range(CLASS_ROUNDS):
        losses = _fold_losses(problem, folds, w, fits)
        if n_round == 0:
            without = float(losses[usable].sum())
        odd = swapped(losses, fraction, n_classes)
        before, w = w, usable * (1.0 - odd)
        # One step only: a fit to rows that are still mixed explains their mixture by itself.
        fraction = min(0.5, float(odd[usable].mean()))
        if float(np.abs(w - before).max()) < 1e-2 or perf_counter() >= until:
            break
    seen = np.exp(-losses[usable])
    likely = (1.0 - fraction) * seen + fraction * (1.0 - seen) / (n_classes - 1)
    if without + float(np.log(np.maximum(likely, TINY)).sum()) < SWAP_EVIDENCE:
        return np.ones(len(y))
    if len(indices) == len(y):
        return w
    W = _weighted_fit(problem, w, fits[0])
    losses = loss.values(bounded.multiply(rows, W), loss.targets(y))
    return 1.0 - swapped(losses, fraction, n_classes)


def _fold_losses(problem: Problem, folds: Index, w: Array, fits: list[Array]) -> Array:
    """Of each row under the fit to the other folds; `fits` is where those began and end. (n,)."""
    losses = np.empty(len(w))
    for k in range(FOLDS):
        mine = folds == k
        fits[k] = _weighted_fit(problem, np.where(mine, 0.0, w), fits[k])
        losses[mine] = problem.loss.values(problem.margins(fits[k]), problem.y)[mine]
    return losses


def _corroborated(rows: Rows, y: Targets, loss: Loss, remote: Flags, w: Array) -> Flags:
    """Rows whose label a linear fit to those that are not remote finds the likeliest.

    In the bounded columns a remote row does not stand out; a linear fit that sees it follows it.
    """
    problem = _mean_problem(rows, y, loss, 1.0 / len(y))
    W = _weighted_fit(problem, np.where(remote, 0.0, w), np.zeros(problem.shape))
    losses = loss.values(problem.margins(W), problem.y)
    return np.asarray(losses < np.log(2.0))


def _mean_problem(rows: Rows, y: Targets, loss: Loss, penalty: float) -> Problem:
    return make_problem(rows, y, loss, parse_risk("mean"), penalty, None)


def _weighted_fit(problem: Problem, w: Array, near: Array) -> Array:
    return weighted_minimiser(problem, w / w.sum(), near, CLASS_ACCURACY)[0]


def _sample(n_rows: int, n_columns: int, most: int, seed: int) -> Index:
    most = int(np.clip(SAMPLE_WORK / n_columns**2, min(most, ROWS_PER_COLUMN * n_columns), most))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, 3]).permutation(n_rows)[:most])
