"""`lrisk predict`: score the rows of a table."""

import sys
from typing import Annotated

from lrisk_cli.commands.gate_results import NO_BASELINE, conclude_fit, print_failed, unnamed
from lrisk_cli.commands.options.declared import only, vary
from lrisk_cli.design.options import EXPOSURE, Columns
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.registry import OF_SCORED, list_metrics
from lrisk_cli.models.options import ModelFile, PredictionInterval, PredictionOutput
from lrisk_cli.reports.options import Document, Messages
from lrisk_cli.tables.named_columns import as_texts
from lrisk_cli.tables.options import Data, Files

# What scoring does with missing cells.
MISSING = (
    "Rows with missing cells: refuse the table, leave the rows out, or fill in what the fit learnt."
)
FAIL_ON = (
    "Exit with 1 if this holds, for example 'unseen_fraction>0.05'; repeatable. "
    f"{list_metrics(OF_SCORED)}."
)


def predict(
    model: ModelFile,
    data: Data,
    columns: Annotated[
        Columns,
        only("id_column", "keep", "exposure", "missing", "unseen"),
        vary("exposure", help=EXPOSURE, shown="as in the fit"),
        vary("missing", help=MISSING, shown="as in the fit"),
        vary("unseen", shown="as in the fit"),
    ],
    interval: PredictionInterval,
    gates: Annotated[Gates, NO_BASELINE, vary("fail_on", help=FAIL_ON)],
    output: PredictionOutput,
    document: Document,
    files: Files,
    messages: Messages,
) -> int:
    """Score the rows of a table; no target needed.

    Rows are numbered from 0 in reading order. A model of classes also gives the probability of
    each class; clusters give the nearest, the distance to its centre, and whether that makes the
    row an outlier. --interval adds the columns lower and upper, or for each class whether it is in
    the set. With --json a document reports how many rows were scored and dropped.

    Examples:
        lrisk predict model.json sample_data/wine_quality_red.csv -o predictions.csv
        lrisk predict clusters.json sample_data/clouds_test.csv --id id
    """
    from lrisk_cli.api.predict import Job, make_checks, run
    from lrisk_cli.reports.documents import prediction_document, print_document
    from lrisk_cli.reports.facts import describe_rows
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.places import place_name

    path, place = model.model, output.output
    if document.json and place is None:
        sentence = f"needs {opt('output')} FILE: without it the predictions are printed"
        raise InvalidOption("json", sentence)
    job = Job(
        path,
        data.parse(),
        place,
        columns.id_column,
        columns.missing,
        columns.unseen,
        columns.exposure,
        interval.interval,
        make_checks(gates),
        as_texts(columns.keep),
    )
    with ProgressDisplay("predict", quiet=messages.quiet, bar=messages.progress) as report:
        done = run(job, sys.stdout.buffer, report, force=files.force)
        sys.stdout.buffer.flush()
        if document.json:
            print_document(prediction_document(done))
        written = [f"written to {place_name(place)}"] if place else []
        report.conclude("; ".join([describe_rows(done.counts), *written, *done.notes]))
    print_failed(done.gate_results)
    return conclude_fit(job.checks, unnamed(done.gate_results), data.data, done.warnings)
