"""Standardised errors -> which of them are outliers: groups apart, a second scale, isolated rows.

If the middle of the errors is skewed, an outlier must be one on the straightened scale too.

A mixture of normals is fitted without further assumptions: centred ones of many scales, and some
off zero. A component off zero is a group apart if the density has a mode there; centred scales far
above the others are errors of their own. Without either, rows are outliers if they are isolated:
farther out than a heavy tail would leave them.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.robust.scale_mixture import find_gap
from lrisk_cli.robust.skewness import find_skewness, straighten
from lrisk_cli.types import Array, Flags

# Neighbouring scales differ by STEP, centres off zero by OFF_STEP; the first is at FIRST_OFF.
STEP, BELOW_MEDIAN, OFF_STEP, FIRST_OFF, MOST_OFF = 1.3, 8.0, 1.15, 4.0, 40
OFF_WIDTH, LEAST_ROWS = 0.1, 5.0
POINTS, LARGEST, ROUNDS = 200, 40, 150
# A valley before a group: windows tried, and standard deviations of the difference of the counts.
VALLEY_STEPS, VALLEY = 40, 1.5
# A group behind a valley so deep is no tail, however skewed the core is.
DEEP = 2.5
# A group is one whose deviation is at most this fraction of its distance; others are scattered.
TIGHT = 0.35
# No row within so many standard deviations is an outlier, nor where EXPECTED of the rows are
# expected beyond.
NEAREST, EXPECTED = 2.5, 0.05
# A tail that falls with the power TAIL leaves i rows beyond a gap with probability gap^(-i TAIL);
# the gap counts below GAP_CHANCE / i^2.
TAIL, GAP_CHANCE = 4.0, 0.25
# Farther outliers say nothing about the skewness of the core.
NO_TAIL = 8.0
TABLE = 2000
TINY = 1e-300


@dataclass(frozen=True, slots=True)
class Group:
    """Rows whose errors lie around one centre off zero, in standard deviations, and their share.

    valley: before it, in standard deviations of the counts.
    """

    centre: float
    share: float
    valley: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Outlying:
    """outlying: (n,) the probability that a row is an outlier. fraction: their estimated share,
    those included that cannot be told apart. threshold: the size from which on rows are outliers.
    """

    outlying: Array
    fraction: float
    threshold: float
    groups: tuple[Group, ...] = ()
    skewness: float = 0.0

    @property
    def flags(self) -> Flags:
        """Rows that are more likely outliers than not. (n,)."""
        return np.asarray(self.outlying > 0.5)


def find_outlying(z: Array, n_free: float) -> Outlying:
    """z: (n,) signed, in standard deviations of the core. n_free: rows less coefficients.

    Below 100 free rows the quantiles are those of Student's t.
    """
    found = _find_symmetric(z, n_free)
    if not found.flags.any():
        return found
    grouped = found.flags & (np.abs(z) > NO_TAIL)
    for group in found.groups:
        grouped |= found.flags & (np.sign(z) == np.sign(group.centre))
    rest = z[~grouped]
    g = find_skewness(rest) if 2 * len(rest) >= len(z) else 0.0
    if g == 0.0:
        return found
    straight = _find_symmetric(straighten(z, rest, g), n_free)
    deep = tuple(group for group in found.groups if group.valley > DEEP)
    apart = np.isin(np.sign(z), [np.sign(group.centre) for group in deep])
    outlying = np.where(apart, found.outlying, np.minimum(found.outlying, straight.outlying))
    flagged = np.abs(z[outlying > 0.5])
    threshold = float(flagged.min()) if len(flagged) else float(np.abs(z).max())
    fraction = min(found.fraction, max(straight.fraction, sum(group.share for group in deep)))
    groups = found.groups if straight.groups else deep
    return Outlying(outlying, fraction, threshold, groups, g)


def _find_symmetric(z: Array, n_free: float) -> Outlying:
    """The outliers if the core is symmetric around zero."""
    cut = far_from(len(z), n_free)
    largest = float(np.abs(z).max())
    if largest <= NEAREST or len(z) < 3:
        return Outlying(np.zeros(len(z)), 0.0, max(cut, NEAREST))
    ordered = np.sort(z)
    points, counts = _points(ordered)
    mean, width = _components(points, counts, largest)
    shares = _likeliest(points, counts / len(z), mean, width)
    out, groups = _outside(mean, width, shares, ordered)
    far = np.flatnonzero(np.abs(z) >= NEAREST)
    at = np.sinh(np.linspace(np.arcsinh(ordered[0]), np.arcsinh(ordered[-1]), TABLE))
    outlying = np.zeros(len(z))
    outlying[far] = np.interp(z[far], at, _posterior(at, mean, width, shares, out))
    fraction = float(shares[out].sum()) if (outlying > 0.5).any() else 0.0
    beyond = _isolated(np.abs(z[far]), cut, len(z))
    isolated = far[np.abs(z[far]) >= beyond]
    alone = int((outlying[isolated] <= 0.5).sum())
    outlying[isolated] = 1.0
    fraction = min(fraction + alone / len(z), 0.5)
    flagged = np.abs(z[outlying > 0.5])
    threshold = float(flagged.min()) if len(flagged) else max(cut, largest)
    return Outlying(outlying, fraction, threshold, groups)


def far_from(n: int, n_free: float) -> float:
    """Beyond it 0.05 of n clean rows are expected; at least 2.5."""
    from statistics import NormalDist

    z = NormalDist().inv_cdf(1.0 - 0.5 * EXPECTED / n)
    if n_free < 100.0:
        # Student's t by its expansion around the normal quantile.
        v, q = max(n_free, 2.0), z * z
        z *= 1.0 + (q + 1.0) / (4.0 * v) + ((5.0 * q + 16.0) * q + 3.0) / (96.0 * v**2)
    return max(NEAREST, z)


def _isolated(sizes: Array, cut: float, n: int) -> float:
    """The size from which on rows beyond the cut are isolated from the others by a gap; infinite
    if there is none. sizes: those far out, of n.
    """
    sizes = np.sort(sizes)[::-1]
    n_far = int(min((sizes > cut).sum(), n // 2))
    if n_far == 0:
        return np.inf
    ranks = np.arange(1, n_far + 1)
    below = np.append(sizes, NEAREST)[1 : n_far + 1]
    chances = (sizes[:n_far] / below) ** (-TAIL * ranks)
    gaps = np.flatnonzero(chances <= GAP_CHANCE / ranks**2)
    return float(sizes[gaps[-1]]) if len(gaps) else np.inf


def _points(ordered: Array) -> tuple[Array, Array]:
    """Means of neighbouring sorted values, the outermost alone, and how many each stands for."""
    n = len(ordered)
    if n <= POINTS + 2 * LARGEST:
        return ordered, np.ones(n)
    inner = np.linspace(LARGEST, n - LARGEST, POINTS + 1).astype(np.intp)
    edges = np.concatenate([np.arange(LARGEST), inner, np.arange(n - LARGEST + 1, n)])
    counts = np.diff(np.append(edges, n)).astype(np.float64)
    return np.add.reduceat(ordered, edges) / counts, counts


def _components(points: Array, counts: Array, largest: float) -> tuple[Array, Array]:
    """Means and widths: centred scales first, ascending, then those off zero."""
    order = np.argsort(np.abs(points))
    below = np.cumsum(counts[order])
    sizes = np.abs(points)[order]
    median = float(sizes[np.searchsorted(below, 0.5 * below[-1])])
    low = max(median / BELOW_MEDIAN, 1e-3)
    n_scales = int(np.ceil(np.log(largest / low) / np.log(STEP))) + 2
    scales = low * STEP ** np.arange(n_scales)
    off = FIRST_OFF * OFF_STEP ** np.arange(MOST_OFF)
    off = off[off < 1.1 * largest]
    off = np.concatenate([off, -off])
    mean = np.concatenate([np.zeros(n_scales), off])
    return mean, np.concatenate([scales, np.maximum(1.0, OFF_WIDTH * np.abs(off))])


def _likeliest(points: Array, shares_of: Array, mean: Array, width: Array) -> Array:
    """Expectation maximisation of the shares."""
    exponents = -0.5 * np.square((points[:, None] - mean) / width) - np.log(width)
    densities = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    shares = np.full(len(mean), 1.0 / len(mean))
    for _ in range(ROUNDS):
        shares *= densities.T @ (shares_of / (densities @ shares))
    shares /= shares.sum()
    return shares


def _outside(
    mean: Array, width: Array, shares: Array, ordered: Array
) -> tuple[Flags, tuple[Group, ...]]:
    """Which components are outliers, and the groups apart among them. ordered: the values."""
    centred, least = mean == 0.0, LEAST_ROWS / len(ordered)
    out = np.zeros(len(mean), np.bool_)
    scales, own = width[centred], shares[centred] / shares[centred].sum()
    gap = find_gap(np.log(scales), own)
    if float(own[gap:].sum()) >= least:
        out[np.flatnonzero(centred)[gap:]] = True
    groups = []
    for sign in (1.0, -1.0):
        mine = (np.sign(mean) == sign) & (shares > 0.0)
        if not mine.any():
            continue
        m, w, p = mean[mine], width[mine], shares[mine]
        here = (p * np.exp(-0.5 * np.square((m[:, None] - m) / w)) / w).sum(axis=1)
        under = shares[centred] * np.exp(-0.5 * np.square(m[:, None] / scales)) / scales
        middle = under.sum(axis=1)
        apart = here > middle
        share = float(p[apart].sum())
        if share < least:
            continue
        peak = int(np.argmax(np.where(apart, here, -1.0)))
        valley = _valley(ordered, float(m[peak]), float(w[peak]))
        if valley > VALLEY:
            out[np.flatnonzero(mine)[apart]] = True
            mean_of, around = m[apart], p[apart] / share
            centre = float(mean_of @ around)
            spread = float(np.sqrt(around @ (np.square(mean_of - centre) + np.square(w[apart]))))
            if spread <= TIGHT * abs(centre):
                groups.append(Group(centre, share, valley))
    return out, tuple(groups)


def _valley(ordered: Array, centre: float, width: float) -> float:
    """By how much fewer values lie somewhere between zero and the centre of a group than around
    that centre, in windows of the same width; in standard deviations of the difference.
    """
    at = np.append(np.linspace(0.0, centre, VALLEY_STEPS)[1:-1], centre)
    inside = np.searchsorted(ordered, at + width) - np.searchsorted(ordered, at - width)
    fewest, around = float(inside[:-1].min()), float(inside[-1])
    return (around - fewest) / float(np.sqrt(max(around + fewest, 1.0)))


def _posterior(at: Array, mean: Array, width: Array, shares: Array, out: Flags) -> Array:
    """The probability of the components outside, by Bayes' rule. (m,)."""
    exponents = -0.5 * np.square((at[:, None] - mean) / width) - np.log(width)
    densities = np.exp(exponents - exponents.max(axis=1, keepdims=True)) * shares
    found: Array = densities[:, out].sum(axis=1) / np.maximum(densities.sum(axis=1), TINY)
    return found
