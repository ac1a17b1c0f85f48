"""Read Parquet and Arrow files: their columns and types at once, their rows a little at a time."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lrisk_cli.errors import DataError
from lrisk_cli.tables.arrow_messages import measure_messages
from lrisk_cli.tables.cells import Cells, cells_of_type, infer_cells
from lrisk_cli.tables.inputs import PLAIN, Spelling
from lrisk_cli.tables.sources import Source, unreadable

SAMPLE_ROWS = 16_384
SAMPLE_LETTERS = 64
READ_BYTES = 1 << 16
BATCH_BYTES = 64 << 20
LONGEST_CELL = 1 << 20  # on average: a page may hold a thousand of them


def read_schema(source: Source) -> tuple[pa.Schema, int | None, int]:
    """The schema, the number of rows where the file tells it, and the bytes to be read at once."""
    n_rows, at_once = None, 0
    try:
        if source.format == "parquet":
            import pyarrow.parquet as pq  # takes a while to load

            with pq.ParquetFile(source.open()) as file:
                schema, n_rows = file.schema_arrow, file.metadata.num_rows
        else:
            schema = _open_arrow(source).schema
            sizes = measure_messages(source.open()) if source.compression is None else None
            if sizes is not None:
                n_rows, at_once = sizes.n_rows, sizes.largest
    except (OSError, pa.ArrowException) as error:
        raise unreadable(source.label, error) from error
    repeated = [name for name, count in Counter(schema.names).items() if count > 1]
    if repeated:
        raise DataError(f"{source.label}: column '{repeated[0]}' appears twice; rename one of them")
    return schema, n_rows, at_once


def see_cells(
    files: Sequence[tuple[Source, pa.Schema]], spelling: Spelling = PLAIN
) -> dict[str, Cells]:
    """What the values of each column are. Text is taken as it is, but for ISO dates.

    A column of nulls is what the first of the other files says.
    """
    cells = {}
    for name in files[0][1].names:
        kinds = [schema.field(name).type for _, schema in files]
        known = [kind for kind in kinds if not pa.types.is_null(kind)]
        cells[name] = cells_of_type(known[0]) if known else Cells.TEXT
        if cells[name] is Cells.TEXT and _holds_dates(
            [source for source, _ in files], name, spelling
        ):
            cells[name] = Cells.DATE
    return cells


def _holds_dates(sources: Sequence[Source], name: str, spelling: Spelling) -> bool:
    """Whether texts are dates, by the first SAMPLE_ROWS of which one is not missing."""
    parts: list[pa.Array] = []
    for source in sources:
        for records in read_records(source, [name], SAMPLE_ROWS, [name]):
            parts.append(_clipped(records.column(0)))
            if sum(map(len, parts)) >= SAMPLE_ROWS:
                rows = pa.concat_arrays(parts)
                guess = infer_cells(rows.slice(0, SAMPLE_ROWS), spelling)
                if guess is not None:
                    return guess is Cells.DATE
                parts = [rows.slice(SAMPLE_ROWS)]
    return bool(parts) and infer_cells(pa.concat_arrays(parts), spelling) is Cells.DATE


def types_agree(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two files may hold a column as these types; a column of nulls agrees with any."""
    cells = [cells_of_type(kind) for kind in (one, other)]
    return cells[0] is cells[1] or pa.types.is_null(one) or pa.types.is_null(other)


def read_records(
    source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str] = ()
) -> Iterator[pa.RecordBatch]:
    """The columns in batches of at most n_rows: never a whole row group.

    coded: text columns that the caller prefers as dictionaries, which the file may grant.
    """
    try:
        if source.format == "parquet":
            import pyarrow.parquet as pq

            # Without threads and read-ahead each open column keeps a page or two, not its chunk.
            with pq.ParquetFile(
                source.open(),
                read_dictionary=list(coded),
                pre_buffer=False,
                buffer_size=READ_BYTES,
            ) as file:
                n_rows = min(n_rows, _affordable_rows(file.metadata, names, source.label))
                batches = file.iter_batches(n_rows, columns=list(names), use_threads=False)
                n_read = 0
                for batch in batches:
                    n_read += batch.num_rows
                    yield _without_views(batch)
                if n_read != file.metadata.num_rows:
                    raise DataError(
                        f"{source.label}: says that it holds {file.metadata.num_rows} rows, and "
                        f"{n_read} can be read; the file is damaged, so write it again"
                    )
            return
        for batch in _arrow_batches(_open_arrow(source)):
            for start in range(0, batch.num_rows, n_rows):
                yield _without_views(batch.select(list(names)).slice(start, n_rows))
    except (OSError, pa.ArrowException) as error:
        raise unreadable(source.label, error) from error


def _affordable_rows(metadata: Any, names: Sequence[str], label: str) -> int:
    """How many rows may be read at a time: some texts are long, though they take no room on disk.

    A column whose cells are too long each is a DataError.
    """
    widest, wanted = 1.0, set(names)
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        width = 0.0
        for column in map(group.column, range(group.num_columns)):
            name = column.path_in_schema.partition(".")[0]
            if name in wanted and group.num_rows:
                cell = column.total_uncompressed_size / group.num_rows
                if cell > LONGEST_CELL:
                    raise DataError(
                        f"{label}, column '{name}': its cells take {cell / 1e6:.3g} MB each, more "
                        f"than the {LONGEST_CELL / 1e6:.3g} MB of a text; leave the column out"
                    )
                width += cell
        widest = max(widest, width)
    return max(1, int(BATCH_BYTES / widest))


def _clipped(column: pa.Array) -> pa.Array:
    """Texts cut where no date is as long: those of a dictionary, repeated, may fill memory."""
    if not pa.types.is_dictionary(column.type):
        return pc.utf8_slice_codeunits(pc.cast(column, pa.large_string()), 0, SAMPLE_LETTERS)
    return _clipped(column.dictionary).take(column.indices)


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Texts in one piece of memory each: few functions of Arrow take those in scattered pieces."""
    for at, kind in enumerate(batch.schema.types):
        if pa.types.is_string_view(kind):
            whole = batch.column(at).cast(pa.large_string())
            batch = batch.set_column(at, batch.schema.names[at], whole)
    return batch


def _open_arrow(source: Source) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(source.open())
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(source.open())


def _arrow_batches(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)
