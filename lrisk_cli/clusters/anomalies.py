"""Rows -> how far each is from the clusters that most rows form, and from its nearest rows.

Two deviations for each row, both standard normal for the rows of normal clusters:

- far: the squared Mahalanobis distance to the nearest cluster of the best mixture (mixture.py);
- lonely: the mean distance to the ten nearest rows, in the metric of the MCD of all rows
  (scatter.py), which sees rows beside a curved cluster.

A cluster of few rows, or one that is the tail of another, is no cluster that rows may belong to.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.clusters.clustering import as_matrix
from lrisk_cli.clusters.mixture import Mixture, Mixtures, Shapes, fit_mixtures
from lrisk_cli.clusters.samples import sample_rows
from lrisk_cli.clusters.scatter import Shape, deviates, nearest_shape
from lrisk_cli.native.threads import one_thread
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Codes, Flags, Index

SHAPES = Shapes(100.0, relative=True)
# A cluster has at least a tenth of the rows, or half as many as each of k equal ones.
MINOR, HALF = 0.1, 0.5
# Rows around a row, and the products of rows and neighbours that are looked at, at most; neighbours
# are then drawn at random, as many as FEWEST at least.
NEIGHBOURS, MOST_PAIRS, FEWEST = 10, 1e8, 1000
CHUNK = 1024
# A row belongs to a small cluster within this quantile of its distances.
OWN = 0.999
# Deviations are centred and scaled by these quantiles of the rows in clusters.
MIDDLE, UPPER = 0.5, 0.8413447460685429


@dataclass(frozen=True, slots=True, eq=False)
class Anomalies:
    """clusters, losses, far, lonely: (n,), the losses are squared Mahalanobis distances. grouped:
    (n,) rows of a cluster that has too few of them.

    centres: (k, d) and scatters: (k, d, d) of the clusters that rows may belong to; chosen: the
    mixture that they are from. minor: the fraction of the rows in its other clusters.
    """

    centres: Array
    scatters: Array
    clusters: Codes
    losses: Array
    far: Array
    lonely: Array
    grouped: Flags
    chosen: Mixture
    tried: tuple[Mixture, ...]
    minor: float

    def of_rows(self, copies: Index) -> "Anomalies":
        """Of the rows whose first copies these are."""
        names = ("clusters", "losses", "far", "lonely", "grouped")
        return replace(self, **{name: getattr(self, name)[copies] for name in names})

    @property
    def unusual(self) -> float:
        """The estimated fraction of rows that belong to no cluster; 0 for less than one row."""
        share = self.chosen.noise + self.minor
        return min(share, 0.5) if share * len(self.losses) >= 1.0 else 0.0


def find_anomalies(
    rows: Rows, ks: Sequence[int], *, seed: int = 0, patient: bool = True
) -> Anomalies:
    """How far the rows are from the clusters that they form. ks: numbers of clusters to try."""
    X = as_matrix(rows)
    mixtures = fit_mixtures(X, ks, SHAPES, seed=seed, patient=patient)
    best = mixtures.best
    major = best.modes & (best.shares >= min(MINOR, HALF / best.k))
    if not major.any():
        major[0] = True
    minor = float(best.shares[~major].sum())
    centres, scatters = best.centres[major], best.scatters[major]
    with one_thread():
        clusters, losses = nearest_shape(X, centres, scatters)
        usual = 1.0 - min(best.noise + minor, 0.5)
        few = best.modes & ~major
        grouped = _nearer(X, best.centres[few], best.scatters[few], losses)
        far = standardise(deviates(losses, int(mixtures.units.used.sum())), usual)
        lonely = standardise(np.log(_neighbour_distances(X, mixtures, seed)), usual)
    return Anomalies(
        centres, scatters, clusters, losses, far, lonely, grouped, best, mixtures.found, minor
    )


def _nearer(X: Array, centres: Array, scatters: Array, losses: Array) -> Flags:
    """Rows that are nearer to one of these clusters, and as near as its own rows are. (n,)."""
    from scipy.special import chdtri

    if len(centres) == 0:
        return np.zeros(len(X), np.bool_)
    own = nearest_shape(X, centres, scatters)[1]
    found: Flags = (own < losses) & (own <= float(chdtri(X.shape[1], 1.0 - OWN)))
    return found


def standardise(z: Array, usual: float) -> Array:
    """z less its median, in units of its upper deviation, both of the usual rows. (n,)."""
    middle, upper = np.quantile(z, [MIDDLE * usual, UPPER * usual]).tolist()
    found: Array = (z - middle) / ((upper - middle) or 1.0)
    return found


def _neighbour_distances(X: Array, mixtures: Mixtures, seed: int) -> Array:
    """The mean distance to the nearest rows but itself, never 0. (n,)."""
    used = mixtures.units.used
    shape = Shape(mixtures.majority.centre[used], mixtures.majority.scatter[np.ix_(used, used)])
    others = shape.whiten(sample_rows(X, max(FEWEST, int(MOST_PAIRS / len(X))), seed)[:, used])
    norms = np.einsum("ij,ij->i", others, others)
    # Where all rows are neighbours, the nearest row of each is itself.
    itself = int(len(others) == len(X))
    count = min(NEIGHBOURS, len(others) - itself)
    found = np.empty(len(X))
    for start in range(0, len(X), CHUNK):
        white = shape.whiten(X[start : start + CHUNK, used])
        squares = norms - 2.0 * (white @ others.T)
        squares += np.einsum("ij,ij->i", white, white)[:, np.newaxis]
        nearest = np.partition(squares, count - 1 + itself, axis=1)[:, : count + itself]
        nearest.sort(axis=1)
        distances = np.sqrt(np.maximum(nearest[:, itself:], 0.0))
        found[start : start + CHUNK] = distances.mean(axis=1)
    positive = found[found > 0.0]
    least = 1e-3 * float(np.median(positive)) if len(positive) else 1.0
    return np.maximum(found, least)
