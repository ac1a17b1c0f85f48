"""Days since 1970 -> parts of the calendar as columns of numbers, and dates as words.

Months and weekdays are 0/1 columns: their effects are neither linear nor periodic, and an unseen
one has no effect. The time of day is a sine and a cosine of one and of two turns a day, so that
midnight has no edge and two peaks are possible. All parts are of UTC, times by the minute.
"""

from collections.abc import Sequence
from functools import cache
from math import cos, pi, sin

import numpy as np
import numpy.typing as npt

from lrisk_cli.types import Array

Integers = npt.NDArray[np.int64]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WAVES = ("day_sin", "day_cos", "half_day_sin", "half_day_cos")
PARTS = (
    *(f"month={name}" for name in MONTHS),
    *(f"weekday={name}" for name in WEEKDAYS),
    *WAVES,
)

DAY_MS = 86_400_000
DAY_MINUTES = 1440
FIRST_WEEKDAY = 3  # 1970 began on a Thursday.
LONGEST_YEAR = 9999


@cache
def _waves() -> Array:
    """The waves at each minute of a day; a table, so that a row never depends on its neighbours."""
    angles = [2.0 * pi * minute / DAY_MINUTES for minute in range(DAY_MINUTES)]
    return np.array([[sin(a), cos(a), sin(2.0 * a), cos(2.0 * a)] for a in angles])


class Calendar:
    """Remembers which months, weekdays and minutes occurred, and so which parts vary."""

    def __init__(self) -> None:
        self._months = np.zeros(len(MONTHS), bool)
        self._weekdays = np.zeros(len(WEEKDAYS), bool)
        self._minutes = np.zeros(DAY_MINUTES, bool)

    def add(self, days: Array) -> None:
        """Take in some days since 1970; NaN is passed over."""
        months, weekdays, minutes = _split(days[~np.isnan(days)])
        self._months[months] = True
        self._weekdays[weekdays] = True
        self._minutes[minutes] = True

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts that are not the same on all days seen, in their order."""
        seen = [*_varying(self._months), *_varying(self._weekdays)]
        turns = _waves()[self._minutes]
        if len(turns):
            seen += [bool(wave) for wave in np.ptp(turns, axis=0) > 1e-9]
        return tuple(part for part, varies in zip(PARTS, seen, strict=False) if varies)


def write_parts(days: Array, parts: Sequence[str], out: Array) -> None:
    """The parts of each day, a column each. days: (n,), none of them NaN; out: (n, parts)."""
    months, weekdays, minutes = _split(days)
    waves = _waves() if any(part in WAVES for part in parts) else None
    for at, part in enumerate(parts):
        name, _, value = part.partition("=")
        if name == "month":
            out[:, at] = months == MONTHS.index(value)
        elif name == "weekday":
            out[:, at] = weekdays == WEEKDAYS.index(value)
        elif waves is not None:
            out[:, at] = waves[minutes, WAVES.index(part)]


def spell_date(day: float, *, with_time: bool) -> str:
    """ "Mon 2013-12-23 17:05"; just the number where no calendar has the year."""
    if not abs(day) < 366.0 * LONGEST_YEAR:
        return f"{day:.6g}"
    _, weekdays, minutes = _split(np.array([day]))
    date = np.datetime64(int(np.rint(day * DAY_MS) // DAY_MS), "D")
    time = f" {minutes[0] // 60:02d}:{minutes[0] % 60:02d}" if with_time else ""
    return f"{WEEKDAYS[weekdays[0]]} {date}{time}"


def _split(days: Array) -> tuple[Integers, Integers, Integers]:
    """Month and weekday, counted from 0, and minute of the day.

    By the nearest millisecond: as a fraction of a day 17:00 may lie just before it.
    """
    moments = np.rint(days * DAY_MS).astype(np.int64)
    dates = moments // DAY_MS
    months = dates.astype("M8[D]").astype("M8[M]").astype(np.int64) % len(MONTHS)
    return months, (dates + FIRST_WEEKDAY) % len(WEEKDAYS), moments % DAY_MS // 60_000


def _varying(seen: npt.NDArray[np.bool_]) -> list[bool]:
    """Those seen, if there are two at least."""
    enough = int(np.count_nonzero(seen)) > 1
    return [enough and bool(each) for each in seen]
