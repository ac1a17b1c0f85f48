"""Turn columns of cells into numbers or coded text, and guess from a sample which they are."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lrisk_cli.tables.arrays import arrow_of, arrow_texts, null_flags, numpy_of, true_flags
from lrisk_cli.tables.inputs import PLAIN, Spelling
from lrisk_cli.types import Array, Codes, Flags

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
INTEGER = r"^[+-]?[0-9]+$"
ZERO_PADDED = r"^[+-]?0[0-9]+$"
MISSING = r"^(?i:[+-]?nan)?$"
TRUTH = r"^(?i:true|false)$"
ISO_DATE = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
MOST_STRAYS = 10  # different texts among numbers
MICROSECONDS_PER_DAY = 86_400e6


class Cells(StrEnum):
    """How the cells of a column are to be understood; all but the last three become numbers.

    TIME: durations and times of day. TRUTH: true and false, to be read as 1 and 0.
    """

    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    TIME = "time"
    TRUTH = "truth"
    BOOLEAN = "boolean"
    TEXT = "text"
    NESTED = "nested"

    @property
    def numeric(self) -> bool:
        """Whether the cells become float64 numbers."""
        return self not in (Cells.BOOLEAN, Cells.TEXT, Cells.NESTED)


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
    """The first cell of a column that is not what it should be, and how many there are."""

    offset: int
    text: str
    count: int
    wanted: str


def infer_cells(sample: pa.Array, spelling: Spelling = PLAIN) -> Cells | None:
    """What a sample of text cells looks like; None when every cell is missing.

    Numbers and dates need a majority, so that a few strays do not turn a column into text; more
    than ten different strays are codes, as one that is zero-padded is, and keep it text.
    """
    cells = pc.utf8_trim_whitespace(sample.drop_null())
    if spelling.missing:
        cells = cells.filter(pc.invert(_named_missing(cells, spelling)))
    n_cells = len(cells) - _count(cells, MISSING)
    if n_cells == 0:
        return None
    if _count(cells, ZERO_PADDED):
        return Cells.TEXT
    numbers = _matches(_respelled(cells, spelling), NUMBER)
    n_numbers = int(np.count_nonzero(numbers))
    if 2 * n_numbers > n_cells:
        if n_numbers < n_cells - MOST_STRAYS and _count_others(cells, numbers) > MOST_STRAYS:
            return Cells.TEXT
        return Cells.INTEGER if _count(cells, INTEGER) == n_numbers else Cells.NUMBER
    if 2 * _count(cells, ISO_DATE) > n_cells:
        return Cells.DATE
    return Cells.BOOLEAN if _count(cells, TRUTH) == n_cells else Cells.TEXT


def cells_of_type(kind: pa.DataType) -> Cells:
    """How the values of an Arrow type are understood."""
    if pa.types.is_dictionary(kind):
        return cells_of_type(kind.value_type)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return Cells.NUMBER
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Cells.DATE
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        return Cells.TIME
    if pa.types.is_boolean(kind):
        return Cells.BOOLEAN
    return Cells.TEXT if _is_text(kind) or pa.types.is_null(kind) else Cells.NESTED


def to_numbers(
    column: pa.Array, cells: Cells, spelling: Spelling = PLAIN
) -> tuple[Array, InvalidCell | None]:
    """Float64 values with NaN for missing cells and for strays. A date counts days since 1970."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    strays = None
    if pa.types.is_temporal(column.type):
        numbers = _days(column)
    elif not _is_text(column.type):
        numbers = _floats(column)
    elif cells is Cells.DATE:
        numbers, strays = _parse_dates(column)
    elif cells is Cells.TRUTH:
        numbers, strays = _parse_truths(column)
    else:
        numbers, strays = _parse(_respelled(column, spelling), cells)
    if spelling.missing:
        numbers, strays = _without_missing(column, numbers, strays, cells, spelling)
    infinite = np.isinf(numbers)
    if infinite.any():
        strays = infinite if strays is None else strays | infinite
    if strays is None:
        return numbers, None
    first = int(np.argmax(strays))
    words = {Cells.DATE: "date", Cells.TRUTH: "truth value"}
    wanted = "finite number" if infinite[first] else words.get(cells, "number")
    stray = InvalidCell(first, str(column[first].as_py()), int(np.count_nonzero(strays)), wanted)
    return np.where(strays, np.nan, numbers), stray


