"""The loop of every stochastic and subgradient method: epoch, evaluate, prove, stop.

A method only knows how to make an epoch of steps from a point. The loop evaluates where it
arrived, undoes and halves the step when that went wrong, averages the row weights, proves a lower
bound from time to time, and stops with a sentence. A falling risk has no bound: there it looks
whether the point is stationary instead, and stops where many epochs gain next to nothing.
"""

from typing import ClassVar, Protocol

import numpy as np

from lrisk_cli.errors import opt
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.ball import Ball
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import GAVE_OUT, Limits, Solution, SolverRun, Watch
from lrisk_cli.solvers.spec import Job
from lrisk_cli.solvers.work import Work
from lrisk_cli.types import Array

# Epochs without a better objective after which a step that we chose ourselves is halved; the
# number doubles each time, as smaller steps need longer to show what they can do.
PATIENCE = 2
# The usual ceiling of a run.
DIVERGED = 2.0
# A step halved this often has become too small to move anything.
MAX_HALVINGS = 60
# Proofs are tried at passes that grow by this factor: they cost far more than an epoch.
PROOF_SPACING = 1.25
# Epochs add up to a limit but for rounding.
SHORT = 1e-9
# A run without a proof to come has stalled when so many epochs gain less than the tolerance.
STALL = 20


class Method(Protocol):
    """An update rule: `step` is its step size, None where it has a rule of its own.

    exact: its steps see all rows, so that where they gain nothing the point is stationary; others
    are stochastic.
    """

    exact: ClassVar[bool]

    @property
    def ceiling(self) -> float:
        """A run has diverged when its objective exceeds that at zero by this factor."""
        return DIVERGED

    def first_step(self) -> float | None:
        """The step size to begin with, chosen so that it should not diverge."""

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Reset the state and continue from W, with smaller steps if the last epochs stalled."""

    def advance(self, point: Point, step: float | None) -> tuple[Array, Work]:
        """Make one epoch of steps from the point; the new W, and what it took."""


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
    track_ranks: bool = False,
    report: Report = silent,
    start: Array | None = None,
    insist: bool = False,
    ball: Ball | None = None,
    max_epochs: float | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Run the method until the gap is proved or a limit is reached.

    It begins at `start` where that is better than zero, or anyway if we insist. ball: the method
    keeps W in it. max_epochs: a limit to the epochs of a stochastic method.
    """
    solver_run = SolverRun(problem, limits, report, track_ranks=track_ranks)
    solver_run.watch = watch
    run = _Run(problem, method, step, solver_run, ball, max_epochs)
    return run.run(start, insist=insist)


def run_method(
    job: Job,
    method: Method,
    *,
    insist: bool = False,
    ball: Ball | None = None,
    max_epochs: float | None = None,
) -> Solution:
    """Run the method by the options of a job that all such methods read."""
    return minimise(
        job.problem,
        method,
        job.limits,
        step=job.options.step,
        track_ranks=job.options.track_ranks,
        report=job.report,
        start=job.start,
        insist=insist,
        ball=ball,
        max_epochs=max_epochs,
        watch=job.watch,
    )


