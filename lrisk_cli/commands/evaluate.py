"""`lrisk evaluate`: judge a model on a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.checks import Checks, make_checks, only_file
from lrisk_cli.commands.cluster_pages import parse_page
from lrisk_cli.commands.cluster_scoring import Questions, evaluate_clusters
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary, without
from lrisk_cli.commands.predict import MISSING
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.options import EvaluatedRisks, Gates, Labels, LossesFile
from lrisk_cli.evaluation.registry import OF_CLUSTERS, OF_LABELS, list_metrics, needs_of
from lrisk_cli.models.options import ModelFile
from lrisk_cli.names import Task
from lrisk_cli.native.options import Seed
from lrisk_cli.progress import Report
from lrisk_cli.reports.options import ClusterPage, Document, Messages
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.commands.scoring import RowKeeper, RowTally, ScoredTable
    from lrisk_cli.evaluation.gates import Verdict
    from lrisk_cli.evaluation.metrics import Figures, Intervals
    from lrisk_cli.models.model import Model
    from lrisk_cli.risk.spectrum import Spectrum

FAIL_ON = (
    "Exit with 1 if this holds, for example 'superquantile:0.9>1.5'; repeatable. Any risk, "
    f"{list_metrics(needs_of(Task.AUTO))}; of clusters, any risk, {list_metrics(OF_CLUSTERS)}, and "
    f"with `label` {list_metrics(OF_LABELS)}."
)


def evaluate(
    model: ModelFile,
    data: Annotated[Data, without("memory_limit")],
    columns: Annotated[
        Columns,
        only("id_column", "missing", "unseen"),
        vary("missing", help=MISSING, shown="as in the fit"),
        vary("unseen", shown="as in the fit"),
    ],
    labels: Labels,
    risks: EvaluatedRisks,
    seed: Annotated[Seed, vary("seed", help="Seed of the bootstrap.", panel="Validation")],
    gates: Annotated[Gates, vary("fail_on", help=FAIL_ON)],
    output: LossesFile,
    page: ClusterPage,
    document: Document,
    files: Files,
    messages: Messages,
) -> int:
    """Judge a model on a table: risks, errors, gates.

    Losses are in units of the file: half the squared error, or the negative log-probability of
    the class. Those of clusters are squared distances to the nearest centre.

    Examples:
        lrisk evaluate model.json sample_data/wine_quality_red.csv --intervals
        lrisk evaluate model.json sample_data/wine_quality_red.csv --fail-on 'mae>2'
        lrisk evaluate clusters.json sample_data/clouds_test.csv --label cloud
    """
    path, losses, html, junit = model.model, output.losses, page.html, gates.junit
    inliers, inputs = labels.inliers, data.parse()
    if _has_clusters(path, labels.label, page.image_shape, intervals=risks.intervals):
        shape = parse_page(html, page.image_shape)
        asked = Questions(
            risks.risk, gates, losses, columns.id_column, labels.label, inliers, shape
        )
        return evaluate_clusters(
            path, inputs, asked, columns.missing, columns.unseen,
            as_json=document.json, force=files.force,
            quiet=messages.quiet, bar=messages.progress,
        )  # fmt: skip
    from lrisk_cli.commands.scoring import load_scorer, score_all
    from lrisk_cli.commands.worst_rows import WorstRows, count_rows
    from lrisk_cli.reports.documents import evaluation_document, print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.reports.terminal import print_evaluation
    from lrisk_cli.tables.table import check_apart, check_output, open_table

    scorer = load_scorer(path, columns.missing, columns.unseen)
    spectra, checks = _questions(scorer, risks.risk, gates)
    for place in (losses, html, junit):
        if place is not None:
            check_output(place, force=files.force, table=place == losses)
    worst = WorstRows() if gates.github else None
    with ProgressDisplay("evaluate", quiet=messages.quiet, bar=messages.progress) as report:
        table = open_table(inputs, expected=scorer.encoding.dtypes)
        check_apart([losses, html, junit], [path, *checks.inputs, *table.paths])
        keep, ids = losses is not None, columns.id_column
        scored = score_all(scorer, table, ids, keep=keep, report=report, worst=worst)
        if losses is not None and scored.kept is not None:
            _write_losses(losses, scorer, scored.kept)
        figures, bounds = _figures(scored, spectra, seed.seed if risks.intervals else None, report)
        verdicts = checks.judge(figures, _row_figures(scorer, scored.rows))
        counts = scored.rows.counts()
        if html is not None:
            _write_page(html, path, scorer, scored, figures, bounds, verdicts)
    if document.json:
        print_document(evaluation_document(path, counts, figures, bounds, verdicts))
    else:
        print_evaluation(path, scorer, counts, figures, bounds, verdicts)
    rows = [] if worst is None else worst.predicted(scorer)
    file = only_file(table.paths)
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
    model: "Model", risks: Sequence[str], gates: Gates
) -> "tuple[tuple[Spectrum, ...], Checks]":
    """The risks to report, those that a gate mentions included, and the gates."""
    from lrisk_cli.evaluation.metrics import parse_risks
    from lrisk_cli.evaluation.registry import metric_name

    checks = make_checks(gates, "evaluate", lambda name: metric_name(name, model.task))
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
    counts, line = scored.rows.counts(), command_line()
    write_page(html, evaluation_page(path, model, counts, figures, intervals, verdicts, rows, line))
