"""The smoothed cut of the subquantile: what it minimises, its limits, and fits by it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from helpers.problems import small_problem
from lrisk_cli.names import SmoothingName, SolverName
from lrisk_cli.risk.row_weights import RowWeighter, Smoothing
from lrisk_cli.risk.softplus import softplus_penalty, softplus_weights
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

LOSSES = arrays(np.float64, st.integers(3, 40), elements=st.floats(0, 50))
BOTH = pytest.mark.parametrize("solver", [SolverName.TRIMMED, SolverName.SUBGRADIENT])


def softplus(nu: float) -> Smoothing:
    return Smoothing(SmoothingName.SOFTPLUS, nu)


def weigh(losses: np.ndarray, share: float, nu: float):
    spectrum = parse_risk(f"subquantile:{share}")
    return RowWeighter(spectrum, spectrum.weights(len(losses)), softplus(nu)).weigh(losses)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.77])
@given(losses=LOSSES, nu=st.floats(1e-3, 100))
def test_weights_are_sigmoids_of_one_threshold_and_add_up(
    share: float, losses: np.ndarray, nu: float
) -> None:
    cap = float(parse_risk(f"subquantile:{share}").weights(len(losses))[0])
    lam = softplus_weights(losses, cap, nu)
    assert lam is not None
    assert lam.sum() == pytest.approx(1.0, rel=1e-12)
    inside = (lam > 1e-9 * cap) & (lam < (1.0 - 1e-9) * cap)
    thresholds = losses[inside] + nu * np.log(lam[inside] / (cap - lam[inside]))
    assert np.ptp(thresholds) <= 1e-5 * (nu + losses.max()) if inside.any() else True


@pytest.mark.parametrize("share", [0.3, 0.5, 0.77])
@given(losses=LOSSES, nu=st.floats(1e-3, 100))
def test_the_smoothed_risk_is_above_the_risk_by_at_most_its_bound(
    share: float, losses: np.ndarray, nu: float
) -> None:
    found = weigh(losses, share, nu)
    slack = 1e-9 * (1.0 + losses.max())
    cap = float(parse_risk(f"subquantile:{share}").weights(len(losses))[0])
    assert -slack <= found.smoothed - found.value <= nu * len(losses) * cap * np.log(2.0) + slack


# The oracle's own steps: scipy 1.12 takes some that it must clip to the bounds, and warns.
@pytest.mark.filterwarnings("ignore:Values in x were outside bounds:RuntimeWarning")
def test_weights_are_the_minimiser_over_the_capped_simplex() -> None:
    """Against a general solver."""
    losses, nu = np.array([0.1, 0.8, 0.75, 0.3, 2.0]), 0.4
    cap = 1.0 / 3.0
    best = optimize.minimize(
        lambda lam: float(lam @ losses + nu * softplus_penalty(lam, cap)),
        np.full(5, 0.2),
        bounds=[(1e-9, cap - 1e-9)] * 5,
        constraints={"type": "eq", "fun": lambda lam: lam.sum() - 1.0},
        method="SLSQP",
        options={"ftol": 1e-14},
    )
    found = weigh(losses, 0.6, nu)
    np.testing.assert_allclose(found.lam, best.x, atol=1e-5)
    assert found.smoothed == pytest.approx(best.fun, abs=1e-9)


def test_without_smoothing_left_the_weights_are_those_of_the_subquantile() -> None:
    losses = np.random.default_rng(0).exponential(size=200)
    spectrum = parse_risk("subquantile:0.7")
    sharp = RowWeighter(spectrum, spectrum.weights(200)).weigh(losses)
    distances = [
        np.abs(weigh(losses, 0.7, nu).lam - sharp.lam).sum() for nu in (1, 0.1, 1e-3, 1e-6)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[-1] < 1e-9
    for nu in (1e-12, 1e-300):
        tied = np.repeat([1.0, 2.0], 10)
        assert weigh(tied, 0.75, nu).lam.sum() == pytest.approx(1.0, rel=1e-9)


def test_much_smoothing_weighs_all_rows_alike() -> None:
    lam = weigh(np.arange(10.0), 0.5, 1e9).lam
    np.testing.assert_allclose(lam, 0.1, rtol=1e-6)


def test_huge_outliers_neither_overflow_nor_count() -> None:
    losses = np.append(np.linspace(0.0, 1.0, 50), [1e300, 1e18])
    found = weigh(losses, 0.8, 1e-3)
    assert found.lam[-2:].tolist() == [0.0, 0.0]
    assert np.isfinite(found.smoothed)


@pytest.mark.parametrize(("loss", "n_classes"), [("squared", 0), ("logistic", 2), ("logistic", 3)])
def test_alternation_never_raises_the_smoothed_objective(loss: str, n_classes: int) -> None:
    from lrisk_cli.solvers.certificate import weighted_minimiser

    problem = small_problem(loss, "subquantile:0.7", n_classes=n_classes, smoothing=softplus(0.05))
    point = problem.at(np.zeros(problem.shape), problem.row_weighter())
    for _ in range(15):
        W, _ = weighted_minimiser(problem, point.lam, point.W, 1e-14)
        new = problem.at(W, problem.row_weighter())
        assert new.smoothed <= point.smoothed * (1.0 + 1e-14)
        point = new


@BOTH
def test_a_smoothed_fit_is_stationary_for_its_own_weights(solver: SolverName) -> None:
    problem = small_problem("squared", "subquantile:0.7", mu=0.05, smoothing=softplus(0.05))
    found = solve(problem, SolverOptions(solver), Limits(tol=1e-10))
    assert found.converged, found.status
    assert found.certificate is found.smoothed is None
    assert found.smoothed_objective is not None
    assert found.smoothed_objective > found.objective
    assert (found.lam > 0.0).sum() > 0.8 * problem.n_rows
    slope = problem.gradient(found.W, problem.margins(found.W), found.lam)
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)


@BOTH
def test_fits_with_less_and_less_smoothing_end_at_the_fit_without(solver: SolverName) -> None:
    limits = Limits(tol=1e-11, max_passes=5000)
    sharp = solve(
        small_problem("squared", "subquantile:0.7", mu=0.3), SolverOptions(solver), limits
    )
    fits = [
        solve(
            small_problem("squared", "subquantile:0.7", mu=0.3, smoothing=softplus(nu)),
            SolverOptions(solver),
            limits,
        )
        for nu in (1.0, 1e-2, 1e-5)
    ]
    distances = [float(np.linalg.norm(fit.W - sharp.W)) for fit in fits]
    assert distances[2] < 1e-3 < distances[0]
