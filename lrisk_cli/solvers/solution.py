"""The state of a solver run, and the solution it returns.

The best point, the best bounds proved, a trace of the run, and the sentence about its end.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log
from time import perf_counter
from typing import TypeAlias

import numpy as np

from lrisk_cli.errors import opt
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.solvers.ball import Ball
from lrisk_cli.solvers.certificate import Certificate, certify, lower_bound
from lrisk_cli.solvers.descent import Precondition
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.rounding import evaluate
from lrisk_cli.solvers.work import Counts, Work
from lrisk_cli.types import Array

# The last proof may exceed a time limit by this fraction of it.
PROOF_SHARE = 0.1
# What ended a run that could go no further, in words.
GAVE_OUT = "stopped because rounding hides what is left"
# Sums of smaller numbers than this lose digits, so a smaller bound is none.
LEAST_BOUND = 1e-290
# Objectives that exceed that at zero by more than this fraction are worse by more than rounding.
WORSE = 1e-9


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: gap proved, passes over the rows used up, or seconds gone.

    until: the moment, by perf_counter, when the seconds are gone; known once a fit has begun.
    """

    tol: float = 1e-6
    max_passes: float = 1000.0
    time_limit: float | None = None
    until: float | None = None

    def begun(self) -> "Limits":
        """The same with the clock running; one that runs already runs on."""
        if self.time_limit is None or self.until is not None:
            return self
        return replace(self, until=perf_counter() + self.time_limit)

    @property
    def deadline(self) -> float:
        """The moment to stop at, by perf_counter."""
        return np.inf if self.until is None else self.until

    @property
    def proof_deadline(self) -> float:
        """The moment when the last proof must end."""
        return self.deadline + PROOF_SHARE * (self.time_limit or 0.0)


@dataclass(frozen=True, slots=True)
class Watched:
    """What a watch makes of a point: the mean loss of rows to test on, marked rows with weight."""

    test_loss: float | None
    marked_rows: int | None


