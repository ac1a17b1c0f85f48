"""Collect numbers batch by batch; the results do not depend on how rows were batched."""

from collections.abc import Callable

import numpy as np

from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.types import Array, Flags, Targets

CHUNK = 65_536


class Column:
    """All numbers of a stream, in its order: 8 bytes each."""

    def __init__(self) -> None:
        # The first batch is an array of its own: groups of rows have no other.
        self._values = np.empty(0)
        self._buffer: Buffer | None = None

    def add(self, values: Array) -> None:
        n, stop = len(self._values), len(self._values) + len(values)
        if n == 0:
            self._values = np.array(values, dtype=np.float64)
            return
        if self._buffer is None:
            self._buffer = Buffer(stop)
            self._buffer.view()[:n] = self._values
        elif stop > self._buffer.size:
            self._values = np.empty(0)  # no view may be left of what is resized
            self._buffer.resize(max(stop, n + n // 2))
        self._buffer.view()[n:stop] = values
        self._values = self._buffer.view()[:stop]

    @property
    def values(self) -> Array:
        """The numbers so far. (n,)."""
        return self._values


class Chunks:
    """Passes rows on in chunks of fixed length. width: numbers of a row."""

    def __init__(self, width: int) -> None:
        # As long as the rows so far, up to a chunk: groups of rows are short.
        self._buffer = np.empty((width, 0))
        self._filled = 0

    def add(self, columns: tuple[Targets, ...], take: Callable[[Array], None]) -> None:
        """Add rows; take: called with each full chunk, (width, CHUNK)."""
        taken, n = 0, len(columns[0])
        most = min(CHUNK, self._filled + n)
        if self._buffer.shape[1] < most:
            most = max(most, min(CHUNK, 2 * self._buffer.shape[1]))
            wider = np.empty((len(self._buffer), most))
            wider[:, : self._filled] = self._buffer[:, : self._filled]
            self._buffer = wider
        while taken < n:
            stop = min(n, taken + CHUNK - self._filled)
            end = self._filled + stop - taken
            for row, values in zip(self._buffer, columns, strict=True):
                row[self._filled : end] = values[taken:stop]
            self._filled, taken = end, stop
            if end == CHUNK:
                take(self._buffer)
                self._filled = 0

    @property
    def waiting(self) -> Array:
        """The rows that fill no chunk yet. (width, n)."""
        return self._buffer[:, : self._filled]


class Fraction:
    """For which fraction of a stream of rows something holds. weighted: each with its weight."""

    def __init__(self, *, weighted: bool = False) -> None:
        self._spread = Spread(weighted=True) if weighted else None
        self._n_holds = self._n_rows = 0

    def add(self, holds: Flags, weights: Array | None = None) -> None:
        """Take some more. Both (n,)."""
        if self._spread is not None:
            self._spread.add(np.asarray(holds, np.float64), weights)
            return
        self._n_rows += len(holds)
        self._n_holds += int(np.count_nonzero(holds))

    @property
    def value(self) -> float | None:
        """The fraction; None where there are no rows."""
        if self._spread is not None:
            return self._spread.mean() if self._spread.total else None
        return self._n_holds / self._n_rows if self._n_rows else None


class Spread:
    """Mean and variance of a stream of numbers. weighted: each comes with its weight."""

    def __init__(self, *, weighted: bool = False) -> None:
        self._chunks = Chunks(2 if weighted else 1)
        self._state: tuple[float, float, float] = 0, 0.0, 0.0
        self._now: tuple[float, float, float] | None = None

    def add(self, values: Targets, weights: Array | None = None) -> None:
        """Take some more. Both (n,)."""
        self._now = None
        self._chunks.add((values,) if weights is None else (values, weights), self._take)

    def mean(self) -> float:
        return self._total[1]

    @property
    def total(self) -> float:
        """How many numbers, or their weight."""
        return self._total[0]

    def variance(self) -> float:
        """Mean square deviation from the mean."""
        n, _, squares = self._total
        return squares / n

    @property
    def _total(self) -> tuple[float, float, float]:
        """Count, mean and sum of squared deviations of all so far."""
        if self._now is None:
            self._now = self._merged(self._chunks.waiting)
        return self._now

    def _take(self, chunk: Array) -> None:
        self._state = self._merged(chunk)

    def _merged(self, chunk: Array) -> tuple[float, float, float]:
        """Count, mean and sum of squared deviations, with those of a chunk, all by weight."""
        n_old, old, squares = self._state
        filled: float = chunk.shape[1]
        if filled == 0:
            return self._state
        if len(chunk) == 1:
            mean = float(np.mean(chunk[0]))
            squares += float(np.sum((chunk[0] - mean) ** 2))
        else:
            filled = float(np.sum(chunk[1]))
            mean = float(np.sum(chunk[1] / filled * chunk[0]))
            squares += float(np.sum(chunk[1] * (chunk[0] - mean) ** 2))
        n, apart = n_old + filled, mean - old
        squares += apart * apart * n_old * filled / n
        return n, old + apart * filled / n, squares
