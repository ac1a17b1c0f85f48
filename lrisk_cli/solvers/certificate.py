"""Prove how far a convex fit can be from optimal.

For any weights lam in P(sigma), weak duality gives
    min over V of lam.l(V) + mu/2 ||V||^2  <=  min over W of R(W) + mu/2 ||W||^2  <=  F(W).
The left side is strongly convex, so value(V) - ||gradient(V)||^2 / (2 mu) at any V is below it.
Rounding is allowed for: that of value and gradient in rounding.py, that of lam in `_bound`.
"""

from dataclasses import dataclass
from time import perf_counter

import numpy as np
from numpy.linalg import LinAlgError

from lrisk_cli.native.kernels import core
from lrisk_cli.risk.groups import repair_groups
from lrisk_cli.risk.weighted import repair_masses
from lrisk_cli.solvers.descent import EvaluatedPoint, Precondition, descend, line_search
from lrisk_cli.solvers.linear_systems import inverse_of, solve_by_products, solve_lifted
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.products import MATRIX_SIZE, ProductCurvature, by_products
from lrisk_cli.solvers.rounding import HAS_WIDE, Evaluation, evaluate, evaluate_wide
from lrisk_cli.solvers.softening import first_width, minimise_softly, soften
from lrisk_cli.types import Array

# Above this many unknowns a bound is polished by L-BFGS instead of Newton steps; at most so many,
# and more where each needs a line search, until this fraction of the derivative along it is left,
NEWTON_SIZE, NEWTON_STEPS = 128, 30
SEARCHED_STEPS, FLATTER = 200, 0.3
# up to MATRIX_SIZE with the second derivative where so many evaluations have not been enough: as
# many as it costs, and fewer where one was known that no longer fits.
# What a row costs by products for each number that is stored of it: about a hundred rounds of two
# sweeps, whose additions take longer than those of a Gram matrix.
ROUNDS_COST = 800.0
FIRST_ROUND, ROUND, MAX_EVALUATIONS = 30, 15, 600
EPS, TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Certificate:
    """F(W), a number that no W can go below, and their distance.

    gap = absolute_gap / max(F(0) - F(W), 1e-6 F(0)): relative to what the fit gained.
    """

    objective: float
    lower_bound: float
    absolute_gap: float
    gap: float


@dataclass(frozen=True, slots=True)
class Bound:
    """Lower bounds on the optimum with the risk as it is (value) and smoothed (smoothed).

    V is where they were computed, passes the sweeps over the rows that it took.
    """

    value: float
    smoothed: float
    V: Array
    passes: int


def certify(objective: float, lower_bound: float, at_zero: float) -> Certificate:
    """The certificate of an objective and a lower bound; at_zero is F(0)."""
    absolute = objective - lower_bound
    gained = max(at_zero - objective, 1e-6 * at_zero, TINY)
    return Certificate(objective, lower_bound, absolute, absolute / gained)


def lower_bound(
    problem: Problem,
    lam: Array,
    start: Array,
    accuracy: float,
    *,
    near: bool = True,
    precondition: Precondition | None = None,
    until: float = np.inf,
    margins: Array | None = None,
) -> Bound:
    """Bound the optimum from below with the weights lam, repaired into P(sigma).

    `start` is a guess of the minimiser of the lam-weighted problem; `near`: it may be so good that
    the bound there is within `accuracy` of the best for these weights. If it is not, the minimiser
    is computed, with the help of `precondition` and no longer than `until` (see
    weighted_minimiser); if rounding alone may exceed `accuracy`, the bound is evaluated in
    extended precision. margins: those of `start`, where they are known.
    """
    lam, excess = _repaired(problem, lam)
    if problem.loss.kinked:
        return _kinked_bound(problem, lam, excess, start, accuracy, until)
    V, at = start, evaluate(problem, lam, start, margins) if near else None
    passes = 1 if near else 0
    if at is None or at.slack(problem.mu) > accuracy:
        known = InverseCurvature(precondition)
        better, used = weighted_minimiser(problem, lam, start, accuracy, known, until)
        at_better = evaluate(problem, lam, better)
        passes += used + 1
        if at is None or not _lower(at_better, at, problem.mu):
            V, at = better, at_better
    if not at.value_error <= accuracy and HAS_WIDE:
        at = evaluate_wide(problem, lam, V)
        passes += 1
    return _bound(problem, lam, excess, V, at, passes)


