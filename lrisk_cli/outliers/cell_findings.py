"""A design that may hold wrong cells -> which rows do, in which column, and what they look like."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.describe_row import spans
from lrisk_cli.design.design import Design
from lrisk_cli.design.misspelt import find_misspelt
from lrisk_cli.design.number_text import clipped, spell_cell
from lrisk_cli.outliers.wrong_units import name_units
from lrisk_cli.robust.cells import CODED, Cells, CellScreen, screen_cells
from lrisk_cli.robust.swapped_cells import find_swaps
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Flags, Index

# Numbers as encoded have so many digits, where they are neither so small nor their inverses.
DIGITS, LEAST = 12, 1e-100


@dataclass(frozen=True, slots=True, eq=False)
class CellFindings:
    """scores: (n,) how far the worst cell is off, in deviations. far: (n,) rows with a wrong one.

    places: (n,) where the worst cell is: 0 the target, k + 1 feature k, -1 none. swapped: (n,) the
    place that it was exchanged with, -1 for none. target_first: (n,) rows that a wrong target
    explains better than any wrong cell; target_scores: how far off it is then, on its own scale.
    """

    scores: Array
    far: Flags
    places: NDArray[np.int32]
    swapped: NDArray[np.int32]
    target_first: Flags
    target_scores: Array
    _screen: CellScreen
    _columns: Sequence[Cells]
    _names: tuple[str, ...]
    _at: Sequence[int]
    _features: Mapping[int, NumberFeature]
    _misspelt: Mapping[int, tuple[str, str]]
    _units: Mapping[int, str]

    @property
    def n_columns(self) -> int:
        """How many columns of numbers were screened."""
        return len(self._columns)

    def describe(self, row: int) -> str:
        """What is wrong with the worst cell of a row; empty where nothing is."""
        if not self.far[row]:
            return ""
        name = self._names[self.places[row]]
        if row in self._misspelt:
            text, right = self._misspelt[row]
            return f"{name} {clipped(text)} looks misspelt: {clipped(right)}"
        place, other = int(self.places[row]), int(self.swapped[row])
        said = f"{name} {self._say(row, place)}"
        if self._screen.coded[row]:
            return f"{said} looks like a code (for a missing value?)"
        if other >= 0:
            return f"{said} and {self._names[other]} {self._say(row, other)} look swapped"
        fits = self._features[place].spell_mean(float(self._screen.expected[row]))
        unit = self._units.get(row, "")
        return f"{said} where {fits} would fit" + (f" ({unit})" if unit else "")

    def _say(self, row: int, place: int) -> str:
        """A number of the file, to read."""
        cell = float(self._columns[self._at.index(place)][row : row + 1][0])
        return self._features[place].spell_cell(cell) if place else spell_cell(cell)


def find_cells(
    design: Design, texts: Sequence[Texts], kept: Flags | None, *, numbers: bool, seed: int
) -> CellFindings:
    """Screen the columns of numbers, and with them the target where it is one.

    texts: of the categories, in their order. kept: (n,) rows that relations are learned from.
    """
    columns, at = _columns(design)
    n = design.rows.shape[0]
    target = len(columns) if numbers else None
    if numbers:
        columns.append(design.targets.astype(np.float64))
        at.append(0)
    screen = screen_cells(columns, target=target, kept=kept, seed=seed) if columns else _nothing(n)
    scores, far = screen.scores.copy(), screen.far.copy()
    places = np.array([*at, -1], np.int32)[screen.cells]
    swapped = np.full(n, -1, np.int32)
    tried = np.flatnonzero(far & ~screen.coded)
    partners = find_swaps(screen.model, columns, tried, screen.cells[tried])
    swapped[tried] = np.array([*at, -1], np.int32)[partners]
    swapped[swapped == 0] = -1
    first = screen.suspects[:, 0] if target is not None else np.full(n, -1)
    misspelt = _find_misspelt(design, texts)
    for row, (place, _, _) in misspelt.items():
        scores[row], far[row], places[row] = max(scores[row], CODED), True, place
    return CellFindings(
        scores=scores,
        far=far,
        places=places,
        swapped=swapped,
        target_first=np.asarray(first == target) if numbers else np.zeros(n, np.bool_),
        target_scores=np.where(first == target, screen.offs[:, 0], 0.0) if numbers else np.zeros(n),
        _screen=screen,
        _columns=columns,
        _names=("" if not numbers else design.encoding.target.name, *design.encoding.feature_names),
        _at=at,
        _features={
            j + 1: feature
            for j, feature in enumerate(design.encoding.features)
            if isinstance(feature, NumberFeature)
        },
        _misspelt={row: (text, right) for row, (_, text, right) in misspelt.items()},
        _units=name_units(screen, columns, tried),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _NumberCells:
    """The cells of a column as the file has them, NaN where missing. digits: after the point, None
    for all; rounding of the encoding would make the zeros of a column differ.

    absent: the column that marks missing cells, -1 for none.
    """

    rows: Rows
    feature: NumberFeature
    first: int
    absent: int
    digits: int | None

    def __len__(self) -> int:
        return self.rows.shape[0]

    def __getitem__(self, some: Index | slice, /) -> Array:
        """Those of some rows."""
        encoded = self.rows.column(self.first)[some]
        cells = self.feature.mean + self.feature.scale * encoded
        if self.digits is not None:
            cells = np.round(cells, self.digits)
        if self.absent >= 0:
            cells[self.rows.column(self.absent)[some] != 0.0] = np.nan
        return np.asarray(cells)


def _columns(design: Design) -> tuple[list[Cells], list[int]]:
    """The columns of numbers, and their places."""
    columns: list[Cells] = []
    at, stats = [], design.rows.column_stats()
    for j, (feature, first, stop) in enumerate(spans(design.encoding)):
        if not isinstance(feature, NumberFeature):
            continue
        ends = (float(stats.smallest[first]), float(stats.largest[first]))
        largest = max(abs(feature.mean + feature.scale * end) for end in ends)
        usual = LEAST < largest < 1.0 / LEAST
        digits = DIGITS - 1 - int(np.floor(np.log10(largest))) if usual else None
        absent = stop - 1 if feature.indicator else -1
        columns.append(_NumberCells(design.rows, feature, first, absent, digits))
        at.append(j + 1)
    return columns, at


def _find_misspelt(design: Design, texts: Sequence[Texts]) -> dict[int, tuple[int, str, str]]:
    """Rows with a misspelt category: its place, what it is and what it should be."""
    names = design.encoding.feature_names
    found = {}
    for feature, cells in zip(design.encoding.categories, texts, strict=True):
        misspelt = find_misspelt(cells)
        rows = np.flatnonzero(np.isin(cells.codes, np.array(list(misspelt), np.int32)))
        place = names.index(feature.name) + 1
        for row, code in zip(rows.tolist(), cells.codes[rows].tolist(), strict=True):
            found[row] = (place, cells.values[code], misspelt[code])
    return found


def _nothing(n: int) -> CellScreen:
    return screen_cells([np.zeros(n)])
