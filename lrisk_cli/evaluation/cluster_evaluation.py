"""Evaluate clusters on rows: sizes, risks of the squared distances, labels, and rows for a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.clusters.clustering import find_outliers
from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.agreement import Agreement
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.metrics import Figures, risk_figures
from lrisk_cli.evaluation.rankings import rank
from lrisk_cli.evaluation.registry import figures_of
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.value import sort_losses
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.types import Array, Codes, Flags, Index

# Rows in the plane, and numbers they may have together; rows that are shown one by one.
MOST_POINTS, MOST_NUMBERS = 1500, 4_000_000
MOST_FAR = 24


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedClusters:
    """Rows among clusters. sizes, outliers: (k,) rows of each cluster, and outliers among them."""

    counts: RowCounts
    sizes: Sequence[int]
    outliers: Sequence[int]
    figures: Figures
    agreement: Agreement | None


@dataclass(frozen=True, slots=True, eq=False)
class SeenRows:
    """Rows among clusters as a page shows them, on the columns that were clustered.

    distances: of all rows, ascending. X, clusters, outliers: an even sample of them. far: those
    farthest from their centre, the farthest first; far_rows: their numbers in reading order.
    """

    distances: Array
    X: Array
    clusters: Index
    outliers: Flags
    far: Array
    far_rows: NDArray[np.int64]
    far_clusters: Index
    far_distances: Array


class RowViews:
    """Keeps what a page shows of rows that come in batches: some of all, and the farthest."""

    def __init__(self, n_columns: int) -> None:
        self._limit = max(100, min(MOST_POINTS, MOST_NUMBERS // n_columns))
        self._sample = RowSample(self._limit)
        # Numbers, columns, clusters and losses of the farthest rows so far.
        self._far: list[Any] = []

    def add(
        self, rows: NDArray[np.int64], X: Array, clusters: Codes, losses: Array, outliers: Flags
    ) -> None:
        """Take a batch. X: (n, columns), the others (n,)."""
        # Few at a time: of the first rows, the sample copies all.
        for start in range(0, len(rows), self._limit):
            at = slice(start, start + self._limit)
            self._sample.add(rows[at], X[at], clusters[at], outliers[at])
        # Of equal distances, the row that was read first.
        top = np.argsort(-losses, kind="stable")[:MOST_FAR]
        far: list[Any] = [rows[top], X[top], clusters[top], losses[top]]
        if self._far:
            far = [np.concatenate(pair) for pair in zip(self._far, far, strict=True)]
            top = np.argsort(-far[-1], kind="stable")[:MOST_FAR]
            far = [each[top] for each in far]
        self._far = far

    def seen(self, losses: Array) -> SeenRows:
        """For the page. losses: of all rows, any order."""
        X, clusters, outliers = self._sample.columns
        rows, far, far_clusters, far_losses = self._far
        return SeenRows(
            distances=np.sqrt(np.sort(losses)),
            X=X,
            clusters=clusters.astype(np.intp),
            outliers=outliers > 0.0,
            far=far,
            far_rows=rows,
            far_clusters=far_clusters.astype(np.intp),
            far_distances=np.sqrt(far_losses),
        )


def evaluate_clusters(
    model: ClusterModel,
    counts: RowCounts,
    clusters: Codes,
    losses: Array,
    agreement: Agreement | None,
    spectra: Sequence[Spectrum] = (),
    weights: Array | None = None,
) -> EvaluatedClusters:
    """Sizes of the clusters, the risks of the squared distances, and what the labels say.

    weights: how much the rows count in risks and fractions; sizes are of rows. (n,).
    """
    k = len(model.centres)
    outliers = find_outliers(losses, model.outlier_distance)
    masses = None if weights is None else weights.copy()
    ascending = sort_losses(losses.copy(), masses)
    figures = risk_figures(ascending, (model.spectrum, *spectra), masses)
    figures |= figures_of(weighted_flags(outliers, weights), [Needs.FLAGS])
    return EvaluatedClusters(
        counts,
        np.bincount(clusters, minlength=k).tolist(),
        np.bincount(clusters[outliers], minlength=k).tolist(),
        figures | ({} if agreement is None else agreement.figures),
        agreement,
    )


def weighted_flags(flags: Flags | Array, weights: Array | None) -> Flags | Array:
    """Numbers whose mean is the fraction of the weight of the rows that are flagged. (n,)."""
    return flags if weights is None else flags * (weights / weights.mean())


def assignment_columns(
    names: dict[str, Any],
    clusters: Codes,
    losses: Array,
    outliers: Flags,
    spectrum: Spectrum,
    weights: Array | None = None,
) -> dict[str, Any]:
    """The columns of the assignments file, rows in reading order. names: row, and id if any.

    weights: how much the rows count, where they do not count alike.
    """
    ranking = rank(losses, spectrum, weights)
    return {
        **names,
        **({} if weights is None else {"row_weight": weights}),
        "cluster": clusters,
        "distance": np.sqrt(losses),
        "weight": ranking.weights,
        "rank": ranking.ranks,
        "is_outlier": outliers.astype(np.int8),
    }
