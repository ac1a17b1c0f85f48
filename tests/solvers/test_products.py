"""Newton steps by products alone: their matrix, and fits of a column with thousands of levels."""

import numpy as np
import pytest

from helpers.mixed_rows import mixed_rows
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers import softmax
from lrisk_cli.solvers.curvature import tie_curvature
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.products import ProductCurvature
from lrisk_cli.solvers.select import SolverOptions, choose, solve
from lrisk_cli.solvers.solution import Limits

LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 3)]


def problem_of(n: int, levels: list[int], risk: str, loss: str, n_classes: int) -> Problem:
    """Numbers and categories, some of them rare, that all have effects."""
    rows, _ = mixed_rows(n, 3, levels, missing=False, seed=1)
    rng = np.random.default_rng(2)
    k = max(n_classes, 1)
    Z = rows.margins(rng.standard_normal((rows.shape[1], k)))
    y = Z[:, 0] + rng.standard_t(3, n)
    if n_classes:
        Z = Z[:, :1] * [[-0.5, 0.5]] if k == 2 else Z
        y = np.argmax(Z + rng.gumbel(size=(n, k)), axis=1).astype(np.int32)
    return make_problem(rows, y, make_loss(loss, n_classes), parse_risk(risk), 1.0 / n)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_products_are_those_of_the_second_derivative_with_ties(loss, n_classes, weighted):
    problem = problem_of(400, [30, 20], "extremile:2", loss, n_classes)
    rng = np.random.default_rng(0)
    W = 0.3 * rng.standard_normal(problem.shape)
    Z, lam, nu = problem.margins(W), rng.dirichlet(np.ones(400)), 0.2
    sizes = np.array([2, 5, 40, 3])
    masses = rng.uniform(0.5, 2.0, sizes.sum()) if weighted else None
    tied = Tied(rng.permutation(400)[: sizes.sum()], sizes, masses)
    H = problem.hessian(Z, lam) + tie_curvature(problem, Z, tied) / nu
    V = rng.standard_normal(problem.shape)
    curvature = ProductCurvature(problem, Z, lam, tied, nu)
    expected = (H @ V.ravel()).reshape(V.shape)
    assert np.abs(curvature.times(V) - expected).max() <= 1e-12 * np.abs(expected).max()
    step = curvature.solve(expected)
    assert 0.99 <= float(np.vdot(expected, step)) / float(np.vdot(expected, V)) <= 1.0
    # Without ties of rows, the second derivative of the weighted problem.
    plain = ProductCurvature(problem, Z, lam).times(V)
    assert np.allclose(plain.ravel(), problem.hessian(Z, lam) @ V.ravel(), rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("risk", ["mean", "superquantile:0.5", "extremile:2"])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES[:2])
def test_thousands_of_levels_are_fitted_as_by_another_method(risk, loss, n_classes):
    problem = problem_of(5000, [2500, 4], risk, loss, n_classes)
    limits = Limits(tol=1e-6, max_passes=10_000, time_limit=60)
    found = solve(problem, SolverOptions(), limits)
    assert found.converged, found.status
    if risk != "mean":
        chosen = choose(problem, SolverOptions())
        assert chosen.solver is SolverName.NEWTON
        assert chosen.reason == "rows hold 5 numbers and codes for 2507 unknowns"
    other = solve(problem, SolverOptions(SolverName.LBFGS), Limits(tol=1e-4, max_passes=3000))
    least = max(found.certificate.lower_bound, other.certificate.lower_bound)
    assert found.certificate.objective >= least
    assert other.certificate.objective >= found.certificate.lower_bound


def test_a_mean_of_classes_with_thousands_of_levels_is_proved():
    problem = problem_of(5000, [2500, 4], "mean", "logistic", 3)
    found = solve(problem, SolverOptions(), Limits(tol=1e-6))
    assert found.converged, found.status
    assert found.passes < 40.0


@pytest.mark.parametrize("weighted", [False, True])
def test_steps_of_classes_by_products_prove_what_those_by_a_matrix_prove(weighted, monkeypatch):
    problem = problem_of(2000, [200, 100], "extremile:2", "logistic", 3)
    if weighted:
        masses = np.random.default_rng(0).uniform(0.5, 2.0, 2000)
        loss, risk = make_loss("logistic", 3), parse_risk("extremile:2")
        problem = make_problem(problem.rows, problem.y, loss, risk, 1.0 / 2000, masses=masses)
    used = []
    solve_step = ProductCurvature.solve
    monkeypatch.setattr(
        ProductCurvature, "solve", lambda self, g: used.append(1) or solve_step(self, g)
    )
    options, limits = SolverOptions(SolverName.NEWTON), Limits(tol=1e-8, max_passes=10_000)
    ours = solve(problem, options, limits)
    assert used
    monkeypatch.setattr(softmax, "PRODUCTS_COST", np.inf)
    n_steps = len(used)
    matrix = solve(problem, options, limits)
    assert len(used) == n_steps
    for one, other in ((ours, matrix), (matrix, ours)):
        assert one.converged
        assert one.certificate.lower_bound <= other.certificate.objective
    assert ours.passes <= 1.5 * matrix.passes
