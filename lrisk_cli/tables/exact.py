"""Arrow decimals and times as float64: each number is the one nearest to the exact value."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_of, arrow_texts, null_flags, numpy_of
from lrisk_cli.types import Array, Flags

EXACT = 1 << 53  # up to here every integer is a float64, and then no longer
LARGEST_POWER = 22  # of ten that is a float64
_NANO = 1000  # nanoseconds per microsecond
UNITS_PER_DAY: dict[str, int] = {
    unit: 86_400 * 1000**k for k, unit in enumerate(("s", "ms", "us", "ns"))
}
# Dates are this many days from 1970 at most, about 27,379 years; beyond 32,767 Arrow spells none.
MOST_DAYS = 10_000_000


def decimal_numbers(column: pa.Array) -> Array:
    """Decimals of any width as float64; where the column is null they mean nothing."""
    # Beyond such a scale any number is 0 or infinite.
    scale, words = max(-1000, min(column.type.scale, 1000)), _words(column)
    low = words[:, 0]
    exact = (low >= -EXACT) & (low <= EXACT) & (abs(scale) <= LARGEST_POWER)
    for high in words.T[1:]:
        exact &= high == low >> 63
    # An operation on two exact operands rounds once.
    power = float(10 ** min(abs(scale), LARGEST_POWER))
    digits = low.astype(np.float64)
    numbers: Array = digits / power if scale >= 0 else digits * power
    nulls = null_flags(column)
    rest = np.flatnonzero(~exact if nulls is None else ~exact & ~nulls)
    if len(rest):
        numbers[rest] = _parse_scaled(compute.take(column, arrow_of(rest)), scale)
    return numbers


def _words(column: pa.Array) -> npt.NDArray[np.int64]:
    """Unscaled decimals in words of 64 bits, the lowest first. (n, words)."""
    width = column.type.bit_width
    if width < 64:
        return numpy_of(column, np.int32).astype(np.int64)[:, np.newaxis]
    cells = numpy_of(column, np.dtype((np.void, width // 8)))
    return cells.view(np.int64).reshape(len(column), width // 64)


def _parse_scaled(column: pa.Array, scale: int) -> Array:
    """Decimals by way of text, as "190E-2": Arrow spells no fraction of some scales."""
    kind = getattr(pa, f"decimal{column.type.bit_width}")(column.type.precision, 0)
    unscaled = pa.Array.from_buffers(kind, len(column), column.buffers(), offset=column.offset)
    exponent, nothing = arrow_texts([f"E{-scale}", ""])
    texts = compute.join(compute.cast(unscaled, pa.string()), exponent, nothing)
    numbers: Array = numpy_of(compute.cast(texts, pa.float64()), np.float64)
    return numbers


def day_numbers(column: pa.Array) -> Array:
    """Times as days; where the column is null they mean nothing."""
    counts, per_day = _stored_counts(column)
    if per_day == UNITS_PER_DAY["ns"] and not np.any(counts % _NANO):
        counts, per_day = counts // _NANO, per_day // _NANO
    days: Array = counts / float(per_day)
    rest = np.flatnonzero((counts < -EXACT) | (counts > EXACT))
    if len(rest):
        # Python rounds a quotient of integers once.
        days[rest] = [count / per_day for count in counts[rest].tolist()]
    return days


def impossible_times(column: pa.Array) -> Flags | None:
    """Where a date is too far from 1970 or no whole day, or a time of day is outside of the day.

    None when it nowhere is.
    """
    kind = column.type
    if pa.types.is_duration(kind):
        return None
    counts, per_day = _stored_counts(column)
    if pa.types.is_time(kind):
        impossible = (counts < 0) | (counts >= per_day)
    else:
        # Nanoseconds cannot be as far, and as many do not fit into 64 bits.
        most = min(MOST_DAYS * per_day, (1 << 63) - 1)
        impossible = (counts < -most) | (counts > most)
        if pa.types.is_date64(kind):
            impossible |= counts % per_day != 0
    return impossible if impossible.any() else None


def spell_stored(column: pa.Array, row: int) -> str:
    """A time as it is stored, for one that no calendar has: a number and its unit."""
    counts, per_day = _stored_counts(column)
    units = {1: "days", **{n: unit for unit, n in UNITS_PER_DAY.items()}}
    return f"{counts[row]} {units[per_day]}"


def _stored_counts(column: pa.Array) -> tuple[npt.NDArray[np.int64], int]:
    """Times as the integers that are stored, 0 where null, and how many of them make a day."""
    kind = column.type
    dtype = np.int32 if kind.bit_width == 32 else np.int64
    counts = numpy_of(column, dtype).astype(np.int64, copy=False)
    nulls = null_flags(column)
    if nulls is not None:
        counts = np.where(nulls, 0, counts)
    if pa.types.is_date32(kind):
        return counts, 1
    return counts, UNITS_PER_DAY["ms" if pa.types.is_date64(kind) else kind.unit]