class _Run:
    """The state of one minimisation."""

    def __init__(
        self,
        problem: Problem,
        method: Method,
        step: float | None,
        solver_run: SolverRun,
        ball: Ball | None = None,
        max_epochs: float | None = None,
    ) -> None:
        self.problem, self.method, self.solver_run = problem, method, solver_run
        self.ball = solver_run.ball = ball
        self.max_epochs = max_epochs
        self.step = method.first_step() if step is None else step
        # Steps that decay by rule are never shortened.
        self.chosen_here = step is None and self.step is not None
        self.recent = RecentWeights(problem.n_rows)
        self.halvings = 0
        self.stale = 0
        self.patience = PATIENCE
        self.next_proof = 4.0
        self.point = self._at(np.zeros(problem.shape))
        self.solver_run.stochastic = not method.exact
        self.solver_run.begin(self.point.objective, self.point.smoothed)
        self.recent.add(self.point.lam)
        self.ceiling = method.ceiling * self.point.smoothed
        # Epochs since the best objective was recorded, and its value.
        self.n_epochs, self.mark = 0, self.point.smoothed
        # The best of the course itself: a start that is insisted on may be worse than zero.
        self.own_best = self.point.smoothed
        self.stalled = False

    def run(self, start: Array | None = None, *, insist: bool = False) -> Solution:
        solver_run = self.solver_run
        if start is not None:
            near = self._at(start)
            if solver_run.offer(start, near.objective, near.smoothed) or insist:
                self.point = near
                self.ceiling = max(self.ceiling, self.method.ceiling * near.smoothed)
                self.own_best = self.mark = near.smoothed
        self.method.restart(self.point.W)
        solver_run.note(self.point.objective, self.point.rank_changes, self.point)
        while (why := self._why_stop()) is None:
            W, work = self.method.advance(self.point, self.step)
            solver_run.add(work)
            self._evaluate(W)
            if solver_run.passes >= self.next_proof:
                self._try_proof()
            solver_run.note(self.point.objective, self.point.rank_changes, self.point)
        proved = np.isfinite(solver_run.bound) or self.problem.falling
        if not proved or solver_run.passes > self.next_proof / PROOF_SPACING:
            self._try_proof()
        return solver_run.solution(why, step=self.step, halvings=self.halvings)

    def _at(self, W: Array) -> Point:
        self.solver_run.passes += 1.0
        return self.problem.at(W, self.solver_run.row_weighter)

    def _evaluate(self, W: Array) -> None:
        """Evaluate W; go on from it, or undo the epoch where it diverged."""
        point = self._at(W)
        self._check_stall()
        if not point.smoothed <= self.ceiling or not np.isfinite(point.smoothed):
            point = self._at(self.solver_run.W)
            self._halve(point.W, stalled=False)
        else:
            self.recent.add(point.lam)
            self._compare(point)
        self.point = point

    def _compare(self, point: Point) -> None:
        """Keep the best point; halve a step of our own choice that has stopped finding better."""
        self.solver_run.offer(point.W, point.objective, point.smoothed)
        if point.smoothed < self.own_best:
            self.own_best, self.stale = point.smoothed, 0
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

    def _try_proof(self) -> None:
        """Try for a better lower bound with the recent average of the weights.

        For a falling risk check whether the best point is stationary, if it is the current one.
        """
        if not self.problem.falling:
            self.solver_run.prove(self.recent.mean())
        elif self.point.W is self.solver_run.W and self._slack() <= self._enough:
            tol = self.solver_run.limits.tol
            self.solver_run.settled = (
                f"a fit to the rows as they are weighed gains less than {tol:g} of what was gained"
            )
        self.next_proof = PROOF_SPACING * self.solver_run.passes

    @property
    def _enough(self) -> float:
        return self.solver_run.limits.tol * self.solver_run.gained

    def _slack(self) -> float:
        """At least what is left of the problem with the point's weights, which is strongly convex.

        ||G||^2 / (2 mu); and where V must lie in a ball, at most G.W + the maximum of -G.V there.
        """
        problem, point = self.problem, self.point
        G = problem.gradient(point.W, point.margins, point.lam)
        self.solver_run.passes += 1.0
        free = float(np.sum(G * G)) / (2.0 * problem.mu)
        if self.ball is None:
            return free
        return min(free, float(np.sum(G * point.W)) + self.ball.reach(G))

    def _check_stall(self) -> None:
        """See whether the last epochs gained anything, where no proof may end the run.

        There is none for a falling risk, and with a norm bound that binds it is out of reach.
        """
        self.n_epochs += 1
        provable = not self.problem.falling and self.ball is None
        if provable or self.n_epochs < STALL:
            return
        best = self.own_best
        self.stalled = self.mark - best <= self._enough
        self.n_epochs, self.mark = 0, best

    def _why_stop(self) -> str | None:
        """What ends the run now, in words."""
        if self.solver_run.converged:
            # Said only where the last evaluation takes the proof back.
            return GAVE_OUT
        if self.stalled:
            tol = self.solver_run.limits.tol
            why = f"the last {STALL} epochs gained less than {tol:g} of what was gained before"
            self.solver_run.settled = why if self.method.exact else None
            return f"stopped because {why}"
        if self.halvings >= MAX_HALVINGS:
            return "stopped because ever smaller steps bring no progress"
        counts = self.solver_run.counts
        if self.max_epochs is not None and counts.epochs >= self.max_epochs - SHORT:
            return f"stopped after {self.max_epochs:g} epochs ({opt('max_epochs')})"
        return self.solver_run.exhausted()
