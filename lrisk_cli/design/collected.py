"""Collects texts and numbers of a table, batch by batch, as codes and a matrix."""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Codes

GROWTH = 1 << 21  # numbers added when the buffer is full: 16 MB
TEXT_BYTES = 150  # overhead of a text: an object, and its entry in a dictionary
BLOCK_NUMBERS = 1 << 16  # numbers worked on at a time: half a megabyte stays in the cache


def block_rows(width: int) -> int:
    """How many rows of `width` numbers are worked on at a time; fixed, as sums depend on it."""
    return max(1, BLOCK_NUMBERS // max(1, width))


class Coded:
    """A text column under one set of codes, though every batch brings its own.

    n_bytes: about what it takes.
    """

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self._parts: list[Codes] = []
        self.n_bytes = 0

    @property
    def n_values(self) -> int:
        """How many different texts there were."""
        return len(self._known)

    def add(self, texts: Texts) -> Codes:
        """Take the next rows; their codes, -1 where there is no text."""
        known = self._known
        try:
            codes = list(map(known.__getitem__, texts.values))
        except KeyError:
            new = (text for text in texts.values if text not in known)
            self.n_bytes += sum(TEXT_BYTES + len(text) for text in new)
            codes = [known.setdefault(text, len(known)) for text in texts.values]
        # Wrapped, code -1 finds the -1 at the end; and nothing is checked code by code.
        self._parts.append(np.take(np.array([*codes, -1], np.int32), texts.codes, mode="wrap"))
        self.n_bytes += self._parts[-1].nbytes
        return self._parts[-1]

    def finish(self) -> Texts:
        """All rows under the same codes."""
        return Texts(np.concatenate(self._parts), list(self._known))


class NumberMatrix:
    """Rows of numbers that arrive a few columns and rows at a time; grows in place."""

    def __init__(self, n_rows: int, width: int) -> None:
        self.buffer = Buffer(n_rows * width)
        self._width = width

    def put(self, columns: Sequence[Array], first_row: int, first_column: int) -> None:
        """Write columns side by side, from the given row and column on."""
        n_rows = len(columns[0])
        stop = (first_row + n_rows) * self._width
        if stop > self.buffer.size:
            self.buffer.resize(max(stop, self.buffer.size + GROWTH))
        block = self.buffer.view()[first_row * self._width : stop].reshape(n_rows, self._width)
        step = block_rows(self._width)
        for low in range(0, n_rows, step):
            core.place_columns(list(columns), low, first_column, block[low : low + step])
