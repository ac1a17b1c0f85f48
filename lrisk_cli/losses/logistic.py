"""Minus the log-probability of the true class: one margin for two classes, one each for more."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.losses.base import Checkpoint, Loss, Roundings, Wide
from lrisk_cli.names import Task
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Codes, Targets

# Relative error of a derivative, in u: e^-t with t rounded is off by t u, and t < 746 or e^-t is 0;
# with several outputs it is 0 from t = 600 on, which no sum feels.
DERIVATIVE = 760
# Columns that the kernels for several outputs take together; a padded class has this margin, so
# that its probability is nothing.
LANE, NO_CLASS = 8, -1e30


class LogisticLoss(Loss):
    """What two and more classes share."""

    task: ClassVar[Task] = Task.CLASSIFICATION
    metrics: ClassVar[tuple[str, ...]] = (
        "accuracy", "majority_accuracy", "balanced_accuracy", "precision", "recall", "f1",
        "log_loss", "brier", "calibration_error",
    )  # fmt: skip
    starts_at_zero: ClassVar[bool] = True
    reuses_curvature: ClassVar[bool] = True
    concordance: ClassVar[float] = 1.0

    __slots__ = ()

    @property
    def name(self) -> str:
        return "logistic"

    @property
    def words(self) -> str:
        return "minus the logarithm of the probability given to the true class"

    def describe_score(self, scale: str, target: str) -> str:
        return "minus the logarithm of the probability of the given class"

    def target_probability(self, loss: float) -> float:
        return math.exp(-loss)


@dataclass(frozen=True, slots=True)
class BinaryLoss(LogisticLoss):
    """log(1 + e^z) - y z for classes 0 and 1: one margin, the log-odds of class 1."""

    code: ClassVar[int] = 1
    metrics: ClassVar[tuple[str, ...]] = (
        *LogisticLoss.metrics, "roc_auc", "average_precision",
    )  # fmt: skip
    smoothness: ClassVar[float] = 0.25

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def n_outputs(self) -> int:
        return 1

    def describe_output(self, name: str) -> str:
        return f"log-odds of {name}"

    @property
    def roundings(self) -> Roundings:
        """Of a loss: exp, log1p, a sum."""
        return Roundings(5, DERIVATIVE)

    def values(self, Z: Array, y: Targets) -> Array:
        out = np.empty(len(Z))
        core.binary_losses(Z[:, 0], y, out)
        return out

    def derivatives(self, Z: Array, y: Targets) -> Array:
        out = np.empty_like(Z)
        core.binary_slopes(Z[:, 0], y, out[:, 0])
        return out

    def probabilities(self, Z: Array) -> Array:
        # Each class from its own margin: 1 - p would lose the small ones.
        none = np.zeros(len(Z))
        out = np.empty((2, len(Z)))
        core.binary_slopes(-Z[:, 0], none, out[0])
        core.binary_slopes(Z[:, 0], none, out[1])
        return np.ascontiguousarray(out.T)

    def curvature(self, Z: Array, y: Targets) -> Array:
        P = self.probabilities(Z)
        return P[:, 0] * P[:, 1]

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        # The margin of the wrong class: its loss is log(1 + e^z), its derivative 1 / (1 + e^-z).
        signs = 1.0 - 2.0 * y[:, None]
        wrong = signs * Z
        small = np.exp(-np.abs(wrong))
        losses = np.log1p(small) + np.maximum(wrong, 0.0)
        return losses[:, 0], signs * np.where(wrong > 0.0, 1.0, small) / (1.0 + small)

    def predict(self, Z: Array, exposure: Array | None = None) -> Codes:
        return np.asarray(Z[:, 0] > 0.0, dtype=np.int32)

    def lsvrg_steps(
        self, at: Checkpoint, scalars: Array, step: float, rows: NDArray[np.int32]
    ) -> Array:
        V = np.zeros_like(at.gradient)
        chances = np.empty(len(at.y))
        core.binary_slopes(at.margins[:, 0], np.zeros(len(at.y)), chances)
        records = np.empty((len(at.y), 2))
        records[:, 0], records[:, 1] = at.margins[:, 0], chances
        at.rows.steps(
            "lsvrg_binary",
            at.factors, records, at.gradient[:, 0], V[:, 0], scalars, step, at.mu, rows,
        )  # fmt: skip
        return V


@dataclass(frozen=True, slots=True)
class MultinomialLoss(LogisticLoss):
    """-log softmax(z)_y: one margin for each class."""

    n_classes: int
    code: ClassVar[int] = 2
    smoothness: ClassVar[float] = 0.5

    @property
    def lipschitz(self) -> float:
        """||p - e_y|| is largest where all is put on one wrong class."""
        return float(np.sqrt(2.0))

    @property
    def n_outputs(self) -> int:
        return self.n_classes

    @property
    def roundings(self) -> Roundings:
        """The sum over the outputs comes on top, and rounded arguments of exp.

        Those move a loss by at most sum_c t_c e^-t_c u; a derivative has two of these sums.
        """
        k = self.n_classes
        return Roundings(5 + k, DERIVATIVE + 2 * k, absolute=k)

    def targets(self, y: Targets, exposure: Array | None = None) -> Targets:
        return np.ascontiguousarray(y, dtype=np.int32)

    def values(self, Z: Array, y: Targets) -> Array:
        return self.values_and_derivatives(Z, y)[0]

    def derivatives(self, Z: Array, y: Targets) -> Array:
        return self.values_and_derivatives(Z, y)[1]

    def values_and_derivatives(self, Z: Array, y: Targets) -> tuple[Array, Array]:
        """Both from the same exponentials. (n,), (n, k)."""
        losses, derivatives = np.empty(len(Z)), np.empty_like(Z)
        core.multinomial_pass(Z, y, losses, derivatives)
        return losses, derivatives

    def probabilities(self, Z: Array) -> Array:
        out = np.empty_like(Z)
        core.softmax_rows(Z, out)
        return out

    def curvature(self, Z: Array, y: Targets) -> Array:
        """The trace of diag(p) - p p'."""
        P = self.probabilities(Z)
        trace: Array = np.einsum("ij,ij->i", P, 1.0 - P)
        return trace

    def wide(self, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
        rows = np.arange(len(Z))
        top = np.argmax(Z, axis=1)
        powers = np.exp(Z - Z[rows, top][:, None])
        powers[rows, top] = 0.0
        rest = np.sum(powers, axis=1)
        losses = np.log1p(rest) + (Z[rows, top] - Z[rows, y])
        powers[rows, top] = 1.0
        derivatives = powers / (1.0 + rest)[:, None]
        derivatives[rows, y] = 0.0
        derivatives[rows, y] = -np.sum(derivatives, axis=1)
        return losses, derivatives

    def predict(self, Z: Array, exposure: Array | None = None) -> Codes:
        return np.asarray(np.argmax(Z, axis=1), dtype=np.int32)

    def lsvrg_steps(
        self, at: Checkpoint, scalars: Array, step: float, rows: NDArray[np.int32]
    ) -> Array:
        d, k = at.gradient.shape
        width = -(-k // LANE) * LANE
        records = np.zeros((len(at.y), 2, width))
        records[:, 0, :k], records[:, 0, k:] = at.margins, NO_CLASS
        records[:, 1, :k] = self.probabilities(at.margins)
        V, G = np.zeros((2, d, width))
        G[:, :k] = at.gradient
        at.rows.steps(
            "lsvrg_multinomial",
            at.factors, records, G, V, scalars, step, at.mu, rows, np.empty((2, width)),
        )  # fmt: skip
        return np.ascontiguousarray(V[:, :k])


def make(parameter: float | None, n_classes: int) -> LogisticLoss:  # noqa: ARG001  (asked of all)
    """One margin for two classes, and n_classes for more."""
    return BinaryLoss() if n_classes == 2 else MultinomialLoss(n_classes)
