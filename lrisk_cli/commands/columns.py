"""`lrisk columns`: report how the columns of a table are read, and check what they hold."""

from typing import Annotated

from lrisk_cli.commands.gate_results import conclude, only_file, unnamed
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.profiles.options import ExpectationFiles, ShownColumns
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.options import Data, Files


def columns(
    data: Data,
    shown: ShownColumns,
    expectations: ExpectationFiles,
    gates: Annotated[Gates, only("junit", "github")],
    page: Page,
    document: Document,
    files: Annotated[Files, only("force")],
    messages: Messages,
) -> int:
    """Report how columns are read, and check what they hold.

    For each column: its kind, missing cells, distinct values, range or most frequent values,
    examples, and every doubt about it. Above 4,096, distinct values are estimated (1.6 %). The
    table is read once, and never held in memory.

    Examples:
        lrisk columns sample_data/contaminated.csv
        lrisk columns sample_data/contaminated.csv --write-expectations houses.toml
    """
    from lrisk_cli.api.columns import make_job, run
    from lrisk_cli.reports.columns import columns_document, columns_page, print_columns
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay

    job = make_job(data, shown, expectations, gates, html=page.html)
    with ProgressDisplay("columns", quiet=messages.quiet, bar=messages.progress) as report:
        found = run(job, report, force=files.force)
        if job.html is not None:
            from lrisk_cli.reports.html import write_page

            write_page(job.html, columns_page(found, command_line()))
    if document.json:
        print_document(columns_document(found))
    else:
        print_columns(found)
    about = Shown("columns", only_file(found.paths), found.rows, "")
    return conclude(job.checks, unnamed(found.gate_results), (), about, found.warnings)
