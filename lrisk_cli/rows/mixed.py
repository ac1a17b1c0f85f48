"""Rows as numbers beside codes: a code column stands for columns of X that are one-hot.

Letters: as in rows.py, and D (n, p) the columns stored as numbers, codes (n, c): in each code
column the column of X that is 1, or d for none. Kernels take coefficients spread to p + d + 1
slots: those of D, of all columns (where those of D are not read), and of none, which is 0.

The columns that a code column stands for and "none" add up to a column of ones. So a Gram matrix
needs the pairs of codes that are not the usual ones of their code columns; what is left of the
weight of a code belongs to the usual one.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.native.threads import over_chunks
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.layout import Layout
from lrisk_cli.rows.rows import ColumnStats, Roundings, StepKind
from lrisk_cli.rows.words import Words, folded
from lrisk_cli.types import Array, Codes, Index

# Outputs that the kernels work on together.
TOGETHER = 4
# Rows after which the kernels close a partial sum.
CLOSED = 1024
# In the state of the steps of each kind, the arrays with an entry for each column of X.
BY_COLUMN: dict[StepKind, tuple[int, ...]] = {
    "lsvrg_squared": (1, 2),
    "lsvrg_binary": (2, 3),
    "lsvrg_multinomial": (2, 3),
    "lsvrg_margin": (5, 6),
    "sgd": (4, 5, 16),
    "srda": (4, 5),
}


class MixedRows:
    """D (n, p) and codes (n, c), both in C order; neither is copied, and neither may change."""

    __slots__ = ("_D", "_codes", "_layout", "_usual")

    def __init__(self, D: Array, codes: Codes, layout: Layout, usual: Codes | None = None) -> None:
        """usual: the code that each code column holds most often, if known; none of j is d + j."""
        self._D, self._codes, self._layout = D, codes, layout
        self._usual = _usual_codes(self._counts(), layout, len(D)) if usual is None else usual

    @property
    def shape(self) -> tuple[int, int]:
        return len(self._D), self._layout.n_columns

    @property
    def stored(self) -> int:
        return len(self._layout.numbers) + len(self._layout.starts)

    def scores(self, W: Array) -> Array:
        """By a kernel that treats every row alike, on one thread."""
        Z = np.empty((len(self._D), W.shape[1]))
        core.mixed_scores(self._D, self._codes, self._padded(W), Z)
        return Z

    def margins(self, W: Array) -> Array:
        """The scores, by all threads."""
        Z, spread = np.empty((len(self._D), W.shape[1])), self._padded(W)

        def fill(rows: slice) -> None:
            core.mixed_scores(self._D[rows], self._codes[rows], spread, Z[rows])

        deque(over_chunks(fill, len(self._D), self.stored), maxlen=0)
        return Z

    def combine(self, R: Array, rows: Index | slice | None = None) -> Array:
        return self._sums(*self._part(rows), R, magnitudes=False)

    def magnitudes(self, R: Array) -> Array:
        return self._sums(self._D, self._codes, R, magnitudes=True)

    def roundings(self, n_outputs: int) -> Roundings:
        """A margin has one running sum or more of the numbers, and as many of the codes.

        One output: eight sums of numbers and a tail (native/lanes.h), four of codes. Several: two
        of both (native/codes.h).
        """
        n, p, c = len(self._D), len(self._layout.numbers), len(self._layout.starts)
        row_sum = CLOSED + n / CLOSED + 10
        if n_outputs == 1:
            return Roundings(margin=max(10 + p / 8, 7 + c / 4), row_sum=row_sum)
        return Roundings(margin=(p + c) / 2 + 4, row_sum=row_sum)

    def times(self, V: Array) -> Array:
        return self.margins(V)

    def transposed_times(self, R: Array) -> Array:
        return self.combine(R)

    def gram(self, weights: Array, rows: slice | None = None) -> Array:
        """Pairs of codes by counting; weights of either sign need no second pass."""
        D, codes = self._part(rows)
        layout, usual, weights = self._layout, self._usual, np.ascontiguousarray(weights)
        (c,), (p,), d = layout.starts.shape, layout.numbers.shape, layout.n_columns

        def of(rows: slice) -> Array:
            pairs = np.zeros((d + c, d + c + p))
            core.unusual_pairs(
                np.ascontiguousarray(D[rows]), np.ascontiguousarray(codes[rows]), usual, d,
                weights[rows], np.empty(c + 1, np.int32), pairs,
            )  # fmt: skip
            return pairs

        pairs = _total(of, len(D), p + c)
        numbers = DenseRows(D)
        G = _complete(
            pairs[:, : d + c], pairs[:, d + c :], float(weights.sum()),
            numbers.combine(weights[:, None])[:, 0], layout, usual,
        )  # fmt: skip
        G[np.ix_(layout.numbers, layout.numbers)] = numbers.gram(weights)
        return G

    def gram_diagonal(self, weights: Array) -> Array:
        """1 is its own square."""
        diagonal = self.combine(weights[:, None])[:, 0]
        diagonal[self._layout.numbers] = DenseRows(self._D).gram_diagonal(weights)
        return diagonal

    def gram_trace(self, weights: Array) -> float:
        return float(weights @ self.row_norms())

    def row_products(self, rows: Index | None = None) -> Array:
        D, codes = self._part(rows)
        products: Array = D @ D.T
        core.add_shared_codes(codes, self._layout.n_columns, products)
        return products

    def row_norms(self) -> Array:
        norms = np.empty(len(self._D))
        core.row_norms(self._D, norms)
        norms += np.count_nonzero(self._codes < self._layout.n_columns, axis=1)
        return norms

    def quadratic_forms(self, A: Array) -> Array:
        found, p = np.empty(len(self._D)), len(self._layout.numbers)
        spread = np.ascontiguousarray(self._spread(self._spread(A).T))

        def fill(rows: slice) -> None:
            core.mixed_quadratic_forms(
                self._D[rows], self._codes[rows], spread, np.empty(p), found[rows]
            )

        deque(over_chunks(fill, len(self._D), self.stored), maxlen=0)
        return found

    def block_sums(self, coefs: Array, rows: Index, sizes: Index) -> Array:
        sums = np.empty((len(sizes), self._n_slots))
        core.mixed_block_sums(self._D, self._codes, coefs, rows, sizes, sums)
        return np.ascontiguousarray(self._gathered(sums.T).T)

    def steps(self, kind: StepKind, *state: Any) -> None:
        given = list(state)
        for at in BY_COLUMN[kind]:
            given[at] = self._spread(state[at])
        # The code of the loss comes before the rows.
        first = [given.pop(0)] if kind in ("sgd", "srda") else []
        getattr(core, f"{kind}_steps")(*first, self._D, *given, codes=self._codes)
        for at in BY_COLUMN[kind]:
            state[at][:] = self._gathered(given[at - len(first)])

    def take(self, rows: Index | slice) -> "MixedRows":
        D, codes = self._D[rows], self._codes[rows]
        if isinstance(rows, slice):
            D, codes = D.copy(), codes.copy()
        return MixedRows(D, codes, self._layout, self._usual)

    def with_factors(self, rows: Index, factors: Array) -> DenseRows:
        """An array, as no code stands for another number than 1."""
        return DenseRows(self.dense_rows(slice(None))).with_factors(rows, factors)

    def dense_rows(self, rows: Index | slice, n_columns: int | None = None) -> Array:
        """A new array."""
        D, codes = self._part(rows)
        width = self._layout.n_columns if n_columns is None else n_columns
        X, numbers = np.zeros((len(D), width)), self._layout.numbers
        numbers = numbers[numbers < width]
        X[:, numbers] = D[:, : len(numbers)]
        core.mark_codes(np.ascontiguousarray(codes), X)
        return X

    def column(self, j: int) -> Array:
        """A new array, or a view of it."""
        at = self._layout.code_column(j)
        if at < 0:
            return self._D[:, int(np.searchsorted(self._layout.numbers, j))]
        return np.asarray(self._codes[:, at] == j, np.float64)

    def keys(self, factors: Words) -> Words:
        """0 has the word 0, so that codes need only the word of 1."""
        keys = DenseRows(self._D).keys(factors[self._layout.numbers])
        words = np.append(factors * folded(np.ones(1)), np.uint64(0))
        for code in self._codes.T:
            keys += words[code]
        return keys

    def number_columns(self) -> Index:
        return self._layout.numbers

    def all_marked(self, columns: slice) -> bool:
        start, stop, _ = columns.indices(self._layout.n_columns)
        found = ((self._codes >= start) & (self._codes < stop)).any(axis=1)
        numbers = self._layout.numbers
        found |= self._D[:, (numbers >= start) & (numbers < stop)].any(axis=1)
        return bool(found.all())

    def column_stats(self) -> ColumnStats:
        n, d = self.shape
        counts = self._counts()[:d]
        smallest, largest = (counts == n).astype(np.float64), (counts > 0).astype(np.float64)
        numbers = self._layout.numbers
        smallest[numbers], largest[numbers] = self._D.min(axis=0), self._D.max(axis=0)
        return ColumnStats(smallest, largest)

    def variance(self, n_columns: int, masses: Array | None = None) -> float:
        """By the numbers, and the mass of the others that are 1."""
        weights = np.ones(len(self._D)) if masses is None else masses
        numbers = self._layout.numbers[self._layout.numbers < n_columns]
        D, coded = self._D[:, : len(numbers)], np.setdiff1d(np.arange(n_columns), numbers)
        ones = float(self.combine(weights[:, None])[coded].sum())
        total = float(weights.sum())
        mean = (float((weights[:, None] * D).sum()) + ones) / (total * n_columns)
        squares = float((weights[:, None] * (D - mean) ** 2).sum()) + ones * (1.0 - mean) ** 2
        return (squares + (total * len(coded) - ones) * mean**2) / (total * n_columns)

    @property
    def _n_slots(self) -> int:
        return len(self._layout.numbers) + self._layout.n_columns + 1

    def _counts(self) -> Index:
        """How many rows have each column as a code, then how many codes are none. (d + 1,)."""
        counts = np.zeros(self._layout.n_columns + 1, np.int64)
        core.count_codes(self._codes, counts)
        return counts

    def _part(self, rows: Index | slice | None) -> tuple[Array, Codes]:
        """The numbers and codes of some rows, or of all, in C order unless a slice has a step."""
        return (self._D, self._codes) if rows is None else (self._D[rows], self._codes[rows])

    def _spread(self, W: Array) -> Array:
        """Coefficients of the columns of X, (d, ...), in the order of the slots."""
        slots = np.zeros((self._n_slots, *W.shape[1:]))
        p = len(self._layout.numbers)
        slots[:p], slots[p:-1] = W[self._layout.numbers], W
        return slots

    def _padded(self, W: Array) -> Array:
        """The same for as many outputs as the kernels take. (slots, one or a multiple of 4)."""
        padded = np.zeros((len(W), _wide(W.shape[1])))
        padded[:, : W.shape[1]] = W
        return self._spread(padded)

    def _gathered(self, slots: Array) -> Array:
        """The way back. (slots, ...); (d, ...)."""
        p = len(self._layout.numbers)
        W = slots[p:-1].copy()
        W[self._layout.numbers] = slots[:p]
        return W

    def _sums(self, D: Array, codes: Codes, R: Array, *, magnitudes: bool) -> Array:
        width, R = _wide(R.shape[1]), np.ascontiguousarray(R)

        def of(rows: slice) -> Array:
            total, partial = np.empty((2, self._n_slots, width))
            core.mixed_sums(
                np.ascontiguousarray(D[rows]), np.ascontiguousarray(codes[rows]), R[rows],
                magnitudes, total, partial, np.zeros(width), np.empty(D.shape[1]),
            )  # fmt: skip
            return total

        total = _total(of, len(D), D.shape[1] + codes.shape[1])
        return np.ascontiguousarray(self._gathered(total)[:, : R.shape[1]])


def _wide(n_outputs: int) -> int:
    """One output, or a multiple of four."""
    return 1 if n_outputs == 1 else -(-n_outputs // TOGETHER) * TOGETHER


def _total(of: Callable[[slice], Array], n_rows: int, n_stored: int) -> Array:
    """What the chunks of the rows give, added up."""
    chunks = over_chunks(of, n_rows, n_stored)
    total = next(chunks)
    for each in chunks:
        total += each
    return total


def _usual_codes(counts: Index, layout: Layout, n_rows: int) -> Codes:
    """The most frequent code of each code column, d + j for none. counts: (d + 1,); (c,)."""
    usual = np.empty(len(layout.starts), np.int32)
    for j, (start, stop) in enumerate(zip(layout.starts, layout.stops, strict=True)):
        each = counts[start:stop]
        best = int(np.argmax(each))
        n_none = n_rows - int(each.sum())
        usual[j] = start + best if each[best] >= n_none else layout.n_columns + j
    return usual


def _complete(
    pairs: Array, crossed: Array, weight: float, sums: Array, layout: Layout, usual: Codes
) -> Array:
    """X' diag(w) X but for the numbers with each other, from what is known of unusual codes.

    pairs: (d + c, d + c) their weights by pairs, each pair once, and by themselves on the diagonal.
    crossed: (d + c, p) sums of weighted numbers. weight, sums: the weight and the weighted numbers
    of all rows. (d, d).
    """
    d, c = layout.n_columns, len(usual)
    T = pairs + pairs.T
    W = 0.5 * np.diag(T)
    np.fill_diagonal(T, W)
    spans = [slice(*span) for span in zip(layout.starts, layout.stops, strict=True)]
    for j, span in enumerate(spans):
        W[usual[j]] = weight - (W[span].sum() + W[d + j])
        crossed[usual[j]] = sums - (crossed[span].sum(axis=0) + crossed[d + j])
    # With the usual code of column j: the weight of a code less that with the unusual ones of j.
    beside = np.empty((c, d + c))
    for j, span in enumerate(spans):
        beside[j] = W - (T[span].sum(axis=0) + T[d + j])
    unusual = beside.copy()
    unusual[:, usual] = 0.0
    both = np.empty((c, c))
    for j, span in enumerate(spans):
        both[:, j] = W[usual] - (unusual[:, span].sum(axis=1) + unusual[:, d + j])
    T[usual], T[:, usual] = beside, beside.T
    upper = np.triu(both)
    T[np.ix_(usual, usual)] = upper + np.triu(both, 1).T
    G = np.ascontiguousarray(T[:d, :d])
    for span in spans:
        G[span, span] = np.diag(W[span])
    G[:, layout.numbers] = crossed[:d]
    G[layout.numbers] = crossed[:d].T
    return G
