"""Lists, structures, bytes and what is encrypted, which cannot be used."""

import pyarrow as pa

from lrisk_cli.tables.cells import InvalidCell, Values
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.inputs import PLAIN, Spelling


class NestedType(ColumnType):
    """Cells that a table refuses to read. finding: what the sentence about them says.

    remedy: what lets the table read them; empty where only their conversion does.
    """

    __slots__ = ("finding", "remedy")

    kind = "nested"

    def __init__(self, finding: str, remedy: str = "") -> None:
        self.finding = finding
        self.remedy = remedy

    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Values, InvalidCell | None]:
        """A bug: the table refuses such columns first."""
        raise TypeError(f"cells of {column.type} cannot be read")


NESTED = NestedType("holds neither numbers nor text")
ENCRYPTED = NestedType("is encrypted")
