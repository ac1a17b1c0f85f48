"""L-BFGS for the inner problems: for more unknowns than Newton's matrices can hold."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.curvature import bends
from lrisk_cli.solvers.descent import EvaluatedPoint, Precondition, descend
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.proximal import (
    FIRST_NU,
    UNSOLVED,
    Iterate,
    ProximalPoint,
    run_proximal,
)
from lrisk_cli.solvers.proximity import LEAST_SPREAD
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.spec import Job, Need, SolverSpec
from lrisk_cli.solvers.ties import TieInverse
from lrisk_cli.types import Array

# Evaluations after which an inner problem is given up.
MAX_EVALUATIONS = 400
# First smoothing of a run from zero: this fraction of the loss there over the spread of sigma.
NU_FROM_ZERO = 0.05
# A round that leaves at most KEEP of the gap keeps the smoothing, others make it CUT as large; one
# that is given up makes it RAISE as large.
KEEP, CUT, RAISE = 0.05, 0.3, 3.0
# An inner problem is solved when at most this fraction of what other weights may gain is left of
# it, and at most COARSE of its value: where losses fall to a fraction, gains are not yet foreseen.
ENOUGH, COARSE = 0.1, 0.1
# After a round of more evaluations than HARD the next use the curvature of the ties, if there are
# at most MANY_TIES, in addition to a curvature of all unknowns that is BASE times the mean of those
# known.
HARD, MANY_TIES, BASE = 100, 2500, 3.0


@dataclass(frozen=True, slots=True)
class IterateWithDerivatives(Iterate):
    """An iterate with the derivatives of its losses by the margins. (n, k)."""

    derivatives: Array


class Lbfgs(ProximalPoint):
    """Needs gradients only; phi is smooth, with curvature of order 1/nu between tied rows."""

    budget = MAX_EVALUATIONS

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
        # A lower bound that is guessed, not proved; the gap to it that the last round left, and
        # whether that is little of the one before.
        self.guide = -np.inf
        self.left = np.inf
        self.quick = False
        # Of the round: evaluations that it still has, whether it has solved its problem.
        self.trials = 0
        self.solved = False
        # The ties where the last round ended, and whether rounds have become hard.
        self.tied: Tied | None = None
        self.hard = False

    def mean_fit(self, start: Array, accuracy: float) -> tuple[Array, int]:
        """Skipped where all rows have equal losses at zero, which is as good a start."""
        if self.problem.loss.starts_at_zero:
            return start, 0
        return super().mean_fit(start, accuracy)

    def _first_nu(self, losses: Array) -> float:
        if self.problem.loss.starts_at_zero:
            return NU_FROM_ZERO * self.solver_run.at_zero / self.proximity.spread
        return super()._first_nu(losses)

    def change_of_nu(self, n_steps: int, iterate: Iterate) -> float:
        """Less smoothing where a round gained little, and where losses fell to a fraction."""
        if n_steps >= UNSOLVED:
            return RAISE
        scale = max(self.solver_run.best, LEAST_SPREAD * self.solver_run.at_zero)
        most = FIRST_NU * scale / (self.proximity.spread * self.nu)
        return min(1.0 if self.quick else CUT, most)

    def iterate_at(self, W: Array, Z: Array) -> IterateWithDerivatives:
        problem = self.problem
        losses, derivatives = problem.loss.values_and_derivatives(Z, problem.y)
        lam, tied, cost = self.proximity(losses, self.nu)
        phi = float(lam @ losses) - cost + problem.penalty(W)
        return IterateWithDerivatives(W, Z, losses, lam, tied, phi, derivatives)

    def with_derivatives(self, iterate: Iterate) -> IterateWithDerivatives:
        """The same iterate with derivatives."""
        return (
            iterate
            if isinstance(iterate, IterateWithDerivatives)
            else self.iterate_at(iterate.W, iterate.Z)
        )

    def gradient(self, iterate: IterateWithDerivatives) -> Array:
        """Of phi. (d, k)."""
        return self.problem.pull(iterate.derivatives, iterate.lam) + self.problem.mu * iterate.W

    def inner(self, iterate: Iterate) -> tuple[Iterate, int]:
        """L-BFGS on phi until hardly any of the gap is left of it."""
        self.trials, start = self.budget, self.with_derivatives(iterate)
        point = descend(self._evaluate, self._point(start), self._done, self._precondition(start))
        self.hard = self.hard or (self.tied is not None and self.budget - self.trials > HARD)
        self.tied = point.kept.tied
        self.note_left()
        return point.kept, 1 if self.solved else UNSOLVED

    def note_left(self) -> None:
        """At the end of a round: what it left of the gap, by the guide."""
        left = self.solver_run.best - self.guide
        self.quick, self.left = left <= KEEP * self.left, left

    def _precondition(self, iterate: IterateWithDerivatives) -> Precondition | None:
        """The curvature between rows that were tied before, where rounds are hard."""
        tied, problem = self.tied, self.problem
        if not self.hard or tied is None or not 0 < len(tied.rows) <= MANY_TIES:
            return None
        trace = problem.rows.gram_trace(bends(problem, iterate.Z, iterate.lam))
        mean = trace / iterate.W.size
        return TieInverse(problem, iterate.derivatives, tied, self.nu, BASE * mean + problem.mu)

    def _evaluate(self, W: Array) -> EvaluatedPoint[IterateWithDerivatives]:
        self.trials -= 1
        self.solver_run.passes += 2.0
        return self._point(self.iterate_at(W, self.problem.margins(W)))

    def _point(self, iterate: IterateWithDerivatives) -> EvaluatedPoint[IterateWithDerivatives]:
        return EvaluatedPoint(iterate.W, iterate.phi, self.gradient(iterate), iterate)

    def _done(self, point: EvaluatedPoint[IterateWithDerivatives], decrement: float) -> bool:
        """Offer W as the best, prove a bound where it promises to suffice; whether to stop."""
        problem, solver_run, iterate = self.problem, self.solver_run, point.kept
        weighed = solver_run.row_weighter.weigh(iterate.losses)
        penalty = problem.penalty(iterate.W)
        objective = weighed.value + penalty
        solver_run.offer(iterate.W, objective, objective)
        solver_run.note(objective, weighed.rank_changes)
        slack = float(np.sum(point.gradient**2)) / (2.0 * problem.mu)
        left = min(self.believed(point.value, decrement), slack)
        by_projection = float(iterate.lam @ iterate.losses) + penalty
        self.guide = by_projection - left
        self.solved = left <= self.allowed(ENOUGH, objective, by_projection)
        asked = solver_run.limits.tol * solver_run.gained
        if self.solved and solver_run.best - self.guide <= 0.9 * asked:
            # Enough for the gap asked for: on until the gradient proves it.
            self.solved = slack <= 0.1 * asked
            if self.solved:
                solver_run.prove(iterate.lam, iterate.W)
        return self.solved or self.trials <= 0 or solver_run.exhausted() is not None

    def believed(self, value: float, decrement: float) -> float:
        """How far phi may still fall from a value, judged by the curvature estimated so far.

        That estimate is often too large at kinks, so only the gradient is used.
        """
        return np.inf

    def allowed(self, fraction: float, objective: float, by_projection: float) -> float:
        """How much may be left of an inner problem: a fraction of what other weights may gain."""
        asked = self.solver_run.limits.tol * self.solver_run.gained
        enough = max(fraction * (objective - by_projection), 0.1 * asked)
        return min(enough, COARSE * by_projection)


def _suits(problem: Problem) -> str | None:
    if problem.smoothing is not None:
        return None
    return f"{problem.shape[0] * problem.shape[1]} unknowns are too many for newton"


def _run(job: Job) -> Solution:
    return run_proximal(job, Lbfgs)


SPEC = SolverSpec(_run, needs=frozenset({Need.CONVEX_RISK, Need.SMOOTH_LOSS}), suits=_suits)
