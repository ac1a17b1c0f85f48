"""The full-batch subgradient method: every step sees every row.

For the subquantile this is gradient descent on the rows that it keeps (Algorithm 3 of the paper on
subquantile minimisation). Letters: a step, M momentum, b the direction it keeps, g the gradient
sum_i lam_i grad l_i(W) + mu W.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import StartName
from lrisk_cli.risk.row_weights import RowWeighter
from lrisk_cli.solvers.loop import run_method
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, SolverOptions, SolverSpec
from lrisk_cli.solvers.work import Work
from lrisk_cli.types import Array

POWER_STEPS = 20


@dataclass(slots=True)
class Subgradient:
    """b <- M b + g, W <- W - a b; then W is scaled to ||W|| <= norm_bound where it is longer.

    With `nesterov` the gradient is that at V = W + M (W - the W before), and W <- V - a g.
    """

    exact: ClassVar[bool] = True

    problem: Problem
    momentum: float = 0.0
    nesterov: bool = False
    norm_bound: float | None = None
    _direction: Array = field(init=False)
    _before: Array = field(init=False)
    _row_weighter: RowWeighter = field(init=False)

    def __post_init__(self) -> None:
        self._row_weighter = self.problem.row_weighter()
        self.restart(np.zeros(self.problem.shape))

    def first_step(self) -> float:
        """a = 1 / (sigma_max L ||X||^2 + mu), ||X||^2 by power iteration from a fixed vector."""
        rows = self.problem.rows
        v = np.ones((rows.shape[1], 1))
        square = 0.0
        for _ in range(POWER_STEPS):
            v /= max(float(np.linalg.norm(v)), 1e-300)
            v = rows.transposed_times(rows.times(v))
            square = float(np.linalg.norm(v))
        smoothness = float(self.problem.loss.row_smoothness(self.problem.y).max())
        steepest = float(self.problem.sigma.max()) * smoothness * square
        return 1.0 / (1.1 * steepest + self.problem.mu)

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Forget the momentum."""
        self._direction, self._before = np.zeros_like(W), W

    def advance(self, point: Point, step: float | None) -> tuple[Array, Work]:
        """One step; its gradient shares the pass that evaluated the point, or takes one more."""
        a, passes = step or 0.0, 0.0
        if self.nesterov:
            V = point.W + self.momentum * (point.W - self._before)
            self._before = point.W
            point, passes = self.problem.at(V, self._row_weighter), 1.0
        gradient = self.problem.gradient(point.W, point.margins, point.lam)
        kept = 0.0 if self.nesterov else self.momentum
        self._direction = kept * self._direction + gradient
        return into_ball(point.W - a * self._direction, self.norm_bound), Work(passes)


def into_ball(W: Array, norm_bound: float | None) -> Array:
    """W, scaled to the norm bound where it is longer: the nearest point of the ball."""
    length = float(np.linalg.norm(W))
    return W if norm_bound is None or length <= norm_bound else (norm_bound / length) * W


def glorot(shape: tuple[int, int], seed: int) -> Array:
    """Uniform between -r and r, r = sqrt(6 / (d + k)). (d, k)."""
    reach = np.sqrt(6.0 / sum(shape))
    return np.random.default_rng([seed, 3]).uniform(-reach, reach, shape)


def _check(options: SolverOptions) -> None:
    bound, momentum = options.norm_bound, options.momentum
    if bound is not None and not 0.0 < bound < float("inf"):
        raise InvalidOption("norm_bound", f"must be greater than 0; got {bound:g}")
    if momentum is not None and not 0.0 <= momentum < 1.0:
        raise InvalidOption("momentum", f"must be in [0, 1), or steps never end; got {momentum:g}")
    if options.nesterov and not momentum:
        add = opt("momentum", 0.9)
        raise InvalidOption("nesterov", f"has no meaning without momentum; add {add}")


def _run(job: Job) -> Solution:
    problem, options = job.problem, job.options
    method = Subgradient(problem, options.momentum or 0.0, options.nesterov, options.norm_bound)
    insist = options.start is StartName.GLOROT
    start = glorot(problem.shape, options.seed) if insist else job.start
    if start is not None:
        start = into_ball(start, options.norm_bound)
    job = replace(job, start=start)
    return run_method(job, method, insist=insist, norm_bound=options.norm_bound)


SPEC = SolverSpec(
    _run,
    options=frozenset({"step", "norm_bound", "momentum", "nesterov", "start"}),
    check=_check,
    softplus=True,
)
