"""Semismooth Newton steps for the inner problems: the certified optimum of any rising risk.

Letters: H0 the curvature at fixed weights, to which rows tied by the projection add
(1/nu) (g_i - mean g)(g_i - mean g)', g_i = grad l_i; P a Newton direction, s its length.
"""

from dataclasses import replace

import numpy as np

from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.certificate import step_within
from lrisk_cli.solvers.curvature import (
    MANY_TIES,
    Dense,
    Solvable,
    joint_curvature,
    make_curvature,
    tie_curvature,
)
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.proximal import UNSOLVED, Iterate, ProximalPoint, run_proximal
from lrisk_cli.solvers.rowspace import RowCurvature
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.spec import Job, Need, SolverSpec
from lrisk_cli.types import Array

# Newton's matrices are (unknowns x unknowns); beyond this many they cost more than they save.
MOST_UNKNOWNS = 2000
# A step overshoots when the slope beyond it is this share of the slope at its start.
OVERSHOOT = 0.1
# The mean's minimiser comes about (columns / rows) near to that of other risks. Up to so many
# times the tolerance it is worth having to the last digit; else every other row will do, as long
# as so many are left for each column.
NEAR_MEAN = 50.0
ROWS_PER_COLUMN = 20


class Newton(ProximalPoint):
    """For up to about two thousand unknowns."""

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        *,
        track_ranks: bool = False,
        report: Report = silent,
        start: Array | None = None,
    ) -> None:
        super().__init__(problem, limits, track_ranks=track_ranks, report=report, start=start)
        self.curvature = make_curvature(problem)
        # The best lower bound by current curvatures is a guide, not a proof. A proof is tried when
        # the guide promises this share of the gap asked for, and less after each that failed.
        self.guide = -np.inf
        self.share = 0.9
        self.misled = False
        self.last: Dense | None = None

    def mean_fit(self, start: Array, accuracy: float) -> tuple[Array, int]:
        """For squared losses by a Gram matrix, which is kept; or, where the mean's minimiser will
        not be the answer itself, by that of every other row."""
        problem = self.problem
        n, d = problem.rows.shape
        if not problem.loss.quadratic or d > n or problem.outer is not None:
            return super().mean_fit(start, accuracy)
        enough = d <= NEAR_MEAN * self.course.limits.tol * n or n < 2 * ROWS_PER_COLUMN * d
        curvature, W = _ridge(problem, 1 if enough else 2)
        self.last = curvature if enough else None
        return W, 1

    def proved_at(self, start: Point) -> bool:
        """With many rows the minimiser of the mean may be all that is asked for."""
        curvature, self.last = self.last, None
        if curvature is None:
            return False
        gradient = self.problem.gradient(start.W, start.margins, start.lam)
        self.course.passes += 1.0
        step = curvature.solve(gradient)
        promised = start.objective - float(np.sum(gradient * step))
        self._prove_if(promised, start.lam, start.W - step, near=False)
        self.course.note(start.objective, start.rank_changes)
        return self.course.converged

    def inner(self, place: Iterate) -> tuple[Iterate, int]:
        """Newton steps on phi until it is solved well enough for the gap that is left."""
        for n_steps in range(1, UNSOLVED + 1):
            gradient = self.problem.gradient(place.W, place.Z, place.lam)
            H, decrement = self._curvature(place, gradient)
            if self.course.converged or self.course.exhausted():
                return place, n_steps
            P = -H.solve(gradient)
            del H  # before the next one takes as much memory
            P *= step_within(self.problem, P)
            slope = float(np.sum(gradient * P))
            # phi may be flat to rounding while its weights still have far to go.
            solved = decrement <= 0.1 * self.course.limits.tol * self.course.gained
            if -slope <= 1e-15 * abs(place.phi) and (solved or -slope <= 1e-32 * abs(place.phi)):
                return place, n_steps
            place, overshot = self._search(place, P, slope)
            self.course.passes += 2.0
            left = max(self.course.best - self.guide, 0.0)
            if -slope < 0.1 * left and not overshot:
                return place, n_steps
        return place, UNSOLVED

    def _curvature(self, place: Iterate, gradient: Array) -> tuple[Solvable, float]:
        """The curvature of phi, and the distance of W from the minimum for fixed weights."""
        problem = self.problem
        if problem.outer is None or problem.loss.n_outputs > 1:
            return self._by_columns(place, gradient)
        return self._by_rows(place, gradient)

    def _by_rows(self, place: Iterate, gradient: Array) -> tuple[RowCurvature, float]:
        """The same where products of rows are known: a system with the rows that count.

        The curvature with ties is good enough to see, with caution, whether the gap can be proved.
        """
        problem, tied = self.problem, len(place.tied.rows) > 0
        if self.misled or not tied:
            H0 = RowCurvature(problem, place.Z, place.lam)
            decrement = self._record(place, gradient, H0, caution=1.0)
            if not tied or self.course.converged:
                return H0, decrement
        H = RowCurvature(problem, place.Z, place.lam, place.tied, self.nu)
        if not self.misled:
            decrement = self._record(place, gradient, H, caution=2.0)
        return H, decrement

    def _by_columns(self, place: Iterate, gradient: Array) -> tuple[Dense, float]:
        """The same by matrices of unknowns x unknowns.

        Where many rows are tied it costs a Gram matrix of its own. The last one is then good
        enough to see, with caution, whether the gap can be proved already.
        """
        problem = self.problem
        many = problem.loss.n_outputs == 1 and len(place.tied.rows) > MANY_TIES
        if not many or self.misled:
            H0 = Dense(self.curvature.base(place.Z, place.lam))
            decrement = self._record(place, gradient, H0, caution=1.0)
            if not len(place.tied.rows) or self.course.converged:
                return H0, decrement
            if many:
                return self._joint(place), decrement
            ties = tie_curvature(problem, place.Z, place.tied)
            return Dense(H0.H + ties / self.nu), decrement
        decrement = np.inf
        if self.last is not None:
            decrement = self._record(place, gradient, self.last, caution=2.0)
            if self.course.converged:
                return self.last, decrement
        self.last = self._joint(place)
        return self.last, decrement

    def _joint(self, place: Iterate) -> Dense:
        return Dense(joint_curvature(self.problem, place.Z, place.lam, place.tied, self.nu))

    def _record(self, place: Iterate, gradient: Array, H: Solvable, *, caution: float) -> float:
        """Offer W as the best, raise the guiding bound, and prove when it promises enough.

        The bound is tried with the weights of the projection, which are good at kinks, and with
        those of the sorted losses, which are good elsewhere. Gives the distance of W from the
        minimum for the former.
        """
        problem, course = self.problem, self.course
        weighed = course.weigher.weigh(place.losses)
        penalty = problem.penalty(place.W)
        objective = weighed.value + penalty
        course.offer(place.W, objective, objective)
        sorted_gradient = problem.gradient(place.W, place.Z, weighed.lam)
        steps = H.solve(np.stack([gradient, sorted_gradient]))
        decrement, sorted_decrement = (
            caution * 0.5 * float(np.sum(g * step))
            for g, step in zip((gradient, sorted_gradient), steps, strict=True)
        )
        course.passes += 1.0
        by_projection = float(place.lam @ place.losses) + penalty - decrement
        by_sort = objective - sorted_decrement
        lam, step = (place.lam, steps[0]) if by_projection > by_sort else (weighed.lam, steps[1])
        self.guide = max(self.guide, by_projection)
        self._prove_if(max(self.guide, by_sort), lam, place.W - step, near=caution == 1.0)
        course.note(objective, weighed.rank_changes)
        return decrement

    def _prove_if(self, promised: float, lam: Array, start: Array, *, near: bool) -> None:
        """Prove a bound with lam if one as large as `promised` would suffice."""
        course = self.course
        if course.best - promised <= self.share * course.limits.tol * course.gained:
            self.share *= 0.3
            course.prove(lam, start, near=near)
            self.misled = not course.converged
            self.guide = course.bound

    def _search(self, place: Iterate, P: Array, slope: float) -> tuple[Iterate, bool]:
        """Go along P to where phi stops falling; whether the full step went too far.

        Regula falsi (Illinois) on the derivative of phi along P, which rises.
        """
        problem = self.problem
        XP = problem.margins(P)

        def there(s: float) -> tuple[Iterate, float]:
            new = self.place(place.W + s * P, place.Z + s * XP)
            slopes = problem.loss.derivatives(new.Z, problem.y)
            along = float(new.lam @ np.sum(slopes * XP, axis=1))
            return new, along + problem.mu * float(np.sum(new.W * P))

        new, beyond = there(1.0)
        if beyond <= OVERSHOOT * -slope:
            return new, False
        low, at_low, high, at_high = 0.0, slope, 1.0, beyond
        for _ in range(8):
            s = (low * at_high - high * at_low) / (at_high - at_low)
            s = min(max(s, low + 0.05 * (high - low)), high - 0.05 * (high - low))
            new, found = there(s)
            if abs(found) <= 0.2 * -slope:
                break
            if found > 0.0:
                high, at_high, at_low = s, found, 0.5 * at_low
            else:
                low, at_low, at_high = s, found, 0.5 * at_high
        return new, True


