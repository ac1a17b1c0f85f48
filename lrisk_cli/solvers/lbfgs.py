"""L-BFGS for the inner problems: for more unknowns than Newton's matrices can hold."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.curvature import bends
from lrisk_cli.solvers.descent import Precondition, Spot, descend
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.proximal import (
    FIRST_NU,
    LEAST_SPREAD,
    UNSOLVED,
    Iterate,
    ProximalPoint,
    run_proximal,
)
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.spec import Job, Need, SolverSpec
from lrisk_cli.solvers.ties import TieInverse
from lrisk_cli.types import Array

# Evaluations after which an inner problem is given up.
MAX_EVALUATIONS = 400
# First smoothing of a run from zero: this share of the loss there over the spread of sigma.
NU_FROM_ZERO = 0.05
# A round that leaves at most KEEP of the gap keeps the smoothing, others make it CUT as large; one
# that is given up makes it RAISE as large.
KEEP, CUT, RAISE = 0.05, 0.3, 3.0
# An inner problem is solved when this share of what other weights may gain is left of it, and at
# most COARSE of its value: where losses fall to a fraction, gains are not yet foreseen.
ENOUGH, COARSE = 0.1, 0.1
# After a round of more evaluations than HARD the next are told about the ties, if they are at most
# MANY_TIES, besides a curvature of all unknowns that is BASE times the mean of those known.
HARD, MANY_TIES, BASE = 100, 2500, 3.0


@dataclass(frozen=True, slots=True)
class Sloped(Iterate):
    """A place with the slopes of its losses in the margins. (n, k)."""

    slopes: Array


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
        """None where all rows lose alike at zero, which is as good a start."""
        if self.problem.loss.starts_at_zero:
            return start, 0
        return super().mean_fit(start, accuracy)

    def _first_nu(self, losses: Array) -> float:
        if self.problem.loss.starts_at_zero:
            return NU_FROM_ZERO * self.course.at_zero / self._spread_of_sigma
        return super()._first_nu(losses)

    @property
    def _spread_of_sigma(self) -> float:
        return float(self.problem.sigma[-1] - self.problem.sigma[0])

    def change_of_nu(self, n_steps: int, place: Iterate) -> float:
        """Less smoothing where a round gained little, and where losses fell to a fraction."""
        if n_steps >= UNSOLVED:
            return RAISE
        scale = max(self.course.best, LEAST_SPREAD * self.course.at_zero)
        most = FIRST_NU * scale / (self._spread_of_sigma * self.nu)
        return min(1.0 if self.quick else CUT, most)

    def place(self, W: Array, Z: Array) -> Sloped:
        problem = self.problem
        losses, slopes = problem.loss.values_and_derivatives(Z, problem.y)
        lam, tied = self.project(self.centre + losses / self.nu)
        away = lam - self.centre
        phi = float(lam @ losses) - 0.5 * self.nu * float(away @ away) + problem.penalty(W)
        return Sloped(W, Z, losses, lam, tied, phi, slopes)

    def sloped(self, place: Iterate) -> Sloped:
        """The same place with slopes."""
        return place if isinstance(place, Sloped) else self.place(place.W, place.Z)

    def gradient(self, place: Sloped) -> Array:
        """Of phi. (d, k)."""
        return self.problem.pull(place.slopes, place.lam) + self.problem.mu * place.W

    def inner(self, place: Iterate) -> tuple[Iterate, int]:
        """L-BFGS on phi until hardly any of the gap is left of it."""
        self.trials, start = self.budget, self.sloped(place)
        spot = descend(self._evaluate, self._spot(start), self._done, self._precondition(start))
        self.hard = self.hard or (self.tied is not None and self.budget - self.trials > HARD)
        self.tied = spot.kept.tied
        self.note_left()
        return spot.kept, 1 if self.solved else UNSOLVED

    def note_left(self) -> None:
        """At the end of a round: what it left of the gap, by the guide."""
        left = self.course.best - self.guide
        self.quick, self.left = left <= KEEP * self.left, left

    def _precondition(self, place: Sloped) -> Precondition | None:
        """The curvature between rows that were tied before, where rounds are hard."""
        tied, problem = self.tied, self.problem
        if not self.hard or tied is None or not 0 < len(tied.rows) <= MANY_TIES:
            return None
        trace = problem.rows.gram_trace(bends(problem, place.Z, place.lam))
        mean = trace / place.W.size
        return TieInverse(problem, place.slopes, tied, self.nu, BASE * mean + problem.mu)

    def _evaluate(self, W: Array) -> Spot[Sloped]:
        self.trials -= 1
        self.course.passes += 2.0
        return self._spot(self.place(W, self.problem.margins(W)))

    def _spot(self, place: Sloped) -> Spot[Sloped]:
        return Spot(place.W, place.phi, self.gradient(place), place)

    def _done(self, spot: Spot[Sloped], decrement: float) -> bool:
        """Offer W as the best, prove a bound where it promises to suffice; whether to stop."""
        problem, course, place = self.problem, self.course, spot.kept
        weighed = course.weigher.weigh(place.losses)
        penalty = problem.penalty(place.W)
        objective = weighed.value + penalty
        course.offer(place.W, objective, objective)
        course.note(objective, weighed.rank_changes)
        slack = float(np.sum(spot.gradient**2)) / (2.0 * problem.mu)
        left = min(self.believed(spot.value, decrement), slack)
        by_projection = float(place.lam @ place.losses) + penalty
        self.guide = by_projection - left
        self.solved = left <= self.allowed(ENOUGH, objective, by_projection)
        asked = course.limits.tol * course.gained
        if self.solved and course.best - self.guide <= 0.9 * asked:
            # Enough for the gap asked for: on until the gradient proves it.
            self.solved = slack <= 0.1 * asked
            if self.solved:
                course.prove(place.lam, place.W)
        return self.solved or self.trials <= 0 or course.exhausted() is not None

    def believed(self, value: float, decrement: float) -> float:
        """How far phi may still fall from a value, given what the curvature learned tells.

        That curvature is often too large at kinks: nothing is believed but the gradient.
        """
        return np.inf

    def allowed(self, share: float, objective: float, by_projection: float) -> float:
        """How much may be left of an inner problem: a share of what other weights may gain."""
        asked = self.course.limits.tol * self.course.gained
        enough = max(share * (objective - by_projection), 0.1 * asked)
        return min(enough, COARSE * by_projection)


def _suits(problem: Problem) -> str | None:
    if problem.smoothing is not None:
        return None
    return f"{problem.shape[0] * problem.shape[1]} unknowns are too many for newton"


def _run(job: Job) -> Solution:
    return run_proximal(job, Lbfgs)


SPEC = SolverSpec(_run, needs=frozenset({Need.CONVEX_RISK}), suits=_suits)
