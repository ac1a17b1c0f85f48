"""Read Parquet files: columns and types from the footer, rows a few pages at a time."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.tables.reader import FileSchema
from lrisk_cli.tables.source import Source
from lrisk_cli.tables.typed_files import TypedReader

READ_BYTES = 1 << 16
BATCH_BYTES = 64 << 20
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
            return FileSchema(tuple(schema.names), file.metadata.num_rows, schema)

    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The columns in batches of at most n_rows: never a whole row group."""
        import pyarrow.parquet as pq

        # Without threads and read-ahead each open column keeps a page or two, not its chunk.
        with pq.ParquetFile(
            source.open(), read_dictionary=list(coded), pre_buffer=False, buffer_size=READ_BYTES
        ) as file:
            n_rows = min(n_rows, _affordable_rows(file.metadata, names, source.label))
            n_read = 0
            for batch in file.iter_batches(n_rows, columns=list(names), use_threads=False):
                n_read += batch.num_rows
                yield batch
            if n_read != file.metadata.num_rows:
                raise DataError(
                    f"{source.label}: says that it holds {file.metadata.num_rows} rows, and "
                    f"{n_read} can be read; the file is damaged, so write it again"
                )


def _affordable_rows(metadata: Any, names: Sequence[str], label: str) -> int:
    """How many rows may be read at a time: texts may be long though compressed they are short.

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
