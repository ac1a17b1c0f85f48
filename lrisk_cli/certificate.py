"""Prove how far a convex fit can be from optimal.

For any weights lam in P(sigma), weak duality gives
    min over V of lam.l(V) + mu/2 ||V||^2  <=  min over W of R(W) + mu/2 ||W||^2  <=  F(W).
The left side is strongly convex, so value(V) - ||gradient(V)||^2 / (2 mu) at any V is below it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from lrisk_cli.kernels import core
from lrisk_cli.problem import Problem

Array = NDArray[np.float64]

# Above this many unknowns a logistic bound is polished by L-BFGS instead of Newton steps.
NEWTON_SIZE = 128
EPS = float(np.finfo(np.float64).eps)


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
    """Put the two sides together; at_zero is F(0)."""
    absolute = objective - lower_bound
    gained = max(at_zero - objective, 1e-6 * at_zero, np.finfo(np.float64).tiny)
    return Certificate(objective, lower_bound, absolute, absolute / gained)


def lower_bound(
    problem: Problem, lam: Array, start: Array, accuracy: float, *, near: bool = True
) -> Bound:
    """Bound the optimum from below with the weights lam, repaired into P(sigma).

    `start` is a guess of the minimiser of the lam-weighted problem; `near`: it may be so good that
    the bound there is within `accuracy` of the best for these weights. If it is not, the minimiser
    is computed.
    """
    lam = repair_weights(lam, problem.sigma)
    at_start = _bound_at(problem, lam, start) if near else None
    if at_start is not None and at_start[1] <= accuracy:
        return at_start[0]
    V, passes = weighted_minimiser(problem, lam, start, accuracy)
    bound, _ = _bound_at(problem, lam, V)
    if at_start is not None and at_start[0].value > bound.value:
        bound = at_start[0]
    return replace(bound, passes=passes + (2 if near else 1))


def _bound_at(problem: Problem, lam: Array, V: Array) -> tuple[Bound, float]:
    """The bound that V proves, and how much its gradient may have cost."""
    Z = problem.margins(V)
    value = problem.weighted_value(V, Z, lam)
    slack = float(np.sum(problem.gradient(V, Z, lam) ** 2)) / (2.0 * problem.mu)
    penalty = 0.0 if problem.smoothing is None else problem.smoothing.penalty(lam)
    bound = value - slack - _rounding(problem, lam, value, V, Z)
    return Bound(bound, bound - penalty, V, 1), slack


def repair_weights(lam: Array, sigma: Array) -> Array:
    """The nearest weights to lam, in effect, that lie in P(sigma) to rounding.

    Clip, renormalise, and mix with 1/n until the sums of the k least weights are at least those
    of sigma for every k.
    """
    lam = np.maximum(lam, 0.0)
    lam = lam / lam.sum()
    share = core.mixing_share(np.sort(lam), sigma)
    if share > 0.0:
        lam = (1.0 - share) * lam + share / len(lam)
    return lam


def _rounding(problem: Problem, lam: Array, value: float, V: Array, Z: Array) -> float:
    """What rounding may have added to the value: that of the losses and their sum, and that of
    the margins, dot products of d terms that may nearly cancel."""
    slopes = problem.loss.slopes(Z, problem.y)
    reach = float(core.rounding_reach(problem.X, V, slopes, lam))
    return EPS * (4.0 * value + (4.0 + len(V) / 8.0) * reach)


def weighted_minimiser(
    problem: Problem, lam: Array, start: Array, accuracy: float
) -> tuple[Array, int]:
    """Nearly minimise lam.l(V) + mu/2 ||V||^2; the passes it took."""
    if problem.loss.name == "squared":
        return _ridge(problem, lam), 1
    if start.size <= NEWTON_SIZE:
        return _newton(problem, lam, start, accuracy)
    return _lbfgs(problem, lam, start, accuracy)


def _ridge(problem: Problem, lam: Array) -> Array:
    """Exact minimiser for squared loss: (X' diag(lam) X + mu I) V = X' (lam y)."""
    n, d = problem.X.shape
    target = lam * problem.y
    if d <= n:
        H = problem.gram(lam)
        H[np.diag_indices(d)] += problem.mu
        return _solve(H, problem.combine(target[:, None]))
    # With fewer rows than columns: V = X' S a, (S X X' S + mu I) a = S y, S = diag(sqrt(lam)).
    roots = np.sqrt(lam)
    rows = problem.X * roots[:, None]
    H = rows @ rows.T
    H[np.diag_indices(n)] += problem.mu
    dual = _solve(H, np.multiply(roots, problem.y)[:, None])
    return problem.combine(roots[:, None] * dual)


def _solve(H: Array, rhs: Array) -> Array:
    """H^-1 rhs by Cholesky with one step of refinement; least squares where that breaks down."""
    try:
        factor = linalg.cho_factor(H)
    except linalg.LinAlgError:
        solution: Array = linalg.lstsq(H, rhs)[0]
        return solution
    solution = linalg.cho_solve(factor, rhs)
    return np.ascontiguousarray(solution + linalg.cho_solve(factor, rhs - H @ solution))


def _newton(
    problem: Problem, lam: Array, V: Array, accuracy: float, max_steps: int = 30
) -> tuple[Array, int]:
    """Newton steps with halving until ||gradient||^2 / (2 mu) <= accuracy."""
    Z = problem.margins(V)
    value = problem.weighted_value(V, Z, lam)
    passes = 1
    for _ in range(max_steps):
        gradient = problem.gradient(V, Z, lam)
        if float(np.sum(gradient**2)) <= 2.0 * problem.mu * accuracy:
            break
        step = _solve(problem.hessian(Z, lam), gradient.reshape(-1, 1)).reshape(V.shape)
        decrease = float(np.sum(step * gradient))
        scale, moved = 1.0, False
        while scale > 1e-4 and not moved:
            trial = V - scale * step
            Z_trial = problem.margins(trial)
            new = problem.weighted_value(trial, Z_trial, lam)
            moved = new <= value - 1e-4 * scale * decrease
            scale *= 0.5
            passes += 1
        if not moved:
            break
        V, Z, value = trial, Z_trial, new
    return V, passes


def _lbfgs(problem: Problem, lam: Array, V: Array, accuracy: float) -> tuple[Array, int]:
    """The same by L-BFGS, for many unknowns."""
    from scipy import optimize  # few fits need it, and it takes a while to load

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(V.shape)
        Z = problem.margins(W)
        return problem.weighted_value(W, Z, lam), problem.gradient(W, Z, lam).ravel()

    result = optimize.minimize(
        value_and_gradient, V.ravel(), jac=True, method="L-BFGS-B",
        options={"maxiter": 500, "maxfun": 600, "maxcor": 20, "ftol": 0.0,
                 "gtol": np.sqrt(2.0 * problem.mu * accuracy / V.size)},
    )  # fmt: skip
    return np.ascontiguousarray(result.x.reshape(V.shape)), int(result.nfev)
