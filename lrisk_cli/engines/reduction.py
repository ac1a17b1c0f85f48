"""Add up what the parts give in a fixed tree, whatever the order in which they come."""

from typing import Generic, TypeVar

from lrisk_cli.rows.sweeps import Sums

S = TypeVar("S", bound=Sums)

# Rows of a part: blocks of so many rows in reading order.
PART_ROWS = 1 << 16


class Tree(Generic[S]):
    """Sums of parts 0, 1, 2, ... by halves: those of 2^j parts from a multiple of 2^j on.

    The rest is added from the smallest to the largest. Few sums are held: as many as n has bits.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, S]] = []

    def add(self, sums: S) -> None:
        """Take the sums of the next part."""
        level = 0
        while self._waiting and self._waiting[-1][0] == level:
            sums = self._waiting.pop()[1].add(sums)
            level += 1
        self._waiting.append((level, sums))

    def total(self) -> S:
        """The sums of all parts."""
        *rest, (_, total) = self._waiting
        for _, sums in reversed(rest):
            total = sums.add(total)
        return total
