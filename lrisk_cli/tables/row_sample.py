"""Rows that stream by -> an even sample of them, for pictures and for estimates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# An odd number near 2^64 over the golden ratio: its multiples spread evenly over the words, so
# that rows which take turns in the file (left eye, right eye) are all met.
_SPREAD = np.uint64(0x9E37_79B9_7F4A_7C15)


class RowSample:
    """Keeps at most `limit` rows; which ones depends on the row numbers alone, not on batches.

    A row is kept while the multiple of its number lies below a bound, which is halved whenever more
    than `limit` rows do.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bound = np.uint64(2**64 - 1)
        self._n_kept = 0
        # For each batch the indices of the rows kept, then their columns.
        self._parts: list[list[NDArray[Any]]] = []

    def add(self, rows: NDArray[np.int64], *columns: NDArray[Any]) -> None:
        """Take some of these rows. columns: numbers, as many as the first time, (n,) each."""
        places = rows.astype(np.uint64) * _SPREAD
        taken = np.flatnonzero(places <= self._bound)
        self._parts.append([places[taken], *(column[taken] for column in columns)])
        self._n_kept += len(taken)
        while self._n_kept > self._limit:
            self._bound //= np.uint64(2)
            joined = self._joined()
            kept = joined[0] <= self._bound
            self._parts = [[each[kept] for each in joined]]
            self._n_kept = int(np.count_nonzero(kept))

    @property
    def columns(self) -> tuple[NDArray[np.float64], ...]:
        """The columns of the rows kept, as numbers in reading order."""
        return tuple(each.astype(np.float64) for each in self._joined()[1:])

    def _joined(self) -> list[NDArray[Any]]:
        return [np.concatenate(pieces) for pieces in zip(*self._parts, strict=True)]
