"""`lrisk compare`: risks and rivals on the user's own table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.baselines.registry import FAMILIES, Rival, parse_rival
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary, without
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import ExitCode, UsageError
from lrisk_cli.evaluation.options import ComparisonSplits, Methods
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import Penalty, parse_risks
from lrisk_cli.names import Task, Unseen
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lrisk_cli.evaluation.comparison import Comparison, Contest, Judge
    from lrisk_cli.evaluation.corruption import Corruption
    from lrisk_cli.features.features import FeatureOptions


def compare(
    data: Data,
    columns: Annotated[
        Columns,
        without("id_column", "unseen", "scaling", "intercept"),
        vary("target", required=True),
    ],
    methods: Methods,
    penalty: Penalty,
    kernel: KernelOptions,
    splits: ComparisonSplits,
    page: Page,
    document: Document,
    files: Annotated[Files, only("force")],
    messages: Messages,
    seed: Seed,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
) -> int:
    """Compare risks and rivals on rows they have not seen.

    Every method learns from the same rows and features with the same penalty, and is judged on the
    rows left out. With --corrupt the rows to learn from are spoilt in a known way first.

    Examples:
        lrisk compare sample_data/wine_quality_red.csv --target quality --cv 3
        lrisk compare sample_data/simulated.csv --target y --corrupt label:0.1 \\
            --rival huber --holdout 0.3
    """
    from lrisk_cli.design.design import find_task, read_design
    from lrisk_cli.evaluation.comparison import compare as contend
    from lrisk_cli.evaluation.corruption import parse_corruption
    from lrisk_cli.reports.comparisons import comparison_document, print_comparison
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_apart, check_output, open_table

    inputs, test, html = data.parse(), splits.test, page.html
    planted = None if methods.corrupt is None else parse_corruption(methods.corrupt)
    rivals = _parse_rivals(methods.rival)
    how = replace(columns.parse(), unseen=Unseen.OTHER)
    mapped, l2 = kernel.parse(), penalty.l2
    _contest(methods, (), planted, l2, mapped, seed.seed)  # wrong options before any reading
    if html is not None:
        check_output(html, force=files.force)
    with ProgressDisplay("compare", quiet=messages.quiet, bar=messages.progress) as report:
        table = open_table(inputs, dtypes=columns.dtypes)
        check_apart([html], [*table.paths, *([] if test is None else [test])])
        raw = read_design(table, how, report, split=test is None)
        found, _ = find_task(raw, how.task)
        taking_part = _usual_rivals(found) if rivals is None else rivals
        contest = _contest(methods, taking_part, planted, l2, mapped, seed.seed)
        judge = None if test is None else _judge_by(inputs.beside(test))
        drawn, words = _splits(len(raw.usable.rows.rows), splits, seed.seed)
        comparison = contend(raw, how, contest, drawn, words, judge, report)
        if html is not None:
            _write_page(html, comparison)
    if document.json:
        print_document(comparison_document(comparison))
    else:
        print_comparison(comparison)
    return ExitCode.DONE


def _write_page(path: str, comparison: "Comparison") -> None:
    from lrisk_cli.reports.comparison_page import comparison_page
    from lrisk_cli.reports.html import write_page

    write_page(path, comparison_page(comparison, command_line()))


def _contest(
    methods: Methods,
    rivals: "tuple[Rival, ...]",
    planted: "Corruption | None",
    l2: float | None,
    features: "FeatureOptions",
    seed: int,
) -> "Contest":
    """Who takes part and on which terms; wrong options are refused."""
    from lrisk_cli.evaluation.comparison import Contest
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.solvers.select import SolverOptions

    eps = methods.expected(None if planted is None else planted.fraction)
    usual = ("mean", "superquantile:0.5", "superquantile:0.9", "extremile:2")
    texts = methods.risk or (*usual, f"subquantile:{1.0 - eps:g}")
    how = SolverOptions(seed=seed)
    fits = tuple(
        FitOptions(each, l2=l2, solver=how, features=features) for each in parse_risks(texts)
    )
    for fit in fits:
        check_fit(fit)
    return Contest(fits, rivals, planted, eps, seed)


def _parse_rivals(texts: Sequence[str]) -> "tuple[Rival, ...] | None":
    """Those named; None where none was, and nothing for `none`."""
    if not texts:
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
    n_rows: int, splits: ComparisonSplits, seed: int
) -> "tuple[list[NDArray[np.bool_]], str]":
    """True for the rows to judge by, split after split; the same in words."""
    import numpy as np

    from lrisk_cli.evaluation.splits import folds, hold_out

    n_folds, holdout, test, repeats = splits.cv, splits.holdout, splits.test, splits.repeats
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
