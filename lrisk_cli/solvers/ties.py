"""What tied rows add to second derivatives, inverted without a matrix of the unknowns.

Letters: C the gradients of the tied rows less their block's mean, one row each; b a curvature of
all unknowns alike. (b I + C'C/nu)^-1 = (I - C' (nu b I + C C')^-1 C) / b.
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
        """Rows less the mean of their block."""
        sizes = self._sizes
        sums = np.add.reduceat(rows, np.cumsum(sizes) - sizes, axis=0)
        means = sums / sizes.reshape(-1, *[1] * (rows.ndim - 1))
        centred: Array = rows - np.repeat(means, sizes, axis=0)
        return centred
