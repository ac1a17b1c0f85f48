"""`lrisk cluster`: outlier-robust k-means clustering."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from lrisk_cli.clusters.options import ClusterOutput, Clusters, ClusterSearch, parse_clusters
from lrisk_cli.commands.clock import Clock
from lrisk_cli.commands.cluster_pages import (
    PageOptions,
    RowViews,
    check_shape,
    parse_page,
    write_cluster_page,
)
from lrisk_cli.commands.options.declared import vary, without
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import DataError, ExitCode
from lrisk_cli.evaluation.options import Labels
from lrisk_cli.names import Standardize
from lrisk_cli.native.options import Seed
from lrisk_cli.reports.options import ClusterPage, Document, Messages
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.clusters.clustering import ClusterOptions, Placement
    from lrisk_cli.design.design import Design, DesignOptions, RawDesign
    from lrisk_cli.evaluation.agreement import Agreement
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.reports.cluster_plots import SeenRows
    from lrisk_cli.reports.clusters import Judged
    from lrisk_cli.tables.table import Table


def cluster(
    data: Data,
    clusters: Clusters,
    columns: Annotated[
        Columns,
        without("target", "task", "scaling", "intercept"),
        vary(
            "standardize",
            default=Standardize.FEATURES,
            help="Centre and scale the features, or none (both: features).",
        ),
    ],
    labels: Labels,
    output: ClusterOutput,
    page: ClusterPage,
    document: Document,
    files: Files,
    messages: Messages,
    seed: Seed,
    search: ClusterSearch,
) -> int:
    """Outlier-robust k-means clustering.

    Minimises a falling spectral risk of the squared distances to the nearest of K centres: rows
    far from every centre get little or no weight. With --risk mean this is k-means.

    Examples:
        lrisk cluster sample_data/clouds.csv -k 3 --features x,y -o clusters.json
        lrisk cluster sample_data/clouds.csv -k 2..5 --id id --label cloud
    """
    label = labels.label
    job = _Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        ks=parse_clusters(clusters.clusters),
        columns=replace(
            columns.parse(),
            intercept=False,
            aside=None if label is None else ("label", label),
        ),
        clustering=search.parse(clusters.risk, seed.seed),
        label=label,
        inliers=labels.inliers,
        output=output.output,
        assignments=output.assignments,
        page=parse_page(page.html, page.image_shape),
    )
    done = _run(job, force=files.force, quiet=messages.quiet, bar=messages.progress)
    _show(job, done, as_json=document.json)
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class _Job:
    """What was asked for."""

    data: Inputs
    dtypes: dict[str, str]
    ks: tuple[int, ...]
    columns: "DesignOptions"
    clustering: "ClusterOptions"
    label: str | None
    inliers: tuple[str, ...]
    output: str | None
    assignments: str | None
    page: PageOptions | None

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """Clusters, assignments, page; None for those not asked for."""
        return self.output, self.assignments, self.page.path if self.page else None


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of it."""

    model: "ClusterModel"
    judged: "Judged"
    notes: tuple[str, ...]
    timings: dict[str, float]


def _run(job: _Job, *, force: bool, quiet: bool, bar: bool) -> _Done:
    """Read, design, cluster, judge, write."""
    from lrisk_cli.clusters.clustering import as_matrix, check_rows, find_clusters, pick
    from lrisk_cli.design.design import encode_design, read_design
    from lrisk_cli.models.cluster_model import make_model, save_clusters
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_apart, check_output, open_table, write_table

    clock = Clock()
    for path in job.outputs:
        if path is not None:
            check_output(path, force=force, table=path == job.assignments)
    with ProgressDisplay("cluster", quiet=quiet, bar=bar) as report:
        table = open_table(job.data, dtypes=job.dtypes)
        check_apart(job.outputs, table.paths)
        raw = read_design(table, job.columns, report)
        require_numbers(raw)
        clock.lap("read_s")
        design, _ = encode_design(raw, job.columns)
        del raw
        check_shape(job.page, table.label, design.encoding)
        X = as_matrix(design.rows)
        check_rows(table.label, X, job.ks[-1])
        clock.lap("design_s")
        found = find_clusters(X, job.ks, job.clustering, report)
        best = pick(found)
        clock.lap("solve_s")
        model, placed = make_model(design, best, found, job.clustering)
        seen = None if job.page is None else _look(design, placed)
        # The largest array of all: from here on only distances are needed.
        design = replace(design, rows=design.rows.take(slice(0)))
        del X
        judged = _judge(job, table, design, model, placed)
        clock.lap("judge_s")
        if job.assignments is not None:
            write_table(job.assignments, _assignment_columns(job, design, placed))
        if job.output is not None:
            save_clusters(job.output, model)
        notes = (*design.notes, *_remarks(best.reseeded))
        if job.page is not None and seen is not None:
            write_cluster_page(job.page, model, judged, seen, notes)
        clock.lap("write_s")
    return _Done(model, judged, notes, clock.timings())


