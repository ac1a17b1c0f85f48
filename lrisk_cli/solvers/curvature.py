"""Second derivatives for Newton steps, kept up to date as cheaply as the loss allows.

Letters: lam row weights, H0 = sum_i lam_i hess l_i + mu I, g_i = grad l_i, of d k numbers.
"""

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray

from lrisk_cli.native.cholesky import cho_factor_lifted, cho_solve
from lrisk_cli.risk.row_weights import Tied, TiedGroups
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

# A Gram matrix is updated where fewer rows changed than this fraction, and rebuilt otherwise.
UPDATE_SHARE = 1.0 / 3.0
# A logistic curvature serves until the weights, or the probabilities, have moved by this much.
REUSE = 0.05
# Above this many tied rows the curvature is taken from one Gram matrix with them.
MANY_TIES = 1000
# Gradients of tied rows that are held at a time.
TIE_CHUNK = 1024


class Solvable(Protocol):
    """A matrix of second derivatives that Newton steps can be taken with."""

    def solve(self, gradients: Array) -> Array:
        """H^-1 g for one gradient or a stack of them."""


class Dense:
    """H as a matrix, factored when it is first solved with; lifted a little where singular.

    Where no lift of H will do, because its columns differ too much, one of H with unit diagonals.
    """

    def __init__(self, H: Array) -> None:
        self.H = H
        self._factor: Array | None = None
        self._scale: Array | None = None

    def solve(self, gradients: Array) -> Array:
        if self._factor is None:
            self._factor = self._factored()
        columns = gradients.reshape(-1, len(self.H)).T
        if self._scale is None:
            flat = cho_solve(self._factor, columns)
        else:
            flat = self._scale * cho_solve(self._factor, self._scale * columns)
        return np.ascontiguousarray(flat.T).reshape(gradients.shape)

    def _factored(self) -> Array:
        try:
            return cho_factor_lifted(self.H)
        except LinAlgError:
            self._scale = 1.0 / np.sqrt(np.diag(self.H))[:, None]
            return cho_factor_lifted(self.H * self._scale * self._scale.T)


def bends(problem: Problem, Z: Array, lam: Array) -> Array:
    """lam_i times the trace of row i's second derivative in its margins. (n,)."""
    rows = np.flatnonzero(lam > 0.0)
    result = np.zeros(len(lam))
    result[rows] = lam[rows] * problem.loss.curvature(Z[rows], problem.y[rows])
    return result


class Curvature(Protocol):
    """Gives H0 for weights and margins, exactly or nearly."""

    def base(self, Z: Array, lam: Array) -> Array:
        """H0. (d k, d k)."""


class UpdatedCurvature:
    """X' diag(w) X + mu I, w = lam times the curvature of the rows, updated where it changed."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._weights: Array | None = None
        self._gram = np.empty((0, 0))

    def base(self, Z: Array, lam: Array) -> Array:
        problem = self._problem
        weights = lam if problem.loss.quadratic else lam * problem.loss.curvature(Z, problem.y)
        change = weights if self._weights is None else weights - self._weights
        if self._weights is None or np.count_nonzero(change) > UPDATE_SHARE * problem.n_rows:
            self._gram = problem.gram(np.maximum(weights, 0.0))
        else:
            self._gram += problem.gram(np.maximum(change, 0.0))
            self._gram -= problem.gram(np.maximum(-change, 0.0))
        self._weights = weights
        return self._gram + problem.mu * np.eye(len(self._gram))


class ReusedCurvature:
    """The Hessian at an earlier point, as long as weights and probabilities moved little."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._lam: Array | None = None
        self._P = np.empty((0, 0))
        self._hessian = np.empty((0, 0))

    def base(self, Z: Array, lam: Array) -> Array:
        P = self._problem.loss.probabilities(Z)
        assert P is not None  # noqa: S101  (a logistic loss)
        if self._lam is None or self._moved(P, lam):
            self._hessian = self._problem.hessian(Z, np.maximum(lam, 0.0))
            self._lam, self._P = lam, P
        return self._hessian

    def _moved(self, P: Array, lam: Array) -> bool:
        assert self._lam is not None  # noqa: S101
        if float(np.abs(lam - self._lam).sum()) > REUSE:
            return True
        return float(np.max(lam @ np.abs(P - self._P))) > REUSE


