"""The results of a quantile report, as a JSON document and as the columns of a table."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.gates import Verdict
from lrisk_cli.evaluation.paired_losses import Group
from lrisk_cli.evaluation.quantiles import (
    TAIL,
    Compared,
    Comparison,
    Quantiles,
    better_from,
    crossings,
)
from lrisk_cli.reports.documents import gate_document, rows_document


@dataclass(frozen=True, slots=True)
class NamedModel:
    """What a report calls a model, what it is, and the gap proved when it was fitted, if any."""

    name: str
    description: str
    risk: str
    gap: float | None


@dataclass(frozen=True, slots=True)
class Splits:
    """Random splits on which the models were fitted and tested; the figures are averages."""

    holdout: float
    seed: int
    repeats: int
    n_train: int
    n_test: int


@dataclass(frozen=True, slots=True)
class QuantileResults:
    """All that a quantile report has to say. models: the baseline first.

    quantiles: the levels asked for, which are among those of the comparison; verdicts: with the
    model that met the gate, or None where a gate is about the rows. by: what the groups are of.
    """

    models: tuple[NamedModel, ...]
    quantiles: tuple[float, ...]
    comparison: Comparison
    groups: tuple[Group, ...]
    by: str | None
    counts: RowCounts
    splits: Splits | None
    verdicts: tuple[tuple[str | None, Verdict], ...]
    notes: tuple[str, ...]

    @property
    def baseline(self) -> NamedModel:
        """The model that the others are compared with."""
        return self.models[0]

    @property
    def compared(self) -> tuple[tuple[NamedModel, Compared], ...]:
        """The other models and what came of them."""
        return tuple(zip(self.models[1:], self.comparison.models, strict=True))

    @property
    def places(self) -> NDArray[np.intp]:
        """Where the levels asked for stand among those of the comparison."""
        return self.comparison.at(np.array(self.quantiles))


def quantile_document(results: QuantileResults) -> dict[str, Any]:
    """What `quantile-report --json` prints; every array is as long as the quantiles."""
    document: dict[str, Any] = {
        "command": "quantile-report",
        "quantiles": list(results.quantiles),
        **_comparison_document(results, results.comparison),
        "rows": rows_document(results.counts),
    }
    entries = [document["baseline"], *document["models"]]
    for entry, model in zip(entries, results.models, strict=True):
        entry |= {"risk": model.risk, "gap": model.gap}
    if results.splits is not None:
        splits = results.splits
        document["splits"] = {
            "holdout": splits.holdout,
            "seed": splits.seed,
            "repeats": splits.repeats,
            "train": splits.n_train,
            "test": splits.n_test,
        }
    if results.by is not None:
        document["by"] = results.by
        document["groups"] = [_group_document(results, group) for group in results.groups]
    document["gates"] = [
        {"model": model, **gate_document(verdict)} for model, verdict in results.verdicts
    ]
    document["notes"] = list(results.notes)
    return document


def quantile_columns(results: QuantileResults) -> dict[str, Any]:
    """One row for each model and quantile, of all rows, called (all), and then of each group."""
    parts = [("(all)", results.comparison)]
    parts += [(group.name, group.comparison) for group in results.groups]
    lines = [
        {"group": name, "model": model.name, "quantile": results.quantiles[i], **figures}
        for name, comparison in parts
        for model, compared in zip(results.models[1:], comparison.models, strict=True)
        for i, figures in enumerate(_lines(results.places, comparison, compared))
    ]
    names = [name for name in lines[0] if name != "group" or results.by is not None]
    return {name: np.array([line[name] for line in lines]) for name in names}


def _lines(
    at: NDArray[np.intp], comparison: Comparison, compared: Compared
) -> list[dict[str, float]]:
    difference = compared.difference
    columns = {
        "baseline_loss": comparison.losses.values,
        "loss": compared.losses.values,
        "loss_low": compared.losses.low,
        "loss_high": compared.losses.high,
        "difference": difference.values,
        "difference_low": difference.low,
        "difference_high": difference.high,
        "normalised_difference": comparison.normalised(difference.values),
    }
    return [{name: float(values[i]) for name, values in columns.items()} for i in at]


def _comparison_document(results: QuantileResults, comparison: Comparison) -> dict[str, Any]:
    at = results.places
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


def _group_document(results: QuantileResults, group: Group) -> dict[str, Any]:
    document = _comparison_document(results, group.comparison)
    del document["tail"]
    document["baseline"]["tail_share"] = float(group.tail_shares[0])
    for entry, share in zip(document["models"], group.tail_shares[1:], strict=True):
        entry["tail_share"] = float(share)
    rows = {"rows": group.comparison.n_rows, "row_share": group.row_share}
    return {"group": group.name, **rows, **document}


def _intervals(quantiles: Quantiles, at: NDArray[np.intp]) -> list[list[float | None]]:
    pairs = zip(_numbers(quantiles.low[at]), _numbers(quantiles.high[at]), strict=True)
    return [list(pair) for pair in pairs]


def _numbers(values: NDArray[np.float64]) -> list[float | None]:
    """JSON has no NaN: null where a number does not exist."""
    return [value if isfinite(value) else None for value in values.tolist()]