def _without_missing(
    column: pa.Array, numbers: Array, strays: Flags | None, cells: Cells, spelling: Spelling
) -> tuple[Array, Flags | None]:
    """Numbers and strays, those that the user calls missing taken out."""
    if strays is not None:
        trimmed = pc.utf8_trim_whitespace(column)
        strays = strays & ~true_flags(_named_missing(trimmed, spelling))
        strays = strays if strays.any() else None
    read = _parse_date if cells is Cells.DATE else _parse_number
    known = [read(text.replace(spelling.decimal, ".")) for text in spelling.missing]
    named = np.isin(numbers, [number for number in known if np.isfinite(number)])
    return (np.where(named, np.nan, numbers) if named.any() else numbers), strays


def to_texts(column: pa.Array, cells: Cells, spelling: Spelling = PLAIN) -> Texts:
    """Coded text; numbers are spelled as briefly as possible, an empty text is missing."""
    if not pa.types.is_dictionary(column.type):
        column = _spelled(column).dictionary_encode()
    codes = numpy_of(pc.cast(column.indices, pa.int32()), np.int32)
    spelled = _spelled(column.dictionary).to_pylist()
    values = [_plain(value, cells) for value in spelled]
    missing = null_flags(column.indices)
    if missing is not None:
        codes = np.where(missing, np.int32(-1), codes)
    empty = [code for code, value in enumerate(spelled) if spelling.is_missing(value)]
    if empty:
        codes = np.where(np.isin(codes, empty), np.int32(-1), codes)
    return Texts(codes, values)


def shortest_text(numbers: Sequence[float] | Array) -> list[str]:
    """Each number as the shortest text that reads back as the same number: 3.0 is "3"."""
    texts: list[str] = _spelled(arrow_of(np.asarray(numbers, np.float64))).to_pylist()
    return texts


def _plain(value: str | None, cells: Cells) -> str:
    return value.lower() if value and cells is Cells.BOOLEAN else value or ""


def _spelled(column: pa.Array) -> pa.Array:
    text = column if _is_text(column.type) else pc.cast(column, pa.string())
    if pa.types.is_temporal(column.type):
        # Units differ between formats: 06:00:00.000 in one is 06:00:00 in another.
        text = pc.replace_substring_regex(text, r"\.0+(Z?)$", r"\1")
        return pc.replace_substring_regex(text, r"(\.[0-9]*[1-9])0+(Z?)$", r"\1\2")
    # -0 and 0 are the same number, so they are the same category.
    return pc.replace_substring_regex(text, "^-0$", "0") if text is not column else text


def _respelled(cells: pa.Array, spelling: Spelling) -> pa.Array:
    """Numbers written with a decimal point, whatever the file has; other points spoil a number."""
    if spelling.decimal == ".":
        return cells
    return pc.replace_substring(pc.replace_substring(cells, ".", "_"), spelling.decimal, ".")


def _named_missing(trimmed: pa.Array, spelling: Spelling) -> pa.Array:
    """Which cells the user calls missing."""
    return pc.is_in(trimmed, pc.cast(arrow_texts(spelling.missing), trimmed.type))


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _count(cells: pa.Array, pattern: str) -> int:
    return int(np.count_nonzero(_matches(cells, pattern)))


