"""Scored rows of several models -> their losses side by side, compared as a whole and by group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lrisk_cli.design.groups import GroupCollector, RowGroups
from lrisk_cli.design.weights import total_weight
from lrisk_cli.evaluation.group_figures import FEW_ROWS, sort_groups
from lrisk_cli.evaluation.quantiles import (
    TAIL,
    Comparison,
    average,
    compare,
    quantile_ranks,
    sort_weighted,
)
from lrisk_cli.evaluation.streams import Column
from lrisk_cli.models.scoring import ScoredTogether
from lrisk_cli.names import WeightKind
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.types import Array, Codes, Flags

MAX_GROUPS = 1000
# Rows on which the dependence of two models' losses is estimated.
PAIRS = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The rows of one group. name: its cell of each column; row_share: of all rows; tail_shares:
    its fraction of the rows in the tail of the baseline and of each model, (1 + models,)."""

    name: tuple[str, ...]
    row_share: float
    tail_shares: Array
    comparison: Comparison

    @property
    def uncertain(self) -> bool:
        """Whether there are so few rows that chance may decide."""
        return self.comparison.effective < FEW_ROWS


class PairedLosses:
    """Collects the losses of several models, the baseline's first, on the same rows.

    Holds 8 bytes a row for each model and for the weight, if rows have any, 4 for each column of
    the groups, and pairs of losses of at most 65,536 rows. kind: of the weights.
    """

    def __init__(
        self, n_models: int, by: Sequence[str] = (), kind: WeightKind = WeightKind.FREQUENCY
    ) -> None:
        self.n_rows, self._kind = 0, kind
        self._losses = [Column() for _ in range(n_models)]
        self._weights: Column | None = None
        self._groups = GroupCollector(by, MAX_GROUPS) if by else None
        self._pairs = RowSample(PAIRS)

    def add(self, rows: ScoredTogether, chosen: Flags | None = None) -> None:
        """Take one batch, or the chosen ones of its rows. chosen: (n,)."""
        some = slice(None) if chosen is None else chosen
        kept, losses = rows.kept[some], [each[some] for each in rows.losses]
        for column, values in zip(self._losses, losses, strict=True):
            column.add(values)
        sampled = [*losses]
        if rows.weights is not None:
            self._weights = self._weights or Column()
            self._weights.add(rows.weights[some])
            sampled.append(rows.weights[some])
        if self._groups is not None:
            self._groups.add(rows.batch, kept)
        places = np.arange(self.n_rows, self.n_rows + len(kept))
        self._pairs.add(rows.batch.first_row + kept, *sampled, places)
        self.n_rows += len(kept)

    @property
    def weights(self) -> Array | None:
        """Of the rows so far, where they have any. (n,)."""
        return None if self._weights is None else self._weights.values

    def compare(self, levels: Array) -> tuple[Comparison, tuple[Group, ...]]:
        """All rows, and each group, the one with most of the baseline's tail first; call it once.

        The losses are sorted in place.
        """
        losses = [column.values for column in self._losses]
        weights = self.weights
        *pairs, places = self._pairs.columns
        groups: tuple[Group, ...] = ()
        if self._groups is not None:
            found = self._groups.finish()
            codes = found.codes[places.astype(np.intp)]
            groups, weights = self._compare_groups(losses, weights, found, (pairs, codes), levels)
        return compare(losses, pairs, levels, weights, self._kind), groups

    def _compare_groups(
        self,
        losses: Sequence[Array],
        weights: Array | None,
        groups: RowGroups,
        pairs: tuple[Sequence[Array], Codes],
        levels: Array,
    ) -> tuple[tuple[Group, ...], Array | None]:
        """Bring the rows of each group together, then compare group by group; and the weights in
        the order that the losses have then. pairs: with the groups of their rows.
        """
        order, bounds = sort_groups(groups)
        total = float(self.n_rows) if weights is None else total_weight(weights)
        thresholds = [_tail_from(each, weights) for each in losses]
        for each in losses:
            each[:] = each[order]
        weights = None if weights is None else weights[order]
        tails = [each > cut for each, cut in zip(losses, thresholds, strict=True)]
        in_tail = np.array([_count(tail, weights) for tail in tails])
        found = []
        for code, name in enumerate(groups.names):
            own = slice(bounds[code], bounds[code + 1])
            if own.start == own.stop:
                continue
            masses = None if weights is None else weights[own]
            above = np.array([_count(tail[own], masses) for tail in tails])
            shares = above / np.where(in_tail > 0.0, in_tail, 1.0)
            paired = [pair[pairs[1] == code] for pair in pairs[0]]
            # Sorted in place; the weights stay in the order of all losses.
            some = [each[own] if masses is None else each[own].copy() for each in losses]
            share = (own.stop - own.start if masses is None else total_weight(masses)) / total
            comparison = compare(some, paired, levels, masses, self._kind)
            found.append(Group(name, share, shares, comparison))
        ranked = sorted(found, key=lambda group: (-group.tail_shares[0], group.name))
        return tuple(ranked), weights


def _tail_from(losses: Array, weights: Array | None) -> float:
    """The loss above which the tail is."""
    if weights is None:
        (rank,) = quantile_ranks(len(losses), np.array([TAIL]))
        return float(np.partition(losses, rank - 1)[rank - 1])
    return float(
        sort_weighted(losses.copy(), weights, WeightKind.FREQUENCY).quantiles(np.array([TAIL]))[0]
    )


def _count(rows: Flags, weights: Array | None) -> float:
    return float(np.count_nonzero(rows) if weights is None else weights[rows].sum())


def average_groups(splits: Sequence[Sequence[Group]], test_share: float) -> tuple[Group, ...]:
    """Groups averaged over the splits that have them; one that a split lacks is empty there."""
    by_name: dict[tuple[str, ...], list[Group]] = {}
    for groups in splits:
        for group in groups:
            by_name.setdefault(group.name, []).append(group)
    averaged = [
        Group(
            name,
            sum(group.row_share for group in found) / len(splits),
            np.sum([group.tail_shares for group in found], axis=0) / len(splits),
            average([group.comparison for group in found], test_share),
        )
        for name, found in by_name.items()
    ]
    return tuple(sorted(averaged, key=lambda group: (-group.tail_shares[0], group.name)))
