"""Rows and targets, some of them wrong -> the probability that each row is an inlier.

Rows are judged by a model more flexible than the one to be fitted, so that a nonlinear signal is
not taken for an error, and always by fits that have not seen the row. Numbers: fits to the rows in
the middle of the columns first, and from there to the half, 0.7, 0.9 and all of the rows that agree
best; a mixture of scales separates inliers from outliers until the weights settle.
Classes: the fraction of swapped labels and the fit to the others, in turn.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.robust.flexible_columns import (
    ROWS_PER_COLUMN,
    Flexible,
    flag_smallest,
    learn_columns,
)
from lrisk_cli.robust.scale_mixture import fit_scales, swapped
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.types import Array, Flags, Index, Targets

# Fractions of the rows that searches keep, and the most rounds of each search and of the judgement.
COVERAGES = (0.5, 0.7, 0.9, 1.0)
SEARCH_ROUNDS, JUDGE_ROUNDS, CLASS_ROUNDS = 20, 10, 40
# The penalties of the flexible fits, whose columns have variances near 1.
PENALTY, CLASS_PENALTY = 1e-3, 3e-3
# Fits are compared by the mean of log(1 + (error / (SPREAD * median |y - median|))^2), and by
# REGION for each row that they give up, as far as the columns tell which: wrong rows may be
# anywhere, and a region of the columns given up is more likely one that the fit does not follow.
SPREAD, REGION = 2.0, 1.0
# The search works on a sample: at most so many rows, fewer where columns are many.
SAMPLE_ROWS, CLASS_ROWS, SAMPLE_WORK = 5000, 4000, 1e9
# The leverage of a row is capped at this value, so that the fit without it stays finite.
MOST_LEVERAGE = 0.99
# Rows are judged by fits to the other folds, of classes.
FOLDS, FIRST_SHARE, CLASS_ACCURACY = 5, 0.2, 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class InlierWeights:
    """weights: (n,) the probability that each row is an inlier."""

    weights: Array

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

    Rows far from all others count only where a linear fit without them predicts them. until: the
    moment, by perf_counter, at which the iterations for classes stop.
    """
    n_rows, n_columns = rows.shape
    numbers = loss.numbers(y)
    most = CLASS_ROWS if numbers is None else SAMPLE_ROWS
    indices = _sample(n_rows, n_columns, most, seed)
    sample = rows.dense_rows(indices, n_columns - constant)
    flexible = learn_columns(sample, squares=numbers is not None)
    remote = flexible.remote(rows)
    if numbers is not None:
        w = _weigh_numbers(rows, sample, numbers, flexible, indices)
    else:
        w = _weigh_classes(rows, sample, y, loss, flexible, indices, remote, seed, until)
    if remote.any():
        w[remote] = _corroborated(rows, y, loss, remote, w)[remote]
    return InlierWeights(w)


def _weigh_numbers(
    rows: Rows, sample: Array, y: Array, flexible: Flexible, indices: Index
) -> Array:
    """Weights of the best of several fits to ever more of the rows of the sample, then of all."""
    B, target = flexible.fill(sample), y[indices]
    near = flexible.middle(sample)
    spread = SPREAD * float(np.median(np.abs(target[near] - np.median(target[near]))))
    spread = spread or float(np.abs(target).max()) or 1.0
    best, kept = (np.inf, np.ones(len(target))), [near]
    for coverage in COVERAGES:
        nearest, errors = _concentrate(B, target, kept, max(1, int(coverage * len(target))))
        kept.append(nearest)
        w, errors = _settle(B, target, errors)
        misfit = float(np.log1p((errors / spread) ** 2).mean()) + REGION * _given_up(B, w)
        best = min(best, (misfit, w), key=lambda each: each[0])
    w = best[1]
    if len(indices) == len(y):
        return w
    beta = _WeightedFit(B, target, w).beta
    return _inlier(y - flexible.multiply(rows, beta[:, None])[:, 0])


def _concentrate(B: Array, y: Array, starts: list[Flags], n_kept: int) -> tuple[Flags, Array]:
    """Rows that a fit keeps which is fitted to the rows it keeps: those of its smallest errors."""
    found = []
    for rows in starts:
        for _ in range(SEARCH_ROUNDS):
            errors = _WeightedFit(B, y, rows.astype(np.float64)).errors
            before, rows = rows, flag_smallest(np.abs(errors), n_kept)
            if np.array_equal(before, rows):
                break
        found.append((float(np.abs(errors[rows]).sum()), rows, errors))
    _, rows, errors = min(found, key=lambda each: each[0])
    return rows, errors


