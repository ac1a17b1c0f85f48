"""Read delimited text in blocks of whole records, parsed side by side, delivered in order."""

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from lrisk_cli.errors import DataError, opt
from lrisk_cli.names import Ragged
from lrisk_cli.native.kernels import core
from lrisk_cli.tables.column_names import ColumnNames, name_columns
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.registry import infer_type
from lrisk_cli.tables.csv_header import (
    DELIMITERS,
    find_header_end,
    guess_delimiter,
    split_fields,
)
from lrisk_cli.tables.csv_start import (
    BYTE_ORDER_MARK,
    decode_header,
    decoded,
    is_tabbed,
    named_delimiter,
    not_utf8,
    read_start,
    too_long,
)
from lrisk_cli.tables.inputs import STRICT, Layout, Spelling
from lrisk_cli.tables.ragged import Evener, RaggedRows
from lrisk_cli.tables.reader import Converted, FileSchema, Reader, TableFile
from lrisk_cli.tables.row_lines import Index, Piece, Text
from lrisk_cli.tables.source import Source

BLOCK_BYTES = 1 << 20
# A block of many columns is larger, up to so many times: every column costs time in each block.
BLOCK_COLUMNS, MOST_BLOCKS = 128, 8
SAMPLE_BYTES = 1 << 20
LONGEST_RECORD = 16 << 20
WORKERS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class CsvSchema(FileSchema):
    """Columns of a text file, the character between them, and what ragged rows become.

    body: offset of the first record after the header; n_lines: that end before it. comment: lines
    that begin with it are no records.
    """

    delimiter: str = ","
    ragged: Ragged = Ragged.ERROR
    body: int = 0
    n_lines: int = 0
    comment: str | None = None

    def evener(self, label: str) -> Evener:
        """What makes ragged rows even."""
        return Evener(label, self.delimiter, len(self.names), self.ragged)


