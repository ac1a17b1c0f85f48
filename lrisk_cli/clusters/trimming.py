"""Rows -> the fraction of them that belongs to no cluster, and how many clusters there are.

The fraction is that of the rows that are noise more likely than not in a mixture of k normal
clusters and noise (mixture.py). Of several k, the one of the largest ICL is chosen, on so few
principal components that n rows tell how many scatters there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.clusters.clustering import Clustering
from lrisk_cli.clusters.mixture import Shapes, fit_mixtures
from lrisk_cli.clusters.samples import sample_rows
from lrisk_cli.native.threads import one_thread
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.units import count_units
from lrisk_cli.types import Array

# Clusters of nearest centres are about as wide as each other.
SHAPES = Shapes(50.0, relative=False)
# More columns than this are replaced by as many principal components; where k is to be chosen, by
# one for so many rows.
MOST_COLUMNS, MOST_ROWS = 30, 2000
FEWEST_COLUMNS, ROWS_PER_COLUMN = 2, 50
TINY = 1e-300
# At most this fraction of the rows is left out.
MOST_TRIMMED = 0.5
# Numbers of clusters that are tried where none is named, and rows for each at least.
MOST_CLUSTERS, ROWS_PER_CLUSTER = 10, 10


@dataclass(frozen=True, slots=True)
class Trimming:
    """fraction: of the rows, rounded to four digits. criteria: the ICL of each k that was tried."""

    fraction: float
    k: int
    criteria: dict[int, float]

    @property
    def risk(self) -> Spectrum:
        """The mean of the squared distances of the other rows."""
        return (
            Spectrum("subquantile", round(1.0 - self.fraction, 4))
            if self.fraction
            else Spectrum("mean")
        )

    def judge(self, clustering: Clustering) -> Clustering:
        """With the ICL as its criterion."""
        return replace(clustering, criterion=self.criteria.get(len(clustering.centres)))


def estimate_trimming(
    X: Array, ks: Sequence[int], seed: int, masses: Array | None = None
) -> Trimming:
    """How many of the rows are noise beside the best of these numbers of clusters. X: (n, d).

    masses: how much the rows count, (n,).
    """
    k = ks[0]
    criteria: dict[int, float] = {}
    if len(ks) > 1:
        n_rows = count_units(masses, len(X))
        few = _leading(X, max(FEWEST_COLUMNS, n_rows // ROWS_PER_COLUMN), seed, masses)
        mixtures = fit_mixtures(few, ks, SHAPES, seed=seed, masses=masses)
        criteria = {each.k: each.icl for each in mixtures.found}
        k = mixtures.best.k
    X = _leading(X, MOST_COLUMNS, seed, masses)
    mixtures = fit_mixtures(X, [k], SHAPES, seed=seed, masses=masses)
    noisy = float(np.average(mixtures.noisy(mixtures.best, X), weights=masses))
    return Trimming(round(min(noisy, MOST_TRIMMED), 4), k, criteria)


def _leading(X: Array, most: int, seed: int, masses: Array | None) -> Array:
    """The rows along the leading eigenvectors of the covariance of their spatial signs. (n, q).

    most: so many of these; but for MOST_COLUMNS no more.
    """
    most = min(most, MOST_COLUMNS)
    if X.shape[1] <= most:
        return X
    rows = sample_rows(X, MOST_ROWS, seed, masses)
    centre = np.median(rows, axis=0)
    signs = rows - centre
    signs /= np.maximum(np.sqrt(np.einsum("ij,ij->i", signs, signs)), TINY)[:, np.newaxis]
    with one_thread():
        vectors = np.linalg.eigh(signs.T @ signs)[1][:, -most:]
        return np.ascontiguousarray(X @ vectors)


def numbers_of_clusters(n_rows: int) -> tuple[int, ...]:
    """Those that are tried where none is named."""
    return tuple(range(1, max(1, min(MOST_CLUSTERS, n_rows // ROWS_PER_CLUSTER)) + 1))
