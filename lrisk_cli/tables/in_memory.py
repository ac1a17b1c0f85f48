"""Tables that the caller holds in memory, by the names that stand for their paths."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import pyarrow as pa

from lrisk_cli.tables.reader import FileSchema
from lrisk_cli.tables.source import Source
from lrisk_cli.tables.typed_files import TypedReader

_TABLES: ContextVar[Mapping[str, pa.Table] | None] = ContextVar("tables", default=None)


class MemoryReader(TypedReader):
    """Arrow tables; batches are slices of their columns, which are not copied."""

    suffixes = ()

    def read_schema(self, source: Source) -> FileSchema:
        """The columns, types and number of rows."""
        table = _table_of(source)
        return FileSchema(tuple(table.column_names), table.num_rows, table.schema)

    def read_records(
        self, source: Source, names: Sequence[str], n_rows: int, coded: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """The columns in batches of at most n_rows; dictionaries are those of the table."""
        wanted, table = set(names), _table_of(source)
        places = [at for at, name in enumerate(table.column_names) if name in wanted]
        yield from table.select(places).to_batches(max_chunksize=n_rows)


def _table_of(source: Source) -> pa.Table:
    if source.in_memory is None:
        raise TypeError(f"{source.label} is no table in memory")
    return source.in_memory


@contextmanager
def tables_named(tables: Mapping[str, pa.Table]) -> Iterator[None]:
    """In this context these names stand for tables in memory instead of paths."""
    token = _TABLES.set({**(_TABLES.get() or {}), **tables})
    try:
        yield
    finally:
        _TABLES.reset(token)


def find_in_memory(name: str) -> Source | None:
    """The table in memory of that name, if there is one."""
    table = (_TABLES.get() or {}).get(name)
    if table is None:
        return None
    return Source(name, "", b"", pa.BufferReader, in_memory=table)
