"""Columns of numbers -> scales on which their ordinary cells are about standard normal.

A column is taken as it is, or its logarithm where that is less skewed. Cells far from the others
that repeat one value, and the usual codes for a missing value, take no part; nor does a value that
a large part of the column has, such as the zeros of a zero-inflated one: the others are judged
among themselves. The two sides of the median have tails of their own: a size u there counts as
A u^k deviations, k <= 1 by the median and the 90 % point of the side.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Array, Flags

MAD_TO_DEVIATION = 1.4826
# Columns of fewer values are codes, without far cells.
FEWEST_VALUES = 10
# A value that so many cells have is a part of its own; the others must be so many.
MASS, FEWEST_OTHERS = 0.25, 20
# Logarithms are taken of columns with at most this fraction of cells that have none, if these are
# less skewed than the numbers, by so much.
NO_LOGARITHM, LESS_SKEWED, SKEWED = 0.03, 0.6, 0.2
# Below this quantile the logarithm goes on linearly if the column holds zeros, otherwise below a
# fraction of it.
LOWEST, LOWER, FEWEST_ZEROS = 0.01, 1e-4, 3
# Quantiles of the sizes on a side, and those of the sizes of standard normal numbers.
MIDDLE, OUTER, NORMAL_MIDDLE, NORMAL_OUTER = 0.5, 0.9, 0.67449, 1.64485
FEWEST_ON_SIDE = 20
# A value is a code if it is so many deviations out and so many cells have it, or is known as one;
# or if it is the only negative one, and known.
CODE_FAR, CODE_REPEATS, MOST_CODED = 6.0, 3, 0.3
NEGATIVE_CODES = (-99.0, -999.0, -9999.0, -99999.0, -999999.0)
KNOWN_CODES = (*NEGATIVE_CODES, -1.0, -9.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)
FARTHEST = 1e100


@dataclass(frozen=True, slots=True)
class Side:
    """Sizes u on one side of the centre count as factor u^power deviations."""

    factor: float
    power: float

    def deviations(self, sizes: Array) -> Array:
        """sizes: (n,), >= 0."""
        found: Array = self.factor * sizes**self.power
        return found


@dataclass(frozen=True, slots=True, eq=False)
class ColumnScale:
    """What was learned of a column. lowest: below it the logarithm is linear; 0 for plain numbers.

    codes: values that stand for something else. mass: the value of a large part, NaN for none;
    share: of the cells.
    """

    centre: float
    scale: float
    lowest: float
    below: Side
    above: Side
    codes: Array
    mass: float
    share: float

    def places(self, cells: Array) -> Array:
        """Deviations from the centre, on one scale for both sides; with sign. (n,)."""
        bent = bend(cells, self.lowest)
        return np.clip((bent - self.centre) / self.scale, -FARTHEST, FARTHEST)

    def restore(self, places: Array) -> Array:
        """The cells at these places. (n,)."""
        bent = self.centre + self.scale * places
        if self.lowest == 0.0:
            return np.asarray(bent)
        low = np.log(self.lowest)
        above = np.exp(np.minimum(bent, 700.0))
        return np.asarray(np.where(bent >= low, above, self.lowest * (1.0 + bent - low)))

    def deviations(self, places: Array) -> Array:
        """How far out cells at these places are, each side by its own tail; >= 0. (n,)."""
        return both_sides(places, self.below, self.above)

    def ordinary(self, cells: Array) -> Flags:
        """Cells with the value that is a part of its own. (n,)."""
        return np.asarray(cells == self.mass)

    def coded(self, cells: Array) -> Flags:
        """Cells with a value that stands for something else. (n,)."""
        return np.isin(cells, self.codes)


def learn_scale(cells: Array) -> ColumnScale | None:
    """None where the column has too few values to call any of them far. cells: (n,), NaN where
    missing.
    """
    ordered = np.sort(cells[~np.isnan(cells)])
    if len(ordered) < FEWEST_VALUES:
        return None
    values, counts = _distinct(ordered)
    if len(values) < FEWEST_VALUES:
        return None
    mass, share = np.nan, 0.0
    at = int(np.argmax(counts))
    if counts[at] >= MASS * len(ordered) and len(ordered) - counts[at] >= FEWEST_OTHERS:
        mass, share = float(values[at]), float(counts[at]) / len(ordered)
        ordered = ordered[ordered != mass]
    codes = _find_codes(values[values != mass], counts[values != mass], ordered)
    ordered = ordered[~np.isin(ordered, codes)]
    lowest = _find_lowest(ordered)
    bent = bend(ordered, lowest)
    centre = float(np.median(bent))
    scale = _scale(bent, centre)
    if scale == 0.0 or not np.isfinite(scale):
        return None
    below, above = learn_sides((bent - centre) / scale)
    return ColumnScale(centre, scale, lowest, below, above, codes, mass, share)


def bend(cells: Array, lowest: float) -> Array:
    """The logarithm, linear below `lowest`; the cells themselves where that is 0. (n,)."""
    if lowest == 0.0:
        return cells
    logs = np.log(np.maximum(cells, lowest))
    return np.asarray(logs + np.minimum(cells - lowest, 0.0) / lowest)


def learn_sides(places: Array) -> tuple[Side, Side]:
    """The tails of places around 0, on both sides. (n,)."""
    return _side(-places[places < 0.0], np.abs(places)), _side(places[places > 0.0], np.abs(places))


def both_sides(places: Array, below: Side, above: Side) -> Array:
    """Deviations of places, each by its side; >= 0. (n,)."""
    sizes = np.abs(places)
    return np.where(places < 0.0, below.deviations(sizes), above.deviations(sizes))


def _side(mine: Array, both: Array) -> Side:
    """From the sizes on this side, or both where it has few."""
    sizes = mine if len(mine) >= FEWEST_ON_SIDE else both
    middle, outer = np.quantile(sizes, [MIDDLE, OUTER]) if len(sizes) else (0.0, 0.0)
    if middle <= 0.0:
        return Side(NORMAL_OUTER / outer, 1.0) if outer > 0.0 else Side(1.0, 1.0)
    wide = float(np.log(max(outer / middle, 1.0 + 1e-9)))
    power = min(1.0, float(np.log(NORMAL_OUTER / NORMAL_MIDDLE)) / wide)
    # A light tail is taken for a normal one through the farther of the two points.
    size = max(float(middle / NORMAL_MIDDLE), float(outer / NORMAL_OUTER))
    factor = 1.0 / size if power == 1.0 else NORMAL_OUTER / outer**power
    return Side(float(factor), power)


def _distinct(ordered: Array) -> tuple[Array, Array]:
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    return ordered[starts], np.diff(np.append(starts, len(ordered))).astype(np.float64)


def _scale(values: Array, centre: float) -> float:
    sizes = np.abs(values - centre)
    mad = MAD_TO_DEVIATION * float(np.median(sizes))
    return mad or float(np.quantile(sizes, OUTER)) / NORMAL_OUTER


def _find_codes(values: Array, counts: Array, ordered: Array) -> Array:
    """Values far out that repeat, or are known. ordered: all cells but a large part."""
    low, centre, high = np.quantile(ordered, [0.25, 0.5, 0.75])
    unit = max(high - low, 1e-300) / (2.0 * NORMAL_MIDDLE)
    far = np.abs(values - centre) > CODE_FAR * unit
    known = np.isin(values, KNOWN_CODES)
    signed = np.isin(values, NEGATIVE_CODES)
    if (values[~signed] < 0.0).any():
        signed[:] = False
    coded = (far & ((counts >= CODE_REPEATS) | known)) | signed
    inner = ordered[~np.isin(ordered, values[coded])]
    if not coded.any() or len(inner) < max((1.0 - MOST_CODED) * len(ordered), 2):
        return np.empty(0)
    # Beyond the other cells, with a gap as wide as these reach.
    bottom, top = np.quantile(inner, [0.005, 0.995])
    away = (values < bottom - (centre - bottom)) | (values > top + (top - centre))
    return np.asarray(values[coded & (away | signed)])


def _find_lowest(ordered: Array) -> float:
    """Below which number logarithms are linear; 0 where the numbers are not to be bent."""
    positive = ordered[ordered > 0.0]
    if len(positive) < (1.0 - NO_LOGARITHM) * len(ordered) or len(positive) < FEWEST_OTHERS:
        return 0.0
    plain, logs = _skewness(ordered), _skewness(np.log(positive))
    if plain <= SKEWED or logs > LESS_SKEWED * plain:
        return 0.0
    zeros = np.count_nonzero(ordered == 0.0) >= FEWEST_ZEROS
    return float(positive[int(LOWEST * len(positive))]) * (1.0 if zeros else LOWER)


def _skewness(ordered: Array) -> float:
    """Mean absolute logarithm of the ratio of both sides, at three quantiles."""
    found = []
    for share in (0.25, 0.1, 0.05):
        low, middle, high = np.quantile(ordered, [share, 0.5, 1.0 - share])
        if low < middle < high:
            found.append(abs(float(np.log((high - middle) / (middle - low)))))
    return float(np.mean(found)) if found else 0.0
