"""`lrisk compare`: risks and rivals on the user's own table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.baselines.registry import FAMILIES, Rival, parse_rival
from lrisk_cli.commands import fit_options, options
from lrisk_cli.errors import ExitCode, UsageError
from lrisk_cli.names import (
    CORRUPTIONS,
    Dates,
    KernelName,
    Missing,
    Standardize,
    Task,
    Unseen,
)
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.evaluation.comparison import Comparison
    from lrisk_cli.evaluation.corruption import Corruption
    from lrisk_cli.features.features import FeatureOptions
    from lrisk_cli.models.fitting import FitOptions

# What rivals are told about bad rows where nothing was planted and nobody guesses.
USUAL_EPS = 0.1

Risks = Annotated[
    list[str] | None,
    typer.Option(
        "--risk",
        metavar="RISK",
        help="Risk to fit; repeatable.",
        show_default="mean, superquantile:0.5, superquantile:0.9, extremile:2",
    ),
]
Rivals = Annotated[
    list[str] | None,
    typer.Option(
        "--rival",
        metavar="NAME[:NUMBER]",
        help=f"Method of another paper; repeatable; none for no rivals: {', '.join(FAMILIES)}.",
        show_default="all that learn such a target and are installed",
    ),
]
Corrupt = Annotated[
    str | None,
    typer.Option(
        "--corrupt",
        metavar="KIND:SHARE",
        help="Plant known outliers in the rows to learn from: "
        + "; ".join(f"{kind}: {words}" for kind, words in CORRUPTIONS.items())
        + ".",
    ),
]
Contamination = Annotated[
    float | None,
    typer.Option(
        "--contamination",
        metavar="SHARE",
        help="Share of bad rows that rivals are told to expect.",
        show_default=f"the planted share, else {USUAL_EPS}",
    ),
]
Folds = Annotated[
    int | None,
    typer.Option("--cv", metavar="FOLDS", help="Folds to judge by in turn.", show_default="5"),
]
Holdout = Annotated[
    float | None,
    typer.Option("--holdout", metavar="SHARE", help="Judge by this share of the rows instead."),
]
Repeats = Annotated[
    int, typer.Option("--repeats", min=1, help="Hold-outs to draw, by seed, seed + 1, ...")
]


def compare(
    data: options.DataPaths,
    target: fit_options.Target,
    features: fit_options.Features = None,
    exclude: fit_options.Exclude = None,
    dtype: fit_options.Dtypes = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: fit_options.MissingPolicy = Missing.ERROR,
    max_categories: fit_options.MaxCategories = 100,
    dates: fit_options.DatesChoice = Dates.NUMBER,
    task: fit_options.TaskChoice = Task.AUTO,
    risk: Risks = None,
    rival: Rivals = None,
    corrupt: Corrupt = None,
    contamination: Contamination = None,
    cv: Folds = None,
    holdout: Holdout = None,
    test: fit_options.TestFile = None,
    repeats: Repeats = 1,
    l2: fit_options.L2 = None,
    standardize: fit_options.StandardizeChoice = Standardize.BOTH,
    kernel: fit_options.KernelChoice = KernelName.LINEAR,
    gamma: fit_options.Gamma = None,
    degree: fit_options.Degree = None,
    coef0: fit_options.Coef0 = None,
    rank: fit_options.Rank = None,
    feature_map: fit_options.FeatureMapChoice = None,
    seed: fit_options.Seed = 0,
    threads: options.Threads = 1,  # noqa: ARG001  (by its callback)
    html: options.HtmlFile = None,
    json: options.Json = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> int:
    """Compare risks and rivals on rows they have not seen.

    Every method learns from the same rows and features with the same penalty, and is judged on the
    rows left out. With --corrupt the rows to learn from are spoilt in a known way first.
    """
    from lrisk_cli.api.compare import Job, Splits, run
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.evaluation.corruption import parse_corruption
    from lrisk_cli.reports.comparisons import comparison_document, print_comparison
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay

    inputs = make_inputs(data, delimiter, decimal, na_values, memory_limit)
    planted = None if corrupt is None else parse_corruption(corrupt)
    rivals = _parse_rivals(rival)
    columns = DesignOptions(
        target=target,
        features=fit_options.parse_names(features),
        exclude=fit_options.parse_names(exclude),
        task=task,
        missing=missing,
        unseen=Unseen.OTHER,
        max_categories=max_categories,
        dates=dates,
        standardize=standardize,
    )
    mapped = fit_options.parse_features(kernel, gamma, degree, coef0, rank, feature_map)
    eps = _expected_outliers(contamination, planted)
    job = Job(
        data=inputs,
        dtypes=fit_options.parse_dtypes(dtype or ()),
        columns=columns,
        fits=_fits(risk, eps, l2, mapped, seed),
        rivals=rivals,
        planted=planted,
        eps=eps,
        splits=Splits(cv, holdout, test, repeats),
        seed=seed,
        html=html,
    )
    with ProgressDisplay("compare", quiet=quiet, bar=not no_progress) as report:
        comparison = run(job, report, force=force)
        if html is not None:
            _write_page(html, comparison)
    if json:
        print_document(comparison_document(comparison))
    else:
        print_comparison(comparison)
    return ExitCode.DONE


def _write_page(path: str, comparison: "Comparison") -> None:
    from lrisk_cli.reports.comparison_page import comparison_page
    from lrisk_cli.reports.html import write_page

    write_page(path, comparison_page(comparison, options.command_line()))


def _expected_outliers(contamination: float | None, planted: "Corruption | None") -> float:
    """The share of bad rows that rivals are told to expect."""
    if contamination is not None and not 0.0 < contamination < 0.5:
        raise UsageError(
            f"--contamination must be a share between 0 and 0.5; got {contamination:g}"
        )
    return contamination or (USUAL_EPS if planted is None else planted.fraction)


def _fits(
    risks: Sequence[str] | None,
    eps: float,
    l2: float | None,
    features: "FeatureOptions",
    seed: int,
) -> "tuple[FitOptions, ...]":
    """A fit for each risk, alike but for it; wrong options are refused."""
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.solvers.select import SolverOptions

    usual = ("mean", "superquantile:0.5", "superquantile:0.9", "extremile:2")
    texts = risks or (*usual, f"subquantile:{1.0 - eps:g}")
    how = SolverOptions(seed=seed)
    fits = tuple(
        FitOptions(each, l2=l2, solver=how, features=features)
        for each in fit_options.parse_risks(texts)
    )
    for fit in fits:
        check_fit(fit)
    return fits


def _parse_rivals(texts: Sequence[str] | None) -> tuple[Rival, ...] | None:
    """Those named; None where none was, and nothing for `none`."""
    if texts is None:
        return None
    if list(texts) == ["none"]:
        return ()
    rivals = tuple(parse_rival(text) for text in texts)
    names = [str(each) for each in rivals]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--rival {name} is named twice; name it once")
    return rivals
