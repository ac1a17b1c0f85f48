"""Categories: cells of text, or of anything that is to be taken as text."""

from typing import ClassVar

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import null_flags, numpy_of
from lrisk_cli.tables.cells import InvalidCell, Texts, is_text, to_strings
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.inputs import PLAIN, Spelling


class CategoryType(ColumnType):
    """Cells that become coded text; no cell is invalid, and an empty text is missing."""

    __slots__ = ()

    kind = "category"
    dtypes: ClassVar[tuple[str, ...]] = ("category", "string")

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are text."""
        return is_text(kind) or bool(pa.types.is_null(kind))

    def spell(self, text: str) -> str:
        """The category of a cell."""
        return text

    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Texts, InvalidCell | None]:
        """Coded text; numbers are spelled as briefly as possible."""
        if not pa.types.is_dictionary(column.type):
            column = compute.dictionary_encode(to_strings(column))
        codes = numpy_of(compute.cast(column.indices, pa.int32()), np.int32)
        spelled = to_strings(column.dictionary).to_pylist()
        missing = null_flags(column.indices)
        if missing is not None:
            codes = np.where(missing, np.int32(-1), codes)
        empty = [code for code, value in enumerate(spelled) if spelling.is_missing(value)]
        if empty:
            codes = np.where(np.isin(codes, empty), np.int32(-1), codes)
        return Texts(codes, [self.spell(value or "") for value in spelled]), None


CATEGORY = CategoryType()
