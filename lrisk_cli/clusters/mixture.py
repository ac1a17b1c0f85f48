"""Rows -> how many clusters they form, of which shapes, and which rows are noise.

A mixture of normal clusters and noise, fitted by expectation maximisation (EM):

    f(x) = sum_j p_j N(x; m_j, S_j) + p_0 g(x),    g(x) = Gamma(d/2) / (2 pi^(d/2) L) r^-d

r is the distance from the median in robust units, log r is uniform over the length L under g, so
that the noise has no scale of its own. The eigenvalues of all S_j together differ by a factor of at
most c (TCLUST, Garcia-Escudero et al. 2008). Numbers of clusters are compared by the integrated
complete likelihood (Biernacki, Celeux & Govaert 2000)

    ICL = 2 log L - v log n - 2 E,    v = k (1 + d + d (d + 1) / 2),

E the entropy of the rows' memberships. One cluster starts from the MCD, several from trimmed
k-means at several trimmed fractions; the likeliest end is kept, and its noise is the estimate.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import lgamma, log, pi

import numpy as np

from lrisk_cli.clusters.clustering import ClusterOptions, cluster_rows, count_distinct
from lrisk_cli.clusters.samples import sample_rows
from lrisk_cli.clusters.scatter import (
    Shape,
    Units,
    common_unit,
    fit_mcd,
    learn_units,
    log_determinant,
    regular,
)
from lrisk_cli.native.threads import one_thread
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array, Codes, Flags

# Fractions that trimmed k-means leaves out to begin with; starts for each; EM steps before the
# likeliest is chosen, and after.
TRIMMED = (0.0, 0.1, 0.25, 0.4)
STARTS, FIRST_STEPS, MOST_STEPS, TOL = 2, 8, 100, 1e-6
# So many of the likeliest starts are brought to their end.
FINALISTS = 2
# Mixtures are fitted to so many rows at most, drawn at random.
MOST_ROWS = 2000
# Beyond this quantile of the distances the density of the noise falls; it is even within.
INNER = 0.5
# More clusters are not tried after this many numbers of clusters that were no better.
PATIENCE = 2
TINY = 1e-300
CHUNK = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """k normal clusters and noise. centres: (k, d), scatters: (k, d, d), on the columns of X.

    shares: (k,) of the rows, the largest first; noise: that of the noise; icl: see above. modes:
    (k,) clusters that are denser than every other at their own centre; the others are tails of one.
    """

    shares: Array
    noise: float
    centres: Array
    scatters: Array
    modes: Flags
    likelihood: float
    iterations: int
    icl: float

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self.shares)


@dataclass(frozen=True, slots=True)
class Shapes:
    """What clusters may look like: the eigenvalues of their scatters differ by at most `ratio`.

    relative: to the pooled scatter, so that the result does not depend on the units of the columns
    and one cluster may have any shape. Otherwise as they are, as k-means sees the rows.
    """

    ratio: float
    relative: bool


@dataclass(frozen=True, slots=True)
class Noise:
    """g, whose log r is uniform over a length from `inner` on."""

    inner: float
    length: float

    def log_density(self, Z: Array) -> Array:
        """log g of rows in robust units. (n,)."""
        d = Z.shape[1]
        r = np.maximum(np.sqrt(np.einsum("ij,ij->i", Z, Z)), self.inner)
        constant = lgamma(0.5 * d) - log(2.0) - 0.5 * d * log(pi) - log(self.length)
        found: Array = constant - d * np.log(r)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Mixtures:
    """A mixture for each number of clusters tried, and the MCD of all rows, on the columns of X."""

    found: tuple[Mixture, ...]
    majority: Shape
    units: Units
    density: Noise

    @property
    def best(self) -> Mixture:
        """The one of the largest ICL, the fewest clusters of equals."""
        return max(self.found, key=lambda each: each.icl)

    def noisy(self, mixture: Mixture, X: Array) -> Flags:
        """Rows that are noise more likely than not. X: (n, d)."""
        found = np.empty(len(X), np.bool_)
        shapes = [
            _narrow(Shape(centre, scatter), self.units)
            for centre, scatter in zip(mixture.centres, mixture.scatters, strict=True)
        ]
        with one_thread():
            for start in range(0, len(X), CHUNK):
                Z = self.units.apply(X[start : start + CHUNK])
                noise = self.density.log_density(Z)
                logs = _log_densities(Z, mixture.shares, shapes, mixture.noise, noise)
                found[start : start + CHUNK] = _share_out(logs)[0][:, -1] > 0.5
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """Rows in robust units, their coarse columns, log g of them, and the shapes of clusters."""

    Z: Array
    coarse: Flags
    noise: Array
    shapes: Shapes


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """Clusters in robust units. shares, memberships: the noise last.

    memberships: (n, k + 1).
    """

    shares: Array
    shapes: tuple[Shape, ...]
    memberships: Array
    likelihood: float
    iterations: int


def fit_mixtures(
    X: Array,
    ks: Sequence[int],
    shapes: Shapes,
    *,
    seed: int = 0,
    patient: bool = True,
    masses: Array | None = None,
) -> Mixtures:
    """A mixture for each k up to the number of distinct rows. X: (n, d); ks: ascending.

    masses: how much the rows count, (n,): so many units are drawn from.

    shapes: what the clusters may look like. patient: all ks are tried, rather than until the ICL
    falls twice.
    """
    rows = sample_rows(X, MOST_ROWS, seed, masses)
    n_distinct = count_distinct(rows, max(ks))
    units = learn_units(rows) if shapes.relative else common_unit(rows)
    Z, coarse = units.apply(rows), units.coarse[units.used]
    with one_thread():
        majority = fit_mcd(Z, coarse)
        density = _learn_noise(Z)
        task = _Task(Z, coarse, density.log_density(Z), shapes)
        found: list[Mixture] = []
        for k in [k for k in ks if k <= n_distinct] or [1]:
            state = _fit(task, k, majority, seed)
            found.append(_on_columns(state, units, len(Z)))
            best = max(range(len(found)), key=lambda place: found[place].icl)
            if not patient and len(found) - 1 - best >= PATIENCE:
                break
    return Mixtures(tuple(found), _widen(majority, units), units, density)


def _fit(task: _Task, k: int, majority: Shape, seed: int) -> _State:
    """The likeliest starts after a few steps, brought to their ends; the likeliest of these."""
    begun = [_ascend(task, start, FIRST_STEPS) for start in _starts(task.Z, k, majority, seed)]
    begun.sort(key=lambda state: -state.likelihood)
    ended = [_ascend(task, state.memberships, MOST_STEPS) for state in begun[:FINALISTS]]
    return max(ended, key=lambda state: state.likelihood)


def _starts(Z: Array, k: int, majority: Shape, seed: int) -> Iterator[Array]:
    """Memberships to start from: the MCD, or k-means trimmed by several fractions, in the units of
    the columns and in those of the MCD.
    """
    if k == 1:
        far = majority.distances(Z) > _far(Z.shape[1])
        yield np.column_stack([~far, far]).astype(np.float64)
        return
    for Y in (Z, majority.whiten(Z)):
        rows = np.ascontiguousarray(Y)
        for trimmed in TRIMMED:
            risk = Spectrum("subquantile", 1.0 - trimmed) if trimmed else Spectrum("mean")
            options = ClusterOptions(risk, starts=STARTS, seed=seed, tol=1e-4, max_iterations=50)
            _, placed = cluster_rows(rows, k, options)
            yield _crisp(placed.clusters, placed.outliers, k)


def _far(d: int) -> float:
    from scipy.special import chdtri

    return float(chdtri(d, 0.01))


def _crisp(clusters: Codes, trimmed: Flags, k: int) -> Array:
    """Memberships of 0 and 1; trimmed rows belong to the noise. (n, k + 1)."""
    made = np.zeros((len(clusters), k + 1))
    made[np.arange(len(clusters)), np.where(trimmed, k, clusters)] = 1.0
    return made


def _learn_noise(Z: Array) -> Noise:
    """The noise that reaches as far as the rows do."""
    r = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    farthest = float(r.max()) or 1.0
    inner = float(np.quantile(r, INNER)) or farthest
    return Noise(inner, max(log(farthest / inner), 1.0) + 1.0 / Z.shape[1])


def _ascend(task: _Task, start: Array, steps: int) -> _State:
    """Alternate between the clusters of the memberships and the memberships of the clusters."""
    member, before = start, -np.inf
    state: _State | None = None
    for step in range(steps):
        shapes, shares, remaining = _maximise(task, member)
        logs = _log_densities(task.Z, shares, shapes, remaining, task.noise)
        member, likelihood = _share_out(logs)
        state = _State(np.append(shares, remaining), shapes, member, likelihood, step + 1)
        if likelihood - before <= TOL * len(task.Z):
            break
        before = likelihood
    assert state is not None  # noqa: S101  (steps >= 1)
    return state


def _maximise(task: _Task, member: Array) -> tuple[tuple[Shape, ...], Array, float]:
    """Shapes, shares and the share of the noise that make the memberships likeliest.

    Each of several scatters is drawn to the pooled one with the weight of d + 2 rows (Fraley &
    Raftery 2007).
    """
    Z, coarse = task.Z, task.coarse
    n, k = len(Z), member.shape[1] - 1
    sizes = member[:, :k].sum(axis=0)
    centres, products = [], []
    for j in range(k):
        centre = member[:, j] @ Z / max(float(sizes[j]), TINY)
        moved = (Z - centre) * np.sqrt(member[:, j])[:, np.newaxis]
        centres.append(centre)
        products.append(moved.T @ moved)
    total = max(float(sizes.sum()), TINY)
    pooled = regular(np.sum(products, axis=0) / total, total, coarse)
    each = zip(products, sizes.tolist(), strict=True)
    owns = [regular(own / max(size, TINY), size, coarse) for own, size in each]
    scatters = _constrain(owns, sizes, pooled, task.shapes)
    shapes = tuple(Shape(*each) for each in zip(centres, scatters, strict=True))
    shares = np.maximum(sizes / n, 1e-10)
    return shapes, shares, max(1.0 - float(sizes.sum()) / n, 1e-10)


def _constrain(owns: Sequence[Array], sizes: Array, pooled: Array, shapes: Shapes) -> list[Array]:
    """Covariances of the clusters, drawn to the pooled one, with eigenvalues of a limited ratio."""
    weight = len(pooled) + 2.0
    if len(owns) == 1 and shapes.relative:
        return [pooled]
    factor = np.linalg.cholesky(pooled) if shapes.relative else np.eye(len(pooled))
    inverse = np.linalg.inv(factor)
    drawn = [
        (size * own + weight * pooled) / (size + weight)
        for own, size in zip(owns, sizes.tolist(), strict=True)
    ]
    parts = [np.linalg.eigh(inverse @ each @ inverse.T) for each in drawn]
    values = limit_eigenvalues(np.array([part[0] for part in parts]), sizes, shapes.ratio)
    roots = [factor @ (part[1] * np.sqrt(mine)) for part, mine in zip(parts, values, strict=True)]
    return [root @ root.T for root in roots]


def limit_eigenvalues(values: Array, sizes: Array, ratio: float) -> Array:
    """The likeliest eigenvalues with a ratio of at most c: those given, cut to [m, c m]. (k, d).

    m minimises sum_j n_j sum_l (log v + value / v), v the eigenvalue after the cut; between two
    numbers of the form value or value / c it has a closed form (Fritz et al. 2013).
    """
    values = np.maximum(values, TINY)
    if values.max() <= ratio * values.min():
        return values
    order = np.argsort(values, axis=None, kind="stable")
    ordered = values.ravel()[order]
    weights = np.repeat(np.maximum(sizes, TINY), values.shape[1])[order]
    mass = np.append(0.0, np.cumsum(weights))
    moment = np.append(0.0, np.cumsum(weights * ordered))
    logs = np.append(0.0, np.cumsum(weights * np.log(ordered)))
    edges = np.sort(np.concatenate([ordered, ordered / ratio]))
    between = np.concatenate([[0.5 * edges[0]], np.sqrt(edges[1:] * edges[:-1]), [2.0 * edges[-1]]])

    def sums(m: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Mass and moment of those below m and above c m, and what the others cost."""
        low = np.searchsorted(ordered, m, side="left")
        high = np.searchsorted(ordered, ratio * m, side="right")
        inner = logs[high] - logs[low] + mass[high] - mass[low]
        return mass[low], moment[low], mass[-1] - mass[high], moment[-1] - moment[high], inner

    low, low_moment, high, high_moment, _ = sums(between)
    cut = low + high
    m = (low_moment + high_moment / ratio) / np.where(cut > 0.0, cut, 1.0)
    m = np.where((cut > 0.0) & (m > 0.0), m, between)
    low, low_moment, high, high_moment, inner = sums(m)
    cost = low * np.log(m) + low_moment / m + inner
    cost += high * np.log(ratio * m) + high_moment / (ratio * m)
    best = float(m[np.argmin(cost)])
    found: Array = np.clip(values, best, ratio * best)
    return found


