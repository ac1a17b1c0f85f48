"""Scored rows of several models -> their losses side by side, compared as a whole and by group."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.collected import Coded
from lrisk_cli.errors import InvalidOption
from lrisk_cli.evaluation.quantiles import TAIL, Comparison, average, compare, quantile_ranks
from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.types import Array

MAX_GROUPS = 1000
# Rows on which the dependence of two models' losses is estimated.
PAIRS = 65_536
_GROWTH = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """The rows of one group. row_share: of all rows; tail_shares: its fraction of the rows in the
    tail of the baseline and of each model, (1 + models,)."""

    name: str
    row_share: float
    tail_shares: Array
    comparison: Comparison


class PairedLosses:
    """Collects the losses of several models, the baseline's first, on the same rows.

    Holds 8 bytes a row for each model, 4 for the group of a row, and pairs of losses of at most
    65,536 rows.
    """

    def __init__(self, n_models: int, by: str | None = None) -> None:
        self.n_rows = 0
        self._by = by
        self._buffers = [Buffer(0) for _ in range(n_models)]
        self._groups = Coded()
        self._pairs = RowSample(PAIRS)

    def add(
        self, rows: NDArray[np.int64], losses: Sequence[Array], groups: Texts | None = None
    ) -> None:
        """Take one batch. losses: one array for each model; groups: where they are asked for."""
        stop = self.n_rows + len(rows)
        for buffer, values in zip(self._buffers, losses, strict=True):
            if stop > buffer.size:
                buffer.resize(max(stop, buffer.size + _GROWTH))
            buffer.view()[self.n_rows : stop] = values
        self.n_rows = stop
        codes = np.zeros(len(rows), np.int32)
        if groups is not None:
            codes = self._groups.add(groups)
            if self._groups.n_values > MAX_GROUPS:
                raise InvalidOption(
                    "by",
                    f": more than {MAX_GROUPS} different values; choose a column with fewer",
                    self._by,
                )
        self._pairs.add(rows, *losses, codes)

    def compare(self, levels: Array) -> tuple[Comparison, tuple[Group, ...]]:
        """All rows, and each group, the one with most of the baseline's tail first; call it once.

        The losses are sorted in place.
        """
        losses = [buffer.view()[: self.n_rows] for buffer in self._buffers]
        *pairs, codes = self._pairs.columns
        groups = () if self._by is None else self._compare_groups(losses, pairs, codes, levels)
        return compare(losses, pairs, levels), groups

    def _compare_groups(
        self, losses: Sequence[Array], pairs: Sequence[Array], pair_codes: Array, levels: Array
    ) -> tuple[Group, ...]:
        """Bring the rows of each group together, then compare group by group."""
        (tail,) = quantile_ranks(self.n_rows, np.array([TAIL]))
        thresholds = [np.partition(each, tail - 1)[tail - 1] for each in losses]
        texts = self._groups.finish()
        order = np.argsort(texts.codes, kind="stable")
        for each in losses:
            each[:] = each[order]
        # Code -1, a missing cell, comes first.
        counts = np.bincount(texts.codes + 1, minlength=len(texts.values) + 1)
        names = ["(missing)", *texts.values]
        in_tail = [np.count_nonzero(each > t) for each, t in zip(losses, thresholds, strict=True)]
        found = []
        for code, (start, count) in enumerate(zip(np.cumsum(counts) - counts, counts, strict=True)):
            if count == 0:
                continue
            own = [each[start : start + count] for each in losses]
            above = [np.count_nonzero(o > t) for o, t in zip(own, thresholds, strict=True)]
            shares = np.array(above) / np.maximum(in_tail, 1)
            paired = [pair[pair_codes == code - 1] for pair in pairs]
            comparison = compare(own, paired, levels)
            found.append(Group(names[code], count / self.n_rows, shares, comparison))
        return tuple(sorted(found, key=lambda group: (-group.tail_shares[0], group.name)))


def average_groups(splits: Sequence[Sequence[Group]], test_share: float) -> tuple[Group, ...]:
    """Groups averaged over the splits that have them; one that a split lacks is empty there."""
    by_name: dict[str, list[Group]] = {}
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
