"""Problems of rows with masses against the same problems of copies of the rows."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SmoothingName, SolverName
from lrisk_cli.risk.row_weights import Smoothing, Tied
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import lower_bound
from lrisk_cli.solvers.curvature import joint_curvature, tie_curvature
from lrisk_cli.solvers.direct import mean_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.registry import SOLVERS, load_solver
from lrisk_cli.solvers.rowspace import RowCurvature
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.spec import Need
from lrisk_cli.solvers.ties import TieInverse
from tests.helpers.losses import EVERY_LOSS, draw_targets, id_of

RISKS = [
    "mean",
    "superquantile:0.7",
    "extremile:2",
    "esrm:4",
    "subquantile:0.8",
    "lower-extremile:2",
]
SQUARED, LOGISTIC = make_loss("squared"), make_loss("logistic", 4)
RANDOM = {SolverName.LSVRG, SolverName.SGD, SolverName.SRDA}


def with_copies(
    loss: Loss,
    risk: str,
    *,
    n_rows: int = 40,
    smoothing: Smoothing | None = None,
    outer: bool = False,
    seed: int = 0,
) -> tuple[Problem, Problem]:
    """A problem of rows with masses, and the same of copies of these rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 3))
    y = draw_targets(loss, 2.0 * X @ rng.standard_normal((3, 4)), rng)
    counts = rng.integers(1, 5, n_rows)
    every = np.repeat(np.arange(n_rows), counts)

    def make(copies: np.ndarray, masses: np.ndarray | None) -> Problem:
        rows, nothing = DenseRows(X[copies]), np.zeros(len(copies))
        known = rows.row_products() if outer else None
        mu = 1.0 / len(every)
        found = make_problem(
            rows, nothing, loss, parse_risk(risk), mu, smoothing, known, nothing + 1.0, masses
        )
        return replace(found, y=y[copies])

    return make(np.arange(n_rows), counts.astype(np.float64)), make(every, None)


def cases() -> Iterator[tuple[Loss, str, SolverName]]:
    """Every loss with every risk and every solver that takes them."""
    for loss in EVERY_LOSS:
        for risk in RISKS:
            spectrum = parse_risk(risk)
            lacks = set() if spectrum.rising else {Need.CONVEX_RISK}
            lacks |= {Need.FALLING_RISK} if spectrum.rising and not spectrum.flat else set()
            for name in SOLVERS:
                needs = load_solver(name).needs
                kinked = loss.kinked and Need.SMOOTH_LOSS in needs
                if not needs & lacks and not kinked:
                    yield loss, risk, name


@pytest.mark.parametrize(
    ("loss", "risk", "name"),
    list(cases()),
    ids=lambda each: id_of(each) if isinstance(each, Loss) else str(each),
)
def test_every_solver_takes_masses_like_copies(loss: Loss, risk: str, name: SolverName) -> None:
    """At the same coefficients both have the same criterion; a proved optimum is the same."""
    weighted, copies = with_copies(loss, risk)
    limits = Limits(max_passes=30) if name in RANDOM else Limits(tol=1e-9, max_passes=300)
    found = solve(weighted, SolverOptions(solver=name), limits)
    there = copies.at(found.W, copies.row_weighter())
    assert found.objective == pytest.approx(there.objective, rel=1e-12)
    zero = weighted.at(np.zeros(weighted.shape), weighted.row_weighter()).objective
    assert found.objective <= zero
    if weighted.falling:
        return
    best = solve(copies, SolverOptions(), Limits(tol=1e-10))
    assert best.certificate is not None
    assert found.certificate is not None
    assert found.certificate.lower_bound <= best.objective
    assert best.certificate.lower_bound <= found.objective
    if found.converged:
        assert found.objective - best.objective <= limits.tol * zero


@pytest.mark.parametrize("risk", ["superquantile:0.6", "extremile:3"])
@pytest.mark.parametrize("name", [SmoothingName.L2, SmoothingName.ENTROPY])
def test_smoothed_risks_are_those_of_copies(risk: str, name: SmoothingName) -> None:
    smoothing = Smoothing(name, 3.0 if name is SmoothingName.L2 else 0.05)
    weighted, copies = with_copies(SQUARED, risk, smoothing=smoothing)
    limits = Limits(tol=1e-6, max_passes=5000)
    found = solve(weighted, SolverOptions(seed=1), limits)
    assert found.converged
    there = copies.at(found.W, copies.row_weighter())
    assert found.smoothed_objective == pytest.approx(there.smoothed, rel=1e-12)
    expected = solve(copies, SolverOptions(seed=1), limits)
    assert expected.smoothed_objective == pytest.approx(found.smoothed_objective, rel=1e-5)
    assert found.smoothed is not None
    assert found.smoothed.lower_bound <= there.smoothed


