"""Gates of commands that fit: on the figures of each model, and on the warnings."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.checks import Checks, make_checks
from lrisk_cli.evaluation.gates import Figures, GateResult, check_gates
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.registry import figures_of, is_risk, metric_name
from lrisk_cli.names import EVALUATED_RISKS, Task
from lrisk_cli.tables.table import check_apart, check_output
from lrisk_cli.warnings import Warnings, count_warnings

if TYPE_CHECKING:
    from lrisk_cli.api.fit_result import Fits
    from lrisk_cli.evaluation.comparison import Comparison

NamedGateResults = tuple[tuple[str | None, GateResult], ...]


def checks_before(
    gates: Gates, command: str, outputs: Sequence[str | None], *, force: bool
) -> Checks:
    """The gates, of metrics of any task, before the task is known.

    outputs: the other files that the command writes.
    """
    checks = make_checks(gates, command, _known)
    if checks.junit is not None:
        check_output(checks.junit, force=force)
        check_apart([*outputs, checks.junit], [])
    return checks


def _known(text: str) -> str:
    metric = metric_name(text, Task.AUTO)
    if is_risk(metric) and metric not in EVALUATED_RISKS:
        raise UsageError(
            f"{metric} is not among the figures of this command, which are of "
            f"{', '.join(EVALUATED_RISKS)}; lrisk evaluate has gates on any risk"
        )
    return metric


def check_fits(checks: Checks, fits: "Fits") -> NamedGateResults:
    """The gates on the rows to test on, or else on those learned from, of each fit."""
    figures = {
        each.model.risk: {
            **(each.tested or each.figures["training"]),
            **figures_of(each.model.fit, [Needs.FIT]),
        }
        for each in fits.results
    }
    return _apply(checks, figures, fits.warnings)


def check_comparison(checks: Checks, comparison: "Comparison") -> NamedGateResults:
    """The gates on the mean figures of each risk; rivals have none."""
    figures = {
        each.method: {name: each.mean(name) for name in each.trials[0].figures}
        for each in comparison.results
        if each.kind == "risk"
    }
    return _apply(checks, figures, comparison.warnings)


def _apply(checks: Checks, models: Mapping[str, Figures], warnings: Warnings) -> NamedGateResults:
    """The gates about figures on each model, then those about warnings, once."""
    counts = count_warnings(warnings)
    of_models = [gate for gate in checks.gates if gate.metric not in counts]
    found: list[tuple[str | None, GateResult]] = []
    for name, figures in models.items():
        _require(figures, [gate.metric for gate in of_models])
        results = check_gates(of_models, figures)
        found += [(name if len(models) > 1 else None, result) for result in results]
    of_warnings = [gate for gate in checks.gates if gate.metric in counts]
    return (*found, *((None, result) for result in check_gates(of_warnings, counts)))


def _require(figures: Figures, metrics: Sequence[str]) -> None:
    for metric in metrics:
        if metric not in figures:
            raise UsageError(
                f"{metric} is not among the figures of these rows; known: {', '.join(figures)}, "
                "warnings"
            )
