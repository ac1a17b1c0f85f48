"""Numbers: integers, decimals, durations and times of day."""

import re
from typing import ClassVar

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_of, true_flags
from lrisk_cli.tables.cells import MOST_DIGITS, count_matching, matching, to_floats
from lrisk_cli.tables.column_types.base import (
    MISSING,
    ColumnType,
    NumericType,
    Sample,
    without_nulls,
)
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.types import Array, Flags

NUMBER_PATTERN = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INTEGER_PATTERN = r"^[+-]?[0-9]+$"
ZERO_PADDED = r"^[+-]?0[0-9]+$"
MOST_INVALID = 10  # different texts among numbers


class NumberType(NumericType):
    """Numbers in decimal or scientific notation, and Arrow's numbers."""

    __slots__ = ()

    kind = "number"
    dtypes: ClassVar[tuple[str, ...]] = ("number",)

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are numbers."""
        if pa.types.is_decimal(kind):
            # Beyond such scales Arrow reads memory that is not its own.
            return bool(abs(kind.scale) <= MOST_DIGITS)
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))

    def infer(self, sample: Sample) -> ColumnType | None:
        """Numbers need a majority, so that a few invalid cells do not turn a column into text.

        More than ten different invalid texts are codes.
        """
        cells, n_known = sample.cells, sample.n_known
        numbers = matching(_with_points(cells, sample.spelling), NUMBER_PATTERN)
        n_numbers = int(np.count_nonzero(numbers))
        if 2 * n_numbers <= n_known:
            return None
        if n_numbers < n_known - MOST_INVALID and _count_others(cells, numbers) > MOST_INVALID:
            return None
        return INTEGER if count_matching(cells, INTEGER_PATTERN) == n_numbers else NUMBER

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Numbers of cells of text, and which of the cells are none."""
        return _parse(_with_points(column, spelling))

    def parse_one(self, text: str) -> float:
        """The number, or NaN when the text is none."""
        return float(text) if re.match(NUMBER_PATTERN, text) else float("nan")


class IntegerType(NumberType):
    """Integers, among which a zero-padded code such as 007 is invalid."""

    __slots__ = ()

    dtypes = ()

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Numbers of cells of text, and which of the cells are none."""
        column = _with_points(column, spelling)
        numbers, invalid = _parse(column)
        if true_flags(compute.starts_with(column, "0")).any():
            padded = matching(column, ZERO_PADDED)
            invalid = padded if invalid is None else invalid | padded
        return numbers, invalid if invalid is not None and invalid.any() else None


class DurationType(NumberType):
    """Arrow's durations and times of day, as days."""

    __slots__ = ()

    dtypes = ()

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are durations."""
        return bool(pa.types.is_time(kind) or pa.types.is_duration(kind))

    def infer(self, sample: Sample) -> ColumnType | None:
        """Text is never taken for durations."""
        return None


NUMBER, INTEGER, DURATION = NumberType(), IntegerType(), DurationType()


def _parse(column: pa.Array) -> tuple[Array, Flags | None]:
    """Numbers of cells of text, and which of the cells are none."""
    try:
        numbers = to_floats(compute.cast(column, pa.float64()))
        # Arrow takes nan(1) for a number too, so cells that are NaN are looked at again.
        if np.count_nonzero(np.isnan(numbers)) == column.null_count:
            return numbers, None
    except pa.ArrowInvalid:
        pass
    trimmed = compute.trim(column)
    spelled = compute.matches(trimmed, NUMBER_PATTERN)
    numbers = np.full(len(column), np.nan)
    known = compute.cast(compute.keep(trimmed, spelled), pa.float64())
    numbers[true_flags(spelled)] = to_floats(known)
    invalid = without_nulls(np.isnan(numbers) & ~matching(trimmed, MISSING), column)
    return numbers, invalid if invalid.any() else None


def _with_points(cells: pa.Array, spelling: Spelling) -> pa.Array:
    """Numbers with a decimal point, whatever the file has; a point in the file is invalid then."""
    if spelling.decimal == ".":
        return cells
    return compute.replace(compute.replace(cells, ".", "_"), spelling.decimal, ".")


def _count_others(cells: pa.Array, numbers: Flags) -> int:
    """How many different texts there are beside numbers and missing cells."""
    flags = compute.cast(arrow_of((~numbers).astype(np.uint8)), pa.bool_())
    others = compute.keep(cells, flags)
    missing = compute.matches(others, MISSING)
    return len(compute.unique(compute.keep(others, compute.invert(missing))))
