"""`lrisk compare`: risks and baselines on the user's own table."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.baselines.registry import Baseline, parse_baseline
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary, without
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import ExitCode, UsageError
from lrisk_cli.evaluation.options.comparing import ComparisonSplits, Methods
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import Penalty, parse_risks
from lrisk_cli.names import Unseen
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.evaluation.comparison import Comparison
    from lrisk_cli.features.features import FeatureOptions
    from lrisk_cli.models.fitting import FitOptions


def compare(
    data: Data,
    columns: Annotated[
        Columns,
        without("id_column", "exposure", "unseen", "scaling", "intercept"),
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
    from lrisk_cli.api.compare import Job, run
    from lrisk_cli.evaluation.corruption import parse_corruption
    from lrisk_cli.reports.comparisons import comparison_document, print_comparison
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay

    planted = None if methods.corrupt is None else parse_corruption(methods.corrupt)
    eps = methods.expected(None if planted is None else planted.fraction)
    job = Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        columns=replace(columns.parse(), unseen=Unseen.OTHER),
        fits=_fits(methods, eps, penalty.l2, kernel.parse(), seed.seed),
        rivals=_parse_rivals(methods.rival),
        planted=planted,
        eps=eps,
        splits=splits,
        seed=seed.seed,
        html=page.html,
    )
    with ProgressDisplay("compare", quiet=messages.quiet, bar=messages.progress) as report:
        comparison = run(job, report, force=files.force)
        if job.html is not None:
            _write_page(job.html, comparison)
    if document.json:
        print_document(comparison_document(comparison))
    else:
        print_comparison(comparison)
    return ExitCode.DONE


def _write_page(path: str, comparison: "Comparison") -> None:
    from lrisk_cli.reports.comparison_page import comparison_page
    from lrisk_cli.reports.html import write_page

    write_page(path, comparison_page(comparison, command_line()))


def _fits(
    methods: Methods, eps: float, l2: float | None, features: "FeatureOptions", seed: int
) -> "tuple[FitOptions, ...]":
    """A fit for each risk, alike but for it; wrong options are refused."""
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.solvers.select import SolverOptions

    usual = ("mean", "superquantile:0.5", "superquantile:0.9", "extremile:2")
    texts = methods.risk or (*usual, f"subquantile:{1.0 - eps:g}")
    how = SolverOptions(seed=seed)
    fits = tuple(
        FitOptions(each, l2=l2, solver=how, features=features) for each in parse_risks(texts)
    )
    for fit in fits:
        check_fit(fit)
    return fits


def _parse_rivals(texts: Sequence[str]) -> tuple[Baseline, ...] | None:
    """Those named; None where none was, and nothing for `none`."""
    if not texts:
        return None
    if list(texts) == ["none"]:
        return ()
    rivals = tuple(parse_baseline(text) for text in texts)
    names = [str(each) for each in rivals]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--rival {name} is named twice; name it once")
    return rivals
