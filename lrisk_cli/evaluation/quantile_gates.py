"""The figures of a quantile report that gates can ask for, and the results of these gates."""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.gates import GateResult, NamedGateResults, check_gates
from lrisk_cli.evaluation.loss_comparison import Outcome
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.quantiles import CURVE, PairAt
from lrisk_cli.evaluation.registry import OF_PAIRS, metrics_of, spell_metric
from lrisk_cli.parameters import spell
from lrisk_cli.types import Array
from lrisk_cli.warnings import Warnings, count_warnings


def quantile_metric(text: str) -> str:
    """The spelling under which a metric is reported; a metric without a figure is refused."""
    return spell_metric(text, OF_PAIRS)


def needed_levels(quantiles: Sequence[float], checks: Checks) -> Array:
    """All levels at which quantiles are needed, ascending: asked for, gated, and drawn."""
    gated = [_level_of(gate.metric) for gate in checks.gates]
    wanted = [*quantiles, *(level for level in gated if level is not None)]
    return np.unique([*CURVE.tolist(), *wanted])


def check_outcome(
    outcome: Outcome, quantiles: Sequence[float], checks: Checks, warnings: Warnings
) -> NamedGateResults:
    """The gates about models on each of them, then those about rows and warnings, once."""
    gates, stored = checks.gates, checks.stored
    others = {"n_rows": outcome.n_tested, **count_warnings(warnings)}
    of_models = [gate for gate in gates if gate.metric not in others]
    found: list[tuple[str | None, GateResult]] = []
    for name, figures in _figures_by_model(outcome, quantiles).items():
        kept = () if stored is None else stored.gates(figures, name)
        gated = figures | {gate.metric: _figure(outcome, name, gate.metric) for gate in of_models}
        found += [(name, result) for result in check_gates((*of_models, *kept), gated)]
    of_rows = [gate for gate in gates if gate.metric in others]
    return (
        *found,
        *((None, result) for result in check_gates(of_rows, others)),
    )


def not_compared(outcome: Outcome, quantiles: Sequence[float], checks: Checks) -> list[str]:
    """A sentence for each figure that is not in both runs."""
    return [
        sentence
        for model, figures in _figures_by_model(outcome, quantiles).items()
        for sentence in checks.not_compared(figures, model)
    ]


def _figures_by_model(
    outcome: Outcome, quantiles: Sequence[float]
) -> dict[str, dict[str, float | None]]:
    """What the document says of each model, under the names that gates have for it."""
    names = [
        spell(name, level)
        for name, metric in metrics_of([Needs.PAIRS]).items()
        for level in ([None] if metric.parameter is None else quantiles)
    ]
    return {
        model: {name: _figure(outcome, model, name) for name in names}
        for model in [*outcome.models][1:]
    }


def _figure(outcome: Outcome, model: str, metric: str) -> float | None:
    """The figure of a model that a gate asks for; None where it does not exist."""
    comparison = outcome.comparison
    compared = comparison.models[[*outcome.models].index(model) - 1]
    formula = metrics_of([Needs.PAIRS])[metric.partition(":")[0]].formula
    return formula(PairAt(comparison, compared, _level_of(metric)))


def _level_of(metric: str) -> float | None:
    """The level that the name of a metric ends with, if it has one."""
    _, separator, level = metric.partition(":")
    return float(level) if separator else None
