"""Read ORC files, a stripe at a time."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lrisk_cli.tables.reader import FileSchema
from lrisk_cli.tables.source import Source
from lrisk_cli.tables.typed_files import TypedReader


class OrcReader(TypedReader):
    """ORC, whose stripes can only be read whole, though only the wanted columns of them."""

    suffixes = (".orc",)
    signatures = (b"ORC",)

    def read_schema(self, source: Source) -> FileSchema:
        """The columns, types and number of rows of a file."""
        from pyarrow import orc  # takes a while to load

        file = orc.ORCFile(source.open())
        return FileSchema(tuple(file.schema.names), file.nrows, file.schema)

    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The columns in batches of at most n_rows."""
        from pyarrow import orc

        file, wanted = orc.ORCFile(source.open()), set(names)
        places = [at for at, name in enumerate(file.schema.names) if name in wanted]
        columns = [file.schema.names[at] for at in places]
        for number in range(file.nstripes):
            stripe = file.read_stripe(number, columns=columns)
            for start in range(0, stripe.num_rows, n_rows):
                yield stripe.slice(start, n_rows)
