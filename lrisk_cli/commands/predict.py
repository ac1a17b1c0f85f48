"""`lrisk predict`: score the rows of a table."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lrisk_cli.commands import options
from lrisk_cli.errors import DataError

if TYPE_CHECKING:
    from lrisk_cli.commands.scoring import RowKeeper
    from lrisk_cli.model import Model

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
    missing: options.ScoringMissing = None,
    unseen: options.ScoringUnseen = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> None:
    """Score the rows of a table; no target needed.

    Rows are numbered from 0 in reading order. A model of classes also gives the probability of
    each class.
    """
    from lrisk_cli.commands.scoring import RowKeeper, RowTally, load_scorer, score_table
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.reports.terminal import describe_rows
    from lrisk_cli.tables import check_apart, check_output, open_table, write_csv, write_table

    scorer = load_scorer(model, missing, unseen)
    if output is not None:
        check_output(output, force=force, table=True)
    rows, kept = RowTally(), RowKeeper()
    with ProgressDisplay("predict", quiet=quiet, bar=not no_progress) as report:
        table = open_table(data, expected=scorer.encoding.dtypes)
        check_apart([output], [model, *table.paths])
        features = scorer.encoding.feature_names
        for scored, ids in score_table(scorer, table, features, id_column, rows, report):
            kept.add(scored, ids)
        if rows.used == 0:
            raise DataError(f"{table.label}: no row is left to score; all {rows.read} were dropped")
        columns = _columns(scorer, kept)
        if output is not None:
            write_table(output, columns)
        else:
            write_csv(sys.stdout.buffer, columns)
            sys.stdout.buffer.flush()
        report.conclude(describe_rows(rows.counts()) + (f"; written to {output}" if output else ""))


def _columns(model: "Model", kept: "RowKeeper") -> dict[str, Any]:
    columns = kept.named(model)
    if model.target.classes:
        probabilities = kept.joined("probabilities")
        for code, label in enumerate(model.target.classes):
            columns[f"probability:{label}"] = probabilities[:, code]
    return columns
