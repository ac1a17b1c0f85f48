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

from lrisk_cli.types import Array, Codes

Integers = npt.NDArray[np.int64]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
WAVES = ("day_sin", "day_cos", "half_day_sin", "half_day_cos")
KINDS = {"month": MONTHS, "weekday": WEEKDAYS}
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


def part_spans(parts: Sequence[str]) -> list[tuple[int, int]]:
    """Start and stop of the months among the parts, and of the weekdays, where there are any."""
    kinds = [part.partition("=")[0] for part in parts]
    found = [(kinds.index(kind), kinds.count(kind)) for kind in KINDS if kind in kinds]
    return [(first, first + count) for first, count in found]


def part_codes(days: Array, parts: Sequence[str]) -> Codes:
    """The parts that the days are, one for each of the spans, -1 for none. (n, spans).

    days: (n,), none of them NaN.
    """
    months, weekdays, _ = _split(days)
    found = []
    for start, stop in part_spans(parts):
        kind = parts[start].partition("=")[0]
        names, values = KINDS[kind], months if kind == "month" else weekdays
        place = np.full(len(names), -1, np.int32)
        for at in range(start, stop):
            place[names.index(parts[at].partition("=")[2])] = at
        found.append(place[values])
    return np.stack(found, axis=1) if found else np.empty((len(days), 0), np.int32)


def part_waves(days: Array, parts: Sequence[str]) -> Array:
    """The waves among the parts at the time of each day. days: (n,), none NaN; (n, waves)."""
    chosen = [WAVES.index(part) for part in parts if part in WAVES]
    if not chosen:
        return np.empty((len(days), 0))
    _, _, minutes = _split(days)
    found: Array = _waves()[:, chosen][minutes]
    return found


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
