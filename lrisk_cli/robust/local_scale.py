"""How large errors are in the region of each row, by honest regression trees.

A model that does not follow a region of the columns, or errors whose scale depends on the columns,
make large errors of correct rows. A tree is grown on one half of the rows to predict the size of
an error; in its leaves, the scale of the errors of the other half is estimated by a low quantile.
Wrong rows scattered among correct ones therefore do not count, even if they are many.
"""

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Index

# Bins of a column, levels of a tree, rows of a leaf on the half that grows it, halvings.
BINS, DEPTH, LEAF, HALVINGS = 24, 6, 12, 4
# A tree is grown on half of so many rows at most, and none of fewer than 100.
FEWEST_ROWS, MOST_ROWS = 100, 20_000
# The edges of bins are quantiles of at least so many rows, where there are as many.
EDGE_ROWS = 5000
# The quantile of the sizes in a leaf that is compared with that of all rows.
QUANTILE = 0.25
# Trees predict log(SMALL + size).
SMALL = 0.25


def local_scales(rows: Rows, predicted: Array, sizes: Array, *, seed: int = 0) -> Array:
    """The scale of the errors around each row, 1 that of all together; at least 1. (n,).

    predicted: one more column to split by, (n,). 1 everywhere where the rows are too few.
    """
    n = len(sizes)
    if n < FEWEST_ROWS:
        return np.ones(n)
    bins = _bins(rows, predicted)
    sizes = sizes / max(float(np.quantile(sizes, QUANTILE)), 1e-300)
    values = np.log(SMALL + sizes)
    logs = np.zeros(n)
    draws = np.random.default_rng([seed, 6])
    for _ in range(HALVINGS):
        half = np.zeros(n, np.bool_)
        order = draws.permutation(n)
        half[order[: n // 2]] = True
        for grow, rest in ((half, ~half), (~half, half)):
            few = np.flatnonzero(grow)[: MOST_ROWS // 2]
            leaf = _leaves(bins, values, few)
            logs[rest] += np.log(_scales_of(leaf[rest], sizes[rest]))
    found: Array = np.exp(logs / HALVINGS)
    return np.maximum(found, 1.0)


def _bins(rows: Rows, predicted: Array) -> NDArray[np.int16]:
    """In which of at most 24 bins of about equal numbers each cell lies. (n, d + 1)."""
    n, d = rows.shape
    found = np.empty((n, d + 1), np.int16)
    for j in range(d + 1):
        cells = predicted if j == d else rows.column(j)
        some = cells[:: max(1, n // EDGE_ROWS)]
        edges = np.unique(np.quantile(some, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
        found[:, j] = np.searchsorted(edges, cells, side="left")
    return found


def _leaves(bins: NDArray[np.int16], values: Array, grow: Index) -> Index:
    """The leaf of every row in a tree that the rows `grow` make. (n,)."""
    node = np.zeros(len(values), np.intp)
    n_nodes = 1
    for _ in range(DEPTH):
        column, edge = _best_splits(bins[grow], values[grow], node[grow], n_nodes)
        mine = np.maximum(column[node], 0)[:, None]
        beyond = np.take_along_axis(bins, mine, axis=1)[:, 0] > edge[node]
        goes_right = (column[node] >= 0) & beyond
        node = 2 * node + goes_right
        n_nodes *= 2
        if (column < 0).all():
            break
    return node


def _best_splits(
    bins: NDArray[np.int16], values: Array, node: Index, n_nodes: int
) -> tuple[Index, Index]:
    """For each node the column and the last bin of the left side; -1 for none. (nodes,) each."""
    best = np.zeros(n_nodes)
    column, edge = np.full(n_nodes, -1, np.intp), np.zeros(n_nodes, np.intp)
    n_all = np.bincount(node, minlength=n_nodes).astype(np.float64)
    sum_all = np.bincount(node, values, n_nodes)
    square = np.bincount(node, np.square(values), n_nodes)
    within = np.maximum(square - sum_all**2 / np.maximum(n_all, 1.0), 0.0)
    for j in range(bins.shape[1]):
        cell = node * BINS + bins[:, j]
        counts = np.bincount(cell, minlength=n_nodes * BINS).reshape(n_nodes, BINS)
        sums = np.bincount(cell, values, n_nodes * BINS).reshape(n_nodes, BINS)
        left, total = np.cumsum(counts, axis=1)[:, :-1], np.cumsum(sums, axis=1)[:, :-1]
        right = n_all[:, None] - left
        possible = (left >= LEAF) & (right >= LEAF)
        mean_gap = total / np.maximum(left, 1) - (sum_all[:, None] - total) / np.maximum(right, 1)
        gain = np.where(possible, left * right / np.maximum(n_all, 1.0)[:, None] * mean_gap**2, 0.0)
        at = np.argmax(gain, axis=1)
        value = gain[np.arange(n_nodes), at]
        better = value > best
        best[better], column[better], edge[better] = value[better], j, at[better]
    # A split that explains no more than chance would among all that were tried is none.
    needed = 2.0 * np.log(2.0 * bins.shape[1] * BINS) * within / np.maximum(n_all - 1.0, 1.0)
    column[best <= needed] = -1
    return column, edge


def _scales_of(leaf: Index, sizes: Array) -> Array:
    """The scale in the leaf of each row; in leaves of few rows that of all. (n,)."""
    order = np.lexsort((sizes, leaf))
    ordered = leaf[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    counts = np.diff(np.append(starts, len(leaf)))
    at = starts + (QUANTILE * (counts - 1)).astype(np.intp)
    scales = np.maximum(sizes[order][at], SMALL)
    scales[counts < LEAF // 2] = 1.0
    found = np.empty(len(leaf))
    found[order] = np.repeat(scales, counts)
    return found
