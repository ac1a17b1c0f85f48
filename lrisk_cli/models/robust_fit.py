"""Robust fits: bounded losses of numbers, label noise of classes.

Numbers: with t_i = sqrt(2 l_i) / s, s the scale of the errors of inliers and c = 4.685,

    F(W) = (s^2 c^2 / 6) mean_i rho(t_i) + mu/2 ||W||^2,  rho(t) = 1 - (1 - (t/c)^2)^3, 1 beyond c,

which is the mean of the losses for small errors and constant for large ones; rows with masses count
m_i / M, not 1 / n. Weighted fits with weights (1 - (t/c)^2)^2 / n never raise it; they start at the
robust linear fit of `robust`. Rows of a group apart count by the probability that they do not
belong to it, and after a fit by reweighted LTS its rows weigh 1 or 0. Classes: the mean of the
losses, every row weighted by the probability that its label was not swapped.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Literal, TypeAlias, cast

import numpy as np

from lrisk_cli.errors import DataError, opt
from lrisk_cli.models.model_file import GroupRecord, RobustRecord
from lrisk_cli.native.threads import one_thread
from lrisk_cli.robust.bisquare import FIT_TUNING, m_scale, rho, weight
from lrisk_cli.robust.inlier_weights import InlierWeights
from lrisk_cli.robust.judge import FEWEST_ROWS, GROUP, Judgement
from lrisk_cli.robust.labels import FEWEST_ROWS as FEWEST_LABELS
from lrisk_cli.robust.labels import LabelJudgement
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.types import Array

Method: TypeAlias = Literal["MM", "reweighted LTS", "exact fit"]

SOLVER = "irls"
MOST_FITS, SETTLED = 100, 1e-6
# Where a weighted fit takes so many multiplications, errors settle at this fraction of the scale.
DEAR, SETTLED_DEAR = 4e9, 1e-2
# Weighted fits are this accurate, relative to the objective of the first.
ACCURACY = 1e-8
# Below this the scale of an exact fit is rounding, and so are errors of a few of it.
LEAST_SCALE = 1e-9
# Errors so many times the scale of the linear fit are those of the penalty.
BIASED = 2.0


@dataclass(frozen=True, slots=True)
class RobustSolution:
    """The weighted fit at the end, what a model keeps of it, and what to know about the rows."""

    solution: Solution
    record: RobustRecord
    why: str
    notes: tuple[str, ...]


def solve_robustly(
    problem: Problem, inliers: InlierWeights, limits: Limits, label: str, unit: float
) -> RobustSolution:
    """The robust fit. problem: of the mean of the losses; label: of the table; unit: of the target,
    in units of the file.
    """
    judgement = inliers.judgement
    with one_thread():
        if judgement is None:
            solution = _fit_classes(problem, inliers, limits)
            record = RobustRecord(method="label noise", scale=None, fraction=inliers.fraction)
            return RobustSolution(
                solution, record, "labels that may be swapped", robust_notes(inliers)
            )
        _require_rows(label, problem.n_rows, judgement)
        solution, scale, method = _fit_numbers(problem, judgement, limits)
    unit = unit if problem.loss.scales_targets else 1.0
    record = _record(judgement, scale * unit, judgement.scale * unit, method)
    return RobustSolution(solution, record, "bounded losses", robust_notes(inliers))


def robust_notes(inliers: InlierWeights) -> tuple[str, ...]:
    """What to know about how the rows were judged."""
    judged = inliers.judgement
    if judged is None:
        return _label_notes(inliers.labels)
    notes = []
    if judged.fit is None:
        notes.append(
            "too few rows to judge them: outliers are told from others where the rows are at least "
            f"{FEWEST_ROWS} for each column and two more; no row is called one"
        )
    if judged.thin:
        notes.append(
            "the rows are fewer than five for each column: thin evidence for every outlier"
        )
    n_alone = int(np.count_nonzero(judged.alone))
    if n_alone:
        notes.append(
            f"{n_alone} rows have the same target, a part of its own (zeros of a zero-inflated "
            "target): they are no outliers, and the others were judged among themselves"
        )
    if judged.instead:
        notes.append(
            f"outliers are those that remain if {judged.instead}, which explains these few rows "
            "much better than wrong rows do"
        )
    if judged.skewness:
        side = "large" if judged.skewness > 0.0 else "small"
        notes.append(
            f"the errors are skewed, with a long tail of {side} targets; outliers are those that "
            "remain on a scale where the others are symmetric"
        )
    return tuple(notes)


def _label_notes(labels: LabelJudgement | None) -> tuple[str, ...]:
    """What to know about labels that are not judged."""
    if labels is not None and labels.thin:
        return (
            f"too few rows to judge labels, which takes {FEWEST_LABELS} for each column: none is "
            "called wrong",
        )
    return ()


class TooFewRowsError(DataError):
    """No robust fit can tell outliers among so few rows."""


def _require_rows(label: str, n_rows: int, judgement: Judgement) -> None:
    if judgement.fit is None:
        raise TooFewRowsError(
            f"{label}: {n_rows} rows are too few for a robust fit, which needs {FEWEST_ROWS} for "
            f"each column and two more; choose fewer {opt('features')}, or leave out "
            f"{opt('robust')}"
        )


def _fit_classes(problem: Problem, inliers: InlierWeights, limits: Limits) -> Solution:
    lam = _per_row(problem, inliers.weights)
    start = np.zeros(problem.shape)
    at_zero = problem.weighted_value(start, problem.margins(start), lam)
    W, passes = weighted_minimiser(
        problem, lam, start, 0.1 * limits.tol * at_zero, until=limits.deadline
    )
    value = problem.weighted_value(W, problem.margins(W), lam)
    n_wrong = 0 if inliers.labels is None else int(np.count_nonzero(inliers.labels.flags))
    found = f"{n_wrong} labels look swapped" if n_wrong else "no swapped labels were found"
    return _solution(W, lam, value, f"stationary: {found}", float(passes), done=True)


def _fit_numbers(
    problem: Problem, judged: Judgement, limits: Limits
) -> tuple[Solution, float, Method]:
    """Weighted fits until the errors settle, their scale (on that of the problem), and the method.

    The scale is that of the linear fit where the losses are squared errors of a linear model;
    otherwise the M-scale of the inliers' errors in the first weighted fit. Where the linear fit
    leaves so little that the errors are those of the penalty, its weights stay: bounded losses
    would reject the rows that the penalty biases most.
    """
    n = problem.n_rows
    first, trust = _first_weights(judged)
    W, passes = _weighted(problem, _per_row(problem, first), np.zeros(problem.shape), limits)
    sizes = _sizes(problem, W)
    scale = judged.scale
    linear = problem.rows.shape[1] == len(judged.fit.beta) if judged.fit is not None else False
    inner = (trust > 0.5) & (judged.weights > 0.5) & ~judged.alone
    own = m_scale(sizes[inner], problem.rows.shape[1])
    method = "MM" if judged.fit is None else cast("Method", judged.fit.method)
    if not (problem.loss.quadratic and linear):
        scale = own
    elif method == "MM" and own > BIASED * scale:
        method = "exact fit"
    scale = max(scale, LEAST_SCALE * float(np.abs(sizes).max()), np.finfo(np.float64).tiny)
    fixed = method != "MM"
    lam, done = _per_row(problem, first), fixed
    n_fits = 1
    dear = n * float(problem.shape[0]) ** 2 > DEAR
    settled = SETTLED_DEAR if dear else SETTLED
    while not done and n_fits < MOST_FITS and perf_counter() < limits.deadline:
        counted = np.where(judged.alone, 1.0, weight(sizes / scale, FIT_TUNING) * trust)
        lam = _per_row(problem, counted)
        W, more = _weighted(problem, lam, W, limits)
        before, sizes = sizes, _sizes(problem, W)
        done = float(np.abs(sizes - before).max()) <= settled * scale
        passes, n_fits = passes + more, n_fits + 1
    bounded = (scale * FIT_TUNING) ** 2 / 6.0 * rho(sizes / scale, FIT_TUNING)
    if fixed:
        bounded = first * 0.5 * np.square(sizes)
    plain = problem.loss.values(problem.margins(W), problem.y)
    losses = np.where(judged.alone, plain, bounded * trust)
    value = problem.mean(losses) + problem.penalty(W)
    status = _status(judged, method, lam, n_fits) if done else f"not converged: after {n_fits} fits"
    return _solution(W, lam, value, status, float(passes), done=done), scale, method


def _first_weights(judged: Judgement) -> tuple[Array, Array]:
    """Weights of the linear fit, and how much rows of groups may count besides. Both (n,)."""
    first = np.ones(len(judged.weights))
    if judged.fit is not None:
        first[~judged.alone] = judged.fit.weights
    return first, np.where(judged.kinds == GROUP, judged.weights, 1.0)


def _per_row(problem: Problem, counted: Array) -> Array:
    """What each row counts, at most 1, as its weight: over n, or times m / M. (n,)."""
    return counted / problem.n_rows if problem.masses is None else counted * problem.even


def _weighted(problem: Problem, lam: Array, near: Array, limits: Limits) -> tuple[Array, int]:
    accuracy = ACCURACY * max(problem.weighted_value(near, problem.margins(near), lam), 1e-300)
    return weighted_minimiser(problem, lam, near, accuracy, until=limits.deadline)


def _sizes(problem: Problem, W: Array) -> Array:
    sizes = problem.loss.sizes(problem.loss.values(problem.margins(W), problem.y))
    assert sizes is not None  # noqa: S101  (numbers have sizes)
    return sizes


def _status(judged: Judgement, method: Method, lam: Array, n_fits: int) -> str:
    n_out = int(np.count_nonzero(lam == 0.0))
    found = "no row was found to be an outlier"
    if n_out:
        found += f", but {n_out} beyond the bound have no weight"
    if judged.outliers.any():
        n_called = int(np.count_nonzero(judged.outliers))
        found = f"{n_called} rows are called outliers, {n_out} have no weight"
    return f"stationary: {method}, {n_fits} weighted fits; {found}"


def _record(judged: Judgement, scale: float, unit: float, method: Method) -> RobustRecord:
    """scale, unit: of the errors, and of the centres of groups, in units of the target."""
    groups = tuple(
        GroupRecord(centre=each.centre * unit, fraction=each.share) for each in judged.groups
    )
    return RobustRecord(method=method, scale=scale, fraction=judged.fraction, groups=groups)


def _solution(
    W: Array, lam: Array, value: float, status: str, passes: float, *, done: bool
) -> Solution:
    return Solution(
        W=W, lam=lam, objective=value, smoothed_objective=None, certificate=None, smoothed=None,
        status=status, converged=done, passes=passes, step=None, halvings=0, epochs=(),
    )  # fmt: skip
