"""What a reader is: a class for each file format that finds columns and reads batches of rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import pyarrow as pa

from lrisk_cli.tables.column_names import UNCHANGED, ColumnNames
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.inputs import Layout, Spelling
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.source import Source


class Block(Protocol):
    """What the caller makes of a batch of records."""

    @property
    def n_rows(self) -> int:
        """How many rows the block holds."""


@dataclass(frozen=True, slots=True)
class FileSchema:
    """What a file says about its columns before its rows are read.

    n_rows: None where only reading tells. types: Arrow types; None for text, whose types are
    inferred. batch_bytes: bytes of its largest batch if it can only be read whole, else 0. named:
    how the columns got their names; stored: the names in the file, where they are others.
    encrypted: columns that cannot be read though their names can.
    """

    names: tuple[str, ...]
    n_rows: int | None = None
    types: pa.Schema | None = None
    batch_bytes: int = 0
    named: ColumnNames = UNCHANGED
    stored: tuple[str, ...] = ()
    encrypted: frozenset[str] = frozenset()


Converted = TypeVar("Converted", bound=Block)
Schema = TypeVar("Schema", bound=FileSchema)


class Reader(ABC, Generic[Schema]):
    """Reads files of one format.

    suffixes: of its files. signatures: first bytes of its files; none for text, which has none.
    open_column_bytes: bytes that each column holds while it is being read, if worth saving. lines:
    whether rows begin on lines of text.
    """

    suffixes: ClassVar[tuple[str, ...]]
    signatures: ClassVar[tuple[bytes, ...]] = ()
    open_column_bytes: ClassVar[int] = 0
    lines: ClassVar[bool] = False

    def prepare(self, source: Source, layout: Layout) -> Source:
        """The source as the other methods are to open it."""
        return source

    @abstractmethod
    def inspect(self, source: Source, layout: Layout) -> Schema:
        """The columns of a file. layout: what the user says about it."""

    @abstractmethod
    def infer_types(
        self, files: Sequence["TableFile"], spelling: Spelling
    ) -> dict[str, ColumnType]:
        """The type of each column, by the Arrow types of the files or by a sample of their rows.

        A column without a name and without a value has none.
        files: all files of the table, of which the first is of this format.
        """

    @abstractmethod
    def batches(
        self,
        source: Source,
        schema: Schema,
        columns: Sequence[str],
        coded: Sequence[str],
        n_rows: int,
        convert: Callable[[pa.RecordBatch], Converted],
        ragged: RaggedRows,
    ) -> Iterator[Converted]:
        """The rows in file order, converted, at most about n_rows at a time.

        coded: columns that the caller prefers as dictionaries. convert: may run on other threads.
        ragged: takes the lines of rows of text, and counts those that had to be padded or skipped.
        """


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table, with its reader and what that reader found."""

    source: Source
    reader: Reader[Any]
    schema: FileSchema

    @property
    def names(self) -> tuple[str, ...]:
        """Its columns, those that its folders name included."""
        return (*self.schema.names, *self.source.partitions)

    def batches(
        self,
        columns: Sequence[str],
        coded: Sequence[str],
        n_rows: int,
        convert: Callable[[pa.RecordBatch], Converted],
        ragged: RaggedRows,
    ) -> Iterator[Converted]:
        """Its rows; see Reader.batches."""
        return self.reader.batches(
            self.source, self.schema, columns, coded, n_rows, convert, ragged
        )
