"""Blocks of a fixed number of rows in reading order, whatever the files and their row groups."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from lrisk_cli.design.collected import Coded
from lrisk_cli.engines.reduction import PART_ROWS
from lrisk_cli.errors import DataError
from lrisk_cli.tables.cells import InvalidCell, Texts, Values
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.table import Batch, Table


@dataclass(slots=True)
class _Waiting:
    """Batches that make no whole block yet."""

    batches: list[Batch] = field(default_factory=list)
    n_rows: int = 0


def blocks(
    table: Table,
    names: Sequence[str],
    *,
    invalid_as_missing: bool,
    ragged: RaggedRows | None = None,
) -> Iterator[Batch]:
    """The rows in blocks of PART_ROWS, the last one shorter.

    A block is named after the file of its first row.
    """
    waiting = _Waiting()
    for batch in table.batches(names, invalid_as_missing=invalid_as_missing, ragged=ragged):
        rest: Batch | None = batch
        while rest is not None:
            taken, rest = _cut(rest, PART_ROWS - waiting.n_rows)
            waiting.batches.append(taken)
            waiting.n_rows += taken.n_rows
            if waiting.n_rows == PART_ROWS:
                yield _joined(waiting.batches, names)
                waiting = _Waiting()
    if waiting.batches:
        yield _joined(waiting.batches, names)


def _cut(batch: Batch, n_rows: int) -> tuple[Batch, Batch | None]:
    """The first rows of a batch, and the others if there are any."""
    if batch.n_rows <= n_rows:
        return batch, None

    def part(rows: slice, n: int) -> Batch:
        columns = {name: cells[rows] for name, cells in batch.columns.items()}
        invalid = {} if rows.start else batch.invalid
        first, source_row = batch.first_row + rows.start, batch.source_row + rows.start
        return Batch(first, n, columns, batch.source, source_row, invalid)

    return part(slice(0, n_rows), n_rows), part(slice(n_rows, batch.n_rows), batch.n_rows - n_rows)


def _joined(batches: Sequence[Batch], names: Sequence[str]) -> Batch:
    first = batches[0]
    if len(batches) == 1:
        return first
    columns = {name: join_cells([batch.columns[name] for batch in batches]) for name in names}
    n_rows = sum(batch.n_rows for batch in batches)
    invalid: dict[str, InvalidCell] = {}
    for batch in batches:
        for name, cell in batch.invalid.items():
            known = invalid.get(name)
            invalid[name] = (
                cell if known is None else replace(known, count=known.count + cell.count)
            )
    return Batch(first.first_row, n_rows, columns, first.source, first.source_row, invalid)


def join_cells(cells: Sequence[Values]) -> Values:
    """The cells of a column of several batches, texts under the same codes."""
    if not isinstance(cells[0], Texts):
        return np.concatenate([np.asarray(each) for each in cells])
    coded = Coded()
    for each in cells:
        assert isinstance(each, Texts)  # noqa: S101  (the type of a column does not change)
        coded.add(each)
    return coded.finish()


class Unchanged:
    """Notices files that change between passes, by their size and the time of their last change."""

    def __init__(self, table: Table) -> None:
        self._paths = [file.source.path for file in table.files if file.source.path]
        self._labels = {file.source.path: file.source.label for file in table.files}
        self._first = self._stamps()

    def check(self) -> None:
        """DataError that names the first file that is gone or has changed."""
        for path, stamp in self._stamps().items():
            if stamp == self._first[path]:
                continue
            what = "is gone" if stamp is None else "has changed"
            raise DataError(
                f"{self._labels[path]}: the file {what} since the first pass over it; let it rest "
                "while it is read, and run the command again"
            )

    def _stamps(self) -> dict[str, tuple[int, int] | None]:
        found: dict[str, tuple[int, int] | None] = {}
        for path in self._paths:
            try:
                stat = os.stat(path)
                found[path] = stat.st_size, stat.st_mtime_ns
            except OSError:
                found[path] = None
        return found
