"""Certificates: the bound is below the optimum, the gap bounds the true suboptimality."""

from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.matrix import matrix
from helpers.oracles import superquantile_optimum
from helpers.problems import RISING, small_problem
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import certify, lower_bound, repair_weights
from lrisk_cli.solvers.problem import Problem, make_problem


def any_weights(problem: Problem, seed: int) -> np.ndarray:
    """A random point of P(sigma): a mixture of permutations."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3))
    return sum(share * rng.permutation(problem.sigma) for share in shares)


@pytest.mark.parametrize("q", [0.5, 0.83])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_any_weights_bound_the_superquantile_optimum_from_below(q: float, seed: int) -> None:
    problem = small_problem("squared", f"superquantile:{q}", n_rows=24, n_columns=3)
    optimum = superquantile_optimum(problem, q)
    bound = lower_bound(problem, any_weights(problem, seed), np.zeros(problem.shape), 1e-9)
    assert bound.value <= optimum + 1e-9 * optimum


@pytest.mark.parametrize("risk", RISING)
@pytest.mark.parametrize(("loss", "n_classes"), [("squared", 0), ("logistic", 2), ("logistic", 3)])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10, deadline=None)
def test_bounds_are_below_every_objective(loss: str, n_classes: int, risk: str, seed: int) -> None:
    problem = small_problem(loss, risk, n_rows=40, n_columns=3, n_classes=n_classes)
    bound = lower_bound(problem, any_weights(problem, seed), np.zeros(problem.shape), 1e-9)
    rng = np.random.default_rng(seed)
    for _ in range(5):
        W = rng.standard_normal(problem.shape)
        assert bound.value <= problem.at(W, problem.row_weighter()).objective


@pytest.mark.parametrize(("n_rows", "n_columns"), [(40, 3), (6, 15)])
def test_the_mean_of_squared_losses_has_no_gap_at_the_ridge_solution(
    n_rows: int, n_columns: int
) -> None:
    problem = small_problem("squared", "mean", n_rows=n_rows, n_columns=n_columns)
    X, y, n = matrix(problem), problem.y, n_rows
    W = np.linalg.solve(X.T @ X / n + problem.mu * np.eye(n_columns), X.T @ y / n)[:, None]
    objective = problem.at(W, problem.row_weighter()).objective
    bound = lower_bound(problem, problem.sigma, np.zeros(problem.shape), 1e-9)
    assert 0.0 <= objective - bound.value <= 1e-13 * objective


@pytest.mark.parametrize("n_columns", [3, 90])
def test_logistic_bounds_are_as_tight_as_asked(n_columns: int) -> None:
    """Both ways of polishing: Newton below 128 unknowns, L-BFGS above."""
    problem = small_problem("logistic", "mean", n_rows=200, n_columns=n_columns, n_classes=5)
    bound = lower_bound(problem, problem.sigma, np.zeros(problem.shape), 1e-9)
    objective = problem.at(bound.V, problem.row_weighter()).objective
    assert 0.0 <= objective - bound.value <= 2e-9


@given(seed=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_logistic_bounds_survive_columns_of_any_scale(seed: int) -> None:
    """The last steps lower the value by less than its rounding, and are needed all the same."""
    rng = np.random.default_rng(seed)
    plain = small_problem("logistic", "mean", n_rows=40, n_columns=7, n_classes=2, seed=seed)
    X = matrix(plain) * 10.0 ** rng.uniform(-4, 5, 7)
    problem = make_problem(DenseRows(X), plain.y, plain.loss, plain.spectrum, 2.5e-6)
    bound = lower_bound(problem, problem.sigma, np.zeros(problem.shape), 1e-11)
    objective = problem.at(bound.V, problem.row_weighter()).objective
    assert 0.0 <= objective - bound.value <= 1e-10


@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 1e-16, 1e-9, 0.1]))
def test_repaired_weights_lie_in_the_permutahedron(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    sigma = parse_risk("superquantile:0.6").weights(50)
    lam = rng.permutation(sigma) + noise * rng.standard_normal(50)
    repaired, excess = repair_weights(lam, sigma)
    largest = accumulate(map(Fraction, np.sort(repaired)[::-1].tolist()))
    allowed = accumulate(map(Fraction, sigma[::-1].tolist()))
    share = 1 + Fraction(excess)
    assert all(top <= share * most for top, most in zip(largest, allowed, strict=True))
    assert excess <= 2e-15
    assert repaired.sum() == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    "risk", ["superquantile:0.5", "superquantile:0.93", "extremile:2", "esrm:1"]
)
@pytest.mark.parametrize("n", [2, 50, 244, 800, 5001, 100_000])
def test_weights_already_allowed_are_hardly_touched(risk: str, n: int) -> None:
    rng = np.random.default_rng(n)
    sigma = parse_risk(risk).weights(n)
    for lam in (
        rng.permutation(sigma),
        0.3 * rng.permutation(sigma) + 0.7 * rng.permutation(sigma),
    ):
        np.testing.assert_allclose(repair_weights(lam, sigma)[0], lam, rtol=1e-12)


def test_the_gap_is_relative_to_what_was_gained() -> None:
    certificate = certify(objective=2.0, lower_bound=1.5, at_zero=4.0)
    assert (certificate.absolute_gap, certificate.gap) == (0.5, 0.25)
    assert certify(objective=4.0, lower_bound=4.0, at_zero=4.0).gap == 0.0
