"""SEVER (Diakonikolas, Kamath, Kane, Li, Steinhardt, Stewart: ICML 2019).

Repeat: fit W to the rows left; score them by the size of their centred gradient along the top
singular direction of all centred gradients; drop the fraction eps/2 with the largest scores.
Classes are filtered one by one, as in the authors' code, which runs 4 rounds on numbers and 2 on
classes.
"""

from typing import Any

import numpy as np

from lrisk_cli.baselines.common import BaselineFit, Setting, even_weights, refit
from lrisk_cli.names import Task
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array, Flags, Index

ROUNDS = {Task.REGRESSION: 4, Task.CLASSIFICATION: 2}
# Residual of the singular direction, relative: scores are cut at a quantile, not compared closely.
ACCURACY = 1e-8
TINY = float(np.finfo(np.float64).tiny)


def gradient_scores(rows: Rows, derivatives: Array, seed: int) -> Array:
    """|(g_i - mean g).v|, g_i = x_i slopes_i', v the direction in which they vary most. (n,)."""
    from scipy.sparse.linalg import LinearOperator, eigsh  # takes a while to load

    (n, d), k = rows.shape, derivatives.shape[1]
    mean = rows.transposed_times(derivatives) / n

    def along(V: Array) -> Array:
        V = V.reshape(d, k)
        return np.asarray(np.sum(derivatives * rows.times(V), axis=1) - np.sum(mean * V))

    def back(u: Array) -> Array:
        # What `along` gives sums to 0, so the mean need not be taken off again.
        return rows.transposed_times(derivatives * u[:, None]).ravel()

    if d * k == 1:
        return np.abs(along(np.ones(1)))
    start = np.random.Generator(np.random.PCG64(seed)).standard_normal(d * k)
    if not np.any(back(along(start))):
        return np.zeros(n)
    square: Any = LinearOperator((d * k, d * k), matvec=lambda V: back(along(V)), dtype=np.float64)
    _, V = eigsh(square, k=1, v0=start, tol=ACCURACY)
    return np.abs(along(V[:, 0]))


def survivors(scores: Array, fraction: float) -> Flags:
    """Scores below their (1 - fraction)-quantile; all of them, if that would leave none. (n,)."""
    stay = scores < np.quantile(scores, 1.0 - fraction)
    return stay if fraction > 0.0 and stay.any() else np.ones(len(scores), dtype=np.bool_)


def filter_rows(problem: Problem, W: Array, left: Flags, setting: Setting) -> tuple[Flags, Array]:
    """The rows that stay, and scores from 0 to 1, 0 for rows that were not judged. (n,), (n,)."""
    derivatives = problem.loss.derivatives(problem.margins(W), problem.y)
    stay, scores = left.copy(), np.zeros(problem.n_rows)
    for group in _groups(problem, left):
        found = gradient_scores(problem.rows.take(group), derivatives[group], setting.seed)
        stay[group] = survivors(found, 0.5 * setting.eps)
        scores[group] = found / max(float(found.max()), TINY)
    return stay, scores


def _groups(problem: Problem, left: Flags) -> list[Index]:
    """The rows left: together for a number, class by class otherwise."""
    if problem.loss.task is Task.REGRESSION:
        return [np.flatnonzero(left)]
    return [np.flatnonzero(left & (problem.y == label)) for label in np.unique(problem.y[left])]


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Filter for setting.parameter rounds (0: as many as the paper), then fit to what is left.

    scores: the rounds that a row missed, plus its score relative to the largest in its last round.
    """
    n_rounds = int(setting.parameter) or ROUNDS[problem.loss.task]
    left, scores = np.ones(problem.n_rows, dtype=np.bool_), np.zeros(problem.n_rows)
    W = refit(problem, problem.sigma)
    for done in range(n_rounds):
        stay, found = filter_rows(problem, W, left, setting)
        scores[left] = found[left] + np.where(stay[left], 0, n_rounds - done)
        if np.array_equal(stay, left):
            break
        left = stay
        W = refit(problem, even_weights(left), W)
    note = f"{np.count_nonzero(~left)} rows dropped in at most {n_rounds} rounds"
    return BaselineFit(W, even_weights(left), scores, note)
