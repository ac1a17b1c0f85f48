"""The standard deviation of numbers whose squares may leave the range of numbers."""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.types import Array

# Squares of numbers between these keep their digits.
SMALLEST, LARGEST = 1e-140, 1e150


def sample_deviation(values: Sequence[float] | Sequence[Array]) -> Array:
    """Over the first axis, with n - 1 in the denominator."""
    numbers = np.asarray(values)
    largest = float(np.abs(numbers).max())
    ordinary = SMALLEST < largest < LARGEST or not 0.0 < largest < np.inf
    unit = 1.0 if ordinary else largest
    found: Array = unit * np.std(numbers / unit, axis=0, ddof=1)
    return found
