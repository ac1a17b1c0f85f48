"""Full-batch steps beside plain NumPy loops: momentum, Nesterov, the norm ball, the start."""

import numpy as np
import pytest

from helpers.matrix import matrix
from helpers.problems import small_problem
from lrisk_cli.errors import UsageError
from lrisk_cli.names import SolverName, StartName
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.select import SolverOptions, check_options, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.subgradient import glorot

SUBGRADIENT = SolverName.SUBGRADIENT
RISKS = ["subquantile:0.7", "lower-extremile:2", "superquantile:0.5", "mean"]


def value_and_gradient(problem: Problem, w: np.ndarray) -> tuple[float, np.ndarray]:
    """F and a subgradient of it for squared losses, by NumPy's sort."""
    errors = matrix(problem) @ w - problem.y
    lam = np.empty(len(errors))
    lam[np.argsort(errors**2, kind="stable")] = problem.sigma
    value = 0.5 * lam @ errors**2 + 0.5 * problem.mu * w @ w
    return value, matrix(problem).T @ (lam * errors) + problem.mu * w


def plain_loop(
    problem: Problem, step: float, n_steps: int, momentum: float, nesterov: bool, bound: float
) -> list[float]:
    """F at each point on the way."""
    w = before = b = np.zeros(problem.rows.shape[1])
    values = [value_and_gradient(problem, w)[0]]
    for _ in range(n_steps):
        v = w + momentum * (w - before) if nesterov else w
        g = value_and_gradient(problem, v)[1]
        b = g if nesterov else momentum * b + g
        before, w = w, v - step * b
        w = w * min(1.0, bound / np.linalg.norm(w))
        values.append(value_and_gradient(problem, w)[0])
    return values


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize(
    ("momentum", "nesterov", "bound"),
    [(0.0, False, np.inf), (0.6, False, np.inf), (0.6, True, np.inf), (0.6, True, 0.5),
     (0.6, False, 0.5)],
)  # fmt: skip
def test_steps_are_those_of_a_plain_loop(
    risk: str, momentum: float, nesterov: bool, bound: float
) -> None:
    problem = small_problem("squared", risk, mu=0.05)
    options = SolverOptions(
        SUBGRADIENT, step=0.02, momentum=momentum, nesterov=nesterov,
        norm_bound=None if bound == np.inf else bound,
    )  # fmt: skip
    found = solve(problem, options, Limits(tol=0.0, max_passes=40))
    objectives = [epoch.objective for epoch in found.epochs[:12]]
    expected = plain_loop(problem, 0.02, 11, momentum, nesterov, bound)
    np.testing.assert_allclose(objectives, expected, rtol=1e-9)


@pytest.mark.parametrize("risk", ["subquantile:0.7", "extremile:2"])
@pytest.mark.parametrize("start", list(StartName))
def test_the_norm_bound_holds_and_binds(risk: str, start: StartName) -> None:
    problem = small_problem("logistic", risk, n_classes=3)
    free = solve(problem, SolverOptions(SUBGRADIENT), Limits(max_passes=300))
    bound = 0.5 * float(np.linalg.norm(free.W))
    options = SolverOptions(SUBGRADIENT, norm_bound=bound, start=start)
    found = solve(problem, options, Limits(max_passes=600))
    assert np.linalg.norm(found.W) == pytest.approx(bound, rel=1e-12)
    assert found.objective > free.objective


def test_a_falling_fit_within_a_norm_bound_ends_where_no_point_of_the_ball_is_better() -> None:
    problem = small_problem("squared", "subquantile:0.7", mu=0.01)
    options = SolverOptions(SUBGRADIENT, norm_bound=0.7)
    found = solve(problem, options, Limits(tol=1e-8, max_passes=5000))
    assert found.status.startswith("stationary: a fit to the rows as they are weighed gains less")
    # On the sphere the gradient points straight inwards.
    gradient = problem.gradient(found.W, problem.margins(found.W), found.lam)
    along = -float(np.sum(gradient * found.W)) / 0.7
    assert along == pytest.approx(float(np.linalg.norm(gradient)), rel=1e-4)


def test_a_rising_risk_within_a_norm_bound_stops_and_proves_nothing_false() -> None:
    problem = small_problem("squared", "superquantile:0.5")
    best = solve(problem, SolverOptions(), Limits())
    found = solve(problem, SolverOptions(SUBGRADIENT, norm_bound=0.7), Limits(max_passes=2000))
    assert not found.converged
    assert "stopped because the last 20 epochs gained less than" in found.status
    assert found.certificate is not None
    assert best.certificate is not None
    assert found.certificate.lower_bound <= best.objective <= found.objective


def test_momentum_gets_there_in_fewer_steps() -> None:
    problem = small_problem("squared", "lower-extremile:2", mu=1e-3, n_columns=20, n_rows=60)
    passes = [
        solve(problem, SolverOptions(SUBGRADIENT, momentum=m), Limits(1e-9, 10_000)).passes
        for m in (0.0, 0.9)
    ]
    assert passes[1] < 0.7 * passes[0]


def test_glorot_is_uniform_between_its_ends_and_follows_the_seed() -> None:
    W = glorot((3000, 3), 5)
    reach = np.sqrt(6.0 / 3003.0)
    assert np.abs(W).max() <= reach
    assert np.abs(W).max() > 0.99 * reach
    assert W.var() == pytest.approx(reach**2 / 3.0, rel=0.05)
    assert (glorot((3000, 3), 5) == W).all()
    assert (glorot((3000, 3), 6) != W).any()


def test_a_glorot_start_is_where_the_run_begins_even_if_zero_is_better() -> None:
    problem = small_problem("squared", "subquantile:0.7", n_columns=2)
    for seed in range(5):
        options = SolverOptions(SUBGRADIENT, start=StartName.GLOROT, seed=seed)
        found = solve(problem, options, Limits())
        begun = value_and_gradient(problem, glorot((2, 1), seed)[:, 0])[0]
        assert found.epochs[0].objective == pytest.approx(begun, rel=1e-12)
        assert found.converged, found.status


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SolverOptions(SolverName.LSVRG, momentum=0.5), "momentum is not used by solver='lsvrg'"),
        (SolverOptions(SolverName.TRIMMED, norm_bound=1.0), r"only by subgradient\)"),
        (SolverOptions(start=StartName.GLOROT), "start is not used by solver='auto'"),
        (SolverOptions(SUBGRADIENT, momentum=1.0), r"momentum must be in \[0, 1\)"),
        (SolverOptions(SUBGRADIENT, norm_bound=0.0), "norm_bound must be greater than 0"),
        (SolverOptions(SUBGRADIENT, nesterov=True), "add momentum=0.9"),
    ],
)
def test_options_that_cannot_work_are_refused(options: SolverOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_options(options)
