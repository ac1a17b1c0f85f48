"""`lrisk fit`: learn a model from a table and prove how good it is."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import vary
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import ExitCode, NotConvergedError, UsageError
from lrisk_cli.evaluation.options.validation import Validation
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import FitOutput, ModelOptions, choose_scaling, suit_columns
from lrisk_cli.names import Task
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.api.fit import FitResult, Fits, Job
    from lrisk_cli.evaluation.selection import Scheme
    from lrisk_cli.features.features import FeatureOptions
    from lrisk_cli.models.fitting import FitOptions
    from lrisk_cli.solvers.select import SolverOptions
    from lrisk_cli.solvers.solution import Limits


def fit(
    data: Data,
    columns: Annotated[Columns, vary("target", required=True)],
    model: ModelOptions,
    kernel: KernelOptions,
    validation: Validation,
    output: FitOutput,
    page: Page,
    document: Document,
    files: Files,
    messages: Messages,
    stopping: Stopping,
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
    from lrisk_cli.api.fit import Job, run
    from lrisk_cli.api.fit_files import FitFiles, name_files
    from lrisk_cli.reports.progress import ProgressDisplay

    asked = FitFiles(output.output, output.losses, output.trace, page.html)
    how = solver.parse(seed.seed, track_ranks=bool(asked.trace or asked.html))
    fits = _fits(model, how, stopping.parse(), kernel.parse())
    by, notes = choose_scaling(columns.scaling, columns.standardize, model.risks)
    design = suit_columns(replace(columns.parse(), scaling=by), fits[0].loss)
    job = Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        columns=design,
        fits=fits,
        scheme=_scheme(validation, seed.seed, fits, design.task),
        seed=seed.seed,
        holdout=validation.holdout,
        test=validation.test,
        asked=asked,
        notes=notes,
        files=name_files(
            asked, [str(each.risk) for each in fits], apart=validation.cv is None and len(fits) > 1
        ),
    )
    if output.dry_run:
        _show_plan(job, as_json=document.json, quiet=messages.quiet, bar=messages.progress)
        return ExitCode.DONE
    with ProgressDisplay("fit", quiet=messages.quiet, bar=messages.progress) as report:
        done = run(job, report, force=files.force)
        _write_pages(done)
    _show(done, as_json=document.json)
    if stopping.require_convergence:
        _insist(done.results)
    return ExitCode.DONE


def _fits(
    model: ModelOptions, how: "SolverOptions", limits: "Limits", features: "FeatureOptions"
) -> "tuple[FitOptions, ...]":
    """A fit for each risk and penalty; wrong options are refused."""
    from lrisk_cli.losses.registry import parse_loss
    from lrisk_cli.models.fitting import FitOptions, check_fit

    loss = parse_loss(model.loss)
    fits = tuple(
        FitOptions(risk, loss, mu, model.smoothing, model.nu, how, limits, features, model.reweight)
        for risk, mu in product(model.risks, model.penalties)
    )
    for each in fits:
        check_fit(each)
    return fits


def _scheme(
    validation: Validation, seed: int, fits: "Sequence[FitOptions]", task: Task
) -> "Scheme | None":
    """How to choose among the fits, if that is asked for."""
    n_folds, metric = validation.cv, validation.select_by
    if n_folds is not None:
        from lrisk_cli.evaluation.selection import Scheme, check_metric, default_metric

        return Scheme(n_folds, seed, check_metric(metric or default_metric(fits), task))
    if metric is not None:
        raise UsageError("--select-by has no meaning without folds to choose by; add --cv 5")
    if len({fit.l2 for fit in fits}) > 1:
        raise UsageError("--l2: several penalties need --cv to choose one of them; add --cv 5")
    return None


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


def _insist(results: "Sequence[FitResult]") -> None:
    """Refuse to call it done when a gap was not proved."""
    missed = [result for result in results if not result.converged]
    if not missed:
        return
    status = missed[0].model.fit.status
    if len(results) > 1:
        others = f" ({len(missed)} of {len(results)} risks)" if len(missed) > 1 else ""
        status = f"{missed[0].model.risk}: {status}{others}"
    raise NotConvergedError(
        f"{status}; allow more passes or a larger --tol (--require-convergence)"
    )


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
