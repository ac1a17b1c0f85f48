"""`lrisk fit`: learn a model from a table and prove how good it is."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from lrisk_cli.commands import fit_options, options, solver_options
from lrisk_cli.errors import ExitCode, NotConvergedError, UsageError
from lrisk_cli.names import (
    Dates,
    KernelName,
    LossName,
    Missing,
    SmoothingName,
    SolverName,
    Standardize,
    Task,
    Unseen,
)
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.api.fit import FitResult, Fits, Job
    from lrisk_cli.evaluation.selection import Scheme
    from lrisk_cli.models.fitting import FitOptions


def fit(
    data: options.DataPaths,
    target: fit_options.Target,
    features: fit_options.Features = None,
    exclude: fit_options.Exclude = None,
    id_column: options.IdColumn = None,
    dtype: fit_options.Dtypes = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: fit_options.MissingPolicy = Missing.ERROR,
    unseen: fit_options.UnseenPolicy = Unseen.ERROR,
    max_categories: fit_options.MaxCategories = 100,
    dates: fit_options.DatesChoice = Dates.NUMBER,
    task: fit_options.TaskChoice = Task.AUTO,
    risk: fit_options.Risks = None,
    loss: fit_options.Loss = LossName.AUTO,
    l2: fit_options.Penalties = None,
    no_intercept: fit_options.NoIntercept = False,
    standardize: fit_options.StandardizeChoice = Standardize.BOTH,
    scaling: fit_options.ScalingChoice = None,
    kernel: fit_options.KernelChoice = KernelName.LINEAR,
    gamma: fit_options.Gamma = None,
    degree: fit_options.Degree = None,
    coef0: fit_options.Coef0 = None,
    rank: fit_options.Rank = None,
    feature_map: fit_options.FeatureMapChoice = None,
    solver: solver_options.Solver = SolverName.AUTO,
    smoothing: solver_options.SmoothingChoice = SmoothingName.NONE,
    nu: solver_options.Nu = None,
    step: solver_options.Step = None,
    batch_size: solver_options.BatchSize = None,
    epoch_length: solver_options.EpochLength = None,
    checkpoint_probability: solver_options.CheckpointProbability = None,
    sampling: solver_options.SamplingChoice = None,
    norm_bound: solver_options.NormBound = None,
    momentum: solver_options.Momentum = None,
    nesterov: solver_options.Nesterov = False,
    start: solver_options.StartChoice = None,
    no_reweight: solver_options.NoReweight = False,
    tol: fit_options.Tol = 1e-6,
    max_passes: fit_options.MaxPasses = 1000.0,
    time_limit: fit_options.TimeLimit = None,
    require_convergence: fit_options.RequireConvergence = False,
    seed: fit_options.Seed = 0,
    threads: options.Threads = 1,  # noqa: ARG001  (by its callback)
    cv: fit_options.Folds = None,
    select_by: fit_options.SelectBy = None,
    holdout: fit_options.Holdout = None,
    test: fit_options.TestFile = None,
    output: fit_options.Output = None,
    losses: fit_options.LossesFile = None,
    trace: fit_options.TraceFile = None,
    html: options.HtmlFile = None,
    dry_run: fit_options.DryRun = False,
    json: options.Json = False,
    force: options.Force = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,  # noqa: ARG001  (by its callback)
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> int:
    """Learn a model from a table and prove how good it is.

    Minimises a spectral risk of the losses plus an l2 penalty, and proves how far the result can
    be from the optimum; of a risk that falls with the loss it keeps the best of several searches.
    A target with classes makes it logistic regression.
    """
    from lrisk_cli.api.fit import Job, run
    from lrisk_cli.api.fit_files import FitFiles, name_files
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.solvers.select import SolverOptions
    from lrisk_cli.solvers.solution import Limits

    step_size, decay = solver_options.parse_step(step)
    how = SolverOptions(
        solver,
        step_size,
        decay,
        batch_size,
        epoch_length,
        checkpoint_probability,
        sampling,
        seed,
        track_ranks=trace is not None or html is not None,
        norm_bound=norm_bound,
        momentum=momentum,
        nesterov=nesterov,
        start=start,
    )
    limits = Limits(tol, max_passes, time_limit)
    risks, penalties = fit_options.parse_risks(risk or ()), fit_options.parse_penalties(l2 or ())
    by, notes = fit_options.choose_scaling(scaling, standardize, risks)
    mapped = fit_options.parse_features(kernel, gamma, degree, coef0, rank, feature_map)
    fits = tuple(
        FitOptions(each, loss, mu, smoothing, nu, how, limits, mapped, not no_reweight)
        for each, mu in product(risks, penalties)
    )
    for options_of_fit in fits:
        check_fit(options_of_fit)
    asked = FitFiles(output, losses, trace, html)
    job = Job(
        data=make_inputs(data, delimiter, decimal, na_values, memory_limit),
        dtypes=fit_options.parse_dtypes(dtype or ()),
        columns=DesignOptions(
            target=target,
            features=fit_options.parse_names(features),
            exclude=fit_options.parse_names(exclude),
            id_column=id_column,
            task=task,
            missing=missing,
            unseen=unseen,
            max_categories=max_categories,
            dates=dates,
            standardize=standardize,
            scaling=by,
            intercept=not no_intercept,
        ),
        fits=fits,
        scheme=_scheme(cv, select_by, seed, fits, task),
        seed=seed,
        holdout=holdout,
        test=test,
        asked=asked,
        notes=notes,
        files=name_files(
            asked, [str(each.risk) for each in fits], apart=cv is None and len(fits) > 1
        ),
    )
    if dry_run:
        _show_plan(job, as_json=json, quiet=quiet, bar=not no_progress)
        return ExitCode.DONE
    with ProgressDisplay("fit", quiet=quiet, bar=not no_progress) as report:
        done = run(job, report, force=force)
        _write_pages(done)
    _show(done, as_json=json)
    if require_convergence:
        _insist(done.results)
    return ExitCode.DONE


def _scheme(
    n_folds: int | None, metric: str | None, seed: int, fits: "Sequence[FitOptions]", task: Task
) -> "Scheme | None":
    """How to choose among the fits, if that is asked for."""
    from lrisk_cli.evaluation.selection import Scheme, check_metric, default_metric

    if n_folds is not None:
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

            write_page(result.files.html, fit_page(fits, result, options.command_line()))


def _show(fits: "Fits", *, as_json: bool) -> None:
    from lrisk_cli.reports.documents import fits_document, print_document
    from lrisk_cli.reports.paths import print_choice, print_path
    from lrisk_cli.reports.terminal import print_fit

    if as_json:
        print_document(fits_document(fits))
    elif len(fits.results) > 1:
        print_path(fits)
    else:
        if fits.choice is not None:
            print_choice(fits.choice)
        print_fit(fits)
