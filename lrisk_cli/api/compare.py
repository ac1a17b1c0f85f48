"""Compare risks and baselines on a table: split it, fit every method, evaluate on unseen rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.api.figure_gates import (
    check_comparison,
    make_figure_checks,
    with_task,
)
from lrisk_cli.baselines.registry import parse_baselines
from lrisk_cli.design.design import DesignOptions, read_design
from lrisk_cli.design.groups import require_groups
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.comparison import (
    Comparison,
    ComparisonPlan,
    Evaluate,
    Evaluated,
    compare,
)
from lrisk_cli.evaluation.corruption import parse_corruption
from lrisk_cli.evaluation.group_risks import make_grouped
from lrisk_cli.evaluation.metrics import tally_figures
from lrisk_cli.evaluation.options.comparing import ComparisonSplits, Methods
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.registry import needs_of_comparisons
from lrisk_cli.evaluation.splits import folds, hold_out
from lrisk_cli.evaluation.table_evaluation import tally_table
from lrisk_cli.evaluation.warning_rules import (
    warn_of_figures,
    warn_of_majority,
    warn_of_same_files,
)
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.losses.registry import parse_loss
from lrisk_cli.models.fitting import FitOptions, check_fit
from lrisk_cli.models.model import Model
from lrisk_cli.models.options import (
    ModelOptions,
    Penalty,
    RowLoss,
    choose_scaling,
    parse_risks,
    suit_columns,
)
from lrisk_cli.names import Unseen
from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.solvers.select import minimises
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.options import Data
from lrisk_cli.tables.table import check_apart, check_output, open_table
from lrisk_cli.types import Flags
from lrisk_cli.warnings import CodedWarning, Warnings

# Risks that are compared where none is named, beside a subquantile that fits the bad rows.
USUAL_RISKS = ("mean", "superquantile:0.5", "superquantile:0.9", "extremile:2")


@dataclass(frozen=True, slots=True)
class Job:
    """What to compare, on which rows, and which figures are gated."""

    data: Inputs
    dtypes: dict[str, str]
    columns: DesignOptions
    plan: ComparisonPlan
    splits: ComparisonSplits
    html: str | None
    checks: Checks


@dataclass(frozen=True, slots=True)
class FitsOptions:
    """The options that say what is fitted and how."""

    methods: Methods
    loss: RowLoss
    penalty: Penalty
    smoothing: ModelOptions
    kernel: KernelOptions
    stopping: Stopping
    solver: Solver
    seed: int

    def make_fits(self, eps: float) -> tuple[FitOptions, ...]:
        """A fit for each risk, alike but for it; wrong options are refused.

        eps: the fraction of bad rows, for the risks that are compared where none is named. Of these
        the solver may leave out what it does not minimise.
        """
        how, limits = self.solver.parse(self.seed), self.stopping.parse()
        loss, features = parse_loss(self.loss.loss), self.kernel.parse()
        smoothing, nu = self.smoothing.smoothing, self.smoothing.nu
        named = self.methods.risk
        risks = parse_risks(named or (*USUAL_RISKS, f"subquantile:{1.0 - eps:g}"))
        fits = tuple(
            FitOptions(risk, loss, self.penalty.l2, smoothing, nu, how, limits, features)
            for risk in risks
            if named or minimises(how.solver, risk)
        )
        for fit in fits:
            check_fit(fit)
        return fits


def make_job(
    data: Data,
    columns: Columns,
    asked: FitsOptions,
    splits: ComparisonSplits,
    *,
    html: str | None,
    gates: Gates | None = None,
    grouping: Grouping | None = None,
) -> Job:
    """What the options ask for; impossible ones are refused."""
    methods, seed = asked.methods, asked.seed
    planted = None if methods.corrupt is None else parse_corruption(methods.corrupt)
    eps = methods.expected(None if planted is None else planted.fraction)
    fits, by = asked.make_fits(eps), () if grouping is None else grouping.columns
    for risk in (each.risk for each in fits if isinstance(each.risk, GroupRisk)):
        require_groups(risk, by)
    scaling, _ = choose_scaling(columns.scaling, columns.standardize, ())
    design = suit_columns(columns.parse(), fits[0].loss)
    design = replace(design, unseen=Unseen.OTHER, scaling=scaling, by=by)
    plan = ComparisonPlan(fits, parse_baselines(methods.rival), planted, eps, seed)
    checks = make_figure_checks(gates or Gates(), "compare", needs_of_comparisons, by)
    return Job(data.parse(), columns.dtypes, design, plan, splits, html, checks)


def run(job: Job, report: Report, *, force: bool) -> Comparison:
    """Read the table, split it, and compare."""
    outputs = [job.html, job.checks.junit]
    for path in outputs:
        if path is not None:
            check_output(path, force=force)
    table = open_table(job.data, dtypes=job.dtypes)
    test, seed = job.splits.test, job.plan.seed
    check_apart(outputs, [*table.paths, *([] if test is None else [test])])
    raw = read_design(table, job.columns, report, split=test is None)
    fitted = job.plan.fits[0]
    checks = with_task(job.checks, raw, job.columns.task, fitted.loss, needs_of_comparisons)
    of_groups = tuple(
        each for each in map(parse_fit_risk, checks.group_risks) if isinstance(each, GroupRisk)
    )
    gated = (*checks.risks, *checks.errors)
    plan = replace(job.plan, gated=gated, group_risks=of_groups)
    notes: dict[str, None] = {}
    evaluate = None if test is None else _evaluate_on(job, test, plan, notes)
    splits, words = _split(len(raw.usable.rows.rows), job.splits, seed)
    compared = compare(raw, job.columns, plan, splits, words, evaluate, report)
    same = warn_of_same_files([*table.paths, *([] if test is None else [test])])
    warnings = (*same, *raw.warnings, *_warn_of_methods(compared))
    done = replace(compared, notes=(*compared.notes, *notes), warnings=warnings)
    return replace(done, gate_results=check_comparison(checks, done))


def _warn_of_methods(comparison: Comparison) -> Warnings:
    """What is odd about the mean figures of each risk."""
    found: list[CodedWarning] = []
    for each in comparison.results:
        if each.kind == "risk":
            figures = {"": {name: each.mean(name) for name in each.trials[0].figures}}
            majority = figures[""].get("majority_accuracy")
            of_classes = () if majority is None else warn_of_majority(figures, {"": majority})
            found += [one.of(each.method) for one in (*warn_of_figures(figures), *of_classes)]
    return tuple(found)


def _evaluate_on(job: Job, test: str, plan: ComparisonPlan, notes: dict[str, None]) -> Evaluate:
    """By the rows of another table, which is opened with the types of the first; notes: on it."""
    inputs, by, kind = job.data.beside(test), job.columns.by, job.columns.weighting.kind

    def evaluate(model: Model) -> Evaluated:
        table = open_table(inputs, expected=model.encoding.dtypes, written=model.encoding.written)
        notes.update(dict.fromkeys(table.notes))
        asked = plan.errors
        grouped = make_grouped(model, table, by, asked, kind)
        evaluated = tally_table(
            model, table, None, keep=False, report=silent, asked=asked, grouped=grouped
        )
        by_group = None if grouped is None else grouped.finish(plan.within, intervals=True)
        return tally_figures(evaluated.losses, plan.risks), by_group

    return evaluate


def _split(n_rows: int, asked: ComparisonSplits, seed: int) -> tuple[Sequence[Flags], str]:
    """True for the rows to test on, split after split; the same in words."""
    named = [asked.cv is not None, asked.holdout is not None, asked.test is not None]
    if sum(named) > 1:
        every = f"{opt('cv')}, {opt('holdout')} and {opt('test')}"
        raise UsageError(f"{every} all name rows to test on; pass one of them")
    if asked.test is not None:
        return [np.zeros(n_rows, dtype=np.bool_)], f"the rows of {asked.test}"
    repeats = asked.repeats
    if asked.holdout is None:
        if repeats > 1:
            raise InvalidOption("repeats", f"draws hold-outs again; add {opt('holdout', 0.2)}")
        n_folds = 5 if asked.cv is None else asked.cv
        fold_of = folds(n_rows, n_folds, seed)
        return [fold_of == fold for fold in range(n_folds)], f"{n_folds} folds in turn"
    drawn = [hold_out(n_rows, asked.holdout, seed + at) for at in range(repeats)]
    times = "" if repeats == 1 else f", drawn {repeats} times"
    return drawn, f"{int(drawn[0].sum())} rows held out{times}"
