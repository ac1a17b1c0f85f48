"""`lrisk predict`: score the rows of a table."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

from lrisk_cli.commands.options.declared import only, vary
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.models.options import ModelFile, PredictionOutput
from lrisk_cli.progress import Report
from lrisk_cli.reports.options import Document, Messages
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.commands.scoring import RowKeeper, RowTally
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.models.model import Model
    from lrisk_cli.tables.table import Table
# What scoring does with missing cells.
MISSING = (
    "Rows with missing cells: refuse the table, leave the rows out, or fill in what the fit learnt."
)


def predict(
    model: ModelFile,
    data: Data,
    columns: Annotated[
        Columns,
        only("id_column", "missing", "unseen"),
        vary("missing", help=MISSING, shown="as in the fit"),
        vary("unseen", shown="as in the fit"),
    ],
    output: PredictionOutput,
    document: Document,
    files: Files,
    messages: Messages,
) -> None:
    """Score the rows of a table; no target needed.

    Rows are numbered from 0 in reading order. A model of classes also gives the probability of
    each class; clusters give the nearest, the distance to its centre, and whether that makes the
    row an outlier. With --json a document reports how many rows were scored and dropped.

    Examples:
        lrisk predict model.json sample_data/wine_quality_red.csv -o predictions.csv
        lrisk predict clusters.json sample_data/clouds_test.csv --id id
    """
    from lrisk_cli.commands.cluster_scoring import load_cluster_scorer
    from lrisk_cli.commands.scoring import load_scorer
    from lrisk_cli.models.model_file import model_kind
    from lrisk_cli.reports.documents import prediction_document, print_document
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.reports.terminal import describe_rows
    from lrisk_cli.tables.table import check_apart, check_output, open_table, write_csv, write_table

    path, place = model.model, output.output
    if document.json and place is None:
        raise UsageError("--json needs -o FILE: without it the predictions are printed")
    load = load_cluster_scorer if model_kind(path) == "clusters" else load_scorer
    inputs, scorer = data.parse(), load(path, columns.missing, columns.unseen)
    if place is not None:
        check_output(place, force=files.force, table=True)
    with ProgressDisplay("predict", quiet=messages.quiet, bar=messages.progress) as report:
        table = open_table(inputs, expected=scorer.encoding.dtypes)
        check_apart([place], [path, *table.paths])
        predictions, rows = _score(scorer, table, columns.id_column, report)
        if place is not None:
            write_table(place, predictions)
        else:
            write_csv(sys.stdout.buffer, predictions)
            sys.stdout.buffer.flush()
        if document.json:
            print_document(prediction_document(path, place, rows.counts()))
        report.conclude(describe_rows(rows.counts()) + (f"; written to {place}" if place else ""))


def _score(
    model: "Model | ClusterModel", table: "Table", id_column: str | None, report: Report
) -> "tuple[dict[str, Any], RowTally]":
    """One pass over the table: the columns to write, and what became of its rows."""
    from lrisk_cli.commands.cluster_scoring import ScoredRows, prediction_columns
    from lrisk_cli.commands.scoring import RowKeeper, RowTally, score_table
    from lrisk_cli.models.cluster_model import ClusterModel

    rows, features = RowTally(), model.encoding.feature_names
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
