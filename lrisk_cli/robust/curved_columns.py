"""Bounded columns with their squares and products, for classes that curves tell apart."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.robust.bounded_columns import BoundedColumns
from lrisk_cli.types import Array, Index

# At most so many squares and products, and a column for so many rows.
MOST_CURVED, ROWS_PER_COLUMN = 80, 5


@dataclass(frozen=True, slots=True, eq=False)
class CurvedColumns:
    """Bounded columns, and products of these. pairs: (2, m) positions of the factors.

    means, deviations: (m,) of the products in the sample.
    """

    bounded: BoundedColumns
    pairs: Index
    means: Array
    deviations: Array

    @property
    def n_columns(self) -> int:
        """Columns and products."""
        return len(self.bounded.used) + len(self.means)

    def fill(self, columns: Array) -> Array:
        """A constant, the columns and the products. (n, 1 + columns + m)."""
        B = self.bounded.fill(columns)
        if self.pairs.shape[1] == 0:
            return B
        products = (_products(B, self.pairs) - self.means) / self.deviations
        return np.ascontiguousarray(np.concatenate([B, products], axis=1))


def curve_columns(bounded: BoundedColumns, columns: Array) -> list[CurvedColumns]:
    """The columns alone, with the squares of those that are numbers, and with all products.

    Only what the rows allow. columns: the sample that `bounded` was learned from.
    """
    n, n_used = len(columns), len(bounded.used)
    varied = [k + 1 for k, j in enumerate(bounded.used.tolist()) if _is_number(columns[:, j])]
    squares = np.array([varied, varied], np.intp).reshape(2, -1)
    products = np.concatenate([squares, np.stack(np.triu_indices(n_used, 1)) + 1], axis=1)
    most = min(MOST_CURVED, n // ROWS_PER_COLUMN - n_used)
    B = bounded.fill(columns)
    found: list[CurvedColumns] = []
    for pairs in (squares[:, :0], squares, products):
        if not found or 0 < pairs.shape[1] <= most:
            values = _products(B, pairs)
            deviations = values.std(axis=0)
            varies = deviations > 0.0
            means = values.mean(axis=0)[varies]
            found.append(CurvedColumns(bounded, pairs[:, varies], means, deviations[varies]))
    return found


def _is_number(column: Array) -> bool:
    """Whether the square of a column says more than the column."""
    return len(np.unique(column)) > 2


def _products(B: Array, pairs: Index) -> Array:
    found: Array = B[:, pairs[0]] * B[:, pairs[1]]
    return found
