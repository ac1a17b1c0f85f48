"""`lrisk detect-outliers`: rank the rows of a table by how little they fit the others, and why."""

from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.gate_results import conclude, only_file, unnamed
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import vary, without
from lrisk_cli.design.options import Columns
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.registry import OF_CLUSTERS, list_metrics
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import Penalty, RowLoss
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.outliers.options import Detection, DetectionOutput
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.outliers.detection import Outliers

TARGET = (
    "Column to predict: rows are ranked by their loss under a robust fit. Without it, by their "
    "distance to the nearest centre of a robust clustering."
)
FAIL_ON = (
    "Exit with 1 if this holds, for example 'outlier_fraction>0.05'; repeatable. "
    f"{list_metrics(OF_CLUSTERS)}, any risk of the losses. With `by`, 'worst:METRIC', 'gap:METRIC' "
    "and 'group[COLUMN=VALUE]:METRIC'."
)


def detect_outliers(
    data: Data,
    columns: Annotated[
        Columns,
        without("scaling", "class_weight"),
        vary("target", help=TARGET),
        vary("missing", shown="as in the fit, or error"),
        vary("unseen", shown="as in the fit, or error"),
    ],
    detection: Detection,
    loss: RowLoss,
    penalty: Penalty,
    kernel: KernelOptions,
    grouping: Grouping,
    gates: Annotated[Gates, vary("fail_on", help=FAIL_ON)],
    output: DetectionOutput,
    page: Page,
    document: Document,
    files: Files,
    messages: Messages,
    seed: Seed,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
) -> int:
    """Rank rows by how little they fit the others, and say why.

    Fits a model that a minority of wrong rows cannot bend, and ranks all rows by their loss under
    it; the reason names the columns that the loss comes from, in their units.

    Examples:
        lrisk detect-outliers sample_data/contaminated.csv --target heating_kwh_day \\
            --id id --exclude planted -o outliers.csv
        lrisk detect-outliers sample_data/clouds.csv --features x,y --top 5
    """
    from lrisk_cli.api.detect_options import RankedBy, make_job
    from lrisk_cli.api.detect_outliers import run
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.outliers import (
        describe_threshold,
        outlier_sentences,
        outliers_document,
        print_outliers,
    )
    from lrisk_cli.reports.progress import ProgressDisplay

    by = RankedBy(columns, detection, loss, penalty, kernel, seed.seed)
    job = make_job(data, by, gates, output, html=page.html, grouping=grouping)
    with ProgressDisplay("detect-outliers", quiet=messages.quiet, bar=messages.progress) as report:
        found = run(job, report, force=files.force)
        _write_page(page.html, found)
    if document.json:
        print_document(outliers_document(found))
    else:
        print_outliers(found)
    rows, count = outlier_sentences(found), describe_threshold(found)
    shown = Shown("detect-outliers", only_file(data.data), rows, count)
    skipped = job.checks.not_compared(found.figures)
    return conclude(job.checks, unnamed(found.gate_results), skipped, shown, found.warnings)


def _write_page(path: str | None, found: "Outliers") -> None:
    """The page, where one was asked for."""
    if path is not None:
        from lrisk_cli.reports.html import write_page
        from lrisk_cli.reports.outlier_page import outlier_page

        write_page(path, outlier_page(found, command_line()))
