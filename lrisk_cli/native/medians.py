"""Medians of values that count for unlike much."""

import numpy as np

from lrisk_cli.types import Array

# Sums of masses that differ by at most this fraction of their total are equal up to rounding.
SAME = 1e-12


def weighted_median(values: Array, masses: Array | None = None) -> float:
    """The median of the values, each as often as its mass says; that of NumPy without masses.

    Half of the least value with half of the mass up to it, and half of the largest with half of the
    mass from it on. values, masses: (n,).
    """
    if masses is None:
        return float(np.median(values))
    low, high = _middle(values, masses)
    return float(0.5 * values[low] + 0.5 * values[high])


def lower_median(values: Array, masses: Array) -> float:
    """The least value with half of the mass up to it. values, masses: (n,)."""
    return float(values[_middle(values, masses)[0]])


def _middle(values: Array, masses: Array) -> tuple[int, int]:
    """Where the two values in the middle are."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(masses[order])
    half, slack = 0.5 * reached[-1], SAME * reached[-1]
    low, high = np.searchsorted(reached, [half - slack, half + slack])
    return int(order[low]), int(order[min(high, len(order) - 1)])
