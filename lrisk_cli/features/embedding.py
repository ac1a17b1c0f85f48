"""Rows of an embedding: unit length, principal components, standardised once more.

Letters: x one of n encoded rows of d numbers; u = x / ||x||, or x; m their mean, V (d, k) the
principal components that explain enough of the variance, s the deviation of each of them. The
values of x are v = (V' (u - m)) / s.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

from lrisk_cli.errors import DataError, opt
from lrisk_cli.features.maps import (
    TILE,
    FeatureOptions,
    MapEntry,
    RowLists,
    margins_by_tiles,
    percentage,
    read_rows,
)
from lrisk_cli.features.phi import Afford, Features
from lrisk_cli.names import RowNorm
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# Components with less than this fraction of the largest variance are rounding errors.
LEAST = 1e-12


class EmbeddingEntry(MapEntry, frozen=True, kw_only=True, tag="embedding"):
    """v = components (u - mean) / scale, u the encoded row x, or x / ||x|| where row_norm is unit.

    components: a list for each value, as long as a row; null for the coordinates of u themselves.
    explained: the fraction of the variance of u that the components explain.
    """

    row_norm: Literal["none", "unit"]
    mean: list[float]
    components: RowLists | None
    scale: list[Annotated[float, Meta(gt=0.0)]]
    explained: float

    def map(self) -> "EmbeddingMap":
        """The map that it describes; ValueError where its parts disagree."""
        parts = None if self.components is None else read_rows(self.components)
        mean, scale = np.array(self.mean), np.array(self.scale)
        shape = (len(scale), len(mean))
        if (shape[0] != shape[1]) if parts is None else (parts.shape != shape):
            raise ValueError("components, mean and scale of the feature map differ in length")
        return EmbeddingMap(RowNorm(self.row_norm), mean, parts, scale, self.explained)


@dataclass(frozen=True, slots=True, eq=False)
class EmbeddingMap:
    """The values v of rows. components: V', (k, d), None for the coordinates themselves."""

    row_norm: RowNorm
    mean: Array
    components: Array | None
    scale: Array
    explained: float

    def width(self, n_columns: int) -> int:
        if len(self.mean) != n_columns:
            raise ValueError(
                f"the feature map has {len(self.mean)} columns where the encoding has {n_columns}"
            )
        return len(self.scale)

    def fill(self, X: Array, out: Array) -> None:
        """The values of some rows, each by itself, into the first columns of `out`."""
        u = unit_rows(X, len(self.mean), self.row_norm) - self.mean
        if self.components is not None:
            u = DenseRows(np.ascontiguousarray(u)).scores(np.ascontiguousarray(self.components.T))
        out[:, : len(self.scale)] = u / self.scale

    def margins(self, rows: Rows, W: Array) -> Array:
        return margins_by_tiles(rows, W, len(self.scale), self.fill)

    def summary(self) -> dict[str, Any]:
        parts = None if self.components is None else len(self.components)
        return {
            "kernel": "embedding",
            "row_norm": self.row_norm.value,
            "components": parts,
            "explained": self.explained,
        }

    def describe(self) -> str:
        rows = "rows of unit length" if self.row_norm is RowNorm.UNIT else "rows"
        if self.components is None:
            return f"{rows}, standardised"
        n, explained = len(self.components), percentage(self.explained)
        return (
            f"{n} principal components of {rows}, standardised, explain {explained} of the variance"
        )

    def entry(self) -> EmbeddingEntry:
        return EmbeddingEntry(
            row_norm=self.row_norm.value,
            mean=self.mean.tolist(),
            components=None if self.components is None else self.components.tolist(),
            scale=self.scale.tolist(),
            explained=self.explained,
        )


def unit_rows(X: Array, d: int, row_norm: RowNorm) -> Array:
    """The first d columns of rows, divided by the length of the row; zero rows stay. (n, d)."""
    u = X[:, :d]
    if row_norm is RowNorm.NONE:
        return u
    # Scaled first, as squares of large numbers overflow.
    largest = np.abs(u).max(axis=1, initial=0.0)[:, None]
    u = u / np.where(largest > 0.0, largest, 1.0)
    lengths = np.sqrt(np.sum(u * u, axis=1))[:, None]
    units: Array = u / np.where(lengths > 0.0, lengths, 1.0)
    return units


def embed(
    rows: Rows,
    options: FeatureOptions,
    *,
    constant: bool,
    afford: Afford,
    masses: Array | None = None,
) -> Features:
    """Learn the map from the rows, by their masses if any (n,), and apply it to them."""
    d = rows.shape[1] - constant
    mean, covariance = _moments(rows, d, options.row_norm, masses)
    components, scale, explained = None, np.sqrt(np.diag(covariance)), 1.0
    scale = np.where(scale > 0.0, scale, 1.0)
    if options.pca is not None:
        components, scale, explained = principal(covariance, options.pca)
    learned = EmbeddingMap(options.row_norm, mean, components, scale, explained)
    afford(len(scale))
    phi = np.empty((rows.shape[0], len(scale) + constant))
    phi[:, len(scale) :] = 1.0
    for start, tile in _tiles(rows):
        learned.fill(tile, phi[start : start + len(tile)])
    return Features(DenseRows(phi), learned)


def principal(covariance: Array, fraction: float) -> tuple[Array, Array, float]:
    """The fewest components that explain the fraction, their deviations, what they explain.

    Each has its largest entry positive, so that signs do not depend on the library.
    """
    variances, vectors = np.linalg.eigh(covariance)
    variances, vectors = np.maximum(variances[::-1], 0.0), vectors[:, ::-1]
    total = float(variances.sum())
    if not total > 0.0:
        raise DataError(
            f"all rows are alike, so they have no principal components; leave out {opt('pca')}"
        )
    shares = np.cumsum(variances) / total
    most = int(np.count_nonzero(variances > LEAST * variances[0]))
    # A fraction that is reached but for rounding is reached.
    k = min(most, int(np.searchsorted(shares, fraction - 1e-12)) + 1)
    chosen = vectors[:, :k].T
    signs = np.sign(chosen[np.arange(k), np.argmax(np.abs(chosen), axis=1)])
    components = np.ascontiguousarray(chosen * signs[:, None])
    return components, np.sqrt(variances[:k]), float(min(shares[k - 1], 1.0))


def _tiles(rows: Rows) -> Iterator[tuple[int, Array]]:
    """Some rows at a time, and where they begin."""
    step = max(1, TILE // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        yield start, rows.dense_rows(slice(start, start + step))


def _moments(rows: Rows, d: int, row_norm: RowNorm, masses: Array | None) -> tuple[Array, Array]:
    """Mean (d,) and population covariance (d, d) of the rows u, in two passes."""
    n: float = rows.shape[0] if masses is None else float(masses.sum())
    total, products = np.zeros(d), np.zeros((d, d))
    for start, tile in _tiles(rows):
        u = unit_rows(tile, d, row_norm)
        total += (u if masses is None else _weighted(u, masses, start)).sum(axis=0)
    mean = total / n
    for start, tile in _tiles(rows):
        away = unit_rows(tile, d, row_norm) - mean
        products += away.T @ (away if masses is None else _weighted(away, masses, start))
    return mean, products / n


def _weighted(tile: Array, masses: Array, start: int) -> Array:
    """The rows of a tile times their masses."""
    return np.asarray(tile * masses[start : start + len(tile), None])
