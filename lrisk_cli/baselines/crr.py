"""CRR: consistent robust regression (Bhatia, Jain, Kamalaruban, Kar: NIPS 2017).

Targets are X w + b + noise with a sparse b. Alternate w = ridge(X, y - b) and b = HT_k(y - X w),
which keeps the k largest residuals and sets the others to 0; k = round(eps n).
"""

import numpy as np
from scipy import linalg

from lrisk_cli.baselines.common import (
    BaselineFit,
    Setting,
    even_weights,
    losses_at,
    metric,
    residuals_at,
)
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

MAX_STEPS = 3000
# Settled when b moves by less than this fraction of y.
TOLERANCE = 1e-10


def hard_threshold(residuals: Array, k: int) -> Array:
    """HT_k: the k residuals of largest size, 0 elsewhere. (n,)."""
    b = np.zeros_like(residuals)
    if k > 0:
        largest = np.argpartition(np.abs(residuals), len(residuals) - k)[len(residuals) - k :]
        b[largest] = residuals[largest]
    return b


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Alternate until b settles. One Cholesky factor serves all steps."""
    n, y = problem.n_rows, problem.y
    k = round(setting.eps * n)
    factor = metric(problem, problem.sigma)
    b, steps, settled = np.zeros(n), 0, False
    least_move = TOLERANCE * float(np.linalg.norm(y))
    while steps < MAX_STEPS and not settled:
        W = linalg.cho_solve(factor, problem.combine((y - b)[:, None] / n))
        renewed = hard_threshold(residuals_at(problem, W), k)
        settled = float(np.linalg.norm(renewed - b)) <= least_move
        b, steps = renewed, steps + 1
    end = "settled" if settled else "not settled"
    note = f"{k} rows taken for corrupted, {end} after {steps} steps"
    return BaselineFit(np.ascontiguousarray(W), even_weights(b == 0.0), losses_at(problem, W), note)
