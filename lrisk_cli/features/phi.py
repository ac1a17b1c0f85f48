"""phi of the rows of a fit, and the way back to the coefficients of a model."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lrisk_cli.features.maps import FeatureMap
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# How many values a map is to make of each row -> nothing, or an error if they take too much memory.
Afford: TypeAlias = Callable[[int], None]


def unlimited(n_values: int) -> None:
    """Afford any number of values."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """phi of the rows that a fit learns from, and the map that repeats it on others.

    outer: phi phi' where it came for nothing, (n, n). L: coefficients are L^-T W, if not W itself.
    """

    phi: Rows
    map: FeatureMap
    outer: Array | None = None
    L: Array | None = None
    notes: tuple[str, ...] = ()

    def coefficients(self, W: Array) -> Array:
        """What multiplies the values of the map, given what multiplies phi. (values, k)."""
        if self.L is None:
            return W
        from scipy.linalg import solve_triangular

        m = len(self.L)
        values = solve_triangular(self.L.T, W[:m])
        return np.ascontiguousarray(np.concatenate([values, W[m:]]))
