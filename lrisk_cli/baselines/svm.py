"""Linear support vectors on the features, by liblinear through scikit-learn.

    classes   mean_i max(0, 1 - y_i x_i.w) + mu/2 ||w||^2   (y = +-1; several: one against the rest)
    numbers   mean_i max(0, |y_i - x_i.w| - 0.1) + mu/2 ||w||^2

that is C = 1/(n mu), and the insensitivity 0.1 of scikit-learn's SVR. The constant column is
penalised like the others, as in lrisk's own fits.
"""

import warnings
from typing import Any

import numpy as np

from lrisk_cli.baselines.common import BaselineFit, Setting, losses_at, need_sklearn
from lrisk_cli.errors import DataError
from lrisk_cli.names import Task
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

INSENSITIVE = 0.1
# Iterations are cheap: liblinear shrinks the set of active rows.
MAX_ITERATIONS = 100000


def fit(problem: Problem, setting: Setting) -> BaselineFit:
    """Hinge or insensitive losses in place of the problem's."""
    need_sklearn("svm")
    from sklearn.exceptions import ConvergenceWarning

    cost = 1.0 / (problem.n_rows * problem.mu)
    options = {"C": cost, "fit_intercept": False, "dual": True, "max_iter": MAX_ITERATIONS,
               "random_state": setting.seed32}  # fmt: skip
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        numbers = problem.loss.task is Task.REGRESSION
        W = _numbers(problem, options) if numbers else _classes(problem, options)
    note = f"C = {cost:.6g}"
    if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
        note += f"; liblinear stopped after {MAX_ITERATIONS} iterations, short of its optimum"
    return BaselineFit(W, None, losses_at(problem, W), note)


def _numbers(problem: Problem, options: dict[str, Any]) -> Array:
    from sklearn.svm import LinearSVR

    svr = LinearSVR(epsilon=INSENSITIVE, loss="epsilon_insensitive", **options)
    svr.fit(problem.rows.dense_rows(slice(None)), problem.y)
    return np.ascontiguousarray(svr.coef_.reshape(-1, 1))


def _classes(problem: Problem, options: dict[str, Any]) -> Array:
    from sklearn.svm import LinearSVC

    present = np.unique(problem.y).astype(np.intp)
    if len(present) < 2:
        raise DataError("svm: the rows hold one class only; use more rows or leave svm out")
    svc = LinearSVC(loss="hinge", **options)
    svc.fit(problem.rows.dense_rows(slice(None)), problem.y)
    coefs = svc.coef_.T
    n_outputs = problem.loss.n_outputs
    if n_outputs == 1:
        return np.ascontiguousarray(coefs)
    if len(present) == 2:
        coefs = np.hstack([-coefs, coefs])
    # An absent class gets the mean of the others, which is never the largest margin.
    W = np.repeat(coefs.mean(axis=1, keepdims=True), n_outputs, axis=1)
    W[:, present] = coefs
    return np.ascontiguousarray(W)
