"""The groups that rows belong to by the cells of some columns, as codes and names."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.collected import Coded
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.tables.cells import spell_groups
from lrisk_cli.tables.named_columns import find_columns
from lrisk_cli.tables.table import Batch, Table
from lrisk_cli.types import Codes

# Missing cells are a group of their own, by this name.
MISSING = "(missing)"
MAX_GROUPS = 10_000


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The group of each row. codes: (n,) positions in names; names: a cell of each column.

    The names are in alphabetical order, whatever the order of the rows.
    """

    columns: tuple[str, ...]
    names: tuple[tuple[str, ...], ...]
    codes: Codes

    def take(self, rows: NDArray[np.intp]) -> "RowGroups":
        """Of some of the rows; groups without rows keep their names."""
        return RowGroups(self.columns, self.names, self.codes[rows])

    @property
    def compact(self) -> NDArray[np.intp]:
        """Codes from 0 on, of the groups that occur only. (n,)."""
        _, codes = np.unique(self.codes, return_inverse=True)
        return codes


class GroupCollector:
    """Collects the groups of rows batch by batch: 4 bytes a row for each column.

    most: groups that are allowed.
    """

    def __init__(self, columns: Sequence[str], most: int = MAX_GROUPS) -> None:
        self.columns, self._most = tuple(columns), most
        self._coded = [Coded() for _ in self.columns]

    def add(self, batch: Batch, kept: NDArray[np.int64] | None = None) -> None:
        """Take the rows of a batch, or some of them."""
        for name, coded in zip(self.columns, self._coded, strict=True):
            cells = spell_groups(batch.columns[name], f"{batch.source}, column '{name}'")
            coded.add(cells if kept is None else cells[kept])
            _refuse_many(coded.n_values, name, self._most)

    def finish(self) -> RowGroups:
        """The groups of all rows."""
        columns = [coded.finish() for coded in self._coded]
        joint, n_possible = np.zeros(len(columns[0]), dtype=np.int64), 1
        for texts in columns:
            joint = joint * (len(texts.values) + 1) + (texts.codes + 1)
            n_possible *= len(texts.values) + 1
        found, codes = _distinct(joint, n_possible)
        _refuse_many(len(found), ",".join(self.columns), self._most)
        names = []
        for group in found.tolist():
            cells, rest = [], group
            for texts in reversed(columns):
                rest, at = divmod(rest, len(texts.values) + 1)
                cells.append(texts.values[at - 1] if at else MISSING)
            names.append(tuple(reversed(cells)))
        order = sorted(range(len(names)), key=names.__getitem__)
        places = np.empty(len(order), dtype=np.int32)
        places[order] = np.arange(len(order))
        return RowGroups(self.columns, tuple(names[at] for at in order), places[codes])


def find_group_columns(table: Table, texts: Sequence[str]) -> tuple[str, ...]:
    """The columns that the texts name, each once; DataError where there is none such."""
    names = [column.name for column in table.columns]
    found = [column.name for column in find_columns(texts, names, table.label)]
    for name in found:
        if found.count(name) > 1:
            raise InvalidOption("by", f": '{name}' is named twice; name it once")
    table.refuse_nested(found)
    return tuple(found)


def read_groups(table: Table, texts: Sequence[str]) -> RowGroups:
    """The groups of all rows of the table, in reading order, by the columns that texts name."""
    collector = GroupCollector(find_group_columns(table, texts))
    for batch in table.batches(collector.columns, invalid_as_missing=True):
        collector.add(batch)
    return collector.finish()


def require_groups(risk: object, by: Sequence[str]) -> None:
    """Refuse a risk of groups where no column of groups is named."""
    if not by:
        add = opt("by", "COLUMN")
        raise UsageError(f"{risk} is a risk of groups of rows; name their columns: add {add}")


def _distinct(
    joint: NDArray[np.int64], n_possible: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The numbers that occur, ascending, and the position of each row's among them.

    n_possible: all are below it; where it is small they need no sort.
    """
    if n_possible > 8 * max(len(joint), MAX_GROUPS):
        found, codes = np.unique(joint, return_inverse=True)
        return found, codes
    occurs = np.bincount(joint, minlength=n_possible) > 0
    places = np.cumsum(occurs) - 1
    return np.flatnonzero(occurs), places[joint]


def _refuse_many(n_values: int, name: str, most: int) -> None:
    if n_values > most:
        raise InvalidOption(
            "by", f": more than {most:,} groups; choose columns with fewer values", name
        )
