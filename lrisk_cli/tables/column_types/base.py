"""What a column type is, and what the types that become numbers share."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_texts, null_flags, true_flags
from lrisk_cli.tables.cells import (
    InvalidCell,
    Values,
    count_matching,
    is_text,
    to_floats,
    to_strings,
)
from lrisk_cli.tables.column_types.numerals import UNKNOWN, Written
from lrisk_cli.tables.exact import day_numbers, impossible_times, spell_stored
from lrisk_cli.tables.inputs import PLAIN, Spelling
from lrisk_cli.types import Array, Flags

Kind = Literal["number", "category", "date", "nested"]

MISSING = r"^(?i:[+-]?nan)?$"


@dataclass(frozen=True, slots=True)
class Sample:
    """Cells of text to infer a type from: trimmed, without those that the user calls missing.

    n_known: how many of them are not missing.
    """

    cells: pa.Array
    n_known: int
    spelling: Spelling


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why a column may be misread: what was found, and the remedy. remedy: empty where the option
    `dtype` is one.
    """

    finding: str
    remedy: str = ""


class ColumnType(ABC):
    """How the cells of a column are read. kind: what they are to a design.

    numeric: they become float64 numbers, else Texts. dtypes: its names as a value of the option
    `dtype`.
    """

    __slots__ = ()

    kind: ClassVar[Kind]
    numeric: ClassVar[bool] = False
    dtypes: ClassVar[tuple[str, ...]] = ()

    @property
    def written(self) -> Written:
        """How its cells of text are written, as far as it is known."""
        return UNKNOWN

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are of this column type."""
        return False

    def infer(self, sample: Sample) -> "ColumnType | None":
        """The type of the sampled cells if this one, or a stricter one of its file, fits them."""
        return None

    @abstractmethod
    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Values, InvalidCell | None]:
        """The values of the cells, and the first that is not of this type, if there is one."""


class NumericType(ColumnType):
    """Cells that become float64 numbers: NaN for missing cells and for invalid ones."""

    __slots__ = ()

    numeric = True
    wanted: ClassVar[str] = "number"

    @abstractmethod
    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Numbers of cells of text, and which of the cells are invalid; None where none is."""

    @abstractmethod
    def parse_one(self, text: str) -> float:
        """The number of one text, NaN if it is none."""

    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Array, InvalidCell | None]:
        """Float64 numbers. Dates count days since 1970, durations and times of day count days."""
        column = compute.dictionary_decode(column)
        invalid = None
        if pa.types.is_temporal(column.type):
            numbers, invalid = to_days(column), impossible_times(column)
        elif is_text(column.type):
            numbers, invalid = self.parse(column, spelling)
        else:
            numbers = to_floats(column)
        if spelling.missing:
            numbers, invalid = self._without_missing(column, numbers, invalid, spelling)
        infinite = np.isinf(numbers)
        if infinite.any():
            invalid = infinite if invalid is None else invalid | infinite
        if invalid is None:
            return numbers, None
        first = int(np.argmax(invalid))
        numbers = np.where(invalid, np.nan, numbers)
        if pa.types.is_temporal(column.type):
            return numbers, impossible_time(column, invalid)
        wanted = "finite number" if infinite[first] else self.wanted
        text = to_strings(column.slice(first, 1))[0].as_py()
        return numbers, InvalidCell(first, text, int(np.count_nonzero(invalid)), wanted)

    def _without_missing(
        self, column: pa.Array, numbers: Array, invalid: Flags | None, spelling: Spelling
    ) -> tuple[Array, Flags | None]:
        """Numbers and invalid cells, without those that the user calls missing."""
        if invalid is not None and is_text(column.type):
            invalid = invalid & ~true_flags(named_missing(compute.trim(column), spelling))
            invalid = invalid if invalid.any() else None
        known = [self.parse_one(text) for text in spelling.missing]
        named = np.isin(numbers, [number for number in known if np.isfinite(number)])
        return (np.where(named, np.nan, numbers) if named.any() else numbers), invalid


def take_sample(column: pa.Array, spelling: Spelling) -> Sample:
    """Cells of text, prepared to infer their type."""
    cells = compute.trim(compute.drop_null(column))
    if spelling.missing:
        cells = compute.keep(cells, compute.invert(named_missing(cells, spelling)))
    return Sample(cells, len(cells) - count_matching(cells, MISSING), spelling)


def named_missing(trimmed: pa.Array, spelling: Spelling) -> pa.Array:
    """Which cells the user calls missing."""
    return compute.is_in(trimmed, compute.cast(arrow_texts(spelling.missing), trimmed.type))


def without_nulls(flags: Flags, column: pa.Array) -> Flags:
    """The flags, false where the column is null."""
    nulls = null_flags(column)
    return flags if nulls is None else flags & ~nulls


def to_days(column: pa.Array) -> Array:
    """Dates and times as days since 1970-01-01, durations and times of day as days."""
    missing = null_flags(column)
    days = day_numbers(column)
    return days if missing is None else np.where(missing, np.nan, days)


def find_impossible_time(column: pa.Array) -> InvalidCell | None:
    """The first time that no calendar or clock has, if the column holds times and has one."""
    column = compute.dictionary_decode(column)
    if not pa.types.is_temporal(column.type):
        return None
    impossible = impossible_times(column)
    return None if impossible is None else impossible_time(column, impossible)


def impossible_time(column: pa.Array, impossible: Flags) -> InvalidCell:
    """The first of the times that no calendar or clock has, which no other type can read."""
    first = int(np.argmax(impossible))
    wanted = "time of day" if pa.types.is_time(column.type) else "date that calendars have"
    n_impossible = int(np.count_nonzero(impossible))
    return InvalidCell(first, spell_stored(column, first), n_impossible, wanted, retype=False)
