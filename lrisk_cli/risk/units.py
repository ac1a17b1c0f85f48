"""Rows with masses as units that count alike, for methods that know equal rows only.

A row of mass 3 is three units, next to each other. Where masses are no whole numbers, unit t of N =
sum of the masses, rounded, belongs to the row that holds the mass (t + 1/2) M / N.
"""

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.types import Array, Index

# More units are drawn from as so many, by the same fractions.
MOST_UNITS = 2.0**62


def count_units(masses: Array | None, n_rows: int) -> int:
    """How many units rows are: N, at most MOST_UNITS, or their number where all count alike."""
    return n_rows if masses is None else max(1, round(min(float(masses.sum()), MOST_UNITS)))


def rows_of_units(masses: Array, units: NDArray[np.intp] | None = None) -> Index:
    """The row of each unit, ascending; of all N, or of those named."""
    upto = np.cumsum(masses)
    n_units = count_units(masses, len(masses))
    places = np.arange(n_units) if units is None else units
    rows = np.searchsorted(upto, (places + 0.5) * (upto[-1] / n_units))
    return np.asarray(np.minimum(rows, len(masses) - 1), dtype=np.intp)
