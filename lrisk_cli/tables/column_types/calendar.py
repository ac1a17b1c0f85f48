"""How the dates of a column of text are written, decided by counts, and their values."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.native.kernels import core
from lrisk_cli.tables.arrays import null_flags
from lrisk_cli.tables.column_types.base import to_days
from lrisk_cli.tables.column_types.numerals import MISSING, NUMBER, kernel_texts, kernel_tokens
from lrisk_cli.types import Array

ORDERS = ("dmy", "mdy", "ymd")
# English, German, French, Italian, Spanish, Portuguese and Dutch names and abbreviations.
MONTHS = (
    "january jan januar janvier janv gennaio gen enero ene janeiro januari jänner jän",
    "february feb februar février févr fév febbraio febrero fevereiro fev februari",
    "march mar märz mär mrz mars marzo março maart mrt",
    "april apr avril avr aprile abril abr",
    "may mai maggio mag mayo maio mei",
    "june jun juni juin giugno giu junio junho",
    "july jul juli juillet juil luglio lug julio julho",
    "august aug août aoû agosto ago augustus",
    "september sep sept septembre settembre set septiembre setembro",
    "october oct oktober okt octobre ottobre ott octubre outubro out",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre déc dicembre dic diciembre dezembro",
)
PLACES = ("known", "any", "free", *ORDERS, "dmy_mdy", "dmy_ymd", "mdy_ymd")


class DateCounts:
    """What the cells of a column are as dates; counts of parts of it add up."""

    __slots__ = ("values",)

    def __init__(self, values: npt.NDArray[np.int64] | None = None) -> None:
        self.values = np.zeros(core.date_counts(), np.int64) if values is None else values

    def __add__(self, other: "DateCounts") -> "DateCounts":
        return DateCounts(self.values + other.values)

    def of(self, name: str) -> int:
        """One of the counts."""
        return int(self.values[PLACES.index(name)])

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders that read most cells; several where these do not differ in them."""
        most = max(self.of(order) for order in ORDERS)
        return tuple(order for order in ORDERS if self.of(order) == most)

    @property
    def order(self) -> str:
        """The order of day, month and year that most cells have; "" where none needs one."""
        return "" if self.of("free") == self.of("any") else self.orders[0]

    @property
    def tied(self) -> bool:
        """Whether another order reads as many cells that need one."""
        return bool(self.order) and len(self.orders) > 1

    @property
    def ambiguous(self) -> bool:
        """Whether it reads them as other days."""
        first, *others = self.orders
        return any(self.of(f"{first}_{other}") > 0 for other in others)


def count_dates(cells: pa.Array) -> DateCounts:
    """What cells of text are as dates."""
    counts = DateCounts()
    data, offsets = kernel_texts(cells)
    core.survey_dates(data, offsets, _months(), counts.values)
    return counts


def parse_dates(cells: pa.Array, order: str) -> tuple[Array, npt.NDArray[np.uint8]]:
    """Days since 1970-01-01, and for each cell NUMBER, MISSING, INVALID or OPEN; NaN for others."""
    data, offsets = kernel_texts(cells)
    micros, found = np.empty(len(cells), np.int64), np.empty(len(cells), np.uint8)
    core.read_dates(data, offsets, _months(), ORDERS.index(order) if order else -1, micros, found)
    nulls = null_flags(cells)
    if nulls is not None:
        found[nulls] = MISSING
    buffers = [None, pa.py_buffer(micros)]
    days = to_days(pa.Array.from_buffers(pa.timestamp("us"), len(cells), buffers))
    return np.where(found == NUMBER, days, np.nan), found


@cache
def _months() -> tuple[Any, ...]:
    """The names of months as kernels take them."""
    return kernel_tokens(
        (name, month) for month, names in enumerate(MONTHS, 1) for name in names.split()
    )
