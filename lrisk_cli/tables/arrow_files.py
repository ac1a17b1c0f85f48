"""Read Arrow files (also called Feather 2) and Arrow streams, batch by batch."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lrisk_cli.tables.arrow_messages import measure_messages
from lrisk_cli.tables.reader import FileSchema
from lrisk_cli.tables.source import Source
from lrisk_cli.tables.typed_files import TypedReader


class ArrowReader(TypedReader):
    """Arrow IPC, whose batches can only be read whole."""

    suffixes = (".arrow", ".feather", ".ipc")
    signatures = (b"ARROW1", b"\xff\xff\xff\xff")

    def read_schema(self, source: Source) -> FileSchema:
        """The columns and types of a file; its rows and largest batch where they can be counted."""
        schema = _open(source).schema
        names = tuple(schema.names)
        sizes = measure_messages(source.open()) if source.compression is None else None
        if sizes is None:
            return FileSchema(names, None, schema)
        return FileSchema(names, sizes.n_rows, schema, sizes.largest)

    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The columns in batches of at most n_rows; dictionaries are those of the file."""
        for batch in _stored_batches(_open(source)):
            wanted = batch.select(list(names))
            # Arrow takes offsets and codes as they are: those of a damaged file lead anywhere.
            wanted.validate(full=True)
            for start in range(0, batch.num_rows, n_rows):
                yield wanted.slice(start, n_rows)


def _open(source: Source) -> pa.RecordBatchFileReader | pa.RecordBatchStreamReader:
    try:
        return pa.ipc.open_file(source.open())
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(source.open())


def _stored_batches(
    reader: pa.RecordBatchFileReader | pa.RecordBatchStreamReader,
) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, pa.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)
