"""Which columns of a matrix of rows are stored as numbers, and which together as a code."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Index

NUMBER_BYTES, CODE_BYTES = 8, 4
# Codes pay where they save so many numbers a row, and this fraction of them.
SAVES_NUMBERS, SAVES_SHARE = 16, 0.2


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """numbers: (p,) the columns stored as numbers, ascending. starts, stops: (c,) those of codes.

    A code column stands for the columns of X from `start` to before `stop`, of which each row has a
    1 in one and 0 in the others, or 0 in all. as_codes: whether rows are stored so; otherwise they
    are one array.
    """

    n_columns: int
    numbers: Index
    starts: Index
    stops: Index
    as_codes: bool

    @property
    def row_bytes(self) -> int:
        """What a row takes."""
        if not self.as_codes:
            return self.n_columns * NUMBER_BYTES
        return len(self.numbers) * NUMBER_BYTES + len(self.starts) * CODE_BYTES

    def code_column(self, j: int) -> int:
        """Which code column has column j of X; -1 for a number."""
        at = int(np.searchsorted(self.starts, j, side="right")) - 1
        return at if at >= 0 and j < self.stops[at] else -1


def make_layout(n_columns: int, codes: Sequence[tuple[int, int]], *, whole: bool = False) -> Layout:
    """The layout of so many columns; codes: start and stop of each code column, ascending.

    Rows are stored as codes where these save much, unless they are wanted as one array (whole). The
    columns alone decide, as results depend on it in their last digits.
    """
    starts, stops = np.array(codes, np.intp).reshape(-1, 2).T
    coded = np.zeros(n_columns, np.bool_)
    for start, stop in codes:
        coded[start:stop] = True
    numbers = np.flatnonzero(~coded)
    saved = n_columns - len(numbers) - len(starts)
    pays = saved >= max(SAVES_NUMBERS, SAVES_SHARE * n_columns)
    return Layout(n_columns, numbers, starts, stops, pays and not whole)