def require_numbers(raw: "RawDesign") -> None:
    """DataError where there is nothing that distances could be measured by."""
    if not any(column.numeric for column in raw.features):
        raise DataError(
            f"{raw.label}: no feature holds numbers, and distances need one at least; pass "
            "--dtype COLUMN=number, or choose other --features"
        )


def _look(design: "Design", placed: "Placement") -> "SeenRows":
    """What the page shows of the rows, taken a few at a time."""
    from lrisk_cli.clusters.clustering import CHUNK

    (n_rows, n_columns), outliers = design.rows.shape, placed.outliers
    views = RowViews(n_columns)
    for start in range(0, n_rows, CHUNK):
        at = slice(start, start + CHUNK)
        views.add(
            design.row_numbers[at], design.rows.dense_rows(at),
            placed.clusters[at], placed.losses[at], outliers[at],
        )  # fmt: skip
    return views.seen(placed.losses)


def _judge(
    job: _Job, table: "Table", design: "Design", model: "ClusterModel", placed: "Placement"
) -> "Judged":
    """The figures of the clusters on their own rows."""
    from lrisk_cli.commands.cluster_scoring import judge_rows

    agreement = (
        None if job.label is None else _compare(job, table, design, len(model.centres), placed)
    )
    counts = replace(design.counts, used=len(design.row_numbers))
    return judge_rows(model, counts, placed.clusters, placed.losses, agreement)


def _compare(
    job: _Job, table: "Table", design: "Design", n_clusters: int, placed: "Placement"
) -> "Agreement":
    """Read the labels, one more pass over the table, and compare the clusters with them."""
    import numpy as np

    from lrisk_cli.evaluation.agreement import LabelTally

    name = str(job.label)
    tally = LabelTally(f"{table.label}, column '{name}'", n_clusters, job.inliers)
    for batch in table.batches([name], invalid_as_missing=True):
        ends = (batch.first_row, batch.first_row + batch.n_rows)
        used = slice(*np.searchsorted(design.row_numbers, ends))
        cells: Any = batch.columns[name]
        tally.add(cells[design.row_numbers[used] - batch.first_row], placed.clusters[used])
    return tally.agreement(placed.losses)


def _assignment_columns(job: _Job, design: "Design", placed: "Placement") -> dict[str, Any]:
    from lrisk_cli.commands.cluster_scoring import assignment_columns

    named: dict[str, Any] = {"row": design.row_numbers}
    if design.ids is not None:
        named["id"] = design.ids
    return assignment_columns(
        named, placed.clusters, placed.losses, placed.outliers, job.clustering.risk
    )


def _remarks(reseeded: int) -> tuple[str, ...]:
    """What a user should know about the course of the search."""
    if not reseeded:
        return ()
    what = "1 cluster was" if reseeded == 1 else f"{reseeded} clusters were"
    return (f"{what} left without weight on the way and started again from another row",)


def _show(job: _Job, done: _Done, *, as_json: bool) -> None:
    from lrisk_cli.reports.clusters import cluster_document, print_clusters
    from lrisk_cli.reports.documents import print_document

    if as_json:
        print_document(
            cluster_document(job.output, done.model, done.judged, done.timings, done.notes)
        )
    else:
        print_clusters(done.model, done.judged, job.output, done.notes)
