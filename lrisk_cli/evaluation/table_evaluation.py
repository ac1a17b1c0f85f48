"""Evaluate a model on the rows of a table, in one pass: figures of the losses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.evaluation.coverage import Coverage
from lrisk_cli.evaluation.metrics import (
    Figures,
    Intervals,
    Tally,
    bootstrap_intervals,
    reported_errors,
    risk_figures,
)
from lrisk_cli.evaluation.prediction_spread import PredictionSpread
from lrisk_cli.evaluation.warning_rules import add_scored, make_spread
from lrisk_cli.evaluation.weighted_intervals import importance_intervals, unit_intervals
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.models.scoring import (
    LOSS_BYTES,
    ROW_BYTES,
    RowTally,
    ScoredRows,
    columns_of,
    score_table,
)
from lrisk_cli.names import WeightKind
from lrisk_cli.progress import Report
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.tables.table import Table
from lrisk_cli.types import Flags

if TYPE_CHECKING:
    from lrisk_cli.evaluation.group_figures import GroupedRows
    from lrisk_cli.evaluation.page_rows import PageRows


@dataclass(slots=True)
class TableTally:
    """What one pass over a table leaves behind. kept: all rows, where a file is to hold them.

    spread, digest: for warnings.
    """

    losses: Tally
    rows: RowTally
    kept: ScoredRows | None
    spread: PredictionSpread
    digest: RowDigest


def make_tally(model: Model, asked: Sequence[str] = (), *, weighted: bool = False) -> Tally:
    """What collects the errors that the loss of the model brings, and those asked for."""
    return Tally(reported_errors(model, asked), weighted=weighted)


def tally_table(
    model: Model,
    table: Table,
    id_column: str | None,
    *,
    keep: bool,
    report: Report,
    seen: "PageRows | None" = None,
    asked: Sequence[str] = (),
    threshold: float | None = None,
    held_out: Flags | None = None,
    covered: Coverage | None = None,
    grouped: "GroupedRows | None" = None,
) -> TableTally:
    """One pass over the table; only losses and scores stay in memory, unless the rows are kept.

    seen: takes what a page shows of the rows, where one is asked for. asked: metrics beyond the
    usual. threshold: of two classes, the least probability at which the second is predicted.
    held_out: among the usable rows, where only the rows held out by the fit are evaluated. covered,
    grouped: take the rows where intervals, or groups, are asked for.
    """
    kept = ScoredRows() if keep else None
    found = TableTally(
        make_tally(model, asked, weighted=model.encoding.weight is not None),
        RowTally(),
        kept,
        make_spread(model),
        RowDigest(),
    )
    columns, rows = columns_of(model.encoding), found.rows
    if grouped is not None:
        columns = list(dict.fromkeys([*columns, *grouped.columns]))
    kept_bytes = reported_errors(model).bytes_kept + (ROW_BYTES if keep else 0)
    kept_bytes += 0 if model.encoding.weight is None else 2 * LOSS_BYTES
    if held_out is None:
        batches = score_table(model, table, columns, id_column, rows, report, kept_bytes)
    else:
        from lrisk_cli.evaluation.held_out import score_held_out

        batches = score_held_out(
            model, table, held_out, columns, id_column, rows, report, kept_bytes
        )
    for scored, ids in batches:
        if threshold is not None:
            scored = decide(scored, threshold)
        losses, targets = scored.known_losses, scored.known_targets
        weights = scored.encoded.weights
        found.losses.add(losses, targets, scored.predictions, scored.probabilities, weights)
        found.digest.add(scored.encoded.rows, targets)
        add_scored(found.spread, scored)
        if covered is not None:
            covered.add(scored)
        if grouped is not None:
            grouped.add(scored)
        if kept is not None:
            kept.add(scored, ids)
        if seen is not None:
            seen.add(scored.rows, losses, ids, targets, scored.predictions, weights)
    found.rows.require_used(table.label, "evaluate")
    if seen is not None:
        seen.classes, seen.worst.lines = found.losses.classes, rows.ragged.lines
    return found


def decide(scored: ScoredBatch, threshold: float) -> ScoredBatch:
    """The second of two classes wherever its probability is at least the threshold."""
    assert scored.probabilities is not None  # noqa: S101
    codes = np.asarray(scored.probabilities[:, 1] >= threshold, dtype=np.int32)
    return replace(scored, predictions=codes)


def figures_of_losses(
    tally: Tally,
    spectra: Sequence[Spectrum],
    seed: int | None,
    report: Report,
    kind: WeightKind = WeightKind.FREQUENCY,
) -> tuple[Figures, Intervals | None]:
    """All figures of the losses, and intervals of the risks where a seed is given.

    kind: of the weights of the rows, where they have any.
    The losses of the tally are sorted in place: reading order is not needed any more.
    """
    ascending, masses = tally.sort()
    figures = risk_figures(ascending, spectra, masses) | tally.figures(ascending, masses)
    if seed is None:
        return figures, None
    if masses is None:
        return figures, bootstrap_intervals(ascending, spectra, seed, report)
    if kind is WeightKind.IMPORTANCE:
        return figures, importance_intervals(ascending, masses, spectra)
    return figures, unit_intervals(ascending, masses, spectra, seed, report)
