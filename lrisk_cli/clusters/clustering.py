"""Rows, a number of clusters and a spectrum -> centres, and the assignment of rows to them.

Minimises R(C) = sum_i sigma_i l_(i)(C), l_i(C) = min_j ||x_i - c_j||^2. With a falling spectrum the
rows far from every centre count little or nothing. R is not convex: several starts, the best kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.clusters.lloyd import Descent, Lloyd
from lrisk_cli.clusters.minibatch import Minibatches
from lrisk_cli.clusters.seeds import draw_seeds
from lrisk_cli.errors import DataError, InvalidOption, opt
from lrisk_cli.names import ClusterSolver
from lrisk_cli.native.kernels import core
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.weighted import AnyWeighter, make_weighter
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# A row that the risk gives less than this fraction of the even weight 1/n is an outlier.
OUTLIER_SHARE = 0.01
# Squares of larger numbers, summed over columns, might overflow in a kernel.
LARGEST_NUMBER = 1e140
CHUNK = 65_536


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What to minimise and how; batch_size, step and epochs are those of sgd.

    estimated: the risk is yet to be chosen, by the estimated fraction of noise.
    """

    risk: Spectrum
    solver: ClusterSolver = ClusterSolver.LLOYD
    starts: int = 10
    tol: float = 1e-7
    max_iterations: int = 300
    batch_size: int = 64
    step: float = 1.0
    epochs: int = 50
    seed: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """The best centres found, those of most weight first, and how each start ended.

    criterion: the Calinski-Harabasz index, see `separation`, which one cluster has not; or the ICL
    of the mixture of as many clusters, where the fraction of noise is estimated.
    """

    centres: Array
    objective: float
    criterion: float | None
    starts: tuple[Descent, ...]

    @property
    def best(self) -> Descent:
        """The start that was kept."""
        return min(self.starts, key=lambda start: start.objective)

    @property
    def reseeded(self) -> int:
        """Clusters that lost all their weight on the way, in all starts."""
        return sum(start.reseeded for start in self.starts)


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The assignment of rows to centres. clusters, losses (squared distances), weights: (n,).

    objective: the risk of these rows. threshold: the distance beyond which rows are outliers; None
    where the risk counts every row.
    """

    clusters: NDArray[np.int32]
    losses: Array
    weights: Array
    objective: float
    threshold: float | None

    @property
    def distances(self) -> Array:
        """Distance of each row to its centre."""
        return np.sqrt(self.losses)

    @property
    def outliers(self) -> NDArray[np.bool_]:
        """Rows with almost no weight under the risk."""
        return find_outliers(self.losses, self.threshold)


def check_options(options: ClusterOptions) -> None:
    """Answer impossible options with a sentence before any work starts."""
    risk = options.risk
    if risk.rising and not risk.flat:
        raise InvalidOption(
            "risk",
            "rises with the loss, and clusters are found by risks that fall; choose subquantile:P, "
            "lower-extremile:R or mean (k-means)",
            risk,
        )
    if not 0.0 < options.step < float("inf"):
        raise InvalidOption("step", f"must be greater than 0; got {options.step:g}")


def as_matrix(rows: Rows) -> Array:
    """All rows as one array: distances are computed on dense rows only. (n, columns)."""
    return rows.dense_rows(slice(None))


def check_rows(label: str, X: Array, k: int) -> None:
    """DataError where there are fewer than k distinct rows, or distances would overflow."""
    n_distinct = count_distinct(X, max(k, 2))
    if n_distinct == 1:
        raise DataError(f"{label}: all {len(X)} rows are equal; there is nothing to cluster")
    if n_distinct < k:
        raise DataError(
            f"{label}: {n_distinct} distinct rows, fewer than {k} clusters; pass a smaller "
            f"{opt('clusters')}"
        )
    if max(float(X.max()), -float(X.min())) > LARGEST_NUMBER:
        raise DataError(
            f"{label}: numbers too large to square; pass {opt('standardize', 'features')} or "
            "rescale them"
        )


def count_distinct(X: Array, most: int) -> int:
    """How many distinct rows there are, counted up to `most`."""
    return int(core.count_distinct(X, np.empty(most, dtype=np.int32)))


def find_clusters(
    X: Array,
    ks: Sequence[int],
    options: ClusterOptions,
    report: Report = silent,
    masses: Array | None = None,
) -> tuple[Clustering, ...]:
    """One clustering for each k asked for. X: (n, d), C order, at least max(ks) distinct rows.

    masses: how much the rows count; all alike where there are none. (n,).
    """
    row_weighter = make_weighter(options.risk, len(X), masses)
    return tuple(_cluster(X, k, row_weighter, options, report, masses) for k in ks)


def cluster_rows(
    X: Array, k: int, options: ClusterOptions, report: Report = silent
) -> tuple[Clustering, Assignment]:
    """k clusters, and the rows among them; distances to the nearest centre score outliers."""
    (clustering,) = find_clusters(X, (k,), options, report)
    return clustering, assign_rows(X, clustering.centres, options.risk)


def pick(clusterings: Sequence[Clustering]) -> Clustering:
    """The one of the largest criterion; one that has none, only where none has."""
    scored = [(each.criterion, each) for each in clusterings if each.criterion is not None]
    return max(scored, key=lambda pair: pair[0])[1] if scored else clusterings[0]


def assign_rows(
    X: Array, centres: Array, risk: Spectrum, masses: Array | None = None
) -> Assignment:
    """Assign each row to its nearest centre, with a fixed order of summation."""
    # Before the losses, since the making of a spectrum takes memory.
    row_weighter = make_weighter(risk, len(X), masses)
    clusters, losses = nearest(X, centres)
    weighed = row_weighter.weigh(losses)
    even = 1.0 / len(X) if masses is None else masses / masses.sum()
    counted = weighed.lam >= OUTLIER_SHARE * even
    farthest = float(np.max(losses, where=counted, initial=0.0))
    threshold = None if counted.all() else float(np.sqrt(farthest))
    return Assignment(clusters, losses, weighed.lam, weighed.value, threshold)


def nearest(X: Array, centres: Array) -> tuple[NDArray[np.int32], Array]:
    """Nearest centre of each row by itself, the first of equals, and the squared distance."""
    clusters, losses = np.empty(len(X), dtype=np.int32), np.empty(len(X))
    core.nearest_centres(X, centres, clusters, losses)
    return clusters, losses


def sum_by_cluster(clusters: NDArray[np.int32], weights: Array, k: int) -> Array:
    """The weight of each cluster, summed in row order. (k,)."""
    total = np.zeros(k)
    # A few rows at a time: bincount makes a wider copy of what it counts.
    for start in range(0, len(clusters), CHUNK):
        rows = slice(start, start + CHUNK)
        total += np.bincount(clusters[rows], weights[rows], k)
    return total


def find_outliers(losses: Array, threshold: float | None) -> NDArray[np.bool_]:
    """Rows farther from their centre than the threshold. losses: squared distances."""
    if threshold is None:
        return np.zeros(len(losses), dtype=np.bool_)
    return np.asarray(np.sqrt(losses) > threshold)


def _cluster(
    X: Array,
    k: int,
    row_weighter: AnyWeighter,
    options: ClusterOptions,
    report: Report,
    masses: Array | None,
) -> Clustering:
    """Every start to its end; the k-th clustering depends on k and the seed, not on other k."""
    generator = np.random.Generator(np.random.PCG64([options.seed, k]))
    descend = _descender(X, k, row_weighter, options, generator, masses)
    starts: list[Descent] = []
    for number in range(options.starts):
        starts.append(descend(number))
        note = f"{k} clusters, objective {min(start.objective for start in starts):.6g}"
        report(Progress("start", number + 1, options.starts, note))
    best = min(starts, key=lambda start: start.objective)
    del descend  # and its memory for every row
    clusters, losses = nearest(X, best.centres)
    lam = row_weighter.weigh(losses).lam
    weights = sum_by_cluster(clusters, lam, k)
    order = np.argsort(-weights, kind="stable")
    # Of copies of a row each has its part of the weight.
    n_counted = 1.0 / core.compensated_dot(lam, lam if masses is None else lam / masses)
    criterion = separation(best.centres, weights, best.objective, n_counted)
    return Clustering(best.centres[order], best.objective, criterion, tuple(starts))


def _descender(
    X: Array,
    k: int,
    row_weighter: AnyWeighter,
    options: ClusterOptions,
    generator: np.random.Generator,
    masses: Array | None,
) -> Callable[[int], Descent]:
    """Runs the start of a number; the first of sgd is at 0, as in the paper."""
    if options.solver is ClusterSolver.LLOYD:
        lloyd = Lloyd(X, k, row_weighter)
        return lambda _: lloyd.descend(
            draw_seeds(X, k, options.risk, generator, masses), options.tol, options.max_iterations
        )
    state = generator.integers(1, 2**63, size=4, dtype=np.uint64)
    batches = Minibatches(X, k, row_weighter, options.batch_size, state, masses)

    def descend(number: int) -> Descent:
        at_zero = np.zeros((k, X.shape[1]))
        centres = draw_seeds(X, k, options.risk, generator, masses) if number else at_zero
        return batches.descend(centres, options.step, options.epochs)

    return descend


def separation(centres: Array, masses: Array, within: float, n_counted: float) -> float | None:
    """Calinski and Harabasz's index of the weighted rows: large for few, tight, distant clusters.

    (B / (k-1)) / (R / (n' - k)): R the risk, B = sum_j W_j ||c_j - c||^2 with W_j the weight of
    cluster j and c the mean of all, n' = 1 / sum lam_i^2 the number of rows that count.
    """
    k = len(centres)
    if k == 1 or n_counted <= k or within <= 0.0:
        return None
    shares = (masses / masses.sum())[:, np.newaxis]
    middle = np.sum(shares * centres, axis=0)
    between = float(np.sum(shares * (centres - middle) ** 2))
    return between / (k - 1) / (within / (n_counted - k))
