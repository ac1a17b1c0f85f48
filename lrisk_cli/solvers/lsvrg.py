"""LSVRG: variance-reduced steps around checkpoints, the row weights renewed at each epoch.

Letters: eta step, N steps in an epoch, q* probability of an extra checkpoint after a step,
Wbar the checkpoint, G the full gradient there, delta = W - Wbar = s V - b G
(see native/epochs.pxi).
"""

import math
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import ClassVar

import numpy as np

from lrisk_cli.losses.base import Checkpoint
from lrisk_cli.names import Sampling
from lrisk_cli.solvers.draws import RowDraws, random_state
from lrisk_cli.solvers.loop import DIVERGED, run_method
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, Need, SolverOptions, SolverSpec
from lrisk_cli.solvers.step_grid import with_best_step
from lrisk_cli.solvers.work import Counts, Work
from lrisk_cli.types import Array


@dataclass(slots=True)
class Lsvrg:
    """One epoch is N steps, W <- (1 - eta mu) W - eta v, from a checkpoint with fresh weights.

    An epoch may end early: at a checkpoint, when the moment `until` has come, and where steps for
    `most_epochs` times as many rows as there are have been taken.

    v = c_i (grad l_i(W) - grad l_i(Wbar)) + G - mu Wbar for a random row i: drawn uniformly with
    c_i = n lam_i, or with probability lam_i and c_i = 1.
    """

    exact: ClassVar[bool] = False

    problem: Problem
    seed: int
    epoch_length: int | None = None
    checkpoint_probability: float = 0.0
    sampling: Sampling = Sampling.WEIGHTS
    ceiling: float = DIVERGED
    until: float = np.inf
    most_epochs: float = np.inf
    _taken: int = field(init=False, default=0)
    _length: int = field(init=False)
    _rng: np.random.Generator = field(init=False)
    _draws: RowDraws = field(init=False)

    def __post_init__(self) -> None:
        self._length = self.epoch_length or self._first_length()
        self._rng = np.random.default_rng([self.seed, 1])
        self._draws = RowDraws(self.problem.n_rows, random_state(self.seed))

    def first_step(self) -> float:
        """eta = 1 / (2 (c L + mu)), L the largest smoothness of a row, c the largest c_i.

        Twice that for the mean, whose weights do not jump.
        """
        norms = self.problem.rows.row_norms() * self.problem.loss.row_smoothness(self.problem.y)
        largest = float(norms.max())
        if self.sampling is Sampling.UNIFORM:
            heaviest = float(self.problem.times_masses(np.ones(len(norms))).max())
            largest *= self.problem.n_rows * self.problem.steepest * heaviest
        fraction = 1.0 if self.problem.flat else 0.5
        return fraction / (largest + self.problem.mu)

    def _first_length(self) -> int:
        """N = 2n for the mean, whose weights never change; else n/2, as weights grow stale."""
        n = self.problem.n_rows
        return 2 * n if self.problem.flat else max(1, n // 2)

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """After a stall halve epochs of our own choice, down to n/64."""
        if stalled and self.epoch_length is None:
            self._length = max(1, self._length // 2, self.problem.n_rows // 64)

    def advance(self, point: Point, step: float | None) -> tuple[Array, Work]:
        """N steps of two gradients each; a checkpoint takes n, and a pass but for the first.

        The first is at the point, whose evaluation was that pass.
        """
        assert step is not None  # noqa: S101
        if self.sampling is Sampling.WEIGHTS:
            self._draws.follow(point.lam)
        W, margins, n = point.W, point.margins, self.problem.n_rows
        left = max(1.0, self.most_epochs * n - self._taken)
        length = math.ceil(min(self._length, left))
        remaining, extra = length, 0
        while True:
            n_steps = self._steps_to_checkpoint(remaining)
            W = self._steps(W, margins, point.lam, step, n_steps)
            remaining -= n_steps
            late = perf_counter() >= self.until
            if remaining == 0 or late or not np.isfinite(W).all():
                done = length - remaining
                self._taken += done
                counts = Counts(done / n, 2 * done + n * (1 + extra))
                return W, Work(done / n + extra, counts)
            margins = self.problem.margins(W)
            extra += 1

    def _steps_to_checkpoint(self, remaining: int) -> int:
        """How many steps until the next checkpoint, each step being followed by one with q*."""
        if self.checkpoint_probability == 0.0:
            return remaining
        return min(remaining, int(self._rng.geometric(self.checkpoint_probability)))

    def _steps(self, W: Array, margins: Array, lam: Array, step: float, n_steps: int) -> Array:
        """Steps from the checkpoint W, whose margins are known."""
        gradient = self.problem.gradient(W, margins, lam)
        if self.sampling is Sampling.UNIFORM:
            factors = (step * self.problem.n_rows) * lam
        else:
            factors = np.array([step])
        rows = self._draws.draw(n_steps)
        scalars = np.array([1.0, 0.0])
        problem = self.problem
        checkpoint = Checkpoint(problem.rows, problem.y, problem.mu, factors, margins, gradient)
        V = problem.loss.lsvrg_steps(checkpoint, scalars, step, rows)
        new: Array = W + scalars[0] * V - scalars[1] * gradient
        return new


def _suits(problem: Problem) -> str | None:
    return None if problem.smoothing is None else "smoothing was asked for"


def by_theorem(problem: Problem, options: SolverOptions) -> SolverOptions:
    """Step, epoch length, checkpoints and sampling of Theorem 4, where they are not given.

    It asks for a smoothing, too, which is left to the user: it usually drowns the risk.
    """
    from lrisk_cli.risk.density import density_of
    from lrisk_cli.solvers.theory import constants_of, lsvrg_rate, no_theory

    constants = constants_of(problem)
    rate = lsvrg_rate(problem, constants, density_of(problem.spectrum), 0.5)
    if rate is None:
        raise no_theory(problem)
    probability = options.checkpoint_probability
    return replace(
        options,
        step=rate.step,
        epoch_length=options.epoch_length or rate.epoch_length,
        checkpoint_probability=rate.checkpoint_probability if probability is None else probability,
        sampling=options.sampling or Sampling.UNIFORM,
    )


def _run(job: Job) -> Solution:
    if job.options.step_grid is not None:
        return with_best_step(_run, job, job.options.step_grid)
    options = by_theorem(job.problem, job.options) if job.options.theory else job.options
    job = replace(job, options=options)
    checkpoints = options.checkpoint_probability or 0.0
    # A checkpoint takes a pass, as n steps do.
    by_passes = job.limits.max_passes / (1.0 + checkpoints * job.problem.n_rows)
    method = Lsvrg(
        job.problem,
        options.seed,
        options.epoch_length,
        checkpoints,
        options.sampling or Sampling.WEIGHTS,
        until=job.limits.deadline,
        most_epochs=min(options.max_epochs or np.inf, by_passes),
    )
    return run_method(job, method, max_epochs=options.max_epochs)


OPTIONS = "step theory step_grid epoch_length checkpoint_probability sampling max_epochs"
SPEC = SolverSpec(
    _run,
    needs=frozenset({Need.ROWS_IN_MEMORY, Need.ROW_RISK}),
    options=frozenset(OPTIONS.split()),
    suits=_suits,
)
