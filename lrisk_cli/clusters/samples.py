"""Some rows of many, at random, for methods whose cost would not allow all."""

import numpy as np

from lrisk_cli.risk.units import count_units, rows_of_units
from lrisk_cli.types import Array

# Of many columns fewer rows are drawn, but not fewer than this.
FEWEST_ROWS, MOST_PRODUCTS = 500, 2e8


def sample_rows(X: Array, most: int, seed: int, masses: Array | None = None) -> Array:
    """At most so many rows, fewer where there are many columns; those of a seed, in their order.

    masses: how much the rows count; each is drawn from as so many. (n,). Where copies of one row
    are all that is drawn, distinct rows are.
    """
    drawn = _draw(X, most, seed, masses)
    if drawn is X or bool((drawn != drawn[0]).any()) or bool((X[0] == X).all()):
        return drawn
    return _draw(np.unique(X, axis=0), most, seed, None)


def _draw(X: Array, most: int, seed: int, masses: Array | None) -> Array:
    n, d = count_units(masses, len(X)), X.shape[1]
    most = min(most, max(FEWEST_ROWS, int(MOST_PRODUCTS / d**2)))
    if n <= most:
        return X if masses is None else X[rows_of_units(masses)]
    draws = np.random.Generator(np.random.PCG64([seed, n, 21]))
    drawn = np.sort(draws.choice(n, most, replace=False))
    return X[drawn if masses is None else rows_of_units(masses, drawn)]
