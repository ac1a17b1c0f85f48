"""Sweeps over rows in memory: a sample, or a table that fits."""

from collections.abc import Callable
from typing import TypeVar

from lrisk_cli.engines.reduction import PART_ROWS, Tree
from lrisk_cli.rows.rows import Rows
from lrisk_cli.rows.sweeps import Part, Sums
from lrisk_cli.types import Targets

Arguments = TypeVar("Arguments")
S = TypeVar("S", bound=Sums)


class MemoryEngine:
    """Rows in parts that are held. y: as the loss reads them."""

    def __init__(self, rows: Rows, y: Targets) -> None:
        self.n_rows = rows.shape[0]
        self.passes = 0
        starts = range(0, self.n_rows, PART_ROWS)
        self._parts = [
            Part(rows.take(slice(at, at + PART_ROWS)), y[at : at + PART_ROWS]) for at in starts
        ]

    def sweep(self, task: Callable[[Part, Arguments], S], arguments: Arguments) -> S:
        """The sum of task(part, arguments) over the parts."""
        tree: Tree[S] = Tree()
        for part in self._parts:
            tree.add(task(part, arguments))
        self.passes += 1
        return tree.total()
