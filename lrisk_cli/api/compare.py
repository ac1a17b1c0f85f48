"""Compare risks and baselines on a table: split it, fit every method, judge on unseen rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec

import numpy as np

from lrisk_cli.baselines.registry import FAMILIES, Baseline
from lrisk_cli.design.design import DesignOptions, find_task, read_design
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.comparison import Comparison, ComparisonPlan, Judge, compare, judged_risks
from lrisk_cli.evaluation.corruption import Corruption
from lrisk_cli.evaluation.judging import tally_table
from lrisk_cli.evaluation.metrics import Figures, tally_figures
from lrisk_cli.evaluation.options import ComparisonSplits
from lrisk_cli.evaluation.splits import folds, hold_out
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.model import Model
from lrisk_cli.names import Task
from lrisk_cli.progress import Report, silent
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.table import check_apart, check_output, open_table
from lrisk_cli.types import Flags


@dataclass(frozen=True, slots=True)
class Job:
    """What to compare and on which rows.

    rivals: None for all that learn such a target and are installed. eps: the fraction of bad rows
    that they are given.
    """

    data: Inputs
    dtypes: dict[str, str]
    columns: DesignOptions
    fits: tuple[FitOptions, ...]
    rivals: tuple[Baseline, ...] | None
    planted: Corruption | None
    eps: float
    splits: ComparisonSplits
    seed: int
    html: str | None


def run(job: Job, report: Report, *, force: bool) -> Comparison:
    """Read the table, split it, and compare."""
    if job.html is not None:
        check_output(job.html, force=force)
    table = open_table(job.data, dtypes=job.dtypes)
    test = job.splits.test
    check_apart([job.html], [*table.paths, *([] if test is None else [test])])
    raw = read_design(table, job.columns, report, split=test is None)
    task, _ = find_task(raw, job.columns.task)
    rivals = _usual_rivals(task) if job.rivals is None else job.rivals
    plan = ComparisonPlan(job.fits, rivals, job.planted, job.eps, job.seed)
    notes: dict[str, None] = {}
    judge = None if test is None else _judge_by(job.data.beside(test), notes)
    splits, words = _split(len(raw.usable.rows.rows), job.splits, job.seed)
    compared = compare(raw, job.columns, plan, splits, words, judge, report)
    return replace(compared, notes=(*compared.notes, *notes))


def _usual_rivals(task: Task) -> tuple[Baseline, ...]:
    """All that learn such a target, without those whose library is not installed."""
    installed = find_spec("sklearn") is not None
    return tuple(
        Baseline(name)
        for name, family in FAMILIES.items()
        if task in family.tasks and name != "erm" and (installed or not family.needs_sklearn)
    )


def _judge_by(inputs: Inputs, notes: dict[str, None]) -> Judge:
    """By the rows of another table, which is opened with the types of the first; notes: on it."""

    def judge(model: Model) -> Figures:
        table = open_table(inputs, expected=model.encoding.dtypes)
        notes.update(dict.fromkeys(table.notes))
        judged = tally_table(model, table, None, keep=False, report=silent)
        return tally_figures(judged.losses, judged_risks())

    return judge


def _split(n_rows: int, asked: ComparisonSplits, seed: int) -> tuple[Sequence[Flags], str]:
    """True for the rows to judge by, split after split; the same in words."""
    named = [asked.cv is not None, asked.holdout is not None, asked.test is not None]
    if sum(named) > 1:
        every = f"{opt('cv')}, {opt('holdout')} and {opt('test')}"
        raise UsageError(f"{every} all name rows to judge by; pass one of them")
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
