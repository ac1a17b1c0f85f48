"""Newton's systems solved in the space of rows, for problems with as many unknowns as rows.

Letters: lam row weights, S the s rows that bend, K = X_S X_S', H = mu I + X_S' M X_S with
M = diag(D) + (1/nu) sum over blocks of tied rows of (diag(q^2) - q q'/size), D = lam times the
curvature of the loss, q its derivatives; with masses m it is diag(m q^2) - (m q)(m q)'/sum m.
Then H^-1 = (I - X_S' (K + mu M^-1)^-1 X_S) / mu.
"""

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

# Tied rows bend at least by this fraction of what ties add.
BENT = 1e-6
# Rows that bend less than this fraction of the one that bends most are left out.
STRAIGHT = 1e-14


class RowCurvature:
    """H of a problem with one output whose products of rows are known, ready to be solved with."""

    def __init__(
        self, problem: Problem, Z: Array, lam: Array, tied: Tied | None = None, nu: float = 1.0
    ) -> None:
        bends = np.maximum(lam, 0.0) * problem.loss.curvature(Z, problem.y)
        derivatives = problem.loss.derivatives(Z, problem.y)[:, 0] / np.sqrt(nu)
        added = np.empty(0)
        if tied is not None:
            added = derivatives[tied.rows] ** 2
            if tied.masses is not None:
                added *= tied.masses
        if tied is not None and problem.loss.needs_line_search:
            # Where a tied row does not bend at all, M has no inverse: it is taken to bend a little.
            bends[tied.rows] = np.maximum(bends[tied.rows], BENT * added)
        total = bends.copy()
        if tied is not None:
            total[tied.rows] += added
        most = float(total.max())
        if not most < np.inf:
            raise LinAlgError("a row that bends more than numbers can tell")
        self._bends = total > STRAIGHT * most
        self._rows = np.flatnonzero(self._bends)
        self._mu, self._B = problem.mu, total[self._rows]
        whole = len(self._rows) == problem.n_rows
        self._bent = problem.rows if whole else problem.rows.take(self._rows)
        # M = diag(B) - sum of u u' over blocks; v = B^-1 u / sqrt(1 - u' B^-1 u).
        self._blocks: list[tuple[NDArray[np.intp], Array]] = []
        A = problem.row_products(self._rows)
        A[np.diag_indices(len(A))] += self._mu / self._B
        if tied is not None:
            masses = np.ones(len(tied.rows)) if tied.masses is None else tied.masses
            ends = np.cumsum(tied.sizes)[:-1]
            for rows, m in zip(np.split(tied.rows, ends), np.split(masses, ends), strict=True):
                self._tie(A, rows, derivatives, bends, total, m)
        from scipy import linalg  # takes a while to load

        # A is symmetric: its transpose is the same matrix in the order that LAPACK reads.
        self._factor = linalg.cho_factor(A.T, lower=True, overwrite_a=True, check_finite=False)

    def _tie(
        self, A: Array, rows: NDArray[np.intp], q: Array, D: Array, B: Array, m: Array
    ) -> None:
        """Add mu v v' of one block to A. m: the masses of its rows."""
        bent = self._bends[rows]
        size, straight, rows, m = m.sum(), float(np.sum(m[~bent])), rows[bent], m[bent]
        u = m * q[rows] / np.sqrt(size)
        # 1 - u' B^-1 u without cancellation: B = D + m q^2. Rows that are left out have no part.
        slack = (float(np.sum(m * (D[rows] / B[rows]))) + straight) / size
        v = u / B[rows] * np.sqrt(self._mu / max(slack, np.finfo(np.float64).tiny))
        at = np.searchsorted(self._rows, rows)
        A[np.ix_(at, at)] += np.outer(v, v)
        self._blocks.append((at, u))

    def solve(self, gradients: Array) -> Array:
        """H^-1 g for one gradient or a stack of them, with one step of refinement."""
        G = gradients.reshape(-1, self._bent.shape[1]).T
        P = self._approximate(G)
        P += self._approximate(G - self._times(P))
        return np.ascontiguousarray(P.T).reshape(gradients.shape)

    def _approximate(self, G: Array) -> Array:
        """H^-1 G. (d, q)."""
        if not len(self._rows):  # SciPy before 1.13 solves no empty systems
            return G / self._mu
        from scipy import linalg

        spanned = linalg.cho_solve(self._factor, self._bent.times(G), check_finite=False)
        result: Array = (G - self._bent.transposed_times(spanned)) / self._mu
        return result

    def _times(self, P: Array) -> Array:
        """H P. (d, q)."""
        XP = self._bent.times(P)
        MXP = self._B[:, None] * XP
        for at, u in self._blocks:
            MXP[at] -= np.outer(u, u @ XP[at])
        result: Array = self._mu * P + self._bent.transposed_times(MXP)
        return result
