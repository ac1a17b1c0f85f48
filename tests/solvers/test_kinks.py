"""The pinball loss: proved for every rising risk, and the same as what linear programs find."""

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.linear_model import QuantileRegressor

from helpers.matrix import matrix
from helpers.problems import RISING, small_problem
from lrisk_cli.errors import UsageError
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.rounding import evaluate
from lrisk_cli.solvers.select import SolverOptions, check_loss, choose, solve
from lrisk_cli.solvers.softening import missed, soften
from lrisk_cli.solvers.solution import Limits, Solution

LEVELS = [0.1, 0.5, 0.95]


def objective(problem: Problem, W: np.ndarray) -> float:
    return problem.at(W.reshape(problem.shape), problem.row_weighter()).objective


def rows_of(n: int, d: int, *, integers: bool = False, seed: int = 0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, -1] = 1.0
    y = X @ rng.standard_normal(d) + rng.standard_t(2.5, n) * (1.0 + np.abs(X[:, 0]))
    return (np.round(X), np.round(y)) if integers else (X, y)


@pytest.mark.parametrize("risk", [*RISING, "superquantile:0.99", "extremile:20", "esrm:30"])
@pytest.mark.parametrize("level", LEVELS)
def test_every_rising_risk_is_proved(level: float, risk: str) -> None:
    for integers in (False, True):
        X, y = rows_of(400, 6, integers=integers)
        problem = make_problem(
            DenseRows(X), y, make_loss(f"quantile:{level}"), parse_risk(risk), 1.0 / 400
        )
        found = solve(problem, SolverOptions(), Limits())
        assert found.certificate.gap <= 1e-6, found.status
        assert found.objective == objective(problem, found.W)


def rising_program(X: np.ndarray, y: np.ndarray, level: float, sigma: np.ndarray) -> np.ndarray:
    """The W that minimise a rising risk of pinball losses l, by a linear program (HiGHS).

    R = sum_k (sigma_k - sigma_(k-1)) T_k, T_k the sum of the m = n - k + 1 largest losses, which is
    min over t and u of m t + sum(u), u >= l - t, u >= 0. Variables: W, l, t_k, u_ki.
    """
    (n, d), rises = X.shape, np.diff(sigma, prepend=0.0)
    ks = np.flatnonzero(rises > 1e-14)
    K = len(ks)
    cost = np.concatenate([np.zeros(d + n), rises[ks] * (n - ks), np.repeat(rises[ks], n)])
    lines = [
        np.hstack([-s * X, -np.eye(n), np.zeros((n, K + K * n))]) for s in (level, level - 1.0)
    ]
    tops = np.hstack([
        np.zeros((K * n, d)), np.tile(np.eye(n), (K, 1)),
        -np.repeat(np.eye(K), n, axis=0), -np.eye(K * n),
    ])  # fmt: skip
    b = np.concatenate([-level * y, (1.0 - level) * y, np.zeros(K * n)])
    bounds = [(None, None)] * d + [(0.0, None)] * n + [(None, None)] * K + [(0.0, None)] * (K * n)
    found = linprog(cost, A_ub=np.vstack([*lines, tops]), b_ub=b, bounds=bounds)
    assert found.status == 0
    W: np.ndarray = found.x[:d]
    return W


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("risk", RISING)
def test_a_linear_program_finds_the_same_optimum(risk: str, level: float) -> None:
    X, y = rows_of(25, 3, seed=5)
    problem = make_problem(DenseRows(X), y, make_loss(f"quantile:{level}"), parse_risk(risk), 1e-6)
    found = solve(problem, SolverOptions(), Limits())
    assert found.converged, found.status
    sandwich(problem, found, rising_program(X, y, level, problem.sigma))


def sandwich(problem: Problem, found: Solution, W: np.ndarray) -> None:
    """W is optimal without the penalty, so that it misses the optimum with it by this at most."""
    other, penalty = objective(problem, W), problem.penalty(W[:, None])
    gained = found.certificate.absolute_gap / found.certificate.gap
    assert found.certificate.lower_bound <= other
    assert other - penalty <= found.objective * (1 + 1e-9)
    assert found.objective <= other + 1e-6 * gained


