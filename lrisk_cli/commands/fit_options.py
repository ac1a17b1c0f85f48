"""The options of `lrisk fit`, and what their texts mean."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.registry import TASK_NEEDS, Needs, list_metrics
from lrisk_cli.names import (
    DEFAULT_RISK,
    MOST_DEGREE,
    RISKS,
    Dates,
    FeatureMapName,
    GammaRule,
    KernelName,
    LossName,
    Missing,
    Scaling,
    Standardize,
    Task,
    Unseen,
)

if TYPE_CHECKING:
    from lrisk_cli.features.features import FeatureOptions
    from lrisk_cli.risk.spectrum import Spectrum

Target = Annotated[
    str, typer.Option("--target", metavar="COLUMN", help="Column to predict.", show_default=False)
]
Features = Annotated[
    str | None,
    typer.Option("--features", metavar="A,B", help="Columns to learn from.", show_default="all"),
]
Exclude = Annotated[
    str | None, typer.Option("--exclude", metavar="A,B", help="Columns to leave out.")
]
Dtypes = Annotated[
    list[str] | None,
    typer.Option(
        "--dtype",
        metavar="A,B=KIND",
        help="Read columns as number, category or string; repeatable.",
    ),
]
MissingPolicy = Annotated[
    Missing,
    typer.Option(
        "--missing",
        help="Rows with missing cells: refuse the table, leave them out, or fill in the median or "
        "the most frequent category.",
    ),
]
UnseenPolicy = Annotated[
    Unseen,
    typer.Option(
        "--unseen", help="Categories unknown at scoring: refuse the table, or treat as other."
    ),
]
MaxCategories = Annotated[
    int,
    typer.Option(
        "--max-categories",
        min=1,
        help="Categories that get a column of their own; rarer ones share one.",
    ),
]
DatesChoice = Annotated[
    Dates,
    typer.Option(
        "--dates",
        help="number: a date is its days since 1970; parts: also its month, weekday and time of "
        "day, a column for each that varies.",
    ),
]
TaskChoice = Annotated[
    Task, typer.Option("--task", help="What the target is; auto says what it chose and why.")
]
Risks = Annotated[
    list[str] | None,
    typer.Option(
        "--risk",
        metavar="RISK",
        help="What to minimise: mean, superquantile:Q, extremile:R or esrm:RHO, which protect the "
        "tail; subquantile:P or lower-extremile:R, which ignore it. "
        f"Superquantile: {RISKS['superquantile']}. Subquantile: {RISKS['subquantile']}. "
        "Repeatable: one model for each, every fit starting from the last one's result; with --cv "
        "only the best.",
        show_default=DEFAULT_RISK,
    ),
]
Loss = Annotated[LossName, typer.Option("--loss", help="Loss of a row; auto follows the task.")]
L2 = Annotated[
    float | None,
    typer.Option("--l2", help="Penalty mu > 0 on mu/2 ||w||^2.", show_default="1/rows"),
]
Penalties = Annotated[
    list[str] | None,
    typer.Option(
        "--l2",
        metavar="MU[,MU...]",
        help="Penalty mu > 0 on mu/2 ||w||^2; with --cv a list to choose from.",
        show_default="1/rows",
    ),
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Fit no constant term.")]
StandardizeChoice = Annotated[
    Standardize,
    typer.Option("--standardize", help="Centre and scale features and target, features, or none."),
]
ScalingChoice = Annotated[
    Scaling | None,
    typer.Option(
        "--scaling",
        help="Standardise numbers by mean and deviation, or by median and MAD, which outliers do "
        "not move.",
        show_default="mad if every risk falls with the loss, else deviation",
    ),
]
KernelChoice = Annotated[
    KernelName,
    typer.Option(
        "--kernel",
        help="What predictions are linear in: the columns, or with rbf exp(-gamma ||x-z||^2) and "
        "with poly (gamma x.z + coef0)^degree for landmark rows z.",
    ),
]
Gamma = Annotated[
    str | None,
    typer.Option(
        "--gamma",
        metavar="scale|median|NUMBER",
        help="scale: 1/(columns x variance of the features); median: 1/median squared distance of "
        "two rows; or a number > 0, larger for wigglier fits.",
        show_default="scale; 1 for poly",
    ),
]
Degree = Annotated[
    int | None,
    typer.Option("--degree", min=1, max=MOST_DEGREE, help="Degree of poly.", show_default="3"),
]
Coef0 = Annotated[
    float | None,
    typer.Option(
        "--coef0", help="Constant of poly; 0 keeps the highest powers only.", show_default="1"
    ),
]
Rank = Annotated[
    str | None,
    typer.Option(
        "--rank",
        metavar="auto|NUMBER",
        help="How many rows are landmarks; auto: as many as it takes to span 99.9 % of the kernel, "
        "within limits of memory.",
        show_default="all rows, up to 4096",
    ),
]
FeatureMapChoice = Annotated[
    FeatureMapName | None,
    typer.Option(
        "--feature-map",
        help="nystroem: landmarks picked by pivoted Cholesky; fourier: --rank random cosines "
        "instead (rbf).",
        show_default="nystroem",
    ),
]
Tol = Annotated[
    float,
    typer.Option(
        "--tol",
        min=0.0,
        help="Stop when this relative gap is proved, or where a risk falls with the loss, when "
        "no more than this share is gained.",
    ),
]
MaxPasses = Annotated[
    float,
    typer.Option("--max-passes", min=1.0, help="Stop a fit after so many sweeps over the rows."),
]
TimeLimit = Annotated[
    float | None,
    typer.Option(
        "--time-limit", min=0.0, help="Stop a fit after so many seconds.", show_default="none"
    ),
]
RequireConvergence = Annotated[
    bool,
    typer.Option(
        "--require-convergence",
        help="Exit with 5 if --tol was not proved, or the fit of a falling risk is not stationary.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random choice.")]
Folds = Annotated[
    int | None,
    typer.Option(
        "--cv",
        metavar="FOLDS",
        min=2,
        help="Choose among the risks and penalties by cross-validation with so many folds, and "
        "fit the best to all rows.",
    ),
]
SelectBy = Annotated[
    str | None,
    typer.Option(
        "--select-by",
        metavar="METRIC",
        help="What --cv goes by: any risk of the losses, or one of "
        f"{list_metrics([Needs.LOSSES, *TASK_NEEDS.values()])}.",
        show_default=f"the risk, {DEFAULT_RISK} for several",
    ),
]
Holdout = Annotated[
    float | None,
    typer.Option("--holdout", metavar="FRACTION", help="Keep this share of the rows for testing."),
]
TestFile = Annotated[
    str | None, typer.Option("--test", metavar="FILE", help="Test on the rows of this table.")
]
Output = Annotated[
    str | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Write the model (JSON). For several risks a folder, or a name with {risk} in it; "
        "so for --losses and --trace.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Read the table and say what would be learned from and how much memory that takes; "
        "fit and write nothing.",
    ),
]
LossesFile = Annotated[
    str | None,
    typer.Option(
        "--losses",
        metavar="FILE",
        help="Write every training row's prediction, loss, weight and rank (.csv, .tsv, .parquet).",
    ),
]
TraceFile = Annotated[
    str | None,
    typer.Option("--trace", metavar="FILE", help="Write the course of the run, epoch by epoch."),
]


def choose_scaling(
    asked: Scaling | None, standardize: Standardize, risks: "Sequence[Spectrum]"
) -> tuple[Scaling, tuple[str, ...]]:
    """How numbers are standardised, and what to say about it where risks disagree."""
    if asked is not None and standardize is Standardize.NONE:
        raise UsageError("--scaling has no meaning with --standardize none; leave one of them out")
    falling = [risk for risk in risks if not risk.rising]
    if asked is not None or not falling or standardize is Standardize.NONE:
        return asked or Scaling.DEVIATION, ()
    if len(falling) == len(risks):
        return Scaling.MAD, ()
    return Scaling.DEVIATION, (
        f"numbers are standardised by mean and deviation, which outliers move; alone, {falling[0]} "
        "would use median and MAD (--scaling mad)",
    )


def parse_names(text: str | None) -> tuple[str, ...]:
    """Column names separated by commas."""
    return () if text is None else tuple(name.strip() for name in text.split(",") if name.strip())


def parse_risks(texts: Sequence[str]) -> "tuple[Spectrum, ...]":
    """The risks to minimise, the usual one where none is named; each once."""
    from lrisk_cli.risk.spectrum import parse_risk

    for text in texts:
        if "," in text:
            each = " ".join(f"--risk {part.strip()}" for part in text.split(","))
            raise UsageError(f"--risk {text!r} is not one risk; write {each}")
    risks = tuple(parse_risk(text) for text in texts or (DEFAULT_RISK,))
    _refuse_twice("--risk", [str(risk) for risk in risks])
    return risks


def parse_penalties(texts: Sequence[str]) -> tuple[float | None, ...]:
    """Numbers separated by commas, each once; one None, which leaves it to us, for nothing."""
    if not texts:
        return (None,)
    parts = [part.strip() for text in texts for part in text.split(",")]
    try:
        penalties = [float(part) for part in parts]
    except ValueError:
        raise UsageError(
            f"--l2 takes a number greater than 0, or several separated by commas; got "
            f"{','.join(texts)!r}"
        ) from None
    _refuse_twice("--l2", [f"{penalty:g}" for penalty in penalties])
    return tuple(penalties)


def _refuse_twice(option: str, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise UsageError(f"{option} {name} is named twice; name it once")


def parse_dtypes(texts: Sequence[str]) -> dict[str, str]:
    """COLUMN=KIND or A,B=KIND, several times."""
    dtypes: dict[str, str] = {}
    for text in texts:
        name, separator, kind = text.rpartition("=")
        if not separator or kind not in ("number", "category", "string"):
            raise UsageError(
                f"--dtype takes COLUMN=number, COLUMN=category or COLUMN=string; got {text!r}"
            )
        dtypes |= dict.fromkeys(parse_names(name), kind)
    return dtypes


def parse_features(
    kernel: KernelName,
    gamma: str | None,
    degree: int | None,
    coef0: float | None,
    rank: str | None,
    feature_map: FeatureMapName | None,
) -> "FeatureOptions":
    """The options of the kernel, with gamma and rank read."""
    from lrisk_cli.features.features import FeatureOptions

    return FeatureOptions(
        kernel, _parse_gamma(gamma), degree, coef0, _parse_rank(rank), feature_map
    )


def _parse_gamma(text: str | None) -> GammaRule | float | None:
    if text is None or text in tuple(GammaRule):
        return None if text is None else GammaRule(text)
    try:
        return float(text)
    except ValueError:
        raise UsageError(
            f"--gamma takes scale, median or a number greater than 0; got {text!r}"
        ) from None


def _parse_rank(text: str | None) -> int | Literal["auto"] | None:
    if text is None or text == "auto":
        return None if text is None else "auto"
    try:
        rank = int(text)
    except ValueError:
        rank = 0
    if rank < 1:
        raise UsageError(f"--rank takes auto or a whole number greater than 0; got {text!r}")
    return rank
