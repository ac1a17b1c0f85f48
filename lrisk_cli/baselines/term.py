"""TERM: tilted losses (Li, Beirami, Sanjabi, Smith: Tilted empirical risk minimization, ICLR 2021).

    F_t(W) = 1/t log( mean_i exp(t l_i(W)) ) + mu/2 ||W||^2,   gradient with weights softmax(t l)

t -> 0 is the mean, t -> inf the largest loss, t -> -inf the least. The losses are lrisk's, half
the squared error: the paper's code tilts the whole squared error, so its t is 2 t here. For t > 0
F_t is convex. For t < 0 it is not; it is minimised from W = 0 (where the paper's code starts) and
along t/64, t/16, t/4, t from the minimiser of the mean, and the lower end is kept.
"""

from typing import Any

import numpy as np
from scipy import linalg

from lrisk_cli.baselines.common import BaselineFit, Setting, losses_at, metric, refit
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

CONTINUATION = (1.0 / 64.0, 1.0 / 16.0, 0.25)
# Each round of L-BFGS works in the metric of the weights it starts with.
MAX_ROUNDS, MAX_ITERATIONS, MEMORY = 30, 60, 20
# Stop when g' H^-1 g, twice what a Newton step would gain, is this fraction of F_t(0).
TOLERANCE = 1e-14


def tilt(losses: Array, t: float) -> tuple[float, Array]:
    """1/t log mean exp(t l), and the weights softmax(t l). (n,)."""
    if not np.isfinite(losses).all():
        return np.inf, np.full(len(losses), 1.0 / len(losses))
    # From the loss that counts most: nothing overflows, and large losses hide no small ones.
    anchor = float(losses.min() if t < 0.0 else losses.max())
    u = t * (losses - anchor)
    weights = np.exp(u)
    value = np.log(weights.mean()) / t
    if float(u.min()) > -0.5:
        # Near the mean the logarithm is tiny, and 1/t would blow up its rounding.
        anchor = float(losses.mean())
        value = np.log1p(np.mean(np.expm1(t * (losses - anchor)))) / t
    return anchor + float(value), weights / weights.sum()


def tilted_objective(problem: Problem, t: float, W: Array) -> tuple[float, Array, Array]:
    """F_t(W), its gradient (d, k), and the weights (n,)."""
    Z = problem.margins(W)
    value, weights = tilt(problem.loss.values(Z, problem.y), t)
    return value + problem.penalty(W), problem.gradient(W, Z, weights), weights


def minimise_tilted(problem: Problem, t: float, W: Array) -> tuple[float, Array, Array]:
    """Descend from W to a stationary point of F_t: its value, W, and the weights there."""
    from scipy import optimize  # takes a while to load

    scale = tilt(problem.loss.values(np.zeros((problem.n_rows, W.shape[1])), problem.y), t)[0]
    value, gradient, weights = tilted_objective(problem, t, W)
    for _ in range(MAX_ROUNDS):
        factor, _ = metric(problem, weights)
        reduced = linalg.solve_triangular(factor, gradient, trans="T")
        if float(np.sum(reduced**2)) <= TOLERANCE * max(scale, np.finfo(np.float64).tiny):
            break
        found = optimize.minimize(
            _in_metric(problem, t, W, factor), np.zeros(W.size), jac=True, method="L-BFGS-B",
            options={"maxiter": MAX_ITERATIONS, "maxcor": MEMORY, "ftol": 0.0,
                     "gtol": np.sqrt(0.1 * TOLERANCE * scale / W.size)},
        )  # fmt: skip
        trial = W + linalg.solve_triangular(factor, found.x.reshape(W.shape))
        lower, gradient, weights = tilted_objective(problem, t, trial)
        if not lower < value:
            break
        value, W = lower, trial
    return value, W, weights


def _in_metric(problem: Problem, t: float, W: Array, factor: Array) -> Any:
    """F_t and its gradient in u, where V = W + R^-1 u and R' R is the metric."""

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        V = W + linalg.solve_triangular(factor, flat.reshape(W.shape))
        value, gradient, _ = tilted_objective(problem, t, V)
        return value, linalg.solve_triangular(factor, gradient, trans="T").ravel()

    return value_and_gradient


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Minimise F_t for t = setting.parameter."""
    t = setting.parameter
    W = refit(problem, problem.sigma)
    ends = []
    if t < 0.0:
        ends.append((*minimise_tilted(problem, t, np.zeros(problem.shape)), "zero"))
        for fraction in CONTINUATION:
            W = minimise_tilted(problem, fraction * t, W)[1]
    ends.append((*minimise_tilted(problem, t, W), "the mean's fit"))
    value, W, weights, start = min(ends, key=lambda end: end[0])
    n_effective = 1.0 / float(weights @ weights)
    note = f"tilted loss {value:.6g}, from {start}; as if on {n_effective:.0f} rows"
    return BaselineFit(W, weights, losses_at(problem, W), note)
