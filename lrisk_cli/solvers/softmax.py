"""Several outputs: L-BFGS while the inner problems are easy for it, then Newton steps.

Second derivatives of a softmax are expensive, gradients cheap. L-BFGS settles most problems before
a matrix would be complete; where about as many rows stay tied as there are unknowns it cannot, and
by then Newton's matrix changes little but for the ties. Letters: as in newton.py.
"""

from collections import deque

import numpy as np
from numpy.linalg import LinAlgError

from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.curvature import (
    Dense,
    Solvable,
    bends,
    block_masses,
    softmax_squares,
    tie_curvature,
)
from lrisk_cli.solvers.descent import line_search
from lrisk_cli.solvers.lbfgs import IterateWithDerivatives, Lbfgs
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.products import ProductCurvature
from lrisk_cli.solvers.proximal import EASY, UNSOLVED, Iterate
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.types import Array

# Newton steps begin when L-BFGS has not solved a problem with so many evaluations, or when so few
# rows are tied, for each unknown, that they are cheap.
EVALUATIONS = 20
TIES_PER_UNKNOWN = 2.0
# Before Newton steps L-BFGS stops early: the last so many steps estimate what is left.
STEPS_BACK = 3
# After a round of Newton steps that is not quick the smoothing is CUT as large; RAISE as large
# after one that MAX_STEPS did not solve.
CUT, RAISE, MAX_STEPS = 0.6, 10.0, 15
# H0 is reused while the curvature of the rows has changed by less than this fraction.
REUSE = 0.2
# A Newton step may leave this fraction of the derivative at its start.
FLATTER = 0.6
# A step by products takes about eight of them: for each row and output, its stored numbers and
# ROW_COST more, each of which costs about 25 times what an addition to the matrix does.
PRODUCTS_COST, ROW_COST = 8.0 * 25.0, 30
# An inner problem is solved when at most this fraction of what other weights may gain is left.
ENOUGH = 1.0


