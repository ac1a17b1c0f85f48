"""Cluster the rows of a table: read, design, search, evaluate, write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lrisk_cli.api.clock import Clock
from lrisk_cli.api.pages import PageOptions, check_shape, parse_page
from lrisk_cli.clusters.clustering import CHUNK, Assignment, ClusterOptions
from lrisk_cli.clusters.options import ClusterOutput, Clusters, ClusterSearch, parse_clusters
from lrisk_cli.design.design import Design, DesignOptions, encode_design, read_design
from lrisk_cli.design.options import Columns
from lrisk_cli.evaluation.agreement import Agreement, LabelTally
from lrisk_cli.evaluation.checks import Checks, make_checks
from lrisk_cli.evaluation.cluster_evaluation import (
    EvaluatedClusters,
    RowViews,
    SeenRows,
    assignment_columns,
    evaluate_clusters,
)
from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.evaluation.metrics import parse_risks
from lrisk_cli.evaluation.options.evaluating import Labels
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.registry import OF_CLUSTERED, OF_LABELS, spell_metric
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.models.cluster_fit import fit_clusters, require_numbers
from lrisk_cli.models.cluster_model import ClusterModel, save_clusters
from lrisk_cli.progress import Report
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.kept_columns import find_kept, with_kept
from lrisk_cli.tables.options import Data
from lrisk_cli.tables.table import Table, check_apart, check_output, open_table, write_table
from lrisk_cli.warnings import Warnings, count_warnings


@dataclass(frozen=True, slots=True)
class Job:
    """What to cluster, how, which figures are gated, and where the results go.

    keep: what files and pages would hold of the rows stays in the result.
    """

    data: Inputs
    dtypes: dict[str, str]
    ks: tuple[int, ...]
    columns: DesignOptions
    clustering: ClusterOptions
    label: str | None
    inliers: tuple[str, ...]
    output: str | None
    assignments: str | None
    page: PageOptions | None
    checks: Checks
    keep: bool = False
    copied: tuple[str, ...] = ()

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """Clusters, assignments, page, results of gates; None for those not asked for."""
        page = self.page.path if self.page else None
        return self.output, self.assignments, page, self.checks.junit


def make_job(
    data: Data,
    clusters: Clusters,
    columns: Columns,
    labels: Labels,
    search: ClusterSearch,
    output: ClusterOutput,
    gates: Gates,
    *,
    seed: int,
    html: str | None,
    image_shape: str | None,
) -> Job:
    """What the options ask for; impossible ones are refused."""
    label = labels.label
    known = OF_CLUSTERED if label is None else OF_CLUSTERED | OF_LABELS
    return Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        ks=parse_clusters(clusters.clusters),
        columns=replace(
            columns.parse(),
            intercept=False,
            aside=None if label is None else ("label", label),
            pixels=image_shape is not None,
        ),
        clustering=search.parse(clusters.risk, seed),
        label=label,
        inliers=labels.inliers,
        output=output.output,
        assignments=output.assignments,
        page=parse_page(html, image_shape),
        checks=make_checks(gates, "cluster", lambda text: spell_metric(text, known)),
        copied=columns.parse_keep(output.assignments, "assignments"),
    )


@dataclass(frozen=True, slots=True)
class Clustered:
    """The clusters, how they do on their own rows and, for a page, what it shows of these.

    kept: columns of an assignments file, where they are to stay.
    """

    model: ClusterModel
    evaluated: EvaluatedClusters
    notes: Sequence[str]
    timings: dict[str, float]
    seen: SeenRows | None
    warnings: Warnings = ()
    gate_results: Sequence[GateResult] = ()
    kept: dict[str, Any] | None = None


def run(job: Job, report: Report, *, force: bool) -> Clustered:
    """Read, design, cluster, evaluate; write the clusters and the assignments."""
    clock = Clock()
    for path in job.outputs:
        if path is not None:
            check_output(path, force=force, table=path == job.assignments)
    table = open_table(job.data, dtypes=job.dtypes)
    check_apart(job.outputs, table.paths)
    kept_names = find_kept(table, job.copied, job.columns.id_column)
    raw = read_design(table, job.columns, report)
    require_numbers(raw)
    clock.lap("read_s")
    design, _ = encode_design(raw, job.columns)
    del raw
    check_shape(job.page, table.label, design.encoding)
    clock.lap("design_s")
    model, placed, best = fit_clusters(table.label, design, job.ks, job.clustering, report)
    clock.lap("solve_s")
    seen = _look(design, placed) if job.keep or job.page is not None else None
    # The largest array of all: from here on only distances are needed.
    design = replace(design, rows=design.rows.take(slice(0)))
    evaluated = _evaluate(job, table, design, model, placed)
    clock.lap("judge_s")
    if job.output is not None:
        save_clusters(job.output, model)
    kept = None
    if job.keep or job.assignments is not None:
        columns = _assignment_columns(design, placed, model.spectrum)
        kept = with_kept(columns, table, kept_names)
    if job.assignments is not None and kept is not None:
        write_table(job.assignments, kept)
    clock.lap("write_s")
    notes = (*design.notes, *_remarks(best.reseeded))
    same = (*warn_of_same_files(table.paths), *design.warnings)
    others = {"n_rows": evaluated.counts.read, **count_warnings(same)}
    gated = job.checks.apply(evaluated.figures, others)
    return Clustered(model, evaluated, notes, clock.timings(), seen, same, gated, kept)


def _look(design: Design, placed: Assignment) -> SeenRows:
    """What the page shows of the rows, taken a few at a time."""
    (n_rows, n_columns), outliers = design.rows.shape, placed.outliers
    views = RowViews(n_columns)
    for start in range(0, n_rows, CHUNK):
        at = slice(start, start + CHUNK)
        X = design.rows.dense_rows(at)
        views.add(design.row_numbers[at], X, placed.clusters[at], placed.losses[at], outliers[at])
    return views.seen(placed.losses)


def _evaluate(
    job: Job, table: Table, design: Design, model: ClusterModel, placed: Assignment
) -> EvaluatedClusters:
    """The figures of the clusters on their own rows."""
    agreement = (
        None if job.label is None else _compare(job, table, design, len(model.centres), placed)
    )
    counts = replace(design.counts, used=len(design.row_numbers))
    gated = parse_risks(job.checks.risks) if job.checks.risks else ()
    return evaluate_clusters(
        model, counts, placed.clusters, placed.losses, agreement, gated, design.masses
    )


def _compare(
    job: Job, table: Table, design: Design, n_clusters: int, placed: Assignment
) -> Agreement:
    """Read the labels, one more pass over the table, and compare the clusters with them."""
    name = str(job.label)
    tally = LabelTally(f"{table.label}, column '{name}'", n_clusters, job.inliers)
    for batch in table.batches([name], invalid_as_missing=True):
        ends = (batch.first_row, batch.first_row + batch.n_rows)
        used = slice(*np.searchsorted(design.row_numbers, ends))
        cells: Any = batch.columns[name]
        weights = None if design.masses is None else design.masses[used]
        own = cells[design.row_numbers[used] - batch.first_row]
        tally.add(own, placed.clusters[used], weights)
    return tally.agreement(placed.losses, design.masses)


def _assignment_columns(design: Design, placed: Assignment, risk: Spectrum) -> dict[str, Any]:
    return assignment_columns(
        design.named_rows, placed.clusters, placed.losses, placed.outliers, risk, design.masses
    )


def _remarks(reseeded: int) -> tuple[str, ...]:
    """What to know about the search."""
    if not reseeded:
        return ()
    what = "1 cluster was" if reseeded == 1 else f"{reseeded} clusters were"
    return (f"{what} left without weight on the way and started again from another row",)