def _kinked_bound(
    problem: Problem, lam: Array, excess: float, start: Array, accuracy: float, until: float
) -> Bound:
    """The same for losses with kinks, by the affine functions of a rounded problem."""
    try:
        V, soft, passes = _minimise_kinked(problem, lam, start, accuracy, until)
    except LinAlgError:
        V, soft, passes = start, soften(problem, first_width(problem, problem.margins(start))), 1
    return _bound(problem, lam, excess, V, evaluate(soft, lam, V), passes + 1)


def _lower(one: Evaluation, other: Evaluation, mu: float) -> bool:
    """Whether the bound of one is lower than that of the other; one that is not a number is."""
    bound = one.lower_bound(mu)
    return bound < other.lower_bound(mu) or np.isnan(bound)


def _bound(
    problem: Problem, lam: Array, excess: float, V: Array, at: Evaluation, passes: int
) -> Bound:
    """The bound that V proves with weights that may lie outside P(sigma) by the fraction `excess`.

    lam.l <= (1 + excess) R for losses l >= 0, so lam.l + mu/2 ||.||^2 is at most 1 + excess times
    the objective. An objective that it is compared with is rounded itself: eps of it is for that.
    """
    bound = at.lower_bound(problem.mu)
    bound -= (excess + EPS) * abs(bound)
    smoothing = problem.smoothing
    if smoothing is None:
        return Bound(bound, bound, V, passes)
    # Weights of P(sigma) are as near to lam as rounding and the excess let them be.
    masses = None if problem.masses is None else problem.masses.values
    penalty = smoothing.penalty(lam, masses)
    steepness = smoothing.steepness(problem.steepest, problem.total)
    rounding = 16.0 * EPS * (abs(penalty) + steepness) + excess * steepness
    return Bound(bound, bound - penalty - rounding, V, passes)


def _repaired(problem: Problem, lam: Array) -> tuple[Array, float]:
    """`repair_weights`, by masses where the rows have any, and by groups for risks of these.

    The mean allows one set of weights only, 1/n with its rounding.
    """
    if problem.flat and problem.masses is None and problem.grouped is None:
        return problem.sigma, EPS
    if problem.grouped is not None:
        return repair_groups(lam, problem.grouped, repair_weights)
    if problem.masses is None:
        return repair_weights(lam, problem.sigma)
    return repair_masses(lam, problem.spectrum, problem.masses)


def repair_weights(lam: Array, sigma: Array) -> tuple[Array, float]:
    """Weights near lam that lie in P(sigma) to rounding, and by which fraction they may exceed it.

    Clip, renormalise, and mix with 1/n until the sums of the k largest weights are at most those
    of sigma for every k; what rounding leaves is that fraction, see core.excess_share. Where
    nothing is left of lam to renormalise, the weights are 1/n.
    """
    lam = np.maximum(lam, 0.0)
    ones = np.ones(len(lam))
    # Weights that add up to 1 are what objectives are made of, also where sigma adds up to more.
    total = min(core.compensated_dot(sigma, ones), 1.0)
    sum_of_lam = core.compensated_dot(lam, ones)
    if not 0.0 < total / (sum_of_lam or np.inf) < np.inf:
        lam, sum_of_lam = ones, float(len(lam))
    lam = total / sum_of_lam * lam
    ascending = np.sort(lam)
    fraction = core.mixing_share(ascending, sigma)
    if fraction > 0.0:
        lam, ascending = ((1.0 - fraction) * w + fraction / len(lam) for w in (lam, ascending))
    return lam, float(core.excess_share(ascending, sigma))


@dataclass(slots=True)
class InverseCurvature:
    """The inverse second derivative as the last fit that needed it found it: what to multiply by.

    Fits with similar weights may share one.
    """

    inverse: Precondition | None = None


