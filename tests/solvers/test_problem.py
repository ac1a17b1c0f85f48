"""The objective and its derivatives, against finite differences and plain NumPy."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from helpers.matrix import matrix
from helpers.problems import RISING, small_problem
from lrisk_cli.rows.dense import DenseRows

CASES = [("squared", 0), ("logistic", 2), ("logistic", 3)]


@pytest.mark.parametrize(("loss", "n_classes"), CASES)
@pytest.mark.parametrize("risk", RISING)
def test_objective_is_sorted_losses_times_sigma_plus_penalty(
    loss: str, n_classes: int, risk: str
) -> None:
    problem = small_problem(loss, risk, n_classes=n_classes)
    W = 0.3 * np.random.default_rng(1).standard_normal(problem.shape)
    point = problem.at(W, problem.row_weighter())
    losses = np.sort(problem.loss.values(matrix(problem) @ W, problem.y))
    expected = losses @ problem.sigma + 0.5 * problem.mu * np.sum(W**2)
    assert point.objective == pytest.approx(expected, rel=1e-13)
    assert point.lam @ point.losses == pytest.approx(losses @ problem.sigma, rel=1e-13)


@pytest.mark.parametrize(("loss", "n_classes"), CASES)
@pytest.mark.parametrize("risk", RISING)
def test_gradient_is_the_derivative_of_the_objective(loss: str, n_classes: int, risk: str) -> None:
    problem = small_problem(loss, risk, n_classes=n_classes)
    W = 0.3 * np.random.default_rng(1).standard_normal(problem.shape)
    row_weighter = problem.row_weighter()
    point = problem.at(W, row_weighter)
    gradient = problem.gradient(W, point.margins, point.lam)
    h = 1e-7
    for index in np.ndindex(*problem.shape):
        step = np.zeros(problem.shape)
        step[index] = h
        up, down = problem.at(W + step, row_weighter), problem.at(W - step, row_weighter)
        assert gradient[index] == pytest.approx((up.objective - down.objective) / (2 * h), abs=1e-6)


@pytest.mark.parametrize(("loss", "n_classes"), CASES)
def test_hessian_is_the_derivative_of_the_gradient(loss: str, n_classes: int) -> None:
    problem = small_problem(loss, "extremile:2", n_classes=n_classes)
    W = 0.3 * np.random.default_rng(1).standard_normal(problem.shape)
    Z = problem.margins(W)
    lam = problem.at(W, problem.row_weighter()).lam
    H, h = problem.hessian(Z, lam), 1e-6
    for at, index in enumerate(np.ndindex(*problem.shape)):
        step = np.zeros(problem.shape)
        step[index] = h
        up = problem.gradient(W + step, problem.margins(W + step), lam)
        down = problem.gradient(W - step, problem.margins(W - step), lam)
        np.testing.assert_allclose(H[:, at], ((up - down) / (2 * h)).ravel(), atol=1e-6)


def test_losses_that_overflow_give_an_infinite_objective() -> None:
    problem = small_problem()
    point = problem.at(np.full(problem.shape, 1e200), problem.row_weighter())
    assert point.objective == np.inf


@pytest.mark.parametrize("n_columns", [1, 5, 6, 7, 8, 9, 48, 64, 65, 130])
@pytest.mark.parametrize("weights", ["equal", "random", "mostly zero", "none"])
def test_gram_is_the_weighted_sum_of_outer_products(n_columns: int, weights: str) -> None:
    rng, n = np.random.default_rng(n_columns), 103
    X = np.ascontiguousarray(rng.standard_normal((n, n_columns)))
    w = {
        "equal": np.full(n, 0.7),
        "random": rng.random(n),
        "mostly zero": rng.random(n) * (rng.random(n) < 0.2),
        "none": np.zeros(n),
    }[weights]
    problem = replace(small_problem(), rows=DenseRows(X))
    np.testing.assert_allclose(problem.gram(w), X.T @ (w[:, None] * X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.9, 1.0])
@pytest.mark.parametrize(("loss", "n_classes"), CASES)
def test_rows_without_weight_pull_nowhere(loss: str, n_classes: int, share: float) -> None:
    problem, rng = small_problem(loss, n_classes=n_classes), np.random.default_rng(4)
    lam = rng.random(problem.n_rows) * (rng.random(problem.n_rows) < share)
    slopes = rng.standard_normal((problem.n_rows, problem.shape[1]))
    expected = matrix(problem).T @ (lam[:, None] * slopes)
    np.testing.assert_allclose(problem.pull(slopes, lam), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_columns", [3, 70])
@pytest.mark.parametrize("n_classes", [3, 6])
def test_the_hessian_of_a_softmax_is_its_definition(n_columns: int, n_classes: int) -> None:
    problem = small_problem("logistic", n_columns=n_columns, n_classes=n_classes)
    rng = np.random.default_rng(5)
    lam = rng.random(problem.n_rows) * (rng.random(problem.n_rows) < 0.5)
    Z = rng.standard_normal((problem.n_rows, n_classes))
    expected = problem.mu * np.eye(n_columns * n_classes)
    for x, p, weight in zip(matrix(problem), softmax(Z, axis=1), lam, strict=True):
        expected += weight * np.kron(np.outer(x, x), np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(problem.hessian(Z, lam), expected, rtol=1e-11, atol=1e-12)
