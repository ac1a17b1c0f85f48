"""Progress as events: whoever works calls a function, whoever shows decides how."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work has come. `done` of `total` units; the note is for people."""

    stage: str
    done: float
    total: float | None = None
    note: str = ""


Report = Callable[[Progress], None]


def silent(event: Progress) -> None:
    """Tell nobody."""
