"""Arguments and options that several commands share."""

import shlex
import sys
from typing import Annotated

import typer

from lrisk_cli.errors import UsageError
from lrisk_cli.names import Missing, Unseen

ModelPath = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="Model file written by lrisk fit.", show_default=False),
]
DataPaths = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, Parquet or Arrow: paths, globs, folders, addresses such as s3://, or - for "
        "standard input.",
        show_default=False,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHARACTER",
        help="What separates the fields of text files; tab is a word for it.",
        show_default="what the header suggests",
    ),
]
Decimal = Annotated[
    str,
    typer.Option(
        "--decimal", metavar="MARK", help="Decimal mark of numbers in text, . or a comma."
    ),
]
NaValues = Annotated[
    str | None,
    typer.Option(
        "--na-values",
        metavar="A,B",
        help="Texts or numbers that stand for a missing cell, beside the empty one.",
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        "--memory-limit",
        metavar="SIZE",
        help="Refuse a table whose rows would take more memory than this, such as 2GB or 500MB.",
        show_default="all that the machine has",
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", metavar="COLUMN", help="Column that names the rows in results."),
]
ScoringMissing = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="Rows with missing cells: refuse the table, leave the rows out, or fill in what the "
        "fit learnt.",
        show_default="as in the fit",
    ),
]
ScoringUnseen = Annotated[
    Unseen | None,
    typer.Option(
        "--unseen",
        help="Categories that the fit did not see: refuse the table, or treat them as other.",
        show_default="as in the fit",
    ),
]
HtmlFile = Annotated[
    str | None,
    typer.Option(
        "--html", metavar="FILE", help="Write a page with figures, to be opened in any browser."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def _set_spreadsheet_safe(context: typer.Context, wanted: bool) -> bool:
    """Have the files of this command written so."""
    if wanted:
        from lrisk_cli.tables.outputs import SPREADSHEET_SAFE

        token = SPREADSHEET_SAFE.set(True)
        context.call_on_close(lambda: SPREADSHEET_SAFE.reset(token))
    return wanted


SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        callback=_set_spreadsheet_safe,
        help="Put an apostrophe before texts in CSV files that a spreadsheet would take for "
        "formulas.",
    ),
]


def _set_threads(context: typer.Context, n_threads: int) -> int:
    """Have the rows of this command's fits worked on by so many."""
    if n_threads > 1:
        from lrisk_cli.native.threads import team

        context.with_resource(team(n_threads))
    return n_threads


Threads = Annotated[
    int,
    typer.Option(
        "--threads",
        min=1,
        max=256,
        callback=_set_threads,
        help="Threads for sweeps over many rows. The result is the same for any number.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print results and errors only.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the traceback of an error.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="Show no progress bar.")]


def command_line() -> str:
    """The command that is running, as one would type it in a shell."""
    return shlex.join(["lrisk", *sys.argv[1:]])


Exposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="COLUMN",
        help="Column of exposures (time, area, insured years), for --loss poisson: predictions are "
        "in proportion to it.",
    ),
]
ScoringExposure = Annotated[
    str | None,
    typer.Option(
        "--exposure",
        metavar="COLUMN",
        help="Column of exposures, where it is not named as in the fit.",
    ),
]


def refuse_exposure(path: str, exposure: str | None) -> None:
    """Refuse it for clusters, which have none."""
    if exposure is not None:
        raise UsageError(f"--exposure: {path} holds clusters, which have none; leave it out")
