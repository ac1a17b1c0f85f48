"""The constants of the theorems against their formulas, written out or tried by brute force."""

from dataclasses import replace
from itertools import combinations
from math import log, sqrt

import numpy as np
import pytest

from helpers.problems import small_problem
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SmoothingName, SolverName
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.batch_bias import expected_batch_risk
from lrisk_cli.solvers.lsvrg import by_theorem
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.theory import constants_of, smoothing_error, theory_of


def theory(problem, batch_size=None, tol=1e-3):
    W = solve(problem, SolverOptions(), Limits(tol=1e-6)).W
    return theory_of(problem, W, batch_size, tol), W


@pytest.mark.parametrize("risk", ["superquantile:0.5", "extremile:3", "esrm:2"])
def test_the_expected_risk_of_a_batch_is_the_average_over_all_batches(risk):
    losses = np.sort(np.random.default_rng(4).exponential(size=8))
    sigma = parse_risk(risk).weights(3)
    risks = [float(sigma @ losses[list(rows)]) for rows in combinations(range(8), 3)]
    assert expected_batch_risk(losses, sigma) == pytest.approx(np.mean(risks), rel=1e-12)


def test_a_batch_of_all_rows_has_no_bias_and_the_mean_has_none_at_all():
    whole, _ = theory(small_problem(n_rows=60), batch_size=60)
    assert whole.batches.measured == pytest.approx(0.0, abs=1e-12)
    mean, _ = theory(small_problem("logistic", "mean", n_classes=2))
    assert (mean.batches.measured, mean.batches.bias) == (0.0, 0.0)


def test_theorem_4_is_its_formulas():
    problem = small_problem("logistic", "superquantile:0.5", n_classes=2, mu=0.02)
    X = problem.rows.dense_rows(slice(None))
    found, _ = theory(problem)
    L, G = 0.25 * (X**2).sum(1).max(), sqrt((X**2).sum(1).max())
    n = len(X)
    kappa = n * (2.0 / n) * L / 0.02 + 1.0
    rate = found.lsvrg
    assert rate.condition_number == pytest.approx(kappa)
    assert rate.epoch_length == np.ceil(4 * (n + 8 * kappa))
    assert rate.step == pytest.approx(2 / ((n + 8 * kappa) * 0.02))
    assert rate.checkpoint_probability == 1 / n
    assert rate.least_nu == pytest.approx(4 * n * G**2 / 0.02)
    assert 0.5**rate.halvings <= 1e-3 < 0.5 ** (rate.halvings - 1)


def test_proposition_3_is_its_formula_and_covers_the_largest_loss_of_the_ball():
    problem = small_problem("logistic", "superquantile:0.75", n_classes=2, mu=0.5)
    found = theory(problem, batch_size=16)[0].batches
    n, G = problem.n_rows, constants_of(problem).lipschitz
    margin = G * G / 0.5
    assert found.largest_loss >= np.log1p(np.exp(margin))
    wanted = 2 * sqrt(2) * 3.0 * found.largest_loss * sqrt((n - 16) / (16 * (n - 1)))
    assert found.bias == pytest.approx(wanted)
    T = found.steps
    assert found.optimisation == pytest.approx(2 * G**2 * (1 + log(T)) / (0.5 * T))


def test_gradients_are_no_longer_than_the_lipschitz_constants():
    """Finite differences along random directions in the ball with the minimiser in it."""
    rng = np.random.default_rng(0)
    for loss, classes in (
        ("squared", 2),
        ("logistic", 2),
        ("logistic", 4),
        ("huber:0.7", 2),
        ("quantile:0.8", 2),
    ):
        problem = small_problem(loss, n_classes=classes, mu=0.1)
        constants = constants_of(problem)
        for _ in range(20):
            W = rng.standard_normal(problem.shape)
            W *= constants.radius / np.linalg.norm(W)
            slopes = problem.loss.derivatives(problem.margins(W), problem.y)
            lengths = np.linalg.norm(slopes, axis=1) * np.sqrt(problem.rows.row_norms())
            assert lengths.max() <= constants.lipschitz_in_ball * (1 + 1e-12)
        assert (constants.lipschitz is None) is (loss == "squared")


@pytest.mark.parametrize(("name", "nu"), [(SmoothingName.L2, 0.3), (SmoothingName.ENTROPY, 2e-3)])
def test_the_smoothed_risk_is_below_the_risk_by_at_most_the_error(name, nu):
    problem = small_problem(smoothing=Smoothing(name, nu), risk="extremile:3")
    found = smoothing_error(problem)
    assert 0.0 < found.error <= found.bound * (1 + 1e-9)
    for seed in range(5):
        W = np.random.default_rng(seed).standard_normal(problem.shape)
        point = problem.at(W, problem.row_weighter())
        assert -1e-12 <= point.objective - point.smoothed <= found.error * (1 + 1e-9)