@pytest.mark.parametrize("level", LEVELS)
def test_the_mean_is_the_quantile_regression_of_scikit_learn(level: float) -> None:
    X, y = rows_of(300, 4)
    problem = make_problem(
        DenseRows(X), y, make_loss(f"quantile:{level}"), parse_risk("mean"), 1e-6
    )
    found = solve(problem, SolverOptions(), Limits())
    other = QuantileRegressor(quantile=level, alpha=0.0, fit_intercept=False).fit(X, y)
    sandwich(problem, found, other.coef_)
    np.testing.assert_allclose(found.W[:, 0], other.coef_, rtol=0.01, atol=0.01)


def test_rounded_losses_and_their_affine_functions_are_below_the_loss() -> None:
    problem = small_problem("quantile:0.7", "mean", n_rows=50)
    rng = np.random.default_rng(1)
    V, other = rng.standard_normal((2, *problem.shape))
    lam = np.full(50, 1.0 / 50)
    for width in (1e-3, 0.3, 10.0):
        soft = soften(problem, width)
        Z, at = problem.margins(V), problem.margins(other)
        rounded, sharp = soft.loss.values(Z, problem.y), problem.loss.values(Z, problem.y)
        below, slopes = soft.loss.minorants(Z, problem.y)
        assert (rounded <= below * (1 + 1e-15)).all()
        assert (below <= sharp * (1 + 1e-15)).all()
        assert (below >= 0.0).all()
        lines = below + slopes[:, 0] * (at - Z)[:, 0]
        assert (lines <= problem.loss.values(at, problem.y) + 1e-14).all()
        assert 0.0 <= missed(problem, soft, lam, V) <= 0.25 * width
        # Hence the bound at any V holds for the sharp loss at any other.
        bound = evaluate(soft, lam, V).lower_bound(problem.mu)
        assert bound <= problem.weighted_value(other, at, lam)


@pytest.mark.parametrize("solver", ["lsvrg", "sgd", "srda", "subgradient"])
@pytest.mark.parametrize("risk", ["mean", "extremile:2"])
def test_other_solvers_prove_what_they_found(risk: str, solver: str) -> None:
    problem = small_problem("quantile:0.8", risk, n_rows=100)
    best = solve(problem, SolverOptions(), Limits(tol=1e-8))
    found = solve(problem, SolverOptions(SolverName(solver)), Limits(max_passes=5000))
    assert found.certificate.lower_bound <= best.objective <= found.objective
    assert found.certificate.gap < 0.2


def test_lbfgs_is_refused_and_newton_taken_for_any_number_of_unknowns() -> None:
    loss = make_loss("quantile:0.9")
    with pytest.raises(UsageError, match=r"needs a loss without kinks and quantile:0\.9 has one"):
        check_loss(SolverName.LBFGS, loss)
    check_loss(SolverName.NEWTON, loss)
    check_loss(SolverName.LBFGS, make_loss("huber:1"))
    X = np.zeros((3, 2500))
    problem = make_problem(DenseRows(X), np.arange(3.0), loss, parse_risk("extremile:2"), 1.0)
    assert choose(problem, SolverOptions()).solver is SolverName.NEWTON


@pytest.mark.parametrize("risk", ["mean", "superquantile:0.9"])
def test_kernels_with_many_unknowns_are_proved_by_rows(risk: str) -> None:
    problem = small_problem("quantile:0.3", risk, n_rows=100, n_columns=130)
    X = 0.2 * matrix(problem)
    problem = make_problem(
        DenseRows(X), problem.y, problem.loss, problem.spectrum, problem.mu, None, X @ X.T
    )
    assert solve(problem, SolverOptions(), Limits()).certificate.gap <= 1e-6


def test_a_run_that_is_stopped_keeps_its_best_bound() -> None:
    X, y = rows_of(1000, 30)
    problem = make_problem(
        DenseRows(X), y, make_loss("quantile:0.99"), parse_risk("extremile:2"), 1e-3
    )
    best = solve(problem, SolverOptions(), Limits())
    for passes in (3, 30, 60):
        found = solve(problem, SolverOptions(), Limits(max_passes=passes))
        assert not found.converged
        assert f"stopped after {passes} passes" in found.status
        assert found.certificate.lower_bound <= best.objective
    assert found.certificate.gap < 1.0


def test_targets_that_are_all_equal_are_fitted() -> None:
    for y in (np.zeros(30), np.full(30, 5.0)):
        X = np.ones((30, 1))
        problem = make_problem(
            DenseRows(X), y, make_loss("quantile:0.9"), parse_risk("extremile:2"), 1e-3
        )
        found = solve(problem, SolverOptions(), Limits())
        assert np.isfinite(found.W).all()
        assert found.certificate.lower_bound <= found.objective
