"""What readers of typed files share: column types follow from Arrow types, rows come as records."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.tables import compute
from lrisk_cli.tables.cells import is_text
from lrisk_cli.tables.column_names import name_columns
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.date import DateType
from lrisk_cli.tables.column_types.nested import ENCRYPTED
from lrisk_cli.tables.column_types.registry import infer_type, type_of_arrow
from lrisk_cli.tables.inputs import Layout, Spelling
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.reader import Converted, FileSchema, Reader, TableFile
from lrisk_cli.tables.source import Source, unreadable

BATCH_CELLS = 1 << 21
FEWEST_ROWS = 256
SAMPLE_ROWS = 16_384
SAMPLE_LETTERS = 64
DAMAGED = "if the file is damaged, write it again"


class TypedReader(Reader[FileSchema]):
    """Files that hold Arrow types, or types that Arrow has too."""

    def inspect(self, source: Source, layout: Layout) -> FileSchema:
        """The columns and types of a file. DataError when it names a column twice."""
        try:
            schema = self.read_schema(source)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source.label}: a column name is not UTF-8; rename the column"
            ) from error
        except (OSError, pa.ArrowException) as error:
            raise _damaged(source.label, error) from error
        named = name_columns(schema.names, source.label, rename=layout.rename_duplicates)
        if named.names == schema.names or schema.types is None:
            return schema
        fields = zip(schema.types, named.names, strict=True)
        types = pa.schema([field.with_name(name) for field, name in fields])
        pairs = zip(schema.names, named.names, strict=True)
        encrypted = frozenset(name for stored, name in pairs if stored in schema.encrypted)
        return replace(
            schema, names=named.names, types=types, named=named, stored=schema.names,
            encrypted=encrypted,
        )  # fmt: skip

    def infer_types(self, files: Sequence[TableFile], spelling: Spelling) -> dict[str, ColumnType]:
        """The type of each column. Text is taken as it is, except for dates.

        A column of nulls has the type that the first of the other files gives it.
        """
        typed = [(file, file.schema.types) for file in files if file.schema.types is not None]
        types: dict[str, ColumnType] = {}
        encrypted = {name for file, _ in typed for name in file.schema.encrypted}
        for name in typed[0][1].names:
            if name in encrypted:
                types[name] = ENCRYPTED
                continue
            kinds = [schema.field(name).type for _, schema in typed]
            known = [kind for kind in kinds if not pa.types.is_null(kind)]
            types[name] = type_of_arrow(known[0]) if known else CATEGORY
            if types[name] is CATEGORY:
                types[name] = _find_dates([f for f, _ in typed], name, spelling) or CATEGORY
        return types

    def batches(
        self,
        source: Source,
        schema: FileSchema,
        columns: Sequence[str],
        coded: Sequence[str],
        n_rows: int,
        convert: Callable[[pa.RecordBatch], Converted],
        ragged: RaggedRows,
    ) -> Iterator[Converted]:
        """The rows in file order; fewer at a time where there are many columns."""
        n_rows = min(n_rows, max(FEWEST_ROWS, BATCH_CELLS // len(columns)))
        if not schema.stored:
            return map(convert, self._records(source, columns, n_rows, coded))
        old_names = dict(zip(schema.names, schema.stored, strict=True))
        wanted = list(dict.fromkeys(old_names[name] for name in columns))
        records = self._records(source, wanted, n_rows, [old_names[name] for name in coded])
        return (convert(_renamed(batch, old_names).select(list(columns))) for batch in records)

    def _records(
        self, source: Source, columns: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        n_read, wanted = 0, set(columns)
        try:
            for batch in self.read_records(source, columns, n_rows, coded):
                # A file may give more columns than these, such as "a" for the name "a.b".
                names = batch.schema.names
                records = batch.select([at for at, name in enumerate(names) if name in wanted])
                for name, column in zip(records.schema.names, records.columns, strict=True):
                    _check(column, f"{source.label}, column '{name}'", n_read)
                yield _without_views(records)
                n_read += batch.num_rows
        except (OSError, pa.ArrowException) as error:
            raise _damaged(source.label, error) from error

    @abstractmethod
    def read_schema(self, source: Source) -> FileSchema:
        """The columns and types of a file."""

    @abstractmethod
    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """All columns of these names, of one name in file order, in batches of at most n_rows.

        coded: text columns that the caller prefers as dictionaries, which the file may grant.
        """


class _Cells:
    """The first letters of the cells of one column."""

    __slots__ = ("cells",)

    def __init__(self, records: pa.RecordBatch) -> None:
        self.cells = _clipped(records.column(0))

    @property
    def n_rows(self) -> int:
        """How many cells there are."""
        return len(self.cells)


def _find_dates(files: Sequence[TableFile], name: str, spelling: Spelling) -> DateType | None:
    """The type of texts that are dates, by the first SAMPLE_ROWS of which one is not missing."""
    parts: list[pa.Array] = []
    for file in files:
        for block in file.batches([name], [name], SAMPLE_ROWS, _Cells, RaggedRows()):
            parts.append(block.cells)
            if sum(map(len, parts)) >= SAMPLE_ROWS:
                rows = pa.concat_arrays(parts)
                guess = infer_type(rows.slice(0, SAMPLE_ROWS), spelling)
                if guess is not None:
                    return guess if isinstance(guess, DateType) else None
                parts = [rows.slice(SAMPLE_ROWS)]
    guess = infer_type(pa.concat_arrays(parts), spelling) if parts else None
    return guess if isinstance(guess, DateType) else None


def _clipped(column: pa.Array) -> pa.Array:
    """Texts cut where no date is as long: those of a dictionary, repeated, may fill memory."""
    if not pa.types.is_dictionary(column.type):
        return compute.clip(compute.cast(column, pa.large_string()), SAMPLE_LETTERS)
    return compute.take(_clipped(column.dictionary), column.indices)


def _renamed(batch: pa.RecordBatch, old_names: Mapping[str, str]) -> pa.RecordBatch:
    """All columns of some names of a file, under the names that tell them apart."""
    names: dict[str, list[str]] = {}
    for new, old in old_names.items():
        names.setdefault(old, []).append(new)
    left = {old: iter(new) for old, new in names.items()}
    return batch.rename_columns([next(left[old]) for old in batch.schema.names])


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Texts in one piece of memory each: few functions of Arrow take those in scattered pieces."""
    for at, kind in enumerate(batch.schema.types):
        column = batch.column(at)
        if pa.types.is_string_view(kind):
            column = compute.cast(column, pa.large_string())
        elif pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
            texts = compute.cast(column.dictionary, pa.large_string())
            column = pa.DictionaryArray.from_arrays(column.indices, texts)
        else:
            continue
        batch = batch.set_column(at, batch.schema.names[at], column)
    return batch


