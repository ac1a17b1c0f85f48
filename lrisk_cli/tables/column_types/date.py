"""Dates and moments, as days since 1970-01-01."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Lock

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_texts
from lrisk_cli.tables.cells import count_matching
from lrisk_cli.tables.column_types.base import (
    ColumnType,
    NumericType,
    Sample,
    to_days,
)
from lrisk_cli.tables.column_types.calendar import DateCounts, count_dates, parse_dates
from lrisk_cli.tables.column_types.numerals import INVALID, OPEN, Written
from lrisk_cli.tables.exact import UNITS_PER_DAY
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.types import Array, Flags

ISO_DATE = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})?)?$"
)
NO_NANOSECONDS = r"(:[0-9]{2}\.[0-9]{6})000(Z|[+-][0-9]{2}:?[0-9]{2})?$"
NANOSECONDS = r"(?<=\.[0-9]{6})[0-9]+"


class DateType(NumericType):
    """ISO dates with or without a time, and Arrow's dates and timestamps."""

    __slots__ = ()

    kind = "date"
    wanted = "date"

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are dates."""
        return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))

    def infer(self, sample: Sample) -> ColumnType | None:
        """Dates need a majority."""
        return self if 2 * count_matching(sample.cells, ISO_DATE) > sample.n_known else None

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Days of cells of text, and which cells are no dates. Without a zone they are UTC."""
        known = _parse_microseconds(column)
        if known is None:
            brief = compute.replace_pattern(column, NO_NANOSECONDS, r"\1\2")
            known = _parse_microseconds(brief)
        if known is not None:
            return known, None
        days = np.full(len(column), np.nan)
        invalid = np.zeros(len(column), bool)
        for row, text in enumerate(column.to_pylist()):
            if text and text.strip():
                days[row] = self.parse_one(text.strip())
                invalid[row] = np.isnan(days[row])
        return days, invalid if invalid.any() else None

    def parse_one(self, text: str) -> float:
        """Days since 1970-01-01, or NaN when the text is no ISO date."""
        nanoseconds = re.search(NANOSECONDS, text)
        try:
            # Python would leave out the nanoseconds without a word.
            brief = re.sub(NANOSECONDS, "", text)
            moment = datetime.fromisoformat(brief) if re.match(ISO_DATE, text) else None
        except ValueError:
            moment = None
        if moment is None:
            return float("nan")
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
        seconds = since.days * 86_400 + since.seconds
        rest = 0 if nanoseconds is None else int(nanoseconds[0].ljust(3, "0"))
        # Integers, whose quotient is rounded once.
        count = (seconds * 1_000_000 + since.microseconds) * 1000 + rest
        return count / UNITS_PER_DAY["ns"]


class WrittenDateType(DateType):
    """Dates as people write them, all in one order of day, month and year.

    order: empty where it has not mattered. survey: counts the whole column, asked when it does.
    ambiguous: the sample can be read in two orders.
    """

    __slots__ = ("_lock", "_order", "ambiguous", "survey")

    def __init__(
        self,
        order: str = "",
        survey: Callable[[], DateCounts] | None = None,
        *,
        ambiguous: bool = False,
    ) -> None:
        self._order = order
        self.survey = survey
        self.ambiguous = ambiguous
        self._lock = Lock()

    @property
    def written(self) -> Written:
        """The order, as far as it is known."""
        return Written(order=self._order)

    def infer(self, sample: Sample) -> ColumnType | None:
        """Dates need a majority."""
        counts = count_dates(sample.cells)
        if 2 * counts.of("any") <= sample.n_known:
            return None
        return WrittenDateType(counts.order, ambiguous=counts.tied)

    def parse(self, column: pa.Array, spelling: Spelling) -> tuple[Array, Flags | None]:
        """Days of cells of text, and which cells are no dates. Without a zone they are UTC."""
        days, found = parse_dates(column, self._order)
        if (found == OPEN).any():
            with self._lock:
                if self.survey is not None and not self._order:
                    counts = self.survey()
                    self._order = "" if counts.ambiguous else counts.order
            days, found = parse_dates(column, self._order)
        invalid = (found == INVALID) | (found == OPEN)
        return days, invalid if invalid.any() else None

    def parse_one(self, text: str) -> float:
        """Days since 1970-01-01, or NaN when the text is no date."""
        return float(parse_dates(arrow_texts([text]), self._order)[0][0])


DATE = DateType()
WRITTEN_DATE = WrittenDateType()


def _parse_microseconds(column: pa.Array) -> Array | None:
    """Days of cells of text; None if one is no date, or has digits below a microsecond."""
    for zone in (None, "UTC"):
        try:
            return to_days(compute.cast(column, pa.timestamp("us", zone)))
        except pa.ArrowInvalid:
            continue
    return None
