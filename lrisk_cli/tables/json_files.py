"""Read JSON lines: an object on each line, whose keys are the columns."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.reader import Converted, FileSchema
from lrisk_cli.tables.source import Source, unreadable
from lrisk_cli.tables.typed_files import TypedReader

BLOCK_BYTES = 4 << 20
LONGEST_LINE = 16 << 20
REMEDY = "write one object on each line"


class JsonLinesReader(TypedReader):
    """JSON lines. The file is read once more before its rows, to learn the types of all of them."""

    suffixes = (".jsonl", ".ndjson")

    def __init__(self, types: pa.Schema | None = None) -> None:
        self._types = types

    def read_schema(self, source: Source) -> FileSchema:
        """The columns and types of a file, and how many objects it holds."""
        schema, n_rows = pa.schema([]), 0
        for block in _blocks(source):
            table = _parse(source, block, None)
            schema, n_rows = _joined(source.label, schema, table.schema), n_rows + len(table)
        if not n_rows:
            raise DataError(f"{source.label}: holds no objects; nothing to work on")
        return FileSchema(tuple(schema.names), n_rows, schema)

    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The columns in batches of at most n_rows; keys that an object lacks are missing."""
        types = self.read_schema(source).types if self._types is None else self._types
        wanted = pa.schema([field for field in types or () if field.name in set(names)])
        for block in _blocks(source):
            yield from _parse(source, block, wanted).to_batches(n_rows)

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
        """The rows in file order, by the types that are known already."""
        known = JsonLinesReader(schema.types)
        return super(JsonLinesReader, known).batches(
            source, schema, columns, coded, n_rows, convert, ragged
        )


def is_json_line(source: Source) -> bool:
    """Whether the file begins with a JSON object on a line of its own."""
    with source.open() as stream:
        start = source.read(stream, LONGEST_LINE)
    line = start.lstrip().partition(b"\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _blocks(source: Source) -> Iterator[bytes]:
    """Whole lines, about BLOCK_BYTES at a time: no line ends inside an object."""
    with source.open() as stream:
        rest = b""
        while chunk := source.read(stream, BLOCK_BYTES):
            lines, end, rest = (rest + chunk).rpartition(b"\n")
            if len(rest) > LONGEST_LINE:
                raise DataError(
                    f"{source.label}: a line is longer than {LONGEST_LINE >> 20} MB; {REMEDY}"
                )
            if lines.strip():
                yield lines + end
        if rest.strip():
            yield rest


def _parse(source: Source, block: bytes, types: pa.Schema | None) -> pa.Table:
    """The objects of a block. types: of the wanted columns; None to find out."""
    from pyarrow import json as arrow_json  # takes a while to load

    how: dict[str, Any] = {"newlines_in_values": False}
    if types is not None:
        how |= {"explicit_schema": types, "unexpected_field_behavior": "ignore"}
    try:
        return arrow_json.read_json(
            pa.BufferReader(block),
            arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            arrow_json.ParseOptions(**how),
        )
    except pa.ArrowException as error:
        raise unreadable(source.label, error, REMEDY) from error


def _joined(label: str, one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """The columns of both. Whole numbers and fractions are numbers, dates and texts are texts."""
    kinds = {field.name: field.type for field in one}
    for field in other:
        before = kinds.get(field.name)
        kinds[field.name] = field.type if before is None else _common(before, field.type)
        if kinds[field.name] is None:
            raise DataError(
                f"{label}, column '{field.name}': holds {field.type} after {before}; write values "
                "of one type"
            )
    return pa.schema(list(kinds.items()))


def _common(one: pa.DataType, other: pa.DataType) -> pa.DataType | None:
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if all(map(_is_number, (one, other))):
        return pa.float64()
    text_like = (pa.types.is_string, pa.types.is_timestamp)
    if all(any(is_like(kind) for is_like in text_like) for kind in (one, other)):
        return pa.string()
    return None


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))