def _ridge(problem: Problem, every: int) -> tuple[Dense, Array]:
    """Curvature of the mean and its minimiser, by one row in `every`."""
    if every > 1:
        some = slice(None, None, every)
        rows, y = problem.rows.take(some), problem.y[some].copy()
        problem = replace(problem, rows=rows, y=y, outer=None)
    weights = np.full(problem.n_rows, 1.0 / problem.n_rows)
    H = problem.gram(weights)
    H[np.diag_indices(len(H))] += problem.mu
    curvature, target = Dense(H), weights * problem.y
    return curvature, curvature.solve(problem.combine(target[:, None]))


def _suits(problem: Problem) -> str | None:
    if problem.smoothing is not None:
        return None
    if problem.flat:
        return "the mean is one weighted fit"
    n_unknowns = problem.shape[0] * problem.shape[1]
    if problem.outer is not None and problem.loss.n_outputs == 1:
        return f"{problem.n_rows} rows are few enough for it"
    return f"{n_unknowns} unknowns are few enough for it" if n_unknowns <= MOST_UNKNOWNS else None


def _run(job: Job) -> Solution:
    if job.problem.loss.n_outputs == 1:
        return run_proximal(job, Newton)
    from lrisk_cli.solvers.softmax import Softmax

    return run_proximal(job, Softmax)


SPEC = SolverSpec(_run, needs=frozenset({Need.CONVEX_RISK}), suits=_suits)
