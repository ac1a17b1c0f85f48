"""`lrisk fit`: learn a model from a table and prove how good it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lrisk_cli.commands import fit_options, options
from lrisk_cli.commands.clock import Clock
from lrisk_cli.errors import ExitCode, NotConvergedError, UsageError
from lrisk_cli.names import (
    DEFAULT_RISK,
    LossName,
    Missing,
    SmoothingName,
    SolverName,
    Standardize,
    Task,
    Unseen,
)

if TYPE_CHECKING:
    from lrisk_cli.arrays import Flags
    from lrisk_cli.design import Design, DesignOptions
    from lrisk_cli.encoding import Encoding
    from lrisk_cli.fitting import FitOptions, Fitted, ScoredRows
    from lrisk_cli.metrics import Figures, Tally
    from lrisk_cli.model import Model
    from lrisk_cli.solvers.outcome import Epoch
    from lrisk_cli.tables import Table


def fit(
    data: options.DataPaths,
    target: fit_options.Target,
    features: fit_options.Features = None,
    exclude: fit_options.Exclude = None,
    id_column: options.IdColumn = None,
    dtype: fit_options.Dtypes = None,
    missing: fit_options.MissingPolicy = Missing.ERROR,
    unseen: fit_options.UnseenPolicy = Unseen.ERROR,
    max_categories: fit_options.MaxCategories = 100,
    task: fit_options.TaskChoice = Task.AUTO,
    risk: fit_options.Risk = DEFAULT_RISK,
    loss: fit_options.Loss = LossName.AUTO,
    l2: fit_options.L2 = None,
    no_intercept: fit_options.NoIntercept = False,
    standardize: fit_options.StandardizeChoice = Standardize.BOTH,
    solver: fit_options.Solver = SolverName.AUTO,
    smoothing: fit_options.SmoothingChoice = SmoothingName.NONE,
    nu: fit_options.Nu = None,
    step: fit_options.Step = None,
    batch_size: fit_options.BatchSize = None,
    epoch_length: fit_options.EpochLength = None,
    checkpoint_probability: fit_options.CheckpointProbability = None,
    sampling: fit_options.SamplingChoice = None,
    tol: fit_options.Tol = 1e-6,
    max_passes: fit_options.MaxPasses = 1000.0,
    time_limit: fit_options.TimeLimit = None,
    require_convergence: fit_options.RequireConvergence = False,
    seed: fit_options.Seed = 0,
    holdout: fit_options.Holdout = None,
    test: fit_options.TestFile = None,
    output: fit_options.Output = None,
    losses: fit_options.LossesFile = None,
    trace: fit_options.TraceFile = None,
    json: options.Json = False,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> int:
    """Learn a linear model from a table and prove how good it is.

    Minimises a spectral risk of the losses plus an l2 penalty, and proves how far the result can
    be from the optimum. A target with classes makes it logistic regression.
    """
    from lrisk_cli.design import DesignOptions
    from lrisk_cli.fitting import FitOptions, check_fit
    from lrisk_cli.solvers.outcome import Limits
    from lrisk_cli.solvers.select import SolverOptions
    from lrisk_cli.spectra import parse_risk

    step_size, decay = fit_options.parse_step(step)
    how = SolverOptions(
        solver,
        step_size,
        decay,
        batch_size,
        epoch_length,
        checkpoint_probability,
        sampling,
        seed,
        track_ranks=trace is not None,
    )
    limits = Limits(tol, max_passes, time_limit)
    fitting = FitOptions(parse_risk(risk), loss, l2, smoothing, nu, how, limits)
    check_fit(fitting)
    columns = DesignOptions(
        target=target,
        features=fit_options.parse_names(features),
        exclude=fit_options.parse_names(exclude),
        id_column=id_column,
        task=task,
        missing=missing,
        unseen=unseen,
        max_categories=max_categories,
        standardize=standardize,
        intercept=not no_intercept,
    )
    job = _Job(
        data=data,
        dtypes=fit_options.parse_dtypes(dtype or ()),
        columns=columns,
        fitting=fitting,
        holdout=holdout,
        test=test,
        output=output,
        losses=losses,
        trace=trace,
    )
    done = _run(job, force=force, quiet=quiet, bar=not no_progress)
    _show(job, done, as_json=json)
    if require_convergence and not done.fitted.solution.converged:
        raise NotConvergedError(
            f"{done.fitted.solution.status}; allow more passes or a larger --tol "
            "(--require-convergence)"
        )
    return ExitCode.DONE


@dataclass(frozen=True, slots=True)
class _Job:
    """What was asked for."""

    data: Sequence[str]
    dtypes: dict[str, str]
    columns: "DesignOptions"
    fitting: "FitOptions"
    holdout: float | None
    test: str | None
    output: str | None
    losses: str | None
    trace: str | None

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """The files to write; None for those not asked for."""
        return (self.output, self.losses, self.trace)


@dataclass(frozen=True, slots=True)
class _Done:
    """What came of it. figures: of the training rows and of those to test on, if any."""

    fitted: "Fitted"
    design: "Design"
    figures: "dict[str, Figures]"
    timings: dict[str, float]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the columns and about the fit."""
        from lrisk_cli.fitting import remarks

        return (*self.design.notes, *remarks(self.fitted.model.fit))


