"""What a model is linear in: the columns of a row, its kernel with landmarks, or cosines of it.

Letters: x one of n encoded rows, the constant column last where there is one; W (values, k)
coefficients, that of the constant last; Z (n, k) margins; m landmarks or frequencies of d numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from lrisk_cli.features.entries import (
    FeatureMapEntry,
    FourierEntry,
    GaussianEntry,
    LinearEntry,
    PolynomialEntry,
)
from lrisk_cli.native.kernels import core
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# Landmarks that the kernels of _core take in at a time.
LANES = 8
# Values worked on together: half a megabyte stays in the cache.
TILE = 1 << 16


class FeatureMap(Protocol):
    """Turns encoded rows into the values that the coefficients multiply; each row by itself."""

    def width(self, n_columns: int) -> int:
        """Values of a row, the constant aside, from so many encoded columns."""

    def margins(self, rows: Rows, W: Array) -> Array:
        """Z, each row by itself. (n, k)."""

    def summary(self) -> dict[str, Any]:
        """What JSON documents say about it."""

    def describe(self) -> str:
        """What it is, for people."""

    def entry(self) -> FeatureMapEntry:
        """Its part of a model file."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """exp(-gamma ||x - z||^2) for rbf, (gamma x.z + coef0)^degree for poly."""

    name: Literal["rbf", "poly"]
    gamma: float
    degree: int = 1
    coef0: float = 0.0

    def fill(self, X: Array, packed: Array, out: Array) -> None:
        """out[i, j] = k(X[i], landmark j), over the coordinates that landmarks have."""
        if self.name == "rbf":
            core.gaussian_rows(X, packed, self.gamma, out)
        else:
            core.polynomial_rows(X, packed, self.gamma, self.coef0, self.degree, out)

    def matrix(self, X: Array, Z: Array) -> Array:
        """k(X[i], Z[j]) for all pairs. (n, m)."""
        out = np.empty((len(X), len(Z)))
        self.fill(X, pack(Z), out)
        return out

    def diagonal(self, X: Array, d: int) -> Array:
        """k(x, x) of each row, over its first d columns. (n,)."""
        if self.name == "rbf":
            return np.ones(len(X))
        squares: Array = np.einsum("ij,ij->i", X[:, :d], X[:, :d])
        powers: Array = (self.gamma * squares + self.coef0) ** self.degree
        return powers

    def describe(self) -> str:
        if self.name == "rbf":
            return f"Gaussian kernel, gamma {self.gamma:.4g}"
        gamma = "" if self.gamma == 1.0 else f"{self.gamma:.4g} "
        return f"polynomial kernel ({gamma}x.z + {self.coef0:g})^{self.degree}"


@dataclass(frozen=True, slots=True)
class LinearMap:
    """The encoded columns themselves."""

    def width(self, n_columns: int) -> int:
        return n_columns

    def margins(self, rows: Rows, W: Array) -> Array:
        return rows.scores(W)

    def summary(self) -> dict[str, Any]:
        return {"kernel": "linear"}

    def describe(self) -> str:
        return "linear"

    def entry(self) -> FeatureMapEntry:
        return LinearEntry()


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkMap:
    """f(x) = sum_j W_j k(z_j, x) + W_constant. landmarks: (m, d) encoded rows z_j.

    explained: the share of the kernel's trace over the training rows that the landmarks span.
    """

    kernel: Kernel
    landmarks: Array
    explained: float

    def width(self, n_columns: int) -> int:
        _check_columns(self.landmarks, n_columns)
        return len(self.landmarks)

    def margins(self, rows: Rows, W: Array) -> Array:
        packed, width = pack(self.landmarks), len(self.landmarks)
        return _margins(rows, W, width, lambda x, out: self.kernel.fill(x, packed, out))

    def summary(self) -> dict[str, Any]:
        kernel = self.kernel
        shape = {} if kernel.name == "rbf" else {"degree": kernel.degree, "coef0": kernel.coef0}
        return {
            "kernel": kernel.name,
            "gamma": kernel.gamma,
            **shape,
            "landmarks": len(self.landmarks),
            "explained": self.explained,
        }

    def describe(self) -> str:
        return (
            f"{self.kernel.describe()}; {len(self.landmarks)} landmarks span "
            f"{percentage(self.explained)} of it"
        )

    def entry(self) -> FeatureMapEntry:
        kernel, rows = self.kernel, self.landmarks.tolist()
        if kernel.name == "rbf":
            return GaussianEntry(gamma=kernel.gamma, explained=self.explained, landmarks=rows)
        return PolynomialEntry(
            gamma=kernel.gamma,
            coef0=kernel.coef0,
            degree=kernel.degree,
            explained=self.explained,
            landmarks=rows,
        )


@dataclass(frozen=True, slots=True, eq=False)
class FourierMap:
    """f(x) = sum_j W_j sqrt(2/m) cos(omega_j.x + b_j) + W_constant.

    frequencies: (m, d) omega; phases: (m,) b. In the mean over random frequencies of variance
    2 gamma and phases in [0, 2 pi), products of these features are exp(-gamma ||x - z||^2).
    """

    gamma: float
    frequencies: Array
    phases: Array

    def width(self, n_columns: int) -> int:
        _check_columns(self.frequencies, n_columns)
        if len(self.phases) != len(self.frequencies):
            raise ValueError("frequencies and phases differ in number")
        return len(self.frequencies)

    def fill(self, X: Array, packed: Array, out: Array) -> None:
        """out[i, j] = sqrt(2/m) cos(omega_j.x_i + b_j)."""
        phases = np.zeros(LANES * len(packed))
        phases[: len(self.phases)] = self.phases
        core.cosine_rows(X, packed, phases, np.sqrt(2.0 / len(self.phases)), out)

    def margins(self, rows: Rows, W: Array) -> Array:
        packed = pack(self.frequencies)
        return _margins(rows, W, len(self.phases), lambda x, out: self.fill(x, packed, out))

    def summary(self) -> dict[str, Any]:
        return {"kernel": "fourier", "gamma": self.gamma, "frequencies": len(self.phases)}

    def describe(self) -> str:
        return (
            f"Gaussian kernel, gamma {self.gamma:.4g}; {len(self.phases)} random Fourier features"
        )

    def entry(self) -> FeatureMapEntry:
        return FourierEntry(
            gamma=self.gamma, frequencies=self.frequencies.tolist(), phases=self.phases.tolist()
        )


def map_of(entry: FeatureMapEntry) -> FeatureMap:
    """The map that a model file describes; ValueError where its rows differ in length."""
    match entry:
        case LinearEntry():
            return LinearMap()
        case FourierEntry():
            phases = np.array(entry.phases, dtype=np.float64)
            return FourierMap(entry.gamma, _matrix(entry.frequencies), phases)
        case GaussianEntry():
            kernel = Kernel("rbf", entry.gamma)
        case PolynomialEntry():
            kernel = Kernel("poly", entry.gamma, entry.degree, entry.coef0)
    return LandmarkMap(kernel, _matrix(entry.landmarks), entry.explained)


def pack(Z: Array) -> Array:
    """Rows eight at a time with their coordinates side by side, zeros in the gaps. (b, d, 8)."""
    m, d = Z.shape
    n_blocks = -(-m // LANES)
    padded = np.zeros((n_blocks * LANES, d))
    padded[:m] = Z
    return np.ascontiguousarray(padded.reshape(n_blocks, LANES, d).transpose(0, 2, 1))


def percentage(share: float) -> str:
    """A share as people write it: "all" to rounding, and otherwise never 100 %."""
    if share > 1.0 - 1e-9:
        return "all"
    digits = next(k for k in range(1, 9) if round(100.0 * share, k) < 100.0)
    return f"{100.0 * share:.{digits}f} %"


def _margins(rows: Rows, W: Array, width: int, fill: Callable[[Array, Array], None]) -> Array:
    """[values of x, 1] W, some rows at a time: how many does not matter to a row."""
    n_rows, step = rows.shape[0], max(1, TILE // len(W))
    Z = np.empty((n_rows, W.shape[1]))
    values = np.empty((min(step, n_rows), len(W)))
    for start in range(0, n_rows, step):
        tile = rows.dense_rows(slice(start, start + step))
        some = values[: len(tile)]
        fill(tile, some)
        some[:, width:] = 1.0
        Z[start : start + step] = DenseRows(some).scores(W)
    return Z


def _matrix(rows: list[list[float]]) -> Array:
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of the feature map differ in length")
    return np.array(rows, dtype=np.float64)


def _check_columns(rows: Array, n_columns: int) -> None:
    if rows.shape[1] != n_columns:
        raise ValueError(
            f"the feature map has {rows.shape[1]} columns where the encoding has {n_columns}"
        )
