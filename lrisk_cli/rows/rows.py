"""The operations on a matrix X of rows that the rest of the program is written in.

Letters: X (n, d) rows, W (d, k) coefficients, Z = X W (n, k) margins, R (n, k) one coefficient for
each row and output. A kind of rows says how X is stored; nobody else indexes or multiplies it.
"""

from typing import Any, Literal, NamedTuple, Protocol

from lrisk_cli.rows.words import Words
from lrisk_cli.types import Array, Index

StepKind = Literal[
    "lsvrg_squared", "lsvrg_binary", "lsvrg_multinomial", "lsvrg_margin", "sgd", "srda"
]


class Roundings(NamedTuple):
    """How many roundings a term can meet: in a margin of a row, and in a sum over the rows."""

    margin: float
    row_sum: float


class ColumnStats(NamedTuple):
    """The smallest and the largest number of each column. Both (d,)."""

    smallest: Array
    largest: Array


class Rows(Protocol):
    """A matrix of rows, which never changes. Results depend on the rows alone, not on threads."""

    @property
    def shape(self) -> tuple[int, int]:
        """n and d."""

    @property
    def stored(self) -> int:
        """How many numbers or codes are stored of a row."""

    def scores(self, W: Array) -> Array:
        """X W, where a row's result does not depend on the other rows. (n, k)."""

    def margins(self, W: Array) -> Array:
        """X W, as quickly as `roundings` permits; equal rows may differ in rounding. (n, k)."""

    def combine(self, R: Array, rows: Index | slice | None = None) -> Array:
        """X' R, its sums over rows closed as `roundings` says. (d, k).

        rows: R belongs to these only, (s, k).
        """

    def magnitudes(self, R: Array) -> Array:
        """|X|' |R|, rows without a coefficient left out. (d, k)."""

    def roundings(self, n_outputs: int) -> Roundings:
        """Those of `margins` and `combine` with so many outputs, which error bounds count."""

    def times(self, V: Array) -> Array:
        """X V by the fastest product, without a bound on its rounding. (n, q)."""

    def transposed_times(self, R: Array) -> Array:
        """X' R by the fastest product, without a bound on its rounding. (d, q)."""

    def gram(self, weights: Array, rows: slice | None = None) -> Array:
        """X' diag(weights) X for weights of either sign; rows without weight left out. (d, d).

        rows: the weights belong to these only, (s,). The result is that of `take(rows)`, for less
        memory.
        """

    def gram_diagonal(self, weights: Array) -> Array:
        """The diagonal of that matrix. (d,)."""

    def gram_trace(self, weights: Array) -> float:
        """The trace of that matrix."""

    def row_products(self, rows: Index | None = None) -> Array:
        """X_S X_S' for some rows S, or all. (s, s)."""

    def row_norms(self) -> Array:
        """||x_i||^2. (n,)."""

    def quadratic_forms(self, A: Array) -> Array:
        """x_i' A x_i for a symmetric matrix A. (n,)."""

    def block_sums(self, coefs: Array, rows: Index, sizes: Index) -> Array:
        """sum coefs_i x_i over blocks of rows, divided by the root of their size. (blocks, d).

        rows: those of the first block, of the second, ...; sizes: how many each has. coefs: (n,).
        """

    def steps(self, kind: StepKind, *state: Any) -> None:
        """Steps of a stochastic solver, each on one row or a batch; `state` is modified in place.

        state: what the kernel of that name takes, but for the rows.
        """

    def take(self, rows: Index | slice) -> "Rows":
        """Some rows in memory of their own."""

    def with_factors(self, rows: Index, factors: Array) -> "Rows":
        """A copy in which some rows are multiplied by factors, column by column. factors: (d,)."""

    def dense_rows(self, rows: Index | slice, n_columns: int | None = None) -> Array:
        """A few rows as an array, to be read only. (s, d), or as many of the first columns."""

    def column(self, j: int) -> Array:
        """The numbers of one column, to be read only. (n,)."""

    def keys(self, factors: Words) -> Words:
        """sum_j factors_j b_j of each row modulo 2^64, b_j its folded words. (n,)."""

    def number_columns(self) -> Index:
        """The columns that may hold other numbers than 0 and 1, ascending."""

    def all_marked(self, columns: slice) -> bool:
        """Whether every row has a number other than 0 in one of these columns."""

    def column_stats(self) -> ColumnStats:
        """What every column holds."""

    def variance(self, n_columns: int, masses: Array | None = None) -> float:
        """The variance of all numbers in the first columns together. masses: of the rows, (n,)."""
