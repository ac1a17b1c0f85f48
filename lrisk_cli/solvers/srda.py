"""Stochastic regularised dual averaging (SRDA): the mean of all subgradients decides W."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from lrisk_cli.solvers.batches import BATCH_SIZE, Batches, safe_step
from lrisk_cli.solvers.loop import DIVERGED, run_method
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, Need, SolverSpec
from lrisk_cli.solvers.step_grid import with_best_step
from lrisk_cli.solvers.work import Work
from lrisk_cli.types import Array


@dataclass(slots=True)
class Srda:
    """W = -(mean of the subgradients so far) / (mu + 1/(eta t)) after t batches."""

    exact: ClassVar[bool] = False

    problem: Problem
    seed: int
    batch_size: int = BATCH_SIZE
    ceiling: float = DIVERGED
    _batches: Batches = field(init=False)
    _W: Array = field(init=False)
    _sum: Array = field(init=False)
    _done: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._batches = Batches(self.problem, self.batch_size, self.seed)

    def first_step(self) -> float:
        """A safe step: eta bounds how far the first subgradients reach."""
        return safe_step(self.problem)

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Start anew at 0, where dual averaging must begin."""
        self._W, self._sum, self._done = np.zeros_like(W), np.zeros_like(W), 0

    def advance(self, point: Point, step: float | None) -> tuple[Array, Work]:
        """About n / m batches."""
        work = self._batches
        self.problem.rows.steps(
            "srda", self.problem.loss.code, *work.targets, work.sigma, self._W, self._sum,
            step, self.problem.mu, self._done + 1, work.per_epoch,
            work.state, work.pool, work.margins, work.losses, work.order,
            self.problem.loss.parameter, *work.table,
        )  # fmt: skip
        self._done += work.per_epoch
        return self._W.copy(), work.taken


def _run(job: Job) -> Solution:
    if job.options.step_grid is not None:
        return with_best_step(_run, job, job.options.step_grid)
    options = job.options
    # Dual averaging begins at zero, whatever is known of a neighbouring problem.
    method = Srda(job.problem, options.seed, options.batch_size or BATCH_SIZE)
    return run_method(replace(job, start=None), method, max_epochs=options.max_epochs)


SPEC = SolverSpec(
    _run,
    needs=frozenset({Need.ROWS_IN_MEMORY, Need.ROW_RISK}),
    options=frozenset({"step", "step_grid", "batch_size", "max_epochs"}),
)
