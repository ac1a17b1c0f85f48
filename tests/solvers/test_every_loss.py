"""Huber's and Poisson losses by every solver: proved, and as good as what others find."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from sklearn.linear_model import HuberRegressor, PoissonRegressor

from helpers.losses import exact_loss, use_sixty_digits
from helpers.matrix import matrix
from helpers.oracles import rising_optimum
from helpers.problems import HARD_RISKS, RISING, small_problem
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits, Solution

use_sixty_digits()
# Beside the plain ones: Huber's loss that is nearly the absolute error, and nearly the square.
NEW_LOSSES = ["huber:0.5", "huber:1e-3", "huber:100", "poisson"]


def run(problem: Problem, solver: SolverName, tol: float = 1e-6, passes: float = 3000) -> Solution:
    return solve(problem, SolverOptions(solver), Limits(tol, passes, 60.0))


@pytest.mark.parametrize("risk", ["mean", *HARD_RISKS])
@pytest.mark.parametrize("name", NEW_LOSSES)
def test_newton_and_lbfgs_prove_every_rising_risk(name: str, risk: str) -> None:
    problem = small_problem(name, risk, n_rows=200)
    newton, lbfgs = (run(problem, each) for each in (SolverName.NEWTON, SolverName.LBFGS))
    assert newton.certificate.gap <= 1e-6
    assert lbfgs.certificate.gap <= 1e-6
    assert newton.certificate.lower_bound <= lbfgs.objective
    assert lbfgs.certificate.lower_bound <= newton.objective


@pytest.mark.parametrize("solver", [SolverName.LSVRG, SolverName.SGD, SolverName.SRDA])
@pytest.mark.parametrize("risk", ["mean", "extremile:2", "superquantile:0.5"])
@pytest.mark.parametrize("name", ["huber:0.5", "poisson"])
def test_stochastic_solvers_prove_what_they_found(name: str, risk: str, solver: SolverName) -> None:
    problem = small_problem(name, risk, n_rows=200)
    best = run(problem, SolverName.NEWTON, 1e-9)
    found = run(problem, solver, passes=300)
    assert found.certificate.lower_bound <= best.objective
    assert best.certificate.lower_bound <= found.objective
    gained = best.certificate.absolute_gap / best.certificate.gap
    assert found.objective - best.objective <= 0.02 * gained
    if solver is SolverName.LSVRG:
        assert found.certificate.gap <= 1e-5


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("risk", RISING)
@pytest.mark.parametrize("name", ["huber:0.5", "huber:1e-6", "poisson"])
def test_many_unknowns_are_proved_by_columns_and_by_rows(
    name: str, risk: str, kernel: bool
) -> None:
    problem = small_problem(name, risk, n_rows=150, n_columns=140)
    X = 0.2 * matrix(problem)
    outer = X @ X.T if kernel else None
    problem = make_problem(
        DenseRows(X), problem.y, problem.loss, problem.spectrum, problem.mu, None, outer
    )
    assert run(problem, SolverName.NEWTON).certificate.gap <= 1e-6


@pytest.mark.parametrize("risk", [*RISING[1:], "superquantile:0.99"])
@pytest.mark.parametrize("name", ["huber:0.5", "poisson"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_general_solver_finds_nothing_better(name: str, risk: str, seed: int) -> None:
    problem = small_problem(name, risk, n_rows=14, n_columns=3, seed=seed)
    found = run(problem, SolverName.NEWTON, 1e-10)
    other = rising_optimum(problem, 0.9 * found.W[:, 0])
    gained = found.certificate.absolute_gap / found.certificate.gap
    assert found.certificate.lower_bound <= other
    assert abs(other - found.objective) <= 1e-5 * gained


@pytest.mark.parametrize("name", NEW_LOSSES)
def test_a_general_solver_finds_the_same_mean(name: str) -> None:
    problem = small_problem(name, "mean", mu=0.01)
    X, n = matrix(problem), problem.n_rows

    def objective(W: np.ndarray) -> tuple[float, np.ndarray]:
        Z = (X @ W)[:, None]
        value = problem.loss.values(Z, problem.y).mean() + 0.005 * W @ W
        return value, (X.T @ problem.loss.derivatives(Z, problem.y))[:, 0] / n + 0.01 * W

    options = {"gtol": 1e-12, "ftol": 1e-15, "maxiter": 5000}
    other = optimize.minimize(
        objective, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options
    )
    found = run(problem, SolverName.NEWTON, 1e-12)
    np.testing.assert_allclose(found.objective, other.fun, rtol=1e-7)
    assert found.certificate.lower_bound <= other.fun * (1 + 1e-14)


@pytest.mark.parametrize("with_exposure", [False, True])
def test_the_mean_of_poisson_losses_is_the_one_of_scikit_learn(with_exposure: bool) -> None:
    """An exposure is there a weight of the rate y / e, and the penalty is relative to its sum."""
    problem = small_problem("poisson", "mean", mu=0.02)
    counts, exposure = problem.y[:, 0], problem.y[:, 1] if with_exposure else np.ones(120)
    problem = make_problem(
        problem.rows, counts.copy(), problem.loss, problem.spectrum, 0.02, exposure=exposure
    )
    alpha = 0.02 * problem.n_rows / exposure.sum()
    other = PoissonRegressor(alpha=alpha, fit_intercept=False, tol=1e-12, max_iter=10_000)
    other.fit(matrix(problem), counts / exposure, sample_weight=exposure)
    found = run(problem, SolverName.NEWTON, 1e-12)
    np.testing.assert_allclose(found.W[:, 0], other.coef_, rtol=1e-5)
    predicted = problem.loss.predict(problem.margins(found.W), exposure)
    np.testing.assert_allclose(predicted, exposure * other.predict(matrix(problem)), rtol=1e-5)


def test_the_mean_of_huber_losses_is_the_one_of_scikit_learn() -> None:
    """It estimates a scale s: delta is epsilon s, and the penalty alpha s / n."""
    problem = small_problem("squared", "mean", n_rows=300)
    other = HuberRegressor(epsilon=1.35, alpha=0.5, fit_intercept=False, tol=1e-10, max_iter=10_000)
    other.fit(matrix(problem), problem.y)
    scale = float(other.scale_)
    loss = make_loss("huber:1").scaled(1.0 / (1.35 * scale))
    assert loss.parameter == pytest.approx(1.35 * scale)
    same = make_problem(
        problem.rows, problem.y, loss, problem.spectrum, other.alpha * scale / problem.n_rows
    )
    found = run(same, SolverName.NEWTON, 1e-12)
    np.testing.assert_allclose(found.W[:, 0], other.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["huber:1", "poisson"])
@given(
    seed=st.integers(0, 10**6),
    wide=st.integers(-6, 6),
    tall=st.integers(-6, 6),
    risk=st.sampled_from(["mean", "superquantile:0.4", "superquantile:0.9", "extremile:3"]),
)
@settings(max_examples=25, deadline=None)
def test_bounds_hold_at_extreme_scales(
    name: str, seed: int, wide: int, tall: int, risk: str
) -> None:
    """Columns, targets and exposures of any size; the optimum in sixty digits."""
    rng = np.random.default_rng(seed)
    x = 10.0**wide * rng.standard_normal((6, 1))
    loss = make_loss(name)
    if loss.takes_exposure:
        exposure = 10.0 ** rng.uniform(-tall, tall, 6) if tall > 0 else np.full(6, 10.0**tall)
        y = loss.targets(rng.poisson(rng.uniform(0, 50, 6)).astype(np.float64), exposure)
    else:
        y = 10.0**tall * rng.standard_t(2, 6)
    problem = make_problem(DenseRows(x), y, loss, parse_risk(risk), 10.0 ** rng.uniform(-4, 1))
    found = run(problem, SolverName.AUTO, 1e-10)
    optimum = exact_minimum(problem, found.W.item())
    assert Decimal(found.certificate.lower_bound) <= optimum
    assert optimum <= Decimal(found.objective) * (1 + Decimal("1e-14"))
    assert found.certificate.gap <= 1e-6


def exact_minimum(problem: Problem, nearby: float) -> Decimal:
    """min F of a problem with one unknown by golden sections that widen until they enclose it."""
    x = [Decimal(each) for each in matrix(problem)[:, 0].tolist()]
    sigma = [Decimal(each) for each in problem.sigma.tolist()]

    def objective(w: Decimal) -> Decimal:
        losses = sorted(exact_loss(problem.loss, [w * x[i]], problem.y[i]) for i in range(len(x)))
        risk = sum((s * each for s, each in zip(sigma, losses, strict=True)), Decimal(0))
        return risk + Decimal(problem.mu) / 2 * w**2

    centre = Decimal(nearby)
    width = Decimal("1e-6") * (abs(centre) or Decimal(1))
    while objective(centre - width) < objective(centre) or objective(centre + width) < objective(
        centre
    ):
        width *= 10
    low, high = centre - width, centre + width
    for _ in range(120):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if objective(left) < objective(right) else (left, high)
    return min(objective(low), objective(high))


@pytest.mark.parametrize("risk", ["subquantile:0.7", "lower-extremile:2"])
@pytest.mark.parametrize("name", ["huber:0.5", "poisson"])
def test_a_falling_risk_ends_where_its_own_weights_hold_it(name: str, risk: str) -> None:
    problem = small_problem(name, risk, n_rows=200)
    found = run(problem, SolverName.TRIMMED)
    assert found.converged
    assert "nearest rows" in [start.name for start in found.starts]
    point = problem.at(found.W, problem.row_weighter())
    gradient = problem.gradient(found.W, point.margins, point.lam)
    zero = problem.at(np.zeros(problem.shape), problem.row_weighter())
    left = float(np.sum(gradient**2)) / (2.0 * problem.mu)
    assert left <= 1e-4 * (zero.objective - found.objective)


def test_counts_far_above_one_are_reached_from_zero_coefficients() -> None:
    """The mean moves by e^20: more than one step of Newton's could foresee."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(50), rng.standard_normal(50)])
    counts = np.floor(np.exp(20.0 + X[:, 1]))
    for risk in RISING:
        problem = make_problem(
            DenseRows(X), counts, make_loss("poisson"), parse_risk(risk), 1.0 / 50
        )
        found = run(problem, SolverName.AUTO)
        assert found.certificate.gap <= 1e-6
        assert found.W[0, 0] == pytest.approx(20.0, abs=0.1)
