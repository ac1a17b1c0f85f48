"""RANSAC (Fischler, Bolles 1981): fit few rows, count the inliers, keep the best, refit to those.

Numbers: scikit-learn's RANSACRegressor with its defaults (least squares on as many rows as there
are columns, agreement within the median absolute deviation of y, trials until a good one is 99 %
certain) chooses the rows, and ridge is fitted to them. Classes: logistic fits to ten rows a
column, for fewer are separable and tell little; a row agrees when it is classified right. Either
takes at most half of the rows.
"""

import warnings

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.baselines.common import (
    BaselineFit,
    Setting,
    even_weights,
    losses_at,
    need_sklearn,
    percent,
    refit,
)
from lrisk_cli.errors import DataError
from lrisk_cli.names import Task
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.types import Array, Flags

ROWS_A_COLUMN = 10


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Look for a consensus in at most setting.parameter trials and refit to it."""
    n_trials = int(setting.parameter)
    n, d = problem.rows.shape
    if problem.loss.task is Task.REGRESSION:
        agree, tried = _regression_consensus(problem, setting, min(d, max(n // 2, 1)), n_trials)
    else:
        size = min(ROWS_A_COLUMN * d, max(n // 2, 1))
        agree, tried = class_consensus(problem, setting, size, n_trials), n_trials
    W = refit(problem, even_weights(agree))
    note = f"{percent(agree)} of the rows agree with the best of {tried} trials"
    return BaselineFit(W, even_weights(agree), losses_at(problem, W), note)


def _regression_consensus(
    problem: Problem, setting: Setting, size: int, n_trials: int
) -> tuple[Flags, int]:
    """scikit-learn's choice of rows, and its number of trials."""
    need_sklearn("ransac")
    from sklearn.linear_model import LinearRegression, RANSACRegressor

    ransac = RANSACRegressor(
        LinearRegression(fit_intercept=False), min_samples=size, max_trials=n_trials,
        random_state=setting.seed32,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ransac.fit(problem.rows.dense_rows(slice(None)), problem.y)
        except ValueError:
            raise DataError("ransac: no trial found rows that agree; leave ransac out") from None
    return ransac.inlier_mask_, int(ransac.n_trials_)


def class_consensus(problem: Problem, setting: Setting, size: int, n_trials: int) -> Flags:
    """The rows that the best of the trials classifies right; ties go to the lower loss. (n,)."""
    rng = np.random.Generator(np.random.PCG64(setting.seed))
    best, agree = (-1, 0.0), np.ones(problem.n_rows, dtype=np.bool_)
    for _ in range(n_trials):
        rows = np.sort(rng.permutation(problem.n_rows)[:size])
        few = make_problem(
            problem.rows.take(rows), problem.y[rows], problem.loss, Spectrum("mean"), problem.mu
        )
        Z = problem.margins(refit(few, few.sigma))
        right = predicted_classes(Z) == problem.y
        losses = problem.loss.values(Z, problem.y)
        count = int(np.count_nonzero(right))
        quality = (count, -float(losses[right].sum()))
        if quality > best:
            best, agree = quality, right
    return agree


def predicted_classes(Z: Array) -> NDArray[np.intp]:
    """The class of the largest margin, or of the sign of a single one. (n,)."""
    return np.asarray(Z[:, 0] > 0.0, dtype=np.intp) if Z.shape[1] == 1 else np.argmax(Z, axis=1)
