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


def rising_optimum(problem: Problem, start: np.ndarray) -> float:
    """min over W of a rising risk of any loss with one output, as a sum of top sums (SLSQP).

    R = sum_k (sigma_k - sigma_(k-1)) T_k, T_k the sum of the m = n - k + 1 largest losses, which is
    min over t and u of m t + sum(u), u >= losses - t, u >= 0. start: W to begin at.
    """
    rises = np.diff(problem.sigma, prepend=0.0)
    levels = np.flatnonzero(rises > 1e-12)
    (n, d), X = problem.rows.shape, matrix(problem)
    shares, counts = rises[levels], n - levels
    scale = float(problem.loss.values(np.zeros((n, 1)), problem.y).max())

    def split(v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return v[:d], scale * v[d : d + len(levels)], scale * v[d + len(levels) :].reshape(-1, n)

    def value(v: np.ndarray) -> float:
        W, t, u = split(v)
        return float(shares @ (counts * t + u.sum(axis=1)) + 0.5 * problem.mu * W @ W) / scale

    def value_gradient(v: np.ndarray) -> np.ndarray:
        slacks = np.repeat(shares, n)
        return np.concatenate([problem.mu * v[:d] / scale, shares * counts, slacks])

    def slack(v: np.ndarray) -> np.ndarray:
        W, t, u = split(v)
        losses = problem.loss.values((X @ W)[:, None], problem.y)
        return ((u + t[:, None] - losses) / scale).ravel()

    def slack_gradient(v: np.ndarray) -> np.ndarray:
        Z = (X @ v[:d])[:, None]
        rows = -problem.loss.derivatives(Z, problem.y) * X / scale
        t = np.repeat(np.eye(len(levels)), n, axis=0)
        return np.hstack([np.tile(rows, (len(levels), 1)), t, np.eye(n * len(levels))])

    losses = problem.loss.values((X @ start)[:, None], problem.y) / scale
    t = np.sort(losses)[levels]
    u = np.maximum(losses - t[:, None], 0.0).ravel()
    found = optimize.minimize(
        value, np.concatenate([start, t, u]), jac=value_gradient, method="SLSQP",
        constraints={"type": "ineq", "fun": slack, "jac": slack_gradient},
        bounds=[(None, None)] * (d + len(levels)) + [(0, None)] * (n * len(levels)),
        options={"ftol": 1e-15, "maxiter": 500},
    )  # fmt: skip
    # What is attained at W, which no bound may exceed.
    W = found.x[:d]
    attained = np.sort(problem.loss.values((X @ W)[:, None], problem.y)) @ problem.sigma
    return float(attained + 0.5 * problem.mu * W @ W)
