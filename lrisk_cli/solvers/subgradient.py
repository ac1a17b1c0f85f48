"""The full-batch subgradient method: every step sees every row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.problem import Point, Problem

Array = NDArray[np.float64]

POWER_STEPS = 20


@dataclass(slots=True)
class Subgradient:
    """W <- W - eta (sum_i lam_i grad l_i(W) + mu W)."""

    problem: Problem

    def first_step(self) -> float:
        """eta = 1 / (sigma_max L ||X||^2 + mu), ||X||^2 by power iteration from a fixed vector."""
        v = np.ones((self.problem.X.shape[1], 1))
        square = 0.0
        for _ in range(POWER_STEPS):
            v /= max(float(np.linalg.norm(v)), 1e-300)
            v = self.problem.X.T @ (self.problem.X @ v)
            square = float(np.linalg.norm(v))
        steepest = float(self.problem.sigma.max()) * self.problem.loss.smoothness * square
        return 1.0 / (1.1 * steepest + self.problem.mu)

    def restart(self, W: Array, *, stalled: bool = False) -> None:
        """Nothing is carried from one step to the next."""

    def advance(self, point: Point, step: float | None) -> tuple[Array, float]:
        """One step; its gradient shares the pass that evaluated the point."""
        gradient = self.problem.gradient(point.W, point.margins, point.lam)
        return point.W - (step or 0.0) * gradient, 0.0
