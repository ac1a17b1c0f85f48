"""The pinball loss, whose mean is least at a quantile of the target, and its rounded versions."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lrisk_cli.losses.base import Loss, Roundings, Wide
from lrisk_cli.losses.registry import LossChoice
from lrisk_cli.names import Task
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Targets


@dataclass(frozen=True, slots=True)
class QuantileLoss(Loss):
    """T d for d = y - z >= 0, else (1 - T) |d|: the maximum of s d over -(1 - T) <= s <= T.

    Its derivative jumps at 0 and its second derivative is 0 elsewhere, so solvers minimise rounded
    versions of it (`softened`) of ever smaller width.
    """

    level: float

    task: ClassVar[Task] = Task.REGRESSION
    code: ClassVar[int] = 5
    smoothness: ClassVar[float] = float("inf")
    metrics: ClassVar[tuple[str, ...]] = (
        "pinball", "below", "mae", "median_error", "rmse", "bias",
    )  # fmt: skip
    needs_line_search: ClassVar[bool] = True
    kinked: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return str(LossChoice("quantile", self.level))

    @property
    def words(self) -> str:
        return (
            f"{self.level:g} times the error where the target is above the prediction, "
            f"{1.0 - self.level:g} times where it is below (pinball), in units of the file"
        )

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def parameter(self) -> float:
        return self.level

    @property
    def lipschitz(self) -> float:
        return max(self.level, 1.0 - self.level)

    @property
    def roundings(self) -> Roundings | None:
        """A difference, 1 - T, a product; the derivative may be 1 - T."""
        return Roundings(5, 3)

    def softened(self, width: float) -> "SoftQuantileLoss":
        return SoftQuantileLoss(self.level, width, self.roundings)

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.pinball_losses(Z[:, 0], y, self.level, out)
        return out

    def derivatives(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.pinball_derivatives(Z[:, 0], y, self.level, out[:, 0])
        return out

    def curvature(self, Z: Array, y: Targets) -> Array:
        return np.zeros(len(Z))

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        level = np.longdouble(self.level)
        errors = y[:, None] - Z
        slopes = np.where(errors > 0.0, level, np.where(errors < 0.0, level - 1, 0.0))
        return (slopes * errors)[:, 0], -slopes

    def row_smoothness(self, y: Targets) -> Array:
        """That of a rounded loss as wide as targets differ."""
        spread = float(np.mean(np.abs(y - np.mean(y)))) if len(y) else 1.0
        return np.full(len(y), 1.0 / spread if spread > 0.0 else 1.0)

    def predict(self, Z: Array, exposure: Array | None = None) -> Array:
        return Z[:, 0]

    def numbers(self, y: Targets) -> Array:
        return np.asarray(y, dtype=np.float64)

    def sizes(self, losses: Array) -> Array:
        """The mean of the two errors, above and below, that have this loss."""
        found: Array = losses / (2.0 * self.level * (1.0 - self.level))
        return found


@dataclass(frozen=True, slots=True)
class SoftQuantileLoss(QuantileLoss):
    """max of s d - width s^2 / 2 over -(1 - T) <= s <= T: below the pinball loss, and smooth.

    What attains it, s = d / width cut off, gives the affine function s d, which is below the
    pinball loss as well and never below this one: lower bounds are computed from it (`minorants`).
    """

    width: float
    stated: Roundings | None

    kinked: ClassVar[bool] = False

    @property
    def roundings(self) -> Roundings | None:
        """Of the affine functions: a difference, a quotient, a product."""
        return self.stated

    def values_and_derivatives(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        losses, derivatives, _ = self._pass(Z, y)
        return losses, derivatives

    def values(self, Z: Array, y: Targets) -> Array:
        return self._pass(Z, y)[0]

    def derivatives(self, Z: Array, y: Targets) -> Array:
        return self._pass(Z, y)[1]

    def minorants(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        _, derivatives, values = self._pass(Z, y)
        return values, derivatives

    def _pass(self, Z: Array, y: Targets) -> tuple[Array, Array, Array]:
        losses, derivatives, minorants = np.empty(len(Z)), np.empty_like(Z), np.empty(len(Z))
        core.soft_pinball(Z[:, 0], y, self.level, self.width, losses, derivatives[:, 0], minorants)
        return losses, derivatives, minorants

    def curvature(self, Z: Array, y: Targets) -> Array:
        s = (y - Z[:, 0]) / self.width
        return np.where((s > self.level - 1.0) & (s < self.level), 1.0 / self.width, 0.0)

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        """Of the affine functions."""
        level = np.longdouble(self.level)
        errors = y[:, None] - Z
        slopes = np.clip(errors / self.width, level - 1, level)
        return (slopes * errors)[:, 0], -slopes


def make(parameter: float | None, n_classes: int) -> QuantileLoss:  # noqa: ARG001  (asked of all)
    """The loss of the registry's entry; the parser saw to the parameter."""
    return QuantileLoss(float(parameter or 0.0))
