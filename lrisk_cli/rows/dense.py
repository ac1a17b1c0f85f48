"""Rows as one array of doubles.

Letters as in rows.py. A sweep over the rows is cut into chunks by the shape alone, and what the
chunks give is added up in their order (native/threads.py). BLAS is kept to one thread by callers.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.native.threads import over_chunks
from lrisk_cli.rows.rows import ColumnStats, Roundings, StepKind
from lrisk_cli.rows.words import Words, folded
from lrisk_cli.types import Array, Index

# Rows of X that a Gram matrix takes in at a time: the sums do not depend on anything else.
GRAM_CHUNK = 2048
# Rows that BLAS multiplies at a time: few enough for the caches, which its own blocks are not.
MARGIN_CHUNK = 256
MAGNITUDE_CHUNK = 256
VARIANCE_CHUNK = 1024
FORM_CHUNK = 4096
# Numbers taken at a time: half a megabyte stays in the cache.
KEY_NUMBERS = 1 << 16
# Up to this many columns a kernel of our own is faster than BLAS; the rows it takes at a time.
NARROW, NARROW_CHUNK = 64, 16
# Roundings of a partial sum of rows in the kernel that combines them: 256 groups of four.
KERNEL_SUM = 260


class DenseRows:
    """X (n, d) in C order, which must not change afterwards; it is not copied."""

    __slots__ = ("_X",)

    def __init__(self, X: Array) -> None:
        self._X = X

    @property
    def shape(self) -> tuple[int, int]:
        n, d = self._X.shape
        return n, d

    @property
    def stored(self) -> int:
        return int(self._X.shape[1])

    def scores(self, W: Array) -> Array:
        """By a kernel that treats every row alike, on one thread."""
        Z = np.empty((len(self._X), W.shape[1]))
        core.scores(self._X, W, Z)
        return Z

    def margins(self, W: Array) -> Array:
        """With several outputs by BLAS."""
        X, n = self._X, len(self._X)
        Z = np.empty((n, W.shape[1]))

        def fill(rows: slice) -> None:
            if W.shape[1] == 1:
                core.scores(X[rows], W, Z[rows])
                return
            for start in range(rows.start, min(rows.stop, n), MARGIN_CHUNK):
                some = slice(start, min(start + MARGIN_CHUNK, rows.stop))
                np.matmul(X[some], W, out=Z[some])

        deque(over_chunks(fill, *self.shape), maxlen=0)
        return Z

    def combine(self, R: Array, rows: Index | slice | None = None) -> Array:
        """With several outputs, or for rows picked one by one, by BLAS."""
        if isinstance(rows, np.ndarray):
            return _product(self._X[rows], R)
        X, shape = self._part(rows), (self._X.shape[1], R.shape[1])

        def of(rows: slice) -> Array:
            if R.shape[1] > 1:
                return _product(X[rows], R[rows])
            total = np.empty(shape)
            core.weighted_rows(np.ascontiguousarray(X[rows]), R[rows], total, np.empty(shape))
            return total

        return _total(of, X)

    def magnitudes(self, R: Array) -> Array:
        total = np.zeros((self._X.shape[1], R.shape[1]))
        if R.shape[1] == 1:
            core.weighted_magnitudes(self._X, R[:, 0], total[:, 0])
            return total
        rows = np.flatnonzero(R.any(axis=1))
        for start in range(0, len(rows), MAGNITUDE_CHUNK):
            chunk = rows[start : start + MAGNITUDE_CHUNK]
            total += (np.abs(R[chunk]).T @ np.abs(self._X[chunk])).T
        return total

    def roundings(self, n_outputs: int) -> Roundings:
        """One output: eight running sums and their tail (native/lanes.h). Several: any order."""
        n, d = self.shape
        if n_outputs == 1:
            return Roundings(margin=9 + d / 8, row_sum=KERNEL_SUM + n / 1024)
        return Roundings(margin=d + 2, row_sum=n)

    def times(self, V: Array) -> Array:
        product: Array = self._X @ V
        return product

    def transposed_times(self, R: Array) -> Array:
        product: Array = self._X.T @ R
        return product

    def gram(self, weights: Array, rows: slice | None = None) -> Array:
        """The positive and the negative weights apart: their roots scale the rows."""
        X = self._part(rows)
        if weights.min() < 0.0:
            positive, negative = np.maximum(weights, 0.0), np.maximum(-weights, 0.0)
            return _gram(X, positive) - _gram(X, negative)
        return _gram(X, weights)

    def _part(self, rows: slice | None) -> Array:
        """Some rows or all, not copied. Kernels need a copy where the rows are apart, by chunks."""
        return self._X if rows is None else self._X[rows]

    def gram_diagonal(self, weights: Array) -> Array:
        diagonal = np.zeros(self._X.shape[1])
        for start in range(0, len(self._X), FORM_CHUNK):
            rows = slice(start, start + FORM_CHUNK)
            diagonal += weights[rows] @ np.square(self._X[rows])
        return diagonal

    def gram_trace(self, weights: Array) -> float:
        return float(weights @ np.einsum("ij,ij->i", self._X, self._X))

    def row_products(self, rows: Index | None = None) -> Array:
        some = self._X if rows is None else self._X[rows]
        products: Array = some @ some.T
        return products

    def row_norms(self) -> Array:
        norms = np.empty(len(self._X))
        core.row_norms(self._X, norms)
        return norms

    def quadratic_forms(self, A: Array) -> Array:
        found = np.empty(len(self._X))
        for start in range(0, len(found), FORM_CHUNK):
            some = self._X[start : start + FORM_CHUNK]
            found[start : start + FORM_CHUNK] = np.einsum("ij,ij->i", some @ A, some)
        return found

    def block_sums(self, coefs: Array, rows: Index, sizes: Index) -> Array:
        sums = np.empty((len(sizes), self._X.shape[1]))
        core.block_sums(self._X, coefs, rows, sizes, sums)
        return sums

    def steps(self, kind: StepKind, *state: Any) -> None:
        if kind in ("sgd", "srda"):
            code, *rest = state
            getattr(core, f"{kind}_steps")(code, self._X, *rest)
        else:
            getattr(core, f"{kind}_steps")(self._X, *state)

    def take(self, rows: Index | slice) -> "DenseRows":
        some = self._X[rows]
        return DenseRows(some.copy() if isinstance(rows, slice) else some)

    def with_factors(self, rows: Index, factors: Array) -> "DenseRows":
        X = self._X.copy()
        X[rows] *= factors
        return DenseRows(X)

    def dense_rows(self, rows: Index | slice, n_columns: int | None = None) -> Array:
        """A slice is a view of the rows."""
        return self._X[:, :n_columns][rows]

    def column(self, j: int) -> Array:
        """A view of it."""
        return self._X[:, j]

    def keys(self, factors: Words) -> Words:
        n, d = self._X.shape
        keys, step = np.empty(n, np.uint64), max(1, KEY_NUMBERS // max(d, 1))
        for start in range(0, n, step):
            some = slice(start, start + step)
            keys[some] = (folded(self._X[some]) * factors).sum(axis=1)
        return keys

    def number_columns(self) -> Index:
        """All of them: what they hold is not looked at."""
        return np.arange(self._X.shape[1])

    def all_marked(self, columns: slice) -> bool:
        return bool(self._X[:, columns].any(axis=1).all())

    def column_stats(self) -> ColumnStats:
        return ColumnStats(self._X.min(axis=0), self._X.max(axis=0))

    def variance(self, n_columns: int, masses: Array | None = None) -> float:
        X = self._X[:, :n_columns]
        chunks = [
            slice(start, start + VARIANCE_CHUNK) for start in range(0, len(X), VARIANCE_CHUNK)
        ]
        if masses is None:
            mean, total = float(X.mean()), 0.0
            for some in chunks:
                total += float(np.sum((X[some] - mean) ** 2))
            return total / X.size
        size = float(masses.sum()) * n_columns
        mean = sum(float(np.sum(X[some] * masses[some, None])) for some in chunks) / size
        squares = (np.sum((X[some] - mean) ** 2 * masses[some, None]) for some in chunks)
        return sum(map(float, squares)) / size


def _product(X: Array, R: Array) -> Array:
    """X' R for a few columns of R: BLAS is quicker with the long side of X last. (d, k)."""
    return np.ascontiguousarray((R.T @ X).T)


