"""True and false: categories as they come, 1 and 0 where numbers are asked for."""

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.cells import count_matching, matching
from lrisk_cli.tables.column_types.base import (
    MISSING,
    ColumnType,
    NumericType,
    Sample,
    without_nulls,
)
from lrisk_cli.tables.column_types.category import CategoryType
from lrisk_cli.tables.column_types.number import NUMBER
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.types import Array, Flags

TRUE = r"^(?i:true)$"
TRUE_OR_FALSE = r"^(?i:true|false)$"


class BooleanType(CategoryType):
    """True and false in upper or lower case, as the categories "true" and "false"."""

    __slots__ = ()

    dtypes = ()

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are booleans."""
        return bool(pa.types.is_boolean(kind))

    def infer(self, sample: Sample) -> ColumnType | None:
        """All cells must be true or false."""
        return self if count_matching(sample.cells, TRUE_OR_FALSE) == sample.n_known else None

    def spell(self, text: str) -> str:
        """The category of a cell."""
        return text.lower()


class BooleanNumberType(NumericType):
    """True and false in upper or lower case, as the numbers 1 and 0."""

    __slots__ = ()

    kind = "number"
    wanted = "truth value"

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """1 for true, 0 for false, and which cells are neither."""
        trimmed = compute.trim(column)
        true, known = matching(trimmed, TRUE), matching(trimmed, TRUE_OR_FALSE)
        invalid = without_nulls(~known & ~matching(trimmed, MISSING), column)
        return np.where(known, true, np.nan), invalid if invalid.any() else None

    def parse_one(self, text: str) -> float:
        """The number that a missing cell may be written as."""
        return NUMBER.parse_one(text)


BOOLEAN, BOOLEAN_NUMBER = BooleanType(), BooleanNumberType()
