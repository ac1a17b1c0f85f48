"""`lrisk compare`: risks and baselines on the user's own table."""

from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.gate_results import NO_BASELINE, conclude_fit
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary, without
from lrisk_cli.design.options import Columns
from lrisk_cli.evaluation.options.comparing import ComparisonSplits, Methods
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.registry import list_metrics, needs_of_comparisons
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import ModelOptions, Penalty, RowLoss
from lrisk_cli.names import Task
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.evaluation.comparison import Comparison

FAIL_ON = (
    "Exit with 1 if this holds for the mean over the splits of any risk, for example "
    "'rmse>1'; repeatable. Any risk of the losses, "
    f"{list_metrics(needs_of_comparisons(Task.AUTO))}."
)
BY = (
    "Report the worst group of each method too, by the cells of these columns, and let a risk of "
    "groups be of them; they are features only if `features` names them."
)


def compare(
    data: Data,
    columns: Annotated[
        Columns,
        without("id_column", "keep", "unseen", "intercept", "target_scale"),
        vary("target", required=True),
        vary("scaling", shown="deviation"),
    ],
    methods: Methods,
    loss: RowLoss,
    penalty: Penalty,
    smoothing: Annotated[ModelOptions, only("smoothing", "nu")],
    kernel: KernelOptions,
    stopping: Annotated[Stopping, without("require_convergence")],
    solver: Solver,
    splits: ComparisonSplits,
    grouping: Annotated[Grouping, vary("by", help=BY)],
    gates: Annotated[Gates, NO_BASELINE, vary("fail_on", help=FAIL_ON)],
    page: Page,
    document: Document,
    files: Annotated[Files, only("force")],
    messages: Messages,
    seed: Seed,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
) -> int:
    """Compare risks and rivals on rows they have not seen.

    Every method learns from the same rows and features with the same penalty, and is evaluated on
    the rows left out. With --corrupt the rows to learn from are spoilt in a known way first.

    Examples:
        lrisk compare sample_data/wine_quality_red.csv --target quality --cv 3
        lrisk compare sample_data/simulated.csv --target y --corrupt label:0.1 \\
            --rival huber --holdout 0.3
    """
    from lrisk_cli.api.compare import FitsOptions, make_job, run
    from lrisk_cli.reports.comparisons import comparison_document, print_comparison
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay

    fits = FitsOptions(methods, loss, penalty, smoothing, kernel, stopping, solver, seed.seed)
    job = make_job(data, columns, fits, splits, html=page.html, gates=gates, grouping=grouping)
    with ProgressDisplay("compare", quiet=messages.quiet, bar=messages.progress) as report:
        comparison = run(job, report, force=files.force)
        if page.html is not None:
            _write_page(page.html, comparison)
    if document.json:
        print_document(comparison_document(comparison))
    else:
        print_comparison(comparison)
    return conclude_fit(job.checks, comparison.gate_results, data.data, comparison.warnings)


def _write_page(path: str, comparison: "Comparison") -> None:
    from lrisk_cli.reports.comparison_page import comparison_page
    from lrisk_cli.reports.html import write_page

    write_page(path, comparison_page(comparison, command_line()))
