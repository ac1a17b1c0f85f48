"""A small chart of characters: bars above and below zero."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, slots=True)
class Ink:
    """What bars are made of: whole cells, half ones, the axis, the ends of bars that are cut."""

    full: str
    lower: str
    upper: str
    axis: str
    up: str
    down: str


BLOCKS = Ink("█", "▄", "▀", "─", "▲", "▼")
PLAIN = Ink("#", "#", "#", "-", "^", "v")
# The longest bar may be so many times the next one; beyond it is cut, lest it flatten the others.
CUT = 2.0


def draw_bars(values: Sequence[float], height: int = 8) -> list[tuple[float, str]]:
    """Lines from top to bottom, each with the value at its far edge; 0 is the line of the axis.

    Half a line is the smallest step. A bar that is cut ends in an arrow.
    """
    ink = BLOCKS if _can_print(BLOCKS) else PLAIN
    top = _reach([max(value, 0.0) for value in values])
    bottom = _reach([max(-value, 0.0) for value in values])
    half = (top + bottom) / (2.0 * height)
    axis = [(0.0, ink.axis * len(values))]
    if half == 0.0:
        return axis
    halves = [round(value / half) for value in values]
    above = _side(halves, ceil(top / (2.0 * half) - 1e-9), ink.full, ink.lower, ink.up)
    below = _side(
        [-n for n in halves], ceil(bottom / (2.0 * half) - 1e-9), ink.full, ink.upper, ink.down
    )
    rising = [(2.0 * half * (k + 1), line) for k, line in enumerate(above)]
    falling = [(-2.0 * half * (k + 1), line) for k, line in enumerate(below)]
    return [*reversed(rising), *axis, *falling]


def _side(halves: Sequence[int], n_lines: int, full: str, half: str, arrow: str) -> list[str]:
    """The lines on one side of the axis, from it outwards. halves: length of each bar."""
    lines = []
    for line in range(1, n_lines + 1):
        cells = [full if n >= 2 * line else half if n == 2 * line - 1 else " " for n in halves]
        if line == n_lines:
            cells = [arrow if n > 2 * n_lines else c for n, c in zip(halves, cells, strict=True)]
        lines.append("".join(cells))
    return lines


def _reach(lengths: Sequence[float]) -> float:
    """The length up to which bars are drawn."""
    *others, longest = sorted(lengths)
    second = max(others, default=0.0)
    return min(longest, CUT * second) if second > 0.0 else longest


def _can_print(ink: Ink) -> bool:
    """Whether standard output takes these characters."""
    try:
        (ink.full + ink.lower + ink.upper + ink.axis + ink.up).encode(
            sys.stdout.encoding or "ascii"
        )
    except (UnicodeEncodeError, LookupError):
        return False
    return True
