"""The loop that every stochastic and subgradient method runs in: epoch, look, prove, stop.

A method only knows how to make an epoch of steps from a point. The loop evaluates where it
arrived, undoes and halves the step when that went wrong, averages the row weights, proves a lower
bound from time to time, and stops with a sentence.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.certificate import Certificate, certify, lower_bound
from lrisk_cli.problem import Point, Problem
from lrisk_cli.progress import Progress, Report, silent

Array = NDArray[np.float64]

# Epochs without a better objective after which a step that we chose ourselves is halved; the
# number doubles each time, as smaller steps need longer to show what they can do.
PATIENCE = 2
# A run has diverged when its objective exceeds that at zero by this factor.
DIVERGED = 2.0
# A step halved this often has become too small to move anything.
MAX_HALVINGS = 60
# Proofs are tried at passes that grow by this factor: they cost far more than an epoch.
PROOF_SPACING = 1.25


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop: gap proved, passes over the rows used up, or seconds gone."""

    tol: float = 1e-6
    max_passes: float = 1000.0
    time_limit: float | None = None


@dataclass(frozen=True, slots=True)
class Epoch:
    """One line of a trace. The bound and the gap are the best proved so far, if any."""

    passes: float
    seconds: float
    objective: float
    lower_bound: float | None
    gap: float | None
    rank_changes: int | None


@dataclass(frozen=True, slots=True)
class Solution:
    """The best weights seen and what is known about them; `status` is the sentence to show."""

    W: Array
    lam: Array
    certificate: Certificate
    smoothed: Certificate | None
    status: str
    converged: bool
    passes: float
    step: float | None
    halvings: int
    epochs: tuple[Epoch, ...]


