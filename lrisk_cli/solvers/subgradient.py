"""The full-batch subgradient method: every step sees every row.

For the subquantile this is gradient descent on the rows that it keeps (Algorithm 3 of the paper on
subquantile minimisation). Letters: a step, M momentum, b the direction it keeps, g the gradient
sum_i lam_i grad l_i(W) + mu W.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import ClassVar

import numpy as np

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import StartName, StepSchedule
from lrisk_cli.risk.row_weights import Weigher
from lrisk_cli.solvers.ball import Ball
from lrisk_cli.solvers.loop import DIVERGED, run_method
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, SolverOptions, SolverSpec
from lrisk_cli.solvers.work import Work
from lrisk_cli.types import Array

POWER_STEPS = 20
# By what the step is divided at step t.
SHRINKS: dict[StepSchedule, Callable[[int], float]] = {
    StepSchedule.CONSTANT: lambda _: 1.0,
    StepSchedule.SQRT: sqrt,
    StepSchedule.INVERSE: float,
}


@dataclass(slots=True)
class Subgradient:
    """b <- M b + g, W <- W - a_t b; then W is projected on the ball, if there is one.

    a_t is the step divided by 1, sqrt(t) or t. With `nesterov` the gradient is that at
    V = W + M (W - the W before), and W <- V - a_t g.
    """

    exact: ClassVar[bool] = True

    problem: Problem
    momentum: float = 0.0
    nesterov: bool = False
    ball: Ball | None = None
    schedule: StepSchedule = StepSchedule.CONSTANT
    ceiling: float = DIVERGED
    _direction: Array = field(init=False)
    _before: Array = field(init=False)
    _row_weighter: Weigher = field(init=False)
    _done: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._row_weighter = self.problem.row_weighter()
        self.restart(np.zeros(self.problem.shape))

    def first_step(self) -> float:
        """a = 1 / (sigma_max L ||X||^2 + mu), ||X||^2 by power iteration from a fixed vector.

        With masses sigma_max is that of a unit of mass, and ||X||^2 is ||X' diag(m) X||.
        """
        rows = self.problem.rows
        v = np.ones((rows.shape[1], 1))
        square = 0.0
        for _ in range(POWER_STEPS):
            v /= max(float(np.linalg.norm(v)), 1e-300)
            v = rows.transposed_times(self.problem.times_masses(rows.times(v)[:, 0])[:, None])
            square = float(np.linalg.norm(v))
        smoothness = float(self.problem.loss.row_smoothness(self.problem.y).max())
        steepest = self.problem.steepest * smoothness * square
        return 1.0 / (1.1 * steepest + self.problem.mu)

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Forget the momentum."""
        self._direction, self._before = np.zeros_like(W), W

    def advance(self, point: Point, step: float | None) -> tuple[Array, Work]:
        """One step; its gradient shares the pass that evaluated the point, or takes one more."""
        self._done += 1
        a, passes = (step or 0.0) / SHRINKS[self.schedule](self._done), 0.0
        if self.nesterov:
            V = point.W + self.momentum * (point.W - self._before)
            self._before = point.W
            point, passes = self.problem.at(V, self._row_weighter), 1.0
        gradient = self.problem.gradient(point.W, point.margins, point.lam)
        kept = 0.0 if self.nesterov else self.momentum
        self._direction = kept * self._direction + gradient
        W = point.W - a * self._direction
        return (W if self.ball is None else self.ball.project(W)), Work(passes)


def glorot(shape: tuple[int, int], seed: int) -> Array:
    """Uniform between -r and r, r = sqrt(6 / (d + k)). (d, k)."""
    reach = np.sqrt(6.0 / sum(shape))
    return np.random.default_rng([seed, 3]).uniform(-reach, reach, shape)


def first_coefficients(problem: Problem, start: StartName, seed: int) -> Array:
    """Random W by the seed. (d, k).

    gaussian: normal with the variance of glorot.
    glorot_dual: W = X' A, A (n, k) uniform up to sqrt(6 / n). Where X X' is the matrix of a kernel,
    A are the coefficients of the rows, as in Algorithm 3.
    """
    rng, (d, k) = np.random.default_rng([seed, 3]), problem.shape
    if start is StartName.GAUSSIAN:
        return rng.normal(0.0, np.sqrt(2.0 / (d + k)), (d, k))
    if start is StartName.GLOROT:
        return glorot((d, k), seed)
    reach = np.sqrt(6.0 / problem.n_rows)
    return problem.combine(rng.uniform(-reach, reach, (problem.n_rows, k)))


def _check(options: SolverOptions) -> None:
    bound, momentum = options.norm_bound, options.momentum
    if bound is not None and not 0.0 < bound < float("inf"):
        raise InvalidOption("norm_bound", f"must be greater than 0; got {bound:g}")
    if momentum is not None and not 0.0 <= momentum < 1.0:
        raise InvalidOption("momentum", f"must be in [0, 1), or steps never end; got {momentum:g}")
    if options.bound_classes and bound is None:
        add = opt("norm_bound", 1)
        raise InvalidOption("bound_classes", f"has no meaning without a norm bound; add {add}")
    if options.nesterov and not momentum:
        add = opt("momentum", 0.9)
        raise InvalidOption("nesterov", f"has no meaning without momentum; add {add}")


def _run(job: Job) -> Solution:
    problem, options = job.problem, job.options
    bound, each = options.norm_bound, options.bound_classes
    ball = None if bound is None else Ball(bound, each)
    method = Subgradient(
        problem,
        options.momentum or 0.0,
        options.nesterov,
        ball,
        options.step_schedule or StepSchedule.CONSTANT,
    )
    name = options.start or StartName.ZERO
    insist = name is not StartName.ZERO
    start = first_coefficients(problem, name, options.seed) if insist else job.start
    if start is not None and ball is not None:
        start = ball.project(start)
    if options.theory:
        from lrisk_cli.solvers.theory import is_smooth, no_theory, trimmed_smoothness

        if not is_smooth(problem):
            raise no_theory(problem)
        options = replace(options, step=1.0 / trimmed_smoothness(problem))
    return run_method(replace(job, start=start, options=options), method, insist=insist, ball=ball)


OPTIONS = "step theory norm_bound bound_classes step_schedule momentum nesterov start"
SPEC = SolverSpec(_run, options=frozenset(OPTIONS.split()), check=_check, softplus=True)
