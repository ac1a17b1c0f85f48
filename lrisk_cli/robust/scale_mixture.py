"""Losses -> the fraction of outliers, and the score beyond which a row is one.

Errors are taken for draws from a mixture of centred normals of unknown scales, whose distribution
is estimated nonparametrically. Where it falls into two groups far apart, the group of large scales
are the outliers. Losses of classes are compared with a fraction of swapped labels.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.losses.base import Loss
from lrisk_cli.risk.value import check_largest
from lrisk_cli.types import Array

# Neighbouring scales of the mixture differ by this factor, from an eighth of the median size on.
STEP, BELOW_MEDIAN = 1.3, 8.0
# Sorted sizes are brought to so many means, the largest few left alone, before the mixture is
# fitted in so many rounds.
POINTS, LARGEST, ROUNDS = 128, 32, 100
# Outliers are a group of scales whose mean is this many times that of the inliers, and this many
# deviations (of the logarithms, within the groups) away.
FACTOR, DEVIATIONS = 3.0, 3.0
# A clean table has a threshold too: as many of its rows are expected beyond it.
EXPECTED_BEYOND = 0.05
SWAP_ROUNDS = 200
TINY = 1e-300
SMALLEST_SIZE, LARGEST_SIZE = 1e-130, 1e140


@dataclass(frozen=True, slots=True)
class Threshold:
    """The threshold between inliers and outliers. fraction: of the rows taken for outliers,
    estimated or as given. threshold: a row is an outlier when its score exceeds it. scale: score =
    size / scale, the size being that of the error (sqrt(2 loss) for squared losses and squared
    distances); for classes the loss itself (scale 1).
    """

    fraction: float
    threshold: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class ScaleMixture:
    """Sizes |e| with e normal of a random scale. scales, shares: (k,), scales ascending.

    n_inlier: how many of the scales are those of inliers; all of them for a clean table.
    """

    scales: Array
    shares: Array
    n_inlier: int

    @property
    def fraction(self) -> float:
        """Fraction of outliers, including those as small as inliers."""
        return float(self.shares[self.n_inlier :].sum())

    @property
    def inlier_scale(self) -> float:
        """Root mean square size of an inlier."""
        shares, scales = self.shares[: self.n_inlier], self.scales[: self.n_inlier]
        unit = 1.0 if SMALLEST_SIZE < scales[-1] < LARGEST_SIZE else scales[-1]
        return float(unit * np.sqrt(shares @ (scales / unit) ** 2 / shares.sum()))

    def inlier(self, sizes: Array) -> Array:
        """Probability that a row of this size is an inlier; falls with the size. (n,)."""
        if self.n_inlier == len(self.scales):
            return np.ones(len(sizes))
        # The curve is smooth in the logarithm, so a fine table of it will do for many rows.
        found: Array = np.interp(sizes, *self._curve())
        # Between tiny numbers it may round to one below 0.
        return np.maximum(found, 0.0, out=found)

    def _curve(self) -> tuple[Array, Array]:
        """Sizes, and the probability that each belongs to an inlier."""
        at = self.scales[0] * np.geomspace(1e-2, 1e2 * self.scales[-1] / self.scales[0], 1000)
        inside = _density(at, self.scales, self.shares, slice(self.n_inlier))
        outside = _density(at, self.scales, self.shares, slice(self.n_inlier, None))
        return at, inside / np.maximum(inside + outside, TINY)

    def threshold(self, n_rows: int) -> float:
        """The size beyond which a row is more likely an outlier, or too large for n inliers."""
        if self.n_inlier < len(self.scales):
            at, inlier = self._curve()
            return float(np.interp(0.5, 1.0 - inlier, at))
        low, high = self.scales[0], 100.0 * self.scales[-1]
        for _ in range(60):
            middle = float(np.sqrt(low * high))
            rare = self._beyond(middle) * n_rows <= EXPECTED_BEYOND
            low, high = (low, middle) if rare else (middle, high)
        return float(high)

    def _beyond(self, size: float) -> float:
        """Fraction of rows of a larger size."""
        from math import erfc, sqrt

        ratios = size / (sqrt(2.0) * self.scales)
        return float(self.shares @ np.array([erfc(ratio) for ratio in ratios]))


def fit_scales(sizes: Array, factor: float = FACTOR) -> ScaleMixture:
    """The mixture of scales that makes the sizes likeliest, and where its groups separate. sizes:
    (n,), >= 0.

    factor: how many times as large outliers are at least, by the mean logarithm of their scales.
    """
    return _use_up(np.array(sizes), factor)


def _use_up(sizes: Array, factor: float = FACTOR) -> ScaleMixture:
    """The same, overwriting the sizes: a copy would take too much memory for long tables."""
    sizes.sort()
    largest = float(sizes[-1])
    if largest == 0.0 or not np.isfinite(largest):
        return ScaleMixture(np.ones(1), np.ones(1), 1)
    # Squares of larger and smaller numbers would leave the range of numbers.
    unit = 1.0 if SMALLEST_SIZE < largest < LARGEST_SIZE else largest
    if unit != 1.0:
        sizes /= unit
        largest = 1.0
    n, middle = len(sizes), float(sizes[len(sizes) // 2])
    edges = _chunk_edges(n)
    counts = np.diff(edges)
    np.square(sizes, out=sizes)
    points = np.sqrt(np.add.reduceat(sizes, edges[:-1]) / counts)
    low = max(middle / BELOW_MEDIAN, largest * 1e-12)
    n_scales = int(np.ceil(np.log(largest / low) / np.log(STEP))) + 2
    scales: Array = low * np.power(STEP, np.arange(n_scales, dtype=np.float64))
    shares = _likeliest_weights(points, counts / n, scales)
    return ScaleMixture(unit * scales, shares, find_gap(np.log(scales), shares, factor))


def find_threshold(
    losses: Array, loss: Loss, contamination: float | None, n_classes: int = 2
) -> Threshold:
    """The threshold for these losses. contamination: None to estimate it; losses: (n,).

    loss: what they are losses of; squared distances are squared losses.

    Of a fraction, exactly round(fraction n) rows exceed the threshold, or n - 1 of a fraction of
    all; fewer only where losses tie.
    """
    check_largest(float(losses.max()))
    sizes = loss.sizes(losses)
    if sizes is None:
        fraction = swap_fraction(losses, n_classes)
        # Beyond it a label was more likely swapped: e (1 - p) / (C - 1) > (1 - e) p.
        fraction = max(fraction, TINY)
        found = Threshold(
            fraction, float(np.log1p((n_classes - 1) * (1.0 - fraction) / fraction)), 1.0
        )
    else:
        mixture = _use_up(sizes)
        scale = mixture.inlier_scale
        found = Threshold(mixture.fraction, mixture.threshold(len(losses)) / scale, scale)
        del sizes
    if contamination is None:
        return found
    place = max(len(losses) - round(contamination * len(losses)) - 1, 0)
    kth = np.partition(losses, place)[place : place + 1]
    threshold = float(scores(kth, loss, found)[0])
    return Threshold(contamination, threshold, found.scale)


def scores(losses: Array, loss: Loss, threshold: Threshold) -> Array:
    """How outlying each row is; rises with the loss. (n,)."""
    sizes = loss.sizes(losses)
    found: Array = (losses if sizes is None else sizes) / threshold.scale
    return found


def swap_fraction(losses: Array, n_classes: int) -> float:
    """The likeliest fraction e of labels swapped for another class, p = exp(-loss) their
    probability.

    A label is seen with probability (1 - e) p + e (1 - p) / (C - 1).
    """
    fraction = 0.1
    for _ in range(SWAP_ROUNDS):
        before, fraction = fraction, min(0.5, float(swapped(losses, fraction, n_classes).mean()))
        if abs(fraction - before) <= 1e-9:
            break
    return fraction


def swapped(losses: Array, fraction: float, n_classes: int) -> Array:
    """Probability that each label was swapped, given the fraction of swapped labels. (n,)."""
    seen = np.exp(-losses)
    other = fraction / (n_classes - 1) * (1.0 - seen)
    found: Array = other / np.maximum(other + (1.0 - fraction) * seen, TINY)
    return found


def _chunk_edges(n: int) -> NDArray[np.intp]:
    """Where chunks of n sorted values begin, and n."""
    if n <= POINTS + LARGEST:
        return np.arange(n + 1)
    edges = np.linspace(0, n - LARGEST, POINTS + 1).astype(np.intp)
    return np.concatenate([edges, np.arange(n - LARGEST + 1, n + 1)])


def _density(sizes: Array, scales: Array, shares: Array, part: slice) -> Array:
    """Density of each component, up to a constant, relative to the whole's largest term."""
    exponents = -0.5 * (sizes[:, None] / scales) ** 2 - np.log(scales)
    exponents -= exponents.max(axis=1, keepdims=True)
    found: Array = np.exp(exponents[:, part]) @ shares[part]
    return found


