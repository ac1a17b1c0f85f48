"""`lrisk evaluate`: evaluate a model on a table."""

from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.gate_results import conclude, count_rows, only_file, unnamed
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary
from lrisk_cli.commands.predict import MISSING
from lrisk_cli.design.options import EXPOSURE, WEIGHT, Columns
from lrisk_cli.evaluation.options.evaluating import EvaluatedRisks, Labels, LossesFile
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.registry import OF_CLUSTERS, OF_LABELS, list_metrics, needs_of
from lrisk_cli.models.options import ModelFile, PredictionInterval
from lrisk_cli.names import Task
from lrisk_cli.native.options import Seed
from lrisk_cli.reports.options import ClusterPage, Document, Messages
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import ClusterEvaluation, Evaluation
    from lrisk_cli.api.pages import PageOptions

FAIL_ON = (
    "Exit with 1 if this holds, for example 'superquantile:0.9>1.5'; repeatable. Any risk, "
    f"{list_metrics(needs_of(Task.AUTO))}; of clusters, any risk, {list_metrics(OF_CLUSTERS)}, and "
    f"with `label` {list_metrics(OF_LABELS)}. With `by`, 'worst:METRIC', 'gap:METRIC' and "
    "'group[COLUMN=VALUE]:METRIC'."
)


def evaluate(
    model: ModelFile,
    data: Data,
    columns: Annotated[
        Columns,
        only("id_column", "keep", "exposure", "weight", "weight_kind", "missing", "unseen"),
        vary("exposure", help=EXPOSURE, shown="as in the fit"),
        vary("weight", help=WEIGHT, shown="as in the fit, where the table has it"),
        vary("weight_kind", shown="as in the fit, or frequency"),
        vary("missing", help=MISSING, shown="as in the fit"),
        vary("unseen", shown="as in the fit"),
    ],
    labels: Labels,
    risks: EvaluatedRisks,
    grouping: Grouping,
    interval: PredictionInterval,
    seed: Annotated[Seed, vary("seed", help="Seed of the bootstrap.", panel="Validation")],
    gates: Annotated[Gates, vary("fail_on", help=FAIL_ON)],
    output: LossesFile,
    page: ClusterPage,
    document: Document,
    files: Files,
    messages: Messages,
) -> int:
    """Evaluate a model on a table: risks, errors, gates.

    Losses are in units of the file: half the squared error, the negative log-probability of the
    class, or those of the loss that was fitted. Those of clusters are squared distances to the
    nearest centre.

    Examples:
        lrisk evaluate model.json sample_data/wine_quality_red.csv --intervals
        lrisk evaluate model.json sample_data/wine_quality_red.csv --fail-on 'mae>2'
        lrisk evaluate clusters.json sample_data/clouds_test.csv --label cloud
    """
    from lrisk_cli.api.evaluate import run
    from lrisk_cli.api.evaluate_options import make_job
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay

    job = make_job(
        model, data, columns, labels, risks, interval, gates, output,
        seed=seed.seed, html=page.html, image_shape=page.image_shape, grouping=grouping,
    )  # fmt: skip
    with ProgressDisplay("evaluate", quiet=messages.quiet, bar=messages.progress) as report:
        found = run(job, report, force=files.force)
        if job.page is not None:
            _write_page(job.page, found)
    _show(found, as_json=document.json)
    count = count_rows(found.counts.used, found.worst)
    shown = Shown("evaluate", only_file(found.paths), found.worst, count)
    skipped = found.checks.not_compared(found.figures)
    return conclude(found.checks, unnamed(found.gate_results), skipped, shown, found.warnings)


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

        write_page(page.path, evaluation_page(found, command_line()))
        return
    if found.seen is not None:
        from lrisk_cli.reports.cluster_page import cluster_evaluation_page

        line = command_line()
        write_page(page.path, cluster_evaluation_page(found, found.seen, page.shape, line))
