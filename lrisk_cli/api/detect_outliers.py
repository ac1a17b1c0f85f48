"""Detect outliers: fit or load a model, rank the rows by their losses, explain, write."""

from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.api.clock import Clock
from lrisk_cli.design.design import DesignOptions
from lrisk_cli.errors import InvalidOption
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.group_gates import group_values
from lrisk_cli.evaluation.metrics import parse_risks
from lrisk_cli.evaluation.row_weights import ALIKE, RowCounting, choose_weights
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.models.cluster_model import ClusterModel, save_clusters
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.loading import load_beside, with_policies
from lrisk_cli.models.model import Model, save_model
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.outliers.detection import (
    Outliers,
    count_kinds,
    count_named,
    outlier_figures,
    outlier_groups,
    rank_rows,
    ranking_parts,
    score_curve,
)
from lrisk_cli.outliers.subjects import Subject, cluster_subject, fit_subject, model_subject
from lrisk_cli.progress import Report
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.risk.value import sort_losses
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.kept_columns import find_kept, read_kept
from lrisk_cli.tables.table import Table, check_apart, check_output, open_table, write_parts
from lrisk_cli.types import Array
from lrisk_cli.warnings import count_warnings

# Outliers that a page lists.
MOST_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Job:
    """Which rows to rank, by which model, and where the results go.

    model: a file, to rank by instead of a fit. missing, unseen: policies in place of the model's.
    ks: numbers of clusters to try where there is no target; none for the usual one. keep: what a
    file would hold of the rows stays in the result. by: what names the columns of groups, which
    `columns` has too, with the weights.
    """

    data: Inputs
    dtypes: dict[str, str]
    columns: DesignOptions
    fit: FitOptions
    ks: tuple[int, ...]
    contamination: float | None
    model: str | None
    missing: Missing | None
    unseen: Unseen | None
    top: int
    checks: Checks
    by: tuple[str, ...]
    output: str | None
    save_model: str | None
    html: str | None
    keep: bool = False
    copied: tuple[str, ...] = ()

    @property
    def outputs(self) -> list[str | None]:
        """All files to be written."""
        return [self.output, self.save_model, self.html, self.checks.junit]


def run(job: Job, report: Report, *, force: bool) -> Outliers:
    """Fit or score, rank, explain; write the model and the ranking."""
    for path in job.outputs:
        if path is not None:
            check_output(path, force=force, table=path == job.output)
    clock = Clock()
    table, subject, losses = _subject(job, report)
    kept_names = find_kept(table, job.copied, job.columns.id_column)
    clock.lap("fit_s" if job.model is None else "score_s")
    if job.save_model is not None:
        _save(job.save_model, subject.model)
    every = job.keep or job.output is not None
    ranked = rank_rows(
        subject, losses, job.top, explain_all=every or job.html is not None, name_all=every,
        n_outliers=0 if job.html is None else MOST_SHOWN,
    )  # fmt: skip
    clock.lap("rank_s")
    copied = read_kept(table, kept_names, ranked.explained.rows) if every else {}
    ranking = tuple(ranking_parts(ranked, losses, copied)) if job.keep else ()
    if job.output is not None:
        write_parts(job.output, ranking or ranking_parts(ranked, losses, copied))
    clock.lap("write_s")
    diagnosis = None if job.html is None else subject.diagnose()
    spectra = parse_risks(job.checks.risks or ["mean"])
    group_risks = [parse_fit_risk(text) for text in job.checks.group_risks]
    within = [each.within for each in group_risks if isinstance(each, GroupRisk)]
    of_groups = tuple(dict.fromkeys((*parse_risks(()), *spectra, *within)))
    by_group = outlier_groups(ranked, losses, of_groups)
    # In place: nothing needs the losses in reading order any more.
    masses = None if subject.weights is None else subject.weights.copy()
    ascending = sort_losses(losses, masses)
    figures = outlier_figures(ranked, ascending, spectra, masses)
    others = {**group_values(job.checks.of_groups, by_group), **count_warnings(subject.warnings)}
    return Outliers(
        model=subject.model,
        model_path=job.model or job.save_model,
        fitted=job.model is None,
        counts=subject.rows.counts,
        contamination=job.contamination,
        threshold=subject.threshold,
        n_outliers=int(np.count_nonzero(ranked.outliers)),
        kinds=count_kinds(subject),
        figures=figures,
        top=ranked.top[: job.top],
        named=count_named(ranked.explained.reasons),
        curve=score_curve(subject, ascending),
        gate_results=job.checks.apply(figures, others),
        notes=subject.notes,
        ranking_path=job.output,
        timings=clock.timings(),
        warnings=subject.warnings,
        shown=ranked.top,
        weight=subject.counting.record(subject.weights),
        by_group=by_group,
        diagnosis=diagnosis,
        ranking=ranking,
    )


def _subject(job: Job, report: Report) -> tuple[Table, Subject, Array]:
    """The table, what its rows are ranked by, and their losses in reading order."""
    model, counting = None, ALIKE
    if job.model is not None:
        model, counting = _load(job, job.model)
    if model is None:
        table = open_table(job.data, dtypes=job.dtypes)
    else:
        table = open_table(job.data, expected=model.encoding.dtypes, written=model.encoding.written)
    check_apart(job.outputs, [*job.checks.inputs, *table.paths])
    find_kept(table, job.copied, job.columns.id_column)
    subject, losses = _rank_by(job, model, counting, table, report)
    warnings = (*warn_of_same_files(table.paths), *subject.warnings)
    return table, replace(subject, warnings=warnings), losses


def _rank_by(
    job: Job,
    model: Model | ClusterModel | None,
    counting: RowCounting,
    table: Table,
    report: Report,
) -> tuple[Subject, Array]:
    """The same by a model that is known, or that is fitted here."""
    if model is not None:
        id_column = job.columns.id_column
        of_model = (id_column, job.contamination, report, counting, job.by)
        return model_subject(model, table, *of_model)
    if job.columns.target is None:
        seed = job.fit.solver.seed
        return cluster_subject(table, job.columns, job.ks, seed, job.contamination, report)
    return fit_subject(table, job.columns, job.fit, job.contamination, report)


def _load(job: Job, path: str) -> tuple[Model | ClusterModel, RowCounting]:
    """The model of a file, and how much rows count; its target must be that named, if any."""
    model, target = load_beside(path, job.data.names), job.columns.target
    if isinstance(model, ClusterModel):
        if target is not None:
            raise InvalidOption("target", f": {path} holds clusters, which have none; leave it out")
    elif target not in (None, model.target.name):
        raise InvalidOption("target", f": {path} predicts '{model.target.name}', not '{target}'")
    model = with_policies(path, model, job.missing, job.unseen)
    return choose_weights(path, model, job.columns.weighting)


def _save(path: str, model: Model | ClusterModel) -> None:
    if isinstance(model, ClusterModel):
        save_clusters(path, model)
    else:
        save_model(path, model)
