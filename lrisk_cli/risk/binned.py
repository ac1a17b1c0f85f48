"""Losses counted in bins by their bits, which parts of the rows give and which add up."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array, Index

# Bins by the bits of a loss: so many to a doubling, over powers of two from the first to the last.
PER_OCTAVE_BITS, LEAST_POWER, MOST_POWER = 8, -64, 64
N_BITS = (MOST_POWER - LEAST_POWER) << PER_OCTAVE_BITS


def bits_bins(losses: Array) -> Index:
    """The bin of each loss; the first and the last hold what lies outside. (n,)."""
    bits = np.ascontiguousarray(losses, dtype=np.float64).view(np.int64)
    at = (bits >> (52 - PER_OCTAVE_BITS)) - ((1023 + LEAST_POWER) << PER_OCTAVE_BITS)
    return np.asarray(np.clip(at, 0, N_BITS - 1))


@dataclass(frozen=True, slots=True, eq=False)
class LossBins:
    """Losses by their bits: count, sum and largest of each bin. All (N_BITS,)."""

    count: Array
    total: Array
    high: Array

    def add(self, other: "LossBins") -> "LossBins":
        """Those of both."""
        return LossBins(
            self.count + other.count,
            self.total + other.total,
            np.maximum(self.high, other.high),
        )

    @property
    def largest(self) -> float:
        """The largest loss."""
        return float(self.high.max())

    def risk(self, spectrum: Spectrum, *, above: bool = False) -> float:
        """The risk if the losses of a bin were equal: to their mean, which makes it smaller.

        above: to the largest of them, which makes it larger.
        """
        full = np.flatnonzero(self.count > 0.0)
        count = self.count[full]
        losses = self.high[full] if above else self.total[full] / count
        heavier = np.append(np.cumsum(count[::-1])[::-1][1:], 0.0)
        if not spectrum.rising:
            heavier = np.append(0.0, np.cumsum(count)[:-1])
        return float(spectrum.of_rows(count, heavier, float(count.sum())) @ losses)


def loss_bins(losses: Array) -> LossBins:
    """The losses of a part."""
    at = bits_bins(losses)
    count = np.bincount(at, minlength=N_BITS).astype(np.float64)
    high = np.zeros(N_BITS)
    np.maximum.at(high, at, losses)
    return LossBins(count, np.bincount(at, losses, N_BITS).astype(np.float64), high)
