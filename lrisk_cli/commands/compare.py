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
from lrisk_cli.tables.inputs import Inputs, make_inputs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lrisk_cli.evaluation.comparison import Comparison, Contest, Judge
    from lrisk_cli.evaluation.corruption import Corruption
    from lrisk_cli.features.features import FeatureOptions

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
    from lrisk_cli.design.design import DesignOptions, find_task, read_design
    from lrisk_cli.evaluation.comparison import compare as contend
    from lrisk_cli.evaluation.corruption import parse_corruption
    from lrisk_cli.reports.comparisons import comparison_document, print_comparison
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_apart, check_output, open_table

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
    _contest(risk, (), planted, contamination, l2, mapped, seed)  # wrong options before any reading
    if html is not None:
        check_output(html, force=force)
    with ProgressDisplay("compare", quiet=quiet, bar=not no_progress) as report:
        table = open_table(inputs, dtypes=fit_options.parse_dtypes(dtype or ()))
        check_apart([html], [*table.paths, *([] if test is None else [test])])
        raw = read_design(table, columns, report, split=test is None)
        found, _ = find_task(raw, task)
        taking_part = _usual_rivals(found) if rivals is None else rivals
        contest = _contest(risk, taking_part, planted, contamination, l2, mapped, seed)
        judge = None if test is None else _judge_by(inputs.beside(test))
        n_rows = len(raw.usable.rows.rows)
        splits, words = _splits(n_rows, cv, holdout, test, repeats, seed)
        comparison = contend(raw, columns, contest, splits, words, judge, report)
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


def _contest(
    risks: Sequence[str] | None,
    rivals: tuple[Rival, ...],
    planted: "Corruption | None",
    contamination: float | None,
    l2: float | None,
    features: "FeatureOptions",
    seed: int,
) -> "Contest":
    """Who takes part and on which terms; wrong options are refused."""
    from lrisk_cli.evaluation.comparison import Contest
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.solvers.select import SolverOptions

    if contamination is not None and not 0.0 < contamination < 0.5:
        raise UsageError(
            f"--contamination must be a share between 0 and 0.5; got {contamination:g}"
        )
    eps = contamination or (USUAL_EPS if planted is None else planted.fraction)
    usual = ("mean", "superquantile:0.5", "superquantile:0.9", "extremile:2")
    texts = risks or (*usual, f"subquantile:{1.0 - eps:g}")
    how = SolverOptions(seed=seed)
    fits = tuple(
        FitOptions(each, l2=l2, solver=how, features=features)
        for each in fit_options.parse_risks(texts)
    )
    for fit in fits:
        check_fit(fit)
    return Contest(fits, rivals, planted, eps, seed)


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


def _usual_rivals(task: Task) -> tuple[Rival, ...]:
    """All that learn such a target, without those whose library is not installed."""
    from importlib.util import find_spec

    installed = find_spec("sklearn") is not None
    return tuple(
        Rival(name)
        for name, family in FAMILIES.items()
        if task in family.tasks and name != "erm" and (installed or not family.needs_sklearn)
    )


def _judge_by(inputs: Inputs) -> "Judge":
    """By the rows of another table, which is opened with the types of the first."""
    from lrisk_cli.commands.scoring import score_all
    from lrisk_cli.evaluation.comparison import judged_risks
    from lrisk_cli.evaluation.metrics import Figures, tally_figures
    from lrisk_cli.models.model import Model
    from lrisk_cli.progress import silent
    from lrisk_cli.tables.table import open_table

    def judge(model: Model) -> Figures:
        table = open_table(inputs, expected=model.encoding.dtypes)
        judged = score_all(model, table, None, keep=False, report=silent)
        return tally_figures(judged.tally, judged_risks())

    return judge


def _splits(
    n_rows: int,
    n_folds: int | None,
    holdout: float | None,
    test: str | None,
    repeats: int,
    seed: int,
) -> "tuple[list[NDArray[np.bool_]], str]":
    """True for the rows to judge by, split after split; the same in words."""
    import numpy as np

    from lrisk_cli.evaluation.splits import folds, hold_out

    named = [n_folds is not None, holdout is not None, test is not None]
    if sum(named) > 1:
        raise UsageError("--cv, --holdout and --test all name rows to judge by; pass one of them")
    if test is not None:
        return [np.zeros(n_rows, dtype=np.bool_)], f"the rows of {test}"
    if holdout is None:
        if repeats > 1:
            raise UsageError("--repeats draws hold-outs again; add --holdout 0.2")
        n_folds = 5 if n_folds is None else n_folds
        fold_of = folds(n_rows, n_folds, seed)
        return [fold_of == fold for fold in range(n_folds)], f"{n_folds} folds in turn"
    drawn = [hold_out(n_rows, holdout, seed + at) for at in range(repeats)]
    times = "" if repeats == 1 else f", drawn {repeats} times"
    return drawn, f"{int(drawn[0].sum())} rows held out{times}"
