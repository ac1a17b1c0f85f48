"""Several outputs: L-BFGS while the inner problems are easy for it, then Newton steps.

Second derivatives of a softmax are dear, gradients cheap. L-BFGS settles most problems before a
matrix would be complete; where about as many rows stay tied as there are unknowns it cannot, and
by then Newton's matrix changes little but for the ties. Letters: as in newton.py.
"""

from collections import deque

import numpy as np

from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.curvature import Dense, bends, tie_curvature
from lrisk_cli.solvers.descent import line_search
from lrisk_cli.solvers.lbfgs import Lbfgs, Sloped
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.proximal import EASY, UNSOLVED, Iterate
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.types import Array

# Newton steps begin when L-BFGS has not solved a problem with so many evaluations, or when so few
# rows are tied, for each unknown, that they are cheap.
EVALUATIONS = 20
TIES_PER_UNKNOWN = 2.0
# L-BFGS may be hasty before Newton steps: the last so many steps tell what is left.
STEPS_BACK = 3
# After a round of Newton steps that is not quick the smoothing is CUT as large; RAISE as large
# after one that MAX_STEPS did not solve.
CUT, RAISE, MAX_STEPS = 0.6, 10.0, 15
# H0 serves while the curvature of the rows has changed by less than this share.
REUSE = 0.2
# A Newton step may leave this share of the slope at its start.
FLATTER = 0.6
# An inner problem is solved when this share of what other weights may gain is left of it.
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
        # H0, the place it belongs to if it is fresh, and the curvature of the rows there.
        self.base: Dense | None = None
        self.base_at: Sloped | None = None
        self.bends = np.empty(0)
        # A proof is tried when the guide promises this share of the gap asked for, and less after
        # each that failed.
        self.share = 0.9

    def inner(self, place: Iterate) -> tuple[Iterate, int]:
        """By L-BFGS, and by Newton steps where it did not suffice or would not."""
        start, self.stepping = self.sloped(place), self.stepping_next
        if self.stepping:
            new = start if self.tied is None else self._predict(start, self.tied)
        else:
            self.values.clear()
            end, n_steps = super().inner(start)
            few = len(end.tied.rows) <= TIES_PER_UNKNOWN * end.W.size
            self.stepping_next = few or not self.solved
            if self.solved or self.course.exhausted():
                return end, n_steps
            new = self.sloped(end)
        new, n_steps = self._newton(new, moved=new is not start)
        self.tied = new.tied
        self.note_left()
        return new, n_steps

    def change_of_nu(self, n_steps: int, place: Iterate) -> float:
        if n_steps >= UNSOLVED:
            return RAISE
        if not self.stepping:
            return super().change_of_nu(n_steps, place)
        return 1.0 if self.quick else CUT

    def believed(self, value: float, decrement: float) -> float:
        """By the curvature learned, but no less than the last steps have gained."""
        before = self.values[0] if len(self.values) == STEPS_BACK else np.inf
        self.values.append(value)
        return max(decrement, before - value)

    def _newton(self, place: Sloped, *, moved: bool) -> tuple[Sloped, int]:
        """Newton steps on phi until it is solved well enough for the gap that is left.

        moved: whether the round has gone somewhere already; one that goes nowhere ends nothing.
        """
        course, self.guide = self.course, -np.inf
        for n_steps in range(MAX_STEPS):
            gradient = self.gradient(place)
            if n_steps > EASY:
                # Not as good as was thought.
                self.base = self.base if self.base_at is place else None
            solved = self._record(place, gradient)
            if (solved and moved) or course.converged or course.exhausted():
                return place, n_steps
            P = -self._curvature(place, place.tied).solve(gradient)
            slope = float(np.sum(gradient * P))
            if -slope <= 1e-32 * abs(place.phi):
                return place, n_steps
            new = self._search(place, P, slope)
            course.passes += 2.0
            if new is None:
                return place, UNSOLVED
            place, moved = new, True
        return place, UNSOLVED

    def _record(self, place: Sloped, gradient: Array) -> bool:
        """Offer W as the best, raise the guide, and prove when it promises enough.

        Whether the inner problem is solved.
        """
        problem, course = self.problem, self.course
        weighed = course.weigher.weigh(place.losses)
        penalty = problem.penalty(place.W)
        objective = weighed.value + penalty
        course.offer(place.W, objective, objective)
        course.passes += 1.0
        base = self._base(place)
        step = base.solve(gradient)
        decrement = 0.5 * float(np.sum(gradient * step))
        by_projection = float(place.lam @ place.losses) + penalty
        self.guide = max(self.guide, by_projection - decrement)
        if course.best - self.guide <= self.share * course.limits.tol * course.gained:
            self.share *= 0.3
            course.prove(place.lam, place.W - step, near=False, precondition=base.solve)
            if not course.converged:
                self.guide, self.base = course.bound, None
        course.note(objective, weighed.rank_changes)
        return decrement <= self.allowed(ENOUGH, objective, by_projection)

    def _base(self, place: Sloped) -> Dense:
        """H0, of an earlier place as long as the rows bend much as they did there."""
        if self.base is None or self.base_at is not place:
            now = bends(self.problem, place.Z, place.lam)
            change = np.inf if self.base is None else float(np.abs(now - self.bends).sum())
            if self.base is None or change > REUSE * float(self.bends.sum()):
                self.base = Dense(self.problem.hessian(place.Z, np.maximum(place.lam, 0.0)))
                self.base_at, self.bends = place, now
        return self.base

    def _curvature(self, place: Sloped, tied: Tied) -> Dense:
        """H0 and what ties add to it."""
        base = self._base(place)
        if not len(tied.rows):
            return base
        return Dense(base.H + tie_curvature(self.problem, place.Z, tied) / self.nu)

    def _predict(self, place: Sloped, tied: Tied) -> Sloped:
        """A step that makes the losses equal which were tied before, if phi is lower there.

        A new centre and less smoothing let weights jump to their limits, from where Newton steps
        bring them back a few at a time. Here all move as if there were no limits.
        """
        lam = self.centre.copy()
        losses, sizes = place.losses[tied.rows], tied.sizes
        if len(sizes):
            means = np.add.reduceat(losses, np.cumsum(sizes) - sizes) / sizes
            lam[tied.rows] += (losses - np.repeat(means, sizes)) / self.nu
        gradient = self.problem.pull(place.slopes, lam) + self.problem.mu * place.W
        W = place.W - self._curvature(place, tied).solve(gradient)
        self.course.passes += 2.0
        new = self.place(W, self.problem.margins(W))
        return new if new.phi < place.phi else place

    def _search(self, place: Sloped, P: Array, slope: float) -> Sloped | None:
        """Go along P to where phi is flatter, if there is such a place."""
        problem = self.problem
        XP = problem.margins(P)

        def there(t: float) -> tuple[Sloped, float, float]:
            new = self.place(place.W + t * P, place.Z + t * XP)
            along = float(new.lam @ np.einsum("ij,ij->i", new.slopes, XP))
            return new, new.phi, along + problem.mu * float(np.sum(new.W * P))

        return line_search(there, place.phi, slope, 1.0, FLATTER)
