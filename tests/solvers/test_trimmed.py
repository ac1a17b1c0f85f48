"""Falling risks by alternation: it never climbs, ends where it stays, and finds the clean rows."""

from dataclasses import replace

import numpy as np
import pytest

from helpers.matrix import matrix
from helpers.problems import plain_risk, small_problem
from lrisk_cli.errors import UsageError
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, check_risk, choose, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.starts import Start, starts

FALLING = ["subquantile:0.7", "subquantile:0.33", "lower-extremile:3"]
LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 3)]
EVERY = pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
BY_STEPS = [SolverName.LSVRG, SolverName.SGD, SolverName.SRDA, SolverName.SUBGRADIENT]


def outliers(n_rows: int = 400, share: float = 0.3, seed: int = 0) -> tuple[Problem, np.ndarray]:
    """Rows of a linear law, of which a share has targets far above it, and the law."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n_rows, 4)), np.ones(n_rows)])
    law = np.array([1.0, -2.0, 0.5, 0.0, 0.3])
    y = X @ law + 0.05 * rng.standard_normal(n_rows)
    bad = rng.permutation(n_rows)[: round(share * n_rows)]
    y[bad] = rng.normal(8.0, 1.0, len(bad))
    spectrum = parse_risk(f"subquantile:{1.0 - share}")
    return make_problem(DenseRows(X), y, make_loss("squared"), spectrum, 1e-6), law


@pytest.mark.parametrize("risk", FALLING)
@EVERY
def test_the_objective_falls_in_every_round_of_every_start(
    loss: str, n_classes: int, risk: str
) -> None:
    problem = small_problem(loss, risk, n_classes=n_classes)
    found = solve(problem, SolverOptions(), Limits(tol=1e-9))
    objectives = [epoch.objective for epoch in found.epochs[1:]]  # the first is that of zero
    assert all(epoch.gap is None and epoch.lower_bound is None for epoch in found.epochs)
    climbs = [k for k in range(1, len(objectives)) if objectives[k] > objectives[k - 1]]
    # Only where another start begins.
    assert len(climbs) < len(found.starts)
    assert found.objective == min(objectives)


@pytest.mark.parametrize("risk", FALLING)
@EVERY
def test_a_weighted_fit_at_the_end_gives_back_the_end(loss: str, n_classes: int, risk: str) -> None:
    problem = small_problem(loss, risk, n_classes=n_classes, mu=0.02)
    found = solve(problem, SolverOptions(), Limits(tol=1e-12))
    assert found.converged, found.status
    again, _ = weighted_minimiser(problem, found.lam, found.W, 1e-16)
    np.testing.assert_allclose(again, found.W, atol=2e-5)
    losses = problem.loss.values(problem.margins(found.W), problem.y)
    assert found.objective == pytest.approx(
        plain_risk(losses, risk) + problem.penalty(found.W), rel=1e-12
    )


def test_nothing_is_proved_about_a_falling_risk_and_the_status_tells_the_starts() -> None:
    problem = small_problem("squared", "subquantile:0.7")
    found = solve(problem, SolverOptions(), Limits())
    assert found.certificate is None
    assert found.smoothed is None
    best = min(found.starts, key=lambda ended: ended.objective)
    low, high = best.objective, max(ended.objective for ended in found.starts)
    assert found.status == (
        f"stationary: best of 2 starts ({best.name}), objectives {low:.4g} to {high:.4g}"
    )
    assert found.objective == best.objective


def test_outliers_among_a_third_of_the_rows_do_not_move_the_coefficients() -> None:
    problem, law = outliers()
    mean = replace(problem, spectrum=parse_risk("mean"), sigma=np.full(400, 1.0 / 400))
    spoilt = solve(mean, SolverOptions(), Limits())
    assert np.abs(spoilt.W[:, 0] - law).max() > 1.0
    found = solve(problem, SolverOptions(), Limits())
    np.testing.assert_allclose(found.W[:, 0], law, atol=0.02)
    far = np.abs(problem.y - matrix(problem) @ law) > 1.0
    assert far.sum() > 110
    assert (found.lam[far] == 0.0).all()


def test_a_small_trimmed_fit_is_the_best_of_all_subsets() -> None:
    """All choices of 6 rows of 9, each fitted exactly; several seeds must find the best of them."""
    from itertools import combinations

    problem = small_problem("squared", f"subquantile:{6 / 9}", n_rows=9, n_columns=2, mu=0.1)
    values = []
    for kept in combinations(range(9), 6):
        lam = np.zeros(9)
        lam[list(kept)] = 1.0 / 6.0
        W, _ = weighted_minimiser(problem, lam, np.zeros(problem.shape), 1e-12)
        values.append(problem.weighted_value(W, problem.margins(W), lam))
    found = [solve(problem, SolverOptions(seed=seed), Limits()).objective for seed in range(6)]
    assert min(found) == pytest.approx(min(values), rel=1e-10)
    assert all(objective >= min(values) - 1e-12 for objective in found)


def test_a_limit_ends_the_search_and_says_so() -> None:
    problem = small_problem("squared", "subquantile:0.7")
    found = solve(problem, SolverOptions(), Limits(max_passes=5))
    assert not found.converged
    assert found.status == "not converged: stopped after 5 passes (max_passes)"
    assert np.isfinite(found.objective)


@pytest.mark.parametrize("risk", ["subquantile:1", "lower-extremile:1"])
@pytest.mark.parametrize("solver", list(SolverName))
def test_a_falling_risk_that_is_the_mean_is_proved(risk: str, solver: SolverName) -> None:
    check_risk(solver, parse_risk(risk))
    found = solve(small_problem("squared", risk, mu=0.1), SolverOptions(solver), Limits(tol=1e-4))
    assert found.certificate is not None
    assert found.certificate.gap < 0.1
    assert not found.starts


@pytest.mark.parametrize("solver", BY_STEPS)
@EVERY
def test_methods_by_steps_come_near_and_never_claim_a_proof(
    loss: str, n_classes: int, solver: SolverName
) -> None:
    problem = small_problem(loss, "lower-extremile:2", n_classes=n_classes, mu=0.05)
    best = solve(problem, SolverOptions(), Limits(tol=1e-9))
    found = solve(problem, SolverOptions(solver), Limits(max_passes=500))
    assert found.certificate is None
    assert "gap" not in found.status
    gained = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective - best.objective
    assert (found.objective - best.objective) / gained < 0.02
    if found.converged:
        assert found.status.startswith("stationary: ")
    else:
        assert found.status.startswith("not converged: stopped ")


def test_a_stationary_end_of_steps_leaves_nothing_to_a_weighted_fit() -> None:
    problem = small_problem("squared", "subquantile:0.7", mu=0.05)
    found = solve(problem, SolverOptions(SolverName.SUBGRADIENT), Limits(tol=1e-8))
    assert "gains less than 1e-08 of what was gained" in found.status
    W, _ = weighted_minimiser(problem, found.lam, found.W, 0.0)
    left = found.objective - problem.weighted_value(W, problem.margins(W), found.lam)
    at_zero = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective
    assert -1e-15 <= left <= 1e-8 * (at_zero - found.objective)


def test_auto_takes_it_for_falling_risks_and_says_why() -> None:
    choice = choose(small_problem("squared", "subquantile:0.7"), SolverOptions())
    assert choice.solver is SolverName.TRIMMED
    assert choice.reason == "the risk falls with the loss and is not convex"


@pytest.mark.parametrize("solver", [SolverName.NEWTON, SolverName.LBFGS])
def test_solvers_of_convex_risks_refuse_falling_ones(solver: SolverName) -> None:
    with pytest.raises(UsageError, match="choose among lsvrg, sgd, srda, subgradient, trimmed"):
        check_risk(solver, parse_risk("lower-extremile:2"))


def test_starts_are_weights_that_add_up_and_the_majority_comes_first() -> None:
    problem = small_problem("squared", "subquantile:0.7")
    agree = np.linspace(0.0, 1.0, problem.n_rows)
    found = starts(problem, agree)
    for start in found:
        assert start.weights.min() >= 0.0
        assert start.weights.sum() == pytest.approx(1.0, rel=1e-12)
    assert [start.name for start in found] == ["majority", "all rows", "nearest rows"]
    np.testing.assert_allclose(found[0].weights / found[0].weights[-1], agree)


def test_a_start_worse_than_zero_leads_back_to_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows, the far one alone to start from; the near one predicted by nothing at all."""
    X, y = np.array([[1.0], [1.0]]), np.array([0.0, 100.0])
    problem = make_problem(
        DenseRows(X), y, make_loss("squared"), parse_risk("subquantile:0.5"), 1e-3
    )
    far = [Start("far", np.array([0.0, 1.0]))]
    monkeypatch.setattr("lrisk_cli.solvers.trimmed.starts", lambda *_: far)
    found = solve(problem, SolverOptions(), Limits())
    assert found.objective == 0.0
    assert "(zero coefficients)" in found.status


