"""Decimals and times against quotients of Python's integers, which are rounded once."""

from datetime import date

import numpy as np
import pyarrow as pa
import pytest

from lrisk_cli.tables.cells import to_floats, to_strings
from lrisk_cli.tables.column_types.base import find_impossible_time, to_days
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.date import DATE
from lrisk_cli.tables.column_types.number import DURATION
from lrisk_cli.tables.inputs import Spelling

WIDTHS = {32: 9, 64: 18, 128: 38, 256: 76}
PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
EDGES = [0, 1, -1, 190, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)]


def decimals(width: int, scale: int, digits: list[int]) -> pa.Array:
    """An array of unscaled decimals, which no function of Arrow has looked at."""
    if not hasattr(pa, f"decimal{width}"):
        pytest.skip("this pyarrow has no decimals of this width")
    kind = getattr(pa, f"decimal{width}")(WIDTHS[width], scale)
    data = b"".join(number.to_bytes(width // 8, "little", signed=True) for number in digits)
    return pa.Array.from_buffers(kind, len(digits), [None, pa.py_buffer(data)])


@pytest.mark.parametrize("scale", [0, 2, 9, 15, 22, 23, 38, 75, -1, -2, -22, -23, -60])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_decimal_is_the_nearest_number(width, scale):
    rng = np.random.default_rng(width + abs(scale))
    sizes = rng.integers(1, WIDTHS[width] + 1, 200)
    digits = [int("".join(map(str, rng.integers(0, 10, size)))) for size in sizes]
    digits = [-each if k % 2 else each for k, each in enumerate(digits)]
    digits += [each for each in EDGES if abs(each) < 10 ** WIDTHS[width]]
    if width >= 128:
        digits += [2**63, 2**64, -(2**64) - 5, 10**38 - 1]
    exact = [n / 10**scale if scale >= 0 else float(n * 10**-scale) for n in digits]
    column = decimals(width, scale, digits)
    assert to_floats(column).tolist() == exact
    assert to_floats(column.slice(7, 40)).tolist() == exact[7:47]


def test_a_decimal_of_two_digits_is_what_its_text_is():
    column = decimals(128, 2, list(range(-99_999, 100_000)))
    texts = [f"{k / 100:.2f}" for k in range(-99_999, 100_000)]
    assert to_floats(column).tolist() == list(map(float, texts))


def test_decimals_beyond_the_range_of_numbers_are_infinite_and_tiny_ones_zero():
    assert to_floats(decimals(256, -300, [10**9, -(10**9), 0])).tolist() == [np.inf, -np.inf, 0.0]
    assert to_floats(decimals(128, -(2**31), [7, 0])).tolist() == [np.inf, 0.0]
    assert to_floats(decimals(128, 2**31 - 1, [7, 0])).tolist() == [0.0, 0.0]
    assert to_floats(decimals(256, 323, [5, 3])).tolist() == [5e-323, 3e-323]


def test_what_is_under_a_null_is_never_looked_at():
    buffers = [pa.py_buffer(b"\x05"), decimals(128, 2, [190, 2**126, -5]).buffers()[1]]
    column = pa.Array.from_buffers(pa.decimal128(9, 2), 3, buffers)
    assert str(to_floats(column).tolist()) == "[1.9, nan, -0.05]"
    seconds = pa.py_buffer(np.array([86_400, 2**62, -43_200]))
    column = pa.Array.from_buffers(pa.timestamp("s"), 3, [buffers[0], seconds])
    days, invalid = DATE.read(column)
    assert str(days.tolist()) == "[1.0, nan, -0.5]"
    assert invalid is None
    assert CATEGORY.read(column)[1] is None


@pytest.mark.parametrize("unit", PER_DAY)
@pytest.mark.parametrize("make", [pa.timestamp, pa.duration])
def test_a_time_is_the_nearest_number_of_days_whatever_its_size(unit, make):
    rng = np.random.default_rng(len(unit))
    counts = (rng.integers(-(2**63), 2**63, 500) >> rng.integers(0, 60, 500)).tolist() + EDGES
    counts += [1_700_000_000_123_456_789, 1_700_000_000_123_456_000]
    column = pa.array(counts).view(make(unit))
    assert to_days(column).tolist() == [count / PER_DAY[unit] for count in counts]
    # Without digits below a microsecond, as most files have them.
    counts = [count // 1000 * 1000 for count in counts if count > -(2**62)]
    column = pa.array(counts).view(make(unit))
    assert to_days(column).tolist() == [count / PER_DAY[unit] for count in counts]


def test_dates_of_text_far_from_1970_are_rounded_once_too():
    texts = ["9999-12-31 23:59:59.999999", "0001-01-01 00:00:00.000001", "2300-07-01 05:06:07.1"]
    moments = pa.array(np.array(texts, "M8[us]"))
    days, _ = DATE.read(pa.array(texts))
    assert days.tolist() == to_days(moments).tolist() == [DATE.parse_one(text) for text in texts]
    exact = [count / PER_DAY["us"] for count in moments.view(pa.int64()).to_pylist()]
    assert days.tolist() == exact


def test_nanoseconds_of_text_count():
    texts = ["2023-11-14 22:13:20.123456789", "2023-11-14T22:13:20.123456000Z", "1969-12-31 23:59"]
    texts += ["2023-11-14T22:13:20.1234567", "2023-11-15T03:43:20.000000001+05:30"]
    second = 1_700_000_000 * 10**9
    counts = [second + 123456789, second + 123456000, -60 * 10**9, second + 123456700, second + 1]
    assert DATE.read(pa.array(texts))[0].tolist() == [each / PER_DAY["ns"] for each in counts]
    # As Arrow writes them, read by Arrow itself.
    texts, counts = [*texts[2:3], "2023-11-14 22:13:20.000000000"], [counts[2], second]
    assert DATE.read(pa.array(texts))[0].tolist() == [each / PER_DAY["ns"] for each in counts]


FAR = 10_000_001 * 86_400
IMPOSSIBLE = {
    "seconds": (pa.array([0, FAR, -FAR]).view(pa.timestamp("s")), f"{FAR} s", 2),
    "wrapped": (pa.array([0, 2**62, 1]).view(pa.timestamp("s", "UTC")), f"{2**62} s", 1),
    "milliseconds": (pa.array([0, -(2**63)]).view(pa.timestamp("ms")), f"{-(2**63)} ms", 1),
    "microseconds": (pa.array([0, 2**63 - 1]).view(pa.timestamp("us")), f"{2**63 - 1} us", 1),
    "days": (pa.array([0, 2**31 - 1], pa.int32()).view(pa.date32()), f"{2**31 - 1} days", 1),
    "part of a day": (pa.array([86_400_000, -5]).view(pa.date64()), "-5 ms", 1),
    "far day": (pa.array([0, 86_400_000 * 10**10]).view(pa.date64()), "864000000000000000 ms", 1),
    "negative": (pa.array([0, -1], pa.int32()).view(pa.time32("s")), "-1 s", 1),
    "midnight": (pa.array([0, 86_400_000], pa.int32()).view(pa.time32("ms")), "86400000 ms", 1),
    "long": (pa.array([0, 2**62]).view(pa.time64("us")), f"{2**62} us", 1),
    "nanoseconds": (pa.array([0, 864 * 10**11]).view(pa.time64("ns")), "86400000000000 ns", 1),
}


@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_time_that_no_calendar_or_clock_has_is_invalid_in_every_reading(name, coded):
    column, text, count = IMPOSSIBLE[name]
    type_ = DURATION if pa.types.is_time(column.type) else DATE
    if coded:
        column = pa.DictionaryArray.from_arrays(pa.array(range(len(column))), column)
    numbers, invalid = type_.read(column)
    assert (invalid.offset, invalid.text, invalid.count, invalid.retype) == (1, text, count, False)
    assert np.isfinite(numbers[0])
    assert np.isnan(numbers[1])
    texts, as_category = CATEGORY.read(column)
    assert texts.codes[0] >= 0
    assert texts.codes[1] == -1
    assert not any("out of range" in text for text in texts.values)
    assert as_category == invalid == find_impossible_time(column)
    assert type_.read(column, Spelling(missing=("-999",)))[1] == invalid


@pytest.mark.parametrize("kind", [pa.timestamp("ns"), pa.timestamp("s"), pa.date32(), pa.date64()])
def test_dates_that_a_calendar_has_are_valid(kind):
    column = pa.array([date(1700, 3, 1), date(2260, 1, 1)]).cast(kind)
    assert find_impossible_time(column) is None
    assert DATE.read(column)[0].tolist() == [-98556.0, 105920.0]
    assert to_strings(column)[1].as_py().startswith("2260-01-01")


def test_whole_decimals_are_spelled_with_all_their_digits():
    assert to_strings(decimals(128, -2, [12, -7])).to_pylist() == ["1200", "-700"]
    assert to_strings(decimals(128, 2, [12, -700])).to_pylist() == ["0.12", "-7.00"]