# W (d, k), and where they are known the row weights (n,) -> what to write into the trace.
Watch: TypeAlias = Callable[[Array, Array | None], Watched]


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of a trace. The bound and the gap are the best proved so far, if any.

    counts: those of a stochastic method. watched: where somebody watches.
    """

    passes: float
    seconds: float
    objective: float
    lower_bound: float | None
    gap: float | None
    rank_changes: int | None
    counts: Counts | None = None
    watched: Watched | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """How one of several starts ended: after how many rounds, at which objective."""

    name: str
    objective: float
    rounds: int


@dataclass(frozen=True, slots=True)
class TriedStep:
    """A step of a grid and the mean objective its runs ended with, infinite where one diverged."""

    step: float
    mean: float


@dataclass(frozen=True, slots=True)
class Solution:
    """The best weights seen and what is known about them; `status` is the sentence to show.

    certificate, smoothed: None for falling risks, about which nothing can be proved; smoothed also
    without smoothing, and smoothed_objective then too. starts: those that were tried, if several.
    mean_fit: nearly the minimiser of the mean, where the search started from it. counts: those of a
    stochastic method. tried_steps: those of a grid that the step was chosen from.
    stationarity: of a falling risk, see SolverRun._stationarity.
    """

    W: Array
    lam: Array
    objective: float
    smoothed_objective: float | None
    certificate: Certificate | None
    smoothed: Certificate | None
    status: str
    converged: bool
    passes: float
    step: float | None
    halvings: int
    epochs: tuple[Epoch, ...]
    starts: tuple[Ended, ...] = ()
    mean_fit: Array | None = None
    counts: Counts | None = None
    tried_steps: tuple[TriedStep, ...] = ()
    stationarity: float | None = None


def weighted_smoothness(problem: Problem, lam: Array) -> float:
    """sum_i lam_i L_i ||x_i||^2 + mu: the lam-weighted problem is at most so curved."""
    curved = problem.loss.row_smoothness(problem.y) * problem.rows.row_norms()
    return float(lam @ curved) + problem.mu


def _log_fraction(gap: float, tol: float) -> float | None:
    """How far the gap is from 1 to tol on a logarithmic scale, in [0, 1]; None for no such tol."""
    if not 0.0 < tol < 1.0:
        return None
    return 1.0 if gap <= tol else max(0.0, log(gap) / log(tol))


class SolverRun:
    """The run of a solver on a problem: what it reached, what it proved, when it must stop.

    With smoothing the smoothed objective decides which point is best; objective and bound are
    always those of the risk itself. A falling risk has no bound: its run ends when it is `settled`.
    """

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        report: Report = silent,
        *,
        track_ranks: bool = False,
    ) -> None:
        self.problem, self.limits = problem, limits.begun()
        self.row_weighter = problem.row_weighter(track_ranks=track_ranks)
        self._report = report
        self._began = perf_counter()
        self._epochs: list[Epoch] = []
        self.passes = 0.0
        self.stochastic = False
        self.ball: Ball | None = None
        self.watch: Watch | None = None
        self.counts = Counts()
        self.W = np.zeros(problem.shape)
        self.best = self.best_smoothed = np.inf
        self.at_zero = self.smoothed_at_zero = np.inf
        self.bound = self.smoothed_bound = -np.inf
        self._best_point: Point | None = None
        self._V = self.W
        # For a falling risk, in words: in which sense the best point is stationary.
        self.settled: str | None = None
        self.starts: tuple[Ended, ...] = ()
        self.mean_fit: Array | None = None

    def add(self, work: Work) -> None:
        """Count what some steps took."""
        self.passes += work.passes
        self.counts += work.counts

    def begin(self, objective: float, smoothed: float) -> None:
        """What W = 0 costs: gaps are relative to the gain over it."""
        self.at_zero, self.smoothed_at_zero = objective, smoothed
        self.offer(self.W, objective, smoothed)

    def offer(
        self, W: Array, objective: float, smoothed: float, point: Point | None = None
    ) -> bool:
        """Keep W if it is the best so far; whether it is. point: what Problem.at makes of W."""
        if not smoothed < self.best_smoothed:
            return False
        self.W, self.best, self.best_smoothed = W, objective, smoothed
        self._best_point = point
        return True

    def prove(
        self,
        lam: Array,
        start: Array | None = None,
        *,
        near: bool = True,
        precondition: Precondition | None = None,
        below: Problem | None = None,
        margins: Array | None = None,
    ) -> None:
        """Try for a better lower bound with the weights lam.

        start: a guess of where it is attained; near: the guess may be good enough as it is;
        precondition: what helps to find a better one. below: the problem with other losses, whose
        lower bounds hold for this one and are to be used. margins: those of the guess, if known.
        """
        assert not self.problem.falling  # noqa: S101  (the bound would be false)
        accuracy = 0.1 * self.limits.tol * self.gained
        start = self._V if start is None else start
        bound = lower_bound(
            below or self.problem,
            lam,
            start,
            accuracy,
            near=near,
            precondition=precondition,
            until=self.limits.proof_deadline,
            margins=margins,
        )
        self._V = bound.V
        # Losses are not negative: zero is a bound as well.
        self.bound = max(self.bound, bound.value if bound.value > LEAST_BOUND else 0.0)
        self.smoothed_bound = max(self.smoothed_bound, bound.smoothed)
        self.passes += bound.passes

    @property
    def gained(self) -> float:
        """What gaps are measured by: F(0) - F(W), with a floor."""
        return max(self.at_zero - self.best, 1e-6 * self.at_zero, 1e-300)

    @property
    def certificate(self) -> Certificate | None:
        """What is proved about the best point; None where nothing can be."""
        if self.problem.falling:
            return None
        return certify(self.best, self.bound, self.at_zero)

    @property
    def smoothed_certificate(self) -> Certificate | None:
        """The same for the smoothed problem, if there is one."""
        if self.problem.smoothing is None or self.problem.falling:
            return None
        return certify(self.best_smoothed, self.smoothed_bound, self.smoothed_at_zero)

    def note(
        self, objective: float, rank_changes: int | None = None, point: Point | None = None
    ) -> None:
        """Add a line to the trace and report progress. point: where it is not the best so far."""
        proved = self.certificate if np.isfinite(self.bound) else None
        gap = None if proved is None else proved.gap
        bound = None if proved is None else float(self.bound)
        seconds = perf_counter() - self._began
        counts = self.counts if self.stochastic else None
        watched = None
        if self.watch is not None:
            watched = self.watch(*((self.W, None) if point is None else (point.W, point.lam)))
        self._epochs.append(
            Epoch(self.passes, seconds, objective, bound, gap, rank_changes, counts, watched)
        )
        note, way = f"objective {self.best:.6g}", None
        if gap is not None:
            note = f"gap {gap:.1e}, {opt('tol', self.limits.tol)}"
            way = _log_fraction(gap, self.limits.tol)
        self._report(Progress("solve", self.passes, None, note, "passes", way))

    @property
    def converged(self) -> bool:
        """Whether the gap asked for is proved, of the risk itself or of the smoothed one.

        For a falling risk, whether the best point is stationary.
        """
        if self.problem.falling:
            return self.settled is not None
        if not np.isfinite(self.bound):
            return False
        proved = (self.certificate, self.smoothed_certificate)
        return any(each is not None and each.gap <= self.limits.tol for each in proved)

    def exhausted(self) -> str | None:
        """The limit that is reached, in words."""
        limits = self.limits
        if self.passes >= limits.max_passes:
            return f"stopped after {limits.max_passes:g} passes ({opt('max_passes')})"
        if perf_counter() >= limits.deadline:
            return f"stopped after {limits.time_limit:g} s ({opt('time_limit')})"
        return None

    def solution(self, why: str, *, step: float | None = None, halvings: int = 0) -> Solution:
        """The result; `why` tells what ended the run if the gap was not proved.

        The best point is evaluated once more if need be, so that what is reported does not depend
        on how the solver kept its margins; where these had lost all digits, zero coefficients may
        be better.
        """
        point = self._best_point or self.problem.at(self.W, self.row_weighter)
        if not point.smoothed <= (1.0 + WORSE) * self.smoothed_at_zero:
            self.W = np.zeros(self.problem.shape)
            point = self.problem.at(self.W, self.row_weighter)
        self.best, self.best_smoothed = point.objective, point.smoothed
        if not self.problem.falling and np.isinf(self.smoothed_bound):
            # Equal weights have no penalty, so that the smoothed risk is not negative either.
            self.smoothed_bound = 0.0
        if self.bound > self.best or self.smoothed_bound > self.best_smoothed:
            self._allow_for_rounding(point)
        return Solution(
            W=self.W,
            lam=point.lam,
            objective=self.best,
            smoothed_objective=None if self.problem.smoothing is None else self.best_smoothed,
            certificate=self.certificate,
            smoothed=self.smoothed_certificate,
            status=self._status(why),
            converged=self.converged,
            passes=self.passes,
            step=step,
            halvings=halvings,
            epochs=tuple(self._epochs),
            starts=self.starts,
            mean_fit=self.mean_fit,
            counts=self.counts if self.stochastic else None,
            stationarity=self._stationarity(point) if self.problem.falling else None,
        )

    def _stationarity(self, point: Point) -> float | None:
        """||W - P(W - G / b)|| b, G the gradient with the point's weights, P the projection.

        Without a norm bound it is ||G||, which the gradient of the Moreau envelope of the problem
        with these weights never exceeds; zero where the point is stationary. b bounds curvatures.
        """
        G = self.problem.gradient(point.W, point.margins, point.lam)
        self.passes += 1.0
        length = float(np.linalg.norm(G))
        if self.ball is not None and length > 0.0:
            b = weighted_smoothness(self.problem, point.lam)
            length = b * float(np.linalg.norm(point.W - self.ball.project(point.W - G / b)))
        return length if np.isfinite(length) else None

    def _allow_for_rounding(self, point: Point) -> None:
        """Lower bounds that exceed the objective, which was rounded, by what it may be off."""
        error = evaluate(self.problem, point.lam, point.W).value_error
        error = error if np.isfinite(error) else np.inf
        self.bound = min(self.bound, max(self.best - error, 0.0))
        self.smoothed_bound = min(self.smoothed_bound, self.best_smoothed - error)

    def _status(self, why: str) -> str:
        if self.certificate is None:
            return (
                f"not converged: {why}" if self.settled is None else f"stationary: {self.settled}"
            )
        if self.problem.loss.roundings is None:
            return (
                "not converged: the rounding errors of this loss are not known, so no gap is proved"
            )
        gap, tol, smoothed = self.certificate.gap, self.limits.tol, self.smoothed_certificate
        if gap <= tol:
            return f"converged: gap {gap:.1e} proved, {tol:g} asked"
        if smoothed is None:
            return f"not converged: {why} with gap {gap:.1e} proved, {tol:g} asked"
        ending = (
            "converged on the smoothed risk:" if self.converged else f"not converged: {why} with"
        )
        return (
            f"{ending} gap {smoothed.gap:.1e} proved, {tol:g} asked; "
            f"against the risk itself the gap is {gap:.1e}"
        )
