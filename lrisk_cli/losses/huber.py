"""Huber's loss: the squared error up to DELTA, linear beyond, so that single errors count less."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lrisk_cli.losses.base import Loss, Roundings, Wide
from lrisk_cli.losses.registry import LossChoice
from lrisk_cli.names import Task
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Targets


@dataclass(frozen=True, slots=True)
class HuberLoss(Loss):
    """d^2/2 for d = |y - z| <= delta, else delta d - delta^2/2.

    Its second derivative jumps from 1 to 0 at delta; Newton steps take the one on their side.
    """

    delta: float

    task: ClassVar[Task] = Task.REGRESSION
    code: ClassVar[int] = 3
    smoothness: ClassVar[float] = 1.0
    metrics: ClassVar[tuple[str, ...]] = ("rmse", "mae", "median_error", "r2", "bias", "mape")
    needs_line_search: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return str(LossChoice("huber", self.delta))

    @property
    def words(self) -> str:
        return (
            f"half the squared error up to {self.delta:g}, linear beyond (Huber), in units of the "
            "file"
        )

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def parameter(self) -> float:
        return self.delta

    @property
    def lipschitz(self) -> float:
        return self.delta

    @property
    def roundings(self) -> Roundings:
        """Inside: a difference, twice, and a product. Outside: delta (d - delta/2), d > delta.

        There the difference d - delta/2 is more than d/2, so that it doubles the error of d at
        most; with its own rounding and the product that is 4. Which side a rounded d falls on
        makes a difference of the order u^2. A derivative is a difference.
        """
        return Roundings(5, 2)

    def scaled(self, scale: float) -> "HuberLoss":
        """delta follows the unit: (loss of y / scale with delta / scale) is loss / scale^2."""
        return HuberLoss(self.delta / scale)

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.huber_losses(Z[:, 0], y, self.delta, out)
        return out

    def derivatives(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.huber_derivatives(Z[:, 0], y, self.delta, out[:, 0])
        return out

    def curvature(self, Z: Array, y: Targets) -> Array:
        return np.asarray(np.abs(Z[:, 0] - y) <= self.delta, dtype=np.float64)

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        delta = np.longdouble(self.delta)
        errors = Z - y[:, None]
        sizes = np.abs(errors[:, 0])
        inside = np.minimum(sizes, delta)
        losses = np.where(sizes <= delta, 0.5 * inside * inside, delta * (sizes - 0.5 * delta))
        return losses, np.clip(errors, -delta, delta)

    def predict(self, Z: Array, exposure: Array | None = None) -> Array:
        return Z[:, 0]

    def numbers(self, y: Targets) -> Array:
        return np.asarray(y, dtype=np.float64)

    def sizes(self, losses: Array) -> Array:
        """The error that a loss comes from: sqrt(2 loss), or loss / delta + delta / 2. (n,)."""
        straight = losses / self.delta + 0.5 * self.delta
        bent = np.sqrt(2.0 * losses)
        found: Array = np.where(bent <= self.delta, bent, straight)
        return found


def make(parameter: float | None, n_classes: int) -> HuberLoss:  # noqa: ARG001  (asked of all)
    """The loss of the registry's entry; the parser saw to the parameter."""
    return HuberLoss(float(parameter or 0.0))
