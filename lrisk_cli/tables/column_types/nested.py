"""Lists, structures, bytes and what is encrypted, which cannot be used."""

import pyarrow as pa

from lrisk_cli.tables.cells import InvalidCell, Values
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.inputs import PLAIN, Spelling


class NestedType(ColumnType):
    """Cells that a table refuses to read. finding: what the sentence about them says."""

    __slots__ = ("finding",)

    kind = "nested"

    def __init__(self, finding: str) -> None:
        self.finding = finding

    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Values, InvalidCell | None]:
        """A bug: the table refuses such columns first."""
        raise TypeError(f"cells of {column.type} cannot be read")


NESTED = NestedType("holds neither numbers nor text")
ENCRYPTED = NestedType("is encrypted")
