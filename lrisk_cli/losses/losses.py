"""Per-row losses of a linear predictor: values, slopes and curvatures from margins.

Letters: n rows, k outputs, Z (n, k) margins, y targets, P (n, classes) probabilities.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Targets


class Loss(Protocol):
    """One loss per row.

    `smoothness` bounds the second derivative in the margins; `code` is the number by which the
    minibatch kernels know the loss.
    """

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> int: ...
    @property
    def n_outputs(self) -> int: ...
    @property
    def smoothness(self) -> float: ...

    def targets(self, y: Targets) -> Targets:
        """The targets in the type that the kernels of this loss read."""

    def values(self, Z: Array, y: Targets) -> Array:
        """Loss of each row. (n,)."""

    def slopes(self, Z: Array, y: Targets) -> Array:
        """Derivative of each row's loss in its margins. (n, k)."""

    def values_and_slopes(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        """Both of them. (n,), (n, k)."""

    def probabilities(self, Z: Array) -> Array | None:
        """Probability of each class. (n, classes); None for regression."""

    def curvature(self, Z: Array) -> Array:
        """Second derivative of each row's loss in its margin, or its trace if several. (n,)."""


@dataclass(frozen=True, slots=True)
class SquaredLoss:
    """(y - z)^2 / 2."""

    name: str = "squared"
    code: int = 0
    n_outputs: int = 1
    smoothness: float = 1.0

    def targets(self, y: Targets) -> Targets:
        return np.ascontiguousarray(y, dtype=np.float64)

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.squared_losses(Z[:, 0], y, out)
        return out

    def slopes(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.squared_slopes(Z[:, 0], y, out[:, 0])
        return out

    def values_and_slopes(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        return self.values(Z, y), self.slopes(Z, y)

    def probabilities(self, Z: Array) -> None:
        return None

    def curvature(self, Z: Array) -> Array:
        return np.ones(len(Z))


@dataclass(frozen=True, slots=True)
class BinaryLoss:
    """log(1 + e^z) - y z for classes 0 and 1: one margin, the log-odds of class 1."""

    name: str = "logistic"
    code: int = 1
    n_outputs: int = 1
    smoothness: float = 0.25

    def targets(self, y: Targets) -> Targets:
        return np.ascontiguousarray(y, dtype=np.float64)

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.binary_losses(Z[:, 0], y, out)
        return out

    def slopes(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.binary_slopes(Z[:, 0], y, out[:, 0])
        return out

    def values_and_slopes(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        return self.values(Z, y), self.slopes(Z, y)

    def probabilities(self, Z: Array) -> Array:
        # Each class from its own margin: 1 - p would lose the small ones.
        none = np.zeros(len(Z))
        out = np.empty((2, len(Z)))
        core.binary_slopes(-Z[:, 0], none, out[0])
        core.binary_slopes(Z[:, 0], none, out[1])
        return np.ascontiguousarray(out.T)

    def curvature(self, Z: Array) -> Array:
        P = self.probabilities(Z)
        return P[:, 0] * P[:, 1]


@dataclass(frozen=True, slots=True)
class MultinomialLoss:
    """-log softmax(z)_y: one margin for each class."""

    n_outputs: int
    name: str = "logistic"
    code: int = 2
    smoothness: float = 0.5

    def targets(self, y: Targets) -> Targets:
        return np.ascontiguousarray(y, dtype=np.int32)

    def values(self, Z: Array, y: Targets) -> Array:
        return self.values_and_slopes(Z, y)[0]

    def slopes(self, Z: Array, y: Targets) -> Array:
        return self.values_and_slopes(Z, y)[1]

    def values_and_slopes(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        """Both from the same exponentials. (n,), (n, k)."""
        losses, slopes = np.empty(len(Z)), np.empty_like(Z)
        core.multinomial_pass(Z, y, losses, slopes)
        return losses, slopes

    def probabilities(self, Z: Array) -> Array:
        out = np.empty_like(Z)
        core.softmax_rows(Z, out)
        return out

    def curvature(self, Z: Array) -> Array:
        """The trace of diag(p) - p p'."""
        P = self.probabilities(Z)
        trace: Array = np.einsum("ij,ij->i", P, 1.0 - P)
        return trace


def make_loss(name: str, n_classes: int = 0) -> Loss:
    """`squared`, or `logistic` with one margin for two classes and n_classes for more."""
    if name == "squared":
        return SquaredLoss()
    return BinaryLoss() if n_classes == 2 else MultinomialLoss(n_classes)