@pytest.mark.parametrize("risk", ["superquantile:0.7", "extremile:2"])
def test_proofs_with_products_of_rows(risk: str) -> None:
    """As for kernels: Newton's systems are solved in the space of rows."""
    weighted, copies = with_copies(SQUARED, risk, outer=True)
    found = solve(weighted, SolverOptions(), Limits(tol=1e-10))
    expected = solve(copies, SolverOptions(), Limits(tol=1e-10))
    assert found.converged
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)


def test_bounds_hold_with_any_weights() -> None:
    """Those of random rows, repaired: never above the optimum."""
    rng = np.random.default_rng(5)
    for risk in RISKS[:4]:
        weighted, _ = with_copies(LOGISTIC, risk, seed=int(rng.integers(99)))
        best = solve(weighted, SolverOptions(), Limits(tol=1e-11)).objective
        for _ in range(5):
            lam = rng.exponential(1.0, weighted.n_rows)
            assert lower_bound(weighted, lam, np.zeros(weighted.shape), 1e-9).value <= best


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC], ids=id_of)
@pytest.mark.parametrize("many", [False, True])
def test_curvature_of_ties_is_that_of_copies(
    loss: Loss, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lrisk_cli.solvers.curvature.MANY_TIES", 2 if many else 1000)
    weighted, copies = with_copies(loss, "extremile:2")
    assert weighted.masses is not None
    W = np.random.default_rng(3).standard_normal(weighted.shape)
    rows, sizes = np.array([4, 9, 1, 30, 12], dtype=np.intp), np.array([2, 3], dtype=np.intp)
    masses = weighted.masses.values[rows]
    counts = masses.astype(np.intp)
    starts = np.cumsum(weighted.masses.values).astype(np.intp) - weighted.masses.values.astype(int)
    every = [np.arange(starts[row], starts[row] + n) for row, n in zip(rows, counts, strict=True)]
    of_copies = Tied(
        np.concatenate(every).astype(np.intp), np.array([counts[:2].sum(), counts[2:].sum()])
    )
    Z, all_Z = weighted.margins(W), copies.margins(W)
    tied = Tied(rows, sizes, masses)
    found, expected = tie_curvature(weighted, Z, tied), tie_curvature(copies, all_Z, of_copies)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
    g = np.random.default_rng(4).standard_normal(weighted.shape)
    one = TieInverse(weighted, weighted.loss.derivatives(Z, weighted.y), tied, 0.7, 0.3)
    other = TieInverse(copies, copies.loss.derivatives(all_Z, copies.y), of_copies, 0.7, 0.3)
    np.testing.assert_allclose(one(g), other(g), rtol=1e-6, atol=1e-9)
    if weighted.loss.n_outputs > 1:
        return
    lam = np.random.default_rng(6).exponential(1.0, weighted.n_rows)
    spread = np.repeat(lam / weighted.masses.values, weighted.masses.values.astype(int))
    np.testing.assert_allclose(
        joint_curvature(weighted, Z, lam, tied, 0.7),
        joint_curvature(copies, all_Z, spread, of_copies, 0.7),
        rtol=1e-9, atol=1e-11,
    )  # fmt: skip
    in_rows = RowCurvature(weighted, Z, lam, tied, 0.7).solve(g)
    by_copies = RowCurvature(copies, all_Z, spread, of_copies, 0.7).solve(g)
    np.testing.assert_allclose(in_rows, by_copies, rtol=1e-8)


def test_the_mean_beside_other_risks_counts_masses() -> None:
    weighted, copies = with_copies(SQUARED, "superquantile:0.9")
    found, expected = (mean_minimiser(each, None, 1e-9) for each in (weighted, copies))
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_starts_are_compared_on_a_sample_with_its_masses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lrisk_cli.solvers.trimmed.WORK", 1.0)
    weighted, copies = with_copies(SQUARED, "subquantile:0.8", n_rows=120)
    inliers = np.where(np.arange(120) % 9 == 0, 0.0, 1.0)
    found = solve(weighted, SolverOptions(), Limits(), inliers=inliers)
    assert "on a sample" in found.status
    there = copies.at(found.W, copies.row_weighter())
    assert found.objective == pytest.approx(there.objective, rel=1e-12)


def test_batches_are_drawn_in_proportion_to_masses() -> None:
    """A row with nearly all the mass decides the mean that sgd converges to."""
    X, y = np.ones((50, 1)), np.arange(50.0)
    masses = np.where(np.arange(50) == 7, 1e6, 1e-3)
    problem = make_problem(DenseRows(X), y, SQUARED, parse_risk("mean"), 1e-6, masses=masses)
    for name in (SolverName.SGD, SolverName.SRDA):
        found = solve(problem, SolverOptions(solver=name, batch_size=5), Limits(max_passes=50))
        assert found.W[0, 0] == pytest.approx(7.0, abs=0.05)
