"""Where the arithmetic gives out a fit ends with the gap that it can prove; bounds stay bounds."""

from fractions import Fraction

import numpy as np
import pytest

from helpers.problems import small_problem
from lrisk_cli.errors import InvalidOption
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.models.fitting import FitOptions, check_fit
from lrisk_cli.names import SmoothingName, SolverName
from lrisk_cli.risk.row_weights import Smoothing, Tied
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import lower_bound, repair_weights
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.rounding import Evaluation, evaluate
from lrisk_cli.solvers.rowspace import RowCurvature
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import GAVE_OUT, Limits, SolverRun


def table(seed: int, n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X.sum(axis=1) + rng.normal(size=n)


def one_huge_cell(loss: str, risk: str) -> Problem:
    X, y = table(0, 50, 2)
    X[25, 0] = 1e30
    return make_problem(DenseRows(X), y, make_loss(loss), parse_risk(risk), 1.0 / 50)


def one_huge_cell_in_a_small_column(loss: str, risk: str) -> Problem:
    X, y = table(6, 20, 2)
    X[:, 0] *= 0.01
    X[10, 0] = 1.3e8
    X = np.column_stack([X, np.ones(20)])
    return make_problem(DenseRows(X), y, make_loss(loss), parse_risk(risk), 1e-6)


@pytest.mark.parametrize("solver", [SolverName.NEWTON, SolverName.LBFGS])
@pytest.mark.parametrize("risk", ["superquantile:0.5", "superquantile:0.9", "extremile:2"])
@pytest.mark.parametrize("loss", ["squared", "huber:1"])
@pytest.mark.parametrize("make", [one_huge_cell, one_huge_cell_in_a_small_column])
def test_a_fit_of_columns_that_no_matrix_can_hold_ends_with_a_gap(make, loss, risk, solver):
    problem = make(loss, risk)
    found = solve(problem, SolverOptions(solver), Limits(max_passes=200))
    zero = problem.at(np.zeros(problem.shape), problem.row_weighter())
    assert 0.0 <= found.certificate.lower_bound <= found.objective <= zero.objective
    assert np.isfinite(found.W).all()
    assert found.status.startswith(("converged: gap", "not converged: stopped"))


def test_weights_of_which_nothing_is_left_become_equal():
    sigma = parse_risk("extremile:2").weights(5)
    for lost in (np.zeros(5), np.full(5, -1.0), np.full(5, np.nan), np.array([np.inf, 0, 0, 0, 0])):
        lam, excess = repair_weights(lost, sigma)
        np.testing.assert_allclose(lam, 0.2, rtol=1e-15)
        assert 0.0 <= excess < 1e-15


def test_a_gradient_whose_squares_underflow_still_lowers_the_bound():
    norm, mu = 1e-170, 1e-300
    exact = Fraction(norm) ** 2 / (2 * Fraction(mu))
    slack = Fraction(Evaluation(1e-30, 0.0, norm, 0.0).slack(mu))
    assert exact <= slack <= exact * (1 + Fraction(1, 10**10))


@pytest.mark.parametrize(("x", "y", "mu"), [(1e-155, 1e-10, 1e-308), (1e-160, 1.0, 3e-308)])
def test_bounds_hold_where_squares_of_gradients_underflow(x, y, mu):
    loss, risk = make_loss("squared"), parse_risk("mean")
    problem = make_problem(DenseRows(np.array([[x]])), np.array([y]), loss, risk, mu)
    bound = lower_bound(problem, np.ones(1), np.zeros((1, 1)), accuracy=1e-40)
    # min over v of (y - x v)^2 / 2 + mu/2 v^2.
    X, Y, M = Fraction(x), Fraction(y), Fraction(mu)
    assert Fraction(bound.value) <= Y**2 / 2 * M / (M + X**2)


def test_coefficients_that_underflow_count_as_errors_of_the_gradient():
    x, y = np.array([[1e300], [1.0]]), np.array([0.0, 1e-30])
    problem = make_problem(DenseRows(x), y, make_loss("squared"), parse_risk("mean"), 1.0)
    lam = np.array([1e-310, 1.0])
    V = np.array([[1.3e-314]])
    at = evaluate(problem, lam, V)
    exact = sum(
        Fraction(w) * (Fraction(float(a)) * Fraction(V[0, 0]) - Fraction(t)) * Fraction(float(a))
        for w, (a,), t in zip(lam.tolist(), x, y.tolist(), strict=True)
    ) + Fraction(V[0, 0])
    assert abs(abs(exact) - Fraction(at.norm)) <= Fraction(at.norm_error)


def test_a_bound_above_a_rounded_objective_is_lowered_by_what_that_may_be_off():
    problem = small_problem()
    run = SolverRun(problem, Limits())
    point = problem.at(np.zeros(problem.shape), run.row_weighter)
    run.begin(point.objective, point.smoothed)
    run.bound = point.objective * (1.0 + 1e-12)
    found = run.solution(GAVE_OUT)
    error = evaluate(problem, point.lam, point.W).value_error
    assert found.certificate.absolute_gap == pytest.approx(error, rel=0.5)
    assert found.certificate.gap > 0.0


def test_a_point_that_turns_out_worse_than_zero_is_not_kept():
    problem = small_problem()
    run = SolverRun(problem, Limits())
    zero = problem.at(np.zeros(problem.shape), run.row_weighter)
    run.begin(zero.objective, zero.smoothed)
    run.offer(np.full(problem.shape, 100.0), 0.5 * zero.objective, 0.5 * zero.smoothed)
    run.prove(zero.lam)
    found = run.solution(GAVE_OUT)
    assert found.objective == zero.objective
    assert not found.W.any()
    assert found.status.startswith(f"not converged: {GAVE_OUT} with gap")


@pytest.mark.parametrize("nu", [1e40, 1e131])
def test_a_smoothing_beyond_all_losses_ends_with_finite_gaps(nu):
    smoothing = Smoothing(SmoothingName.L2, nu)
    problem = small_problem("logistic", "superquantile:0.9", smoothing=smoothing, n_rows=12)
    found = solve(problem, SolverOptions(SolverName.LSVRG), Limits(max_passes=30))
    assert np.isfinite([found.smoothed.gap, found.certificate.gap]).all()
    assert found.smoothed.gap >= 0.0
    assert found.certificate.gap >= 0.0


def test_tied_rows_that_do_not_bend_are_left_out_of_the_space_of_rows():
    X, y = table(1, 6, 6)
    # Rows 1 and 2 are predicted exactly and have no weight: they neither bend nor pull.
    y[1:3] = 0.0
    loss, risk = make_loss("squared"), parse_risk("superquantile:0.5")
    rows = DenseRows(X)
    problem = make_problem(rows, y, loss, risk, 0.1, outer=rows.row_products())
    lam, nu = np.array([0.3, 0.0, 0.0, 0.3, 0.3, 0.1]), 0.5
    tied = Tied(np.array([0, 1, 2, 4]), np.array([4]))
    found = RowCurvature(problem, np.zeros((6, 1)), lam, tied, nu)
    gradients = -y[tied.rows, None] * X[tied.rows]
    centred = gradients - gradients.mean(axis=0)
    H = X.T @ (lam[:, None] * X) + centred.T @ centred / nu + 0.1 * np.eye(6)
    g = np.arange(1.0, 7.0)[:, None]
    np.testing.assert_allclose(found.solve(g), np.linalg.solve(H, g), rtol=1e-9)


def test_a_penalty_without_all_its_digits_is_refused():
    with pytest.raises(InvalidOption, match=r"must be at least 2\.23e-308"):
        check_fit(FitOptions(parse_risk("mean"), l2=1e-310))
    check_fit(FitOptions(parse_risk("mean"), l2=1e-307))
