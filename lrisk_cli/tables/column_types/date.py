"""Dates and moments, as days since 1970-01-01."""

import re
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.cells import count_matching
from lrisk_cli.tables.column_types.base import (
    ColumnType,
    NumericType,
    Sample,
    to_days,
)
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


DATE = DateType()


def _parse_microseconds(column: pa.Array) -> Array | None:
    """Days of cells of text; None if one is no date, or has digits below a microsecond."""
    for zone in (None, "UTC"):
        try:
            return to_days(compute.cast(column, pa.timestamp("us", zone)))
        except pa.ArrowInvalid:
            continue
    return None