class Softmax(Lbfgs):
    """For up to about two thousand unknowns."""

    budget = EVALUATIONS

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
        self.values: deque[float] = deque(maxlen=STEPS_BACK)
        # Whether the present round, and whether the next one, is left to Newton steps alone.
        self.stepping = self.stepping_next = False
        # H0, the iterate it belongs to if it is current, and the curvature of the rows there.
        self.base: Dense | None = None
        self.base_at: IterateWithDerivatives | None = None
        self.bends = np.empty(0)
        # A proof is tried when the guide predicts this fraction of the requested gap, and less
        # after each failure.
        self.fraction = 0.9

    def inner(self, iterate: Iterate) -> tuple[Iterate, int]:
        """By L-BFGS, and by Newton steps where it did not suffice or would not."""
        start, self.stepping = self.with_derivatives(iterate), self.stepping_next
        if self.stepping:
            tied = self.tied
            new = start if tied is None or tied.groups else self._predict(start, tied)
        else:
            self.values.clear()
            end, n_steps = super().inner(start)
            few = len(end.tied.rows) <= TIES_PER_UNKNOWN * end.W.size
            self.stepping_next = few or not self.solved
            if self.solved or self.solver_run.exhausted():
                return end, n_steps
            new = self.with_derivatives(end)
        new, n_steps = self._newton(new, moved=new is not start)
        self.tied = new.tied
        self.note_left()
        return new, n_steps

    def change_of_nu(self, n_steps: int, iterate: Iterate) -> float:
        if n_steps >= UNSOLVED:
            return RAISE
        if not self.stepping:
            return super().change_of_nu(n_steps, iterate)
        return 1.0 if self.quick else CUT

    def believed(self, value: float, decrement: float) -> float:
        """By the estimated curvature, but at least what the last steps have gained."""
        before = self.values[0] if len(self.values) == STEPS_BACK else np.inf
        self.values.append(value)
        return max(decrement, before - value)

    def _newton(
        self, iterate: IterateWithDerivatives, *, moved: bool
    ) -> tuple[IterateWithDerivatives, int]:
        """Newton steps on phi until it is solved well enough for the gap that is left.

        moved: whether the round has changed W already; a round without progress does not end the
        run.
        """
        solver_run, self.guide = self.solver_run, -np.inf
        for n_steps in range(MAX_STEPS):
            gradient = self.gradient(iterate)
            if n_steps > EASY:
                # The estimate was too optimistic.
                self.base = self.base if self.base_at is iterate else None
            solved = self._record(iterate, gradient)
            if (solved and moved) or solver_run.converged or solver_run.exhausted():
                return iterate, n_steps
            P = -self._curvature(iterate, iterate.tied).solve(gradient)
            slope = float(np.sum(gradient * P))
            if not np.isfinite(slope):
                raise LinAlgError("a Newton step that is not finite")
            if -slope <= 1e-32 * abs(iterate.phi):
                return iterate, n_steps
            new = self._search(iterate, P, slope)
            solver_run.passes += 2.0
            if new is None:
                return iterate, UNSOLVED
            iterate, moved = new, True
        return iterate, UNSOLVED

    def _record(self, iterate: IterateWithDerivatives, gradient: Array) -> bool:
        """Offer W as the best, raise the guide, and prove when it promises enough.

        Whether the inner problem is solved.
        """
        problem, solver_run = self.problem, self.solver_run
        weighed = solver_run.row_weighter.weigh(iterate.losses)
        penalty = problem.penalty(iterate.W)
        objective = weighed.value + penalty
        solver_run.offer(iterate.W, objective, objective)
        solver_run.passes += 1.0
        base = self._base(iterate)
        step = base.solve(gradient)
        decrement = 0.5 * float(np.sum(gradient * step))
        by_projection = float(iterate.lam @ iterate.losses) + penalty
        self.guide = max(self.guide, by_projection - decrement)
        if (
            solver_run.best - self.guide
            <= self.fraction * solver_run.limits.tol * solver_run.gained
        ):
            self.fraction *= 0.3
            solver_run.prove(iterate.lam, iterate.W - step, near=False, precondition=base.solve)
            if not solver_run.converged:
                self.guide, self.base = solver_run.bound, None
        solver_run.note(objective, weighed.rank_changes)
        return decrement <= self.allowed(ENOUGH, objective, by_projection)

    def _base(self, iterate: IterateWithDerivatives) -> Dense:
        """H0, of an earlier iterate as long as the curvature of the rows has changed little."""
        if self.base is None or self.base_at is not iterate:
            now = bends(self.problem, iterate.Z, iterate.lam)
            change = np.inf if self.base is None else float(np.abs(now - self.bends).sum())
            if self.base is None or change > REUSE * float(self.bends.sum()):
                self.base = Dense(self.problem.hessian(iterate.Z, np.maximum(iterate.lam, 0.0)))
                self.base_at, self.bends = iterate, now
        return self.base

    def _curvature(self, iterate: IterateWithDerivatives, tied: Tied) -> Solvable:
        """H0 and what ties add to it; with many blocks, whose sums cost most, by products.

        The squares of tied gradients without the means of blocks are a good guess for these.
        """
        problem, base = self.problem, self._base(iterate)
        if tied.empty:
            return base
        n, (_, k) = problem.n_rows, problem.shape
        by_rows = PRODUCTS_COST * n * k * (problem.rows.stored + ROW_COST)
        if tied.groups is None and len(tied.sizes) * iterate.W.size**2 > by_rows:
            guess = Dense(base.H + softmax_squares(problem, iterate.Z, tied) / self.nu)
            return ProductCurvature(problem, iterate.Z, iterate.lam, tied, self.nu, guess.solve)
        return Dense(base.H + tie_curvature(self.problem, iterate.Z, tied) / self.nu)

    def _predict(self, iterate: IterateWithDerivatives, tied: Tied) -> IterateWithDerivatives:
        """A step that makes the losses equal which were tied before, if phi is lower there.

        A new centre and less smoothing let weights jump to their limits, from where Newton steps
        bring them back a few at a time. Here all move as if there were no limits.
        """
        lam = self.proximity.centre.copy()
        losses, sizes = iterate.losses[tied.rows], tied.sizes
        if len(sizes):
            starts, masses = np.cumsum(sizes) - sizes, tied.masses
            weighed = losses if masses is None else masses * losses
            means = np.add.reduceat(weighed, starts) / block_masses(tied)
            moved = (losses - np.repeat(means, sizes)) / self.nu
            lam[tied.rows] += moved if masses is None else masses * moved
        gradient = self.problem.pull(iterate.derivatives, lam) + self.problem.mu * iterate.W
        W = iterate.W - self._curvature(iterate, tied).solve(gradient)
        self.solver_run.passes += 2.0
        new = self.iterate_at(W, self.problem.margins(W))
        return new if new.phi < iterate.phi else iterate

    def _search(
        self, iterate: IterateWithDerivatives, P: Array, slope: float
    ) -> IterateWithDerivatives | None:
        """Line search along P to where phi is flatter, if there is such a point."""
        problem = self.problem
        XP = problem.margins(P)

        def there(t: float) -> tuple[IterateWithDerivatives, float, float]:
            new = self.iterate_at(iterate.W + t * P, iterate.Z + t * XP)
            along = float(new.lam @ np.einsum("ij,ij->i", new.derivatives, XP))
            return new, new.phi, along + problem.mu * float(np.sum(new.W * P))

        return line_search(there, iterate.phi, slope, 1.0, FLATTER)