def _log_densities(
    Z: Array, shares: Array, shapes: Sequence[Shape], remaining: float, noise: Array
) -> Array:
    """log p_j N(x; m_j, S_j), and last log p_0 g(x). (n, k + 1)."""
    d = Z.shape[1]
    logs = np.empty((len(Z), len(shapes) + 1))
    for j, shape in enumerate(shapes):
        size = log_determinant(shape.scatter) + d * log(2.0 * pi)
        logs[:, j] = log(shares[j]) - 0.5 * (shape.distances(Z) + size)
    logs[:, -1] = log(remaining) + noise
    return logs


def _share_out(logs: Array) -> tuple[Array, float]:
    """Memberships by Bayes' rule, and the log-likelihood."""
    largest = logs.max(axis=1, keepdims=True)
    member = np.exp(logs - largest)
    totals = member.sum(axis=1, keepdims=True)
    member /= totals
    return member, float(np.sum(largest + np.log(totals)))


def _on_columns(state: _State, units: Units, n: int) -> Mixture:
    """The mixture on the columns of X, clusters of many rows first, with its criterion."""
    k, d = len(state.shapes), int(units.used.sum())
    member = state.memberships
    entropy = -float(np.sum(member * np.log(np.maximum(member, TINY))))
    n_parameters = k * (1.0 + d + 0.5 * d * (d + 1.0))
    icl = 2.0 * state.likelihood - n_parameters * log(n) - 2.0 * entropy
    at = np.array([shape.centre for shape in state.shapes])
    logs = _log_densities(at, state.shares, state.shapes, TINY, np.zeros(k))
    modes = np.argmax(logs[:, :k], axis=1) == np.arange(k)
    order = np.argsort(-state.shares[:k], kind="stable")
    shapes = [_widen(state.shapes[j], units) for j in order.tolist()]
    return Mixture(
        shares=state.shares[:k][order],
        noise=float(state.shares[k]),
        centres=np.array([shape.centre for shape in shapes]),
        scatters=np.array([shape.scatter for shape in shapes]),
        modes=modes[order],
        likelihood=state.likelihood,
        iterations=state.iterations,
        icl=icl,
    )


def _widen(shape: Shape, units: Units) -> Shape:
    """From robust units to the columns of X; constant columns have the variance 1."""
    used, scale = units.used, units.scale
    centre, scatter = units.centre.copy(), np.eye(len(used))
    centre[used] += scale[used] * shape.centre
    scatter[np.ix_(used, used)] = shape.scatter * np.outer(scale[used], scale[used])
    return Shape(centre, scatter)


def _narrow(shape: Shape, units: Units) -> Shape:
    """The reverse."""
    used, scale = units.used, units.scale[units.used]
    centre = (shape.centre[used] - units.centre[used]) / scale
    return Shape(centre, shape.scatter[np.ix_(used, used)] / np.outer(scale, scale))
