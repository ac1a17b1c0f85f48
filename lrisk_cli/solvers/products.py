"""Newton's systems by products with X and X', for rows that store a few codes of many columns.

Letters: lam row weights, L_i the second derivative of row i's loss in its margins, s_i the
derivatives; H = sum_i lam_i x_i x_i' * L_i + mu I + (1/nu) sum over blocks of tied rows of
m_i (g_i - mean g)(g_i - mean g)', g_i = x_i x s_i, the mean by the masses m.
"""

import numpy as np

from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.descent import Precondition
from lrisk_cli.solvers.linear_systems import conjugate_gradients
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

# A Newton step leaves this fraction of the gradient.
LEFT = 1e-2
# A Newton step takes so many products at most: it then goes down, if not far enough.
MOST_PRODUCTS = 200
# Matrices of more unknowns cost more than products.
MATRIX_SIZE = 2000


def by_products(problem: Problem) -> bool:
    """Whether second derivatives are better multiplied by than held."""
    d, k = problem.shape
    return d * k > MATRIX_SIZE and 4 * problem.rows.stored < d and problem.outer is None


class ProductCurvature:
    """H at margins Z, which is never held.

    tied: rows tied by a projection, if these count. inverse: multiplies by a guess of H^-1, instead
    of that of its diagonal.
    """

    def __init__(
        self,
        problem: Problem,
        Z: Array,
        lam: Array,
        tied: Tied | None = None,
        nu: float = 1.0,
        inverse: Precondition | None = None,
    ) -> None:
        self._problem, loss, y = problem, problem.loss, problem.y
        self._lam = np.maximum(lam, 0.0)
        self._P = loss.probabilities(Z) if loss.n_outputs > 1 else None
        self._bends = self._lam * loss.curvature(Z, y) if self._P is None else None
        self._ties = None
        if tied is not None and len(tied.rows):
            self._ties = _Ties(loss.derivatives(Z[tied.rows], y[tied.rows]), tied, nu)
        self._inverse = self._diagonal() if inverse is None else inverse

    def _diagonal(self) -> Precondition:
        """Divides by the diagonal of H, means of blocks left out."""
        if self._P is None:
            total = np.array(self._bends)[:, None]
        else:
            total = self._lam[:, None] * self._P * (1.0 - self._P)
        if self._ties is not None:
            self._ties.add_bends(total)
        rows = self._problem.rows
        diagonals = [rows.gram_diagonal(np.ascontiguousarray(column)) for column in total.T]
        diagonal = np.stack(diagonals, axis=1) + self._problem.mu
        return lambda g: g / diagonal

    def solve(self, gradients: Array) -> Array:
        """H^-1 g for one gradient or a stack of them, LEFT of which remains."""
        shape = self._problem.shape
        steps = [
            conjugate_gradients(self.times, self._inverse, g, LEFT, MOST_PRODUCTS)
            for g in gradients.reshape(-1, *shape)
        ]
        return np.stack(steps).reshape(gradients.shape)

    def times(self, V: Array) -> Array:
        """H V. (d, k)."""
        rows = self._problem.rows
        U = rows.times(V)
        if self._P is None:
            T = np.asarray(self._bends)[:, None] * U
        else:
            PU = self._P * U
            T = self._lam[:, None] * (PU - self._P * PU.sum(axis=1, keepdims=True))
        if self._ties is not None:
            self._ties.add(U, T)
        product: Array = rows.transposed_times(T)
        product += self._problem.mu * V
        return product


class _Ties:
    """What tied rows add, between margins. S: their derivatives, (rows, k)."""

    def __init__(self, S: Array, tied: Tied, nu: float) -> None:
        self._S, self._tied, self._nu = S, tied, nu
        self._starts = np.cumsum(tied.sizes) - tied.sizes
        masses = np.ones(len(tied.rows)) if tied.masses is None else tied.masses
        self._masses = masses
        self._totals = np.add.reduceat(masses, self._starts)

    def add_bends(self, total: Array) -> None:
        """Add the diagonal between margins, the means left out. total: of all rows, (n, k)."""
        total[self._tied.rows] += self._masses[:, None] * self._S**2 / self._nu

    def add(self, U: Array, T: Array) -> None:
        """Add to T, in the margins, what it makes of U."""
        rows = self._tied.rows
        along = np.einsum("ij,ij->i", self._S, U[rows])
        means = np.add.reduceat(self._masses * along, self._starts) / self._totals
        along -= np.repeat(means, self._tied.sizes)
        along *= self._masses / self._nu
        T[rows] += along[:, None] * self._S
