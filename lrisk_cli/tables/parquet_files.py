"""Read Parquet files: columns and types from the footer, rows a few pages at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.tables.cells import holds_text
from lrisk_cli.tables.reader import FileSchema
from lrisk_cli.tables.source import Source
from lrisk_cli.tables.typed_files import TypedReader

READ_BYTES = 1 << 16
BATCH_BYTES = 64 << 20
TAIL_BYTES = 8  # the length of the footer, and a signature
DELTAS = {"DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"}
LONGEST_CELL = 1 << 20  # on average: a page may hold a thousand of them


class ParquetReader(TypedReader):
    """Parquet; every open column holds some pages, which are megabytes in a long table."""

    suffixes = (".parquet", ".pq")
    signatures = (b"PAR1",)
    open_column_bytes = 3 << 20

    def read_schema(self, source: Source) -> FileSchema:
        """The columns, types and number of rows of a file."""
        import pyarrow.parquet as pq  # takes a while to load

        with pq.ParquetFile(source.open()) as file:
            schema = file.schema_arrow
            signed = _is_signed(source, file.metadata)
            encrypted = frozenset(_encrypted_columns(file) if signed else ())
            n_rows = file.metadata.num_rows
            return FileSchema(tuple(schema.names), n_rows, schema, encrypted=encrypted)

    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The columns in batches of at most n_rows: never a whole row group."""
        import pyarrow.parquet as pq

        # Without threads and read-ahead each open column keeps a page or two, not its chunk.
        how = {"pre_buffer": False, "buffer_size": READ_BYTES, "page_checksum_verification": True}
        with pq.ParquetFile(source.open(), **how) as file:
            metadata = file.metadata
            chunks = _text_chunks(file, names)
            n_rows = min(n_rows, _affordable_rows(metadata, chunks, source.label))
            dictionaries = _with_dictionaries(chunks, coded)
        with pq.ParquetFile(
            source.open(), metadata=metadata, read_dictionary=dictionaries, **how
        ) as file:
            n_read = 0
            for batch in file.iter_batches(n_rows, columns=list(names), use_threads=False):
                n_read += batch.num_rows
                yield batch
            if n_read != metadata.num_rows:
                raise DataError(
                    f"{source.label}: says that it holds {metadata.num_rows} rows, and "
                    f"{n_read} can be read; the file is damaged, so write it again"
                )


def _is_signed(source: Source, metadata: Any) -> bool:
    """Whether some columns are encrypted, though the footer is not: it is signed then."""
    with source.open() as stream:
        stream.seek(stream.size() - TAIL_BYTES)
        n_footer = int.from_bytes(stream.read(TAIL_BYTES)[:4], "little")
    return n_footer != int(metadata.serialized_size)


def _encrypted_columns(file: Any) -> Iterator[str]:
    """The columns of which not even one row can be read."""
    for name in file.schema_arrow.names:
        try:
            next(file.iter_batches(1, columns=[name], use_threads=False), None)
        except (OSError, pa.ArrowException) as error:
            if "decrypt" not in str(error).lower():
                raise
            yield name


def _text_chunks(file: Any, names: Sequence[str]) -> dict[str, list[Any]]:
    """What the footer says about each chunk of the wanted columns of text."""
    wanted, fields = set(names), file.schema_arrow
    texts = [each.name for each in fields if each.name in wanted and holds_text(each.type)]
    if not texts or not file.metadata.num_row_groups:
        return {}
    # What is wrong with a chunk is an error here, and ends the process where its sizes are asked.
    try:
        next(file.iter_batches(1, row_groups=[0], columns=texts, use_threads=False), None)
    except pa.ArrowInvalid as error:
        # Which row has such a text, reading tells.
        if "UTF8" not in str(error):
            raise
    # The path of a part of a structure is longer than its name, even if it looks like a name.
    leaves = map(file.schema.column, range(len(file.schema)))
    places = {leaf.name: at for at, leaf in enumerate(leaves) if leaf.name == leaf.path}
    groups = [file.metadata.row_group(at) for at in range(file.metadata.num_row_groups)]
    return {
        name: [group.column(places[name]) for group in groups] for name in texts if name in places
    }


def _with_dictionaries(chunks: Mapping[str, Sequence[Any]], names: Sequence[str]) -> list[str]:
    """Texts that can be read as dictionaries: no page has an encoding of deltas."""
    used = {
        name: {encoding for chunk in chunks.get(name, ()) for encoding in chunk.encodings}
        for name in names
    }
    return [name for name in names if used[name] and not used[name] & DELTAS]


def _affordable_rows(metadata: Any, chunks: Mapping[str, Sequence[Any]], label: str) -> int:
    """How many rows may be read at a time: texts may be long though compressed they are short.

    chunks: of the texts. A column whose cells are too long each is a DataError.
    """
    widest = 1.0
    for at in range(metadata.num_row_groups):
        n_rows, width = max(1, metadata.row_group(at).num_rows), 0.0
        for name, column in chunks.items():
            cell = column[at].total_uncompressed_size / n_rows
            if cell > LONGEST_CELL:
                raise DataError(
                    f"{label}, column '{name}': its cells take {cell / 1e6:.3g} MB each, more "
                    f"than the {LONGEST_CELL / 1e6:.3g} MB of a text; leave the column out"
                )
            width += cell
        widest = max(widest, width)
    return max(1, int(BATCH_BYTES / widest))
