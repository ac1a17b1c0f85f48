"""Read delimited text in blocks of whole records, parsed side by side, delivered in order."""

import csv
import io
import os
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.native.kernels import core
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.registry import infer_type
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.tables.reader import Converted, FileSchema, Reader, TableFile
from lrisk_cli.tables.source import Source

BLOCK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 20
LONGEST_RECORD = 16 << 20
DELIMITERS = (",", "\t", ";", "|")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
WORKERS = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class CsvSchema(FileSchema):
    """Columns of a text file, the character between them, and that between records.

    body: offset of the first record after the header.
    """

    delimiter: str = ","
    newline: bytes = b"\n"
    body: int = 0


class CsvReader(Reader[CsvSchema]):
    """Delimited text in UTF-8 with a header."""

    suffixes = (".csv", ".tsv", ".tab", ".txt")

    def inspect(self, source: Source, delimiter: str | None = None) -> CsvSchema:
        """The header of a file. DataError when it is empty, not UTF-8, or names a column twice.

        delimiter: None to take the likeliest.
        """
        marks = (delimiter or "".join(DELIMITERS)).encode()
        start, skipped, newline = _read_start(source, marks)
        end = _first_record(start, skipped, newline, marks)
        if not end and core.last_record(start[skipped:], marks[0], ord(newline))[1]:
            raise DataError(f"{source.label}, header: a quote is opened and never closed; close it")
        end = end or len(start)
        header = _decode_header(start[skipped:end], source.label)
        delimiter = delimiter or ("\t" if _is_tabbed(source) else _guess_delimiter(header))
        try:
            names = tuple(next(csv.reader(io.StringIO(header, newline=""), delimiter=delimiter)))
        except csv.Error as error:
            raise DataError(f"{source.label}, header: cannot be parsed ({error})") from error
        _check_names(names, source.label)
        return CsvSchema(names, delimiter=delimiter, newline=newline, body=end)

    def infer_types(self, files: Sequence[TableFile], spelling: Spelling) -> dict[str, ColumnType]:
        """The type of each column by a sample from the start of the rows.

        Text files are sampled as if they were one. The sample grows until every column has shown
        a value; one that never does is a category.
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
        return {name: guess or CATEGORY for name, guess in types.items()}

    def batches(
        self,
        source: Source,
        schema: CsvSchema,
        columns: Sequence[str],
        coded: Sequence[str],
        n_rows: int,
        convert: Callable[[pa.RecordBatch], Converted],
    ) -> Iterator[Converted]:
        """The rows in file order, in blocks of about BLOCK_BYTES whatever n_rows is.

        Blocks are parsed and converted side by side; at most WORKERS + 1 are in memory.
        """

        def parse(block: bytes) -> Converted:
            return convert(_parse_block(block, schema, columns, coded))

        pool = ThreadPoolExecutor(WORKERS)
        waiting: deque[Future[Converted]] = deque()
        n_read = 0
        try:
            for block in _blocks(source, schema, BLOCK_BYTES):
                waiting.append(pool.submit(parse, block))
                if len(waiting) > WORKERS:
                    yield (parsed := waiting.popleft().result())
                    n_read += parsed.n_rows
            while waiting:
                yield (parsed := waiting.popleft().result())
                n_read += parsed.n_rows
        except BlockError as error:
            raise error.at(source.label, n_read) from error
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


class BlockError(Exception):
    """A record of a block cannot be parsed. row: counted from the start of the block, or None."""

    def __init__(self, row: int | None, finding: str) -> None:
        super().__init__(finding)
        self.row = row

    def at(self, label: str, first_row: int) -> DataError:
        """The sentence for a block that begins at first_row of the file."""
        place = label if self.row is None else f"{label}, row {first_row + self.row}"
        return DataError(f"{place}: {self}")


def _is_tabbed(source: Source) -> bool:
    """Whether the name of the file says that tabs separate its fields."""
    stem, suffix = os.path.splitext(source.path.lower())
    return (stem if source.compression else stem + suffix).endswith((".tsv", ".tab"))


def _read_start(source: Source, marks: bytes) -> tuple[bytes, int, bytes]:
    """The start of the file, at least its header; where that begins; what ends its lines."""
    with source.open() as stream:
        start = source.read(stream, SAMPLE_BYTES)
        if not start.strip(BYTE_ORDER_MARK + b"\r\n\t ,;"):
            raise DataError(f"{source.label}: the file is empty; expected a header line and rows")
        if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:4096]:
            raise DataError(f"{source.label}: not UTF-8 text; save it as UTF-8 (iconv -t UTF-8)")
        skipped = len(BYTE_ORDER_MARK) if start.startswith(BYTE_ORDER_MARK) else 0
        skipped += len(start[skipped:]) - len(start[skipped:].lstrip(b"\r\n"))
        while True:
            newline = b"\n" if b"\n" in start else b"\r"
            if _first_record(start, skipped, newline, marks):
                return start, skipped, newline
            if len(start) > LONGEST_RECORD:
                raise _too_long(source)
            more = source.read(stream, len(start))
            if not more:
                return start, skipped, newline
            start += more


def _samples(
    files: Sequence[tuple[Source, CsvSchema]], types: Mapping[str, ColumnType | None]
) -> Iterator[list[pa.RecordBatch]]:
    """The columns of which nothing is known yet, SAMPLE_BYTES of the files at a time."""
    sample: list[pa.RecordBatch] = []
    n_left = SAMPLE_BYTES
    for source, schema in files:
        first_row = 0
        for block, cut in _cut(source, schema, SAMPLE_BYTES, n_left):
            unknown = [name for name, guess in types.items() if guess is None]
            records = _parse_sample(block, schema, unknown, source.label, first_row)
            first_row += records.num_rows
            n_left -= len(block)
            if records.num_rows:
                sample.append(records)
            if cut and sample:
                yield sample
                sample, n_left = [], SAMPLE_BYTES
    if sample:
        yield sample


def _parse_sample(
    block: bytes, schema: CsvSchema, columns: Sequence[str], label: str, first_row: int
) -> pa.RecordBatch:
    try:
        return _parse_block(block or schema.newline, schema, columns, ())
    except BlockError as error:
        raise error.at(label, first_row) from error


def _parse_block(
    block: bytes, schema: CsvSchema, columns: Sequence[str], coded: Sequence[str]
) -> pa.RecordBatch:
    """The wanted columns of a block as text with nulls, dictionary-coded where asked."""
    from pyarrow import csv as arrow_csv

    # The parser drops a byte-order mark from the start of what it gets, which is no file here.
    block = BYTE_ORDER_MARK + block if block.startswith(BYTE_ORDER_MARK) else block
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
        raise _block_error(str(error)) from error
    # Blank lines are no records.
    return table.combine_chunks().to_batches()[0] if len(table) else _no_records(table.schema)


def _no_records(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.array([], field.type) for field in schema], schema=schema)


def _block_error(message: str) -> BlockError:
    """Our words for what the CSV parser found."""
    place = re.search(r"Row #(\d+)", message)
    row = int(place[1]) - 1 if place else None
    ragged = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if ragged:
        fields = "1 field" if ragged[2] == "1" else f"{ragged[2]} fields"
        finding = f"{fields} where the header has {ragged[1]}; check quotes and delimiter"
        return BlockError(row, finding)
    if "UTF8" in message or "UTF-8" in message:
        return BlockError(row, "not UTF-8 text; save the file as UTF-8 (iconv -t UTF-8)")
    return BlockError(row, f"cannot be parsed ({message.splitlines()[0]}); check quotes")


def _blocks(source: Source, schema: CsvSchema, size: int) -> Iterator[bytes]:
    """The records after the header in blocks of about `size` bytes that end with a record."""
    return (block for block, _ in _cut(source, schema, size, size) if block)


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
                raise _too_long(source)
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


def _too_long(source: Source) -> DataError:
    return DataError(
        f"{source.label}: a record is longer than {LONGEST_RECORD >> 20} MB; "
        "check for a quote that is never closed, or for binary contents"
    )


def _last_record(block: bytes, schema: CsvSchema) -> tuple[int, bool]:
    """Offset just after the last complete record, and whether what follows opens a quote."""
    # To look for a quote is much quicker than to follow them.
    if b'"' not in block:
        return block.rfind(schema.newline) + 1, False
    end, is_open = core.last_record(block, ord(schema.delimiter), ord(schema.newline))
    return end, is_open


def _first_record(start: bytes, skipped: int, newline: bytes, marks: bytes) -> int:
    """Offset just after the header, which may hold newlines in quotes; 0 where it does not end.

    marks: the characters that may be its delimiter; quotes have a meaning only after one of them.
    """
    ends = re.escape(marks) + newline
    field = rb'(?:"[^"]*+(?:""[^"]*+)*+"[^%b]*+|[^"%b][^%b]*+)?+' % (ends, ends, ends)
    found = re.compile(
        field + rb"(?:[" + re.escape(marks) + rb"]" + field + rb")*+" + newline
    ).match(start, skipped)
    return found.end() if found else 0


def _decode_header(header: bytes, label: str) -> str:
    try:
        return header.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{label}, header: not UTF-8 text; save the file as UTF-8 (iconv -t UTF-8)"
        ) from error


def _guess_delimiter(header: str) -> str:
    """The likeliest separator: the commonest of them outside quotes, a comma when there is none."""
    counts = Counter(re.sub(r'"[^"]*"', "", header))
    return max(DELIMITERS, key=lambda mark: (counts[mark], mark == ","))


def _check_names(names: Sequence[str], label: str) -> None:
    repeated = [name for name, count in Counter(names).items() if count > 1 and name]
    if repeated:
        raise DataError(
            f"{label}, header: column '{repeated[0]}' appears twice; rename one of them"
        )
    for position, name in enumerate(names, 1):
        if not name.strip():
            raise DataError(
                f"{label}, header: column {position} of {len(names)} has no name; give it one "
                "(pandas writes such a column for its index: use to_csv(index=False))"
            )
