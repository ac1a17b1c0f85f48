"""The rows with the largest losses, found while rows stream by, and sentences about them."""

from collections.abc import Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from lrisk_cli.reports.github import MOST_SHOWN

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from lrisk_cli.models.model import Model
    from lrisk_cli.reports.outliers import Found


class WorstRows:
    """Keeps the rows with the largest losses; of equal ones the earlier, however batched."""

    def __init__(self) -> None:
        self._rows: list[tuple[float, int, Any, list[Any]]] = []

    def add(
        self,
        rows: "NDArray[np.int64]",
        losses: "NDArray[np.float64]",
        ids: "pa.Array | None",
        *others: Any,
    ) -> None:
        """Take one batch. others: arrays of what else to keep of a row. All (n,)."""
        from lrisk_cli.evaluation.rankings import largest_first

        places = largest_first(losses, MOST_SHOWN).tolist() if len(losses) else []
        new = [
            (
                float(losses[k]),
                int(rows[k]),
                None if ids is None else ids[k].as_py(),
                [values[k].item() for values in others],
            )
            for k in places
        ]
        self._rows = sorted([*self._rows, *new], key=lambda row: -row[0])[:MOST_SHOWN]

    def predicted(self, model: "Model") -> list[str]:
        """Sentences for rows that were added with their targets and predictions."""
        classes, name = model.target.classes, model.target.name
        sentences = []
        for loss, row, id_, others in self._rows:
            target, prediction = (classes[k] if classes else f"{k:.6g}" for k in others)
            told = f"loss {loss:.6g}; {name} is {target}, predicted {prediction}"
            sentences.append(f"{name_row(row, id_)}: {told}")
        return sentences

    def placed(self) -> list[str]:
        """Sentences for rows that were added with their clusters."""
        return [
            f"{name_row(row, id_)}: {sqrt(loss):.6g} from the centre of cluster {cluster}"
            for loss, row, id_, (cluster,) in self._rows
        ]


def outlier_sentences(found: "Found") -> list[str]:
    """The first outliers of a ranking, with their reasons."""
    return [
        f"{name_row(row.row, row.id)}: score {row.score:.4g}; {row.reason}"
        for row in found.top[:MOST_SHOWN]
        if row.is_outlier
    ]


def count_rows(n_rows: int, sentences: Sequence[str]) -> str:
    """How many rows were judged, and how many of them are told."""
    rows = f"{n_rows} row{'s' * (n_rows != 1)} judged"
    return f"{rows}; the {len(sentences)} with the largest losses are told" if sentences else rows


def name_row(row: int, id_: object) -> str:
    """Its number, and its id if it has one."""
    return f"row {row}" if id_ is None else f"row {row} ({id_})"