@pytest.mark.parametrize("solver", [SolverName.SUBGRADIENT, SolverName.LSVRG, SolverName.TRIMMED])
def test_where_another_fit_ended_does_not_matter(solver: SolverName) -> None:
    problem = small_problem("squared", "subquantile:0.7")
    elsewhere = solve(small_problem("squared", "superquantile:0.9"), SolverOptions(), Limits()).W
    cold = solve(problem, SolverOptions(solver), Limits())
    warm = solve(problem, SolverOptions(solver), Limits(), start=elsewhere)
    assert (warm.W == cold.W).all()


def test_a_stall_of_random_steps_is_no_convergence_and_one_of_full_steps_is() -> None:
    stalled = "the last 20 epochs gained less than 0.0001 of what was gained before"
    problem = small_problem("squared", "subquantile:0.7", n_rows=300)
    limits = Limits(tol=1e-4)
    noisy = solve(problem, SolverOptions(SolverName.SGD, batch_size=16), limits)
    assert not noisy.converged
    assert noisy.status == f"not converged: stopped because {stalled}"
    # With hardly a penalty the gradient bounds what is left only loosely.
    crawling = small_problem("logistic", "lower-extremile:2", n_classes=2, mu=1e-4)
    slow = solve(crawling, SolverOptions(SolverName.SUBGRADIENT), limits)
    assert slow.converged
    assert slow.status == f"stationary: {stalled}"


def test_a_limit_that_the_last_round_just_reaches_cuts_nothing() -> None:
    problem = small_problem("squared", "subquantile:0.7")
    whole = solve(problem, SolverOptions(), Limits())
    assert solve(problem, SolverOptions(), Limits(max_passes=whole.passes)).converged
    cut = solve(problem, SolverOptions(), Limits(max_passes=whole.passes - 2.0))
    assert not cut.converged
