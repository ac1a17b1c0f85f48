"""Open tables by path and read them in batches of numbers and coded text; write result files."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import pyarrow as pa

from lrisk_cli.errors import DataError, InvalidOption, opt, quote
from lrisk_cli.tables import columnar_files as columnar
from lrisk_cli.tables import csv_files as csvfiles
from lrisk_cli.tables.arrays import arrow_texts
from lrisk_cli.tables.cells import Cells, InvalidCell, Texts, to_numbers, to_texts
from lrisk_cli.tables.inputs import PLAIN, Inputs, Spelling
from lrisk_cli.tables.memory import Allowance, make_allowance
from lrisk_cli.tables.outputs import (
    check_apart,
    check_output,
    write_bytes,
    write_parts,
    write_table,
)
from lrisk_cli.tables.schema import check_dates, check_same_columns, force_cells, look_at, see_cells
from lrisk_cli.tables.sources import Source, find_sources
from lrisk_cli.types import Array

__all__ = [
    "BATCH_ROWS", "Batch", "Column", "InvalidCell", "Table", "Texts",
    "check_apart", "check_output", "join_arrays", "open_table", "write_bytes",
    "write_parts", "write_table",
]  # fmt: skip

BATCH_ROWS = 16_384
BATCH_CELLS = 1 << 21
PARQUET_NUMBERS = 1 << 19
OPEN_COLUMN = 3 << 20  # bytes of pages
DTYPES = ("number", "category", "string")

Kind = Literal["number", "date", "text", "nested"]
Values: TypeAlias = "Array | Texts | pa.Array"


@dataclass(frozen=True, slots=True)
class Column:
    """A column and what its cells become; nested ones (lists, bytes) cannot be used.

    date: read as a number, days since 1970, that is to be taken apart.
    """

    name: str
    kind: Kind

    @property
    def numeric(self) -> bool:
        """Whether its cells are read as numbers."""
        return self.kind in ("number", "date")


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows. first_row counts over all files, source_row within the file `source`."""

    first_row: int
    n_rows: int
    columns: dict[str, Values]
    source: str
    source_row: int
    strays: dict[str, InvalidCell] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Files of the same columns, read as one table. n_rows is None when only reading tells.

    settled: columns that a model needs as they are, so no option can make them something else.
    """

    label: str
    columns: tuple[Column, ...]
    n_rows: int | None
    sources: tuple[Source, ...]
    layouts: tuple[csvfiles.Layout | None, ...]
    cells: Mapping[str, Cells]
    batch_rows: int
    settled: frozenset[str] = frozenset()
    spelling: Spelling = PLAIN
    allowance: Allowance = field(default_factory=lambda: make_allowance(None))

    def column(self, name: str) -> Column:
        """The column of that name. DataError, with the nearest names, when there is none."""
        if name in self.cells:
            return Column(name, _kind(self.cells[name]))
        raise _no_such_column(self.label, name, [column.name for column in self.columns])

    def arrow_type(self, name: str) -> pa.DataType:
        """The type of a column as it is stored; text where the files differ."""
        self.column(name)
        types = set()
        for source, layout in zip(self.sources, self.layouts, strict=True):
            if layout is not None or name in source.partitions:
                types.add(pa.string())
                continue
            schema, _, _ = columnar.read_schema(source)
            stored = schema.field(name).type
            types.add(stored.value_type if pa.types.is_dictionary(stored) else stored)
        return types.pop() if len(types) == 1 else pa.string()

    @property
    def paths(self) -> tuple[str, ...]:
        """The files it is read from, as messages name them."""
        return tuple(source.label for source in self.sources)

    def column_groups(self, names: Sequence[str]) -> list[list[str]]:
        """The columns in the groups in which a caller that needs them all had better read them.

        Every open column of a Parquet file holds some pages, megabytes if the table is long, so
        a few are read at a time: so many that their pages are few beside the numbers themselves.
        """
        step = len(names)
        if self.n_rows and all(source.format == "parquet" for source in self.sources):
            affordable = self.n_rows * len(names) * 8 // 6 // OPEN_COLUMN
            step = max(2, PARQUET_NUMBERS // self.n_rows, affordable)
        return [list(names[start : start + step]) for start in range(0, len(names), step)]

    def batches(
        self,
        columns: Sequence[str],
        *,
        strays_are_missing: bool = False,
        as_is: Sequence[str] = (),
    ) -> Iterator[Batch]:
        """The rows in reading order; may be called again.

        A number column arrives as float64 with NaN for missing, a text column as Texts, a column
        of `as_is` as the Arrow array that the file holds. A cell of a number column that is no
        finite number is a DataError, or missing when strays_are_missing.
        """
        for name in (*columns, *as_is):
            if self.column(name).kind == "nested":
                is_fixed = name in (*self.settled, *as_is)
                remedy = "convert it" if is_fixed else f"pass {opt('exclude', name)}"
                raise DataError(
                    f"{self.label}, column '{name}': holds neither numbers nor text; {remedy}"
                )
        wanted = list(dict.fromkeys((*columns, *as_is)))
        first_row = 0
        for source, layout in zip(self.sources, self.layouts, strict=True):
            source_row = 0
            for block in self._blocks(source, layout, wanted, as_is):
                if block.strays and not strays_are_missing:
                    raise self._stray_error(source.label, source_row, block.strays)
                for part in _slices(block, self.batch_rows):
                    strays = part.strays
                    yield Batch(
                        first_row, part.n_rows, part.columns, source.label, source_row, strays
                    )
                    first_row += part.n_rows
                    source_row += part.n_rows
        # What Arrow keeps for more batches is wanted by others now.
        pa.default_memory_pool().release_unused()
        if first_row == 0:
            raise DataError(f"{self.label}: the table has columns but no rows; nothing to work on")

    def _blocks(
        self,
        source: Source,
        layout: csvfiles.Layout | None,
        wanted: Sequence[str],
        as_is: Sequence[str],
    ) -> Iterator["_Block"]:
        """The wanted columns of one file, converted. Something is read even if none is in it."""
        stored = [name for name in wanted if name not in source.partitions]
        stored = stored or [next(name for name in self.cells if name not in source.partitions)]

        def convert(records: pa.RecordBatch) -> _Block:
            columns = dict(zip(records.schema.names, records.columns, strict=True))
            for name in wanted:
                if name in source.partitions:
                    columns[name] = arrow_texts([source.partitions[name]] * records.num_rows)
            named = {name: columns[name] for name in wanted}
            converted, strays = _convert(named, self.cells, as_is, self.spelling)
            return _Block(records.num_rows, converted, strays)

        coded = [name for name in stored if not self.cells[name].numeric and name not in as_is]
        if layout is None:
            rows = min(self.batch_rows, max(256, BATCH_CELLS // len(stored)))
            yield from map(convert, columnar.read_records(source, stored, rows, coded))
            return

        def parse(block: bytes) -> _Block:
            return convert(csvfiles.parse_block(block, layout, stored, coded))

        yield from csvfiles.read_blocks(source, layout, parse)

    def _stray_error(
        self, label: str, first_row: int, strays: Mapping[str, InvalidCell]
    ) -> DataError:
        name = min(strays, key=lambda name: strays[name].offset)
        stray = strays[name]
        retype = "" if name in self.settled else f" or {opt('dtype', f'{name}=string')}"
        return DataError(
            f"{label}, column '{name}', row {first_row + stray.offset}: {quote(stray.text)} is not "
            f"a {stray.wanted}; pass {opt('missing', 'drop')}{retype}"
        )


def open_table(
    inputs: Sequence[str] | Inputs,
    *,
    dtypes: Mapping[str, str] | None = None,
    expected: Mapping[str, str] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Table:
    """Look at the files and fix what every column is. inputs: or just what the files are called.

    dtypes: "number", "category" or "string" for columns that must exist; `expected` holds the
    same, or "date", for columns that a model remembers, which may be absent. Text files are typed
    by a sample of their first rows; every file must have the columns of the first.
    """
    inputs = inputs if isinstance(inputs, Inputs) else Inputs(tuple(inputs))
    found = find_sources(inputs.names)
    label = found[0].label if len(found) == 1 else f"{found[0].label} and {len(found) - 1} more"
    looks = [look_at(source, inputs.delimiter) for source in found]
    for source, look in zip(found, looks, strict=True):
        inputs.allowance.check_batch(source.label, look.at_once)
    names = looks[0].names
    for name, dtype in (dtypes or {}).items():
        if dtype not in DTYPES:
            known = ", ".join(DTYPES)
            raise InvalidOption("dtype", f": no such type; use {known}", f"{name}={dtype}")
        if name not in names:
            raise _no_such_column(label, name, names)
    check_same_columns(found, looks)
    seen = see_cells(found, looks, inputs.spelling)
    forced = {**(expected or {}), **(dtypes or {})}
    cells = {name: force_cells(seen[name], forced.get(name)) for name in names}
    check_dates(label, looks[0], seen, forced)
    counts = [look.n_rows for look in looks if look.n_rows is not None]
    return Table(
        label,
        tuple(Column(name, _kind(cells[name])) for name in names),
        sum(counts) if len(counts) == len(looks) else None,
        found,
        tuple(look.layout for look in looks),
        cells,
        batch_rows,
        frozenset(expected or ()),
        inputs.spelling,
        inputs.allowance,
    )


def join_arrays(arrays: Sequence[pa.Array]) -> pa.Array:
    """Arrow arrays one after the other; as text when their types differ."""
    if len({array.type for array in arrays}) > 1:
        arrays = [array.cast(pa.string()) for array in arrays]
    return pa.concat_arrays(arrays)


@dataclass(frozen=True, slots=True)
class _Block:
    n_rows: int
    columns: dict[str, Values]
    strays: dict[str, InvalidCell]


def _kind(cells: Cells) -> Kind:
    if cells is Cells.NESTED:
        return "nested"
    return "number" if cells.numeric else "text"


def _convert(
    columns: Mapping[str, pa.Array],
    cells: Mapping[str, Cells],
    as_is: Sequence[str],
    spelling: Spelling,
) -> tuple[dict[str, Values], dict[str, InvalidCell]]:
    converted: dict[str, Values] = {}
    strays: dict[str, InvalidCell] = {}
    for name, column in columns.items():
        if name in as_is:
            coded = pa.types.is_dictionary(column.type)
            converted[name] = column.dictionary_decode() if coded else column
        elif cells[name].numeric:
            converted[name], stray = to_numbers(column, cells[name], spelling)
            if stray is not None:
                strays[name] = stray
        else:
            converted[name] = to_texts(column, cells[name], spelling)
    return converted, strays


def _slices(block: _Block, n_rows: int) -> Iterator[_Block]:
    """The block in parts of at most n_rows; none of a block without rows."""
    if 0 < block.n_rows <= n_rows:
        yield block
        return
    for start in range(0, block.n_rows, n_rows):
        rows = slice(start, min(start + n_rows, block.n_rows))
        part = {name: values[rows] for name, values in block.columns.items()}
        yield _Block(rows.stop - rows.start, part, block.strays if start == 0 else {})


def _no_such_column(label: str, name: str, names: Sequence[str]) -> DataError:
    near = difflib.get_close_matches(name, names, 3, 0.6)
    if near:
        return DataError(
            f"{label}: no column '{name}'; did you mean {' or '.join(map(repr, near))}?"
        )
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return DataError(f"{label}: no column '{name}'; it has {shown}")
