"""The options of `lrisk detect-outliers` that no other command has, and what their texts mean."""

from collections.abc import Mapping
from typing import Annotated

import typer

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.registry import OF_CLUSTERS, list_metrics
from lrisk_cli.names import MOST_CLUSTERS, ROWS_PER_CLUSTER

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="Column to predict: rows are ranked by how wrong a robust fit is about them. Without "
        "it, by their distance to the nearest centre of a robust clustering.",
    ),
]
Contamination = Annotated[
    str,
    typer.Option(
        "--contamination",
        metavar="auto|FRACTION",
        help="Share of the rows that are outliers, greater than 0 and less than 0.5; auto "
        "estimates it.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="MODEL",
        help="Rank the rows by this model instead of fitting one; they stream by.",
    ),
]
Clusters = Annotated[
    str | None,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K|A..B",
        help="Without --target: number of centres, or a range to pick from by the criterion of "
        "lrisk cluster.",
        show_default=f"{MOST_CLUSTERS}, fewer below {MOST_CLUSTERS * ROWS_PER_CLUSTER} rows",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write every row, the most outlying first: rank, row, id, loss, score, is_outlier "
        "and, for outliers, why (.csv, .tsv, .parquet).",
    ),
]
SaveModel = Annotated[
    str | None,
    typer.Option(
        "--save-model", metavar="FILE", help="Write the robust model (JSON), for --model."
    ),
]
Top = Annotated[
    int, typer.Option("--top", metavar="N", min=1, help="How many rows to print, with reasons.")
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with 1 if this holds, for example 'outlier_fraction>0.05'; repeatable. "
        f"{list_metrics(OF_CLUSTERS)}, any risk of the losses.",
    ),
]


def parse_contamination(text: str) -> float | None:
    """A share of the rows; None for auto."""
    if text.strip().lower() == "auto":
        return None
    try:
        fraction = float(text)
    except ValueError:
        fraction = 0.0
    if not 0.0 < fraction < 0.5:
        raise UsageError(
            "--contamination takes auto or a fraction greater than 0 and less than 0.5 (more than "
            f"half of the rows cannot be outliers); got {text!r}"
        )
    return fraction


def refuse_idle(
    model: str | None,
    target: str | None,
    of_fits: Mapping[str, bool],
    of_targets: Mapping[str, bool],
) -> None:
    """UsageError that names the first option given that would not be read.

    of_fits: whether options of any fit are given; of_targets: those of fits with a target.
    """
    if model is not None:
        idle, why = {**of_fits, **of_targets}, "is for a fit, and --model names one that is done"
    elif target is None:
        idle, why = dict(of_targets), "is for a fit of a --target, and none is named"
    else:
        idle = {"--clusters": of_fits["--clusters"]}
        why = "is for tables without a --target"
    for option, is_given in idle.items():
        if is_given:
            raise UsageError(f"{option} {why}; leave it out")
