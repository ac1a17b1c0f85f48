"""What a loss is: values and derivatives in the margins, and every fact that depends on the loss.

Letters: n rows, k outputs, Z (n, k) margins, y targets as `targets` made them. Code outside this
package asks a loss for its facts and never for its name.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.names import Task
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Codes, Targets

Wide = NDArray[np.longdouble]


@dataclass(frozen=True, slots=True)
class Roundings:
    """How far computed losses and derivatives may be off, in units of u.

    value: relative error of a loss; absolute: an error of it besides; derivative: relative error.
    """

    value: float
    derivative: float
    absolute: float = 0.0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What the steps of LSVRG need: step c_i (n,) or one for all, X Wbar (n, k), G (d, k)."""

    rows: Rows
    y: Targets
    mu: float
    factors: Array
    margins: Array
    gradient: Array


class Loss(ABC):
    """One convex, non-negative loss per row.

    words: a description of the loss of a row, in units of the file. metrics: error metrics that it
    brings. code: its number in the kernels. smoothness: bounds the second derivative in the
    margins; infinite where nothing does. parameter: what the kernels need besides.
    """

    __slots__ = ()

    task: ClassVar[Task]
    code: ClassVar[int]
    smoothness: ClassVar[float]
    metrics: ClassVar[tuple[str, ...]]
    # Quadratic with second derivative 1: weighted fits are one linear system.
    quadratic: ClassVar[bool] = False
    # Zero coefficients lose alike on all rows, so they are as good a start as the mean's minimiser.
    starts_at_zero: ClassVar[bool] = False
    # The second derivative follows the probabilities, and serves while these change little.
    reuses_curvature: ClassVar[bool] = False
    # The second derivative jumps or has no bound: steps need a line search.
    needs_line_search: ClassVar[bool] = False
    # The derivative jumps: solvers minimise `softened` losses, and prove by their `minorants`.
    kinked: ClassVar[bool] = False
    # How far a margin may move in one Newton step: beyond, the second derivative is no guide.
    reach: ClassVar[float] = float("inf")
    # Along a step that moves no margin (of several: no difference of two) by more than S, the third
    # derivative is at most this times S times the second; infinite where nothing bounds it.
    concordance: ClassVar[float] = float("inf")
    # Whether margins are logarithms of the mean, whether targets may be centred and scaled, and
    # whether rows have an exposure.
    log_link: ClassVar[bool] = False
    scales_targets: ClassVar[bool] = True
    takes_exposure: ClassVar[bool] = False

    @property
    @abstractmethod
    def name(self) -> str:
        """How options and model files spell it."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What the loss of a row is, in units of the file."""

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Margins of a row."""

    @property
    def parameter(self) -> float:
        """What the kernels need to know beside the code."""
        return 0.0

    @property
    def lipschitz(self) -> float:
        """The longest derivative in the margins of a row; infinite where nothing bounds it."""
        return float("inf")

    @property
    def roundings(self) -> Roundings | None:
        """Bounds on the rounding errors; None where none are known, and nothing can be proved."""
        return None

    def scaled(self, scale: float) -> "Loss":
        """The loss on targets divided by scale, up to a factor."""
        return self

    def targets(self, y: Targets, exposure: Array | None = None) -> Targets:
        """The targets in the type that the kernels of this loss read, a row for each."""
        return np.ascontiguousarray(y, dtype=np.float64)

    def find_invalid(self, targets: Targets) -> tuple[int, str] | None:
        """The first target that the loss cannot take, and what it must be. targets: as read."""
        return None

    @abstractmethod
    def values(self, Z: Array, y: Targets) -> Array:
        """Loss of each row. (n,)."""

    @abstractmethod
    def derivatives(self, Z: Array, y: Targets) -> Array:
        """Derivative of each row's loss in its margins. (n, k)."""

    def values_and_derivatives(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        """Both of them. (n,), (n, k)."""
        return self.values(Z, y), self.derivatives(Z, y)

    def softened(self, width: float) -> "Loss":
        """A smooth loss that is below this one, by less the smaller the width; if `kinked`."""
        return self

    def minorants(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        """Values (n,) and derivatives (n, k) at Z of affine functions that are below each loss.

        Those that touch it, or for a softened loss others, which are not negative at Z.
        """
        return self.values_and_derivatives(Z, y)

    @abstractmethod
    def curvature(self, Z: Array, y: Targets) -> Array:
        """Second derivative of each row's loss in its margin, or its trace if several. (n,)."""

    @abstractmethod
    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        """Losses (n,) and derivatives (n, k) in extended precision."""

    def margin_errors(self, Z: Array, y: Targets) -> Array | None:
        """By how much losses and derivatives are those of another margin, in units of u. (n,).

        None where they are those of the margin itself, up to `roundings`.
        """
        return None

    def row_smoothness(self, y: Targets) -> Array:
        """Bounds on the second derivative of each row; without bounds, the largest to expect."""
        return np.full(len(y), self.smoothness)

    def probabilities(self, Z: Array) -> Array | None:
        """Probability of each class. (n, classes); None for regression."""
        return None

    def target_probability(self, loss: float) -> float | None:
        """Of a row with this loss; None for losses that are not minus a log-probability."""
        return None

    @abstractmethod
    def predict(self, Z: Array, exposure: Array | None = None) -> Array | Codes:
        """The mean's scale: expected numbers, or the code of the likeliest class. (n,).

        Z: margins in units of the file.
        """

    def numbers(self, y: Targets) -> Array | None:
        """Targets on a scale where errors have about the same size everywhere; None for classes."""
        return None

    def sizes(self, losses: Array) -> Array | None:
        """Losses as sizes of errors that are about normal; None for classes. (n,), a new array."""
        return None

    def describe_output(self, name: str) -> str:
        """What the coefficients of an output add up to. name: the target, or a class."""
        return name

    def describe_score(self, scale: str, target: str) -> str:
        """Description of the score of a row, from sizes where it has one. scale: of an inlier's."""
        return f"error of the prediction, in deviations of {scale} {target}"

    def lsvrg_steps(
        self, at: Checkpoint, scalars: Array, step: float, rows: NDArray[np.int32]
    ) -> Array:
        """V after LSVRG's steps from a checkpoint, one for each row (see native/epochs.pxi)."""
        V = np.zeros_like(at.gradient)
        records = np.ascontiguousarray(
            np.column_stack([at.margins[:, 0], self.derivatives(at.margins, at.y)[:, 0]])
        )
        at.rows.steps(
            "lsvrg_margin", self.code, self.parameter, at.y.reshape(len(at.y), -1), at.factors,
            records, at.gradient[:, 0], V[:, 0], scalars, step, at.mu, rows,
        )  # fmt: skip
        return V


def half_squares_to_sizes(losses: Array) -> Array:
    """sqrt(2 loss): the error that a squared loss comes from, the residual of a deviance. (n,)."""
    sizes: Array = 2.0 * losses
    np.sqrt(sizes, out=sizes)
    return sizes
