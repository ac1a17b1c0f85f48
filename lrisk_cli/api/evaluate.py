"""Evaluate a model of any kind on a table: figures, gates, the losses file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lrisk_cli.api.pages import PageOptions, check_shape
from lrisk_cli.clusters.clustering import as_matrix
from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.design.weights import UNWEIGHTED, Weighting
from lrisk_cli.errors import InvalidOption
from lrisk_cli.evaluation.agreement import LabelTally
from lrisk_cli.evaluation.asked import check_level, check_threshold
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.class_errors import ClassTally, Confusion
from lrisk_cli.evaluation.cluster_evaluation import (
    EvaluatedClusters,
    RowViews,
    SeenRows,
    assignment_columns,
    evaluate_clusters,
)
from lrisk_cli.evaluation.coverage import Coverage
from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.evaluation.group_figures import ByGroup
from lrisk_cli.evaluation.group_gates import group_values, make_canonical
from lrisk_cli.evaluation.group_risks import (
    groups_of_model,
    make_grouped,
    note_groups,
    split_risks,
)
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.metrics import Figures, Intervals, error_names_of, parse_risks
from lrisk_cli.evaluation.page_rows import EvaluatedRows, PageRows
from lrisk_cli.evaluation.rankings import scored_columns
from lrisk_cli.evaluation.registry import (
    OF_CLUSTERS,
    OF_LABELS,
    figures_of,
    metric_name,
    spell_metric,
)
from lrisk_cli.evaluation.row_weights import ALIKE, RowCounting, choose_weights, suit_table
from lrisk_cli.evaluation.table_evaluation import (
    figures_of_losses,
    tally_table,
)
from lrisk_cli.evaluation.warning_rules import warn_of_same_files, warn_of_table
from lrisk_cli.evaluation.worst_rows import RowSentence, WorstRows
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.loading import load_beside, with_policies
from lrisk_cli.models.model import Model
from lrisk_cli.models.scoring import ROW_BYTES, RowTally, ScoredRows, columns_of, score_table
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.progress import Report
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.kept_columns import find_kept, with_kept
from lrisk_cli.tables.table import Table, check_apart, check_output, open_table, write_table
from lrisk_cli.types import Array
from lrisk_cli.warnings import Warnings, count_warnings

# Spells a metric, or refuses it -> the gates that the user asked for.
MakeChecks = Callable[[Callable[[str], str]], Checks]


@dataclass(frozen=True, slots=True)
class Job:
    """What to evaluate, and where the results go.

    make_checks: the gates, once it is known which metrics the model has. seed: of bootstrap
    intervals, None for none. label, inliers: of clusters only. by: columns of groups. keep: what
    files and pages would hold of the rows stays in the result.
    """

    model: str
    data: Inputs
    risks: Sequence[str]
    make_checks: MakeChecks
    losses: str | None
    id_column: str | None
    seed: int | None
    label: str | None
    inliers: tuple[str, ...]
    page: PageOptions | None
    missing: Missing | None
    unseen: Unseen | None
    exposure: str | None = None
    weighting: Weighting = UNWEIGHTED
    threshold: float | None = None
    held_out: bool = False
    interval: float | None = None
    by: tuple[str, ...] = ()
    keep: bool = False
    copied: tuple[str, ...] = ()

    @property
    def paged(self) -> bool:
        """Whether what a page draws of the rows is kept."""
        return self.keep or self.page is not None

    def outputs(self, checks: Checks) -> list[str | None]:
        """The losses, the page and the results of the gates; None for those not asked for."""
        return [self.losses, self.page.path if self.page else None, checks.junit]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """A model on a table. paths, notes: of the table; worst: on the rows that lose most.

    rows: what a page draws, where one was asked for. classes: rows by true and predicted class, of
    a classifier. threshold: at which the second of two classes is predicted, if it was given.
    level: of the intervals, if any. by_group: the groups, where their columns were named.
    counting, weights: how much the rows count, and the weights as the table has them. (n,).
    kept: columns of a losses file, where they are to stay.
    """

    path: str
    model: Model
    counts: RowCounts
    figures: Figures
    intervals: Intervals | None
    checks: Checks
    gate_results: Sequence[GateResult]
    paths: Sequence[str]
    worst: Sequence[RowSentence]
    rows: EvaluatedRows | None
    notes: Sequence[str] = ()
    warnings: Warnings = ()
    classes: ClassTally | None = None
    threshold: float | None = None
    level: float | None = None
    counting: RowCounting = ALIKE
    weights: Array | None = None
    kept: dict[str, Any] | None = None
    by_group: ByGroup | None = None

    @property
    def confusion(self) -> Confusion | None:
        """Rows by true and predicted class; None for numbers, and for very many classes."""
        pairs = None if self.classes is None else self.classes.pairs
        if pairs is None:
            return None
        pairs = self.counting.counts(pairs, self.weights)
        return Confusion(self.model.target.classes, pairs)

    @property
    def weight(self) -> WeightRecord | None:
        """How much the rows count; None where all count alike."""
        return self.counting.record(self.weights)


@dataclass(frozen=True, slots=True, eq=False)
class ClusterEvaluation:
    """Clusters on a table. seen: what a page shows of the rows, where one was asked for.

    kept: columns of a losses file, where they are to stay.
    """

    path: str
    model: ClusterModel
    evaluated: EvaluatedClusters
    checks: Checks
    gate_results: Sequence[GateResult]
    paths: Sequence[str]
    worst: Sequence[RowSentence]
    seen: SeenRows | None
    notes: Sequence[str] = ()
    warnings: Warnings = ()
    kept: dict[str, Any] | None = None
    weight: WeightRecord | None = None

    @property
    def counts(self) -> RowCounts:
        """What became of the rows."""
        return self.evaluated.counts

    @property
    def figures(self) -> Figures:
        """The figures that gates are held against."""
        return self.evaluated.figures


def run(job: Job, report: Report, *, force: bool) -> Evaluation | ClusterEvaluation:
    """Load the model, score the table, evaluate; write the losses."""
    model = load_beside(job.model, job.data.names)
    check_threshold(job.model, model, job.threshold)
    if isinstance(model, ClusterModel):
        _refuse_for_clusters(job)
        model = with_policies(job.model, model, job.missing, job.unseen, job.exposure)
        return _evaluate_clusters(job, model, report, force=force)
    if job.label is not None:
        raise InvalidOption(
            "label", f"is compared with clusters, and {job.model} has none; leave it out"
        )
    if job.page is not None and job.page.shape is not None:
        raise InvalidOption(
            "image_shape", f"is for clusters, and {job.model} has none; leave it out"
        )
    if job.held_out:
        from lrisk_cli.evaluation.held_out import require_holdout

        require_holdout(job.model, model, job.missing)
    model = with_policies(job.model, model, job.missing, job.unseen, job.exposure)
    return _evaluate(job, model, report, force=force)


def _refuse_for_clusters(job: Job) -> None:
    """Refuse what only models of a target have."""
    for option, asked, why in (
        ("intervals", job.seed is not None, "which have none"),
        ("held_out", job.held_out, "which hold out no rows"),
        ("interval", job.interval is not None, "which predict no target"),
        ("by", bool(job.by), "which are groups themselves"),
    ):
        if asked:
            raise InvalidOption(option, f": {job.model} holds clusters, {why}; leave it out")


def _open(job: Job, model: Model | ClusterModel, checks: Checks, *, force: bool) -> Table:
    """The table; outputs that cannot be written, or would replace an input, are refused."""
    outputs = job.outputs(checks)
    for path in outputs:
        if path is not None:
            check_output(path, force=force, table=path == job.losses)
    table = open_table(job.data, expected=model.encoding.dtypes, written=model.encoding.written)
    check_apart(outputs, [job.model, *checks.inputs, *table.paths])
    return table


def _evaluate(job: Job, model: Model, report: Report, *, force: bool) -> Evaluation:
    def spell(name: str) -> str:
        return metric_name(name, model.task, error_names_of(model), model.target.classes)

    checks = job.make_checks(make_canonical(spell, job.by))
    check_level(checks, job.interval)
    of_rows, of_groups = split_risks([*job.risks, *checks.group_risks], job.by)
    asked = (*parse_risks(of_rows), *parse_risks(checks.risks or ["mean"]))
    model, counting = choose_weights(job.model, model, job.weighting)
    table = _open(job, model, checks, force=force)
    kept_names = find_kept(table, job.copied, job.id_column)
    model, counting, counted = suit_table(model, counting, table)
    grouped = make_grouped(model, table, job.by, checks.errors, counting.kind)
    of_groups = groups_of_model(model, grouped, of_groups)
    within = (risk.within for risk in of_groups)
    spectra: tuple[Spectrum, ...] = tuple(dict.fromkeys((*asked, *within)))
    held_out = None
    if job.held_out:
        from lrisk_cli.evaluation.held_out import find_held_out

        held_out = find_held_out(model, table, report)
    covered = Coverage(model, job.interval, job.model)
    seen = PageRows() if checks.github or job.paged else None
    tally = tally_table(
        model, table, job.id_column, keep=job.keep or job.losses is not None, report=report,
        seen=seen, asked=checks.errors, threshold=job.threshold, held_out=held_out, covered=covered,
        grouped=grouped,
    )  # fmt: skip
    by_group = grouped.finish(spectra, intervals=job.seed is not None) if grouped else None
    others = group_values(checks.of_groups, by_group)
    kept = None
    if tally.kept is not None:
        columns = scored_columns(model, tally.kept, tally.rows.ragged.lines)
        kept = with_kept(columns, table, kept_names)
    if job.losses is not None and kept is not None:
        write_table(job.losses, kept)
    figures, intervals = figures_of_losses(tally.losses, spectra, job.seed, report, counting.kind)
    intervals_of_rows = figures_of(covered, [Needs.INTERVALS])
    if job.interval is not None:
        figures |= intervals_of_rows
    ascending, masses = tally.losses.losses, tally.losses.weights
    paged = job.paged and seen is not None
    if by_group is not None:
        figures = {**{str(risk): by_group.risk(risk) for risk in of_groups}, **figures}
    others |= figures_of(tally.rows, [Needs.ROWS, Needs.CELLS])
    classes = tally.losses.classes
    means = None if classes is None else classes.means
    warnings = warn_of_table(model, figures, tally.spread, tally.digest.text, table.paths, means)
    others |= figures_of(model.fit, [Needs.FIT]) | count_warnings(warnings)
    others |= intervals_of_rows
    notes = (*counted, *covered.notes(tally.digest.text), *note_groups(model, job.by))
    return Evaluation(
        path=job.model,
        model=model,
        counts=tally.rows.counts,
        figures=figures,
        intervals=intervals,
        checks=checks,
        gate_results=checks.apply(figures, others),
        paths=table.paths,
        worst=[] if seen is None else seen.worst.predicted(model),
        rows=seen.evaluated("evaluated", model, ascending, masses) if seen and paged else None,
        notes=(*table.notes, *notes),
        warnings=warnings,
        classes=classes,
        threshold=job.threshold,
        level=job.interval,
        by_group=by_group,
        counting=counting,
        weights=masses,
        kept=kept,
    )


def _evaluate_clusters(
    job: Job, model: ClusterModel, report: Report, *, force: bool
) -> ClusterEvaluation:
    known = OF_CLUSTERS if job.label is None else OF_CLUSTERS | OF_LABELS
    checks = job.make_checks(lambda name: spell_metric(name, known))
    spectra = parse_risks([*job.risks, *checks.risks] or [model.risk])
    check_shape(job.page, job.model, model.encoding)
    model, counting = choose_weights(job.model, model, job.weighting)
    table = _open(job, model, checks, force=force)
    model, counting, counted = suit_table(model, counting, table)
    kept_names = find_kept(table, job.copied, job.id_column)
    tally = LabelTally(f"{table.label}, column '{job.label}'", len(model.centres), job.inliers)
    views = RowViews(model.encoding.n_columns)
    kept, rows = _score_clusters(job, model, table, tally, views, report)
    losses, clusters = kept.joined("losses"), kept.joined("predictions")
    weights = None if model.encoding.weight is None else kept.joined("weights")
    agreement = None if job.label is None else tally.agreement(losses, weights)
    evaluated = evaluate_clusters(model, rows.counts, clusters, losses, agreement, spectra, weights)
    assigned = None
    if job.keep or job.losses is not None:
        outliers = kept.joined("outliers")
        names = kept.names(rows.ragged.lines)
        columns = assignment_columns(names, clusters, losses, outliers, model.spectrum, weights)
        assigned = with_kept(columns, table, kept_names)
    if job.losses is not None and assigned is not None:
        write_table(job.losses, assigned)
    warnings = warn_of_same_files(table.paths)
    others = figures_of(rows, [Needs.ROWS, Needs.CELLS]) | count_warnings(warnings)
    worst = WorstRows(rows.ragged.lines)
    if checks.github:
        worst.add(kept.joined("rows"), losses, kept.ids, clusters)
    return ClusterEvaluation(
        path=job.model,
        model=model,
        evaluated=evaluated,
        checks=checks,
        gate_results=checks.apply(evaluated.figures, others),
        paths=table.paths,
        worst=worst.clustered(),
        seen=views.seen(losses) if job.paged else None,
        notes=(*table.notes, *counted),
        warnings=warnings,
        kept=assigned,
        weight=counting.record(weights),
    )


def _score_clusters(
    job: Job,
    model: ClusterModel,
    table: Table,
    tally: LabelTally,
    views: RowViews,
    report: Report,
) -> tuple[ScoredRows, RowTally]:
    """One pass over the table; the tally takes the labels, the views rows, if asked for."""
    kept, rows = ScoredRows(), RowTally()
    columns = [*columns_of(model.encoding), *([] if job.label is None else [job.label])]
    scoring = score_table(model, table, columns, job.id_column, rows, report, ROW_BYTES)
    for scored, ids in scoring:
        kept.add(scored, ids)
        clusters: Any = scored.predictions
        if job.paged and scored.outliers is not None:
            X = as_matrix(scored.encoded.rows)
            views.add(scored.rows, X, clusters, scored.known_losses, scored.outliers)
        if job.label is not None:
            cells: Any = scored.batch.columns[job.label]
            tally.add(cells[scored.kept], clusters, scored.weights)
    rows.require_used(table.label, "evaluate")
    return kept, rows
