"""The figures of a quantile report that gates can ask for, and the results of these gates."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.gates import GateResult, NamedGateResults, check_gates
from lrisk_cli.evaluation.group_figures import ByGroup, GroupFigures
from lrisk_cli.evaluation.group_gates import (
    base_metric,
    group_values,
    make_canonical,
    of_groups,
    read_scope,
)
from lrisk_cli.evaluation.loss_comparison import Outcome
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.paired_losses import Group
from lrisk_cli.evaluation.quantiles import CURVE, Compared, Comparison, PairAt
from lrisk_cli.evaluation.registry import OF_PAIRS, metrics_of, spell_metric
from lrisk_cli.parameters import spell
from lrisk_cli.types import Array
from lrisk_cli.warnings import Warnings, count_warnings


def quantile_metric(by: Sequence[str]) -> Callable[[str], str]:
    """Gives the spelling under which a metric is reported; one without a figure is refused.

    by: what names the columns of groups, if anything.
    """
    scoped = make_canonical(lambda text: spell_metric(text, frozenset({Needs.PAIRS})), by)
    return lambda text: spell_metric(text, OF_PAIRS) if read_scope(text) is None else scoped(text)


def needed_levels(quantiles: Sequence[float], checks: Checks) -> Array:
    """All levels at which quantiles are needed, ascending: asked for, gated, and drawn."""
    gated = [_level_of(gate.metric) for gate in checks.gates]
    wanted = [*quantiles, *(level for level in gated if level is not None)]
    return np.unique([*CURVE.tolist(), *wanted])


def check_outcome(
    outcome: Outcome,
    quantiles: Sequence[float],
    checks: Checks,
    warnings: Warnings,
    by_model: Mapping[str, ByGroup],
) -> NamedGateResults:
    """The gates about models on each of them, then those about rows and warnings, once.

    by_model: the figures of the groups, as of `group_metrics`.
    """
    gates, stored = checks.gates, checks.stored
    others = {"n_rows": outcome.n_tested, **count_warnings(warnings)}
    of_models = [gate for gate in gates if gate.metric not in others]
    asked = [gate.metric for gate in of_models]
    found: list[tuple[str | None, GateResult]] = []
    for name, figures in _figures_by_model(outcome, quantiles).items():
        kept = () if stored is None else stored.gates(figures, name)
        of_all = {each: _figure(outcome, name, each) for each in asked if not of_groups(each)}
        gated = figures | of_all | group_values(asked, by_model.get(name))
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


def group_metrics(
    outcome: Outcome, quantiles: Sequence[float], checks: Checks
) -> dict[str, ByGroup]:
    """For each model the figures of the groups: those reported, and those of gates."""
    if not outcome.groups:
        return {}
    gated = [base_metric(metric) for metric in checks.of_groups]
    names = list(dict.fromkeys([*_metric_names(quantiles), *gated]))
    return {
        model: ByGroup(outcome.by, tuple(_group(group, k, names) for group in outcome.groups))
        for k, model in enumerate([*outcome.models][1:])
    }


def _group(group: Group, k: int, names: Sequence[str]) -> GroupFigures:
    """The figures of the k-th model beside the baseline on a group."""
    comparison = group.comparison
    compared = comparison.models[k]
    figures = {name: _figure_of(comparison, compared, name) for name in names}
    ends = {name: _ends(comparison, compared, name) for name in names}
    known = {name: found for name, found in ends.items() if found is not None}
    n_rows, total = round(comparison.n_rows), comparison.effective
    return GroupFigures(group.name, n_rows, figures, known, total, total)


def _ends(comparison: Comparison, compared: Compared, name: str) -> tuple[float, float] | None:
    """The interval of a difference of quantiles; None where a figure has none."""
    level = _level_of(name)
    if level is None or not name.startswith("difference:"):
        return None
    (at,) = comparison.at(np.array([level]))
    ends = float(compared.difference.low[at]), float(compared.difference.high[at])
    return ends if np.isfinite(ends).all() else None


def _metric_names(quantiles: Sequence[float]) -> list[str]:
    """The figures that the document has of each model, under the names that gates have for them."""
    return [
        spell(name, level)
        for name, metric in metrics_of([Needs.PAIRS]).items()
        for level in ([None] if metric.parameter is None else quantiles)
    ]


def _figures_by_model(
    outcome: Outcome, quantiles: Sequence[float]
) -> dict[str, dict[str, float | None]]:
    """What the document says of each model."""
    names = _metric_names(quantiles)
    return {
        model: {name: _figure(outcome, model, name) for name in names}
        for model in [*outcome.models][1:]
    }


def _figure(outcome: Outcome, model: str, metric: str) -> float | None:
    """The figure of a model that a gate asks for; None where it does not exist."""
    comparison = outcome.comparison
    return _figure_of(comparison, comparison.models[[*outcome.models].index(model) - 1], metric)


def _figure_of(comparison: Comparison, compared: Compared, metric: str) -> float | None:
    formula = metrics_of([Needs.PAIRS])[metric.partition(":")[0]].formula
    return formula(PairAt(comparison, compared, _level_of(metric)))


def _level_of(metric: str) -> float | None:
    """The level that the name of a metric ends with, if it has one."""
    _, separator, level = base_metric(metric).partition(":")
    return float(level) if separator else None
