"""Losses and a spectrum give the losses file: every row with its loss, weight and rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.models.model import Model
from lrisk_cli.models.scoring import ScoredRows
from lrisk_cli.risk.row_weights import rank_rows
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.weighted import row_weights
from lrisk_cli.tables.row_lines import RowLines
from lrisk_cli.types import Array

_CHUNK = 65_536
# Columns that name a row of a table.
NAMES = ("row", "file", "line", "id")


@dataclass(frozen=True, slots=True)
class Ranking:
    """The weight that a risk gives each row, and its rank: 1 is the largest loss. Both (n,)."""

    weights: Array
    ranks: NDArray[np.int64]


def rank(losses: Array, spectrum: Spectrum, masses: Array | None = None) -> Ranking:
    """Equal losses share their weight; of two equal losses the earlier row ranks first.

    masses: of the rows, where they count for unlike much. (n,).
    """
    return Ranking(row_weights(losses, spectrum, masses), rank_rows(losses))


def rank_order(losses: Array) -> NDArray[np.intp]:
    """Indices of all losses in the order of their ranks; equal losses in row order. (n,)."""
    # Negated in place, which is exact: a copy would take too much memory for long tables.
    np.negative(losses, out=losses)
    order = np.argsort(losses, kind="stable")
    np.negative(losses, out=losses)
    return order


def largest_first(losses: Array, n_rows: int) -> NDArray[np.intp]:
    """Indices of the largest losses in the order of their ranks, without a full sort."""
    indices = np.empty(0, np.intp)
    for start in range(0, len(losses), _CHUNK):
        more = np.arange(start, min(start + _CHUNK, len(losses)))
        if len(indices) == n_rows:
            more = more[losses[more] > losses[indices].min(initial=np.inf)]
        indices = np.concatenate([indices, more])
        # All are in row order among equals, which a stable sort keeps.
        indices = indices[np.argsort(-losses[indices], kind="stable")[:n_rows]]
    return indices


def losses_columns(
    named: dict[str, Any],
    targets: Any,
    losses: Array,
    spectrum: Spectrum,
    masses: Array | None = None,
) -> dict[str, Any]:
    """The columns of the losses file, rows in reading order.

    They are what names the row (row, file, line, id), row_weight, target, prediction, loss, weight
    and rank; `named` holds the names and the prediction, masses are the weights of the rows.
    """
    ranking = rank(losses, spectrum, masses)
    first: dict[str, Any] = {name: named[name] for name in NAMES if name in named}
    first |= {} if masses is None else {"row_weight": masses}
    return {
        **first,
        "target": targets,
        "prediction": named["prediction"],
        "loss": losses,
        "weight": ranking.weights,
        "rank": ranking.ranks,
    }


def scored_columns(model: Model, kept: ScoredRows, lines: RowLines) -> dict[str, Any]:
    """The same of the rows of a table that were kept. lines: of the table."""
    names = {**kept.names(lines), "prediction": model.labelled(kept.joined("predictions"))}
    targets = model.labelled(kept.joined("targets"))
    weights = None if model.encoding.weight is None else kept.joined("weights")
    return losses_columns(names, targets, kept.joined("losses"), model.spectrum, weights)