def make_curvature(problem: Problem) -> Curvature:
    """The kind that suits the loss."""
    if problem.loss.reuses_curvature:
        return ReusedCurvature(problem)
    return UpdatedCurvature(problem)


def tie_curvature(problem: Problem, Z: Array, tied: Tied) -> Array:
    """sum over blocks of m_i (g_i - mean g)(g_i - mean g)', the mean by masses. (d k, d k).

    Where groups of rows are tied, the same of their gradients besides.
    """
    total = _row_ties(problem, Z, tied)
    if tied.groups is not None:
        gradients = group_gradients(problem, problem.loss.derivatives(Z, problem.y), tied.groups)
        total += gradients.T @ gradients
    return total


def group_gradients(problem: Problem, derivatives: Array, tied: TiedGroups) -> Array:
    """The gradients of tied groups less the mean of their block, times the root of their mass.

    derivatives: of all losses by the margins, (n, k). (groups, d k).
    """
    coefs = np.zeros_like(derivatives)
    coefs[tied.rows] = tied.weights[:, None] * derivatives[tied.rows]
    sums = [
        problem.rows.block_sums(np.ascontiguousarray(column), tied.rows, tied.row_counts)
        for column in coefs.T
    ]
    gradients = np.stack(sums, axis=-1).reshape(len(tied.groups), -1)
    gradients *= np.sqrt(tied.row_counts)[:, None]
    starts = np.cumsum(tied.sizes) - tied.sizes
    weighed = np.add.reduceat(tied.masses[:, None] * gradients, starts)
    means = weighed / np.add.reduceat(tied.masses, starts)[:, None]
    gradients -= np.repeat(means, tied.sizes, axis=0)
    gradients *= np.sqrt(tied.masses)[:, None]
    return gradients


def _row_ties(problem: Problem, Z: Array, tied: Tied) -> Array:
    """The part of the rows."""
    if problem.loss.n_outputs > 1 and len(tied.rows) > MANY_TIES:
        return _softmax_ties(problem, Z, tied)
    size = problem.shape[0] * problem.shape[1]
    total = np.zeros((size, size))
    for some in _portions(tied):
        # A block that is too large comes alone, and in pieces.
        pieces = [slice(i, i + TIE_CHUNK) for i in range(0, len(some.rows), TIE_CHUNK)]
        means = _block_means(problem, Z, pieces, some)
        for piece in pieces:
            gradients = _row_gradients(problem, Z, some.rows[piece])
            gradients -= means if len(some.sizes) == 1 else np.repeat(means, some.sizes, axis=0)
            if some.masses is not None:
                gradients *= np.sqrt(some.masses[piece])[:, None]
            total += gradients.T @ gradients
    return total


def _softmax_ties(problem: Problem, Z: Array, tied: Tied) -> Array:
    """The same for many rows and several outputs, as sum g_i g_i' - sum (sum g)(sum g)' / size.

    With masses a row counts for its mass in every sum, and the size of a block is the sum of them.

    """
    total = softmax_squares(problem, Z, tied)
    columns = np.ascontiguousarray(problem.loss.derivatives(Z, problem.y).T)
    for part in _portions(tied):
        sums = [block_sums(problem, slope, part) for slope in columns]
        flat = np.stack(sums, axis=-1).reshape(len(part.sizes), -1)
        total -= flat.T @ flat
    return total


