"""Values that the cells of a column become, and the texts of numbers and cells."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_of, null_flags, numpy_of, true_flags
from lrisk_cli.tables.exact import EXACT, decimal_numbers
from lrisk_cli.types import Array, Codes, Flags

MOST_DIGITS = 76  # of an Arrow decimal

Values: TypeAlias = "Array | Texts | pa.Array"


@dataclass(frozen=True, slots=True)
class Texts:
    """A column of text: row i holds values[codes[i]], or nothing when codes[i] is -1."""

    codes: Codes
    values: list[str]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: slice | npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> "Texts":
        return Texts(self.codes[rows], self.values)


@dataclass(frozen=True, slots=True)
class InvalidCell:
    """The first cell of a column that cannot be read as its type, and how many there are.

    retype: another type could read it.
    """

    offset: int
    text: str
    count: int
    wanted: str
    retype: bool = True


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text."""
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def holds_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds text, coded or not."""
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def matching(cells: pa.Array, pattern: str) -> Flags:
    """Which cells match the regular expression; null does not."""
    return true_flags(compute.matches(cells, pattern))


def count_matching(cells: pa.Array, pattern: str) -> int:
    """How many cells match the regular expression."""
    return int(np.count_nonzero(matching(cells, pattern)))


def to_floats(column: pa.Array) -> Array:
    """Arrow numbers as the nearest float64, NaN where null."""
    numbers: Array
    if pa.types.is_decimal(column.type):
        numbers = decimal_numbers(column)
    else:
        numbers = numpy_of(compute.cast(column, pa.float64(), safe=False), np.float64)
    missing = null_flags(column)
    return numbers if missing is None else np.where(missing, np.nan, numbers)


def writable_type(kind: pa.DataType) -> pa.DataType:
    """The type in which cells are written: of decimals one with a scale that Arrow can spell.

    12 at the scale -2 it would spell as 1.2E+3, and at the scale 60 not at all.
    """
    if not pa.types.is_decimal(kind) or 0 <= kind.scale <= kind.precision:
        return kind
    return pa.decimal256(MOST_DIGITS, max(0, kind.scale))


def to_strings(column: pa.Array) -> pa.Array:
    """Cells as text, numbers as briefly as they read back; one value has one spelling."""
    column = compute.cast(column, writable_type(column.type))
    text = column if is_text(column.type) else compute.cast(column, pa.string())
    if pa.types.is_temporal(column.type):
        # Units differ between formats: 06:00:00.000 in one is 06:00:00 in another.
        text = compute.replace_pattern(text, r"\.0+(Z?)$", r"\1")
        return compute.replace_pattern(text, r"(\.[0-9]*[1-9])0+(Z?)$", r"\1\2")
    # -0 and 0 are the same number, so they are the same category.
    return compute.replace_pattern(text, "^-0$", "0") if text is not column else text


def shortest_text(numbers: Sequence[float] | Array) -> list[str]:
    """Each number as the shortest text that reads back as the same number: 3.0 is "3"."""
    texts: list[str] = to_strings(arrow_of(np.asarray(numbers, np.float64))).to_pylist()
    return texts


def spell_groups(cells: "Array | Texts", place: str) -> Texts:
    """Cells as names of groups. DataError where numbers are too large to be told apart."""
    if isinstance(cells, Texts):
        return cells
    if np.any(np.abs(cells) >= EXACT):
        raise DataError(
            f"{place}: holds numbers beyond 2^53, which lose digits that may tell groups apart; "
            "convert them to text"
        )
    return spell_numbers(cells)


def spell_numbers(numbers: Array) -> Texts:
    """Numbers as text, each as short as it reads back exactly; NaN is missing."""
    values, codes = np.unique(numbers, return_inverse=True)
    known = values[~np.isnan(values)]
    codes = np.where(np.isnan(numbers), -1, codes)
    return Texts(codes.astype(np.int32), shortest_text(known))
