"""Lists, structures and bytes, which cannot be used."""

import pyarrow as pa

from lrisk_cli.tables.cells import InvalidCell, Values
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.inputs import PLAIN, Spelling


class NestedType(ColumnType):
    """Cells that hold neither numbers nor text; a table refuses to read them."""

    __slots__ = ()

    kind = "nested"

    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Values, InvalidCell | None]:
        """A bug: the table refuses such columns first."""
        raise TypeError(f"cells of {column.type} cannot be read")


NESTED = NestedType()
