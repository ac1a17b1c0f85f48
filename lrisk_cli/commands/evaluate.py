"""`lrisk evaluate`: judge a model on a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.commands import cluster_options, gate_options, options
from lrisk_cli.commands.cluster_pages import parse_page
from lrisk_cli.commands.cluster_scoring import Questions, evaluate_clusters
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.registry import OF_CLUSTERS, OF_LABELS, list_metrics, needs_of
from lrisk_cli.names import EVALUATED_RISKS, Task
from lrisk_cli.progress import Report
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.commands.scoring import RowKeeper, RowTally, ScoredTable
    from lrisk_cli.evaluation.gates import Verdict
    from lrisk_cli.evaluation.metrics import Figures, Intervals
    from lrisk_cli.models.model import Model
    from lrisk_cli.risk.spectrum import Spectrum

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
    inliers = cluster_options.parse_inliers(inlier_labels, label)
    flags = gate_options.GateFlags(
        fail_on or (), warn_on or (), baseline_metrics, max_worsening, junit, github
    )
    inputs = make_inputs(data, delimiter, decimal, na_values)
    if _has_clusters(model, label, image_shape, intervals=intervals):
        page = parse_page(html, image_shape)
        asked = Questions(risk or (), flags, losses, id_column, label, inliers, page)
        return evaluate_clusters(
            model, inputs, asked, missing, unseen,
            as_json=json, force=force, quiet=quiet, bar=not no_progress,
        )  # fmt: skip
    from lrisk_cli.commands.scoring import load_scorer, score_all
    from lrisk_cli.commands.worst_rows import WorstRows, count_rows
    from lrisk_cli.reports.documents import evaluation_document, print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.reports.terminal import print_evaluation
    from lrisk_cli.tables.table import check_apart, check_output, open_table

    scorer = load_scorer(model, missing, unseen)
    spectra, checks = _questions(scorer, risk or (), flags)
    for path in (losses, html, junit):
        if path is not None:
            check_output(path, force=force, table=path == losses)
    worst = WorstRows() if github else None
    with ProgressDisplay("evaluate", quiet=quiet, bar=not no_progress) as report:
        table = open_table(inputs, expected=scorer.encoding.dtypes)
        check_apart([losses, html, junit], [model, *checks.inputs, *table.paths])
        keep = losses is not None
        scored = score_all(scorer, table, id_column, keep=keep, report=report, worst=worst)
        if losses is not None and scored.kept is not None:
            _write_losses(losses, scorer, scored.kept)
        figures, bounds = _figures(scored, spectra, seed if intervals else None, report)
        verdicts = checks.judge(figures, _row_figures(scorer, scored.rows))
        counts = scored.rows.counts()
        if html is not None:
            _write_page(html, model, scorer, scored, figures, bounds, verdicts)
    if json:
        print_document(evaluation_document(model, counts, figures, bounds, verdicts))
    else:
        print_evaluation(model, scorer, counts, figures, bounds, verdicts)
    rows = [] if worst is None else worst.predicted(scorer)
    file = gate_options.only_file(table.paths)
    shown = Shown("evaluate", file, rows, count_rows(counts.used, rows))
    return checks.conclude([(None, verdict) for verdict in verdicts], figures, shown)


def _has_clusters(
    path: str, label: str | None, image_shape: str | None, *, intervals: bool
) -> bool:
    """Whether the model holds clusters; options that are not for its kind are refused."""
    from lrisk_cli.models.model_file import model_kind

    if model_kind(path) == "clusters":
        if intervals:
            raise UsageError(f"--intervals: {path} holds clusters, which have none; leave it out")
        return True
    if label is not None:
        raise UsageError(f"--label is compared with clusters, and {path} has none; leave it out")
    if image_shape is not None:
        raise UsageError(f"--image-shape is for clusters, and {path} has none; leave it out")
    return False


def _questions(
    model: "Model", risks: Sequence[str], flags: gate_options.GateFlags
) -> "tuple[tuple[Spectrum, ...], gate_options.Checks]":
    """The risks to report, those that a gate mentions included, and the gates."""
    from lrisk_cli.evaluation.metrics import parse_risks
    from lrisk_cli.evaluation.registry import metric_name

    checks = flags.parse("evaluate", lambda name: metric_name(name, model.task))
    spectra = (*parse_risks(risks), *parse_risks(checks.risks or ["mean"]))
    return tuple(dict.fromkeys(spectra)), checks


def _figures(
    scored: "ScoredTable",
    spectra: "Sequence[Spectrum]",
    seed: int | None,
    report: Report,
) -> "tuple[Figures, Intervals | None]":
    """All figures of the losses by name, and intervals of the risks where a seed is given."""
    from lrisk_cli.evaluation.metrics import bootstrap_intervals, risk_figures
    from lrisk_cli.risk.value import sort_losses

    ascending = sort_losses(scored.tally.losses)
    figures = risk_figures(ascending, spectra) | scored.tally.figures(ascending)
    if seed is None:
        return figures, None
    return figures, bootstrap_intervals(ascending, spectra, seed, report)


def _row_figures(model: "Model", rows: "RowTally") -> "Figures":
    """What gates can ask for beside the figures of the losses."""
    from lrisk_cli.evaluation.registry import Needs, figures_of

    return figures_of(rows, [Needs.ROWS, Needs.CELLS]) | figures_of(model.fit, [Needs.FIT])


def _write_losses(path: str, model: "Model", kept: "RowKeeper") -> None:
    from lrisk_cli.commands.scoring import labelled
    from lrisk_cli.evaluation.rankings import losses_columns
    from lrisk_cli.tables.table import write_table

    targets = labelled(model, kept.joined("targets"))
    columns = losses_columns(kept.named(model), targets, kept.joined("losses"), model.spectrum)
    write_table(path, columns)


def _write_page(
    html: str,
    path: str,
    model: "Model",
    scored: "ScoredTable",
    figures: "Figures",
    intervals: "Intervals | None",
    verdicts: "Sequence[Verdict]",
) -> None:
    from lrisk_cli.commands.scoring import judged_rows
    from lrisk_cli.reports.html import write_page
    from lrisk_cli.reports.model_pages import evaluation_page

    rows = judged_rows("judged", model, scored.tally.losses, scored.sample)
    counts, line = scored.rows.counts(), options.command_line()
    write_page(html, evaluation_page(path, model, counts, figures, intervals, verdicts, rows, line))
