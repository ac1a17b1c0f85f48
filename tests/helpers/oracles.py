"""Optima by general solvers, to compare with."""

import numpy as np
from scipy import optimize

from helpers.matrix import matrix
from lrisk_cli.solvers.problem import Problem


def superquantile_optimum(problem: Problem, q: float) -> float:
    """min over W, t, u of t + sum(u)/(n(1-q)) + mu/2 |W|^2, u >= losses - t, u >= 0 (SLSQP)."""
    n, d = problem.rows.shape

    def split(v: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        return v[:d], v[d], v[d + 1 :]

    def value(v: np.ndarray) -> float:
        W, t, u = split(v)
        return t + u.sum() / (n * (1 - q)) + 0.5 * problem.mu * W @ W

    def slack(v: np.ndarray) -> np.ndarray:
        W, t, u = split(v)
        return u + t - 0.5 * (matrix(problem) @ W - problem.y) ** 2

    def slack_jacobian(v: np.ndarray) -> np.ndarray:
        residual = matrix(problem) @ v[:d] - problem.y
        return np.hstack([-residual[:, None] * matrix(problem), np.ones((n, 1)), np.eye(n)])

    start = np.concatenate([np.zeros(d), [0.0], 0.5 * problem.y**2])
    found = optimize.minimize(
        value, start, method="SLSQP",
        constraints={"type": "ineq", "fun": slack, "jac": slack_jacobian},
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n, options={"ftol": 1e-14, "maxiter": 1000},
    )  # fmt: skip
    assert slack(found.x).min() > -1e-9, found.message
    return float(found.fun)
