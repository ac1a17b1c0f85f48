"""Newton: certified optima on easy and hard problems, and the pieces it is made of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.matrix import matrix
from helpers.oracles import superquantile_optimum
from helpers.problems import HARD_RISKS, small_problem
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SmoothingName, SolverName
from lrisk_cli.risk.row_weights import Projection, Smoothing, Tied
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers import curvature
from lrisk_cli.solvers.curvature import Dense, UpdatedCurvature, joint_curvature, tie_curvature
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, choose, solve
from lrisk_cli.solvers.solution import Limits

NEWTON = SolverOptions(SolverName.NEWTON)
LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 3)]


def proved(problem: Problem, tol: float) -> None:
    """The gap asked for is proved, and is not below zero."""
    found = solve(problem, NEWTON, Limits(tol=tol, max_passes=10_000, time_limit=60))
    assert found.converged, found.status
    assert 0.0 <= found.certificate.gap <= tol
    assert found.certificate.objective == problem.at(found.W, problem.row_weighter()).objective


def squared(X: np.ndarray, y: np.ndarray, risk: str, mu: float | None = None) -> Problem:
    X = np.ascontiguousarray(X, dtype=float)
    return make_problem(DenseRows(X), y, make_loss("squared"), parse_risk(risk), mu or 1.0 / len(X))


@pytest.mark.parametrize("risk", HARD_RISKS)
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_every_rising_risk_is_proved_optimal(risk: str, loss: str, n_classes: int) -> None:
    proved(small_problem(loss, risk, n_rows=400, n_classes=n_classes, mu=0.002), 1e-8)


@pytest.mark.parametrize("risk", ["superquantile:0.5", "superquantile:0.95", "extremile:2"])
@pytest.mark.parametrize("mu", [1e-4 / 300, 1.0 / 300, 10.0])
def test_any_penalty(risk: str, mu: float) -> None:
    proved(small_problem("squared", risk, n_rows=300, mu=mu), 1e-9)


@pytest.mark.parametrize("risk", ["superquantile:0.5", "superquantile:0.9", "esrm:1"])
def test_awkward_tables(risk: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    proved(squared(np.repeat(X, 5, axis=0), np.repeat(y, 5), risk), 1e-8)  # duplicated rows
    proved(squared(X, np.round(2 * y), risk), 1e-8)  # integer targets
    proved(squared(np.hstack([X, X[:, :2], np.ones((60, 1))]), y, risk), 1e-8)  # collinear
    proved(squared(X, rng.standard_cauchy(60), risk), 1e-8)  # heavy tails
    proved(squared(X * [1e-4, 1.0, 1e4, 1e2], y, risk), 1e-7)  # badly scaled
    proved(squared(rng.standard_normal((20, 50)), y[:20], risk), 1e-7)  # more columns than rows
    proved(squared(X[:, :1], y, risk), 1e-9)  # one feature
    proved(squared(X[:2, :1], y[:2], risk), 1e-9)  # two rows


def test_a_general_solver_finds_the_same_superquantile_optimum() -> None:
    problem = small_problem("squared", "superquantile:0.5", n_rows=40, n_columns=3, mu=0.05)
    optimum = superquantile_optimum(problem, 0.5)
    found = solve(problem, NEWTON, Limits(tol=1e-10))
    assert found.certificate.lower_bound <= optimum * (1 + 1e-9)
    assert found.certificate.objective == pytest.approx(optimum, rel=1e-8)


def test_zero_is_proved_optimal_where_it_is() -> None:
    """Coin tosses: no model helps the worst tenth, so nothing is gained."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    problem = make_problem(
        DenseRows(X), y, make_loss("logistic", 2), parse_risk("superquantile:0.9"), 0.05
    )
    found = solve(problem, NEWTON, Limits(tol=1e-6))
    assert found.converged, found.status
    assert found.certificate.objective == pytest.approx(np.log(2.0), rel=1e-9)


@given(seed=st.integers(0, 10**6), risk=st.sampled_from(HARD_RISKS))
@settings(max_examples=40, deadline=None)
def test_projections_are_nearest_in_the_permutahedron(seed: int, risk: str) -> None:
    rng = np.random.default_rng(seed)
    spectrum, n = parse_risk(risk), int(rng.integers(2, 60))
    sigma = spectrum.weights(n)
    z = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 2)
    lam, tied = Projection(spectrum, sigma)(z)
    assert lam.sum() == pytest.approx(1.0, abs=1e-12)
    # Nearest: no vertex of the permutahedron lies on the far side, (v - lam).(z - lam) <= 0.
    vertex = np.empty(n)
    vertex[np.argsort(z - lam, kind="stable")] = sigma
    assert float((vertex - lam) @ (z - lam)) <= 1e-10 * (1.0 + np.abs(z).max())
    assert len(tied.rows) == tied.sizes.sum()
    assert (tied.sizes > 1).all()


