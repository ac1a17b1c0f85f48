"""Rows with masses: the same risks and row weights where a row counts for a mass, not for one.

Letters: m (n,) masses, M their sum, l (n,) losses, lam (n,) weights of the rows, h = lam / m their
densities. Weights are allowed if for every set of rows they sum to at most H(mass of the set), H(x)
being what the spectrum gives to the heaviest mass x of M; a row of mass 3 is the row three times.
"""

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.names import SmoothingName
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.row_weights import RowOrder, RowWeighter, Smoothing, Tied, Weighed, pooled_rows
from lrisk_cli.risk.row_weights import row_weights as plain_row_weights
from lrisk_cli.risk.softplus import softplus_penalty, softplus_weights
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Masses:
    """values: m, all greater than 0; total: M; even: m / M, the weights of the mean.

    ranked: the last order of the rows for each spectrum, from which the next sort starts.
    """

    values: Array
    total: float
    even: Array
    ranked: "dict[Spectrum, RankedMasses]" = field(default_factory=dict, compare=False, repr=False)

    def take(self, rows: NDArray[np.intp]) -> "Masses":
        """Of some of the rows."""
        return make_masses(self.values[rows])


def make_masses(values: Array) -> Masses:
    """The masses with their sum. values: (n,), finite and greater than 0."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    total = float(core.compensated_dot(values, np.ones(len(values))))
    return Masses(values, total, values / total)


def unit_weights(spectrum: Spectrum, total: float) -> Array:
    """The weight of a mass of 1 among the smallest and among the largest losses. (2,).

    Per unit, of half of the total where that is less than 1.
    """
    if spectrum.flat:
        return np.full(2, 1.0 / total)
    unit = min(1.0, 0.5 * total)
    heavier = np.array([total - unit, 0.0])
    ends = spectrum.of_rows(np.full(2, unit), heavier, total) / unit
    return ends if spectrum.rising else ends[::-1].copy()


class SortedMasses:
    """Masses of rows in ascending order of loss, and what spectra give to them."""

    def __init__(self, masses: Array) -> None:
        self._masses = masses
        self._total = float(core.compensated_dot(masses, np.ones(len(masses))))
        # For rising spectra and for others: the mass of the rows that get denser weights.
        self._heavier: dict[bool, Array] = {}

    def weights(self, spectrum: Spectrum) -> Array:
        """The weights of the rows, ties not shared. (n,)."""
        if spectrum.flat:
            return np.asarray(self._masses / self._total)
        heavier = self._heavier.get(spectrum.rising)
        if heavier is None:
            ordered, heavier = np.empty((2, len(self._masses)))
            order = np.arange(len(self._masses), dtype=np.int32)
            core.heavier_masses(self._masses, order, spectrum.rising, ordered, heavier)
            self._heavier[spectrum.rising] = heavier
        return spectrum.weights_of(self._masses, heavier, self._total)

    def risk(self, ascending: Array, spectrum: Spectrum) -> float:
        """The value of the risk. ascending: the sorted losses. (n,)."""
        if spectrum.flat:
            return float(core.compensated_dot(ascending, self._masses)) / self._total
        return float(core.compensated_dot(ascending, self.weights(spectrum)))


class RankedMasses:
    """Masses of the rows in the order of their losses, and what the spectrum gives to each."""

    def __init__(self, spectrum: Spectrum, masses: Masses) -> None:
        n_rows = len(masses.values)
        self._spectrum, self._values, self._total = spectrum, masses.values, masses.total
        self._row_order = RowOrder(n_rows)
        self.ordered, self._heavier = np.empty((2, n_rows))
        self._sigma: Array | None = None

    @property
    def order(self) -> NDArray[np.int32]:
        """The rows by ascending key, as of the last sort."""
        return self._row_order.order

    def sort(self, keys: Array) -> None:
        """Sort by these keys."""
        if self._row_order.resort(keys):
            self._accumulate()

    def sort_counting(self, keys: Array) -> int | None:
        """The same; how many ranks changed, if it was sorted before."""
        changes = self._row_order.sort(keys)
        self._accumulate()
        return changes

    def _accumulate(self) -> None:
        rising = self._spectrum.rising
        core.heavier_masses(self._values, self.order, rising, self.ordered, self._heavier)
        self._sigma = None

    def sigma(self) -> Array:
        """The weights of the sorted rows, ties not shared. (n,)."""
        if self._sigma is None:
            self._sigma = self._spectrum.weights_of(self.ordered, self._heavier, self._total)
        return self._sigma


def ranked_masses(spectrum: Spectrum, masses: Masses) -> RankedMasses:
    """The ranked masses that all who weigh these rows share: weights are repaired in the order of
    the losses that they came from.
    """
    found = masses.ranked.get(spectrum)
    if found is None:
        found = masses.ranked[spectrum] = RankedMasses(spectrum, masses)
    return found


class WeightedRowWeighter:
    """`RowWeighter` for rows with masses: ties share by mass, smoothing is that of copies of rows.

    Omega is sum (lam - m/M)^2 / (2 m) for `l2` and sum lam log(M lam / m) for `entropy`.
    """

    def __init__(
        self,
        spectrum: Spectrum,
        masses: Masses,
        smoothing: Smoothing | None = None,
        *,
        track_ranks: bool = False,
    ) -> None:
        self.spectrum, self.smoothing = spectrum, smoothing
        self._masses = masses
        ends = unit_weights(spectrum, masses.total)
        self._flat = bool(ends[0] == ends[1])
        self._kept = None if self._flat else spectrum.kept(masses.total)
        by_rank = self._kept is None
        if smoothing is not None and smoothing.name is SmoothingName.ENTROPY:
            by_rank = True
        self._ranked, self._track = None, track_ranks
        if not self._flat and (track_ranks or by_rank):
            # Ranks that are tracked are those of losses alone.
            ranked = RankedMasses(spectrum, masses) if track_ranks else None
            self._ranked = ranked or ranked_masses(spectrum, masses)

    def weigh(self, losses: Array) -> Weighed:
        """Risk and row weights; equal losses get equal densities."""
        if self._flat:
            value = core.compensated_dot(self._masses.even, losses)
            return Weighed(value, value, self._masses.even, None)
        changes = None
        if self._ranked is not None and self._track:
            changes = self._ranked.sort_counting(losses)
        elif self._ranked is not None:
            self._ranked.sort(losses)
        lam = self._sharp(losses)
        value = core.compensated_dot(lam, losses)
        smoothing = self.smoothing
        if smoothing is None:
            return Weighed(value, value, lam, changes)
        if smoothing.name is SmoothingName.SOFTPLUS:
            return self._soften(losses, smoothing.nu, Weighed(value, value, lam, changes))
        lam = self._smooth(losses, smoothing)
        smoothed = core.compensated_dot(lam, losses) - smoothing.penalty(lam, self._masses.values)
        if not smoothed >= 0.0 and np.isfinite(value) and float(losses.min()) >= 0.0:
            # nu is so large that rounded weights cost more than all losses; even ones cost none.
            lam = self._masses.even
            smoothed = core.compensated_dot(lam, losses)
        return Weighed(value, smoothed, lam, changes)

    def _sharp(self, losses: Array) -> Array:
        """The weights without smoothing."""
        lam, masses = np.empty(len(losses)), self._masses.values
        if self._kept is not None:
            work = np.empty((2, len(losses)))
            keys = losses if self.spectrum.rising else -losses
            core.weighted_tail(keys, masses, self._kept, lam, work[0], work[1])
            return lam
        ranked = self._ranked
        assert ranked is not None  # noqa: S101
        core.weighted_sorted_weights(losses, ranked.order, ranked.sigma(), ranked.ordered, lam)
        return lam

    def _soften(self, losses: Array, nu: float, sharp: Weighed) -> Weighed:
        """With the cut of the subquantile smoothed, unless nu is lost in rounding."""
        assert self._kept is not None  # noqa: S101
        cap, masses = 1.0 / self._kept, self._masses.values
        lam = softplus_weights(losses, cap, nu, masses)
        if lam is None:
            lam = sharp.lam
        penalty = softplus_penalty(lam, cap, masses)
        smoothed = core.compensated_dot(lam, losses) + nu * penalty
        return Weighed(sharp.value, smoothed, lam, sharp.rank_changes)

    def _smooth(self, losses: Array, smoothing: Smoothing) -> Array:
        """The argmax of h_nu."""
        if smoothing.name is SmoothingName.L2 and self._kept is not None:
            return _capped(losses / smoothing.nu, self._masses, 1.0 / self._kept)
        ranked, n_rows = self._ranked, len(losses)
        assert ranked is not None  # noqa: S101
        ascending, (lam, weights, work) = losses[ranked.order], np.empty((3, n_rows))
        starts = np.empty(n_rows, dtype=np.int32)
        kernel = core.weighted_pav_entropy
        if smoothing.name is SmoothingName.L2:
            kernel = core.weighted_pav_l2
        kernel(ascending, ranked.sigma(), ranked.ordered, smoothing.nu, weights, starts, work)
        lam[ranked.order] = weights
        return lam


AnyWeighter: TypeAlias = RowWeighter | WeightedRowWeighter


def make_weighter(spectrum: Spectrum, n_rows: int, masses: Array | None = None) -> AnyWeighter:
    """Gives rows their weights under a risk, where they have masses or none. (n_rows,)."""
    if masses is None:
        return RowWeighter(spectrum, spectrum.weights(n_rows))
    return WeightedRowWeighter(spectrum, make_masses(masses))


def row_weights(losses: Array, spectrum: Spectrum, masses: Array | None = None) -> Array:
    """The weights that a risk gives to rows with these losses, and these masses if any. (n,)."""
    if masses is None:
        return plain_row_weights(losses, spectrum)
    return WeightedRowWeighter(spectrum, make_masses(masses)).weigh(losses).lam


class WeightedProjection:
    """Projects onto the weights that a rising spectrum allows, in the norm sum lam^2 / m."""

    def __init__(self, spectrum: Spectrum, masses: Masses) -> None:
        self._masses = masses
        kept = None if spectrum.flat else spectrum.kept(masses.total)
        self._cap = None if kept is None else 1.0 / kept
        self._ranked = RankedMasses(spectrum, masses) if kept is None else None

    def __call__(self, z: Array) -> tuple[Array, Tied]:
        """The nearest weights to z, and the rows between which they move freely. z: (n,)."""
        masses = self._masses.values
        if self._cap is not None:
            lam = _capped(z / masses, self._masses, self._cap)
            free = np.flatnonzero((lam > 0.0) & (lam < self._cap * masses))
            sizes = np.array([len(free)] if len(free) > 1 else [], dtype=np.intp)
            free = free[: int(sizes.sum())]
            return lam, Tied(free, sizes, masses[free])
        ranked, densities = self._ranked, z / masses
        assert ranked is not None  # noqa: S101
        ranked.sort(densities)
        order = ranked.order
        lam, weights, work = np.empty((3, len(z)))
        starts = np.empty(len(z), dtype=np.int32)
        n_blocks = core.weighted_pav_l2(
            densities[order], ranked.sigma(), ranked.ordered, 1.0, weights, starts, work
        )
        lam[order] = weights
        rows, sizes = pooled_rows(order, starts[:n_blocks])
        return lam, Tied(rows, sizes, masses[rows])


def _capped(z: Array, masses: Masses, cap: float) -> Array:
    """lam = m h for the densities h of the capped simplex that are nearest to z. (n,)."""
    h, work, work_m = np.empty((3, len(z)))
    core.weighted_capped_simplex(z, masses.values, masses.total, cap, h, work, work_m)
    h *= masses.values
    return h


def repair_masses(lam: Array, spectrum: Spectrum, masses: Masses) -> tuple[Array, float]:
    """Weights near lam that are allowed up to rounding, and by which fraction they may exceed it.

    As `certificate.repair_weights`, mixing with m / M. It is enough that the sets of the rows of
    densest weight sum to at most what H allows: H is concave (docs/weights.md).
    """
    lam = np.maximum(lam, 0.0)
    sum_of_lam = float(core.compensated_dot(lam, np.ones(len(lam))))
    if not 0.0 < 1.0 / (sum_of_lam or np.inf) < np.inf:
        lam, sum_of_lam = masses.even, 1.0
    lam = lam / sum_of_lam
    kept = None if spectrum.flat or not spectrum.rising else spectrum.kept(masses.total)
    if kept is not None:
        return _repair_capped(lam, 1.0 / kept, spectrum, masses)
    ranked = ranked_masses(spectrum, masses)
    ranked.sort(lam / masses.values)
    sigma, ascending = ranked.sigma(), lam[ranked.order]
    even = ranked.ordered / masses.total
    fraction = core.weighted_mixing_share(ascending, sigma, even)
    if fraction > 0.0:
        lam = (1.0 - fraction) * lam + fraction * masses.even
        ascending = (1.0 - fraction) * ascending + fraction * even
    return lam, float(core.excess_share(ascending, sigma)) + _rounding(spectrum)


def _repair_capped(
    lam: Array, cap: float, spectrum: Spectrum, masses: Masses
) -> tuple[Array, float]:
    """The same where H(x) = min(cap x, 1): weights of sum 1 with lam <= cap m in every row."""
    even, densest = 1.0 / masses.total, float(np.max(lam / masses.values))
    # Once, and again for what rounding leaves of densities far above the cap.
    for _ in range(3):
        if densest <= cap:
            break
        fraction = min(1.0, (densest - cap) / (densest - even))
        lam = (1.0 - fraction) * lam + fraction * masses.even
        densest = float(np.max(lam / masses.values))
    return lam, max(densest / cap - 1.0, 0.0) + _rounding(spectrum)


def _rounding(spectrum: Spectrum) -> float:
    """By which fraction sums of the heaviest weights may be off: twice, here and in the risk.

    The mass of heavier rows is off by a rounding of M, which the slope of log H multiplies, at most
    1 + r for t^r and exp(r t); weights are products of a few factors and divided by their sum.
    """
    return 2.0 * EPS * (16.0 + 4.0 * float(spectrum.parameter or 0.0))
