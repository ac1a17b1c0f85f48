"""Columns of numbers, some cells wrong -> for every row which cells do not fit, and how far off.

A cell is judged twice: by the tail of its own column (`column_scales.py`), and by what the other
cells of its row predict. For the second, z is the row on scales where columns are about normal, S
their robust covariance, and P = (S + ridge diag S)^-1: r_j = (P z)_j / P_jj is the cell less its
prediction, and r_j^2 P_jj what the squared distance z' P z loses without the cell. The cell whose
omission explains most is the first suspect; with it replaced by its prediction, the others are
judged again (Rousseeuw and Van den Bossche, 2018; Raymaekers and Rousseeuw, 2021).

    found = screen_cells(columns)                   # (n,) arrays or `Cells`, NaN where missing
    found = screen_cells([*features, y], target=d)  # where one of them is a target, its number

`found.scores` are comparable with errors in standard deviations; rows of `found.far` hold a wrong
cell, in column `found.cells`, where `found.expected` would fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.robust.column_scales import (
    MAD_TO_DEVIATION,
    ColumnScale,
    Side,
    both_sides,
    learn_scale,
    learn_sides,
)
from lrisk_cli.types import Array, Flags, Index

# A cell so many deviations out is wrong, and so are codes, which count as so far out at least.
FAR, CODED = 6.0, 10.0
# Of a column, at most this fraction can be wrong cells; more are what the column holds.
MOST_CELLS = 0.1
# Rows that scales and relations are learned from, at most.
MOST_ROWS = 20_000
# Places farther out than this are cut before covariances are taken.
CUT, RIDGE = 2.5, 1e-3
# Sweeps by which missing cells are predicted.
SWEEPS = 3
# Suspects of a row, and how often relations are learned again without cells so far out.
SUSPECTS, ROUNDS, SUSPECT = 3, 2, 3.5
# Columns with one value in a larger fraction of the cells have no relations.
MOST_ALIKE = 0.6
# The upper quartile of the size of a normal number.
NORMAL_QUARTILE = 1.15035
CHUNK = 8192


class Cells(Protocol):
    """The numbers of a column, some at a time: an array, or what makes them when asked."""

    def __len__(self) -> int:
        """How many there are."""

    def __getitem__(self, rows: Index | slice, /) -> Array:
        """Those of some rows."""


@dataclass(frozen=True, slots=True, eq=False)
class CellModel:
    """What was learned of the columns. used: (d,) those that have a scale; scales: theirs.

    precision: P. units: (d,) of r_j sqrt(P_jj); sides: the tails of these, below and above.
    """

    used: Index
    scales: tuple[ColumnScale, ...]
    precision: Array
    units: Array
    sides: tuple[tuple[Side, Side], ...]


@dataclass(frozen=True, slots=True, eq=False)
class CellScreen:
    """scores: (n,) how far the worst cell of a row is off, in deviations. cells: (n,) its column.

    far: (n,) rows whose worst cell is wrong. coded: (n,) those where it holds a code. expected:
    (n,) what would fit there; places: (n,) that on the scale of the column; spreads: (n,) of what
    would fit. suspects: (n, k) columns in the order of their omission, -1 for none. offs: (n, k)
    how far off each is given the rest, less what the largest of ordinary rows are.
    """

    model: CellModel
    scores: Array
    cells: NDArray[np.int32]
    far: Flags
    coded: Flags
    expected: Array
    places: Array
    spreads: Array
    suspects: NDArray[np.int32]
    offs: Array

    def misfits(self, column: int, rows: Index, cells: Array) -> Array:
        """How far off other numbers in place of the worst cells would be, in spreads. (m,).

        rows: (m,) those whose worst cell is in this column; cells: (m,).
        """
        at = int(np.searchsorted(self.model.used, column))
        places = self.model.scales[at].places(cells)
        return np.asarray((places - self.places[rows]) / self.spreads[rows])


def screen_cells(
    columns: Sequence[Cells],
    *,
    target: int | None = None,
    kept: Flags | None = None,
    seed: int = 0,
) -> CellScreen:
    """Judge every cell. columns: (n,) each. target: a column that predicts and is predicted, but
    whose own cells are not scored, unless they hold a code. kept: (n,) rows to learn from.
    """
    n = len(columns[0]) if len(columns) else 0
    rows = np.arange(n) if kept is None or not kept.any() else np.flatnonzero(kept)
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng([seed, 8]).choice(rows, MOST_ROWS, replace=False))
    model = learn_cells([column[rows] for column in columns])
    parts = [
        _screen(model, [column[start : start + CHUNK] for column in columns], target)
        for start in range(0, n, CHUNK)
    ]
    scores, cells, places, spreads, coded, suspects, offs = (
        np.concatenate([part[k] for part in parts]) for k in range(7)
    )
    quartile = float(np.quantile(scores[rows], 0.75))
    usual = max(quartile - NORMAL_QUARTILE, 0.0)
    scores, offs = np.maximum(scores - usual, 0.0), np.maximum(offs - usual, 0.0)
    scores[coded] = np.maximum(scores[coded], CODED)
    far, expected = np.zeros(n, np.bool_), np.full(n, np.nan)
    for k, scale in zip(model.used.tolist(), model.scales, strict=True):
        mine = cells == k
        expected[mine] = scale.restore(places[mine])
        odd = mine & (scores > FAR) & ~coded
        far |= odd if odd.mean() <= MOST_CELLS else False
    return CellScreen(
        model, scores, cells, far | coded, coded, expected, places, spreads, suspects, offs
    )


def learn_cells(columns: Sequence[Array]) -> CellModel:
    """Scales of the columns, and their relations. columns: (n,) each."""
    learned = [learn_scale(column) for column in columns]
    used = np.array([j for j, scale in enumerate(learned) if scale is not None], np.intp)
    scales = tuple(scale for scale in learned if scale is not None)
    Z = _places(scales, [columns[j] for j in used.tolist()])
    inner = np.clip(np.where(np.isnan(Z), 0.0, Z), -CUT, CUT)
    model = _relate(used, scales, inner, Z)
    for _ in range(ROUNDS):
        model = _relate(used, scales, _without_suspects(model, Z), Z)
    return model


def _places(scales: Sequence[ColumnScale], columns: Sequence[Array]) -> Array:
    """z, NaN where missing. A value that is a part of its own is near the others. (n, d)."""
    Z = np.empty((len(columns[0]) if columns else 0, len(scales)))
    for k, (scale, column) in enumerate(zip(scales, columns, strict=True)):
        Z[:, k] = scale.places(column)
        mass = scale.ordinary(column)
        Z[mass, k] = np.clip(Z[mass, k], -CUT, CUT)
    return Z


def filled_places(model: CellModel, columns: Sequence[Array]) -> Array:
    """z of the columns that are used, missing cells predicted by the others. (n, d)."""
    return _filled(model, _places(model.scales, columns))


def _filled(model: CellModel, Z: Array) -> Array:
    """z with missing cells predicted by the others."""
    absent = np.isnan(Z)
    if not absent.any():
        return Z
    Z = np.where(absent, 0.0, Z)
    for _ in range(SWEEPS):
        for k in np.flatnonzero(absent.any(axis=0)).tolist():
            rows, P = np.flatnonzero(absent[:, k]), model.precision
            Z[rows, k] -= Z[rows] @ P[:, k] / P[k, k]
    return Z


def _relate(used: Index, scales: tuple[ColumnScale, ...], inner: Array, Z: Array) -> CellModel:
    """inner: places without wrong ones, that the covariance is taken of. (n, d)."""
    d = inner.shape[1]
    S = inner.T @ inner / max(len(inner), 1)
    diagonal = np.diag(S).copy()
    S[np.arange(d), np.arange(d)] += RIDGE * diagonal + 1e-12
    # A column of which most cells are one value says little of the others, nor they of it.
    alone = np.array([scale.share > MOST_ALIKE for scale in scales], np.bool_)
    S[alone] = S[:, alone] = 0.0
    S[alone, alone] = 1.0
    precision = np.asarray(np.linalg.inv(S), np.float64) if d else S
    model = CellModel(used, scales, precision, np.ones(d), ())
    offs = _filled(model, Z) @ (precision / np.sqrt(np.diag(precision)))
    units = MAD_TO_DEVIATION * np.median(np.abs(offs), axis=0) if len(Z) else np.ones(d)
    units[units <= 0.0] = 1.0
    sides = tuple(learn_sides(offs[:, k] / units[k]) for k in range(d))
    return CellModel(used, scales, precision, units, sides)


def _without_suspects(model: CellModel, Z: Array) -> Array:
    """Places with those far off replaced by their predictions. (n, d)."""
    Z = _filled(model, Z).copy()
    for off, at, errors in _suspects(model, Z):
        far = np.flatnonzero(np.abs(off) > SUSPECT)
        Z[far, at[far]] -= errors[far]
    return np.clip(Z, -2.0 * CUT, 2.0 * CUT)


def _suspects(model: CellModel, Z: Array) -> list[tuple[Array, Index, Array]]:
    """One after the other: how far off it is in units, its column, and r_j. (n,) each."""
    if Z.shape[1] == 0:
        return []
    precision, every = model.precision, np.arange(len(Z))
    root = np.sqrt(np.diag(precision))
    offs = Z @ (precision / root)
    found = []
    for _ in range(min(SUSPECTS, Z.shape[1])):
        at = np.abs(offs).argmax(axis=1)
        off = offs[every, at]
        errors = off / root[at]
        offs = offs - errors[:, None] * precision[at] / root
        found.append((off / model.units[at], at, errors))
    return found


def _screen(
    model: CellModel, columns: Sequence[Array], target: int | None
) -> tuple[Array, NDArray[np.int32], Array, Array, Flags, NDArray[np.int32], Array]:
    """Scores, cells, places, spreads, coded, suspects and offs of some rows."""
    n, used = len(columns[0]), model.used
    mine = [columns[j] for j in used.tolist()]
    Z = filled_places(model, mine)
    suspects, offs = np.full((n, SUSPECTS), -1, np.int32), np.zeros((n, SUSPECTS))
    scores, places, spreads = np.zeros(n), np.zeros(n), np.ones(n)
    cells, coded = np.full(n, -1, np.int32), np.zeros(n, np.bool_)
    spread = model.units / np.sqrt(np.diag(model.precision))
    for turn, (off, at, errors) in enumerate(_suspects(model, Z)):
        sizes = _by_tails(model, off, at)
        suspects[:, turn], offs[:, turn] = used[at], sizes
        free = (cells < 0) & (used[at] != target)
        scores[free], cells[free] = sizes[free], used[at[free]]
        places[free], spreads[free] = Z[free, at[free]] - errors[free], spread[at[free]]
    for k, (scale, column) in enumerate(zip(model.scales, mine, strict=True)):
        alone = np.where(scale.ordinary(column), 0.0, scale.deviations(Z[:, k]))
        alone[scale.coded(column)] = np.inf
        farther = (alone > scores) & ((used[k] != target) | np.isinf(alone))
        others = farther & (cells != used[k])
        places[others], spreads[others] = 0.0, 1.0
        scores[farther], cells[farther] = alone[farther], used[k]
    coded = np.isinf(scores)
    scores[coded] = 0.0
    return scores, cells, places, spreads, coded, suspects, offs


def _by_tails(model: CellModel, off: Array, at: Index) -> Array:
    """How far off cells are, by the tails of their columns. (n,)."""
    found = np.empty(len(off))
    for k, (below, above) in enumerate(model.sides):
        mine = at == k
        found[mine] = both_sides(off[mine], below, above)
    return found
