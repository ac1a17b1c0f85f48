"""The options of `lrisk quantile-report`."""

from typing import Annotated

import typer

from lrisk_cli.evaluation.registry import OF_PAIRS, list_metrics
from lrisk_cli.names import DEFAULT_RISK, Dates, Missing, Task, Unseen

HOLDOUT, REPEATS = 0.25, 5

Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL", help="Model file to compare; repeatable."),
]
Baseline = Annotated[
    str | None,
    typer.Option("--baseline", metavar="MODEL", help="Model file that the others are compared to."),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="Without models: column to predict. The mean, which is the baseline, and the named "
        "risks are fitted on random parts of the table and compared on the rest.",
    ),
]
Risks = Annotated[
    list[str] | None,
    typer.Option(
        "--risk",
        metavar="RISK",
        help="Risk to fit and compare with the mean; repeatable.",
        show_default=DEFAULT_RISK,
    ),
]
Holdout = Annotated[
    float | None,
    typer.Option(
        "--holdout",
        metavar="FRACTION",
        help="Share of the rows to test on.",
        show_default=f"{HOLDOUT}",
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats",
        min=1,
        help="Random splits to average over, of seeds SEED, SEED+1 and so on.",
        show_default=f"{REPEATS}",
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, help="Seed of the first split.", show_default="0")
]
MissingPolicy = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="Rows with missing cells: refuse the table, leave them out, or fill in.",
        show_default="as in the fit, or error",
    ),
]
UnseenPolicy = Annotated[
    Unseen | None,
    typer.Option(
        "--unseen",
        help="Categories that a fit did not see: refuse the table, or treat them as other.",
        show_default="as in the fit, or error",
    ),
]
DatesChoice = Annotated[
    Dates | None,
    typer.Option(
        "--dates",
        help="number: a date is its days since 1970; parts: also its month, weekday and time of "
        "day.",
        show_default="number",
    ),
]
TaskChoice = Annotated[
    Task | None,
    typer.Option("--task", help="What the target is.", show_default="auto"),
]
Levels = Annotated[
    str,
    typer.Option(
        "--quantiles",
        metavar="P,P",
        help="Levels in (0, 1]: 0.5 is the median loss, 1 the largest.",
    ),
]
By = Annotated[
    str | None,
    typer.Option("--by", metavar="COLUMN", help="Report each group of rows too, by this column."),
]
Gates = Annotated[
    list[str] | None,
    typer.Option(
        "--fail-on",
        metavar="CONDITION",
        help="Exit with 1 if this holds for any model, for example 'difference:0.95<0'; "
        f"repeatable. {list_metrics(OF_PAIRS)}.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the figures here (.csv, .tsv, .parquet, .json).",
    ),
]
