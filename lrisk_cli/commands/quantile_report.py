"""`lrisk quantile-report`: loss quantiles of models beside those of a baseline."""

from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.gate_results import conclude, only_file
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary
from lrisk_cli.design.options import Columns
from lrisk_cli.evaluation.options.comparing import ComparedModels, QuantileOutput, RandomSplits
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.registry import OF_PAIRS, list_metrics
from lrisk_cli.models.options import Penalty, RowLoss
from lrisk_cli.native.options import Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import QuantileResults

TARGET = (
    "Without models: column to predict. The mean, which is the baseline, and the named risks are "
    "fitted on random parts of the table and compared on the rest."
)
OF_FITS = only(
    "target", "features", "exclude", "exposure", "weight", "weight_kind", "class_weight", "dtype",
    "missing", "unseen", "dates", "task",
)  # fmt: skip
FAIL_ON = (
    "Exit with 1 if this holds for any model, for example 'difference:0.95<0'; repeatable. "
    f"{list_metrics(OF_PAIRS)}. With `by`, 'worst:METRIC', 'gap:METRIC' and "
    "'group[COLUMN=VALUE]:METRIC' of the first four."
)


def quantile_report(
    data: Data,
    columns: Annotated[
        Columns,
        OF_FITS,
        vary("target", help=TARGET),
        vary("weight", shown="as in the fits, where the table has it"),
        vary("missing", shown="as in the fit, or error"),
        vary("unseen", shown="as in the fit, or error"),
    ],
    models: ComparedModels,
    loss: RowLoss,
    penalty: Penalty,
    splits: RandomSplits,
    grouping: Grouping,
    gates: Annotated[Gates, vary("fail_on", help=FAIL_ON)],
    output: QuantileOutput,
    page: Page,
    document: Document,
    files: Files,
    messages: Messages,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
) -> int:
    """Compare loss quantiles: what the tail gains, what it costs.

    Name fitted models with --model and --baseline; or name a --target, and the mean and the risks
    are fitted on the spot. Differences are baseline minus model: positive where the model is
    better.

    Examples:
        lrisk quantile-report sample_data/simulated.csv --target y --repeats 2
        lrisk quantile-report sample_data/wine_quality_red.csv --model model.json \\
            --baseline mean.json --quantiles 0.5,0.95
    """
    from lrisk_cli.api.quantile_report import run
    from lrisk_cli.api.quantile_subjects import ComparedOptions, make_job
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay

    compared = ComparedOptions(columns, models, loss, penalty, splits)
    job = make_job(data, compared, gates, output, html=page.html, grouping=grouping)
    with ProgressDisplay("quantile-report", quiet=messages.quiet, bar=messages.progress) as report:
        results = run(job, report, force=files.force)
        _write(results, output.output, page.html)
    _show(results, as_json=document.json)
    shown = Shown("quantile-report", only_file(results.paths), (), "")
    return conclude(job.checks, results.gate_results, results.skipped, shown, results.warnings)


def _write(results: "QuantileResults", output: str | None, html: str | None) -> None:
    """The figures, then the page."""
    from lrisk_cli.api.quantile_report import is_json, quantile_columns
    from lrisk_cli.reports.documents import encode_document
    from lrisk_cli.reports.quantile_document import quantile_document
    from lrisk_cli.tables.table import write_bytes, write_table

    if output is not None and is_json(output):
        write_bytes(output, encode_document(quantile_document(results)))
    elif output is not None:
        write_table(output, quantile_columns(results))
    if html is not None:
        from lrisk_cli.reports.html import write_page
        from lrisk_cli.reports.quantile_page import quantile_page

        write_page(html, quantile_page(results, command_line()))


def _show(results: "QuantileResults", *, as_json: bool) -> None:
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.quantile_document import quantile_document
    from lrisk_cli.reports.quantile_text import print_quantiles

    if as_json:
        print_document(quantile_document(results))
    else:
        print_quantiles(results)
