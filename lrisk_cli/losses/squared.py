"""Half the squared error."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.losses.base import Checkpoint, Loss, Roundings, Wide, half_squares_to_sizes
from lrisk_cli.names import Task
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Targets


@dataclass(frozen=True, slots=True)
class SquaredLoss(Loss):
    """(y - z)^2 / 2."""

    task: ClassVar[Task] = Task.REGRESSION
    code: ClassVar[int] = 0
    smoothness: ClassVar[float] = 1.0
    metrics: ClassVar[tuple[str, ...]] = ("rmse", "mae", "median_error", "r2", "bias", "mape")
    quadratic: ClassVar[bool] = True
    concordance: ClassVar[float] = 0.0

    @property
    def name(self) -> str:
        return "squared"

    @property
    def words(self) -> str:
        return "half the squared error, in units of the file"

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def roundings(self) -> Roundings:
        """A difference, a square; the derivative shares the generous bound of logistic losses."""
        return Roundings(5, 760)

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.squared_losses(Z[:, 0], y, out)
        return out

    def derivatives(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.squared_slopes(Z[:, 0], y, out[:, 0])
        return out

    def curvature(self, Z: Array, y: Targets) -> Array:
        return np.ones(len(Z))

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        residuals = Z - y[:, None]
        return 0.5 * residuals[:, 0] ** 2, residuals

    def predict(self, Z: Array, exposure: Array | None = None) -> Array:
        return Z[:, 0]

    def numbers(self, y: Targets) -> Array:
        return np.asarray(y, dtype=np.float64)

    def sizes(self, losses: Array) -> Array:
        return half_squares_to_sizes(losses)

    def lsvrg_steps(
        self, at: Checkpoint, scalars: Array, step: float, rows: NDArray[np.int32]
    ) -> Array:
        V = np.zeros_like(at.gradient)
        at.rows.steps(
            "lsvrg_squared", at.factors, at.gradient[:, 0], V[:, 0], scalars, step, at.mu, rows
        )
        return V


def make(parameter: float | None, n_classes: int) -> SquaredLoss:  # noqa: ARG001  (asked of all)
    """The loss of the registry's entry."""
    return SquaredLoss()
