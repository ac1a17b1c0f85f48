"""Outliers for people, as aligned text, and for programs, as the document that --json prints."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from shutil import get_terminal_size
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.errors import opt
from lrisk_cli.evaluation.gates import Verdict
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.names import Task
from lrisk_cli.reports.clusters import describe_clusters
from lrisk_cli.reports.documents import gates_document, rows_document
from lrisk_cli.reports.terminal import (
    describe_model,
    describe_rows,
    gate_row,
    number,
    plain,
    print_pairs,
    print_rows,
)
from lrisk_cli.robust.scale_mixture import Threshold

NARROWEST, WIDEST = 60, 120


@dataclass(frozen=True, slots=True)
class TopRow:
    """A row of the ranking. parts: columns, and what they contribute to the loss; largest first."""

    rank: int
    row: int
    id: str | int | None
    loss: float
    score: float
    is_outlier: bool
    reason: str
    parts: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What `detect-outliers` found.

    fitted: whether the model was fitted to these rows. contamination: as asked, None for auto.
    named: how many of the rows explained name a column first. curve: (2, m) ranks and scores.
    """

    model: Model | ClusterModel
    model_path: str | None
    fitted: bool
    counts: RowCounts
    contamination: float | None
    border: Threshold
    n_outliers: int
    figures: Figures
    top: Sequence[TopRow]
    named: Mapping[str, int]
    curve: NDArray[np.float64]
    verdicts: Sequence[Verdict]
    notes: Sequence[str]
    ranking_path: str | None
    timings: Mapping[str, float] = field(default_factory=dict)

    def timed(self, timings: Mapping[str, float]) -> Self:
        """The same with the seconds it took."""
        return replace(self, timings=timings)

    @property
    def has_ids(self) -> bool:
        """Whether rows are named by an id column."""
        return any(row.id is not None for row in self.top)


def print_outliers(found: Found) -> None:
    """What was found, the top of the ranking with reasons, and what the gates say."""
    print_pairs([*facts(found), *(("note", plain(note)) for note in found.notes)])
    print()
    _print_top(found)
    if found.verdicts:
        print()
        print_rows([gate_row(verdict) for verdict in found.verdicts], numbers=False)
    print()
    print(_whereabouts(found))


def outliers_document(found: Found) -> dict[str, Any]:
    """What `detect-outliers --json` prints."""
    model = found.model
    return {
        "command": "detect-outliers",
        "model": found.model_path,
        "fitted": found.fitted,
        **_kind_document(model),
        "rows": rows_document(found.counts),
        "contamination": found.border.fraction,
        "estimated": found.contamination is None,
        "outlier_fraction": found.figures["outlier_fraction"],
        "n_outliers": found.n_outliers,
        "threshold": found.border.threshold,
        "scale": found.border.scale,
        "outliers": [_row_document(row, with_id=found.has_ids) for row in found.top],
        "metrics": found.figures,
        "gates": gates_document(found.verdicts),
        "fit": model.fit.as_dict(),
        "ranking": found.ranking_path,
        "notes": list(found.notes),
        "timings": dict(found.timings),
    }


def facts(found: Found) -> list[tuple[str, str]]:
    """What rows are ranked by, and how many stand out."""
    model = found.model
    kernel = (
        [("features", model.feature_map.describe())]
        if isinstance(model, Model) and not model.is_linear
        else []
    )
    return [
        ("model", _describe_subject(found)),
        *kernel,
        ("rows", describe_rows(found.counts)),
        ("outliers", describe_border(found)),
        ("score", _describe_score(found)),
    ]


def _describe_subject(found: Found) -> str:
    model = found.model
    what = describe_clusters(model) if isinstance(model, ClusterModel) else describe_model(model)
    return what if found.fitted else f"{found.model_path}: {what}"


def describe_border(found: Found) -> str:
    """How many rows are outliers, and who said how many."""
    n, share = found.n_outliers, 100.0 * float(found.figures["outlier_fraction"] or 0.0)
    rows = "none" if n == 0 else f"{n} row{'s' * (n != 1)} ({share:.3g} %)"
    asked = found.contamination
    said = opt("contamination", f"{asked:g}") if asked is not None else ""
    how = f"as many as {said} says" if said else "estimated from the rows"
    verb = "has" if n == 1 else "have"
    return f"{rows} {verb} a score above {found.border.threshold:.3g}; {how}"


def _describe_score(found: Found) -> str:
    """What a score is, in units of the file."""
    model, scale = found.model, number(found.border.scale)
    if isinstance(model, ClusterModel):
        return "distance to the nearest centre, in deviations of such distances"
    if model.task is Task.REGRESSION:
        return f"error of the prediction, in deviations of {scale} {plain(model.target.name)}"
    return "minus the logarithm of the probability of the given class"


def _print_top(found: Found) -> None:
    """The first rows in columns; reasons go on below each other where they are long."""
    heads = ["rank", "row", *(["id"] if found.has_ids else []), "score", "outlier", "why"]
    rows = [
        [
            str(row.rank),
            str(row.row),
            *([plain(_id_text(row.id))] if found.has_ids else []),
            f"{row.score:.4g}",
            "yes" if row.is_outlier else "no",
            plain(row.reason),
        ]
        for row in found.top
    ]
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)][:-1]
    indent = sum(widths) + 2 * len(widths)
    width = max(min(get_terminal_size().columns, WIDEST), NARROWEST, indent + 30)
    for row in [heads, *rows]:
        cells = [cell.rjust(w) for cell, w in zip(row[:-1], widths, strict=True)]
        lines = textwrap.wrap(row[-1], width - indent, break_long_words=False) or [""]
        print("  ".join([*cells, lines[0]]).rstrip())
        for line in lines[1:]:
            print(" " * indent + line)


def _whereabouts(found: Found) -> str:
    """Where the results are."""
    said = (
        f"all {found.counts.used} rows are ranked in {found.ranking_path}"
        if found.ranking_path
        else "pass -o RANKING.csv to keep the ranking of all rows"
    )
    if found.fitted and found.model_path:
        said += f"; the model is in {found.model_path}"
    return said


def _kind_document(model: Model | ClusterModel) -> dict[str, Any]:
    if isinstance(model, ClusterModel):
        return {"kind": "clusters", "target": None, "loss": "squared distance"}
    return {"kind": str(model.task), "target": model.target.name, "loss": model.loss}


def _row_document(row: TopRow, *, with_id: bool) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "row": row.row,
        **({"id": row.id} if with_id else {}),
        "loss": row.loss,
        "score": row.score,
        "is_outlier": row.is_outlier,
        "reason": row.reason,
        "contributions": [{"column": name, "contribution": part} for name, part in row.parts],
    }


def _id_text(value: str | int | None) -> str:
    return "" if value is None else str(value)
