"""How the numbers of a column of text are written: marks, currency, percent; decided by counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.native.kernels import core
from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import null_flags, numpy_of
from lrisk_cli.types import Array

# The marks of `native/numerals.pxi`, by their numbers.
MARKS = ("", ".", ",", "'", " ")
MARK_NAMES = {".": "points", ",": "commas", "'": "apostrophes", " ": "spaces"}
POINT, COMMA = 1, 2
# Currencies and the texts that stand for them; the first one names them.
CURRENCIES = (
    ("$", "US$", "USD"), ("€", "EUR"), ("£", "GBP"), ("¥", "JPY"), ("₹", "INR", "Rs.", "Rs"),
    ("CHF", "SFr.", "Fr.", "Fr"), ("CNY", "RMB"), ("C$", "CA$", "CAD"), ("A$", "AU$", "AUD"),
    ("NZ$", "NZD"), ("HK$", "HKD"), ("S$", "SGD"), ("R$", "BRL"), ("MX$", "MXN"), ("₽", "RUB"),
    ("₩", "KRW"), ("₺", "TRY"), ("₫", "VND"), ("₪", "ILS"), ("₴", "UAH"), ("฿", "THB"),
    ("₱", "PHP"), ("₦", "NGN"), ("kr", "kr.", "SEK"), ("NOK",), ("DKK",), ("zł", "PLN"),
    ("Kč", "CZK"), ("Ft", "HUF"), ("lei", "RON"), ("ZAR",), ("AED",), ("SAR",), ("¢",),
)  # fmt: skip
NUMBER, MISSING, INVALID, OPEN = range(4)


@dataclass(frozen=True, slots=True)
class Written:
    """How the cells of a column are written. An empty text is a fact that no cell has shown.

    decimal: the decimal mark. thousands: the mark between thousands, "none" where there may be
    none; the blank stands for spaces of all kinds. currency: the text that names it. percent:
    whether every number but 0 has a percent sign, and is a hundredth of what it says. order: of
    day, month and year in dates: dmy, mdy or ymd. spaces: those around texts are part of them;
    merged: texts that differ in capitals and spaces only are one.
    """

    decimal: str = ""
    thousands: str = ""
    currency: str = ""
    percent: bool = False
    order: str = ""
    spaces: bool = False
    merged: bool = False

    @property
    def group(self) -> int:
        """The mark between thousands as kernels take it."""
        return -1 if self.thousands == "none" else MARKS.index(self.thousands)

    @property
    def plain(self) -> bool:
        """Whether cells are written as programs write them."""
        return self.decimal != "," and not (
            self.thousands or self.currency or self.percent
            or self.order or self.spaces or self.merged
        )  # fmt: skip


UNKNOWN = Written()


class Counts:
    """What the cells of a column are as numbers; counts of parts of it add up."""

    __slots__ = ("values",)

    def __init__(self, values: npt.NDArray[np.int64] | None = None) -> None:
        self.values = np.zeros(core.number_counts(), np.int64) if values is None else values

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.values + other.values)

    def __getattr__(self, name: str) -> int:
        return int(self.values[PLACES[name]])

    def most(self, first: str, names: Sequence[str]) -> str:
        """The name of the largest of some counts, the first of equal ones; "" where all are 0."""
        start = PLACES[first]
        counts = self.values[start : start + len(names)]
        return names[int(np.argmax(counts))] if counts.any() else ""


PLACES = {name: place for place, name in enumerate((
    "known", "point", "comma", "point_only", "comma_only", "plain", "whole", "padded", "percent",
    "no_percent", "dotted", "with_comma", "large", "small", "at_point",
))}  # fmt: skip
PLACES["at_comma"] = PLACES["at_point"] + len(MARKS)
PLACES["at_currency"] = PLACES["at_comma"] + len(MARKS)


def count_cells(cells: pa.Array, asked: Written) -> Counts:
    """What cells of text are as numbers, with the mark between thousands that is asked for."""
    counts = Counts()
    data, offsets = kernel_texts(cells)
    core.survey_numbers(data, offsets, _tokens(), asked.group, counts.values)
    return counts


def decimal_of(counts: Counts, asked: Written) -> str:
    """The decimal mark that the cells show, or the one asked for; "" where they may have either.

    Cells that can be read with one of the marks only decide, by their majority. Where there is
    none, a comma before three digits stands between thousands if whole numbers below 1000 have
    none and larger ones all do.
    """
    if asked.decimal:
        return asked.decimal
    if counts.point_only or counts.comma_only:
        return "." if counts.point >= counts.comma else ","
    if asked.thousands in (".", ","):
        return "," if asked.thousands == "." else "."
    if counts.with_comma and not counts.dotted and counts.small and not counts.large:
        return "."
    return ""


def written_by(counts: Counts, decimal: str, asked: Written) -> Written:
    """How most cells are written, given the decimal mark; what is asked for stays."""
    group = "at_comma" if decimal == "," else "at_point"
    thousands = asked.thousands or counts.most(group, ("", *MARKS[1:]))
    if not asked.thousands:
        marks = counts.values[PLACES[group] + 1 : PLACES[group] + len(MARKS)]
        thousands = MARKS[1 + int(np.argmax(marks))] if marks.any() else ""
    return replace(
        asked,
        decimal=decimal,
        thousands=thousands,
        currency=asked.currency or counts.most("at_currency", [each[0] for each in CURRENCIES]),
        percent=asked.percent or counts.percent > counts.no_percent,
    )


def parse_numbers(cells: pa.Array, written: Written) -> tuple[Array, npt.NDArray[np.uint8]]:
    """The numbers, and for each cell NUMBER, MISSING, INVALID or OPEN; NaN but for numbers.

    Each number is the double nearest to what the text says.
    """
    data, offsets = kernel_texts(cells)
    n = len(cells)
    numbers, out = np.empty(n), np.empty(len(data) + 4 * n + 1, np.uint8)
    out_offsets, found = np.zeros(n + 1, np.int64), np.empty(n, np.uint8)
    currencies = [each[0] for each in CURRENCIES]
    currency = currencies.index(written.currency) if written.currency else -1
    core.clean_numbers(
        data, offsets, _tokens(), COMMA if written.decimal == "," else POINT, written.group,
        currency, int(written.percent), numbers, out, out_offsets, found,
    )  # fmt: skip
    nulls = null_flags(cells)
    if nulls is not None:
        found[nulls] = MISSING
    if out_offsets[-1]:
        spelled = np.diff(out_offsets) > 0
        validity = pa.py_buffer(np.packbits(spelled, bitorder="little"))
        texts = pa.Array.from_buffers(
            pa.large_string(), n, [validity, pa.py_buffer(out_offsets), pa.py_buffer(out)]
        )
        rounded = numpy_of(compute.cast(texts, pa.float64()), np.float64)
        numbers[spelled] = rounded[spelled]
    return numbers, found


def kernel_texts(cells: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """The bytes of texts, and where each begins; what is null has none that mean anything."""
    cells = compute.cast(cells, pa.large_string())
    if not len(cells):
        return np.zeros(1, np.uint8), np.zeros(1, np.int64)
    _, offsets, data = cells.buffers()
    starts = np.frombuffer(offsets, np.int64, len(cells) + 1, cells.offset * 8)
    if data is None or not data.size:
        return np.zeros(1, np.uint8), starts
    return np.frombuffer(data, np.uint8), starts


@cache
def _tokens() -> tuple[Any, ...]:
    """The texts of currencies as kernels take them."""
    return kernel_tokens((text, code) for code, each in enumerate(CURRENCIES) for text in each)


def kernel_tokens(codes: Iterable[tuple[str, int]]) -> tuple[Any, ...]:
    """Texts and what they stand for as kernels look them up: joined, by their first bytes."""
    pairs = sorted(
        ((text.encode(), code) for text, code in codes),
        key=lambda pair: (pair[0][0], -len(pair[0]), pair[0]),
    )
    texts = [text for text, _ in pairs]
    starts = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    firsts = [text[0] for text in texts]
    by_byte = np.searchsorted(firsts, np.arange(257)).astype(np.int32)
    meanings = np.array([code for _, code in pairs], np.int32)
    return np.frombuffer(b"".join(texts), np.uint8), starts, by_byte, meanings
