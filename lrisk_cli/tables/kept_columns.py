"""Original columns beside results: which ones, their cells at some rows, and their names there."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from lrisk_cli.errors import DataError, opt
from lrisk_cli.tables.arrays import arrow_of
from lrisk_cli.tables.column_types.nested import NestedType
from lrisk_cli.tables.memory import spell_size
from lrisk_cli.tables.named_columns import find_columns
from lrisk_cli.tables.row_lines import Index
from lrisk_cli.tables.table import Table, join_arrays

ALL = "all"
# What tells a column of the table from one of the results that has its name.
ORIGINAL = ".input"


def find_kept(table: Table, texts: Sequence[str], id_column: str | None = None) -> tuple[str, ...]:
    """The columns that the texts name; `all` is every one that can be written but the ids."""
    names = [column.name for column in table.columns]
    if [text.strip() for text in texts] == [ALL] and ALL not in names:
        every = [each.name for each in table.columns if not isinstance(each.type, NestedType)]
        return tuple(name for name in every if name != id_column)
    found = tuple(dict.fromkeys(each.name for each in find_columns(texts, names, table.label)))
    table.refuse_nested((), found)
    return found


def read_kept(table: Table, names: Sequence[str], rows: Index) -> dict[str, pa.Array]:
    """The cells of the columns at these rows, by another reading of the table.

    rows: their numbers, in any order. DataError if they take more memory than is allowed.
    """
    if not names:
        return {}
    order = np.argsort(rows, kind="stable")
    wanted = rows[order]
    parts: dict[str, list[pa.Array]] = {name: [] for name in names}
    n_bytes = 0
    for batch in table.batches((), keep=names):
        ends = (batch.first_row, batch.first_row + batch.n_rows)
        at = arrow_of(wanted[slice(*np.searchsorted(wanted, ends))] - batch.first_row)
        for name, cells in batch.kept.items():
            parts[name].append(cells.take(at))
            n_bytes += parts[name][-1].nbytes
        if 2 * n_bytes > table.allowance.n_bytes:
            raise DataError(
                f"{table.label}: {opt('keep')} takes more than {spell_size(2 * n_bytes)} of "
                f"memory, which is over {table.allowance}; keep fewer columns"
            )
    # Back from the order of the table.
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    return {name: join_arrays(cells).take(arrow_of(places)) for name, cells in parts.items()}


def with_kept(columns: dict[str, Any], table: Table, names: Sequence[str]) -> dict[str, Any]:
    """Results of the rows that their column `row` numbers, and the columns of the table there."""
    return beside(columns, read_kept(table, names, columns["row"]))


def beside(columns: dict[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Results, then original columns; one that has the name of a result becomes NAME.input."""
    named = dict(columns)
    for name, cells in kept.items():
        while name in named:
            name += ORIGINAL
        named[name] = cells
    return named
