"""The rows with the largest losses, found while rows are scored, and sentences about them."""

from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lrisk_cli.evaluation.rankings import largest_first
from lrisk_cli.models.model import Model
from lrisk_cli.types import Array

# GitHub shows ten annotations of a kind for each step: nine rows, and how many there are.
MOST_SHOWN = 9


class WorstRows:
    """Keeps the rows with the largest losses; of equal ones the earlier, however batched."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, int, Any, list[Any]]] = []

    def add(
        self, rows: NDArray[np.int64], losses: Array, ids: pa.Array | None, *others: NDArray[Any]
    ) -> None:
        """Take one batch. others: arrays of what else to keep of a row. All (n,)."""
        indices = largest_first(losses, MOST_SHOWN).tolist() if len(losses) else []
        new = [
            (
                float(losses[k]),
                int(rows[k]),
                None if ids is None else ids[k].as_py(),
                [values[k].item() for values in others],
            )
            for k in indices
        ]
        self._rows = sorted([*self._rows, *new], key=lambda row: -row[0])[:MOST_SHOWN]

    def predicted(self, model: Model) -> list[str]:
        """Sentences for rows that were added with their targets and predictions."""
        spell, name = model.target.spell, model.target.name
        sentences = []
        for loss, row, id_, others in self._rows:
            target, prediction = map(spell, others)
            words = f"loss {loss:.6g}; {name} is {target}, predicted {prediction}"
            sentences.append(f"{name_row(row, id_)}: {words}")
        return sentences

    def clustered(self) -> list[str]:
        """Sentences for rows that were added with their clusters."""
        return [
            f"{name_row(row, id_)}: {sqrt(loss):.6g} from the centre of cluster {cluster}"
            for loss, row, id_, (cluster,) in self._rows
        ]


def name_row(row: int, id_: object) -> str:
    """Its number, and its id if it has one."""
    return f"row {row}" if id_ is None else f"row {row} ({id_})"
