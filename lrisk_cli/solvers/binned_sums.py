"""One sweep at W: losses sorted into bins, and per bin what bounds and Newton steps need.

Letters: X, W, Z, l as in problem.py, g (n, k) derivatives of the losses by the margins, n_k, G_k
rows and sum of gradients of bin k, K bins. A bin is [e_k, e_k+1), e_0 = 0: losses are not negative.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.rows.rows import Rows
from lrisk_cli.rows.sweeps import Part
from lrisk_cli.types import Array, Index, Targets


@dataclass(frozen=True, slots=True)
class Plan:
    """How a sweep sorts losses. edges: (K - 1,), ascending.

    first: bins before it are only counted. zone: the bin whose rows are kept, -1 for none.
    groups: the first bins of those that share a Gram matrix, ascending. most: how many rows (of
    unlike contents) of the zone may be kept.
    """

    edges: Array
    first: int
    zone: int
    groups: Index
    most: int

    @property
    def live(self) -> int:
        """The first bin whose gradients are summed."""
        return max(self.first, self.zone + 1)

    @property
    def lows(self) -> Array:
        """Where each bin begins. (K,)."""
        return np.append(0.0, self.edges)


@dataclass(frozen=True, slots=True)
class Look:
    """Arguments of a sweep at W.

    ties: also the sums of g g', which several outputs need for the slope of the weights. metric: A
    of which the largest x' A x is wanted. extremes: whether the largest |x_j| are. beside: makes
    more sums of the same rows, from part, margins and losses.
    """

    loss: Loss
    W: Array
    plan: Plan
    ties: bool = False
    metric: Array | None = None
    extremes: bool = False
    beside: Callable[[Part, Array, Array], Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Rows of the zone, (m, d), with their targets and how often each occurs, (m,)."""

    cells: Array
    y: Targets
    times: Array

    def add(self, other: "Kept") -> "Kept":
        """Those of both."""
        return Kept(
            np.concatenate([self.cells, other.cells]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.times, other.times]),
        )

    def compressed(self) -> "Kept":
        """Equal rows once, with their number."""
        if len(self.y) < 2:
            return self
        table = np.ascontiguousarray(np.column_stack([self.cells + 0.0, self.y.astype(np.float64)]))
        keys = table.view(np.dtype((np.void, table.shape[1] * 8)))[:, 0]
        _, at, inverse = np.unique(keys, return_index=True, return_inverse=True)
        # In the order of their first row, so that sums over them do not depend on bytes.
        order = np.argsort(at, kind="stable")
        times = np.bincount(inverse.ravel(), self.times, len(at))[order].astype(np.float64)
        return Kept(self.cells[at[order]], self.y[at[order]], times)


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The sums of a sweep. count, above, low, high: (K,), above: sum of l - e_k.

    G: (live bins, d, k); square, bend: sums of g^2 and l'' of the live bins, one output only.
    grams: (groups, pairs of outputs, d, d), weighted by l'', `ties` by -g_c g_e. largest: of |x_j|.
    """

    count: Array
    above: Array
    low: Array
    high: Array
    G: Array
    square: Array
    bend: Array
    grams: Array
    ties: Array | None
    kept: Kept | None
    most: int
    reach: float
    largest: Array | None
    beside: Any

    def add(self, other: "Seen") -> "Seen":
        """The sums of both parts."""
        return replace(
            self,
            count=self.count + other.count,
            above=self.above + other.above,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
            G=self.G + other.G,
            square=self.square + other.square,
            bend=self.bend + other.bend,
            grams=self.grams + other.grams,
            ties=None if self.ties is None or other.ties is None else self.ties + other.ties,
            kept=_both(self.kept, other.kept, self.most),
            reach=max(self.reach, other.reach),
            largest=_larger(self.largest, other.largest),
            beside=None if self.beside is None else self.beside.add(other.beside),
        )


def look(part: Part, at: Look) -> Seen:
    """What leaves a part."""
    loss, plan, rows, y = at.loss, at.plan, part.rows, part.y
    with np.errstate(all="ignore"):
        Z = rows.margins(at.W)
        losses, g = loss.values_and_derivatives(Z, y)
    K, (d, k) = len(plan.edges) + 1, at.W.shape
    bins = np.searchsorted(plan.edges, losses, side="right")
    # Sixteen bits are sorted by radix.
    order = np.argsort(bins.astype(np.uint16) if K < 1 << 16 else bins, kind="stable")
    count = np.bincount(bins, minlength=K)
    begin = np.append(0, np.cumsum(count))
    full = np.flatnonzero(count)
    low, high = np.full(K, np.inf), np.full(K, -np.inf)
    ranked = losses[order]
    low[full] = np.minimum.reduceat(ranked, begin[full])
    high[full] = np.maximum.reduceat(ranked, begin[full])
    above = np.zeros(K)
    above[full] = np.add.reduceat(ranked - plan.lows[bins[order]], begin[full])
    live = plan.live
    chosen, own = order[begin[live] :], full[full >= live]
    starts = begin[own] - begin[live]
    G = np.zeros((K - live, d, k))
    square, bend = np.zeros((2, K - live))
    if len(chosen):
        roots = np.sqrt(count[own])[:, None]
        for c in range(k):
            coefs = np.ascontiguousarray(g[:, c])
            G[own - live, :, c] = rows.block_sums(coefs, chosen, count[own]) * roots
        if k == 1:
            square[own - live] = np.add.reduceat(g[chosen, 0] ** 2, starts)
            curvature = loss.curvature(Z[chosen], y[chosen])
            bend[own - live] = np.add.reduceat(curvature, starts)
    cuts = np.append(begin[np.maximum(plan.groups, live)] - begin[live], len(chosen))
    pieces = [chosen[a:b] for a, b in pairwise(cuts)]
    kept = None
    if plan.zone >= 0:
        kept = _keep(rows, y, order[begin[plan.zone] : begin[plan.zone + 1]], plan.most)
    return Seen(
        count.astype(np.float64), above, low, high, G, square, bend,
        np.stack([grams(loss, rows.take(some), Z[some], y[some]) for some in pieces]),
        _tied(rows, g, pieces) if at.ties and k > 1 else None,
        kept, plan.most,
        0.0 if at.metric is None else float(rows.quadratic_forms(at.metric).max(initial=0.0)),
        _largest(rows) if at.extremes else None,
        None if at.beside is None else at.beside(part, Z, losses),
    )  # fmt: skip


def grams(loss: Loss, rows: Rows, Z: Array, y: Targets) -> Array:
    """The parts of sum l'' x x': for each pair of outputs p_c p_e x x'. (pairs, d, d)."""
    if loss.n_outputs == 1:
        return _gram(rows, loss.curvature(Z, y))[None]
    P = loss.probabilities(Z)
    assert P is not None  # noqa: S101  (several outputs are classes)
    return np.stack([_gram(rows, P[:, c] * P[:, e]) for c, e in combinations(range(P.shape[1]), 2)])


def assemble(parts: Array, k: int) -> Array:
    """The matrix of such parts, of which several are a Laplacian of blocks. (d k, d k)."""
    if k == 1:
        return np.array(parts[0])
    d = parts.shape[-1]
    H = np.zeros((d, k, d, k))
    for (c, e), A in zip(combinations(range(k), 2), parts, strict=True):
        H[:, c, :, e] -= A
        H[:, e, :, c] -= A
        H[:, c, :, c] += A
        H[:, e, :, e] += A
    return H.reshape(d * k, d * k)


def n_pairs(k: int) -> int:
    """How many parts a matrix of k outputs has."""
    return max(1, k * (k - 1) // 2)


def _tied(rows: Rows, g: Array, pieces: Sequence[Index]) -> Array:
    """Minus g_c g_e x x' of the rows of each piece. (pieces, pairs, d, d)."""
    pairs = list(combinations(range(g.shape[1]), 2))
    return np.stack(
        [
            np.stack([_gram(rows.take(some), -g[some, c] * g[some, e]) for c, e in pairs])
            for some in pieces
        ]
    )


