"""Solvers: problems x methods, outside optima, limits, steps that diverge, and determinism."""

import csv
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from helpers.matrix import matrix
from helpers.oracles import superquantile_optimum
from helpers.problems import RISING, small_problem
from lrisk_cli.errors import UsageError
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Sampling, SmoothingName, SolverName
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.loop import RecentWeights
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, check_options, solve
from lrisk_cli.solvers.solution import Limits

SOLVERS = [name for name in SolverName if name is not SolverName.TRIMMED]
LSVRG = SolverName.LSVRG
STEPPING = [LSVRG, SolverName.SGD, SolverName.SRDA, SolverName.SUBGRADIENT]
LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 3)]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("risk", RISING)
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_every_solver_keeps_its_best_and_its_gap_is_honest(
    solver: SolverName, risk: str, loss: str, n_classes: int
) -> None:
    problem = small_problem(loss, risk, n_classes=n_classes, mu=0.05)
    at_zero = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective
    best = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-8, max_passes=5000))
    found = solve(problem, SolverOptions(solver), Limits(tol=1e-8, max_passes=300))
    # At some of these, weighing the tail alone, zero is the optimum.
    assert found.certificate.objective <= at_zero
    assert found.certificate.absolute_gap >= 0.0
    # Neither method may be below what the other one proved.
    assert found.certificate.lower_bound <= best.certificate.objective
    assert best.certificate.lower_bound <= found.certificate.objective
    assert problem.at(found.W, problem.row_weighter()).objective == found.certificate.objective


@pytest.mark.parametrize("sampling", list(Sampling))
@pytest.mark.parametrize("risk", ["mean", "extremile:2", "esrm:1"])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_lsvrg_proves_a_small_gap_on_smooth_risks(
    sampling: Sampling, risk: str, loss: str, n_classes: int
) -> None:
    problem = small_problem(loss, risk, n_classes=n_classes, mu=0.02)
    found = solve(
        problem, SolverOptions(LSVRG, sampling=sampling), Limits(tol=1e-7, max_passes=3000)
    )
    assert found.converged
    assert found.certificate.gap <= 1e-7
    assert found.status.startswith("converged: gap ")


def test_lsvrg_finds_the_superquantile_optimum_of_a_general_solver() -> None:
    problem = small_problem("squared", "superquantile:0.5", n_rows=40, n_columns=3, mu=0.05)
    optimum = superquantile_optimum(problem, 0.5)
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-6, max_passes=5000))
    assert found.certificate.lower_bound <= optimum + 1e-9
    assert found.certificate.objective == pytest.approx(optimum, rel=1e-5)


def test_the_mean_of_squared_losses_is_ridge_regression() -> None:
    problem = small_problem("squared", "mean", mu=0.1)
    ridge = Ridge(alpha=0.1 * problem.n_rows, fit_intercept=False).fit(matrix(problem), problem.y)
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-12))
    np.testing.assert_allclose(found.W[:, 0], ridge.coef_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_mean_of_logistic_losses_is_logistic_regression(n_classes: int) -> None:
    problem = small_problem("logistic", "mean", n_classes=n_classes, mu=0.1)
    C = 1.0 / (0.1 * problem.n_rows)
    model = LogisticRegression(C=C, fit_intercept=False, tol=1e-10).fit(matrix(problem), problem.y)
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-11, max_passes=5000))
    np.testing.assert_allclose(found.W.T, model.coef_, rtol=1e-4, atol=1e-5)


