"""Rows to be ranked and their losses: under a robust fit, a robust clustering, or a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lrisk_cli.design.design import Design, DesignOptions, RawDesign, encode_design, read_design
from lrisk_cli.design.encoding import EncodedBatch
from lrisk_cli.design.groups import GroupCollector, RowGroups, find_group_columns
from lrisk_cli.design.raw_rows import RAGGED
from lrisk_cli.evaluation.row_weights import ALIKE, RowCounting, suit_table
from lrisk_cli.evaluation.streams import Column
from lrisk_cli.evaluation.warning_rules import warn_of_learned_rows
from lrisk_cli.models.cluster_fit import fit_shapes, require_numbers
from lrisk_cli.models.cluster_model import ClusterModel, count_rows_of
from lrisk_cli.models.copies import JUDGED_ALIKE, alike_notes, copies_of, rows_of_copies
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.models.scoring import LOSS_BYTES, RowTally, columns_of, encode_table, score_table
from lrisk_cli.names import Missing
from lrisk_cli.outliers.cluster_scores import score_anomalies
from lrisk_cli.outliers.diagnosis import Diagnosis, diagnose
from lrisk_cli.outliers.distance_reasons import explain_distances
from lrisk_cli.outliers.options import default_clusters
from lrisk_cli.outliers.reasons import (
    Reasons,
    Usual,
    explain_rows,
    join_reasons,
    learned_row,
    usual_row,
)
from lrisk_cli.outliers.robust_fit import RankedScores, fit_robust
from lrisk_cli.progress import Report
from lrisk_cli.risk.value import check_largest
from lrisk_cli.robust.scale_mixture import Threshold, find_threshold, scores
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.tables.table import Batch, Table, join_arrays
from lrisk_cli.types import Array, Index
from lrisk_cli.warnings import Warnings

# Rows of a stream by which its usual row is judged.
SAMPLED_ROWS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRows:
    """Numbers and ids of rows, and the reasons for some of their losses."""

    rows: NDArray[np.int64]
    ids: pa.Array | None
    reasons: Reasons


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """The model that the losses belong to, and the threshold for outliers. explain: indices of some
    rows, ascending, and whether to name all rows or only these -> `ExplainedRows`, with the reasons
    of these.
    ranked: scores and kinds of all rows where these are not functions of the losses. diagnose: the
    errors of the rows beside their distances, if the target is of numbers. weights: how much the
    rows count, (n,), if they do not count alike; counting: by which column; groups: of the rows,
    where their columns are named.
    """

    model: Model | ClusterModel
    threshold: Threshold
    rows: RowTally
    explain: Callable[[Index, bool], ExplainedRows]
    notes: tuple[str, ...]
    warnings: Warnings = ()
    ranked: RankedScores | None = None
    diagnose: Callable[[], Diagnosis | None] = lambda: None
    weights: Array | None = None
    counting: RowCounting = ALIKE
    groups: RowGroups | None = None

    def scores(self, losses: Array, rows: slice | Index) -> Array:
        """The scores of some rows. losses: of all, in reading order."""
        if self.ranked is not None:
            return self.ranked.scores[rows]
        return scores(losses[rows], self.model.row_loss, self.threshold)

    def ranks_by(self, losses: Array) -> Array:
        """What the rows are ranked by, the largest first. (n,)."""
        return losses if self.ranked is None else self.ranked.scores


def fit_subject(
    table: Table,
    columns: DesignOptions,
    fit: FitOptions,
    contamination: float | None,
    report: Report,
) -> tuple[Subject, Array]:
    """A robust fit to the rows of a table, and their losses. (n,)."""
    raw = read_design(table, columns, report)
    rows = _tally(raw, columns.missing)
    texts = tuple(raw.usable.rows.texts)  # which an encoded design lets go
    design, _ = encode_design(raw, columns)
    del raw
    robust = fit_robust(design, fit, contamination, report, texts)
    model = robust.fitted.model

    def reasons(indices: Index) -> Reasons:
        usual = usual_row(design.rows, design.encoding)
        few = design.rows.dense_rows(indices)
        exposure = None if design.exposure is None else design.exposure[indices]
        firsts, cells = robust.ranked.firsts[indices], robust.ranked.describe(indices)
        return explain_rows(model, usual, few, design.targets[indices], exposure, firsts, cells)

    notes = (*design.notes, *robust.fitted.notes, *robust.notes)

    def diagnosis() -> Diagnosis | None:
        sizes = model.row_loss.sizes(robust.losses)
        if sizes is None or len(robust.errors) == 0:
            return None
        errors = sizes / robust.threshold.scale
        seed, flags = fit.solver.seed, robust.ranked.outliers
        return diagnose(design.rows, errors, flags, robust.errors, seed)

    subject = Subject(
        model, robust.threshold, rows, _explainer(design, reasons), notes,
        ranked=robust.ranked, diagnose=diagnosis, **_counted(design),
    )  # fmt: skip
    return subject, robust.losses


def cluster_subject(
    table: Table,
    columns: DesignOptions,
    ks: tuple[int, ...],
    seed: int,
    contamination: float | None,
    report: Report,
) -> tuple[Subject, Array]:
    """The clusters of most rows of a table, and the squared distances of all. (n,).

    ks: numbers of clusters to try; none for the usual ones.
    """
    return subject_of_rows(read_design(table, columns, report), columns, ks, seed, contamination)


def subject_of_rows(
    raw: RawDesign,
    columns: DesignOptions,
    ks: tuple[int, ...],
    seed: int,
    contamination: float | None,
) -> tuple[Subject, Array]:
    """The same of rows that were read, which are used up."""
    require_numbers(raw)
    rows, label = _tally(raw, columns.missing), raw.label
    texts = tuple(raw.usable.rows.texts)  # which an encoded design lets go
    design, _ = encode_design(raw, columns)
    del raw
    copies = copies_of(design)
    whole = design if copies is None else copies.design
    judged_texts = texts if copies is None else [each[copies.rows] for each in texts]
    model, found = fit_shapes(label, whole, ks, default_clusters(*whole.rows.shape), seed)
    threshold, ranked, distance = score_anomalies(whole, judged_texts, found, contamination, seed)
    if copies is not None:
        found, ranked = found.of_rows(copies.firsts), ranked.of_rows(copies)
        model = count_rows_of(model, design, found.clusters)
    model = replace(model, outlier_distance=distance)

    def reasons(indices: Index) -> Reasons:
        few, firsts = design.rows.dense_rows(indices), ranked.firsts[indices]
        # Without a target, the features come first.
        firsts = np.where(firsts > 0, firsts - 1, -1).astype(np.int32)
        at = indices if ranked.copies is None else ranked.copies[indices]
        cells = [ranked.cells.describe(row) for row in at.tolist()]
        return explain_distances(model, few, found.clusters[indices], firsts, cells)

    explain = _explainer(design, reasons)
    notes = (*design.notes, *alike_notes(design))
    subject = Subject(model, threshold, rows, explain, notes, ranked=ranked, **_counted(design))
    return subject, found.losses


def model_subject(
    model: Model | ClusterModel,
    table: Table,
    id_column: str | None,
    contamination: float | None,
    report: Report,
    counting: RowCounting = ALIKE,
    by: Sequence[str] = (),
) -> tuple[Subject, Array]:
    """A model, and the losses of the rows of a table, 8 bytes for each. (n,).

    Rows are scored once; to explain some of them, the table is read again. by: what names the
    columns of groups.
    """
    digest = RowDigest()
    model, counting, counted = suit_table(model, counting, table)
    collector = GroupCollector(find_group_columns(table, by)) if by else None
    rows, usual, losses, weights = _score(model, table, digest, collector, report)
    check_largest(float(losses.max()))
    copies = rows_of_copies(weights, counting.kind)
    judged = losses if copies is None else losses[copies]
    if weights is not None and copies is None:
        counted = (*counted, JUDGED_ALIKE)
    goal = model.encoding.goal
    n_classes = 2 if goal is None else max(2, len(goal.classes))
    threshold = _in_unit(model, find_threshold(judged, model.row_loss, contamination, n_classes))
    if isinstance(model, ClusterModel) and model.scatters is not None and contamination is None:
        threshold = _beyond(model, judged, threshold)

    def explain(indices: Index, name_all: bool) -> ExplainedRows:
        return _read_again(model, table, id_column, usual, indices, report, name_all=name_all)

    learned = warn_of_learned_rows(model.fit, digest.text) if isinstance(model, Model) else ()
    groups = None if collector is None else collector.finish()
    subject = Subject(
        model, threshold, rows, explain, (*table.notes, *counted), learned,
        weights=weights, counting=counting, groups=groups,
    )  # fmt: skip
    return subject, losses


def _counted(design: Design) -> dict[str, Any]:
    """What a subject has of its design: how much its rows count, their groups, and warnings."""
    by = design.weighting
    counting = RowCounting(by.column, by.kind, asked=True)
    return {
        "weights": design.weights, "counting": counting, "groups": design.groups,
        "warnings": design.warnings,
    }  # fmt: skip


def _in_unit(model: Model | ClusterModel, found: Threshold) -> Threshold:
    """The threshold in units of the scale that a robust fit recorded, if it was one."""
    record = model.robust if isinstance(model, Model) else None
    if record is None or not record.scale:
        return found
    threshold = found.threshold * found.scale / record.scale
    return replace(found, threshold=threshold, scale=record.scale)


def _beyond(model: ClusterModel, losses: Array, found: Threshold) -> Threshold:
    """Farther than the outliers of the fit; than all rows where it had none."""
    distances = np.sqrt(losses)
    cut = float(distances.max()) if model.outlier_distance is None else model.outlier_distance
    return replace(found, fraction=float(np.mean(distances > cut)), threshold=cut / found.scale)


def _explainer(
    design: Design, reasons: Callable[[Index], Reasons]
) -> Callable[[Index, bool], ExplainedRows]:
    def explain(indices: Index, name_all: bool) -> ExplainedRows:
        if name_all:
            return ExplainedRows(design.row_numbers, design.ids, reasons(indices))
        ids = None if design.ids is None else design.ids.take(indices)
        return ExplainedRows(design.row_numbers[indices], ids, reasons(indices))

    return explain


def _tally(raw: RawDesign, missing: Missing) -> RowTally:
    """What became of the rows. n_missing: those dropped for a missing cell, and those filled in."""
    counts, kept = raw.usable.counts, raw.usable.rows
    n_missing = sum(n for why, n in counts.dropped.items() if why.startswith("missing "))
    if missing is Missing.IMPUTE:
        incomplete = np.isnan(kept.numbers).any(axis=1)
        for texts in kept.texts:
            incomplete |= texts.codes < 0
        n_missing += int(np.count_nonzero(incomplete))
    dropped = dict(counts.dropped)
    n_skipped = dropped.pop(RAGGED, 0)
    return RowTally(
        counts.read - n_skipped,
        counts.used,
        dropped,
        n_missing,
        filled=counts.filled,
        ragged=RaggedRows(counts.padded, n_skipped, list(counts.ragged), raw.usable.lines),
    )


def _score(
    model: Model | ClusterModel,
    table: Table,
    digest: RowDigest,
    groups: GroupCollector | None,
    report: Report,
) -> tuple[RowTally, Usual, Array, Array | None]:
    """One pass over the table: what became of its rows, an ordinary one, their losses and weights.

    groups: takes the groups of the rows.
    """
    rows, sample, kept = RowTally(), RowSample(SAMPLED_ROWS), Buffer(table.n_rows or 0)
    by = () if groups is None else groups.columns
    used, columns = 0, list(dict.fromkeys([*columns_of(model.encoding), *by]))
    weights = None if model.encoding.weight is None else Column()
    for scored, _ in score_table(model, table, columns, None, rows, report, LOSS_BYTES):
        losses = scored.known_losses
        if groups is not None:
            groups.add(scored.batch, scored.kept)
        if weights is not None and scored.weights is not None:
            weights.add(scored.weights)
        if scored.targets is not None:
            digest.add(scored.encoded.rows, scored.targets)
        if used + len(losses) > kept.size:
            kept.resize(used + len(losses) + used // 2)
        kept.view()[used : used + len(losses)] = losses
        used += len(losses)
        encoded = scored.encoded.rows
        sample.add(scored.rows, *(encoded.column(j) for j in range(encoded.shape[1])))
    rows.require_used(table.label, "evaluate")
    kept.resize(used)
    usual = usual_row(DenseRows(np.column_stack(sample.columns)), model.encoding)
    of_rows = None if weights is None else weights.values
    return rows, learned_row(usual, model.encoding), kept.view(), of_rows


def _read_again(
    model: Model | ClusterModel,
    table: Table,
    id_column: str | None,
    usual: Usual,
    indices: Index,
    report: Report,
    *,
    name_all: bool,
) -> ExplainedRows:
    """A second reading: names and reasons of some rows, up to the last of them; or names of all."""
    rows: list[Any] = []
    names: list[pa.Array] = []
    reasons: list[Reasons] = []
    before, columns = 0, columns_of(model.encoding)
    batches = encode_table(model.encoding, table, columns, id_column, RowTally(), report)
    for batch, encoded, ids in batches:
        after = before + len(encoded.kept)
        mine = indices[slice(*np.searchsorted(indices, [before, after]))] - before
        reasons.append(_reasons(model, usual, batch, encoded, mine))
        shown = slice(None) if name_all else mine
        rows.append(batch.first_row + encoded.kept[shown])
        if ids is not None:
            names.append(ids if name_all else ids.take(mine))
        before = after
        if not name_all and (len(indices) == 0 or indices[-1] < after):
            break
    ids = join_arrays(names) if names else None
    return ExplainedRows(np.concatenate(rows), ids, join_reasons(reasons))


def _reasons(
    model: Model | ClusterModel,
    usual: Usual,
    batch: Batch,
    encoded: EncodedBatch,
    indices: Index,
) -> Reasons:
    X = encoded.rows.dense_rows(indices)
    if isinstance(model, ClusterModel):
        return explain_distances(model, X, model.place(X)[0])
    targets: Any = model.targets_of(batch, encoded)
    exposure = None if encoded.exposure is None else encoded.exposure[indices]
    return explain_rows(model, usual, X, targets[indices], exposure)