@pytest.mark.parametrize(("loss", "n_classes"), LOSSES[:2])
def test_joint_curvature_is_the_sum_of_its_parts(loss: str, n_classes: int) -> None:
    problem = small_problem(loss, "extremile:2", n_classes=n_classes)
    Z = problem.margins(np.full(problem.shape, 0.3))
    rng = np.random.default_rng(0)
    rows, lam = rng.permutation(problem.n_rows)[:50], rng.random(problem.n_rows)
    tied = Tied(rows.astype(np.intp), np.array([2, 30, 18], dtype=np.intp))
    parts = problem.hessian(Z, lam) + tie_curvature(problem, Z, tied) / 0.7
    np.testing.assert_allclose(joint_curvature(problem, Z, lam, tied, 0.7), parts, atol=1e-10)


@pytest.mark.parametrize("sizes", [[2, 3, 45], [50], [2] * 25, [7, 7, 7, 7, 22]])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_ties_are_summed_in_chunks(
    sizes: list[int], loss: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = small_problem(loss, "extremile:2", n_classes=n_classes)
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((problem.n_rows, problem.shape[1]))
    rows = rng.permutation(problem.n_rows)[:50].astype(np.intp)
    tied = Tied(rows, np.array(sizes, dtype=np.intp))
    slopes = problem.loss.derivatives(Z, problem.y)
    expected = np.zeros((np.prod(problem.shape),) * 2)
    for block in np.split(rows, np.cumsum(sizes)[:-1]):
        g = np.array([np.outer(matrix(problem)[i], slopes[i]).ravel() for i in block])
        expected += (g - g.mean(axis=0)).T @ (g - g.mean(axis=0))
    monkeypatch.setattr(curvature, "TIE_CHUNK", 16)
    held, gradients = [], curvature._row_gradients
    monkeypatch.setattr(
        curvature, "_row_gradients", lambda *a: held.append(len(a[2])) or gradients(*a)
    )
    np.testing.assert_allclose(tie_curvature(problem, Z, tied), expected, rtol=1e-11, atol=1e-11)
    assert max(held) <= 16
    if problem.loss.n_outputs > 1:
        held.clear()
        monkeypatch.setattr(curvature, "MANY_TIES", 10)
        total = tie_curvature(problem, Z, tied)
        np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-11)
        assert not held, "many rows need no gradients of their own"


def test_matrices_that_are_singular_are_lifted() -> None:
    H = np.ones((4, 4))
    g = np.full((2, 2), 3.0)
    np.testing.assert_allclose(H @ Dense(H).solve(g).ravel(), g.ravel(), rtol=1e-6)


def test_an_updated_gram_matrix_is_a_fresh_one() -> None:
    problem = small_problem("squared", "superquantile:0.5")
    kept, rng = UpdatedCurvature(problem), np.random.default_rng(1)
    lam = rng.random(problem.n_rows)
    Z = np.zeros((problem.n_rows, 1))
    for _ in range(5):
        lam = lam.copy()
        lam[rng.integers(0, problem.n_rows, 10)] *= rng.random()
        expected = matrix(problem).T @ (lam[:, None] * matrix(problem)) + problem.mu * np.eye(5)
        np.testing.assert_allclose(kept.base(Z, lam), expected, rtol=1e-12, atol=1e-12)


def test_auto_chooses_by_problem_and_says_why() -> None:
    auto = SolverOptions(SolverName.AUTO)
    few = choose(small_problem(), auto)
    assert (few.solver, few.reason) == (SolverName.NEWTON, "5 unknowns are few enough for it")
    many = small_problem("logistic", n_rows=60, n_columns=700, n_classes=3)
    assert choose(many, auto).solver is SolverName.LBFGS
    smooth = small_problem(smoothing=Smoothing(SmoothingName.L2, 1.0))
    assert choose(smooth, auto).solver is SolverName.LSVRG
    assert choose(small_problem(), SolverOptions(SolverName.SGD)).reason == "asked for"


@pytest.mark.parametrize("risk", ["esrm:1e-20", "superquantile:1e-300", "extremile:1"])
def test_a_risk_that_rounding_cannot_tell_from_the_mean_is_the_mean(risk: str) -> None:
    for solver in SolverName:
        limits = Limits(tol=1e-6, max_passes=60)
        found = solve(small_problem("squared", risk, mu=0.1), SolverOptions(solver), limits)
        assert np.isfinite(found.certificate.objective)
    proved(small_problem("squared", risk), 1e-9)
