"""Where to put bins for losses whose quantiles are known nearly.

Letters: t a level in [0, 1], q(t) the quantile of the losses, s the density of the spectrum.
"""

from typing import NamedTuple

import numpy as np

from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.binned_sums import Plan
from lrisk_cli.types import Array

# Numbers of the zone that are kept, rows that it should have, and at most.
ZONE_NUMBERS, ZONE_ROWS, MOST_ZONE = 1 << 23, 8192, 60_000
# Levels at which Gram matrices of smooth spectra begin, and how many numbers they may have.
GROUP_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.96, 0.99)
GRAM_NUMBERS = 1 << 22
# Bins: their number, and that of sums of gradients.
FEWEST_BINS, MOST_BINS, BIN_NUMBERS = 64, 60_000, 1 << 20
# Bins beyond the largest loss expected, each wider by a tenth.
BEYOND = 1.1 ** np.arange(1, 80)
# Steps from the zone outwards, in its widths; bins of a ramp.
AROUND, RAMP_BINS = 2.0 ** np.arange(0, 12, 0.125) - 0.9, 400


# Losses between which rows share weights.
Ramps = tuple[tuple[float, float], ...]


class Quantiles(NamedTuple):
    """q at levels t from 0 to 1, ascending. Both (m,)."""

    t: Array
    q: Array

    def at(self, levels: Array | float) -> Array:
        """The quantiles of some levels."""
        return np.asarray(np.interp(levels, self.t, self.q))

    def level(self, loss: float) -> float:
        """The level of a loss."""
        return float(np.interp(loss, self.q, self.t))


def quantiles_of(losses: Array) -> Quantiles:
    """Those of some rows, drawn from all."""
    ascending = np.sort(losses)
    m = len(ascending)
    return Quantiles(np.arange(m + 1) / m, np.append(ascending[0], ascending))


def most_kept(d: int) -> int:
    """How many rows of the zone may be kept."""
    return int(min(2 * MOST_ZONE, max(1024, ZONE_NUMBERS // d)))


def lay_zone(known: Quantiles, zone: tuple[float, float], d: int) -> Plan:
    """Bins for a spectrum that jumps: the zone from one level to another, and bins around it."""
    low, high = zone
    around = (high - low) * AROUND
    below, above = low - around[::-1], high + around
    inner = [*([low] if low > 0.0 else []), *([high] if high < 1.0 else [])]
    levels = np.concatenate([below[below > 0.0], inner, above[above < 1.0]])
    edges = known.at(levels)
    if low > 0.0 and high < 1.0:  # a zone of one value has a width too
        at = int(np.searchsorted(levels, high))
        edges[at:] = np.maximum(edges[at:], np.nextafter(edges[at - 1], np.inf))
    start = -np.inf if low <= 0.0 else float(known.at(low))
    edges = np.unique(edges[edges > 0.0])
    at = int(np.searchsorted(edges, start, side="right"))
    return Plan(edges, at, at, np.array([at + 1]), most_kept(d))


def lay_smooth(
    known: Quantiles, spectrum: Spectrum, n: int, wanted: float, size: int, pairs: int
) -> Plan:
    """Bins of density (s' q')^(1/3), so many that they may err by `wanted`. size: of a gradient.

    pairs: of outputs, of which each group of bins has a matrix.
    """
    dt, dq = np.diff(known.t), np.maximum(np.diff(known.q), 0.0)
    slopes = density_slopes(spectrum, 0.5 * (known.t[1:] + known.t[:-1]))
    spread = np.append(0.0, np.cumsum(np.cbrt(slopes * dq * dt * dt)))
    most = min(MOST_BINS, max(FEWEST_BINS, BIN_NUMBERS // size), max(FEWEST_BINS, n // 2))
    K = int(np.clip(np.sqrt(spread[-1] ** 3 / (12.0 * max(wanted, 1e-300))), FEWEST_BINS, most))
    edges = np.interp(np.linspace(0.0, spread[-1], K + 1)[1:], spread, known.q)
    edges = np.append(edges, max(float(edges[-1]), 1e-300) * BEYOND)
    edges = np.unique(edges[edges > 0.0])
    return Plan(edges, 0, -1, _groups(known, edges, size, pairs, GROUP_LEVELS), 0)


def lay_ramps(known: Quantiles, ramps: Ramps, spectrum: Spectrum, size: int, pairs: int) -> Plan:
    """Bins for smoothed weights: even ones over the losses of each ramp, and some either side."""
    edges, levels = [known.at(np.linspace(0.0, 1.0, FEWEST_BINS))], {0.0}
    for low, high in ramps:
        width = max(high - low, 1e-15 * max(high, 1e-300))
        inner = np.linspace(low - 0.25 * width, high + 0.25 * width, RAMP_BINS)
        steps = width * 2.0 ** np.arange(-2.0, 40.0, 0.25)
        edges += [inner, inner[0] - steps, inner[-1] + steps]
        cuts = (inner[0], low, 0.5 * (low + high), high)
        levels |= {known.level(float(at)) for at in cuts}
    if spectrum.cap(2) is None:
        edges.append(known.at(np.linspace(0.0, 1.0, 4 * RAMP_BINS)))
    found = np.unique(np.concatenate(edges))
    found = found[found > 0.0]
    return Plan(found, 0, -1, _groups(known, found, size, pairs, sorted(levels)), 0)


def _groups(known: Quantiles, edges: Array, size: int, pairs: int, levels: object) -> np.ndarray:
    """Where the groups begin: fewer where a matrix is large."""
    at = np.asarray(levels, np.float64)
    most = max(1, GRAM_NUMBERS // (pairs * size * size))
    if len(at) > most:
        at = at[np.linspace(0, len(at) - 1, most).astype(int)]
        at[0] = 0.0
    return np.unique(np.append(0, np.searchsorted(edges, known.at(at))))


def density_slopes(spectrum: Spectrum, t: Array) -> Array:
    """s'(t), by differences of the masses of neighbours. (m,)."""
    h = np.clip(0.5 * np.minimum(t, 1.0 - t), 1e-12, 1e-3)
    right = spectrum.of_rows(h, np.maximum(1.0 - t - h, 0.0), 1.0)
    left = spectrum.of_rows(h, 1.0 - t, 1.0)
    return np.maximum((right - left) / h**2, 0.0)