def _likeliest_weights(points: Array, counts: Array, scales: Array) -> Array:
    """Expectation maximisation of the mixture weights: p <- p * mean of density / mixture."""
    exponents = -0.5 * (points[:, None] / scales) ** 2 - np.log(scales)
    densities = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    shares = np.full(len(scales), 1.0 / len(scales))
    for _ in range(ROUNDS):
        shares *= densities.T @ (counts / (densities @ shares))
    shares /= shares.sum()
    return shares


def find_gap(logs: Array, shares: Array, factor: float = FACTOR) -> int:
    """Where to cut the scales in two: the largest variance between groups that are far apart.

    The group of smaller scales holds at least half of the rows. All scales where there is no gap.
    """
    below = np.cumsum(shares)
    above = below[-1] - below
    first, second = np.cumsum(shares * logs), np.cumsum(shares * logs**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, far_mean = first / below, (first[-1] - first) / above
        spread = np.maximum(second / below - mean**2, 0.0)
        far_spread = np.maximum((second[-1] - second) / above - far_mean**2, 0.0)
        distance = far_mean - mean
        apart = (distance > np.log(factor)) & (distance**2 > DEVIATIONS**2 * (spread + far_spread))
        between = below * above * distance**2
    possible = apart & (below >= 0.5) & (above > 1e-6)
    if not possible.any():
        return len(logs)
    return int(np.argmax(np.where(possible, between, -1.0))) + 1
