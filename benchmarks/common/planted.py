"""Real tables with planted errors of twenty kinds, and what is wrong in each row.

A table is read, a sample of its rows drawn, and some of the rows are changed. Deviations of the
target are those of the errors of least squares before, robustly; deviations of a column are 1.4826
MAD.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from benchmarks.common.data import REAL_DATA
from lrisk_cli.types import Array, Flags

Draws = np.random.Generator
Column = np.ndarray[Any, Any]
Change = Callable[[Array, Array, Draws], Array]

# Fractions of the rows that are changed, where a kind does not say otherwise.
SHARE = 0.04
TARGET = "target"
# Numbers of fewer different values are codes, in which units and signs mean nothing.
FEWEST_VALUES = 12


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table is, its target, and the columns left out. code: a number that is none, in any
    column; rows with it are left out.
    """

    path: str
    target: str
    left_out: tuple[str, ...] = ()
    code: float | None = None


SOURCES = {
    "wine": Source("wine_quality_red.csv", "quality"),
    "concrete": Source("concrete.csv", "compressive_strength"),
    "energy": Source("energy_heating.csv", "heating_load"),
    "california": Source("california_housing.parquet", "median_house_value"),
    "adult": Source("adult/train.parquet", "income", code=99999.0),
    "boston": Source("boston_housing.csv", "medv"),
    "flights": Source(
        "nyc_flights_2013.parquet",
        "air_time",
        ("dep_time", "arr_time", "arr_delay", "tailnum", "time_hour", "flight", "year"),
    ),
    "heart": Source("heart_cleveland.csv", "disease"),
    "breast": Source("breast_cancer_wdbc.csv", "malignant"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """A table, which of its rows are wrong, and where: names of columns, or none for rows."""

    columns: dict[str, Column]
    target: str
    wrong: Flags
    places: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.wrong)

    @property
    def classes(self) -> bool:
        """Whether the target is of classes."""
        y = self.columns[self.target]
        return y.dtype == object or len(np.unique(y)) == 2

    @property
    def numbers(self) -> list[str]:
        """Features that are measured: numbers of many values."""
        return [
            name
            for name, cells in self.columns.items()
            if name != self.target
            and cells.dtype != object
            and len(np.unique(cells)) >= FEWEST_VALUES
            and _mad(cells) > 0.0
        ]

    @property
    def texts(self) -> list[str]:
        """Features of categories."""
        return [
            name
            for name, cells in self.columns.items()
            if name != self.target and cells.dtype == object
        ]

    def arrow(self) -> pa.Table:
        """As a table to be written."""
        return pa.table({name: pa.array(cells.tolist()) for name, cells in self.columns.items()})


def read_source(name: str) -> Planted | None:
    """The whole table without rows of missing cells; None where the folder is absent."""
    source = SOURCES[name]
    path = Path(REAL_DATA, source.path)
    if not path.exists():
        return None
    read: pa.Table = pq.read_table(path) if path.suffix == ".parquet" else csv.read_csv(path)
    kept = read.select([c for c in read.column_names if c not in source.left_out]).drop_null()
    columns: dict[str, Column] = {}
    for column in kept.column_names:
        cells = kept[column].to_numpy(zero_copy_only=False)
        columns[column] = cells if cells.dtype == object else cells.astype(np.float64)
    coded = [cells == source.code for cells in columns.values() if cells.dtype != object]
    clean = ~np.any(coded, axis=0)
    columns = {name: cells[clean] for name, cells in columns.items()}
    return Planted(columns, source.target, np.zeros(int(clean.sum()), np.bool_))


def draw_rows(table: Planted, n_rows: int, draws: Draws) -> Planted:
    """Some of its rows, in random order."""
    some = draws.permutation(table.n_rows)[:n_rows]
    columns = {name: cells[some].copy() for name, cells in table.columns.items()}
    return Planted(columns, table.target, table.wrong[some], [() for _ in some])


def plant(table: Planted, kind: str, draws: Draws) -> Planted | None:
    """The table with errors of one kind; None where it has no column for them."""
    change = KINDS[kind]
    copy = replace(
        table,
        columns={name: cells.copy() for name, cells in table.columns.items()},
        wrong=table.wrong.copy(),
        places=[() for _ in range(table.n_rows)],
    )
    return copy if change(copy, draws) else None


def encode(table: Planted, *, texts: bool = True) -> tuple[Array, Array]:
    """Numbers and one-hot categories, standardised, and the target; for peers. (n, d), (n,)."""
    parts = []
    for name, cells in table.columns.items():
        if name == table.target or (cells.dtype == object and not texts):
            continue
        if cells.dtype == object:
            parts += [(cells == value).astype(float) for value in np.unique(cells.astype(str))]
        else:
            parts.append(cells)
    X = np.column_stack(parts)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    y = table.columns[table.target]
    if table.classes:
        return X, np.unique(y.astype(str), return_inverse=True)[1].astype(np.float64)
    return X, y.astype(np.float64)


def _mad(cells: Column) -> float:
    return 1.4826 * float(np.median(np.abs(cells - np.median(cells))))


def _error_scale(table: Planted) -> float:
    X, y = encode(table)
    A = np.column_stack([X, np.ones(len(y))])
    errors = y - A @ np.linalg.lstsq(A, y, rcond=1e-8)[0]
    return 1.4826 * float(np.median(np.abs(errors)))


def _mark(table: Planted, rows: Column, names: Sequence[tuple[str, ...]]) -> bool:
    for row, each in zip(rows.tolist(), names, strict=True):
        table.wrong[row], table.places[row] = True, each
    return len(rows) > 0


def _rows(table: Planted, share: float, draws: Draws) -> Column:
    return draws.choice(table.n_rows, max(5, round(share * table.n_rows)), replace=False)


def _cells(change: Change) -> Callable[[Planted, Draws], bool]:
    """One cell of a measured column in each row. change: cells, MADs, draws -> wrong cells."""

    def plant_cells(table: Planted, draws: Draws) -> bool:
        names, rows = table.numbers, _rows(table, SHARE, draws)
        chosen = draws.integers(len(names), size=len(rows))
        for k, name in enumerate(names):
            mine, cells = rows[chosen == k], table.columns[name]
            before = cells[mine].copy()
            cells[mine] = change(before, np.full(len(mine), _mad(cells)), draws)
            changed = mine[cells[mine] != before]
            _mark(table, changed, [(name,)] * len(changed))
        return True

    return plant_cells


def _swap(table: Planted, draws: Draws) -> bool:
    """Two measured columns, the same in all rows, whose medians are apart."""
    names = table.numbers
    pairs = [
        (a, b)
        for k, a in enumerate(names)
        for b in names[k + 1 :]
        if abs(np.median(table.columns[a]) - np.median(table.columns[b]))
        > 3.0 * min(_mad(table.columns[a]), _mad(table.columns[b]))
    ]
    if not pairs:
        return False
    a, b = pairs[int(draws.integers(len(pairs)))]
    rows = _rows(table, SHARE, draws)
    first, second = table.columns[a][rows].copy(), table.columns[b][rows].copy()
    table.columns[a][rows], table.columns[b][rows] = second, first
    return _mark(table, rows, [(a, b)] * len(rows))


def _target(change: Change, share: float = SHARE) -> Callable[[Planted, Draws], bool]:
    """change: targets, the deviation of errors, draws -> wrong targets."""

    def plant_target(table: Planted, draws: Draws) -> bool:
        if table.classes:
            return False
        rows, y = _rows(table, share, draws), table.columns[table.target]
        y[rows] = change(y[rows], np.full(len(rows), _error_scale(table)), draws)
        return _mark(table, rows, [(table.target,)] * len(rows))

    return plant_target


def _signs(n: int, draws: Draws) -> Array:
    return np.where(draws.random(n) < 0.5, -1.0, 1.0)


def _permute(table: Planted, draws: Draws) -> bool:
    if table.classes:
        return False
    rows, y = _rows(table, SHARE, draws), table.columns[table.target]
    y[rows] = y[np.roll(rows, 1)]
    return _mark(table, rows, [(table.target,)] * len(rows))


def _duplicate(table: Planted, draws: Draws) -> bool:
    """Rows repeat others, with the target of a third row."""
    if table.classes:
        return False
    rows = _rows(table, SHARE, draws)
    others = np.setdiff1d(np.arange(table.n_rows), rows)
    of, third = draws.choice(others, len(rows)), draws.choice(others, len(rows))
    y = table.columns[table.target][third].copy()
    for cells in table.columns.values():
        cells[rows] = cells[of]
    table.columns[table.target][rows] = y
    return _mark(table, rows, [(table.target,)] * len(rows))


def _leverage_cluster(table: Planted, draws: Draws) -> bool:
    """15 % of the rows 6 deviations out in one column, and the target 12 below."""
    if table.classes:
        return False
    name, rows = table.numbers[int(draws.integers(len(table.numbers)))], _rows(table, 0.15, draws)
    cells, scale = table.columns[name], _error_scale(table)
    mad = _mad(cells)
    cells[rows] = np.median(cells) + mad * (6.0 + 0.3 * draws.standard_normal(len(rows)))
    table.columns[table.target][rows] -= 12.0 * scale
    return _mark(table, rows, [(name, table.target)] * len(rows))


def _misspell(table: Planted, draws: Draws) -> bool:
    """One letter of a long category left out, doubled, exchanged or replaced."""
    rows, places, kept = _rows(table, SHARE, draws), [], []
    for row in rows.tolist():
        names = [name for name in table.texts if len(str(table.columns[name][row])) >= 5]
        if not names:
            continue
        name = names[int(draws.integers(len(names)))]
        text = str(table.columns[name][row])
        at = [k for k in range(1, len(text) - 1) if text[k : k + 2].isalpha()]
        if not at:
            continue
        k = at[int(draws.integers(len(at)))]
        wrong = (
            text[:k] + text[k + 1 :],
            text[:k] + text[k] + text[k:],
            text[:k] + text[k + 1] + text[k] + text[k + 2 :],
            text[:k] + chr(ord("a") + int(draws.integers(26))) + text[k + 1 :],
        )[int(draws.integers(4))]
        if wrong != text:
            table.columns[name][row] = wrong
            kept.append(row)
            places.append((name,))
    return _mark(table, np.array(kept, np.intp), places)


def _flip(table: Planted, draws: Draws) -> bool:
    if not table.classes:
        return False
    rows, y = _rows(table, 2 * SHARE, draws), table.columns[table.target]
    classes = np.unique(y)
    y[rows] = np.where(y[rows] == classes[0], classes[1], classes[0])
    return _mark(table, rows, [(table.target,)] * len(rows))


def _times(factor: float) -> Callable[[Array, Array, Draws], Array]:
    return lambda x, unit, draws: factor * x  # noqa: ARG005


def _set_to(code: float) -> Callable[[Array, Array, Draws], Array]:
    return lambda x, unit, draws: np.full(len(x), code)  # noqa: ARG005


def _plus(low: float, high: float, sign: float = 0.0) -> Callable[[Array, Array, Draws], Array]:
    """So many units are added, or subtracted. sign: 0 for either."""

    def change(x: Array, unit: Array, draws: Draws) -> Array:
        return x + unit * draws.uniform(low, high, len(x)) * (sign or _signs(len(x), draws))

    return change


KINDS: dict[str, Callable[[Planted, Draws], bool]] = {
    "cell x 1000": _cells(_times(1000.0)),
    "cell x 10": _cells(_times(10.0)),
    "cell x 2.54": _cells(_times(2.54)),
    "cell / 1000": _cells(_times(0.001)),
    "sign of a cell": _cells(_times(-1.0)),
    "columns swapped": _swap,
    "cell -999": _cells(_set_to(-999.0)),
    "cell 9999": _cells(_set_to(9999.0)),
    "cell +- 8 to 12 MAD": _cells(_plus(8.0, 12.0)),
    "target x 10": _target(_times(10.0)),
    "target / 1000": _target(_times(0.001)),
    "target -999": _target(_set_to(-999.0)),
    "target +- 6, 10 %": _target(_plus(6.0, 6.0), 0.1),
    "target +- 3 to 4, 5 %": _target(_plus(3.0, 4.0), 0.05),
    "target + 8, 30 %": _target(_plus(8.0, 8.0, 1.0), 0.3),
    "leverage cluster, 15 %": _leverage_cluster,
    "target of another row": _permute,
    "repeated with another target": _duplicate,
    "misspelt category": _misspell,
    "labels swapped": _flip,
}
# Errors of six deviations and more, whatever the table.
LARGE = (
    "cell x 1000", "target x 10", "target -999", "target +- 6, 10 %", "target + 8, 30 %",
)  # fmt: skip
