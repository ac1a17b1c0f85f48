"""What a solver sees of rows that it does not hold: sweeps, of which only small sums come back."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, TypeVar

from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Targets


class Part(NamedTuple):
    """A block of consecutive rows. y: their targets, as the loss reads them."""

    rows: Rows
    y: Targets


class Sums(Protocol):
    """What leaves a part. The sums of two parts add up to those of both."""

    def add(self, other: Self) -> Self:
        """The sums of this part and a later one."""


Arguments = TypeVar("Arguments")
S = TypeVar("S", bound=Sums)


class Engine(Protocol):
    """Applies a task to every part of the rows, and adds the results up in a fixed tree.

    n_rows: of all parts. passes: full passes over the rows so far.
    """

    @property
    def n_rows(self) -> int: ...
    @property
    def passes(self) -> int: ...

    def sweep(self, task: Callable[[Part, Arguments], S], arguments: Arguments) -> S:
        """The sum of task(part, arguments) over the parts. task: a pure function of a module."""