def softmax_squares(problem: Problem, Z: Array, tied: Tied) -> Array:
    """The first sum of these. (d k, d k).

    The derivatives of a softmax add up to zero, so it needs a Gram matrix for each pair of classes
    only, and no gradients of rows.
    """
    derivatives = problem.loss.derivatives(Z, problem.y)
    some = np.zeros_like(derivatives)
    some[tied.rows] = derivatives[tied.rows]
    if tied.masses is not None:
        some[tied.rows] *= np.sqrt(tied.masses)[:, None]
    return problem.laplacian(lambda c, e: -some[:, c] * some[:, e])


def block_sums(problem: Problem, slopes: Array, tied: Tied) -> Array:
    """sum of m_i slopes_i x_i over the rows of each block, over the root of its size."""
    if tied.masses is None:
        return problem.rows.block_sums(slopes, tied.rows, tied.sizes)
    coefs = np.zeros_like(slopes)
    coefs[tied.rows] = tied.masses * slopes[tied.rows]
    sums = problem.rows.block_sums(coefs, tied.rows, tied.sizes)
    scales: Array = np.sqrt(tied.sizes / block_masses(tied))
    return sums * scales[:, None]


def block_masses(tied: Tied) -> Array:
    """How many rows the blocks have, or their mass. (blocks,)."""
    if tied.masses is None:
        return tied.sizes.astype(np.float64)
    masses: Array = np.add.reduceat(tied.masses, np.cumsum(tied.sizes) - tied.sizes)
    return masses


def _portions(tied: Tied) -> Iterator[Tied]:
    """Some of the blocks: as many at a time as have TIE_CHUNK rows together, or one."""
    ends, block, start = np.cumsum(tied.sizes), 0, 0
    while block < len(ends):
        beyond = max(block + 1, int(np.searchsorted(ends, start + TIE_CHUNK, side="right")))
        end = int(ends[beyond - 1])
        masses = None if tied.masses is None else tied.masses[start:end]
        yield Tied(tied.rows[start:end], tied.sizes[block:beyond], masses)
        block, start = beyond, end


def _row_gradients(problem: Problem, Z: Array, rows: NDArray[np.intp]) -> Array:
    """g_i for some rows. (rows, d k)."""
    derivatives = problem.loss.derivatives(Z[rows], problem.y[rows])
    return (problem.rows.dense_rows(rows)[:, :, None] * derivatives[:, None, :]).reshape(
        len(rows), -1
    )


def _block_means(problem: Problem, Z: Array, pieces: list[slice], tied: Tied) -> Array:
    """Mean gradients of blocks: one in several pieces, or several in one. (blocks, d k)."""
    starts, sums = np.cumsum(tied.sizes) - tied.sizes, []
    for piece in pieces:
        gradients = _row_gradients(problem, Z, tied.rows[piece])
        if tied.masses is not None:
            gradients *= tied.masses[piece][:, None]
        sums.append(np.add.reduceat(gradients, starts))
    means: Array = np.sum(sums, axis=0) / block_masses(tied)[:, None]
    return means


def joint_curvature(problem: Problem, Z: Array, lam: Array, tied: Tied, nu: float) -> Array:
    """H0 plus 1/nu times the curvature of the ties, for one output, by a single Gram matrix.

    The ties add sum g_i g_i' - sum over blocks of (sum g)(sum g)' / size, by masses where there are
    any: no rows are copied.
    """
    derivatives = problem.loss.derivatives(Z, problem.y)[:, 0]
    weights = lam * problem.loss.curvature(Z, problem.y)
    bent = derivatives[tied.rows] ** 2
    weights[tied.rows] += (bent if tied.masses is None else tied.masses * bent) / nu
    sums = block_sums(problem, derivatives, tied)
    H = problem.gram(np.maximum(weights, 0.0)) - sums.T @ sums / nu
    if tied.groups is not None:
        gradients = group_gradients(problem, derivatives[:, None], tied.groups)
        H += gradients.T @ gradients / nu
    H[np.diag_indices(len(H))] += problem.mu
    return H
