"""A uniform sample of rows that depends on their numbers alone: those of the least hashes."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lrisk_cli.engines.blocks import join_cells
from lrisk_cli.tables.cells import Values
from lrisk_cli.tables.table import Batch
from lrisk_cli.types import Flags, Index

SAMPLE_ROWS = 200_000
SAMPLE_NUMBERS = 1 << 24  # at most, where there are many columns
FEWEST_ROWS = 20_000
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """A hash of each row number (splitmix64): as good as drawn at random. (n,)."""
    words = (numbers.astype(np.uint64) + np.uint64(1)) * _GOLDEN
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


class RowSampler:
    """Keeps the rows of the least hashes among those that are used."""

    def __init__(self, names: Sequence[str], width: int) -> None:
        self.size = int(max(FEWEST_ROWS, min(SAMPLE_ROWS, SAMPLE_NUMBERS // width)))
        self._names = tuple(names)
        self._limit = np.uint64(2**64 - 1)
        self._hashes: list[npt.NDArray[np.uint64]] = []
        self._parts: list[dict[str, Values]] = []
        self._n = 0

    def add(self, batch: Batch, used: Flags) -> None:
        """Take the next rows."""
        hashes = row_hashes(np.arange(batch.first_row, batch.first_row + batch.n_rows))
        chosen = np.flatnonzero(used & (hashes <= self._limit))
        if not len(chosen):
            return
        self._hashes.append(hashes[chosen])
        self._parts.append({name: _rows(batch.columns[name], chosen) for name in self._names})
        self._n += len(chosen)
        if self._n > 2 * self.size:
            self._shrink()

    def _shrink(self) -> None:
        """Keep the rows of the least hashes, in their order."""
        hashes = np.concatenate(self._hashes)
        order = np.argsort(hashes, kind="stable")[: self.size]
        columns = {name: join_cells([part[name] for part in self._parts]) for name in self._names}
        self._parts = [{name: _rows(cells, order) for name, cells in columns.items()}]
        self._hashes, self._n = [hashes[order]], len(order)
        if self._n == self.size:
            self._limit = self._hashes[0][-1]

    def sample(self) -> Batch:
        """The sample in the order of its hashes, which is random."""
        self._shrink()
        return Batch(0, self._n, self._parts[0], "sample", 0)


def _rows(cells: Values, rows: Index) -> Values:
    return cells[rows]
