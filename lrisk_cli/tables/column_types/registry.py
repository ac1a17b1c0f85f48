"""The registry of column types: inferred from text, given by an Arrow type, or asked for."""

import pyarrow as pa

from lrisk_cli.tables.cells import count_matching
from lrisk_cli.tables.column_types.base import ColumnType, take_sample
from lrisk_cli.tables.column_types.boolean import BOOLEAN, BOOLEAN_NUMBER
from lrisk_cli.tables.column_types.category import CATEGORY, CategoryType
from lrisk_cli.tables.column_types.date import DATE, WRITTEN_DATE, DateType
from lrisk_cli.tables.column_types.nested import NESTED
from lrisk_cli.tables.column_types.number import (
    DURATION,
    NUMBER,
    ZERO_PADDED,
    NumberType,
    doubt_text,
)
from lrisk_cli.tables.inputs import PLAIN, Spelling

# In the order in which they are tried.
COLUMN_TYPES: tuple[ColumnType, ...] = (
    NUMBER, DATE, WRITTEN_DATE, DURATION, BOOLEAN, CATEGORY, NESTED,
)  # fmt: skip
# What the option `dtype` takes.
DTYPES = {name: each.kind for each in COLUMN_TYPES for name in each.dtypes}


def infer_type(cells: pa.Array, spelling: Spelling = PLAIN) -> ColumnType | None:
    """The type of a sample of text cells; None when every cell is missing.

    One zero-padded code, such as 007, makes a column categories.
    """
    sample = take_sample(cells, spelling)
    if sample.n_known == 0:
        return None
    if count_matching(sample.cells, ZERO_PADDED):
        return CATEGORY
    guesses = (each.infer(sample) for each in COLUMN_TYPES)
    found = next((guess for guess in guesses if guess is not None), CATEGORY)
    doubt = doubt_text(sample) if found is CATEGORY else None
    return found if doubt is None else CategoryType(doubt)


def type_of_arrow(kind: pa.DataType) -> ColumnType:
    """The column type of the values of an Arrow type."""
    if pa.types.is_dictionary(kind):
        return type_of_arrow(kind.value_type)
    return next((each for each in COLUMN_TYPES if each.holds(kind)), NESTED)


def types_agree(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two files may hold a column as these types; a column of nulls agrees with any."""
    same = type_of_arrow(one) is type_of_arrow(other)
    return same or pa.types.is_null(one) or pa.types.is_null(other)


def convert_type(found: ColumnType, kind: str | None) -> ColumnType:
    """The type to read cells as, where a user or a model asks for a kind."""
    if kind is None or found.kind == NESTED.kind:
        return found
    if kind == DATE.kind:
        return found if isinstance(found, DateType) else DATE
    if kind == NUMBER.kind:
        if found.numeric:
            return found
        # The cells that made it text do not show how the numbers are written.
        return BOOLEAN_NUMBER if found is BOOLEAN else NumberType(ambiguous=True)
    return CATEGORY if found.numeric else found
