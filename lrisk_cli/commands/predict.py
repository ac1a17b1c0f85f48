"""`lrisk predict`: score the rows of a table."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lrisk_cli.commands import options
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.progress import Report
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.commands.scoring import RowKeeper, RowTally
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.models.model import Model
    from lrisk_cli.tables.table import Table

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
    exposure: options.ScoringExposure = None,
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
    from lrisk_cli.commands.cluster_scoring import load_cluster_scorer
    from lrisk_cli.commands.scoring import load_scorer
    from lrisk_cli.models.model_file import model_kind
    from lrisk_cli.reports.documents import prediction_document, print_document
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.reports.terminal import describe_rows
    from lrisk_cli.tables.table import check_apart, check_output, open_table, write_csv, write_table

    if json and output is None:
        raise UsageError("--json needs -o FILE: without it the predictions are printed")
    inputs = make_inputs(data, delimiter, decimal, na_values, memory_limit)
    scorer: Model | ClusterModel
    if model_kind(model) == "clusters":
        options.refuse_exposure(model, exposure)
        scorer = load_cluster_scorer(model, missing, unseen)
    else:
        scorer = load_scorer(model, missing, unseen, exposure)
    if output is not None:
        check_output(output, force=force, table=True)
    with ProgressDisplay("predict", quiet=quiet, bar=not no_progress) as report:
        table = open_table(inputs, expected=scorer.encoding.dtypes)
        check_apart([output], [model, *table.paths])
        columns, rows = _score(scorer, table, id_column, report)
        if output is not None:
            write_table(output, columns)
        else:
            write_csv(sys.stdout.buffer, columns)
            sys.stdout.buffer.flush()
        if json:
            print_document(prediction_document(model, output, rows.counts()))
        report.conclude(describe_rows(rows.counts()) + (f"; written to {output}" if output else ""))


def _score(
    model: "Model | ClusterModel", table: "Table", id_column: str | None, report: Report
) -> "tuple[dict[str, Any], RowTally]":
    """One pass over the table: the columns to write, and what became of its rows."""
    from lrisk_cli.commands.cluster_scoring import ScoredRows, prediction_columns
    from lrisk_cli.commands.scoring import RowKeeper, RowTally, score_table
    from lrisk_cli.models.cluster_model import ClusterModel

    rows, features = RowTally(), model.encoding.needed_names
    if isinstance(model, ClusterModel):
        placed = ScoredRows()
        for found, ids in score_table(model, table, features, id_column, rows, report):
            placed.add(found, ids)
        columns = prediction_columns(placed)
    else:
        kept = RowKeeper()
        for scored, ids in score_table(model, table, features, id_column, rows, report):
            kept.add(scored, ids)
        columns = _columns(model, kept)
    if rows.used == 0:
        raise DataError(f"{table.label}: no row is left to score; all {rows.read} were dropped")
    return columns, rows


def _columns(model: "Model", kept: "RowKeeper") -> dict[str, Any]:
    columns = kept.named(model)
    if model.target.classes:
        probabilities = kept.joined("probabilities")
        for code, label in enumerate(model.target.classes):
            columns[f"probability:{label}"] = probabilities[:, code]
    return columns
