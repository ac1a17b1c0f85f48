"""Semismooth Newton steps for the inner problems.

Letters: H0 the curvature at fixed weights, to which rows tied by the projection add
(1/nu) (g_i - mean g)(g_i - mean g)', g_i = grad l_i; P a Newton direction, s its length.
"""

import numpy as np
from numpy.linalg import LinAlgError

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
from lrisk_cli.solvers.products import ProductCurvature, by_products
from lrisk_cli.solvers.proximal import UNSOLVED, Iterate, ProximalPoint
from lrisk_cli.solvers.rowspace import RowCurvature
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.types import Array

# A step overshoots when the derivative at its end is this fraction of that at its start.
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
        # the guide predicts this fraction of the requested gap, and less after each failure.
        self.guide = -np.inf
        self.fraction = 0.9
        self.misled = False
        self.last: Dense | None = None

    def mean_fit(self, start: Array, accuracy: float) -> tuple[Array, int]:
        """For squared losses by a Gram matrix, which is kept; or, where the mean's minimiser will
        not be the answer itself, by that of every other row."""
        problem = self.problem
        n, d = problem.rows.shape
        large = d > n or by_products(problem)
        if not problem.loss.quadratic or large or problem.outer is not None:
            return super().mean_fit(start, accuracy)
        enough = d <= NEAR_MEAN * self.solver_run.limits.tol * n or n < 2 * ROWS_PER_COLUMN * d
        curvature, W = _ridge(problem, 1 if enough else 2)
        self.last = curvature if enough else None
        return W, 1

    def proved_at(self, start: Point) -> bool:
        """With many rows the minimiser of the mean may be all that is asked for."""
        curvature, self.last = self.last, None
        if curvature is None:
            return False
        gradient = self.problem.gradient(start.W, start.margins, start.lam)
        self.solver_run.passes += 1.0
        step = curvature.solve(gradient)
        promised = start.objective - float(np.sum(gradient * step))
        self._prove_if(promised, start.lam, start.W - step, near=False)
        self.solver_run.note(start.objective, start.rank_changes)
        return self.solver_run.converged

    def inner(self, iterate: Iterate) -> tuple[Iterate, int]:
        """Newton steps on phi until it is solved well enough for the gap that is left."""
        for n_steps in range(1, UNSOLVED + 1):
            gradient = self.problem.gradient(iterate.W, iterate.Z, iterate.lam)
            H, decrement = self._curvature(iterate, gradient)
            if self.solver_run.converged or self.solver_run.exhausted():
                return iterate, n_steps
            P = -H.solve(gradient)
            del H  # before the next one takes as much memory
            P *= step_within(self.problem, P)
            slope = float(np.sum(gradient * P))
            if not np.isfinite(slope):
                raise LinAlgError("a Newton step that is not finite")
            # phi may be flat to rounding while its weights still have far to go.
            solved = decrement <= 0.1 * self.solver_run.limits.tol * self.solver_run.gained
            if -slope <= 1e-15 * abs(iterate.phi) and (
                solved or -slope <= 1e-32 * abs(iterate.phi)
            ):
                return iterate, n_steps
            iterate, overshot = self._search(iterate, P, slope)
            self.solver_run.passes += 2.0
            left = max(self.solver_run.best - self.guide, 0.0)
            if -slope < 0.1 * left and not overshot:
                return iterate, n_steps
        return iterate, UNSOLVED

    def _curvature(self, iterate: Iterate, gradient: Array) -> tuple[Solvable, float]:
        """The curvature of phi, and the distance of W from the minimum for fixed weights."""
        problem = self.problem
        if by_products(problem) and iterate.tied.groups is None:
            return self._by_products(iterate, gradient)
        if problem.outer is None or problem.loss.n_outputs > 1:
            return self._by_columns(iterate, gradient)
        return self._by_rows(iterate, gradient)

    def _by_rows(self, iterate: Iterate, gradient: Array) -> tuple[RowCurvature, float]:
        """The same where products of rows are known: a system with the rows that count.

        The curvature with ties is accurate enough to predict whether the gap can be proved.
        """
        problem, tied = self.problem, len(iterate.tied.rows) > 0
        if self.misled or not tied:
            H0 = RowCurvature(problem, iterate.Z, iterate.lam)
            decrement = self._record(iterate, gradient, H0, caution=1.0)
            if not tied or self.solver_run.converged:
                return H0, decrement
        H = RowCurvature(problem, iterate.Z, iterate.lam, iterate.tied, self.nu)
        if not self.misled:
            decrement = self._record(iterate, gradient, H, caution=2.0)
        return H, decrement

    def _by_products(self, iterate: Iterate, gradient: Array) -> tuple[ProductCurvature, float]:
        """The same where neither matrix is held."""
        H0 = ProductCurvature(self.problem, iterate.Z, iterate.lam)
        decrement = self._record(iterate, gradient, H0, caution=1.0)
        if not len(iterate.tied.rows) or self.solver_run.converged:
            return H0, decrement
        tied = ProductCurvature(self.problem, iterate.Z, iterate.lam, iterate.tied, self.nu)
        return tied, decrement

    def _by_columns(self, iterate: Iterate, gradient: Array) -> tuple[Dense, float]:
        """The same by matrices of unknowns x unknowns.

        Where many rows are tied it costs a Gram matrix of its own. The last one is then good
        enough to see, with caution, whether the gap can be proved already.
        """
        problem = self.problem
        many = problem.loss.n_outputs == 1 and len(iterate.tied.rows) > MANY_TIES
        if not many or self.misled:
            H0 = Dense(self.curvature.base(iterate.Z, iterate.lam))
            decrement = self._record(iterate, gradient, H0, caution=1.0)
            if iterate.tied.empty or self.solver_run.converged:
                return H0, decrement
            if many:
                return self._joint(iterate), decrement
            ties = tie_curvature(problem, iterate.Z, iterate.tied)
            return Dense(H0.H + ties / self.nu), decrement
        decrement = np.inf
        if self.last is not None:
            decrement = self._record(iterate, gradient, self.last, caution=2.0)
            if self.solver_run.converged:
                return self.last, decrement
        self.last = self._joint(iterate)
        return self.last, decrement

    def _joint(self, iterate: Iterate) -> Dense:
        return Dense(joint_curvature(self.problem, iterate.Z, iterate.lam, iterate.tied, self.nu))

    def _record(self, iterate: Iterate, gradient: Array, H: Solvable, *, caution: float) -> float:
        """Offer W as the best, raise the guiding bound, and prove when it promises enough.

        The bound is tried with the weights of the projection, which are good at kinks, and with
        those of the sorted losses, which are good elsewhere. Gives the distance of W from the
        minimum for the former.
        """
        problem, solver_run = self.problem, self.solver_run
        weighed = solver_run.row_weighter.weigh(iterate.losses)
        penalty = problem.penalty(iterate.W)
        objective = weighed.value + penalty
        solver_run.offer(iterate.W, objective, objective)
        sorted_gradient = problem.gradient(iterate.W, iterate.Z, weighed.lam)
        steps = H.solve(np.stack([gradient, sorted_gradient]))
        decrement, sorted_decrement = (
            caution * 0.5 * float(np.sum(g * step))
            for g, step in zip((gradient, sorted_gradient), steps, strict=True)
        )
        solver_run.passes += 1.0
        by_projection = float(iterate.lam @ iterate.losses) + penalty - decrement
        by_sort = objective - sorted_decrement
        lam, step = (iterate.lam, steps[0]) if by_projection > by_sort else (weighed.lam, steps[1])
        self.guide = max(self.guide, by_projection)
        self._prove_if(max(self.guide, by_sort), lam, iterate.W - step, near=caution == 1.0)
        solver_run.note(objective, weighed.rank_changes)
        return decrement

    def _prove_if(self, promised: float, lam: Array, start: Array, *, near: bool) -> None:
        """Prove a bound with lam if one as large as `promised` would suffice."""
        solver_run = self.solver_run
        if solver_run.best - promised <= self.fraction * solver_run.limits.tol * solver_run.gained:
            self.fraction *= 0.3
            self.prove(lam, start, near=near)
            self.misled = not solver_run.converged
            self.guide = solver_run.bound

    def _search(self, iterate: Iterate, P: Array, slope: float) -> tuple[Iterate, bool]:
        """Line search along P to where phi stops falling; whether the full step was too long.

        Regula falsi (Illinois) on the derivative of phi along P, which rises.
        """
        problem = self.problem
        XP = problem.margins(P)

        def there(s: float) -> tuple[Iterate, float]:
            new = self.iterate_at(iterate.W + s * P, iterate.Z + s * XP)
            derivatives = problem.loss.derivatives(new.Z, problem.y)
            along = float(new.lam @ np.sum(derivatives * XP, axis=1))
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
    rows, some = problem.rows, slice(None, None, every)
    y = problem.y[some]
    weights = np.full(len(y), 1.0 / len(y))
    if problem.masses is not None:
        weights = problem.masses.even[some] / problem.masses.even[some].sum()
    H = rows.gram(weights, some)
    H[np.diag_indices(len(H))] += problem.mu
    curvature, target = Dense(H), weights * y
    return curvature, curvature.solve(rows.combine(target[:, None], some))
