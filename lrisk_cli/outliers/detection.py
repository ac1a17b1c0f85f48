"""Losses of rows and a threshold -> outliers, their ranking, and the reasons."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.cluster_evaluation import weighted_flags
from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.evaluation.group_figures import ByGroup
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.metrics import Figures, risk_figures
from lrisk_cli.evaluation.rankings import largest_first, rank_order
from lrisk_cli.evaluation.registry import figures_of
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.outliers.diagnosis import Diagnosis
from lrisk_cli.outliers.reasons import Reasons
from lrisk_cli.outliers.subjects import ExplainedRows, Subject
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.robust.judge import ERROR, KINDS, PLAIN
from lrisk_cli.robust.scale_mixture import Threshold, scores
from lrisk_cli.tables.arrays import arrow_of, arrow_texts
from lrisk_cli.tables.kept_columns import beside
from lrisk_cli.tables.row_lines import RowPlace
from lrisk_cli.types import Array, Flags, Index
from lrisk_cli.warnings import Warnings

_CHUNK = 65_536
# Points of the curve of scores.
_MOST_POINTS = 240


@dataclass(frozen=True, slots=True)
class TopRow:
    """A row of the ranking. parts: columns, and what they contribute to the loss; largest first."""

    rank: int
    place: RowPlace
    id: str | int | None
    loss: float
    score: float
    is_outlier: bool
    kind: str
    reason: str
    parts: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """Which rows are outliers, (n,), and those that are explained. indices: theirs,
    ascending.

    names_all: the numbers and ids in `explained` are of all rows, not only of these.
    """

    subject: Subject
    outliers: Flags
    indices: Index
    explained: ExplainedRows
    names_all: bool
    top: Sequence[TopRow]

    @property
    def shares(self) -> Flags | Array:
        """How much of each row is an outlier. (n,)."""
        ranked = self.subject.ranked
        return self.outliers if ranked is None else ranked.shares


@dataclass(frozen=True, slots=True, eq=False)
class Outliers:
    """What `detect-outliers` found.

    fitted: whether the model was fitted to these rows. contamination: as asked, None for auto.
    kinds: how many rows are of each, long tails included. named: how many of the rows explained
    name a column first. curve: (2, m) ranks and scores. shown: the first rows
    again, for a page up to 50 outliers. diagnosis: for a page. ranking: parts of a ranking file,
    where they are to stay.
    """

    model: Model | ClusterModel
    model_path: str | None
    fitted: bool
    counts: RowCounts
    contamination: float | None
    threshold: Threshold
    n_outliers: int
    kinds: Mapping[str, int]
    figures: Figures
    top: Sequence[TopRow]
    named: Mapping[str, int]
    curve: Array
    gate_results: Sequence[GateResult]
    notes: Sequence[str]
    ranking_path: str | None
    timings: Mapping[str, float]
    warnings: Warnings = ()
    shown: Sequence[TopRow] = ()
    weight: WeightRecord | None = None
    by_group: ByGroup | None = None
    diagnosis: Diagnosis | None = None
    ranking: Sequence[Mapping[str, Any]] = ()

    @property
    def has_lines(self) -> bool:
        """Whether rows are on lines of text."""
        return any(row.place.line is not None for row in self.top)

    @property
    def has_ids(self) -> bool:
        """Whether rows are named by an id column."""
        return any(row.id is not None for row in self.top)


def rank_rows(
    subject: Subject,
    losses: Array,
    n_top: int,
    *,
    explain_all: bool,
    name_all: bool,
    n_outliers: int = 0,
) -> RankedRows:
    """Flag the outliers and explain the first rows, or all outliers. losses: reading order, (n,).

    name_all: also learn the numbers and ids of all rows. n_outliers: so many outliers at most are
    among the first rows, though they are more than n_top.
    """
    outliers = _flag(subject, losses)
    n_first = max(n_top, min(n_outliers, int(np.count_nonzero(outliers))))
    first = largest_first(subject.ranks_by(losses), n_first)
    indices = np.union1d(np.flatnonzero(outliers) if explain_all else first, first)
    explained = subject.explain(indices, name_all)
    at = np.searchsorted(indices, first)
    named = (first if name_all else at).tolist()
    ids = None if explained.ids is None else _spell_ids(explained.ids.take(np.asarray(named)))
    found = subject.scores(losses, first).tolist()
    kinds = _kinds_of(subject, outliers, first)
    top = [
        TopRow(
            rank=k + 1,
            place=subject.rows.ragged.lines.place(int(explained.rows[named[k]])),
            id=None if ids is None else ids[k],
            loss=float(losses[place]),
            score=found[k],
            is_outlier=bool(outliers[place]),
            kind=kinds[k],
            reason=explained.reasons.sentences[at[k]],
            parts=explained.reasons.of(at[k]),
        )
        for k, place in enumerate(first.tolist())
    ]
    return RankedRows(subject, outliers, indices, explained, name_all, top)


def _flag(subject: Subject, losses: Array) -> Flags:
    """Which rows are outliers, some at a time: scores of all would take memory. (n,)."""
    if subject.ranked is not None:
        return subject.ranked.outliers
    outliers = np.empty(len(losses), np.bool_)
    for start in range(0, len(losses), _CHUNK):
        some = slice(start, start + _CHUNK)
        outliers[some] = subject.scores(losses, some) > subject.threshold.threshold
    return outliers


def _kinds_of(subject: Subject, outliers: Flags, rows: Index) -> list[str]:
    """What these rows are called; empty for ordinary ones."""
    if subject.ranked is not None:
        return [KINDS[kind] for kind in subject.ranked.kinds[rows].tolist()]
    return [KINDS[ERROR] if outlier else KINDS[PLAIN] for outlier in outliers[rows].tolist()]


def count_kinds(subject: Subject) -> dict[str, int]:
    """How many rows are of each kind that occurs; empty where kinds are not told apart."""
    if subject.ranked is None:
        return {}
    counts = np.bincount(subject.ranked.kinds, minlength=len(KINDS)).tolist()
    return {name: count for name, count in zip(KINDS, counts, strict=True) if name and count}


def _spell_ids(ids: pa.Array) -> list[str | int | None]:
    """Whole numbers and texts as they are, anything else (dates, fractions) as text."""
    return [
        value if value is None or isinstance(value, str | int) else str(value)
        for value in ids.to_pylist()
    ]


def ranking_parts(
    ranked: RankedRows, losses: Array, kept: Mapping[str, pa.Array]
) -> Iterator[dict[str, Any]]:
    """The ranking of all rows, some at a time: the most outlying first. losses: reading order.

    Reasons are null where a row was not explained. kept: columns of the table, in reading order.
    """
    subject, explained = ranked.subject, ranked.explained
    lines = subject.rows.ragged.lines
    order = rank_order(subject.ranks_by(losses))
    for start in range(0, len(order), _CHUNK):
        indices = order[start : start + _CHUNK]
        columns: dict[str, Any] = {
            "rank": np.arange(start + 1, start + 1 + len(indices)),
            **lines.columns(explained.rows[indices]),
        }
        if explained.ids is not None:
            columns["id"] = explained.ids.take(pa.array(indices))
        if subject.weights is not None:
            columns["row_weight"] = subject.weights[indices]
        columns |= {
            "loss": losses[indices],
            "score": subject.scores(losses, indices),
            "is_outlier": ranked.outliers[indices].astype(np.int8),
            "kind": arrow_texts(_kinds_of(subject, ranked.outliers, indices)),
            **_reason_columns(explained.reasons, ranked.indices, indices),
        }
        here = arrow_of(indices)
        yield beside(columns, {name: cells.take(here) for name, cells in kept.items()})


def _reason_columns(reasons: Reasons, explained: Index, indices: Index) -> dict[str, Any]:
    """Reasons of the rows at these indices; null where there are none. explained: ascending."""
    at = np.minimum(np.searchsorted(explained, indices), len(explained) - 1)
    absent = explained[at] != indices
    present = reasons.take(at[~absent])
    index = pa.array(np.cumsum(~absent) - 1, mask=absent)
    columns: dict[str, Any] = {"reason": arrow_texts(present.sentences).take(index)}
    names = arrow_texts(reasons.columns)
    for k in range(reasons.named.shape[1]):
        named, parts = present.named[:, k], present.parts[:, k]
        columns[f"reason_{k + 1}"] = names.take(pa.array(named, mask=named < 0)).take(index)
        columns[f"contribution_{k + 1}"] = pa.array(parts, from_pandas=True).take(index)
    return columns


def outlier_figures(
    ranked: RankedRows,
    ascending: Array,
    spectra: Sequence[Spectrum],
    masses: Array | None = None,
) -> Figures:
    """What gates can ask for. ascending, masses: sorted losses, and the weights of their rows."""
    subject = ranked.subject
    return {
        **figures_of(weighted_flags(ranked.shares, subject.weights), [Needs.FLAGS]),
        **figures_of(subject.rows, [Needs.ROWS, Needs.CELLS]),
        **risk_figures(ascending, spectra, masses),
    }


def outlier_groups(
    ranked: RankedRows, losses: Array, spectra: Sequence[Spectrum]
) -> ByGroup | None:
    """The same of each group, where columns of groups are named. losses: reading order, (n,)."""
    subject = ranked.subject
    if subject.groups is None:
        return None
    from lrisk_cli.outliers.groups import figures_by_group

    return figures_by_group(
        subject.groups, losses, ranked.shares, spectra, subject.weights, subject.counting.kind
    )


def score_curve(subject: Subject, ascending: Array) -> Array:
    """Ranks, even on a logarithmic axis, and their scores. ascending: sorted losses. (2, m)."""
    if subject.ranked is not None:
        ascending = np.sort(subject.ranked.scores)
    n_rows = len(ascending)
    ranks = np.unique(np.rint(np.geomspace(1, n_rows, _MOST_POINTS)).astype(np.intp))
    at = ascending[n_rows - ranks]
    if subject.ranked is None:
        at = scores(at, subject.model.row_loss, subject.threshold)
    return np.stack([ranks, at])


def count_named(reasons: Reasons) -> dict[str, int]:
    """How often each column comes first among the reasons, the most frequent first."""
    first = reasons.named[:, 0]
    counts = np.bincount(first[first >= 0], minlength=len(reasons.columns))
    order = np.argsort(-counts, kind="stable")
    return {reasons.columns[k]: int(counts[k]) for k in order.tolist() if counts[k]}
