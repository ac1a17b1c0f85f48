"""Solve with second derivatives: symmetric matrices, nearly singular ones lifted a little."""

from collections.abc import Callable

import numpy as np

from lrisk_cli.native.cholesky import cho_factor_lifted, cho_solve
from lrisk_cli.solvers.descent import Precondition
from lrisk_cli.types import Array

# Matrices from this size on are factored in single precision first; what is left of the right side
# after refinement, relative to it.
SINGLE_SIZE, MOST_REFINEMENTS, REFINED = 512, 10, 1e-13
# Rounds of conjugate gradients before they give up.
MOST_ROUNDS = 1000


def solve_lifted(H: Array, rhs: Array) -> Array:
    """H^-1 rhs by Cholesky with one step of refinement, H lifted a little where it is singular.

    A large H is factored in single precision, which takes half the time, if refinement makes up
    for it.
    """
    if len(H) >= SINGLE_SIZE:
        solution = _solve_refined(H, rhs)
        if solution is not None:
            return solution
    inverse = inverse_of(H)
    solution = np.zeros_like(rhs)
    for _ in range(2):
        solution += inverse(rhs - H @ solution)
    return np.ascontiguousarray(solution)


def _solve_refined(H: Array, rhs: Array) -> Array | None:
    """H^-1 rhs to double precision from a factor in single; None where H is too near singular."""
    from scipy.linalg import cholesky  # three times as quick as NumPy's on a large matrix

    scale = 1.0 / np.sqrt(np.diag(H))[:, None]
    scaled = H.astype(np.float32)
    scaled *= scale.astype(np.float32)
    scaled *= scale.T.astype(np.float32)
    try:
        factor = cholesky(scaled, lower=True, check_finite=False).astype(np.float64, order="C")
    except np.linalg.LinAlgError:
        return None
    solution, left = np.zeros_like(rhs), rhs
    size = float(np.abs(rhs).max())
    enough = REFINED * size
    for _ in range(MOST_REFINEMENTS):
        solution += scale * cho_solve(factor, scale * left)
        left = rhs - H @ solution
        before, size = size, float(np.abs(left).max())
        if not size <= 0.1 * before:
            break
    return np.ascontiguousarray(solution) if size <= enough else None


def inverse_of(H: Array) -> Precondition:
    """Multiplies by H^-1, nearly where H is singular.

    Unit diagonals first: a lift is then small beside every column, however it is scaled.
    """
    size, scale = len(H), 1.0 / np.sqrt(np.diag(H))[:, None]
    scaled = H * scale
    scaled *= scale.T
    factor = cho_factor_lifted(scaled)

    def times(g: Array) -> Array:
        product = scale * cho_solve(factor, scale * g.reshape(size, -1))
        return product.reshape(g.shape)

    return times


def solve_by_products(times: Callable[[Array], Array], diagonal: Array, rhs: Array) -> Array | None:
    """H^-1 rhs from products H v to double precision; None where they do not get there.

    diagonal: that of H, by whose roots the unknowns are scaled. rhs: (d, 1).
    """
    scale = np.sqrt(diagonal)[:, None]
    solution = conjugate_gradients(times, diagonal[:, None], rhs, REFINED, MOST_ROUNDS)
    # What is left was updated, not computed: rounding may have parted it from the truth.
    left = float(np.abs((rhs - times(solution)) / scale).max())
    return solution if left <= 10.0 * REFINED * float(np.abs(rhs / scale).max()) else None


def conjugate_gradients(
    times: Callable[[Array], Array], diagonal: Array, rhs: Array, left: float, most: int
) -> Array:
    """Nearly H^-1 rhs from products H v: until `left` of the right side remains, as scaled.

    diagonal: that of H, by whose roots the unknowns are scaled; as rhs. most: products.
    """
    scale = 1.0 / np.sqrt(diagonal)
    solution, rest = np.zeros_like(rhs), scale * rhs
    enough = left * float(np.abs(rest).max())
    direction, length = rest, float(np.vdot(rest, rest))
    for _ in range(most):
        if not float(np.abs(rest).max()) > enough:
            break
        product = scale * times(scale * direction)
        step = length / float(np.vdot(direction, product))
        solution = solution + step * direction
        rest = rest - step * product
        before, length = length, float(np.vdot(rest, rest))
        direction = rest + (length / before) * direction
    return scale * solution
