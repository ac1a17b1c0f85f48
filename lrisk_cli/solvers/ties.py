"""What tied rows add to second derivatives, inverted without a matrix of the unknowns.

Letters: C the gradients of the tied rows less their block's mean, one row each, times the root of
its mass where rows have masses; b a curvature of all unknowns alike.
(b I + C'C/nu)^-1 = (I - C' (nu b I + C C')^-1 C) / b.
"""

import numpy as np

from lrisk_cli.native.cholesky import cho_factor_lifted, cho_solve
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array


class TieInverse:
    """Multiplies by (b I + C'C/nu)^-1: for L-BFGS, which learns the rest by itself.

    derivatives: of all rows by their margins, (n, k). A row's gradient is x_i x s_i, so products
    of gradients are (X X') * (S S').
    """

    def __init__(
        self, problem: Problem, derivatives: Array, tied: Tied, nu: float, b: float
    ) -> None:
        self._tied, self._S = problem.rows.take(tied.rows), derivatives[tied.rows]
        self._sizes, self._b = tied.sizes, b
        self._roots = None if tied.masses is None else np.sqrt(tied.masses)
        if self._roots is not None:
            self._S *= self._roots[:, None]
        products = self._tied.row_products() * (self._S @ self._S.T)
        products = self._centred(self._centred(products).T)
        products[np.diag_indices(len(products))] += nu * b
        self._factor = cho_factor_lifted(products)

    def __call__(self, g: Array) -> Array:
        """g: (d, k)."""
        along = self._centred(np.einsum("ij,ij->i", self._tied.times(g), self._S))
        along = self._centred(cho_solve(self._factor, along))
        result: Array = (g - self._tied.transposed_times(along[:, None] * self._S)) / self._b
        return result

    def _centred(self, rows: Array) -> Array:
        """Rows less the mean of their block; with masses (I - r r' / r'r) of it, r their roots."""
        sizes, roots = self._sizes, self._roots
        starts, narrow = np.cumsum(sizes) - sizes, [1] * (rows.ndim - 1)
        if roots is None:
            means = np.add.reduceat(rows, starts, axis=0) / sizes.reshape(-1, *narrow)
            centred: Array = rows - np.repeat(means, sizes, axis=0)
            return centred
        column = roots.reshape(-1, *narrow)
        total = np.add.reduceat(roots**2, starts).reshape(-1, *narrow)
        means = np.add.reduceat(column * rows, starts, axis=0) / total
        weighed: Array = rows - column * np.repeat(means, sizes, axis=0)
        return weighed
