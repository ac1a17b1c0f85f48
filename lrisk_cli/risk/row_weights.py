"""Losses and a spectrum give the risk and the weight of each row.

Letters: l (n,) losses, sigma (n,) weights of the sorted losses, lam (n,) weights of the rows,
nu the amount of smoothing.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.names import SmoothingName
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.softplus import softplus_penalty, softplus_weights
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array


@dataclass(frozen=True, slots=True)
class Smoothing:
    """h_nu(l) = max over lam in P(sigma) of lam.l - nu Omega(lam).

    Omega is ||lam - 1/n||^2 / 2 for `l2` and sum lam log(n lam) for `entropy`. `softplus` is for
    the subquantile, a minimum, and has a module of its own; what follows is not for it.
    """

    name: SmoothingName
    nu: float

    def penalty(self, lam: Array, masses: Array | None = None) -> float:
        """nu Omega(lam); masses: of the rows, where they have any."""
        n = len(lam)
        if masses is not None:
            return self._penalty_of_masses(lam, masses)
        if self.name is SmoothingName.L2:
            return 0.5 * self.nu * float(np.sum((lam - 1.0 / n) ** 2))
        positive = lam[lam > 0.0]
        return self.nu * float(np.sum(positive * np.log(n * positive)))

    def _penalty_of_masses(self, lam: Array, masses: Array) -> float:
        total = float(masses.sum())
        if self.name is SmoothingName.L2:
            return 0.5 * self.nu * float(np.sum((lam - masses / total) ** 2 / masses))
        some = lam > 0.0
        return self.nu * float(np.sum(lam[some] * np.log(total / masses[some] * lam[some])))

    def steepness(self, largest: float, n: float) -> float:
        """At least what nu Omega changes by for each unit of weight that is moved in P(sigma).

        largest: the largest weight of a row, or of a unit of mass; n: rows, or their mass.
        """
        if self.name is SmoothingName.L2:
            return 2.0 * self.nu * largest
        return self.nu * (2.0 + float(np.log(n * largest)))


@dataclass(frozen=True, slots=True)
class Weighed:
    """The risk of all losses and the row weights. value: the risk; smoothed: h_nu (the risk itself
    without smoothing); lam: the weights that attain the latter; rank_changes: rows whose rank
    differs from the last time, if it was sorted.
    """

    value: float
    smoothed: float
    lam: Array
    rank_changes: int | None


class Weigher(Protocol):
    """Computes risk and row weights of the losses of the same rows, repeatedly."""

    def weigh(self, losses: Array) -> Weighed:
        """Risk and row weights; equal losses get equal weights."""


class RowOrder:
    """Sorts the same rows repeatedly: losses that change little are quick to sort again."""

    def __init__(self, n_rows: int) -> None:
        self.order = np.arange(n_rows, dtype=np.int32)
        self._sorted = False
        self._work = (np.empty(n_rows, dtype=np.uint64), np.empty(n_rows, dtype=np.uint64))

    def resort(self, keys: Array) -> bool:
        """Bring the order up to date; whether it had to change, or was the first."""
        before, self._sorted = self._sorted, True
        return core.sort_rows(keys, self.order, *self._work) != 0 or not before

    def sort(self, keys: Array) -> int | None:
        """Bring the order up to date; how many positions changed, if there was one before."""
        last = self.order.copy() if self._sorted else None
        core.sort_rows(keys, self.order, *self._work)
        self._sorted = True
        return None if last is None else int(core.count_rank_changes(last, self.order))


class RowWeighter:
    """Computes risk and row weights of n losses for one spectrum, repeatedly.

    It remembers the last order, because losses that change little are quick to sort again. Results
    do not depend on that order, apart from `rank_changes`. The superquantile and the subquantile
    need no order, so none is made unless its changes are asked for.
    """

    def __init__(
        self,
        spectrum: Spectrum,
        sigma: Array,
        smoothing: Smoothing | None = None,
        *,
        track_ranks: bool = False,
    ) -> None:
        n_rows = len(sigma)
        self.spectrum = spectrum
        self.smoothing = smoothing
        self._has_tail = spectrum.cap(n_rows) is not None
        softly = smoothing is not None and smoothing.name is SmoothingName.SOFTPLUS
        self._has_head = spectrum.name == "subquantile" and (smoothing is None or softly)
        by_entropy = smoothing is not None and smoothing.name is SmoothingName.ENTROPY
        flat = bool(sigma[0] == sigma[-1])
        by_threshold = (self._has_tail and not by_entropy) or self._has_head
        self._sorts = not flat and (track_ranks or not by_threshold)
        self._n = n_rows
        # The rows with zero weight under sigma.
        self._n_light = n_rows - int(np.count_nonzero(sigma))
        # With a threshold only the ends of sigma are needed; the rest would take memory.
        self._sigma = sigma if self._sorts or flat else sigma[[0, -1]]
        self._order = RowOrder(n_rows if self._sorts else 0)

    def weigh(self, losses: Array) -> Weighed:
        """Risk and row weights; equal losses get equal weights."""
        if self._sigma[0] == self._sigma[-1]:
            value = core.compensated_dot(self._sigma, losses)
            return Weighed(value, value, self._sigma, None)
        changes = self._order.sort(losses) if self._sorts else None
        if self._has_tail:
            lam = self._tail_weights(losses)
        elif self._has_head:
            lam = self._head_weights(losses)
        else:
            lam = np.empty(self._n)
            core.sorted_weights(losses, self._order.order, self._sigma, lam)
        value = core.compensated_dot(lam, losses)
        if self.smoothing is None:
            return Weighed(value, value, lam, changes)
        if self._has_head:
            return self._soften(losses, self.smoothing.nu, Weighed(value, value, lam, changes))
        self._smooth(losses, self.smoothing, lam)
        smoothed = core.compensated_dot(lam, losses) - self.smoothing.penalty(lam)
        if not smoothed >= 0.0 and np.isfinite(value) and float(losses.min()) >= 0.0:
            # nu is so large that rounded weights cost more than all losses; equal ones cost none.
            lam = np.full(self._n, 1.0 / self._n)
            smoothed = core.compensated_dot(lam, losses)
        return Weighed(value, smoothed, lam, changes)

    def _tail_weights(self, losses: Array) -> Array:
        """The superquantile's weights: all for the losses above a threshold, the rest on it."""
        threshold = np.partition(losses, self._n_light)[self._n_light]
        lam = np.empty(self._n)
        core.tail_weights(losses, threshold, self._sigma[-1], lam)
        return lam

    def _head_weights(self, losses: Array) -> Array:
        """The subquantile's weights: those of a superquantile, of the negated losses."""
        lam, last = losses.copy(), self._n - self._n_light - 1
        lam.partition(last)
        threshold = lam[last]
        np.negative(losses, out=lam)
        core.tail_weights(lam, -threshold, self._sigma[0], lam)
        return lam

    def _soften(self, losses: Array, nu: float, sharp: Weighed) -> Weighed:
        """The same with the cut smoothed, unless nu is lost in rounding."""
        cap = float(self._sigma[0])
        lam = softplus_weights(losses, cap, nu)
        if lam is None:
            lam = sharp.lam
        smoothed = core.compensated_dot(lam, losses) + nu * softplus_penalty(lam, cap)
        return replace(sharp, smoothed=smoothed, lam=lam)

    def _smooth(self, losses: Array, smoothing: Smoothing, lam: Array) -> None:
        """Fill lam with the argmax of h_nu; the order of the losses is known."""
        scratch = np.empty(self._n)
        cap = self.spectrum.cap(self._n)
        if smoothing.name is SmoothingName.L2 and cap is not None:
            # The weights that a superquantile allows are a capped simplex: no order is needed.
            core.capped_simplex(losses / smoothing.nu, cap, lam, scratch)
            return
        ascending, weights = losses[self._order.order], np.empty(self._n)
        starts = np.empty(self._n, dtype=np.int32)
        if smoothing.name is SmoothingName.L2:
            core.pav_l2(ascending, self._sigma, smoothing.nu, weights, starts)
        else:
            core.pav_entropy(ascending, self._sigma, smoothing.nu, weights, starts, scratch)
        lam[self._order.order] = weights