def weighted_minimiser(
    problem: Problem,
    lam: Array,
    start: Array,
    accuracy: float,
    curvature: InverseCurvature | None = None,
    until: float = np.inf,
) -> tuple[Array, int]:
    """Nearly minimise lam.l(V) + mu/2 ||V||^2; the passes it took.

    curvature: what is known of it from fits with similar weights, and will be from this one.
    until: the moment, by perf_counter, from which on no further step is begun. Where numbers become
    too large or a matrix cannot be factored, the result is `start`.
    """
    try:
        if problem.loss.kinked:
            V, _, passes = _minimise_kinked(problem, lam, start, accuracy, until)
        elif problem.loss.quadratic:
            V, passes = _ridge(problem, lam), 1
        elif start.size <= NEWTON_SIZE or by_products(problem):
            newton = _searched_newton if problem.loss.needs_line_search else _newton
            V, passes = newton(problem, lam, start, accuracy, until)
        else:
            known = curvature or InverseCurvature()
            V, passes = _lbfgs(problem, lam, start, accuracy, known, until)
    except LinAlgError:
        return start, 1
    return (V if np.isfinite(V).all() else start), passes


def _minimise_kinked(
    problem: Problem, lam: Array, start: Array, accuracy: float, until: float
) -> tuple[Array, Problem, int]:
    """The same for losses with kinks, and the rounded problem to prove a bound with."""

    def minimise(soft: Problem, V: Array, accuracy: float) -> tuple[Array, int]:
        return _searched_newton(soft, lam, V, accuracy, until)

    return minimise_softly(problem, lam, start, accuracy, minimise)


def _ridge(problem: Problem, lam: Array) -> Array:
    """Exact minimiser for squared loss: (X' diag(lam) X + mu I) V = X' (lam y).

    Or by rows, where it costs less: V = X' S a, (S X X' S + mu I) a = S y, S = diag(sqrt(lam)),
    which needs only the s rows that have weight. With many columns that rows store as a few codes,
    by products with X and X'.
    """
    d, s, stored = problem.shape[0], int(np.count_nonzero(lam)), problem.rows.stored
    if stored < d and ROUNDS_COST * s * stored < s * stored**2 + d**3 / 3.0:
        V = _ridge_by_products(problem, lam)
        if V is not None:
            return V
    by_columns = s * d * d + d**3 / 3.0
    by_rows = s**3 / 3.0 + (0.0 if problem.outer is not None else float(s) * s * d)
    if by_columns <= by_rows:
        H = problem.gram(lam)
        H[np.diag_indices(d)] += problem.mu
        return solve_lifted(H, problem.combine((lam * problem.y)[:, None]))
    rows = np.flatnonzero(lam)
    roots = np.sqrt(lam[rows])[:, None]
    H = problem.row_products(rows)
    H *= roots
    H *= roots.T
    H[np.diag_indices(s)] += problem.mu
    dual = np.zeros((problem.n_rows, 1))
    dual[rows] = roots * solve_lifted(H, np.multiply(roots, problem.y[rows, None]))
    return problem.combine(dual)


def _ridge_by_products(problem: Problem, lam: Array) -> Array | None:
    """The same by conjugate gradients; None where they fail."""
    rows, weights = problem.rows, lam[:, None]

    def times(V: Array) -> Array:
        return rows.transposed_times(weights * rows.times(V)) + problem.mu * V

    diagonal = rows.gram_diagonal(lam) + problem.mu
    return solve_by_products(times, diagonal, problem.combine((lam * problem.y)[:, None]))


def _newton(
    problem: Problem, lam: Array, V: Array, accuracy: float, until: float
) -> tuple[Array, int]:
    """Newton steps with halving until ||gradient||^2 / (2 mu) <= accuracy.

    Near the end a step lowers the value by less than its rounding: it then counts if it makes the
    gradient shorter.
    """
    Z = problem.margins(V)
    value, gradient = problem.weighted_value(V, Z, lam), problem.gradient(V, Z, lam)
    length = float(np.sum(gradient**2))
    passes = 1
    for _ in range(NEWTON_STEPS):
        if length <= 2.0 * problem.mu * accuracy or perf_counter() >= until:
            break
        step = _newton_step(problem, Z, lam, gradient)
        decrease = float(np.sum(step * gradient))
        noise = 4.0 * EPS * value
        scale, moved = 1.0, False
        while scale > 1e-4 and not moved:
            trial = V - scale * step
            Z_trial = problem.margins(trial)
            new = problem.weighted_value(trial, Z_trial, lam)
            gradient = problem.gradient(trial, Z_trial, lam)
            new_length = float(np.sum(gradient**2))
            if scale * decrease <= noise:
                moved = new <= value + noise and new_length < length
            else:
                moved = new <= value - 1e-4 * scale * decrease
            scale *= 0.5
            passes += 1
        if not moved:
            break
        V, Z, value, length = trial, Z_trial, new, new_length
    return V, passes


