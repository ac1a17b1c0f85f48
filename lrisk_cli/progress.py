"""Progress as events: whoever works calls a function, whoever shows decides how."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work has come. `done` of `total` units; the note is for people.

    unit: what is counted, if that is not the stage. fraction: how far it is by another measure than
    what is counted; the work ends at 1.
    """

    stage: str
    done: float
    total: float | None = None
    note: str = ""
    unit: str = ""
    fraction: float | None = None


Report = Callable[[Progress], None]


def silent(event: Progress) -> None:
    """Tell nobody."""
