"""The results of a quantile report as a JSON document."""

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.evaluation.paired_losses import Group
from lrisk_cli.evaluation.quantiles import (
    TAIL,
    Compared,
    Comparison,
    Quantiles,
    better_from,
    crossings,
)
from lrisk_cli.reports.facts import document_of, gate_document, warnings_document
from lrisk_cli.reports.groups import named_cells, spread_document
from lrisk_cli.reports.quantile_text import quantile_facts

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import QuantileResults


def quantile_document(results: "QuantileResults") -> dict[str, Any]:
    """What `quantile-report --json` prints; every array is as long as the quantiles."""
    document: dict[str, Any] = {
        "command": "quantile-report",
        "quantiles": list(results.quantiles),
        **_comparison_document(results, results.comparison),
        **document_of(quantile_facts(results)),
    }
    entries = [document["baseline"], *document["models"]]
    for entry, model in zip(entries, results.models, strict=True):
        entry |= {"risk": model.model.risk, "gap": model.gap}
    if results.by:
        document["by"] = list(results.by)
        document["groups"] = [_group_document(results, group) for group in results.groups]
        document["group_spread"] = {
            model: spread_document(by_group) for model, by_group in results.by_model.items()
        }
    document["gates"] = [
        {"model": model, **gate_document(result)} for model, result in results.gate_results
    ]
    document["notes"] = list(results.notes)
    document |= warnings_document(results.warnings)
    return document


def _comparison_document(results: "QuantileResults", comparison: Comparison) -> dict[str, Any]:
    at = results.level_indices
    baseline = {
        "model": results.baseline.name,
        "loss_quantiles": comparison.losses.values[at].tolist(),
        "loss_intervals": _intervals(comparison.losses, at),
        "mean_loss": comparison.mean,
        "tail_loss": comparison.tail,
    }
    models = [
        {"model": model.name, **_compared_document(comparison, compared, at)}
        for model, compared in zip(results.models[1:], comparison.models, strict=True)
    ]
    return {"baseline": baseline, "models": models, "tail": TAIL}


def _compared_document(
    comparison: Comparison, compared: Compared, at: NDArray[np.intp]
) -> dict[str, Any]:
    difference = compared.difference
    return {
        "loss_quantiles": compared.losses.values[at].tolist(),
        "loss_intervals": _intervals(compared.losses, at),
        "difference": difference.values[at].tolist(),
        "difference_intervals": _intervals(difference, at),
        "normalised_difference": _numbers(comparison.normalised(difference.values)[at]),
        "mean_loss": compared.mean,
        "tail_loss": compared.tail,
        "tail_gained": comparison.tail - compared.tail,
        "average_lost": compared.mean - comparison.mean,
        "crossings": list(crossings(comparison.levels, difference.values)),
        "better_from": better_from(comparison.levels, difference.values),
    }


def _group_document(results: "QuantileResults", group: Group) -> dict[str, Any]:
    document = _comparison_document(results, group.comparison)
    del document["tail"]
    document["baseline"]["tail_share"] = float(group.tail_shares[0])
    for entry, share in zip(document["models"], group.tail_shares[1:], strict=True):
        entry["tail_share"] = float(share)
    own = {
        model: next(each for each in by_group.groups if each.name == group.name)
        for model, by_group in results.by_model.items()
    }
    return {
        "group": named_cells(results.by, group.name),
        "rows": group.comparison.n_rows,
        "row_share": group.row_share,
        "uncertain": group.uncertain,
        "metrics": {model: each.figures for model, each in own.items()},
        "intervals": {
            model: {name: list(ends) for name, ends in each.intervals.items()}
            for model, each in own.items()
        },
        **document,
    }


def _intervals(quantiles: Quantiles, at: NDArray[np.intp]) -> list[list[float | None]]:
    pairs = zip(_numbers(quantiles.low[at]), _numbers(quantiles.high[at]), strict=True)
    return [list(pair) for pair in pairs]


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """JSON has no NaN: null where a number does not exist."""
    return [value if isfinite(value) else None for value in values.tolist()]