def _searched_newton(
    problem: Problem, lam: Array, V: Array, accuracy: float, until: float
) -> tuple[Array, int]:
    """The same with a line search, where second derivatives jump or have no bound."""
    point = _weighted_point(problem, lam, V)
    passes = 1
    for _ in range(SEARCHED_STEPS):
        g = point.gradient
        if float(np.sum(g**2)) <= 2.0 * problem.mu * accuracy or perf_counter() >= until:
            break
        P = -_newton_step(problem, point.kept, lam, g)
        slope, x = float(np.vdot(g, P)), point.x
        first = step_within(problem, P)

        def there(
            t: float, x: Array = x, P: Array = P
        ) -> tuple[EvaluatedPoint[Array], float, float]:
            nonlocal passes
            passes += 1
            new = _weighted_point(problem, lam, x + t * P)
            return new, new.value, float(np.vdot(new.gradient, P))

        found = line_search(there, point.value, slope, first, FLATTER) if slope < 0.0 else None
        if found is None:
            break
        point = found
    return point.x, passes


def _newton_step(problem: Problem, Z: Array, lam: Array, gradient: Array) -> Array:
    """H^-1 g for the second derivative at margins Z. (d, k)."""
    if by_products(problem):
        return ProductCurvature(problem, Z, lam).solve(gradient)
    return solve_lifted(problem.hessian(Z, lam), gradient.reshape(-1, 1)).reshape(gradient.shape)


def step_within(problem: Problem, P: Array) -> float:
    """The fraction of a step P that moves no margin beyond the reach of the loss, at most 1."""
    reach = problem.loss.reach
    if np.isinf(reach):
        return 1.0
    return min(1.0, reach / max(float(np.abs(problem.margins(P)).max()), reach))


def _weighted_point(problem: Problem, lam: Array, V: Array) -> EvaluatedPoint[Array]:
    """Value and gradient of lam.l(V) + mu/2 ||V||^2, and the margins of V."""
    Z = problem.margins(V)
    losses, derivatives = problem.loss.values_and_derivatives(Z, problem.y)
    value = float(core.compensated_dot(lam, losses)) + problem.penalty(V)
    return EvaluatedPoint(V, value, problem.pull(derivatives, lam) + problem.mu * V, Z)


def _lbfgs(
    problem: Problem,
    lam: Array,
    V: Array,
    accuracy: float,
    curvature: InverseCurvature,
    until: float,
) -> tuple[Array, int]:
    """The same by L-BFGS, for many unknowns.

    Where it is slow and the second derivative can be held, that becomes the preconditioner.
    """
    passes = 0

    def point_at(V: Array) -> EvaluatedPoint[Array]:
        nonlocal passes
        passes += 1
        return _weighted_point(problem, lam, V)

    def near(point: EvaluatedPoint[Array]) -> bool:
        return float(np.sum(point.gradient**2)) <= 2.0 * problem.mu * accuracy

    matrix_fits = V.size <= MATRIX_SIZE
    last = MAX_EVALUATIONS
    if matrix_fits:
        last = FIRST_ROUND if curvature.inverse is None else ROUND

    def done(point: EvaluatedPoint[Array], _: float) -> bool:
        return near(point) or passes >= last or perf_counter() >= until

    point = point_at(V)
    while True:
        point = descend(point_at, point, done, curvature.inverse)
        ended = passes < last or passes >= MAX_EVALUATIONS
        if near(point) or ended or perf_counter() >= until:
            break
        curvature.inverse, last = inverse_of(problem.hessian(point.kept, lam)), last + ROUND
    return point.x, passes
