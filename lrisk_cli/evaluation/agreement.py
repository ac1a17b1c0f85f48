"""Clusters, distances and labels, batch by batch -> how well the clusters match the labels."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.registry import figures_of
from lrisk_cli.tables.cells import Texts, spell_groups
from lrisk_cli.types import Array, Flags

# Of rows, or of what they count for.
Counts = NDArray[np.int64] | Array

# Categories of rows by label.
INLIER, PLANTED, UNKNOWN = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """How clusters and labels agree.

    accuracy: fraction of the inlier rows in the cluster that the best pairing of clusters with
    labels gives their label. purity: fraction of them in a cluster whose commonest inlier label is
    theirs. pairing: the label of each cluster, None for those left over. table: rows of each label
    (first) in each cluster. inliers: True for the labels that count. average_precision: of finding
    the other rows by their distance; None where there are none. n_unlabelled: rows without a label.
    """

    accuracy: float
    purity: float
    pairing: tuple[str | None, ...]
    labels: tuple[str, ...]
    inliers: tuple[bool, ...]
    table: Counts
    average_precision: float | None
    n_unlabelled: int

    @property
    def figures(self) -> dict[str, float | None]:
        """The numbers by name; average precision only where outliers are planted."""
        planted = [] if all(self.inliers) else [Needs.PLANTED]
        return figures_of(self, [Needs.LABELS, *planted])


class LabelTally:
    """Counts rows by label and cluster while they come; a row costs one byte."""

    def __init__(self, place: str, n_clusters: int, inliers: Sequence[str]) -> None:
        self._place = place
        self._n_clusters = n_clusters
        self._inliers = inliers
        self._counts: dict[str, Counts] = {}
        self._kinds: list[NDArray[np.int8]] = []
        self._n_unlabelled = 0

    def add(
        self, cells: Array | Texts, clusters: NDArray[np.int32], weights: Array | None = None
    ) -> None:
        """Take one batch: the label of each row as read, its cluster, and its weight. All (n,)."""
        texts = spell_groups(cells, self._place)
        k = self._n_clusters
        known = texts.codes >= 0
        places = texts.codes[known].astype(np.int64) * k + clusters[known]
        counted = None if weights is None else weights[known]
        table = np.bincount(places, counted, minlength=len(texts.values) * k).reshape(-1, k)
        for text, counts in zip(texts.values, table, strict=True):
            if counts.any():
                self._counts[text] = self._counts.get(text, 0) + counts
        self._n_unlabelled += int(np.count_nonzero(~known))
        kinds = [INLIER if self._counts_as(text) else PLANTED for text in texts.values]
        self._kinds.append(np.array([*kinds, UNKNOWN], dtype=np.int8)[texts.codes])

    def agreement(self, losses: Array, weights: Array | None = None) -> Agreement:
        """Of all rows taken, given their losses and weights in the same order. (n,)."""
        from scipy.optimize import linear_sum_assignment

        labels = _ordered(self._counts)
        if not labels:
            raise DataError(f"{self._place}: no row has a label; choose another column")
        table = np.array([self._counts[label] for label in labels])
        inliers = np.array([self._counts_as(label) for label in labels])
        if not inliers.any():
            shown = ", ".join(labels[:12])
            raise InvalidOption(
                "inlier_labels", f": no row has such a label; {self._place} has {shown}"
            )
        within = table[inliers]
        rows, columns = linear_sum_assignment(within, maximize=True)
        names = [label for label, is_inlier in zip(labels, inliers, strict=True) if is_inlier]
        pairs = zip(columns.tolist(), rows.tolist(), strict=True)
        paired = {column: row for column, row in pairs if within[row, column]}
        kinds = np.concatenate(self._kinds)
        labelled = kinds != UNKNOWN
        return Agreement(
            accuracy=float(within[rows, columns].sum() / within.sum()),
            purity=float(within.max(axis=0).sum() / within.sum()),
            pairing=tuple(
                names[paired[j]] if j in paired else None for j in range(self._n_clusters)
            ),
            labels=tuple(labels),
            inliers=tuple(inliers.tolist()),
            table=table,
            average_precision=average_precision(
                losses[labelled],
                kinds[labelled] == PLANTED,
                None if weights is None else weights[labelled],
            ),
            n_unlabelled=self._n_unlabelled,
        )

    def _counts_as(self, label: str) -> bool:
        """Whether rows of this label are inliers; all are where none are named."""
        return not self._inliers or label in self._inliers


def average_precision(
    scores: Array, positives: Flags, weights: Array | None = None
) -> float | None:
    """Mean over the positive rows of the precision among rows of no smaller score.

    Equal scores are taken together. None where there is no positive row. weights: how much the rows
    count. All (n,).
    """
    counts = positives.astype(np.float64) if weights is None else positives * weights
    n_positive = float(counts.sum())
    if n_positive == 0.0:
        return None
    order = np.argsort(-scores, kind="stable")
    ordered, hits = scores[order], np.cumsum(counts[order])
    # The last row of each group of equal scores.
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    found = hits[ends]
    new = np.diff(found, prepend=0)
    ones = np.ones(len(order)) if weights is None else weights[order]
    so_far = np.cumsum(ones)[ends]
    return float(np.sum(new * (found / so_far)) / n_positive)


def _ordered(labels: dict[str, Counts]) -> list[str]:
    """Numbers by their value, other labels by their text."""
    try:
        return sorted(labels, key=lambda label: (float(label), label))
    except ValueError:
        return sorted(labels)