def _count_others(cells: pa.Array, numbers: Flags) -> int:
    """How many different texts there are beside numbers and missing cells."""
    others = cells.filter(arrow_of((~numbers).astype(np.uint8)).cast(pa.bool_()))
    return len(pc.unique(others.filter(pc.invert(pc.match_substring_regex(others, MISSING)))))


def _matches(cells: pa.Array, pattern: str) -> Flags:
    return true_flags(pc.match_substring_regex(cells, pattern))


def _floats(column: pa.Array) -> Array:
    """Arrow numbers as float64, NaN where null."""
    numbers: Array = numpy_of(pc.cast(column, pa.float64(), safe=False), np.float64)
    missing = null_flags(column)
    return numbers if missing is None else np.where(missing, np.nan, numbers)


def _days(column: pa.Array) -> Array:
    """Dates and times as days since 1970-01-01, durations and times of day as days."""
    kind = column.type
    if pa.types.is_date32(kind):
        return _floats(pc.cast(column, pa.int32()))
    if pa.types.is_date64(kind) or pa.types.is_timestamp(kind):
        column = pc.cast(column, pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
    elif pa.types.is_time(kind):
        column = pc.cast(column, pa.time64("us"), safe=False)
    else:
        column = pc.cast(column, pa.duration("us"), safe=False)
    return _floats(pc.cast(column, pa.int64())) / MICROSECONDS_PER_DAY


def _parse(column: pa.Array, cells: Cells) -> tuple[Array, Flags | None]:
    """Numbers spelled as text. In a column of integers a zero-padded code is a stray."""
    try:
        numbers, strays = _floats(pc.cast(column, pa.float64())), None
    except pa.ArrowInvalid:
        trimmed = pc.utf8_trim_whitespace(column)
        spelled = pc.match_substring_regex(trimmed, NUMBER)
        numbers = np.full(len(column), np.nan)
        numbers[true_flags(spelled)] = _floats(pc.cast(trimmed.filter(spelled), pa.float64()))
        strays = np.isnan(numbers) & ~_matches(trimmed, MISSING)
        nulls = null_flags(column)
        strays = strays if nulls is None else strays & ~nulls
    if cells is Cells.INTEGER and true_flags(pc.starts_with(column, "0")).any():
        padded = _matches(column, ZERO_PADDED)
        strays = padded if strays is None else strays | padded
    return numbers, strays if strays is not None and strays.any() else None


def _parse_truths(column: pa.Array) -> tuple[Array, Flags | None]:
    """1 for true and 0 for false, in letters of any size."""
    trimmed = pc.utf8_trim_whitespace(column)
    true, known = _matches(trimmed, r"^(?i:true)$"), _matches(trimmed, TRUTH)
    strays = ~known & ~_matches(trimmed, MISSING)
    nulls = null_flags(column)
    strays = strays if nulls is None else strays & ~nulls
    return np.where(known, true, np.nan), strays if strays.any() else None


def _parse_dates(column: pa.Array) -> tuple[Array, Flags | None]:
    """ISO dates and times spelled as text; without a zone they are taken as UTC."""
    for zone in (None, "UTC"):
        try:
            return _days(pc.cast(column, pa.timestamp("us", zone))), None
        except pa.ArrowInvalid:
            continue
    days = np.full(len(column), np.nan)
    strays = np.zeros(len(column), bool)
    for row, text in enumerate(column.to_pylist()):
        if text and text.strip():
            days[row] = _parse_date(text.strip())
            strays[row] = np.isnan(days[row])
    return days, strays if strays.any() else None


def _parse_number(text: str) -> float:
    """The number, or NaN when the text is none."""
    return float(text) if re.match(NUMBER, text) else float("nan")


def _parse_date(text: str) -> float:
    """Days since 1970-01-01, or NaN when the text is no ISO date."""
    try:
        moment = datetime.fromisoformat(text) if re.match(ISO_DATE, text) else None
    except ValueError:
        moment = None
    if moment is None:
        return float("nan")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds) / (
        MICROSECONDS_PER_DAY
    )
