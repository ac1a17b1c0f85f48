"""Alternation for falling risks: weights for fixed W, then the weighted fit for fixed weights.

A falling risk is a minimum, R(W) = min over lam in P(sigma) of lam.l(W), so neither step raises
F(W) = R(W) + mu/2 ||W||^2 and the search ends at a stationary point: W minimises lam.l + mu/2
||.||^2 for its own weights lam. For squared losses and the subquantile this is the concentration
step of least trimmed squares. Smoothing adds nu Omega(lam) to what is minimised, and changes
nothing else. F is not convex: the best of several starts is kept, and nothing is proved. Where a
fit to all rows is expensive, the starts are compared on a sample of them.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.weighted import unit_weights
from lrisk_cli.solvers.certificate import InverseCurvature, weighted_minimiser
from lrisk_cli.solvers.direct import solve_mean
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import Ended, Limits, Solution, SolverRun, Watch
from lrisk_cli.solvers.spec import Job, Need, SolverSpec
from lrisk_cli.solvers.starts import INLIERS_START, Start, starts
from lrisk_cli.types import Array

# A weighted fit may leave this fraction of what the last round gained, as the weights will change.
COARSE = 0.01
MAX_ROUNDS = 500
# Objectives that differ by at most this fraction are equal up to rounding.
SAME = 1e-12
ZERO = "zero coefficients"
# Starts are compared on a sample where a weighted fit takes more than WORK operations: on so many
# rows, and on a quarter of them at most.
WORK = 2e8
SCREEN_ROWS = {"narrow": 20_000, "wide": 250}


def solve_trimmed(
    problem: Problem,
    limits: Limits,
    *,
    inliers: Array | None = None,
    track_ranks: bool = False,
    report: Report = silent,
    watch: Watch | None = None,
) -> Solution:
    """The best stationary point of all starts; the first stop where a limit is reached.

    inliers: (n,) the probability that each row is an inlier; gives one more start.
    """
    solver_run = SolverRun(problem, limits, report, track_ranks=track_ranks)
    solver_run.watch = watch
    begin = starts(problem, inliers)
    rows = _screened_rows(problem)
    if rows is None or len(begin) == 1:
        return _Search(problem, solver_run).run(begin)
    some = _sample(problem, rows)
    found = _Search(some, SolverRun(some, limits)).run(
        [_restrict(start, rows, some) for start in begin]
    )
    best = _first_best(found.starts)
    from_sample = [start for start in begin if start.name == best and best == INLIERS_START]
    if not from_sample:
        from_sample = [Start(best, problem.at(found.W, problem.row_weighter()).lam)]
    whole = _Search(problem, solver_run).run(from_sample)
    objectives = [ended.objective for ended in found.starts]
    tried = (
        f"; the best of {len(objectives)} starts on a sample of {len(rows)} rows, objectives "
        f"{min(objectives):.4g} to {max(objectives):.4g}"
    )
    return replace(whole, status=whole.status + tried)


class _Search:
    """The state of one minimisation."""

    def __init__(self, problem: Problem, solver_run: SolverRun) -> None:
        self.problem, self.solver_run = problem, solver_run
        self.why = ""
        self._curvature = InverseCurvature()

    def run(self, begin: list[Start]) -> Solution:
        solver_run = self.solver_run
        zero = self._at(np.zeros(self.problem.shape))
        solver_run.begin(zero.objective, zero.smoothed)
        solver_run.note(zero.objective, zero.rank_changes, zero)
        best = ZERO
        for start in begin:
            if solver_run.starts and not self.why:
                # A limit skips the remaining starts; finished ones are kept.
                self.why = solver_run.exhausted() or ""
            if self.why:
                break
            if self._better(start):
                best = start.name
        if best == ZERO and not self.why:
            # No start is better than zero coefficients; a descent from there can only improve.
            self._better(Start(ZERO, zero.lam))
        if not self.why:
            solver_run.settled = _best_of(solver_run.starts, best)
        return solver_run.solution(self.why)

    def _better(self, start: Start) -> bool:
        """Whether the search from here led to the best point so far, by more than rounding."""
        before = self.solver_run.best_smoothed
        self.solver_run.starts = (*self.solver_run.starts, self._descend(start))
        return self.solver_run.best_smoothed < before - SAME * abs(before)

    def _at(self, W: Array) -> Point:
        self.solver_run.passes += 1.0
        return self.problem.at(W, self.solver_run.row_weighter)

    def _fit(self, weights: Array, near: Array, accuracy: float) -> Point:
        """The weighted fit, from a guess of it."""
        until = self.solver_run.limits.deadline
        W, passes = weighted_minimiser(
            self.problem, weights, near, accuracy, self._curvature, until
        )
        self.solver_run.passes += passes
        return self._at(W)

    def _descend(self, start: Start) -> Ended:
        """Rounds from one start until the weights repeat or hardly anything is gained."""
        solver_run = self.solver_run
        point = self._fit(start.weights, np.zeros(self.problem.shape), COARSE * solver_run.at_zero)
        self._keep(point)
        accuracy = COARSE * solver_run.at_zero
        for n_rounds in range(1, MAX_ROUNDS + 1):
            enough = solver_run.limits.tol * solver_run.gained
            accurate = self.problem.loss.quadratic or accuracy <= 0.1 * enough
            new = self._fit(point.lam, point.W, accuracy)
            gain = point.smoothed - new.smoothed
            settled = gain <= enough or np.array_equal(new.lam, point.lam)
            if gain > 0.0:
                point = new
                self._keep(point)
            if not (settled and accurate):
                self.why = solver_run.exhausted() or ""
            if self.why or (settled and accurate):
                return Ended(start.name, point.objective, n_rounds)
            accuracy = 0.1 * enough if settled else max(0.1 * enough, min(accuracy, COARSE * gain))
        self.why = f"stopped after {MAX_ROUNDS} rounds from one start"
        return Ended(start.name, point.objective, MAX_ROUNDS)

    def _keep(self, point: Point) -> None:
        self.solver_run.offer(point.W, point.objective, point.smoothed)
        self.solver_run.note(point.objective, point.rank_changes, point)


def _screened_rows(problem: Problem) -> NDArray[np.intp] | None:
    """The rows on which to compare starts, evenly spread; None for all."""
    n, d = problem.rows.shape
    if n * min(n, d) ** 2 <= WORK:
        return None
    most = SCREEN_ROWS["wide" if d > n // 4 else "narrow"]
    n_some = min(most, n // 4)
    return np.arange(n_some) * n // n_some


def _sample(problem: Problem, rows: NDArray[np.intp]) -> Problem:
    """The same problem of some of its rows."""
    masses = None if problem.masses is None else problem.masses.take(rows)
    if masses is None:
        sigma = problem.spectrum.weights(len(rows))
    else:
        sigma = unit_weights(problem.spectrum, masses.total)
    return replace(
        problem,
        rows=problem.rows.take(rows),
        y=problem.y[rows],
        sigma=sigma,
        masses=masses,
        outer=None if problem.outer is None else problem.row_products(rows),
    )


def _restrict(start: Start, rows: NDArray[np.intp], some: Problem) -> Start:
    weights = start.weights[rows]
    total = float(weights.sum())
    return Start(start.name, weights / total if total > 0.0 else some.even)


def _first_best(ended: tuple[Ended, ...]) -> str:
    """The first start that led to the least objective, up to rounding: libraries round apart."""
    least = min(each.objective for each in ended)
    return next(each.name for each in ended if each.objective <= least + SAME * abs(least))


def _best_of(ended: tuple[Ended, ...], best: str) -> str:
    """ "best of 4 starts (nearest rows), objectives 0.1234 to 0.1301"."""
    objectives = [each.objective for each in ended]
    if len(ended) == 1:
        return f"one start ({best}), objective {objectives[0]:.4g}"
    low, high = min(objectives), max(objectives)
    return f"best of {len(ended)} starts ({best}), objectives {low:.4g} to {high:.4g}"


def _suits(_: Problem) -> str:
    return "the risk falls with the loss and is not convex"


def _run(job: Job) -> Solution:
    if job.problem.flat:
        return solve_mean(job.problem, job.limits, job.report, job.start, job.watch)
    return solve_trimmed(
        job.problem,
        job.limits,
        inliers=job.inliers,
        track_ranks=job.options.track_ranks,
        report=job.report,
        watch=job.watch,
    )


SPEC = SolverSpec(
    _run, needs=frozenset({Need.FALLING_RISK}), suits=_suits, softplus=True, inliers=True
)
