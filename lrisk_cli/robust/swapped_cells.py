"""Rows with a wrong cell -> the cell that it seems to have been exchanged with, if any.

With the cells of columns a and b exchanged, z becomes z + s_a + s_b, and the squared distance
z' P z, of which only those cells change, is known without another product. An exchange has no free
number, while a cell that is left out has one: it explains a row if the row is then ordinary and
nearer than without the cell.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.robust.cells import CellModel, Cells, filled_places
from lrisk_cli.types import Array, Index

# Exchanged, a row must be nearer than this fraction of all rows are.
ORDINARY = 0.95


def find_swaps(
    model: CellModel, columns: Sequence[Cells], rows: Index, cells: NDArray[np.int32]
) -> NDArray[np.int32]:
    """The column that the cell was exchanged with, -1 for none. rows: (m,); cells: (m,) columns.

    columns: those of the screen, (n,) each.
    """
    found = np.full(len(rows), -1, np.int32)
    used = model.used.tolist()
    if len(rows) == 0 or len(used) < 2:
        return found
    most = _ordinary(model, columns)
    some = [columns[j][rows] for j in used]
    Z = filled_places(model, some)
    W = Z @ model.precision
    distances = np.einsum("ij,ij->i", Z, W)
    for a in np.unique(cells).tolist():
        k = used.index(a)
        mine = np.flatnonzero(cells == a)
        without = distances[mine] - np.square(W[mine, k]) / model.precision[k, k]
        best = np.minimum(without, most)
        for h in range(len(used)):
            if h == k:
                continue
            after = _exchanged(model, some, Z, W, distances, mine, k, h)
            better = after < best
            found[mine[better]], best[better] = used[h], after[better]
    return found


def _exchanged(
    model: CellModel,
    columns: Sequence[Array],
    Z: Array,
    W: Array,
    distances: Array,
    rows: Index,
    k: int,
    h: int,
) -> Array:
    """Squared distances of rows with two of their cells exchanged. (len(rows),)."""
    P = model.precision
    first = model.scales[k].places(columns[h][rows]) - Z[rows, k]
    second = model.scales[h].places(columns[k][rows]) - Z[rows, h]
    linear = first * W[rows, k] + second * W[rows, h]
    square = first**2 * P[k, k] + second**2 * P[h, h] + 2.0 * first * second * P[k, h]
    found: Array = distances[rows] + 2.0 * linear + square
    return np.where(np.isnan(found), np.inf, found)


def _ordinary(model: CellModel, columns: Sequence[Cells], most_rows: int = 5000) -> float:
    step = max(1, len(columns[0]) // most_rows)
    Z = filled_places(model, [columns[j][::step] for j in model.used.tolist()])
    return float(np.quantile(np.einsum("ij,ij->i", Z @ model.precision, Z), ORDINARY))