def _check(column: pa.Array, place: str, first_row: int) -> None:
    """DataError where the memory of a column is not as its type says, or a text is not UTF-8."""
    kind = column.type
    try:
        # Of other types nothing depends on the values; dates and times are checked when read.
        column.validate(full=is_text(kind) or pa.types.is_dictionary(kind))
    except pa.ArrowInvalid as error:
        # Arrow looks at the texts last, so their memory is as it should be.
        if "UTF8" not in str(error):
            raise unreadable(place, error, DAMAGED) from error
        row = _find_undecodable(column)
        place += "" if row is None else f", row {first_row + row}"
        raise DataError(f"{place}: not UTF-8 text; save the file as UTF-8") from error


def _find_undecodable(column: pa.Array) -> int | None:
    """The first row whose text is not UTF-8, if there is one: texts may be unused."""
    cells = compute.cast(compute.dictionary_decode(column), pa.large_binary()).to_pylist()
    for row, cell in enumerate(cells):
        try:
            (cell or b"").decode()
        except UnicodeDecodeError:
            return row
    return None


def _damaged(label: str, error: Exception) -> DataError:
    """The sentence for a file that Arrow refuses to read."""
    if isinstance(error, OSError) and error.strerror:
        return unreadable(label, error)
    unknown = "not yet implemented" in str(error).lower()
    return unreadable(label, error, "write it in another way" if unknown else DAMAGED)
