"""Half the deviance of counts with a log link, and rows that have an exposure.

Letters: y a count, e its exposure, z the margin, m = e exp(z) the mean, t = log(m / y).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lrisk_cli.losses.base import Loss, Roundings, Wide, half_squares_to_sizes
from lrisk_cli.names import Task
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Targets

# Beyond this t losses go on along their tangent, as in native/poisson.pxi.
STEEPEST = 300.0
# Below this |t| the series of exp(t) - 1 - t is summed; terms for extended precision.
NEAR, TERMS = 1.0, 24
# Anscombe's shift: the root of a shifted count has about the same variance whatever its mean.
SHIFT = 0.375


@dataclass(frozen=True, slots=True)
class PoissonLoss(Loss):
    """m - y + y log(y / m) = y (exp(t) - 1 - t), or m where y is 0: never negative.

    Beyond t = 300 it goes on along its tangent. That is below the loss, so that bounds stay bounds,
    and nothing overflows. The second derivative m has no bound.
    """

    task: ClassVar[Task] = Task.REGRESSION
    code: ClassVar[int] = 4
    smoothness: ClassVar[float] = float("inf")
    metrics: ClassVar[tuple[str, ...]] = (
        "rmse", "mae", "median_error", "r2", "bias", "mean_deviance", "d2",
    )  # fmt: skip
    needs_line_search: ClassVar[bool] = True
    # exp(3) is 20: as far as the mean may move before second derivatives are taken again.
    reach: ClassVar[float] = 3.0
    log_link: ClassVar[bool] = True
    scales_targets: ClassVar[bool] = False
    takes_exposure: ClassVar[bool] = True

    @property
    def name(self) -> str:
        return "poisson"

    @property
    def words(self) -> str:
        return "half the Poisson deviance, mean - y + y log(y / mean)"

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def roundings(self) -> Roundings:
        """At the margin that t belongs to as it was computed.

        A loss by its series: its sum 3, the coefficients 1, three products. By expm1(t) - t with
        |t| >= 1: 2.4 times 2 of expm1, a difference, a product. A derivative: expm1, a product.
        """
        return Roundings(10, 4)

    def targets(self, y: Targets, exposure: Array | None = None) -> Array:
        """Of each row y, e and log(e / y), or log(e) where y is 0. (n, 3), as it is if it is so."""
        if y.ndim == 2:
            return np.ascontiguousarray(y, dtype=np.float64)
        found = np.ones((len(y), 3))
        found[:, 0] = y
        if exposure is not None:
            found[:, 1] = exposure
        found[:, 2] = np.log(found[:, 1]) - np.log(np.where(found[:, 0] > 0.0, found[:, 0], 1.0))
        return found

    def find_invalid(self, targets: Targets) -> tuple[int, str] | None:
        below = targets < 0
        return (int(np.argmax(below)), "at least 0") if below.any() else None

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.poisson_losses(Z[:, 0], y, out)
        return out

    def derivatives(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.poisson_derivatives(Z[:, 0], y, out[:, 0])
        return out

    def curvature(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.poisson_curvatures(Z[:, 0], y, out)
        return out

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        counts, exposures = y[:, 0].astype(np.longdouble), y[:, 1].astype(np.longdouble)
        some = counts > 0
        t = Z[:, 0] + (np.log(exposures) - np.log(np.where(some, counts, 1.0)))
        near = np.minimum(t, STEEPEST)
        beyond = np.maximum(t - STEEPEST, 0.0)
        powers = np.where(some, np.expm1(near), np.exp(near))
        excess = np.where(some, _excess(near), powers) + powers * beyond
        scale = np.where(some, counts, 1.0)
        return scale * excess, (scale * powers)[:, None]

    def margin_errors(self, Z: Array, y: Targets) -> Array:
        """log(e) and log(y) 2 each, their difference, and the sum with the margin."""
        logs = np.abs(np.log(y[:, 1]))
        logs += np.abs(np.log(np.where(y[:, 0] > 0.0, y[:, 0], 1.0)))
        errors: Array = 2.0 * logs + np.abs(y[:, 2]) + np.abs(Z[:, 0] + y[:, 2])
        return errors

    def row_smoothness(self, y: Targets) -> Array:
        """The mean at zero coefficients and that of a perfect fit, whichever is larger."""
        return np.maximum(y[:, 0], y[:, 1])

    def predict(self, Z: Array, exposure: Array | None = None) -> Array:
        means: Array = np.exp(Z[:, 0])
        return means if exposure is None else exposure * means

    def numbers(self, y: Targets) -> Array:
        """2 sqrt((y + 3/8) / e)."""
        roots: Array = 2.0 * np.sqrt((y[:, 0] + SHIFT) / y[:, 1])
        return roots

    def sizes(self, losses: Array) -> Array:
        """The size of the deviance residual."""
        return half_squares_to_sizes(losses)

    def describe_output(self, name: str) -> str:
        return f"log mean of {name}"

    def describe_score(self, scale: str, target: str) -> str:
        return f"deviance residual of {target}, in deviations of {scale}"


def _excess(t: Wide) -> Wide:
    """exp(t) - 1 - t; by its series where it would cancel."""
    inside = np.clip(t, -NEAR, NEAR)
    series: Any = np.ones_like(t)
    for k in range(TERMS, 2, -1):
        series = 1.0 + inside * series / k
    found: Wide = np.where(np.abs(t) < NEAR, 0.5 * t * t * series, np.expm1(t) - t)
    return found


def make(parameter: float | None, n_classes: int) -> PoissonLoss:  # noqa: ARG001  (asked of all)
    """The loss of the registry's entry."""
    return PoissonLoss()
