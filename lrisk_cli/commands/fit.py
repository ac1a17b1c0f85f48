"""`lrisk fit`: learn a model from a table and prove how good it is."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.options.declared import vary
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import ExitCode, NotConvergedError, UsageError
from lrisk_cli.evaluation.options import Validation
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import FitOutput, ModelOptions, choose_scaling
from lrisk_cli.names import KernelName, Task
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.commands.fit_run import Done, Job, Result
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
    from lrisk_cli.commands.fit_files import FitFiles, name_files
    from lrisk_cli.commands.fit_run import Job, run

    asked = FitFiles(output.output, output.losses, output.trace, page.html)
    how = solver.parse(seed.seed, track_ranks=bool(asked.trace or asked.html))
    fits = _fits(model, how, stopping.parse(), kernel.parse())
    by, notes = choose_scaling(columns.scaling, columns.standardize, model.risks)
    job = Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        columns=replace(columns.parse(), scaling=by),
        fits=fits,
        scheme=_scheme(validation, seed.seed, fits, columns.task or Task.AUTO),
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
    done = run(job, force=files.force, quiet=messages.quiet, bar=messages.progress)
    _show(done, as_json=document.json)
    if stopping.require_convergence:
        _insist(done.results)
    return ExitCode.DONE


def _fits(
    model: ModelOptions, how: "SolverOptions", limits: "Limits", features: "FeatureOptions"
) -> "tuple[FitOptions, ...]":
    """A fit for each risk and penalty; wrong options are refused."""
    from lrisk_cli.models.fitting import FitOptions, check_fit

    fits = tuple(
        FitOptions(
            risk, model.loss, mu, model.smoothing, model.nu, how, limits, features, model.reweight
        )
        for risk, mu in product(model.risks, model.penalties)
    )
    for each in fits:
        check_fit(each)
    return fits


def _scheme(
    validation: Validation, seed: int, fits: "Sequence[FitOptions]", task: Task
) -> "Scheme | None":
    """How to choose among the fits, if that is asked for."""
    from lrisk_cli.evaluation.selection import Scheme, check_metric, default_metric

    n_folds, metric = validation.cv, validation.select_by
    if n_folds is not None:
        return Scheme(n_folds, seed, check_metric(metric or default_metric(fits), task))
    if metric is not None:
        raise UsageError("--select-by has no meaning without folds to choose by; add --cv 5")
    if len({fit.l2 for fit in fits}) > 1:
        raise UsageError("--l2: several penalties need --cv to choose one of them; add --cv 5")
    return None


def _show_plan(job: "Job", *, as_json: bool, quiet: bool, bar: bool) -> None:
    """What the job would read, and the memory that it would take."""
    from lrisk_cli.design.planning import plan_design
    from lrisk_cli.features.features import count_values
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.plans import plan_document, print_plan
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import open_table

    kernel = job.fits[0].features

    def values(n_rows: int) -> int:
        found = count_values(kernel, n_rows)
        if found is None:
            raise UsageError(
                "--dry-run cannot foresee how many landmarks --rank auto takes; pass --rank N"
            )
        return found

    linear = kernel.kernel is KernelName.LINEAR
    flat = all(fit.risk.flat for fit in job.fits)
    with ProgressDisplay("fit", quiet=quiet, bar=bar) as report:
        table = open_table(job.data, dtypes=job.dtypes)
        plan = plan_design(
            table, job.columns, flat=flat, values=None if linear else values, report=report
        )
    if as_json:
        print_document(plan_document(plan))
    else:
        print_plan(plan)


def _insist(results: "Sequence[Result]") -> None:
    """Refuse to call it done when a gap was not proved."""
    missed = [result for result in results if not result.fitted.solution.converged]
    if not missed:
        return
    status = missed[0].fitted.solution.status
    if len(results) > 1:
        others = f" ({len(missed)} of {len(results)} risks)" if len(missed) > 1 else ""
        status = f"{missed[0].fitted.model.risk}: {status}{others}"
    raise NotConvergedError(
        f"{status}; allow more passes or a larger --tol (--require-convergence)"
    )


def _show(done: "Done", *, as_json: bool) -> None:
    from lrisk_cli.reports.documents import fit_document, path_document, print_document
    from lrisk_cli.reports.paths import print_choice, print_path
    from lrisk_cli.reports.terminal import print_fit

    counts = replace(done.design.counts, used=len(done.design.row_numbers))
    several = len(done.results) > 1
    if as_json:
        documents = [
            fit_document(
                result.files.model,
                result.fitted.model,
                counts,
                result.figures["training"],
                result.tested,
                {"solve_s": result.seconds} if several else done.timings,
                (*done.notes, *result.notes),
                done.choice,
            )
            for result in done.results
        ]
        print_document(path_document(documents, done.timings) if several else documents[0])
    elif several:
        print_path([result.entry for result in done.results], counts, done.notes)
    else:
        if done.choice is not None:
            print_choice(done.choice)
        (only,) = done.results
        notes = (*done.notes, *only.notes)
        print_fit(only.fitted.model, counts, only.figures, only.files.model, notes)