@dataclass(frozen=True, slots=True)
class TiedGroups:
    """Groups of rows that a projection pooled: `groups` block after block, `sizes` of the blocks.

    masses: of these groups. rows: those of them, group after group; row_counts: of each; weights:
    of these rows within their group.
    """

    groups: NDArray[np.intp]
    sizes: NDArray[np.intp]
    masses: Array
    rows: NDArray[np.intp]
    row_counts: NDArray[np.intp]
    weights: Array


@dataclass(frozen=True, slots=True)
class Tied:
    """Rows that a projection pooled: `rows` block after block, `sizes` of these blocks.

    masses: of the rows, where they have any. groups: where groups of rows are pooled besides.
    """

    rows: NDArray[np.intp]
    sizes: NDArray[np.intp]
    masses: Array | None = None
    groups: TiedGroups | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing is pooled."""
        return not len(self.rows) and self.groups is None


class Projection:
    """Projects onto P(sigma), the weights that a rising spectrum allows, repeatedly."""

    def __init__(self, spectrum: Spectrum, sigma: Array) -> None:
        n_rows = len(sigma)
        self._sigma = sigma
        self._cap = spectrum.cap(n_rows)
        self._order = np.arange(n_rows, dtype=np.int32)
        self._starts = np.empty(n_rows, dtype=np.int32)
        self._scratch = np.empty(n_rows)
        self._work = (np.empty(n_rows, dtype=np.uint64), np.empty(n_rows, dtype=np.uint64))

    def __call__(self, z: Array) -> tuple[Array, Tied]:
        """The nearest weights to z, and the rows between which they move freely. z: (n,)."""
        lam = np.empty(len(z))
        if self._cap is not None:
            core.capped_simplex(z, self._cap, lam, self._scratch)
            free = np.flatnonzero((lam > 0.0) & (lam < self._cap))
            sizes = np.array([len(free)] if len(free) > 1 else [], dtype=np.intp)
            return lam, Tied(free[: int(sizes.sum())], sizes)
        core.sort_rows(z, self._order, *self._work)
        n_blocks = core.pav_l2(z[self._order], self._sigma, 1.0, self._scratch, self._starts)
        lam[self._order] = self._scratch
        return lam, Tied(*pooled_rows(self._order, self._starts[:n_blocks]))


def pooled_rows(
    order: NDArray[np.int32], starts: NDArray[np.int32]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows of the blocks that have more than one, block after block, and their sizes."""
    sizes = np.diff(np.append(starts, len(order))).astype(np.intp)
    pooled = np.ones(len(order), dtype=np.bool_)
    pooled[starts[sizes == 1]] = False
    return order[pooled].astype(np.intp), sizes[sizes > 1]


def row_weights(losses: Array, spectrum: Spectrum) -> Array:
    """The weight that the risk gives to each row; equal losses share theirs. (n,)."""
    return RowWeighter(spectrum, spectrum.weights(len(losses))).weigh(losses).lam


def rank_rows(losses: Array) -> NDArray[np.int64]:
    """Rank of each row, 1 for the largest loss; equal losses in row order. (n,)."""
    order = np.empty(len(losses), dtype=np.int32)
    work = np.empty((2, len(losses)), dtype=np.uint64)
    core.argsort(-losses, order, work[0], work[1])
    ranks = np.empty(len(losses), dtype=np.int64)
    ranks[order] = np.arange(1, len(losses) + 1)
    return ranks