def _run(job: _Job, *, force: bool, quiet: bool, bar: bool) -> _Done:
    """Read, design, solve, judge, write."""
    from lrisk_cli.commands.scoring import score_all
    from lrisk_cli.design import encode_design, read_design
    from lrisk_cli.fitting import fit_design, score_design
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables import check_apart, open_table

    clock = Clock()
    _check_outputs(job, force=force)
    keep_out = _hold_out_rule(job)
    with ProgressDisplay("fit", quiet=quiet, bar=bar) as report:
        table = open_table(job.data, dtypes=job.dtypes)
        check_apart(job.outputs, table.paths)
        raw = read_design(table, job.columns, report)
        clock.lap("read_s")
        design, held_out = encode_design(raw, job.columns, hold_out=keep_out)
        del raw
        test = None if job.test is None else _open_test(job, design.encoding)
        clock.lap("design_s")
        fitted = fit_design(design, job.fitting, report)
        clock.lap("solve_s")
        scored = score_design(fitted.model, design)
        # The largest array of all: from here on only its scores are needed.
        design = replace(design, X=design.X[:0].copy())
        figures = {"training": _judge(fitted.model, design, scored)}
        if held_out is not None:
            tested = score_design(fitted.model, held_out)
            figures["held out"] = _judge(fitted.model, held_out, tested)
        elif test is not None:
            judged = score_all(fitted.model, test, None, keep=False, report=report)
            figures["test"] = _figures(judged.tally)
        clock.lap("test_s")
        _write(job, fitted, design, scored)
        clock.lap("write_s")
    return _Done(fitted, design, figures, clock.timings())


def _check_outputs(job: _Job, *, force: bool) -> None:
    """Refuse outputs that cannot be written before any work starts."""
    from lrisk_cli.tables import check_output

    if job.output is not None:
        check_output(job.output, force=force)
    for path in (job.losses, job.trace):
        if path is not None:
            check_output(path, force=force, table=True)


def _hold_out_rule(job: _Job) -> "Callable[[int], Flags] | None":
    """Which rows to keep for testing, once their number is known."""
    from lrisk_cli.splits import hold_out

    fraction, seed = job.holdout, job.fitting.solver.seed
    if fraction is None:
        return None
    if job.test is not None:
        raise UsageError("--holdout and --test both name rows to test on; pass one of them")
    hold_out(2, fraction, seed)  # a wrong fraction is refused before any reading
    return lambda n_rows: hold_out(n_rows, fraction, seed)


def _open_test(job: _Job, encoding: "Encoding") -> "Table":
    """The table to test on; it is refused before the solver starts if a column is absent."""
    from lrisk_cli.tables import check_apart, open_table

    table = open_table([str(job.test)], expected=encoding.dtypes)
    check_apart(job.outputs, table.paths)
    for name in (*encoding.feature_names, encoding.target.name):
        table.column(name)
    return table


def _judge(model: "Model", design: "Design", scored: "ScoredRows") -> "Figures":
    """The figures of the model on the rows of a design."""
    from lrisk_cli.metrics import Tally

    tally = Tally(model.task)
    tally.add(scored.losses, design.targets, scored.predictions)
    return _figures(tally)


def _figures(tally: "Tally") -> "Figures":
    from lrisk_cli.metrics import parse_risks, risk_figures, sort_losses

    ascending = sort_losses(tally.losses)
    return risk_figures(ascending, parse_risks(())) | tally.figures(ascending)


def _write(job: _Job, fitted: "Fitted", design: "Design", scored: "ScoredRows") -> None:
    """Write the files that were asked for, the model last."""
    from lrisk_cli.model import save_model
    from lrisk_cli.tables import write_table

    if job.losses is not None:
        write_table(job.losses, _losses_columns(fitted.model, design, scored))
    if job.trace is not None:
        write_table(job.trace, _trace_columns(fitted.solution.epochs))
    if job.output is not None:
        save_model(job.output, fitted.model)


def _losses_columns(model: "Model", design: "Design", scored: "ScoredRows") -> dict[str, Any]:
    from lrisk_cli.commands.scoring import labelled
    from lrisk_cli.rankings import losses_columns

    named = {"row": design.rows, "prediction": labelled(model, scored.predictions)}
    if design.ids is not None:
        named["id"] = design.ids
    return losses_columns(named, labelled(model, design.targets), scored.losses, model.spectrum)


def _trace_columns(epochs: "Sequence[Epoch]") -> dict[str, Any]:
    """One row for each epoch; empty where nothing was proved or sorted yet."""
    import pyarrow as pa

    names = ("passes", "seconds", "objective", "lower_bound", "gap", "rank_changes")
    heads = {"passes": "pass"}
    return {
        heads.get(name, name): pa.array([getattr(epoch, name) for epoch in epochs])
        for name in names
    }


def _show(job: _Job, done: _Done, *, as_json: bool) -> None:
    from lrisk_cli.reports.documents import fit_document, print_document
    from lrisk_cli.reports.terminal import print_fit

    model, design = done.fitted.model, done.design
    counts = replace(design.counts, used=len(design.rows))
    if as_json:
        training, *tested = done.figures.values()
        print_document(
            fit_document(
                job.output,
                model,
                counts,
                training,
                tested[0] if tested else None,
                done.timings,
                done.notes,
            )
        )
    else:
        print_fit(model, counts, done.figures, job.output, done.notes)
