"""`lrisk fit`: learn a model from a table and prove how good it is."""

from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.gate_results import NO_BASELINE, conclude_fit
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import vary
from lrisk_cli.design.options import Columns
from lrisk_cli.engines.options import EngineOptions
from lrisk_cli.errors import ExitCode
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.options.validation import Validation
from lrisk_cli.evaluation.registry import list_metrics, needs_of_fits
from lrisk_cli.features.options import Embedding, KernelOptions
from lrisk_cli.models.options import AfterFit, FitOutput, ModelOptions
from lrisk_cli.names import Task
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.api.fit_job import Job
    from lrisk_cli.api.fit_result import Fits

FAIL_ON = (
    "Exit with 1 if this holds, for example 'warnings>0' or 'r2<0.5'; repeatable. Metrics of the "
    "rows to test on, or else of those learned from: any risk, "
    f"{list_metrics(needs_of_fits(Task.AUTO))}."
)
BY = (
    "Report each group of rows too, by the cells of these columns, and let a risk of groups be of "
    "them; they are features only if `features` names them."
)


def fit(
    data: Data,
    columns: Annotated[Columns, vary("target", required=True)],
    model: ModelOptions,
    kernel: KernelOptions,
    embedding: Embedding,
    validation: Validation,
    grouping: Annotated[Grouping, vary("by", help=BY)],
    after: AfterFit,
    gates: Annotated[Gates, NO_BASELINE, vary("fail_on", help=FAIL_ON)],
    output: FitOutput,
    page: Page,
    document: Document,
    files: Files,
    messages: Messages,
    stopping: Stopping,
    engine: EngineOptions,
    seed: Seed,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
    solver: Solver,
) -> int:
    """Learn a model from a table and prove how good it is.

    Minimises a spectral risk of the losses plus an l2 penalty, and proves how far the result can
    be from the optimum; of a risk that falls with the loss it keeps the best of several searches.
    A target with classes makes it logistic regression.

    Examples:
        lrisk fit sample_data/wine_quality_red.csv --target quality -o model.json
        lrisk fit sample_data/breast_cancer.csv --target diagnosis --holdout 0.2
        lrisk fit sample_data/simulated.csv --target y --l2 0.001,0.1 --cv 3
    """
    from lrisk_cli.api.fit import require_convergence, run
    from lrisk_cli.api.fit_options import make_job
    from lrisk_cli.reports.progress import ProgressDisplay

    job = make_job(
        data, columns, model, kernel, embedding, validation, output, stopping, solver,
        seed=seed.seed, html=page.html, gates=gates, after=after, grouping=grouping,
        engine=engine.engine,
    )  # fmt: skip
    if output.dry_run:
        _show_plan(job, as_json=document.json, quiet=messages.quiet, bar=messages.progress)
        return ExitCode.DONE
    with ProgressDisplay("fit", quiet=messages.quiet, bar=messages.progress) as report:
        done = run(job, report, force=files.force)
        _write_pages(done)
    _show(done, as_json=document.json)
    code = conclude_fit(job.checks, done.gate_results, data.data, done.warnings)
    if stopping.require_convergence:
        require_convergence(done.results)
    return code


def _show_plan(job: "Job", *, as_json: bool, quiet: bool, bar: bool) -> None:
    """What the job would read, and the memory that it would take."""
    from lrisk_cli.api.fit_plan import plan
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.plans import plan_document, print_plan
    from lrisk_cli.reports.progress import ProgressDisplay

    with ProgressDisplay("fit", quiet=quiet, bar=bar) as report:
        planned = plan(job, report)
    if as_json:
        print_document(plan_document(planned))
    else:
        print_plan(planned)


def _write_pages(fits: "Fits") -> None:
    """The page of each fit, where one was asked for."""
    for result in fits.results:
        if result.files.html is not None:
            from lrisk_cli.reports.html import write_page
            from lrisk_cli.reports.model_pages import fit_page

            write_page(result.files.html, fit_page(fits, result, command_line()))


def _show(fits: "Fits", *, as_json: bool) -> None:
    if as_json:
        from lrisk_cli.reports.documents import fits_document, print_document

        print_document(fits_document(fits))
        return
    if len(fits.results) > 1:
        from lrisk_cli.reports.paths import print_path

        print_path(fits)
        return
    if fits.choice is not None:
        from lrisk_cli.reports.paths import print_choice

        print_choice(fits.choice)
    from lrisk_cli.reports.terminal import print_fit

    print_fit(fits)