def _total(of: Callable[[slice], Array], X: Array) -> Array:
    """What the chunks of the rows give, added up."""
    chunks = over_chunks(of, *X.shape)
    total = next(chunks)
    for each in chunks:
        total += each
    return total


def _gram(X: Array, weights: Array) -> Array:
    """X' diag(weights) X for weights >= 0. (d, d)."""
    if X.shape[1] <= NARROW:
        return _total(lambda rows: _narrow_gram(X[rows], weights[rows]), X)
    if (weights == weights[0]).all():
        return float(weights[0]) * _total(lambda rows: _plain_gram(X[rows]), X)
    return _total(lambda rows: _scaled_gram(X[rows], weights[rows]), X)


def _narrow_gram(X: Array, weights: Array) -> Array:
    """X' diag(weights) X by a kernel that beats BLAS on few columns. (d, d)."""
    d = X.shape[1]
    down, across = core.gram_widths(d)
    total = np.zeros((down, across))
    scaled, plain = np.zeros((NARROW_CHUNK, down)), np.zeros((NARROW_CHUNK, across))
    core.weighted_gram(np.ascontiguousarray(X), weights, total, scaled, plain)
    upper = np.triu(total[:d, :d])
    return upper + np.triu(upper, 1).T


def _plain_gram(X: Array) -> Array:
    """X' X. (d, d)."""
    total = np.zeros((X.shape[1],) * 2)
    for start in range(0, len(X), GRAM_CHUNK):
        rows = np.ascontiguousarray(X[start : start + GRAM_CHUNK])
        total += rows.T @ rows
    return total


def _scaled_gram(X: Array, weights: Array) -> Array:
    """X' diag(weights) X. (d, d)."""
    n, d = X.shape
    total, scaled = np.zeros((d, d)), np.empty((min(GRAM_CHUNK, n), d))
    roots = np.sqrt(weights)
    for start in range(0, n, GRAM_CHUNK):
        chunk = slice(start, start + GRAM_CHUNK)
        rows = np.ascontiguousarray(X[chunk])
        kept = scaled[: core.scale_rows(rows, roots[chunk], scaled)]
        total += kept.T @ kept
    return total
