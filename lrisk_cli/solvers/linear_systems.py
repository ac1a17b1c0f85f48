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

    diagonal: that of H. rhs: (d, 1).
    """
    column = diagonal[:, None]
    solution = conjugate_gradients(times, lambda v: v / column, rhs, REFINED, MOST_ROUNDS)
    # What is left was updated, not computed: rounding may have parted it from the truth.
    left, roots = rhs - times(solution), np.sqrt(column)
    enough = 10.0 * REFINED * float(np.linalg.norm(rhs / roots))
    return solution if float(np.linalg.norm(left / roots)) <= enough else None


def conjugate_gradients(
    times: Callable[[Array], Array], precondition: Precondition, rhs: Array, left: float, most: int
) -> Array:
    """Nearly H^-1 rhs from at most so many products H v, until the fraction `left` of rhs remains.

    precondition: multiplies by a guess M of H^-1; what remains is measured as sqrt(r' M r).
    """
    solution, rest = np.zeros_like(rhs), rhs
    direction = precondition(rest)
    length = float(np.vdot(rest, direction))
    enough = left**2 * length
    for _ in range(most):
        if not length > enough:
            break
        product = times(direction)
        step = length / float(np.vdot(direction, product))
        solution = solution + step * direction
        rest = rest - step * product
        guess, before = precondition(rest), length
        length = float(np.vdot(rest, guess))
        direction = guess + (length / before) * direction
    return solution
