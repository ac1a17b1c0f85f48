"""Rows of few different contents: each once, with how often it occurs, and solved in memory."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.rows.rows import Rows
from lrisk_cli.rows.sweeps import Part
from lrisk_cli.solvers.binned_sums import Kept
from lrisk_cli.types import Targets

# Rows of a sample that are looked at, and how many of them may differ.
LOOKED_AT, FEW = 20_000, 1_000
# Different rows that are held, and numbers of them.
MOST_DISTINCT, MOST_NUMBERS = 100_000, 1 << 23
# Rows that are made dense at a time.
STEP = 4096


def has_few_distinct(rows: Rows, y: Targets) -> bool:
    """Whether a sample suggests that all rows have few different contents."""
    n = min(rows.shape[0], LOOKED_AT)
    return n == LOOKED_AT and len(distinct_rows(rows.take(slice(0, n)), y[:n]).y) <= FEW


def distinct_rows(rows: Rows, y: Targets) -> Kept:
    """The different rows, in the order in which they first occur."""
    found: Kept | None = None
    for start in range(0, rows.shape[0], STEP):
        some = slice(start, min(start + STEP, rows.shape[0]))
        n = some.stop - some.start
        own = Kept(np.array(rows.dense_rows(some)), y[some], np.ones(n)).compressed()
        found = own if found is None else found.add(own).compressed()
    assert found is not None  # noqa: S101  (of at least one row)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """The different rows of some parts; None where there are too many."""

    kept: Kept | None

    def add(self, other: "Distinct") -> "Distinct":
        """Those of both."""
        if self.kept is None or other.kept is None:
            return Distinct(None)
        return _checked(self.kept.add(other.kept).compressed())


def find_distinct(part: Part, _: None) -> Distinct:
    """Those of a part."""
    return _checked(distinct_rows(part.rows, part.y))


def _checked(kept: Kept) -> Distinct:
    few = len(kept.y) <= MOST_DISTINCT and kept.cells.size <= MOST_NUMBERS
    return Distinct(kept if few else None)