def _settle(B: Array, y: Array, errors: Array) -> tuple[Array, Array]:
    """Judge the errors, fit to the inliers, and again, until the weights hardly change."""
    w = _inlier(errors)
    for _ in range(JUDGE_ROUNDS):
        errors = _WeightedFit(B, y, w).errors
        before, w = w, _inlier(errors)
        if float(np.abs(w - before).max()) < 1e-2:
            break
    return w, errors


def _given_up(B: Array, w: Array) -> float:
    """Fraction of the rows given up, times how much of that the columns predict (R^2)."""
    odd = 1.0 - w
    spread = float(np.var(odd))
    if spread == 0.0:
        return 0.0
    unexplained = float(np.mean(_WeightedFit(B, odd, np.ones(len(B))).errors ** 2)) / spread
    return float(odd.mean()) * max(0.0, 1.0 - unexplained)


def _inlier(errors: Array) -> Array:
    sizes = np.abs(errors)
    return fit_scales(sizes).inlier(sizes)


class _WeightedFit:
    """The fit that minimises sum_i s_i (y_i - B_i.beta)^2 + penalty ||beta||^2, s = w / sum w.

    errors: y_i minus its prediction by the fit without row i, (y_i - B_i.beta) / (1 - s_i h_i).
    With A = diag(sqrt s) B, the leverages s_i h_i are the diagonal of A (A'A + penalty)^-1 A', and
    of I - penalty (AA' + penalty)^-1: the smaller of the two matrices is inverted.
    """

    def __init__(self, B: Array, y: Array, w: Array) -> None:
        share = w / w.sum()
        root = np.sqrt(share)
        A = B * root[:, None]
        if len(B) < B.shape[1]:
            inverse = _inverse(A @ A.T)
            self.beta: Array = A.T @ (inverse @ (root * y))
            own = 1.0 - PENALTY * np.diagonal(inverse)
        else:
            inverse = _inverse(A.T @ A)
            self.beta = inverse @ (B.T @ (share * y))
            own = share * np.einsum("ij,ij->i", B @ inverse, B)
        self.errors: Array = (y - B @ self.beta) / (1.0 - np.minimum(own, MOST_LEVERAGE))


def _inverse(G: Array) -> Array:
    """(G + penalty)^-1; G is replaced by G + penalty."""
    G[np.diag_indices(len(G))] += PENALTY
    return np.asarray(np.linalg.inv(G), np.float64)


def _weigh_classes(
    rows: Rows,
    sample: Array,
    y: Targets,
    loss: Loss,
    flexible: Flexible,
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
    problem = _mean_problem(DenseRows(flexible.fill(sample)), y[indices], loss, CLASS_PENALTY)
    folds = np.random.default_rng([seed, 4]).permutation(len(indices)) % FOLDS
    fits = [np.zeros(problem.shape) for _ in range(FOLDS)]
    usable = ~remote[indices]
    w, fraction = usable.astype(np.float64), FIRST_SHARE
    for _ in range(CLASS_ROUNDS):
        losses = _fold_losses(problem, folds, w, fits)
        odd = swapped(losses, fraction, n_classes)
        before, w = w, usable * (1.0 - odd)
        # One step only: a fit to rows that are still mixed explains their mixture by itself.
        fraction = min(0.5, float(odd[usable].mean()))
        if float(np.abs(w - before).max()) < 1e-2 or perf_counter() >= until:
            break
    if len(indices) == len(y):
        return w
    W = _weighted_fit(problem, w, fits[0])
    losses = loss.values(flexible.multiply(rows, W), loss.targets(y))
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
    """Rows that a linear fit to those that are not remote predicts as well as those.

    In the bounded columns a remote row does not stand out; a linear fit that sees it follows it.
    """
    problem = _mean_problem(rows, y, loss, 1.0 / len(y))
    W = _weighted_fit(problem, np.where(remote, 0.0, w), np.zeros(problem.shape))
    losses = loss.values(problem.margins(W), problem.y)
    sizes = loss.sizes(losses)
    if sizes is None:
        return np.asarray(losses < np.log(2.0))
    return np.asarray(sizes <= fit_scales(sizes[~remote]).threshold(len(y)))


def _mean_problem(rows: Rows, y: Targets, loss: Loss, penalty: float) -> Problem:
    return make_problem(rows, y, loss, parse_risk("mean"), penalty, None)


def _weighted_fit(problem: Problem, w: Array, near: Array) -> Array:
    return weighted_minimiser(problem, w / w.sum(), near, CLASS_ACCURACY)[0]


def _sample(n_rows: int, n_columns: int, most: int, seed: int) -> Index:
    most = int(np.clip(SAMPLE_WORK / n_columns**2, min(most, ROWS_PER_COLUMN * n_columns), most))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, 3]).permutation(n_rows)[:most])
