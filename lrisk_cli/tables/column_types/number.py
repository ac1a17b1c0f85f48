"""Numbers: integers, decimals, durations and times of day."""

from collections.abc import Callable
from dataclasses import replace
from threading import Lock
from typing import ClassVar

import numpy as np
import pyarrow as pa

from lrisk_cli.errors import opt, quote
from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_of, arrow_texts, true_flags
from lrisk_cli.tables.cells import MOST_DIGITS, matching, to_floats
from lrisk_cli.tables.column_types.base import ColumnType, Doubt, NumericType, Sample
from lrisk_cli.tables.column_types.numerals import (
    INVALID,
    OPEN,
    UNKNOWN,
    Counts,
    Written,
    count_cells,
    decimal_of,
    parse_numbers,
    written_by,
)
from lrisk_cli.tables.column_types.numerals import NUMBER as NUMBER_CELL
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.types import Array, Flags

ZERO_PADDED = r"^[+-]?0[0-9]+$"
MOST_INVALID = 10  # different texts among numbers
LIKE_NUMBERS = 0.9  # the fraction of cells that are, where a column of text may be one of numbers
POINT_BYTE = ord(".")


class NumberType(NumericType):
    """Numbers in decimal or scientific notation, and Arrow's numbers.

    written: how cells of text are written, as far as it is known. survey: what it counts in the
    whole column, asked when a cell needs what the sample has not shown. ambiguous: the sample does
    not say whether a mark is that of decimals.
    """

    __slots__ = ("_lock", "_written", "ambiguous", "survey")

    kind = "number"
    dtypes: ClassVar[tuple[str, ...]] = ("number",)

    def __init__(
        self,
        written: Written = UNKNOWN,
        survey: Callable[[], Counts] | None = None,
        *,
        ambiguous: bool = False,
    ) -> None:
        self._written = written
        self.survey = survey
        self.ambiguous = ambiguous
        self._lock = Lock()

    @property
    def written(self) -> Written:
        """How its cells are written, as far as it is known."""
        return self._written

    def rewritten(self, written: Written, survey: Callable[[], Counts] | None) -> "NumberType":
        """The same with other knowledge of how its cells are written."""
        return type(self)(written, survey)

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
        asked = asked_for(sample.spelling)
        counts = count_cells(cells, asked)
        if 2 * max(counts.point, counts.comma) <= n_known:
            return None
        decimal = decimal_of(counts, asked)
        written = written_by(counts, decimal, asked)
        found = parse_numbers(cells, written)[1]
        n_others = int(np.count_nonzero(found == INVALID))
        if 2 * (n_known - n_others) <= n_known:
            return None
        if n_others > MOST_INVALID and _count_distinct(cells, found == INVALID) > MOST_INVALID:
            return None
        if not decimal and (counts.dotted or counts.with_comma):
            return NumberType(replace(written, thousands=asked.thousands), ambiguous=True)
        if counts.whole == n_known - n_others:
            return INTEGER if written == UNKNOWN else IntegerType(written)
        return NUMBER if written == NUMBER.written else NumberType(written)

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Numbers of cells of text, and which of the cells are none."""
        written = self.written
        if written.plain and (written.decimal or not _holds_points(column)):
            numbers = _parse_plain(column)
            if numbers is not None:
                return numbers, None
        if not written.decimal and _holds_marks(column):
            written = self._settle(spelling)
        numbers, found = parse_numbers(column, written)
        if (found == OPEN).any():
            written = self._settle(spelling)
            numbers, found = parse_numbers(column, written)
        invalid = (found == INVALID) | (found == OPEN)
        return numbers, invalid if invalid.any() else None

    def parse_one(self, text: str) -> float:
        """The number, or NaN when the text is none."""
        return float(parse_numbers(arrow_texts([text.strip()]), self.written)[0][0])

    def _settle(self, spelling: Spelling) -> Written:
        """How the cells are written, by all cells of the column where they can be asked."""
        with self._lock:
            if self.survey is not None:
                counts, self.survey = self.survey(), None
                asked = asked_for(spelling, self._written)
                self._written = written_by(counts, decimal_of(counts, asked) or ".", asked)
            elif not self._written.decimal:
                self._written = replace(self._written, decimal=spelling.decimal or ".")
            return self._written


class IntegerType(NumberType):
    """Integers, among which a zero-padded code such as 007 is invalid."""

    __slots__ = ()

    dtypes = ()

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Numbers of cells of text, and which of the cells are none."""
        numbers, invalid = super().parse(column, spelling)
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


NUMBER, INTEGER, DURATION = NumberType(Written(".")), IntegerType(), DurationType()


def doubt_text(sample: Sample) -> Doubt | None:
    """Why a column of text may be one of numbers: nearly all cells are, though not as programs
    write them, and no code such as 007 is among them.
    """
    counts = count_cells(sample.cells, UNKNOWN)
    most = max(counts.point, counts.comma)
    if most < LIKE_NUMBERS * sample.n_known or counts.plain == most:
        return None
    decimal = decimal_of(counts, UNKNOWN) or "."
    found = parse_numbers(sample.cells, written_by(counts, decimal, UNKNOWN))[1]
    first = int(np.argmax(found == NUMBER_CELL))
    other = found == INVALID
    like = f"looks like numbers ({quote(sample.cells[first].as_py())})"
    if not other.any():
        # The options stand in the way.
        thousands = sample.spelling.thousands
        if thousands and sample.spelling.decimal in ("", decimal):
            return Doubt(like, f"leave out {opt('thousands', thousands)}")
        return Doubt(f"{like} with the decimal mark {decimal}", f"pass {opt('decimal', decimal)}")
    text = quote(sample.cells[int(np.argmax(other))].as_py())
    return Doubt(f"{like}, but {text} is written in another way")


def asked_for(spelling: Spelling, known: Written = UNKNOWN) -> Written:
    """What options say of how numbers are written, beside what is known."""
    return replace(
        known,
        decimal=spelling.decimal or known.decimal,
        thousands=spelling.thousands or known.thousands,
    )


def _parse_plain(column: pa.Array) -> Array | None:
    """Numbers of cells of text; None where one is not written as programs write numbers."""
    try:
        numbers = to_floats(compute.cast(column, pa.float64()))
    except pa.ArrowInvalid:
        return None
    # Arrow takes nan(1) for a number too, so cells that are NaN are looked at again.
    return numbers if np.count_nonzero(np.isnan(numbers)) == column.null_count else None


def _holds_points(column: pa.Array) -> bool:
    return bool((_letters(column) == POINT_BYTE).any())


def _holds_marks(column: pa.Array) -> bool:
    letters = _letters(column)
    return bool((letters == POINT_BYTE).any() or (letters == ord(",")).any())


def _letters(column: pa.Array) -> np.ndarray:
    """The bytes of the texts, and perhaps others beside them."""
    data = column.buffers()[2]
    return np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)


def _count_distinct(cells: pa.Array, flags: Flags) -> int:
    """How many different texts there are among the cells with a flag."""
    kept = compute.keep(cells, compute.cast(arrow_of(flags.astype(np.uint8)), pa.bool_()))
    return len(compute.unique(kept))