class Method(Protocol):
    """A way to move: `step` is its step size, None where it has a rule of its own."""

    def first_step(self) -> float | None:
        """The step size to begin with, chosen so that it should not diverge."""

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Forget the past and go on from W, more carefully if the last epochs got nowhere."""

    def advance(self, point: Point, step: float | None) -> tuple[Array, float]:
        """Make one epoch of steps from the point; where it arrived, and the passes it used."""


class RecentWeights:
    """The average of the row weights over about the last half of the epochs.

    At a kink the weights jump between epochs, and only their average proves a tight bound. Two
    running sums are kept: the older is dropped each time the count has grown by half.
    """

    def __init__(self, n_rows: int) -> None:
        self._old, self._young = np.zeros(n_rows), np.zeros(n_rows)
        self._n_old = self._n_young = self._count = 0
        self._turn = 1

    def add(self, lam: Array) -> None:
        """Take in the weights of one more epoch."""
        if self._count >= self._turn:
            self._old, self._young = self._young, self._old
            self._young[:] = 0.0
            self._n_old, self._n_young = self._n_young, 0
            self._turn = max(self._turn + 1, int(1.5 * self._turn))
        self._young += lam
        self._n_young += 1
        self._count += 1

    def mean(self) -> Array:
        """Their average, itself a set of weights that the spectrum allows."""
        total: Array = (self._old + self._young) / (self._n_old + self._n_young)
        return total


def minimise(
    problem: Problem,
    method: Method,
    limits: Limits,
    *,
    step: float | None = None,
    report: Report = silent,
) -> Solution:
    """Run the method until the gap is proved or a limit is reached."""
    return _Run(problem, method, limits, step, report).run()


class _Run:
    """The state of one minimisation."""

    def __init__(
        self,
        problem: Problem,
        method: Method,
        limits: Limits,
        step: float | None,
        report: Report,
    ) -> None:
        self.problem, self.method, self.limits, self.report = problem, method, limits, report
        self.chosen_here = step is None
        self.step = method.first_step() if step is None else step
        self.weigher = problem.weigher()
        self.recent = RecentWeights(problem.n_rows)
        self.began = perf_counter()
        self.passes = 1.0
        self.halvings = 0
        self.stale = 0
        self.patience = PATIENCE
        self.next_proof = 4.0
        self.bound = self.smoothed_bound = -np.inf
        self.epochs: list[Epoch] = []
        start = problem.at(np.zeros(problem.shape), self.weigher)
        self.at_zero, self.smoothed_at_zero = start.objective, start.smoothed
        self.best_W, self.best, self.best_smoothed = start.W, start.objective, start.smoothed
        self.V = start.W
        self.point = start
        self.recent.add(start.lam)

    def run(self) -> Solution:
        self.method.restart(self.point.W)
        self._note(self.point)
        reason = self._stop_reason()
        while reason is None:
            W, used = self.method.advance(self.point, self.step)
            self.passes += used
            self._look(W)
            if self.passes >= self.next_proof:
                self._prove()
            self._note(self.point)
            reason = self._stop_reason()
        if np.isinf(self.bound) or self.passes > self.next_proof / PROOF_SPACING:
            self._prove()
        return self._solution(reason)

    def _look(self, W: Array) -> None:
        """Evaluate W; go on from it, or undo the epoch where it diverged."""
        point = self.problem.at(W, self.weigher)
        self.passes += 1.0
        if not point.smoothed <= DIVERGED * self.smoothed_at_zero:
            point = self.problem.at(self.best_W, self.weigher)
            self.passes += 1.0
            self._halve(point.W, stalled=False)
        else:
            self.recent.add(point.lam)
            self._compare(point)
        self.point = point

    def _compare(self, point: Point) -> None:
        """Keep the best point; halve a step of our own choice that has stopped finding better."""
        if point.smoothed < self.best_smoothed:
            self.best_W, self.best, self.best_smoothed = point.W, point.objective, point.smoothed
            self.stale = 0
            return
        self.stale += 1
        if self.chosen_here and self.stale >= self.patience:
            self.patience *= 2
            self._halve(point.W, stalled=True)

    def _halve(self, W: Array, *, stalled: bool) -> None:
        self.stale = 0
        self.halvings += 1
        self.step = None if self.step is None else 0.5 * self.step
        self.method.restart(W, stalled=stalled)

    def _prove(self) -> None:
        """Try for a better lower bound with the recent average of the weights."""
        accuracy = 0.1 * self.limits.tol * max(self.at_zero - self.best, 1e-6 * self.at_zero)
        bound = lower_bound(self.problem, self.recent.mean(), self.V, accuracy)
        self.V = bound.V
        self.bound = max(self.bound, bound.value)
        self.smoothed_bound = max(self.smoothed_bound, bound.smoothed)
        self.passes += 1.0
        self.next_proof = PROOF_SPACING * self.passes

    def _certificates(self) -> tuple[Certificate, Certificate | None]:
        plain = certify(self.best, self.bound, self.at_zero)
        if self.problem.smoothing is None:
            return plain, None
        return plain, certify(self.best_smoothed, self.smoothed_bound, self.smoothed_at_zero)

    def _note(self, point: Point) -> None:
        """Add a line to the trace and tell whoever watches."""
        proved = np.isfinite(self.bound)
        gap = certify(self.best, self.bound, self.at_zero).gap if proved else None
        self.epochs.append(
            Epoch(
                passes=self.passes,
                seconds=perf_counter() - self.began,
                objective=point.objective,
                lower_bound=float(self.bound) if proved else None,
                gap=gap,
                rank_changes=point.rank_changes,
            )
        )
        note = f"objective {self.best:.6g}" + (f", gap {gap:.1e}" if gap is not None else "")
        self.report(Progress("solve", self.passes, self.limits.max_passes, note))

    def _stop_reason(self) -> str | None:
        if np.isfinite(self.bound):
            plain, smoothed = self._certificates()
            if plain.gap <= self.limits.tol:
                return "gap"
            if smoothed is not None and smoothed.gap <= self.limits.tol:
                return "smoothed gap"
        if self.halvings >= MAX_HALVINGS:
            return "step"
        if self.passes >= self.limits.max_passes:
            return "passes"
        limit = self.limits.time_limit
        return "time" if limit is not None and perf_counter() - self.began >= limit else None

    def _solution(self, reason: str) -> Solution:
        plain, smoothed = self._certificates()
        converged = plain.gap <= self.limits.tol or (
            smoothed is not None and smoothed.gap <= self.limits.tol
        )
        point = self.problem.at(self.best_W, self.weigher)
        return Solution(
            W=self.best_W,
            lam=point.lam,
            certificate=plain,
            smoothed=smoothed,
            status=_status(reason, converged, plain, smoothed, self.limits),
            converged=converged,
            passes=self.passes,
            step=self.step,
            halvings=self.halvings,
            epochs=tuple(self.epochs),
        )


def _status(
    reason: str,
    converged: bool,
    plain: Certificate,
    smoothed: Certificate | None,
    limits: Limits,
) -> str:
    """The sentence that tells how the run ended."""
    if plain.gap <= limits.tol:
        return f"converged: gap {plain.gap:.1e} proved, {limits.tol:g} asked"
    if converged and smoothed is not None:
        return (
            f"converged on the smoothed risk: gap {smoothed.gap:.1e} proved, {limits.tol:g} asked; "
            f"against the risk itself the gap is {plain.gap:.1e}"
        )
    why: dict[str, str] = {
        "passes": f"stopped after {limits.max_passes:g} passes (--max-passes)",
        "time": f"stopped after {limits.time_limit or 0.0:g} s (--time-limit)",
        "step": "stopped because ever smaller steps bring no progress",
    }
    return f"not converged: {why[reason]} with gap {plain.gap:.1e} proved, {limits.tol:g} asked"
