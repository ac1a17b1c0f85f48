"""From the options of a fit to its job: candidates, the scheme that chooses, the files."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from lrisk_cli.api.fit_engine import unsupported
from lrisk_cli.api.fit_files import FitFiles, name_files
from lrisk_cli.api.fit_job import Job
from lrisk_cli.design.choosing import DesignOptions
from lrisk_cli.design.groups import require_groups
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.options.validation import Validation
from lrisk_cli.features.features import FeatureOptions
from lrisk_cli.features.options import Embedding, KernelOptions
from lrisk_cli.losses.registry import parse_loss
from lrisk_cli.models.fitting import FitOptions, check_fit
from lrisk_cli.models.options import (
    AfterFit,
    FitOutput,
    ModelOptions,
    choose_scaling,
    default_risk_notes,
    loss_notes,
    suit_columns,
)
from lrisk_cli.names import (
    DEFAULT_RISK,
    FORMER_RISK,
    ConformalName,
    EngineName,
    RowNorm,
    SolverName,
    Task,
)
from lrisk_cli.risk.groups import GroupRisk
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.solvers.select import SolverOptions
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.tables.options import Data

if TYPE_CHECKING:
    from lrisk_cli.evaluation.checks import Checks
    from lrisk_cli.evaluation.selection import Scheme


# Folds for what is learned after the fit, where the user names no number.
N_FOLDS = 5


def make_job(
    data: Data,
    columns: Columns,
    model: ModelOptions,
    kernel: KernelOptions,
    embedding: Embedding,
    validation: Validation,
    output: FitOutput,
    stopping: Stopping,
    solver: Solver,
    *,
    seed: int,
    html: str | None,
    gates: Gates | None = None,
    after: AfterFit | None = None,
    grouping: Grouping | None = None,
    engine: EngineName = EngineName.AUTO,
) -> Job:
    """What the options ask for; impossible ones are refused."""
    after = after or AfterFit()
    if after.conformal is ConformalName.SPLIT and validation.holdout is None:
        raise InvalidOption(
            "conformal",
            f"learns from rows held out; add {opt('holdout', 0.2)}, or pass "
            f"{opt('conformal', ConformalName.CV)}",
            after.conformal,
        )
    asked = FitFiles(output.output, output.losses, output.trace, html, validation.oof)
    how = solver.parse(seed, track_ranks=bool(asked.trace or asked.html))
    features = embedding.parse(kernel.parse())
    fits = make_fits(model, how, stopping.parse(), features)
    by = () if grouping is None else grouping.columns
    check_groups(fits, by, validation, output)
    scaling, notes = choose_scaling(
        columns.scaling, columns.standardize, model.risks, robust=model.robust
    )
    design = suit_columns(
        replace(
            columns.parse(),
            scaling=scaling,
            by=by,
            divider=validation.divider,
            spare=_spare(output),
            scale_features=features.row_norm is RowNorm.NONE,
            many_categories=all(map(_takes_many_columns, fits)),
        ),
        fits[0].loss,
    )
    _refuse_weights(design, theory=output.theory)
    unstreamable = unsupported(fits, design, _beside(validation, after, output, html))
    if engine is EngineName.STREAM and unstreamable is not None:
        raise unstreamable
    inputs = data.parse()
    if engine is EngineName.AUTO and unstreamable is None:
        inputs = replace(inputs, allowance=inputs.allowance.before_streaming())
    return Job(
        engine=engine,
        unstreamable=unstreamable,
        data=inputs,
        dtypes=columns.dtypes,
        columns=design,
        fits=fits,
        scheme=make_scheme(validation, seed, fits, design.task, after),
        seed=seed,
        holdout=validation.holdout,
        test=validation.test,
        asked=asked,
        reference=output.reference,
        theory=output.theory,
        trace_rows=output.trace_rows,
        notes=(
            *(() if model.robust else default_risk_notes(model.risk)),
            *loss_notes(fits[0].loss, model.risks, design.on_scale),
            *_choice_notes(validation, fits),
            *notes,
        ),
        files=name_files(
            asked, [str(each.risk) for each in fits], apart=validation.cv is None and len(fits) > 1
        ),
        after=after,
        folds=make_folds(validation, after, seed),
        checks=_make_checks(gates, by),
        copied=columns.parse_keep(output.losses or validation.oof, "losses"),
    )


def _beside(
    validation: Validation, after: AfterFit, output: FitOutput, html: str | None
) -> list[tuple[str, bool]]:  # fmt: skip
    """Options that need all rows at once, and whether they are asked for."""
    return [
        ("cv", validation.cv is not None),
        ("holdout", validation.holdout is not None),
        ("calibrate", after.calibrate is not None),
        ("conformal", after.conformal is not None),
        ("losses", output.losses is not None),
        ("trace_rows", output.trace_rows is not None),
        ("html", html is not None),
        ("theory", output.theory),
        ("dry_run", output.dry_run),
    ]


def check_groups(
    fits: Sequence[FitOptions], by: Sequence[str], validation: Validation, output: FitOutput
) -> None:
    """Refuse a risk of groups without their columns, or where one of rows is needed."""
    for risk in (each.risk for each in fits if isinstance(each.risk, GroupRisk)):
        require_groups(risk, by)
        if output.theory:
            raise InvalidOption("theory", f"is about risks of rows and {risk} is one of groups")
        if validation.cv is not None and validation.select_by is None:
            add = opt("select_by", "mean")
            raise InvalidOption(
                "cv",
                f"cannot choose by {risk}: a fold may lack groups; add {add} or another metric",
            )


def _takes_many_columns(options: FitOptions) -> bool:
    """Whether columns of X that are stored as codes cost little, be they thousands."""
    risk, solver, loss = options.risk, options.solver.solver, options.loss
    return (
        options.features == FeatureOptions()
        and not options.robust
        and not isinstance(risk, GroupRisk)
        and (risk.rising or risk.flat)
        and solver in (SolverName.AUTO, SolverName.NEWTON, SolverName.LBFGS)
        and (loss.is_auto or not loss.make(2).kinked)
    )


def _refuse_weights(columns: DesignOptions, *, theory: bool) -> None:
    """Refuse weights of rows or classes where a fit does not take them."""
    if columns.weighting.asked and theory:
        raise InvalidOption(
            "theory", f"has theorems on rows that count alike; leave out it, or {opt('weight')}"
        )


def _spare(output: FitOutput) -> tuple[tuple[str, str], ...]:
    """The column that marks rows in traces is no feature."""
    if output.trace_rows is None:
        return ()
    if output.trace is None:
        add = opt("trace", "FILE")
        raise InvalidOption("trace_rows", f"has no meaning without a trace; add {add}")
    return (("trace_rows", output.trace_rows),)


def _make_checks(gates: Gates | None, by: Sequence[str]) -> "Checks | None":
    """The gates, where there are any."""
    if gates is None or not gates.asked:
        return None
    from lrisk_cli.api.figure_gates import make_figure_checks
    from lrisk_cli.evaluation.registry import needs_of_fits

    return make_figure_checks(gates, "fit", needs_of_fits, by)


def make_fits(
    model: ModelOptions, how: SolverOptions, limits: Limits, features: FeatureOptions
) -> tuple[FitOptions, ...]:
    """A fit for each risk and penalty; wrong options are refused."""
    loss = parse_loss(model.loss)
    if model.robust and how.solver is not SolverName.AUTO:
        raise InvalidOption(
            "solver", f"is not used by {opt('robust')}; leave it out", str(how.solver)
        )
    fits = tuple(
        FitOptions(risk, loss, mu, model.smoothing, model.nu, how, limits, features, model.robust)
        for risk, mu in product(model.risks, model.penalties)
    )
    for each in fits:
        check_fit(each)
    return fits


def make_folds(validation: Validation, after: AfterFit, seed: int) -> "Scheme | None":
    """How rows are left out for what is learned after the fit, where no scheme leaves them out."""
    if validation.cv is not None or not after.needs_folds:
        return None
    from lrisk_cli.evaluation.dividing import Division
    from lrisk_cli.evaluation.selection import Scheme

    return Scheme(N_FOLDS, seed, "mean", Division.by(validation.divider), keep=True)


def make_scheme(
    validation: Validation, seed: int, fits: Sequence[FitOptions], task: Task, after: AfterFit
) -> "Scheme | None":
    """How to choose among the fits, if that is asked for."""
    n_folds, metric, add = validation.cv, validation.select_by, opt("cv", 5)
    if n_folds is not None:
        from lrisk_cli.evaluation.dividing import Division
        from lrisk_cli.evaluation.selection import Scheme, check_metric, default_metric

        if validation.cv_time is not None and (validation.cv_repeats or 1) > 1:
            raise InvalidOption(
                "cv_repeats", f"has no meaning with {opt('cv_time')}: the order of time is one"
            )
        return Scheme(
            n_folds,
            seed,
            check_metric(metric or default_metric(fits), task),
            Division.by(validation.divider),
            validation.cv_repeats or 1,
            validation.one_se,
            keep=validation.oof is not None or after.needs_folds,
        )
    _refuse_without_folds(validation, after, add)
    if len({fit.l2 for fit in fits}) > 1:
        raise InvalidOption(
            "l2", f": several penalties need {opt('cv')} to choose one of them; add {add}"
        )
    return None


def _choice_notes(validation: Validation, fits: Sequence[FitOptions]) -> tuple[str, ...]:
    """What to say where several risks are chosen from by the default metric."""
    several = len({str(fit.risk) for fit in fits}) > 1
    if validation.cv is None or validation.select_by is not None or not several:
        return ()
    return (
        f"choice: by {DEFAULT_RISK}, the default since 0.2.0; pass {opt('select_by', FORMER_RISK)} "
        "for the former one",
    )


def _refuse_without_folds(validation: Validation, after: AfterFit, add: str) -> None:
    """Refuse what only means something with folds."""
    needing: tuple[str, ...] = ("select_by", "one_se", "cv_repeats", "oof")
    if validation.holdout is None and not after.needs_folds:
        needing = (*needing, "cv_groups", "cv_time")
    for name in needing:
        if getattr(validation, name):
            raise InvalidOption(name, f"has no meaning without folds to choose by; add {add}")
