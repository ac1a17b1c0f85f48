"""STIR: stagewise truncated reweighting (Mukhoty, Gopakumar, Jain, Kar: AISTATS 2019).

In the stage with truncation M, weigh rows by s_i = min(1/|r_i|, M), r = y - X w, and refit until
w moves by at most 2/(eta M); then M <- eta M. The first M is 1/max |y|, where the weights are
even; the last is where 1/M is a hundredth of the median residual (least absolute deviations, in
effect) or nothing but rounding is left. The paper has no penalty; the weights are scaled so that
the row in the middle weighs 1/n, as in ridge, against mu.
"""

import numpy as np

from lrisk_cli.baselines.common import BaselineFit, Setting, losses_at, refit, residuals_at
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

MAX_FITS, MAX_FITS_PER_STAGE = 500, 50
FINE = 100.0
# Residuals below this fraction of the largest target are rounding.
ROUNDING = 1e-14


def truncated_weights(residuals: Array, M: float) -> Array:
    """min(1/|r|, M), scaled so that the row in the middle weighs 1/n. (n,)."""
    sizes = np.maximum(np.abs(residuals), 1.0 / M)
    return np.asarray(np.median(sizes) / sizes) / len(sizes)


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Run the stages, eta = setting.parameter, from w = 0."""
    eta = setting.parameter
    W = np.zeros(problem.shape)
    reach = float(np.max(np.abs(problem.y)))
    if reach == 0.0:
        return BaselineFit(W, None, losses_at(problem, W), "the target is 0 everywhere")
    M, residuals, n_fits = 1.0 / reach, residuals_at(problem, W), 0
    while n_fits < MAX_FITS:
        for _ in range(MAX_FITS_PER_STAGE):
            weights = truncated_weights(residuals, M)
            previous, W = W, refit(problem, weights)
            residuals, n_fits = residuals_at(problem, W), n_fits + 1
            if float(np.linalg.norm(W - previous)) <= 2.0 / (eta * M):
                break
        if M * max(float(np.median(np.abs(residuals))) / FINE, ROUNDING * reach) >= 1.0:
            break
        M *= eta
    note = f"{n_fits} weighted fits, residuals below {1.0 / M:.2g} count alike"
    return BaselineFit(W, weights / weights.sum(), losses_at(problem, W), note)