def _gram(rows: Rows, weights: Array) -> Array:
    if not len(weights):
        return np.zeros((rows.shape[1],) * 2)
    return rows.gram(np.ascontiguousarray(weights))


def _keep(rows: Rows, y: Targets, some: Index, most: int) -> Kept | None:
    """These rows; None where there are too many."""
    kept = Kept(np.array(rows.dense_rows(some)), y[some], np.ones(len(some)))
    if len(some) > most:
        kept = kept.compressed()
    return kept if len(kept.y) <= most else None


def _both(one: Kept | None, other: Kept | None, most: int) -> Kept | None:
    """The rows of both, equal ones once where there would be too many."""
    if one is None or other is None:
        return None
    both = one.add(other)
    if len(both.y) > most:
        both = both.compressed()
    return both if len(both.y) <= most else None


def _largest(rows: Rows) -> Array:
    """The largest |x_j| of each column. (d,)."""
    stats = rows.column_stats()
    return np.maximum(np.abs(stats.smallest), np.abs(stats.largest))


def _larger(one: Array | None, other: Array | None) -> Array | None:
    return None if one is None or other is None else np.maximum(one, other)


def heads(groups: Sequence[int] | Index, bins: Index) -> Index:
    """The group that each of some bins is in."""
    return np.searchsorted(groups, bins, side="right") - 1
