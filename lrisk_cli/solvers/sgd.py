"""Minibatch subgradient descent (SGD): quick, simple, and biased by the size of its batches."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.solvers.batches import BATCH_SIZE, Batches, safe_step
from lrisk_cli.solvers.loop import DIVERGED, run_method
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, Need, SolverOptions, SolverSpec
from lrisk_cli.solvers.step_grid import with_best_step
from lrisk_cli.solvers.work import Work
from lrisk_cli.types import Array


@dataclass(slots=True)
class Sgd:
    """W <- (1 - eta mu) W - eta v, v a subgradient of the risk of a batch.

    With `decay`, eta = 1 / (mu (t + delay)) at step t = 1, 2, ..., and the average of all iterates
    is what counts; without delay this is Proposition 3 of the paper, for Lipschitz losses. For
    others the delay, unless given, makes the first step no longer than a safe one.
    """

    exact: ClassVar[bool] = False

    problem: Problem
    seed: int
    batch_size: int = BATCH_SIZE
    decay: bool = False
    delay: float | None = None
    _batches: Batches = field(init=False)
    _W: Array = field(init=False)
    _mean: Array = field(init=False)
    _gradient: Array = field(init=False)
    _delay: float = field(init=False)
    _done: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._batches = Batches(self.problem, self.batch_size, self.seed)
        self._gradient = np.empty(self.problem.shape)
        self._delay = self.delay or 0.0
        if self.decay and self.delay is None and np.isinf(self.problem.loss.lipschitz):
            self._delay = 1.0 / (self.problem.mu * safe_step(self.problem))

    @property
    def ceiling(self) -> float:
        """Steps that decay begin far too long; their average comes back."""
        return np.inf if self.decay else DIVERGED

    def first_step(self) -> float | None:
        """A safe constant step, or none where the steps decay by rule."""
        return None if self.decay else safe_step(self.problem)

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Go on from W with a fresh average."""
        self._W, self._mean, self._done = W.copy(), np.zeros_like(W), 0

    def advance(self, point: Point, step: float | None) -> tuple[Array, Work]:
        """About n / m batches."""
        work = self._batches
        self.problem.rows.steps(
            "sgd", self.problem.loss.code, *work.targets, work.sigma, self._W, self._mean,
            0.0 if self.decay else step, self._delay, self.problem.mu, self._done + 1,
            work.per_epoch,
            work.state, work.pool, work.margins, work.losses, work.order, self._gradient,
            self.problem.loss.parameter, *work.table,
        )  # fmt: skip
        self._done += work.per_epoch
        return (self._mean if self.decay else self._W).copy(), work.taken


def _check(options: SolverOptions) -> None:
    if options.step_delay is not None and not options.decay:
        raise InvalidOption("step_delay", f"is for steps that decay; add {opt('step', 'decay')}")


def _run(job: Job) -> Solution:
    if job.options.step_grid is not None:
        return with_best_step(_run, job, job.options.step_grid)
    options = job.options
    method = Sgd(
        job.problem,
        options.seed,
        options.batch_size or BATCH_SIZE,
        options.decay,
        options.step_delay,
    )
    return run_method(job, method, max_epochs=options.max_epochs)


SPEC = SolverSpec(
    _run,
    needs=frozenset({Need.ROWS_IN_MEMORY, Need.ROW_RISK}),
    options=frozenset({"step", "decay", "step_delay", "step_grid", "batch_size", "max_epochs"}),
    check=_check,
)
