"""Open tables by path, and read them in batches of numbers and coded text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath

import pyarrow as pa

from lrisk_cli.errors import DataError, InvalidOption, opt, quote
from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_texts
from lrisk_cli.tables.cells import InvalidCell, Texts, Values, to_strings, writable_type
from lrisk_cli.tables.column_types.base import ColumnType, Kind, find_impossible_time
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.nested import NestedType
from lrisk_cli.tables.column_types.numerals import Written
from lrisk_cli.tables.column_types.registry import DTYPES, convert_type
from lrisk_cli.tables.inputs import PLAIN, Inputs, Spelling
from lrisk_cli.tables.memory import Allowance, make_allowance
from lrisk_cli.tables.named_columns import find_dtypes, no_such_column
from lrisk_cli.tables.outputs import write_bytes, write_parts, write_table
from lrisk_cli.tables.places import check_apart, check_output
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.reader import TableFile
from lrisk_cli.tables.schema import check_dates, check_same_columns, infer_types, inspect_files
from lrisk_cli.tables.settling import settle_types
from lrisk_cli.tables.source import unreadable
from lrisk_cli.tables.sources import find_sources

__all__ = [
    "BATCH_ROWS", "Batch", "Column", "InvalidCell", "Table", "Texts",
    "check_apart", "check_output", "join_arrays", "open_table", "write_bytes",
    "write_parts", "write_table",
]  # fmt: skip

BATCH_ROWS = 16_384
GROUP_NUMBERS = 1 << 19  # read at a time where open columns take memory


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its type; nested ones (lists, bytes) and encrypted ones cannot be used."""

    name: str
    type: ColumnType

    @property
    def kind(self) -> Kind:
        """What its cells are to a design."""
        return self.type.kind

    @property
    def numeric(self) -> bool:
        """Whether its cells are read as numbers; those of a date are days since 1970."""
        return self.type.numeric


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows. first_row counts over all files, source_row within the file `source`.

    kept: columns as the files hold them.
    """

    first_row: int
    n_rows: int
    columns: dict[str, Values]
    source: str
    source_row: int
    invalid: dict[str, InvalidCell] = field(default_factory=dict)
    kept: dict[str, pa.Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """Files of the same columns, read as one table. n_rows is None when only reading tells.

    fixed: columns whose type a model fixes, so that no option can change it. notes: on columns
    whose names are not those of the files, and on files of its folders that are not read.
    """

    label: str
    columns: tuple[Column, ...]
    n_rows: int | None
    files: tuple[TableFile, ...]
    types: Mapping[str, ColumnType]
    batch_rows: int
    fixed: frozenset[str] = frozenset()
    spelling: Spelling = PLAIN
    allowance: Allowance = field(default_factory=lambda: make_allowance(None))
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> Column:
        """The column of that name. DataError, with the nearest names, when there is none."""
        if name in self.types:
            return Column(name, self.types[name])
        raise no_such_column(self.label, name, [column.name for column in self.columns])

    def arrow_type(self, name: str) -> pa.DataType:
        """The type of a column as it is stored; text where the files differ."""
        self.column(name)
        types = set()
        for file in self.files:
            if file.schema.types is None or name in file.source.partitions:
                types.add(pa.string())
                continue
            stored = file.schema.types.field(name).type
            stored = stored.value_type if pa.types.is_dictionary(stored) else stored
            # The readers unfold views of text, which few programs read.
            types.add(
                pa.large_string() if pa.types.is_string_view(stored) else writable_type(stored)
            )
        return types.pop() if len(types) == 1 else pa.string()

    def written(self, names: Sequence[str]) -> dict[str, Written]:
        """How cells of text are written, of those columns where not as programs write them.

        To be asked when they have been read, as a late cell may tell.
        """
        found = {name: self.types[name].written for name in names}
        return {name: written for name, written in found.items() if not written.plain}

    @property
    def paths(self) -> tuple[str, ...]:
        """The files it is read from, as messages name them."""
        return tuple(file.source.label for file in self.files)

    @property
    def textual(self) -> bool:
        """Whether one of its files is of text, so that its rows have lines."""
        return any(file.reader.lines for file in self.files)

    def column_groups(self, names: Sequence[str]) -> list[list[str]]:
        """The columns in the groups in which a caller that needs them all had better read them.

        Every open column of some formats holds memory, so a few are read at a time: so many that
        what they hold is little beside the numbers themselves.
        """
        step = len(names)
        held = min(file.reader.open_column_bytes for file in self.files)
        if self.n_rows and held:
            affordable = self.n_rows * len(names) * 8 // 6 // held
            step = max(2, GROUP_NUMBERS // self.n_rows, affordable)
        return [list(names[start : start + step]) for start in range(0, len(names), step)]

    def batches(
        self,
        columns: Sequence[str],
        *,
        invalid_as_missing: bool = False,
        keep: Sequence[str] = (),
        ragged: RaggedRows | None = None,
    ) -> Iterator[Batch]:
        """The rows in reading order; may be called again.

        A number column arrives as float64 with NaN for missing, a text column as Texts. Columns of
        `keep`, which may be among the others, arrive as the Arrow arrays that the file holds. A
        cell that is not of its column's type is a DataError, or missing when invalid_as_missing.
        ragged: takes the lines of rows of text files, and counts those that were padded, or
        skipped, which are in no batch.
        """
        self.refuse_nested(columns, keep)
        wanted = list(dict.fromkeys(columns))
        ragged = RaggedRows() if ragged is None else ragged
        ragged.lines.begin(self.paths, textual=self.textual)
        first_row = 0
        for number, file in enumerate(self.files):
            label, source_row = file.source.label, 0
            ragged.lines.begin_file(number, first_row)
            for block in self._blocks(file, wanted, keep, ragged):
                if block.unusable:
                    raise self._unusable_error(label, source_row, block.unusable)
                if block.invalid and not invalid_as_missing:
                    raise self._invalid_error(label, source_row, block.invalid)
                for part in _slices(block, self.batch_rows):
                    yield Batch(
                        first_row, part.n_rows, part.columns, label, source_row, part.invalid,
                        part.kept,
                    )  # fmt: skip
                    first_row += part.n_rows
                    source_row += part.n_rows
        # What Arrow keeps for more batches is wanted by others now.
        pa.default_memory_pool().release_unused()
        if first_row == 0:
            raise DataError(f"{self.label}: the table has columns but no rows; nothing to work on")

    def refuse_nested(self, columns: Sequence[str], keep: Sequence[str] = ()) -> None:
        """DataError that names the first column that cannot be used."""
        for name in (*columns, *keep):
            found = self.column(name).type
            if isinstance(found, NestedType):
                remedy = (
                    "convert it" if name in (*self.fixed, *keep) else f"pass {opt('exclude', name)}"
                )
                remedy = found.remedy or remedy
                raise DataError(f"{self.label}, column '{name}': {found.finding}; {remedy}")

    def _blocks(
        self, file: TableFile, wanted: Sequence[str], keep: Sequence[str], ragged: RaggedRows
    ) -> Iterator["_Block"]:
        """The wanted columns of one file, converted. Something is read even if none is in it."""
        folders, every = file.source.partitions, list(dict.fromkeys((*wanted, *keep)))
        stored = [name for name in every if name not in folders]
        coded = [name for name in stored if not self.types[name].numeric and name not in keep]
        stored = stored or [next(name for name in self.types if name not in folders)]

        def convert(records: pa.RecordBatch) -> _Block:
            columns = dict(zip(records.schema.names, records.columns, strict=True))
            for name in every:
                if name in folders:
                    columns[name] = arrow_texts([folders[name]] * records.num_rows)
            block = _Block(records.num_rows, {}, {}, {}, {})
            self._convert(file.source.label, block, {name: columns[name] for name in wanted})
            self._keep(file.source.label, block, {name: columns[name] for name in keep})
            return block

        return file.batches(stored, coded, self.batch_rows, convert, ragged)

    def _convert(self, label: str, block: "_Block", columns: Mapping[str, pa.Array]) -> None:
        """Put the values of the columns. DataError where Arrow cannot read or spell one."""
        for name, column in columns.items():
            try:
                block.columns[name], cell = self.types[name].read(column, self.spelling)
            except pa.ArrowException as error:
                raise _unreadable_column(label, name, error) from error
            if cell is not None:
                block.invalid[name] = cell

    def _keep(self, label: str, block: "_Block", columns: Mapping[str, pa.Array]) -> None:
        """Put the columns as they are."""
        for name, column in columns.items():
            try:
                block.kept[name], cell = _keep(column)
            except pa.ArrowException as error:
                raise _unreadable_column(label, name, error) from error
            if cell is not None:
                block.unusable[name] = cell

    def _invalid_error(
        self, label: str, first_row: int, invalid: Mapping[str, InvalidCell]
    ) -> DataError:
        name = min(invalid, key=lambda name: invalid[name].offset)
        cell = invalid[name]
        fixed = name in self.fixed or not cell.retype
        retype = "" if fixed else f" or {opt('dtype', f'{name}=string')}"
        return DataError(
            f"{label}, column '{name}', row {first_row + cell.offset}: {quote(cell.text)} is not "
            f"a {cell.wanted}; pass {opt('missing', 'drop')}{retype}"
        )

    def _unusable_error(
        self, label: str, first_row: int, unusable: Mapping[str, InvalidCell]
    ) -> DataError:
        name, cell = next(iter(unusable.items()))
        return DataError(
            f"{label}, column '{name}', row {first_row + cell.offset}: {quote(cell.text)} is not "
            f"a {cell.wanted}; convert the column"
        )


def open_table(
    inputs: str | PathLike[str] | Sequence[str] | Inputs,
    *,
    dtypes: Mapping[str, str] | None = None,
    expected: Mapping[str, str] | None = None,
    written: Mapping[str, Written] | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Table:
    """Inspect the files and fix the type of every column. inputs: or just one path, or several.

    dtypes: "number", "category" or "string" by texts that name columns, which must exist;
    `expected`: the kinds of columns, which may be absent; written: how the cells of those that a
    model needs were written, where not as programs write them; None where the cells show it. Text
    files are typed by a sample of their first rows; every file must have the columns of the first.
    """
    inputs = _as_inputs(inputs)
    sources, notes = find_sources(inputs.names)
    label = sources[0].label
    label = label if len(sources) == 1 else f"{label} and {len(sources) - 1} more"
    files = inspect_files(sources, inputs.layout)
    for file in files:
        inputs.allowance.check_batch(file.source.label, file.schema.batch_bytes)
    names = files[0].names
    for name, dtype in (dtypes or {}).items():
        if dtype not in DTYPES:
            known = ", ".join(DTYPES)
            raise InvalidOption("dtype", f": no such type; use {known}", f"{name}={dtype}")
    named = find_dtypes(dtypes or {}, names, label)
    check_same_columns(files)
    found = infer_types(files, inputs.spelling)
    asked = {name: DTYPES[dtype] for name, dtype in named.items()}
    kinds = {**(expected or {}), **asked}
    # A column that has neither a name nor a value is read only where it is asked for.
    found |= {name: CATEGORY for name in kinds if name in names and name not in found}
    names = tuple(name for name in names if name in found)
    types = {name: convert_type(found[name], kinds.get(name)) for name in names}
    recorded = {} if written is None else {name: written.get(name) for name in expected or ()}
    orders = _find_orders(inputs.spelling, names, label)
    types = settle_types(files, types, inputs.spelling, recorded, asked, orders)
    check_dates(label, files[0].schema, found, kinds)
    counts = [file.schema.n_rows for file in files if file.schema.n_rows is not None]
    return Table(
        label,
        tuple(Column(name, types[name]) for name in names),
        sum(counts) if len(counts) == len(files) else None,
        files,
        types,
        batch_rows,
        frozenset(expected or ()),
        inputs.spelling,
        inputs.allowance,
        (*notes, *files[0].schema.named.notes(names)),
    )


def _find_orders(spelling: Spelling, names: Sequence[str], label: str) -> dict[str, str]:
    """The order of day, month and year that the user names for columns, or for all."""
    by_name = {text: order for text, order in spelling.orders if text}
    common = [order for text, order in spelling.orders if not text]
    return (
        dict.fromkeys(names, common[-1]) | find_dtypes(by_name, names, label)
        if common
        else (find_dtypes(by_name, names, label))
    )


def _as_inputs(inputs: str | PathLike[str] | Sequence[str] | Inputs) -> Inputs:
    """The inputs; a single path is one of them, not a sequence of letters."""
    if isinstance(inputs, Inputs):
        return inputs
    if isinstance(inputs, str | PathLike):
        return Inputs((fspath(inputs),))
    return Inputs(tuple(inputs))


def join_arrays(arrays: Sequence[pa.Array]) -> pa.Array:
    """Arrow arrays one after the other; as text when their types differ."""
    if len({array.type for array in arrays}) > 1:
        arrays = [compute.cast(array, pa.string()) for array in arrays]
    return pa.concat_arrays(arrays)


def _unreadable_column(label: str, name: str, error: pa.ArrowException) -> DataError:
    return unreadable(f"{label}, column '{name}'", error, "convert the column")


@dataclass(frozen=True, slots=True)
class _Block:
    """kept: columns as they are; unusable: cells of them that could not be written."""

    n_rows: int
    columns: dict[str, Values]
    invalid: dict[str, InvalidCell]
    kept: dict[str, pa.Array]
    unusable: dict[str, InvalidCell]


def _keep(column: pa.Array) -> tuple[pa.Array, InvalidCell | None]:
    """A column as it is, and its first cell that could not be written."""
    column = compute.dictionary_decode(column)
    column = compute.cast(column, writable_type(column.type))
    if pa.types.is_temporal(column.type):
        to_strings(column.slice(0, 1))  # Is its time zone known?
    return column, find_impossible_time(column)


def _slices(block: _Block, n_rows: int) -> Iterator[_Block]:
    """The block in parts of at most n_rows; none of a block without rows."""
    if 0 < block.n_rows <= n_rows:
        yield block
        return
    for start in range(0, block.n_rows, n_rows):
        rows = slice(start, min(start + n_rows, block.n_rows))
        part = {name: values[rows] for name, values in block.columns.items()}
        kept = {name: values[rows] for name, values in block.kept.items()}
        invalid = block.invalid if start == 0 else {}
        yield _Block(rows.stop - rows.start, part, invalid, kept, {})
