"""Proximal point on the row weights: what Newton and L-BFGS share.

repeat, lam_c being the centre and nu the smoothing,
    lam(W) = projection of lam_c + l(W)/nu on P(sigma)
    minimise  phi(W) = lam(W).l(W) - nu/2 ||lam(W) - lam_c||^2 + mu/2 ||W||^2
    lam_c <- lam(W), nu smaller, faster where the inner problem was easy
until the gap is proved. Centring makes the answer exact for any nu.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.direct import solve_mean
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.proximity import Proximity, make_proximity
from lrisk_cli.solvers.solution import GAVE_OUT, Limits, Solution, SolverRun
from lrisk_cli.solvers.spec import Job
from lrisk_cli.types import Array

# First smoothing: this fraction of the mean absolute deviation of the losses (their variance may
# not exist) over the spread of sigma.
FIRST_NU = 0.44
# The fraction of it to begin with at the optimum of a neighbouring problem.
NEAR_NU = 0.3
# The smoothing is never made smaller than this fraction of the first.
LEAST_NU = 3e-7
# An inner problem of at most EASY steps was easy, of more than HARD hard; after UNSOLVED steps it
# is given up, and the next is made smoother.
EASY, HARD, UNSOLVED = 3, 6, 40
# At a kink about as many rows stay tied as there are unknowns. While this many times more are, the
# smoothing has far to go.
TIES_PER_UNKNOWN = 10
MAX_OUTER = 200
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Iterate:
    """What is known at W for the present centre and smoothing. phi: the inner objective."""

    W: Array
    Z: Array
    losses: Array
    lam: Array
    tied: Tied
    phi: float


class ProximalPoint(ABC):
    """One minimisation; `run` it once. start: the optimum of a neighbouring problem, if known."""

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        *,
        track_ranks: bool = False,
        report: Report = silent,
        start: Array | None = None,
    ) -> None:
        self.problem = problem
        self.start = start
        self.solver_run = SolverRun(problem, limits, report, track_ranks=track_ranks)
        self.proximity: Proximity = make_proximity(problem)
        self.nu = 1.0

    @abstractmethod
    def inner(self, iterate: Iterate) -> tuple[Iterate, int]:
        """Minimise phi well enough for the gap that is left; the steps it took.

        Offers points to the solver run and proves bounds that are expected to suffice.
        """

    def run(self) -> Solution:
        """Minimise until the gap is proved, a limit is reached, or many rounds prove no more."""
        try:
            start = self._start()
            if self.proved_at(start):
                return self.solver_run.solution(GAVE_OUT)
            why = self._rounds(self.iterate_at(start.W, start.margins))
        except LinAlgError:
            why = GAVE_OUT
            self._prove_best()
        return self.solver_run.solution(why)

    def _rounds(self, iterate: Iterate) -> str:
        """Solve inner problems until one of them proves the gap; in words, what ended it."""
        least = LEAST_NU * self.nu
        why = f"stopped after {MAX_OUTER} rounds, the last of which proved no more,"
        for _ in range(MAX_OUTER):
            iterate, n_steps = self.inner(iterate)
            if self.solver_run.converged or self.solver_run.exhausted():
                why = self.solver_run.exhausted() or GAVE_OUT
                break
            self.proximity.move(iterate.lam)
            self.nu = max(self.change_of_nu(n_steps, iterate) * self.nu, least)
            self.prepare(n_steps)
            iterate = self.iterate_at(iterate.W, iterate.Z)
        if not self.solver_run.converged:
            self.prove(iterate.lam, iterate.W)
        return why

    def prepare(self, n_steps: int) -> None:  # noqa: B027  (nothing to prepare for smooth losses)
        """Prepare the next inner problem after one of so many steps."""

    def prove(self, lam: Array, start: Array, *, near: bool = True) -> None:
        """Prove a bound with the weights lam, attained near the start."""
        self.solver_run.prove(lam, start, near=near)

    def _prove_best(self) -> None:
        """Prove what can be proved of the best point, with the weights of its sorted losses."""
        best = self.problem.at(self.solver_run.W, self.solver_run.row_weighter)
        self.solver_run.prove(best.lam, best.W)

    def mean_fit(self, start: Array, accuracy: float) -> tuple[Array, int]:
        """Nearly the minimiser of the mean, to start from; the passes it took."""
        return weighted_minimiser(
            self.problem, self.problem.even, start, accuracy, until=self.solver_run.limits.deadline
        )

    def proved_at(self, start: Point) -> bool:
        """Whether the gap can be proved at the start already."""
        return False

    def _start(self) -> Point:
        """At the minimiser of the mean, or at zero where its risk is lower.

        A neighbour's optimum that is better than zero replaces the mean and needs less smoothing.
        """
        problem, solver_run = self.problem, self.solver_run
        W = np.zeros(problem.shape)
        zero = problem.at(W, solver_run.row_weighter)
        solver_run.begin(zero.objective, zero.smoothed)
        solver_run.passes += 1.0
        near = self._neighbour()
        if near is not None:
            self.nu = NEAR_NU * self._first_nu(near.losses)
            return near
        accuracy = 1e-3 * solver_run.gained
        W, passes = self.mean_fit(W, accuracy)
        solver_run.mean_fit = W
        mean = problem.at(W, solver_run.row_weighter)
        solver_run.passes += passes + 1.0
        start = mean if solver_run.offer(W, mean.objective, mean.smoothed) else zero
        # At the mean's minimiser, as at zero all losses may be equal.
        self.nu = self._first_nu(mean.losses)
        return start

    def _first_nu(self, losses: Array) -> float:
        """By the spread of the losses, which may be zero, or not finite."""
        nu = self.proximity.first_smoothing(losses, self.solver_run.at_zero, FIRST_NU)
        return max(nu, TINY)

    def change_of_nu(self, n_steps: int, iterate: Iterate) -> float:
        """Less smoothing after an inner problem that was easy, more after one that was not."""
        if n_steps >= UNSOLVED:
            return 10.0
        if n_steps <= EASY:
            return 0.1 if len(iterate.tied.rows) > TIES_PER_UNKNOWN * iterate.W.size else 0.3
        return 0.5 if n_steps <= HARD else 1.0

    def _neighbour(self) -> Point | None:
        """The start that was given, where it is better than zero."""
        if self.start is None:
            return None
        self.solver_run.passes += 1.0
        point = self.problem.at(self.start, self.solver_run.row_weighter)
        return point if self.solver_run.offer(point.W, point.objective, point.smoothed) else None

    def iterate_at(self, W: Array, Z: Array) -> Iterate:
        """Weights and inner objective at W, whose margins are known."""
        losses = self.problem.loss.values(Z, self.problem.y)
        lam, tied, cost = self.proximity(losses, self.nu)
        phi = float(lam @ losses) - cost + self.problem.penalty(W)
        return Iterate(W, Z, losses, lam, tied, phi)


def run_proximal(job: Job, method: type[ProximalPoint]) -> Solution:
    """Minimise by the method; the mean is one weighted fit."""
    if job.problem.flat and not job.problem.loss.kinked:
        return solve_mean(job.problem, job.limits, job.report, job.start, job.watch)
    search = method(
        job.problem,
        job.limits,
        track_ranks=job.options.track_ranks,
        report=job.report,
        start=job.start,
    )
    search.solver_run.watch = job.watch
    return search.run()
