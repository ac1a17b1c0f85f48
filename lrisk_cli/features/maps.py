"""What feature maps share: the protocols of maps and kernels, and the map by landmarks.

Letters: x one of n encoded rows, the constant column last where there is one; W (values, k)
coefficients, that of the constant last; Z (n, k) margins; m landmarks or frequencies of d numbers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from msgspec import Meta, Struct

from lrisk_cli.names import FeatureMapName, GammaRule, KernelName, RowNorm
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# Landmarks that the kernels of _core take in at a time.
LANES = 8
# Values worked on together: half a megabyte stays in the cache.
TILE = 1 << 16

Positive = Annotated[float, Meta(gt=0.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]
RowLists = Annotated[list[list[float]], Meta(min_length=1)]


class MapEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kernel"):
    """What is linear in the coefficients; `kernel` tells which kind it is."""


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """What the user may say about features; None leaves the choice to us.

    rank: number of landmarks or frequencies, "auto" for as many as the kernel needs. row_norm, pca:
    for embeddings; pca is the fraction of the variance that principal components explain.
    """

    kernel: KernelName = KernelName.LINEAR
    gamma: GammaRule | float | None = None
    degree: int | None = None
    coef0: float | None = None
    rank: int | Literal["auto"] | None = None
    feature_map: FeatureMapName | None = None
    row_norm: RowNorm = RowNorm.NONE
    pca: float | None = None

    @property
    def embeds(self) -> bool:
        """Whether rows are normalised or projected."""
        return self.row_norm is not RowNorm.NONE or self.pca is not None


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

    def entry(self) -> Any:
        """Its part of a model file, one of `registry.FeatureMapEntry`."""


class Kernel(ABC):
    """A positive semidefinite function of two rows, over the coordinates that landmarks have."""

    name: ClassVar[str]

    @abstractmethod
    def fill(self, X: Array, packed: Array, out: Array) -> None:
        """out[i, j] = k(X[i], landmark j). packed: the landmarks, by `pack`."""

    @abstractmethod
    def diagonal(self, X: Array, d: int) -> Array:
        """k(x, x) of each row, over its first d columns. (n,)."""

    @abstractmethod
    def parameters(self) -> dict[str, float]:
        """Its parameters by name, for --json."""

    @abstractmethod
    def describe(self) -> str:
        """What it is, for people."""

    @abstractmethod
    def entry(self, landmarks: list[list[float]], explained: float) -> Any:
        """The part of a model file for a map of this kernel."""

    def matrix(self, X: Array, Z: Array) -> Array:
        """k(X[i], Z[j]) for all pairs. (n, m)."""
        out = np.empty((len(X), len(Z)))
        self.fill(X, pack(Z), out)
        return out


@dataclass(frozen=True, slots=True)
class KernelSpec:
    """The declaration of one kernel.

    make: of the options and gamma; None where the columns are the features. gamma: where none is
    given. options: those of FeatureOptions that it reads; feature_maps: ways to its features.
    """

    summary: str
    make: Callable[[FeatureOptions, float], Kernel] | None = None
    gamma: GammaRule | float = GammaRule.SCALE
    options: frozenset[str] = frozenset()
    feature_maps: frozenset[FeatureMapName] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class LandmarkMap:
    """f(x) = sum_j W_j k(z_j, x) + W_constant. landmarks: (m, d) encoded rows z_j.

    explained: the fraction of the kernel's trace over the training rows that the landmarks span.
    """

    kernel: Kernel
    landmarks: Array
    explained: float

    def width(self, n_columns: int) -> int:
        check_columns(self.landmarks, n_columns)
        return len(self.landmarks)

    def margins(self, rows: Rows, W: Array) -> Array:
        packed, width = pack(self.landmarks), len(self.landmarks)
        return margins_by_tiles(rows, W, width, lambda x, out: self.kernel.fill(x, packed, out))

    def summary(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel.name,
            **self.kernel.parameters(),
            "landmarks": len(self.landmarks),
            "explained": self.explained,
        }

    def describe(self) -> str:
        return (
            f"{self.kernel.describe()}; {len(self.landmarks)} landmarks span "
            f"{percentage(self.explained)} of it"
        )

    def entry(self) -> Any:
        return self.kernel.entry(self.landmarks.tolist(), self.explained)


def pack(Z: Array) -> Array:
    """Rows eight at a time with their coordinates side by side, zeros in the gaps. (b, d, 8)."""
    m, d = Z.shape
    n_blocks = -(-m // LANES)
    padded = np.zeros((n_blocks * LANES, d))
    padded[:m] = Z
    return np.ascontiguousarray(padded.reshape(n_blocks, LANES, d).transpose(0, 2, 1))


def percentage(fraction: float) -> str:
    """A fraction in percent: "all" to rounding, and otherwise never 100 %."""
    if fraction > 1.0 - 1e-9:
        return "all"
    digits = next(k for k in range(1, 9) if round(100.0 * fraction, k) < 100.0)
    return f"{100.0 * fraction:.{digits}f} %"


def margins_by_tiles(
    rows: Rows, W: Array, width: int, fill: Callable[[Array, Array], None]
) -> Array:
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


def read_rows(rows: list[list[float]]) -> Array:
    """The rows of a model file; ValueError where they differ in length. (m, d)."""
    if len({len(row) for row in rows}) != 1:
        raise ValueError("rows of the feature map differ in length")
    return np.array(rows, dtype=np.float64)


def check_columns(rows: Array, n_columns: int) -> None:
    """ValueError where the rows of a map are not as long as encoded ones."""
    if rows.shape[1] != n_columns:
        raise ValueError(
            f"the feature map has {rows.shape[1]} columns where the encoding has {n_columns}"
        )
