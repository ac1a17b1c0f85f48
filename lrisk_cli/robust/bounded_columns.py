"""Columns -> bounded columns that a few outliers cannot distort, and which rows are remote.

Letters: u = asinh((x - median) / MAD), B (n, m) a constant and the u, standardised.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.robust.scale_mixture import fit_scales
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Flags, Index

MAD_TO_DEVIATION = 1.4826
# Rows are remote when they are a group so many times as far out as the others, or when one of their
# cells is: it belongs to a group so many times as far from the median as the other cells, and no
# larger than a fraction of them, or is so many times as far as any cell of the sample.
REMOTE = 20.0
CELL_REMOTE, CELL_SHARE, CELL_BEYOND = 6.0, 0.05, 3.0
# Cells farther out count as so many scales away, or their squares would overflow.
FARTHEST = 1e100
CHUNK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class BoundedColumns:
    """What was learned of the columns. used: those that vary.

    n_columns: the first columns of the rows, without the constant.
    centres, scales: of the columns; means, deviations: of u, among the rows in the middle; cells:
    how many scales from the centre a cell is remote.
    """

    n_columns: int
    used: Index
    centres: Array
    scales: Array
    means: Array
    deviations: Array
    cells: Array

    def fill(self, columns: Array) -> Array:
        """B, its constant first. (n, m)."""
        u = _asinh(self._scaled(columns))
        # Kernels take rows one after another, which picked columns are not.
        B = np.empty((len(u), 1 + u.shape[1]))
        B[:, 0] = 1.0
        B[:, 1:] = (u - self.means) / self.deviations
        return B

    def multiply(self, rows: Rows, beta: Array) -> Array:
        """B beta, a chunk of rows at a time. beta: (m, k); (n, k)."""
        slopes = beta[1:] / self.deviations[:, None]
        found = np.empty((rows.shape[0], beta.shape[1]))
        found[:] = beta[0] - self.means @ slopes
        for chunk in _chunks(rows):
            u = _asinh(self._scaled(rows.dense_rows(chunk, self.n_columns)))
            found[chunk] += u @ slopes
        return found

    def remote(self, rows: Rows) -> Flags:
        """Rows far out from all others, as a group or by one of their cells. (n,)."""
        reach, by_cell = np.empty(rows.shape[0]), np.empty(rows.shape[0], dtype=np.bool_)
        for chunk in _chunks(rows):
            scaled = self._scaled(rows.dense_rows(chunk, self.n_columns))
            reach[chunk] = _root_mean_square(scaled)
            by_cell[chunk] = (np.abs(scaled) > self.cells).any(axis=1)
        return by_cell | (fit_scales(reach, REMOTE).inlier(reach) < 0.5)

    def _scaled(self, columns: Array) -> Array:
        """(x - centre) / scale of the columns that vary, in memory of its own."""
        whole = len(self.used) == columns.shape[1]
        scaled: Array = (columns if whole else columns[:, self.used]) - self.centres
        scaled /= self.scales
        return np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)


def learn_columns(columns: Array) -> BoundedColumns:
    """Medians and MADs (deviations where those are zero) of the columns, and what follows."""
    centres = np.median(columns, axis=0)
    mads = MAD_TO_DEVIATION * np.median(np.abs(columns - centres), axis=0)
    scales = np.where(mads > 0.0, mads, columns.std(axis=0))
    used = np.flatnonzero(scales > 0.0)
    scaled = np.clip((columns[:, used] - centres[used]) / scales[used], -FARTHEST, FARTHEST)
    # Where most cells are equal, as in columns of categories, no other cell is remote.
    cells = np.where(mads[used] > 0.0, [_remote_beyond(np.abs(z)) for z in scaled.T], np.inf)
    u = _asinh(scaled)
    middle = u[np.argsort(_root_mean_square(u), kind="stable")[: (len(u) + 1) // 2]]
    deviations = middle.std(axis=0)
    deviations[deviations == 0.0] = 1.0
    means = middle.mean(axis=0)
    return BoundedColumns(
        columns.shape[1], used, centres[used], scales[used], means, deviations, cells
    )


def _chunks(rows: Rows) -> list[slice]:
    return [slice(start, start + CHUNK) for start in range(0, rows.shape[0], CHUNK)]


def _remote_beyond(sizes: Array) -> float:
    """The size from which on a cell of this column is remote. sizes: (n,) of all its cells."""
    mixture = fit_scales(sizes, CELL_REMOTE)
    if 0.0 < mixture.fraction <= CELL_SHARE:
        return mixture.threshold(len(sizes))
    return CELL_BEYOND * float(sizes.max())


def _asinh(z: Array) -> Array:
    """sign(z) log(|z| + sqrt(z^2 + 1)), in place of z: quicker than NumPy's own, as good here."""
    sizes = np.abs(z)
    roots = sizes * sizes
    roots += 1.0
    np.sqrt(roots, out=roots)
    sizes += roots
    np.log(sizes, out=sizes)
    return np.copysign(sizes, z, out=z)


def _root_mean_square(values: Array) -> Array:
    if values.shape[1] == 0:
        return np.zeros(len(values))
    found: Array = np.sqrt(np.einsum("ij,ij->i", values, values) / values.shape[1])
    return found
