"""The rows with the largest losses, found while rows are scored, and sentences about them."""

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.evaluation.rankings import largest_first
from lrisk_cli.models.model import Model
from lrisk_cli.tables.row_lines import RowLines, RowPlace
from lrisk_cli.types import Array

# GitHub shows ten annotations of a kind for each step: nine rows, and how many there are.
MOST_SHOWN = 9
# A page shows more.
MOST_KEPT = 20


@dataclass(frozen=True, slots=True)
class RowSentence:
    """What stands out about a row, in words, and where the row is."""

    text: str
    place: RowPlace

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class WorstRow:
    """A row that loses much, its target and its prediction in words."""

    place: RowPlace
    id: object
    target: str
    prediction: str
    loss: float


class WorstRows:
    """Keeps the rows with the largest losses; of equal ones the earlier, however batched.

    lines: of the rows, where they are of text.
    """

    def __init__(self, lines: RowLines | None = None) -> None:
        self.lines = lines or RowLines()
        self._rows: list[tuple[float, int, Any, list[Any]]] = []

    def add(self, rows: NDArray[np.int64], losses: Array, ids: Any, *others: NDArray[Any]) -> None:
        """Take one batch. ids: Arrow or None; others: what else to keep of a row. All (n,)."""
        indices = largest_first(losses, MOST_KEPT).tolist() if len(losses) else []
        new = [
            (
                float(losses[k]),
                int(rows[k]),
                None if ids is None else ids[k].as_py(),
                [values[k].item() for values in others],
            )
            for k in indices
        ]
        self._rows = sorted([*self._rows, *new], key=lambda row: -row[0])[:MOST_KEPT]

    def rows(self, model: Model) -> list[WorstRow]:
        """Rows that were added with their targets and predictions, the largest loss first."""
        spell = model.target.spell
        return [
            WorstRow(self.lines.place(row), id_, spell(target), spell(prediction), loss)
            for loss, row, id_, (target, prediction) in self._rows
        ]

    def predicted(self, model: Model) -> list[RowSentence]:
        """Sentences for rows that were added with their targets and predictions."""
        return [
            describe_row(
                each.place,
                each.id,
                f"loss {each.loss:.6g}; {model.target.name} is {each.target}, predicted "
                f"{each.prediction}",
            )
            for each in self.rows(model)[:MOST_SHOWN]
        ]

    def clustered(self) -> list[RowSentence]:
        """Sentences for rows that were added with their clusters."""
        return [
            describe_row(
                self.lines.place(row),
                id_,
                f"{sqrt(loss):.6g} from the centre of cluster {cluster}",
            )
            for loss, row, id_, (cluster,) in self._rows[:MOST_SHOWN]
        ]


def describe_row(place: RowPlace, id_: object, finding: str) -> RowSentence:
    """The sentence for a row: its number, its line, its id if it has one, and the finding."""
    name = str(place) if id_ is None else f"{place} ({id_})"
    return RowSentence(f"{name}: {finding}", place)
