"""`lrisk evaluate`: judge a model on a table."""

from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.commands import cluster_options, gate_options, options
from lrisk_cli.commands.cluster_pages import parse_page
from lrisk_cli.commands.verdicts import conclude, count_rows, only_file, unnamed
from lrisk_cli.evaluation.registry import OF_CLUSTERS, OF_LABELS, list_metrics, needs_of
from lrisk_cli.names import EVALUATED_RISKS, Task
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import ClusterEvaluation, Evaluation
    from lrisk_cli.api.pages import PageOptions

Risks = Annotated[
    list[str] | None,
    typer.Option(
        "--risk",
        metavar="RISK",
        help="Risk of the losses to report; repeatable. The mean and the largest loss always are.",
        show_default=", ".join(EVALUATED_RISKS),
    ),
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with 1 if this holds, for example 'superquantile:0.9>1.5'; repeatable. Any "
        f"risk, {list_metrics(needs_of(Task.AUTO))}; of clusters, any risk, "
        f"{list_metrics(OF_CLUSTERS)}, and with --label {list_metrics(OF_LABELS)}.",
    ),
]
LossesFile = Annotated[
    str | None,
    typer.Option(
        "--losses",
        metavar="FILE",
        help="Write every row's target, prediction, loss, weight and rank, or its cluster, "
        "distance, weight, rank and is_outlier (.csv, .tsv, .parquet).",
    ),
]
WithIntervals = Annotated[
    bool, typer.Option("--intervals", help="Add 95 % bootstrap intervals of the risks.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of the bootstrap.", min=0)]


def evaluate(
    model: options.ModelPath,
    data: options.DataPaths,
    risk: Risks = None,
    fail_on: Gates = None,
    warn_on: gate_options.WarnOn = None,
    baseline_metrics: gate_options.StoredMetrics = None,
    max_worsening: gate_options.MaxWorsening = None,
    losses: LossesFile = None,
    id_column: options.IdColumn = None,
    intervals: WithIntervals = False,
    seed: Seed = 0,
    label: cluster_options.Label = None,
    inlier_labels: cluster_options.InlierLabels = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: options.ScoringMissing = None,
    unseen: options.ScoringUnseen = None,
    html: options.HtmlFile = None,
    image_shape: cluster_options.ImageShape = None,
    junit: gate_options.Junit = None,
    github: gate_options.Github = False,
    json: options.Json = False,
    force: options.Force = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,  # noqa: ARG001  (by its callback)
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> int:
    """Judge a model on a table: risks, errors, gates.

    Losses are in units of the file: half the squared error, or the negative log-probability of
    the class. Those of clusters are squared distances to the nearest centre.
    """
    from lrisk_cli.api.evaluate import Job, run
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay

    inliers = cluster_options.parse_inliers(inlier_labels, label)
    flags = gate_options.GateFlags(
        fail_on or (), warn_on or (), baseline_metrics, max_worsening, junit, github
    )
    job = Job(
        model=model,
        data=make_inputs(data, delimiter, decimal, na_values, memory_limit),
        risks=risk or (),
        make_checks=lambda canonical: flags.parse("evaluate", canonical),
        losses=losses,
        id_column=id_column,
        seed=seed if intervals else None,
        label=label,
        inliers=inliers,
        page=parse_page(html, image_shape),
        missing=missing,
        unseen=unseen,
    )
    with ProgressDisplay("evaluate", quiet=quiet, bar=not no_progress) as report:
        found = run(job, report, force=force)
        if job.page is not None:
            _write_page(job.page, found)
    _show(found, as_json=json)
    shown = Shown(
        "evaluate", only_file(found.paths), found.worst, count_rows(found.counts.used, found.worst)
    )
    skipped = found.checks.not_compared(found.figures)
    return conclude(found.checks, unnamed(found.verdicts), skipped, shown)


def _show(found: "Evaluation | ClusterEvaluation", *, as_json: bool) -> None:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.reports.documents import evaluation_document, print_document
    from lrisk_cli.reports.terminal import print_evaluation

    if isinstance(found, Evaluation):
        if as_json:
            print_document(evaluation_document(found))
        else:
            print_evaluation(found)
        return
    from lrisk_cli.reports.clusters import cluster_evaluation_document, print_cluster_evaluation

    if as_json:
        print_document(cluster_evaluation_document(found))
    else:
        print_cluster_evaluation(found)


def _write_page(page: "PageOptions", found: "Evaluation | ClusterEvaluation") -> None:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.reports.html import write_page

    if isinstance(found, Evaluation):
        from lrisk_cli.reports.model_pages import evaluation_page

        write_page(page.path, evaluation_page(found, options.command_line()))
        return
    if found.seen is not None:
        from lrisk_cli.reports.cluster_page import cluster_evaluation_page

        line = options.command_line()
        write_page(page.path, cluster_evaluation_page(found, found.seen, page.shape, line))
