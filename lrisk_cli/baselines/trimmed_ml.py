"""Trimmed maximum likelihood (Awasthi, Das, Kong, Sen: NeurIPS 2022).

Alternate S = the h rows of least loss (largest likelihood) and W = the fit to S, from the fit to
all rows. Neither step raises (1/h) sum_{i in S} l_i(W) + mu/2 ||W||^2, so it ends. The paper
trims twice the fraction of bad rows (factor 2); factor 1 keeps as many as are thought good.
"""

import numpy as np

from lrisk_cli.baselines.common import (
    BaselineFit,
    Setting,
    even_weights,
    losses_at,
    percent,
    refit,
)
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array, Flags

MAX_STEPS = 200


def alternate(problem: Problem, n_kept: int) -> tuple[Array, Flags, list[float]]:
    """The last W, the rows it was fitted to, and the objective after each step."""
    W = refit(problem, problem.sigma)
    kept = least(losses_at(problem, W), n_kept)
    objectives: list[float] = []
    for _ in range(MAX_STEPS):
        W = refit(problem, even_weights(kept), W)
        losses = losses_at(problem, W)
        objectives.append(float(losses[kept].mean()) + problem.penalty(W))
        renewed = least(losses, n_kept)
        if np.array_equal(renewed, kept):
            break
        kept = renewed
    return W, kept, objectives


def least(losses: Array, n_kept: int) -> Flags:
    """True for the n_kept least losses, ties by row number. (n,)."""
    kept = np.zeros(len(losses), dtype=np.bool_)
    kept[np.argsort(losses, kind="stable")[:n_kept]] = True
    return kept


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Trim round(factor eps n) rows, factor = setting.parameter, but keep one."""
    n = problem.n_rows
    n_kept = max(n - round(setting.parameter * setting.eps * n), 1)
    W, kept, objectives = alternate(problem, n_kept)
    end = "settled" if len(objectives) < MAX_STEPS else "not settled"
    note = f"{percent(kept)} of the rows kept, {end} after {len(objectives)} fits"
    return BaselineFit(W, even_weights(kept), losses_at(problem, W), note)
