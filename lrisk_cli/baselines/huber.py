"""Huber regression with its scale estimated too, the objective of scikit-learn's HuberRegressor.

Minimise  sum_i [ s + s H((y_i - x_i.w) / s) ] + n mu ||w||^2  in w and s > 0, where H(z) = z^2 up
to |z| = epsilon and 2 epsilon |z| - epsilon^2 beyond (Huber 1981; Owen 2007; convex in both).
Alternate the best s and one ridge fit with weights min(1, epsilon s / |r|): neither raises it.
"""

import numpy as np

from lrisk_cli.baselines.common import BaselineFit, Setting, losses_at, percent, refit, residuals_at
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

MAX_FITS = 500
# Settled when a fit lowers the objective by less than this fraction.
TOLERANCE = 1e-12
# A scale below this fraction of the largest target is rounding: most rows are met exactly.
ROUNDING = 1e-14


def best_scale(residuals: Array, epsilon: float) -> float:
    """The s with sum_i min((r_i/s)^2, epsilon^2) = n, which is the best; 0 where there is none.

    With the m least residuals uncapped and the others capped, s^2 = their sum of squares over
    n - epsilon^2 (n - m). That is too large for every m but the right one.
    """
    squares = np.sort(residuals**2)
    n = len(squares)
    room = n - epsilon * epsilon * np.arange(n - 1, -1, -1)
    possible = room > 0.0
    return float(np.sqrt(np.min(np.cumsum(squares)[possible] / room[possible])))


def huber_objective(problem: Problem, W: Array, s: float, epsilon: float) -> float:
    """What is minimised, at w and s."""
    z = np.abs(residuals_at(problem, W)) / s
    values = np.where(z <= epsilon, z * z, 2.0 * epsilon * z - epsilon * epsilon)
    return s * float(np.sum(1.0 + values)) + 2.0 * problem.n_rows * problem.penalty(W)


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Alternate from the ridge fit until the objective settles; epsilon = setting.parameter."""
    epsilon, n = setting.parameter, problem.n_rows
    least_scale = ROUNDING * float(np.max(np.abs(problem.y)))
    W, weights, value, end = refit(problem, problem.sigma), problem.sigma, np.inf, "not settled"
    for n_fits in range(1, MAX_FITS + 1):  # noqa: B007
        residuals = residuals_at(problem, W)
        s = best_scale(residuals, epsilon)
        if s <= least_scale:
            end = "most rows are met exactly"
            break
        previous, value = value, huber_objective(problem, W, s, epsilon)
        if previous - value <= TOLERANCE * value:
            end = "settled"
            break
        weights = np.minimum(1.0, epsilon * s / np.maximum(np.abs(residuals), s * epsilon))
        W = refit(problem, weights / (n * s))
    beyond = f"{percent(weights < 1.0)} of the rows beyond {epsilon:g} times the scale {s:.3g}"
    note = f"{beyond}; {end} after {n_fits} fits"
    return BaselineFit(W, weights / weights.sum(), losses_at(problem, W), note)