def test_a_softplus_smoothed_subquantile_is_above_it_by_at_most_the_error():
    smoothing = Smoothing(SmoothingName.SOFTPLUS, 0.05)
    problem = small_problem(smoothing=smoothing, risk="subquantile:0.8")
    found = smoothing_error(problem)
    assert found.error == pytest.approx(0.05 * log(2) / 0.8)
    point = problem.at(np.zeros(problem.shape), problem.row_weighter())
    assert 0.0 <= point.smoothed - point.objective <= found.error


def test_consistency_holds_for_normal_squares():
    """Losses e^2/2: the error of their superquantile, simulated, is below the bound."""
    rng = np.random.default_rng(1)
    sigma = parse_risk("superquantile:0.5").weights(400)
    risks = [float(sigma @ np.sort(0.5 * rng.standard_normal(400) ** 2)) for _ in range(300)]
    problem = small_problem(n_rows=400)
    found, _ = theory(problem)
    assert found.consistency.error > 3.0 * np.std(risks)
    assert [each.holds for each in found.consistency.assumes][-1] is False


def test_coefficients_of_a_subquantile_stay_in_the_ball_below_the_breakdown():
    problem = small_problem(risk="subquantile:0.8", n_rows=100)
    found, W = theory(problem)
    assert found.lsvrg is None
    assert found.trimmed.breakdown == pytest.approx(0.21)
    assert np.linalg.norm(W) <= found.trimmed.norm_bound
    y = problem.y.copy()
    y[np.argsort(np.abs(y.ravel()))[-20:]] = 1e9
    spoilt = solve(replace(problem, y=y), SolverOptions(), Limits()).W
    assert np.linalg.norm(spoilt) <= found.trimmed.norm_bound


def test_k_s_lemma_30_needs_the_rows_that_make_its_bound_positive():
    found, _ = theory(small_problem(risk="subquantile:0.8", n_columns=20))
    d = 20
    n = np.arange(1, 5000)
    bound = n - (np.sqrt(2 * (d - 1) * n * np.log(2 * d)) + d * np.log(2 * d) / 3)
    assert found.trimmed.clean_rows_needed == n[bound > 0][0]


def test_steps_by_theory_are_those_of_the_theorems():
    problem = small_problem("logistic", "esrm:1", n_classes=2, mu=0.5)
    rate = theory(problem)[0].lsvrg
    chosen = by_theorem(problem, SolverOptions(SolverName.LSVRG, theory=True))
    assert (chosen.step, chosen.epoch_length) == (rate.step, rate.epoch_length)
    found = solve(problem, SolverOptions(SolverName.LSVRG, theory=True), Limits(tol=1e-6))
    assert found.converged
    assert found.step == rate.step
    falling = small_problem(risk="subquantile:0.8")
    beta = theory(falling)[0].trimmed.smoothness
    found = solve(falling, SolverOptions(SolverName.SUBGRADIENT, theory=True), Limits(tol=1e-6))
    assert (found.step, found.halvings) == (1.0 / beta, 0)


def test_a_step_of_one_over_beta_never_raises_a_subquantile():
    """The weights of the last point give an upper bound that is equal there."""
    for seed in range(5):
        problem = small_problem(risk="subquantile:0.7", seed=seed)
        options = SolverOptions(SolverName.SUBGRADIENT, theory=True)
        found = solve(problem, options, Limits(tol=0.0, max_passes=150.0))
        objectives = np.array([epoch.objective for epoch in found.epochs])
        assert (np.diff(objectives) <= 1e-12).all()


def test_a_subquantile_is_not_weakly_convex_at_the_cut():
    """Losses (w - 1)^2/2 and (w + 1)^2/2: (|w| - 1)^2/2, whose second difference has no bound."""
    rows, y = DenseRows(np.ones((2, 1))), np.array([1.0, -1.0])
    problem = make_problem(rows, y, make_loss("squared"), parse_risk("subquantile:0.5"), 1e-9)

    def objective(w):
        return problem.at(np.array([[w]]), problem.row_weighter()).objective

    bends = [
        (objective(h) - 2.0 * objective(0.0) + objective(-h)) / h**2 for h in (1e-1, 1e-2, 1e-3)
    ]
    assert bends[0] < -10.0
    assert bends[2] < 50.0 * bends[0]
