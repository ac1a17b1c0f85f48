"""Smoothed risks of groups against finite differences, and fits of them against their parts."""

import numpy as np
import pytest

from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.curvature import joint_curvature, tie_curvature
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.proximity import make_proximity
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from tests.helpers.losses import EVERY_LOSS, draw_targets, id_of

RISKS = [
    "worst-group", "worst-group:superquantile:0.8", "worst-group:extremile:2", "group-extremile:3",
]  # fmt: skip
N_ROWS = 90


def grouped(loss, risk: str, *, masses: bool = False, copies: bool = False, seed: int = 0):
    """Rows in five groups of unlike sizes, which differ in what their targets follow."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N_ROWS, 4))
    groups = np.concatenate(
        [np.arange(5), rng.choice(5, N_ROWS - 5, p=[0.5, 0.2, 0.15, 0.1, 0.05])]
    )
    signal = X @ rng.standard_normal((4, 4)) + 0.8 * rng.standard_normal((5, 4))[groups]
    y = draw_targets(loss, signal, rng)
    counts = rng.integers(1, 4, N_ROWS)
    every = np.repeat(np.arange(N_ROWS), counts if copies else 1)
    found = make_problem(
        DenseRows(X[every]), np.zeros(len(every)), loss, parse_fit_risk(risk),
        1.0 / counts.sum(), exposure=np.ones(len(every)), groups=groups[every],
        masses=counts.astype(float) if masses else None,
    )  # fmt: skip
    from dataclasses import replace

    return replace(found, y=y[every])


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("loss", EVERY_LOSS, ids=id_of)
def test_every_fit_is_proved_and_newton_agrees_with_lbfgs(loss, risk):
    problem = grouped(loss, risk)
    found = solve(problem, SolverOptions(SolverName.NEWTON), Limits(tol=1e-7))
    assert found.converged, found.status
    if not loss.kinked:
        other = solve(problem, SolverOptions(SolverName.LBFGS), Limits(tol=1e-7))
        assert other.objective == pytest.approx(found.objective, rel=1e-6)
        assert found.certificate.lower_bound <= other.objective


@pytest.mark.parametrize("risk", RISKS)
def test_a_row_of_mass_three_fits_as_the_row_three_times(risk):
    loss = make_loss("squared", 2)
    one = solve(grouped(loss, risk, masses=True), SolverOptions(), Limits(tol=1e-9))
    other = solve(grouped(loss, risk, copies=True), SolverOptions(), Limits(tol=1e-9))
    assert one.objective == pytest.approx(other.objective, rel=1e-8)


def inner(problem: Problem, proximity, W: np.ndarray, nu: float):
    Z = problem.margins(W)
    losses = problem.loss.values(Z, problem.y)
    lam, tied, cost = proximity(losses, nu)
    return lam @ losses - cost + problem.penalty(W), lam, tied, Z


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("name", ["squared", "logistic"])
@pytest.mark.parametrize("masses", [False, True])
def test_the_smoothed_risk_has_the_gradient_and_the_curvature_that_newton_takes(risk, name, masses):
    problem = grouped(make_loss(name, 2), risk, masses=masses)
    proximity, rng = make_proximity(problem), np.random.default_rng(1)
    W = 0.3 * rng.standard_normal(problem.shape)
    at_zero = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective
    nu = 20.0 * proximity.first_smoothing(
        problem.loss.values(problem.margins(W), problem.y), at_zero, 0.44
    )
    _, lam, tied, Z = inner(problem, proximity, W, nu)
    assert tied.groups is not None
    gradient = problem.gradient(W, Z, lam)
    H = problem.hessian(Z, lam) + tie_curvature(problem, Z, tied) / nu
    if problem.loss.n_outputs == 1:
        joint = joint_curvature(problem, Z, lam, tied, nu)
        np.testing.assert_allclose(joint, H, rtol=1e-9, atol=1e-12)
    step = 1e-6
    for direction in np.eye(W.size).reshape(-1, *W.shape):
        up, down = (inner(problem, proximity, W + s * step * direction, nu) for s in (1.0, -1.0))
        slope = (up[0] - down[0]) / (2.0 * step)
        assert slope == pytest.approx(float(np.sum(gradient * direction)), rel=1e-5, abs=1e-7)
        bent = [
            problem.gradient(W + s * step * direction, x[3], x[1]) for s, x in ((1, up), (-1, down))
        ]
        np.testing.assert_allclose(
            ((bent[0] - bent[1]) / (2.0 * step)).ravel(),
            H @ direction.ravel(),
            rtol=2e-4,
            atol=1e-5,
        )


def test_the_centre_of_weights_that_are_moved_to_is_kept():
    problem = grouped(make_loss("squared", 2), "worst-group:superquantile:0.8")
    proximity = make_proximity(problem)
    lam = problem.weigh_losses(np.random.default_rng(2).exponential(size=N_ROWS))
    proximity.move(lam)
    np.testing.assert_allclose(proximity.centre, lam, atol=1e-15)


def test_one_group_is_the_risk_of_all_rows():
    rng = np.random.default_rng(3)
    rows, y = DenseRows(rng.standard_normal((30, 2))), rng.standard_normal(30)
    of = parse_fit_risk("worst-group:superquantile:0.5")
    assert isinstance(of, GroupRisk)
    problem = make_problem(rows, y, make_loss("squared", 2), of, 0.1, groups=np.zeros(30, np.intp))
    assert problem.grouped is None
    assert str(problem.spectrum) == "superquantile:0.5"


def test_the_worst_group_is_better_off_than_with_the_mean():
    loss = make_loss("squared", 2)
    problem = grouped(loss, "worst-group")
    mean = grouped(loss, "group-extremile:1")
    fair, plain = (solve(each, SolverOptions(), Limits()) for each in (problem, mean))
    worst = problem.at(plain.W, problem.row_weighter()).objective
    assert fair.objective < 0.97 * worst


def test_the_subgradient_method_proves_the_same_optimum():
    problem = grouped(make_loss("squared", 2), "worst-group")
    exact = solve(problem, SolverOptions(), Limits(tol=1e-8))
    slow = solve(problem, SolverOptions(SolverName.SUBGRADIENT), Limits(tol=1e-2, max_passes=2000))
    assert slow.certificate.lower_bound <= exact.objective <= slow.objective * (1.0 + 1e-12)