class CsvReader(Reader[CsvSchema]):
    """Delimited text, mostly in UTF-8 with a header."""

    suffixes = (".csv", ".tsv", ".tab", ".txt")
    lines = True

    def prepare(self, source: Source, layout: Layout) -> Source:
        """The file as UTF-8."""
        return decoded(source, layout)

    def inspect(self, source: Source, layout: Layout = STRICT) -> CsvSchema:
        """The header of a file. DataError when it is empty, not UTF-8, or names a column twice."""
        marks = (layout.delimiter or "".join(DELIMITERS)).encode()
        start, skipped = read_start(source, marks, layout, LONGEST_RECORD)
        delimiter = layout.delimiter or named_delimiter(start, skipped)
        marks = marks if delimiter is None else delimiter.encode()
        end = find_header_end(start, skipped, marks)
        if not end and core.last_record(start[skipped:], marks[0])[1]:
            raise DataError(f"{source.label}, header: a quote is opened and never closed; close it")
        end = end or len(start)
        header = decode_header(start[skipped:end], source)
        delimiter = delimiter or ("\t" if is_tabbed(source) else guess_delimiter(header))
        fields = split_fields(header, delimiter)
        if layout.no_header:
            named = ColumnNames(tuple(f"column_{at}" for at in range(1, len(fields) + 1)))
            end = skipped
        else:
            place = f"{source.label}, header"
            named = name_columns(fields, place, rename=layout.rename_duplicates)
        return CsvSchema(
            named.names,
            named=named,
            delimiter=delimiter,
            ragged=layout.ragged,
            body=end,
            n_lines=core.count_lines(start[:end]),
            comment=layout.comment,
        )

    def infer_types(self, files: Sequence[TableFile], spelling: Spelling) -> dict[str, ColumnType]:
        """The type of each column by a sample from the start of the rows.

        Text files are sampled as if they were one. The sample grows until every column has shown
        a value; one that never does is a category, or left out if it has no name either.
        """
        texts = [(file.source, file.schema) for file in files if isinstance(file.schema, CsvSchema)]
        types: dict[str, ColumnType | None] = dict.fromkeys(texts[0][1].names)
        n_rows = 0
        for sample in _samples(texts, types):
            n_rows += sum(records.num_rows for records in sample)
            for name in [name for name, guess in types.items() if guess is None]:
                cells = pa.concat_arrays([records.column(name) for records in sample])
                types[name] = infer_type(cells, spelling)
            if None not in types.values():
                break
        if n_rows == 0:
            raise DataError(f"{texts[0][0].label}: a header but no rows; nothing to work on")
        unnamed = texts[0][1].named.unnamed
        return {
            name: guess or CATEGORY for name, guess in types.items() if guess or name not in unnamed
        }

    def batches(
        self,
        source: Source,
        schema: CsvSchema,
        columns: Sequence[str],
        coded: Sequence[str],
        n_rows: int,
        convert: Callable[[pa.RecordBatch], Converted],
        ragged: RaggedRows,
    ) -> Iterator[Converted]:
        """The rows in file order, in blocks of about BLOCK_BYTES whatever n_rows is.

        Blocks are parsed and converted side by side; at most WORKERS + 1 are in memory.
        """

        def parse(block: Text) -> Converted:
            return convert(_parse_block(block, schema, columns, coded))

        size = BLOCK_BYTES * min(max(1, len(columns) // BLOCK_COLUMNS), MOST_BLOCKS)
        pool = ThreadPoolExecutor(WORKERS)
        waiting: deque[tuple[Future[Converted], Piece]] = deque()
        n_read = n_lines = 0
        pieces = _blocks(source, schema, size, ragged)
        try:
            while (piece := next(pieces, None)) is not None or waiting:
                if piece is not None:
                    waiting.append((pool.submit(parse, piece.text), piece))
                if piece is None or len(waiting) > WORKERS:
                    future, first = waiting.popleft()
                    n_lines = first.n_before
                    parsed = future.result()
                    begins = first.begins(parsed.n_rows, schema.delimiter)
                    ragged.lines.add(parsed.n_rows, n_lines + 1, begins)
                    yield parsed
                    n_read += parsed.n_rows
        except BlockError as error:
            raise error.at(source, n_read, n_lines) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class BlockError(Exception):
    """A record of a block cannot be parsed. row, line: of the block, where they are known.

    ragged: the record has another number of fields than the header. decodes: it is UTF-8.
    """

    def __init__(
        self,
        row: int | None,
        finding: str,
        line: int | None = None,
        *,
        ragged: bool = False,
        decodes: bool = True,
    ) -> None:
        super().__init__(finding)
        self.row = row
        self.line = line
        self.ragged = ragged
        self.decodes = decodes

    def at(self, source: Source, first_row: int, n_lines: int) -> DataError:
        """The sentence for a block that begins at first_row, after n_lines of the file."""
        row = "" if self.row is None else f", row {first_row + self.row}"
        if not self.decodes:
            return not_utf8(source, row)
        place = f"{source.label}{row}"
        line = "" if self.line is None else f" in line {n_lines + self.line + 1}"
        accepted = f", or pass {opt('ragged', Ragged.PAD)} or {opt('ragged', Ragged.SKIP)}"
        return DataError(f"{place}: {self}{line}{accepted if self.ragged else ''}")


def _samples(
    files: Sequence[tuple[Source, CsvSchema]], types: Mapping[str, ColumnType | None]
) -> Iterator[list[pa.RecordBatch]]:
    """The columns of which nothing is known yet, SAMPLE_BYTES of the files at a time."""
    sample: list[pa.RecordBatch] = []
    n_left = SAMPLE_BYTES
    for source, schema in files:
        n_rows, n_lines = 0, schema.n_lines
        for block, cut in _cut(source, schema, SAMPLE_BYTES, n_left):
            unknown = [name for name, guess in types.items() if guess is None]
            try:
                for part, _ in _even(block, schema, source.label, n_lines, RaggedRows()):
                    sample.append(_parse_block(part, schema, unknown, ()))
                    n_rows += sample[-1].num_rows
            except BlockError as error:
                raise error.at(source, n_rows, n_lines) from error
            n_lines += core.count_lines(block)
            n_left -= len(block)
            sample = [records for records in sample if records.num_rows]
            if cut and sample:
                yield sample
                sample, n_left = [], SAMPLE_BYTES
    if sample:
        yield sample


def _parse_block(
    block: Text, schema: CsvSchema, columns: Sequence[str], coded: Sequence[str]
) -> pa.RecordBatch:
    """The wanted columns of a block as text with nulls, dictionary-coded where asked."""
    from pyarrow import csv as arrow_csv

    # The parser drops a byte-order mark from the start of what it gets, which is no file here.
    if bytes(block[: len(BYTE_ORDER_MARK)]) == BYTE_ORDER_MARK:
        block = BYTE_ORDER_MARK + bytes(block)
    types = {name: pa.string() for name in columns}
    types |= {name: pa.dictionary(pa.int32(), pa.string()) for name in coded}
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(block),
            arrow_csv.ReadOptions(
                use_threads=False, block_size=len(block) + 1, column_names=list(schema.names)
            ),
            arrow_csv.ParseOptions(delimiter=schema.delimiter, newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=list(columns),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid as error:
        raise _block_error(str(error), block, schema) from error
    # Blank lines are no records.
    return table.combine_chunks().to_batches()[0] if len(table) else _no_records(table.schema)


def _no_records(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


def _block_error(message: str, block: Text, schema: CsvSchema) -> BlockError:
    """Our words for what the CSV parser found."""
    place = re.search(r"Row #(\d+)", message)
    row = int(place[1]) - 1 if place else None
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if ragged:
        fields = "1 field" if ragged[2] == "1" else f"{ragged[2]} fields"
        finding = f"{fields} where the header has {ragged[1]}; check quotes and delimiter"
        return BlockError(row, finding, schema.evener("").first_uneven(block), ragged=True)
    if "UTF8" in message or "UTF-8" in message:
        return BlockError(row, "not UTF-8 text", decodes=False)
    return BlockError(row, f"cannot be parsed ({message.splitlines()[0]}); check quotes")


def _blocks(source: Source, schema: CsvSchema, size: int, ragged: RaggedRows) -> Iterator[Piece]:
    """The records after the header in blocks of about `size` bytes that end with a record."""
    n_before = schema.n_lines
    for block, _ in _cut(source, schema, size, size):
        n_lines = core.count_lines(block)
        for part, begins in _even(block, schema, source.label, n_before, ragged):
            yield Piece(part, n_before, n_lines, begins)
        n_before += n_lines


def _even(
    block: bytes, schema: CsvSchema, label: str, n_lines: int, ragged: RaggedRows
) -> Iterator[tuple[Text, Index | None]]:
    """The block as it is where ragged rows are errors, else in parts without such rows."""
    if (nul := block.find(b"\0")) >= 0:
        line = n_lines + core.count_lines(block[:nul]) + 1
        raise DataError(
            f"{label}, line {line}: a NUL byte; the file is damaged, binary or in UTF-16, so "
            "write it again as UTF-8"
        )
    if schema.comment is not None and schema.comment.encode() in block:
        block = _without_comments(block, schema)
    if schema.ragged is not Ragged.ERROR:
        yield from schema.evener(label).even(block, n_lines + 1, ragged)
    elif block:
        yield block, None


def _without_comments(block: bytes, schema: CsvSchema) -> bytes:
    """The block with empty lines in place of comments, so that lines keep their numbers."""
    out = bytearray(len(block))
    mark = str(schema.comment).encode()
    size = core.blank_comments(block, ord(schema.delimiter), ord(mark), out)
    return bytes(memoryview(out)[:size])


def _cut(source: Source, schema: CsvSchema, size: int, first: int) -> Iterator[tuple[bytes, bool]]:
    """Such blocks, empty ones too, the first of `first` bytes; and whether more may follow."""
    with source.open() as stream:
        source.read(stream, schema.body)
        rest, more = b"", first
        while len(chunk := source.read(stream, more)) == more:
            block = rest + chunk
            end, _ = _last_record(block, schema)
            rest = block[end:]
            if len(rest) > LONGEST_RECORD:
                raise too_long(source, LONGEST_RECORD)
            yield block[:end], True
            # A record that goes on is read in ever larger chunks, as each time all is searched.
            more = max(size, len(rest))
        block = rest + chunk
        if _last_record(block, schema)[1]:
            raise DataError(
                f"{source.label}: the last record opens a quote and never closes it; "
                "the file may be cut short"
            )
        if block.strip(b"\r\n"):
            yield block, False


def _last_record(block: bytes, schema: CsvSchema) -> tuple[int, bool]:
    """Offset just after the last complete record, and whether what follows opens a quote."""
    # To look for a quote is much quicker than to follow them.
    if b'"' not in block:
        feed = block.rfind(b"\n")
        # A CR that is the last byte may be half of a CRLF.
        return max(feed, block.rfind(b"\r", feed + 1, len(block) - 1)) + 1, False
    end, is_open = core.last_record(block, ord(schema.delimiter))
    return end, is_open