def test_the_mean_of_many_unknowns_is_proved_however_long_it_takes() -> None:
    """Columns of scales from 1 to 1e-3, and hardly a penalty: L-BFGS needs several runs."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 50)) * np.logspace(0, -3, 50)
    y = np.argmax(3.0 * X @ rng.standard_normal((50, 3)) + rng.gumbel(size=(300, 3)), axis=1)
    problem = make_problem(DenseRows(X), y, make_loss("logistic", 3), parse_risk("mean"), 1e-8)
    found = solve(problem, SolverOptions(), Limits(tol=1e-8, max_passes=20_000))
    assert found.converged, found.status
    stopped = solve(problem, SolverOptions(), Limits(tol=1e-8, max_passes=40))
    assert not stopped.converged
    assert "after 40 passes" in stopped.status


@pytest.mark.parametrize("n_columns", [4, 100])
def test_the_mean_is_proved_where_hardly_anything_can_be_gained(n_columns: int) -> None:
    rng = np.random.default_rng(1)
    X, y = 1e-3 * rng.standard_normal((90, n_columns)), np.arange(90) % 3
    problem = make_problem(DenseRows(X), y, make_loss("logistic", 3), parse_risk("mean"), 1.0)
    found = solve(problem, SolverOptions(), Limits(tol=1e-6))
    assert found.converged, found.status
    assert np.abs(found.W).max() > 0.0


def test_more_columns_than_rows() -> None:
    problem = small_problem("squared", "extremile:2", n_rows=12, n_columns=30, mu=0.1)
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-6, max_passes=20_000))
    assert found.converged


def test_an_unfinished_smoothed_fit_tells_both_gaps() -> None:
    problem = small_problem(smoothing=Smoothing(SmoothingName.L2, 60.0))
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-12, max_passes=20))
    assert found.smoothed is not None
    for gap in (found.smoothed.gap, found.certificate.gap):
        assert f"{gap:.1e}" in found.status


@pytest.mark.parametrize("name", [SmoothingName.L2, SmoothingName.ENTROPY])
def test_a_smoothed_fit_proves_its_own_gap_and_admits_the_other(name: SmoothingName) -> None:
    smoothing = Smoothing(name, 0.5 if name is SmoothingName.ENTROPY else 60.0)
    problem = small_problem("squared", "superquantile:0.5", mu=0.05, smoothing=smoothing)
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-7, max_passes=3000))
    assert found.smoothed is not None
    assert found.smoothed.gap <= 1e-7 < found.certificate.gap
    assert found.status.startswith("converged on the smoothed risk")
    # The two problems differ by at most the penalty of sigma, nu Omega(sigma).
    bias = smoothing.penalty(problem.sigma)
    assert found.certificate.absolute_gap <= bias + found.smoothed.absolute_gap + 1e-9


@pytest.mark.parametrize("solver", STEPPING)
def test_a_step_that_diverges_is_halved_and_the_run_restored(solver: SolverName) -> None:
    problem = small_problem("squared", "extremile:2")
    found = solve(problem, SolverOptions(solver, step=100.0), Limits(max_passes=300))
    at_zero = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective
    assert found.halvings > 0
    assert found.step is not None
    assert found.step < 100.0
    assert np.isfinite(found.W).all()
    assert found.certificate.objective < at_zero


def test_sgd_with_decaying_steps_averages_towards_the_optimum() -> None:
    problem = small_problem("squared", "mean", n_rows=2000, mu=1.0)
    options = SolverOptions(SolverName.SGD, decay=True)
    found = solve(problem, options, Limits(tol=0.0, max_passes=400))
    assert found.certificate.gap < 1e-3


def test_decaying_steps_do_not_blow_up_at_a_small_penalty() -> None:
    problem = small_problem("squared", "extremile:2", n_rows=1000)
    found = solve(problem, SolverOptions(SolverName.SGD, decay=True), Limits(max_passes=60))
    assert found.halvings == 0
    assert found.certificate.gap < 0.1


def test_sgd_ends_above_the_optimum_by_its_bias_and_larger_batches_help() -> None:
    problem = small_problem("squared", "superquantile:0.9", n_rows=2000, mu=0.01)
    gaps = [
        solve(
            problem,
            SolverOptions(SolverName.SGD, batch_size=size),
            Limits(tol=1e-9, max_passes=300),
        ).certificate.gap
        for size in (8, 512)
    ]
    assert gaps[1] < gaps[0]
    assert gaps[0] > 1e-4


def test_extra_checkpoints_are_counted_and_lead_to_the_same_optimum() -> None:
    problem = small_problem("squared", "esrm:1", mu=0.05)
    plain = solve(problem, SolverOptions(LSVRG, epoch_length=120), Limits(tol=1e-9))
    often = solve(
        problem,
        SolverOptions(LSVRG, epoch_length=120, checkpoint_probability=0.05),
        Limits(tol=1e-9),
    )
    assert often.converged
    first_plain, first_often = plain.epochs[1].passes, often.epochs[1].passes
    assert first_often > first_plain == 3.0  # at zero, an epoch of n steps, its evaluation
    np.testing.assert_allclose(often.W, plain.W, atol=1e-4)


def test_passes_are_limited_and_the_status_says_so() -> None:
    problem = small_problem("squared", "superquantile:0.9")
    found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-12, max_passes=10))
    assert not found.converged
    assert found.passes < 14
    assert "stopped after 10 passes (max_passes) with gap" in found.status


def test_time_is_limited_and_the_status_says_so() -> None:
    problem = small_problem("squared", "superquantile:0.9")
    found = solve(
        problem, SolverOptions(LSVRG), Limits(tol=1e-15, max_passes=1e12, time_limit=0.05)
    )
    assert "stopped after 0.05 s (time_limit)" in found.status


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_same_seed_gives_the_same_bits(solver: SolverName) -> None:
    problem = small_problem("logistic", "superquantile:0.5")
    first, second = (
        solve(problem, SolverOptions(solver, seed=7), Limits(max_passes=40)) for _ in range(2)
    )
    assert (first.W == second.W).all()
    assert first.certificate == second.certificate


def test_the_order_of_duplicated_rows_does_not_matter_to_the_weights() -> None:
    problem = small_problem("squared", "superquantile:0.7", n_rows=30)
    X, y = np.repeat(matrix(problem), 3, axis=0), np.repeat(problem.y, 3)
    doubled = make_problem(DenseRows(X), y, problem.loss, problem.spectrum, problem.mu)
    found = solve(doubled, SolverOptions(LSVRG), Limits(max_passes=200))
    assert (found.lam.reshape(30, 3) == found.lam[::3, None]).all()


def test_recent_weights_forget_the_first_half() -> None:
    recent = RecentWeights(1)
    for value in range(1, 101):
        recent.add(np.array([float(value)]))
    assert 60.0 < recent.mean()[0] < 100.0


def test_options_that_a_solver_would_not_read_are_refused() -> None:
    with pytest.raises(UsageError, match="batch_size is not used by solver='lsvrg'"):
        check_options(SolverOptions(LSVRG, batch_size=3))
    with pytest.raises(UsageError, match="epoch_length is not used by solver='sgd'"):
        check_options(SolverOptions(SolverName.SGD, epoch_length=3))


def test_reference_optima_are_reached_on_the_papers_sets(real_data: Path) -> None:
    """Minima computed elsewhere (value and lower bound), mu = 1/n, no intercept."""
    with open(real_data / "lerm_splits" / "reference_optima_unsmoothed.csv") as file:
        references = list(csv.DictReader(file))
    assert len(references) == 16
    for row in references:
        table = np.column_stack(pq.read_table(real_data / row["train_file"]).columns)
        parameter = row["spectrum_parameter"].partition("=")[2]
        spectrum = parse_risk(f"{row['spectrum']}:{parameter}" if parameter else row["spectrum"])
        X = np.ascontiguousarray(table[:, :-1])
        problem = make_problem(
            DenseRows(X), table[:, -1], make_loss("squared"), spectrum, 1.0 / len(X)
        )
        found = solve(problem, SolverOptions(LSVRG), Limits(tol=1e-6, max_passes=3000))
        attained, bound = float(row["objective_attained"]), float(row["lower_bound"])
        assert found.certificate.lower_bound <= attained + 1e-11
        assert bound <= found.certificate.objective + 1e-11
        gained = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective - attained
        tolerance = 5e-5 if spectrum.name == "superquantile" else 1e-6
        assert (found.certificate.objective - attained) / gained <= tolerance


@pytest.mark.parametrize("risk", ["superquantile:0.5", "mean"])
def test_a_time_limit_stops_a_fit_of_many_unknowns_and_its_proof(risk: str) -> None:
    """Unknowns enough for L-BFGS, a penalty so small that fit and proof would take long."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 200)) * np.logspace(0, -3, 200)
    y = np.argmax(3.0 * X @ rng.standard_normal((200, 4)) + rng.gumbel(size=(4000, 4)), axis=1)
    problem = make_problem(DenseRows(X), y, make_loss("logistic", 4), parse_risk(risk), 1e-11)
    began = perf_counter()
    found = solve(problem, SolverOptions(), Limits(tol=1e-12, max_passes=1e9, time_limit=0.1))
    assert not found.converged
    assert "stopped after 0.1 s (time_limit)" in found.status
    assert perf_counter() - began < 5.0
    assert found.certificate.lower_bound >= 0.0


def test_a_clock_that_runs_is_not_set_back() -> None:
    limits = Limits(time_limit=100.0).begun()
    assert limits.begun().deadline == limits.deadline <= perf_counter() + 100.0
    assert Limits().begun().deadline == np.inf
