"""Gates of commands that fit: on the figures of each model, and on the warnings."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from lrisk_cli.design.design import RawDesign, find_task, see_target
from lrisk_cli.evaluation.checks import Checks, make_checks
from lrisk_cli.evaluation.gates import Figures, GateResult, NamedGateResults, check_gates
from lrisk_cli.evaluation.group_gates import group_values, make_canonical
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.registry import figures_of, spell_metric
from lrisk_cli.losses.registry import LossChoice
from lrisk_cli.names import Task
from lrisk_cli.warnings import Warnings, count_warnings

if TYPE_CHECKING:
    from lrisk_cli.api.fit_result import Fits
    from lrisk_cli.evaluation.comparison import Comparison

# What is known of the rows and models of a command, by task and metrics of the loss.
Known = Callable[[Task, Collection[str]], frozenset[Needs]]


def make_figure_checks(gates: Gates, command: str, known: Known, by: Sequence[str] = ()) -> Checks:
    """The gates, of metrics of any task as long as it is not known. by: columns of groups."""
    needs = known(Task.AUTO, ())
    spell = make_canonical(lambda text: spell_metric(text, needs), by)
    return make_checks(gates, command, spell)


def with_task(
    checks: Checks, raw: RawDesign, asked: Task, loss: LossChoice, known: Known
) -> Checks:
    """The same once the rows are read; metrics that they do not have are refused."""
    task, _ = find_task(raw, asked)
    classes, _ = see_target(raw, asked)
    columns = () if raw.groups is None else raw.groups.columns
    return for_target(checks, task, classes, loss, known, columns)


def for_target(
    checks: Checks,
    task: Task,
    classes: Sequence[str],
    loss: LossChoice,
    known: Known,
    columns: Sequence[str] = (),
) -> Checks:
    """The same for a known target. columns: of groups."""
    needs = known(task, loss.resolve(task).make(len(classes)).metrics)
    spell = make_canonical(lambda text: spell_metric(text, needs, classes), columns)
    return checks.respelled(spell)


def check_fits(checks: Checks, fits: "Fits") -> NamedGateResults:
    """The gates on the rows to test on, or else on those learned from, of each fit."""
    figures = {
        each.model.risk: {
            **(each.tested or each.figures["training"]),
            **figures_of(each.model.fit, [Needs.FIT]),
            **group_values(checks.of_groups, each.tested_groups),
        }
        for each in fits.results
    }
    return _apply(checks, figures, fits.counts.read, fits.warnings)


def check_comparison(checks: Checks, comparison: "Comparison") -> NamedGateResults:
    """The gates on the mean figures of each risk; rivals have none."""
    figures = {
        each.method: {
            **{name: each.mean(name) for name in each.trials[0].figures},
            **group_values(checks.of_groups, each.by_group),
        }
        for each in comparison.results
        if each.kind == "risk"
    }
    return _apply(checks, figures, comparison.counts.read, comparison.warnings)


def _apply(
    checks: Checks, models: Mapping[str, Figures], n_rows: int, warnings: Warnings
) -> NamedGateResults:
    """The gates about figures on each model, then those about rows and warnings, once."""
    others = {"n_rows": n_rows, **count_warnings(warnings)}
    of_models = [gate for gate in checks.gates if gate.metric not in others]
    of_rows = [gate for gate in checks.gates if gate.metric in others]
    several = len(models) > 1
    found: list[tuple[str | None, GateResult]] = [
        (name if several else None, result)
        for name, figures in models.items()
        for result in check_gates(of_models, figures)
    ]
    return (*found, *((None, result) for result in check_gates(of_rows, others)))
