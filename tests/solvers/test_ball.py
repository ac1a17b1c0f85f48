"""Projections on norm bounds, starts and schedules of the subgradient method, stationarity."""

import numpy as np
import pytest
from scipy.optimize import minimize

from helpers.problems import small_problem
from lrisk_cli.names import SolverName, StartName, StepSchedule
from lrisk_cli.solvers.ball import Ball
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.subgradient import first_coefficients

SUBGRADIENT = SolverName.SUBGRADIENT


@pytest.mark.parametrize("each", [False, True])
def test_a_projection_is_the_nearest_point_and_reach_the_maximum(each):
    rng = np.random.default_rng(2)
    ball, W = Ball(1.5, each), rng.standard_normal((4, 3))
    found = ball.project(W)
    lengths = np.linalg.norm(found, axis=0) if each else np.linalg.norm(found)
    assert np.max(lengths) <= 1.5 * (1 + 1e-12)
    for _ in range(200):
        V = ball.project(3.0 * rng.standard_normal((4, 3)))
        assert np.linalg.norm(V - W) >= np.linalg.norm(found - W) - 1e-12
        assert np.sum(V * W) <= ball.reach(W) + 1e-12
    assert ball.project(found) is found or np.allclose(ball.project(found), found)


def test_the_bound_of_each_class_is_that_of_k0_s_algorithm_2():
    """Convex: SciPy's SLSQP with one constraint for each class finds the same optimum."""
    problem = small_problem("logistic", "extremile:2", n_classes=3, mu=0.05)
    options = SolverOptions(SUBGRADIENT, norm_bound=0.3, bound_classes=True)
    found = solve(problem, options, Limits(tol=1e-9, max_passes=20_000))
    assert np.linalg.norm(found.W, axis=0).max() == pytest.approx(0.3, abs=1e-9)

    def value(w):
        return problem.at(w.reshape(problem.shape), problem.row_weighter()).objective

    constraints = [
        {"type": "ineq", "fun": lambda w, c=c: 0.09 - np.sum(w.reshape(problem.shape)[:, c] ** 2)}
        for c in range(3)
    ]
    best = minimize(value, np.zeros(problem.shape).ravel(), method="SLSQP", constraints=constraints)
    assert found.objective == pytest.approx(best.fun, rel=1e-4)


def test_starts_have_the_distributions_that_they_name():
    problem = small_problem(n_rows=200, n_columns=150)
    gaussian = first_coefficients(problem, StartName.GAUSSIAN, 1)
    assert gaussian.std() == pytest.approx(np.sqrt(2 / 151), rel=0.2)
    uniform = first_coefficients(problem, StartName.GLOROT, 1)
    assert np.abs(uniform).max() <= np.sqrt(6 / 151)
    dual = first_coefficients(problem, StartName.GLOROT_DUAL, 1)
    X = problem.rows.dense_rows(slice(None))
    A, *_ = np.linalg.lstsq(X.T, dual[:, 0], rcond=None)
    reach = np.sqrt(6 / 200)
    drawn = np.random.default_rng([1, 3]).uniform(-reach, reach, (200, 1))
    np.testing.assert_allclose(dual, X.T @ drawn, rtol=1e-9, atol=1e-12)
    assert np.linalg.norm(A) <= np.linalg.norm(drawn)


def test_schedules_divide_the_step():
    problem = small_problem(risk="mean")
    for schedule, divide in ((StepSchedule.SQRT, np.sqrt), (StepSchedule.INVERSE, float)):
        options = SolverOptions(SUBGRADIENT, 0.05, step_schedule=schedule)
        found = solve(problem, options, Limits(tol=0.0, max_passes=12.0))
        w, values = np.zeros(problem.shape), []
        for t in range(1, len(found.epochs)):
            point = problem.at(w, problem.row_weighter())
            gradient = problem.gradient(w, point.margins, point.lam)
            w = w - 0.05 / divide(t) * gradient
            values.append(problem.at(w, problem.row_weighter()).objective)
        np.testing.assert_allclose([e.objective for e in found.epochs[1:]], values, rtol=1e-10)


def test_stationarity_bounds_the_gradient_of_the_moreau_envelope():
    """The proximal point of the weighted problem, by SciPy; zero at the end of a search."""
    problem = small_problem(risk="subquantile:0.8", mu=0.05)
    ended = solve(problem, SolverOptions(), Limits(tol=1e-12))
    assert ended.stationarity < 1e-6
    early = solve(problem, SolverOptions(SUBGRADIENT), Limits(tol=0.0, max_passes=4.0))
    rho, W = 2.0, early.W
    proximal = minimize(
        lambda v: problem.weighted_value(v[:, None], problem.margins(v[:, None]), early.lam)
        + 0.5 * rho * np.sum((v[:, None] - W) ** 2),
        W[:, 0], tol=1e-12,
    )  # fmt: skip
    envelope = rho * np.linalg.norm(proximal.x[:, None] - W)
    assert envelope <= early.stationarity * (1 + 1e-6)
    assert envelope >= early.stationarity * rho / (rho + 50.0)
    assert solve(small_problem(), SolverOptions(), Limits()).stationarity is None


def test_stationarity_vanishes_on_the_boundary_of_a_norm_bound():
    problem = small_problem(risk="subquantile:0.8", mu=0.05)
    options = SolverOptions(SUBGRADIENT, norm_bound=0.4)
    found = solve(problem, options, Limits(tol=1e-9, max_passes=20_000))
    assert np.linalg.norm(found.W) == pytest.approx(0.4)
    assert found.stationarity < 1e-3


def test_a_run_from_a_start_far_worse_than_zero_goes_on_until_it_is_better():
    """Coefficients of the rows are drawn without regard to how large the rows are."""
    problem = small_problem(risk="subquantile:0.8", n_columns=12, mu=1e-3)
    limits = Limits(tol=1e-9, max_passes=20_000)
    zero = solve(problem, SolverOptions(SUBGRADIENT), limits)
    options = SolverOptions(SUBGRADIENT, start=StartName.GLOROT_DUAL)
    dual = solve(problem, options, limits)
    assert dual.epochs[0].objective > zero.epochs[0].objective
    assert dual.objective < zero.epochs[0].objective
    assert dual.objective == pytest.approx(zero.objective, rel=0.05)
