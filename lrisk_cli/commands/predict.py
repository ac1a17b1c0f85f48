"""`lrisk predict`: score the rows of a table."""

import sys
from typing import Annotated

import typer

from lrisk_cli.commands import options
from lrisk_cli.errors import UsageError
from lrisk_cli.tables.inputs import make_inputs

Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the predictions here (.csv, .tsv, .parquet); without it, CSV is printed.",
    ),
]


def predict(
    model: options.ModelPath,
    data: options.DataPaths,
    output: Output = None,
    id_column: options.IdColumn = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: options.ScoringMissing = None,
    unseen: options.ScoringUnseen = None,
    json: options.Json = False,
    force: options.Force = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,  # noqa: ARG001  (by its callback)
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> None:
    """Score the rows of a table; no target needed.

    Rows are numbered from 0 in reading order. A model of classes also gives the probability of
    each class; clusters give the nearest, the distance to its centre, and whether that makes the
    row an outlier. With --json a document tells what became of the rows.
    """
    from lrisk_cli.api.predict import Job, run
    from lrisk_cli.reports.documents import prediction_document, print_document
    from lrisk_cli.reports.facts import describe_rows
    from lrisk_cli.reports.progress import ProgressDisplay

    if json and output is None:
        raise UsageError("--json needs -o FILE: without it the predictions are printed")
    inputs = make_inputs(data, delimiter, decimal, na_values, memory_limit)
    job = Job(model, inputs, output, id_column, missing, unseen)
    with ProgressDisplay("predict", quiet=quiet, bar=not no_progress) as report:
        done = run(job, sys.stdout.buffer, report, force=force)
        sys.stdout.buffer.flush()
        if json:
            print_document(prediction_document(done))
        report.conclude(describe_rows(done.counts) + (f"; written to {output}" if output else ""))
