"""Several outputs: certified optima where L-BFGS suffices and where Newton steps must help."""

import numpy as np
import pytest

from helpers.matrix import matrix
from helpers.problems import HARD_RISKS, RISING, small_problem
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.row_weights import Tied
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers import lbfgs
from lrisk_cli.solvers.lbfgs import Lbfgs
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.softmax import Softmax
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.ties import TieInverse


def multinomial(
    risk: str, *, n: int = 600, d: int = 8, k: int = 4, signal: float = 0.5, seed: int = 0
) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.argmax(signal * (X @ rng.standard_normal((d, k))) + rng.gumbel(size=(n, k)), axis=1)
    return make_problem(DenseRows(X), y, make_loss("logistic", k), parse_risk(risk), 1.0 / n)


def proved(problem: Problem, tol: float = 1e-9, solver: SolverName = SolverName.NEWTON) -> Solution:
    found = solve(
        problem, SolverOptions(solver), Limits(tol=tol, max_passes=100_000, time_limit=60)
    )
    assert found.converged, found.status
    assert 0.0 <= found.certificate.gap <= tol
    return found


@pytest.mark.parametrize("risk", HARD_RISKS)
@pytest.mark.parametrize("signal", [0.02, 0.15, 2.0])
def test_every_rising_risk_is_proved_optimal_whatever_the_signal(risk: str, signal: float) -> None:
    proved(multinomial(risk, signal=signal))


@pytest.mark.parametrize("risk", RISING[1:])
def test_lbfgs_and_newton_prove_the_same_optimum(risk: str) -> None:
    problem = multinomial(risk)
    first = proved(problem, 1e-8).certificate
    second = proved(problem, 1e-8, SolverName.LBFGS).certificate
    assert first.lower_bound <= second.objective
    assert second.lower_bound <= first.objective


def test_newton_steps_settle_as_many_ties_as_unknowns() -> None:
    """At a kink the ties fix nearly every unknown; no gradient method gets to 1e-9 there."""
    problem = multinomial("superquantile:0.9", n=3000, d=20, k=5, signal=1.0)
    method = Softmax(problem, Limits(tol=1e-9, max_passes=10_000))
    found = method.run()
    assert found.converged, found.status
    assert method.stepping
    assert method.tied is not None
    assert len(method.tied.rows) > 0.5 * problem.shape[0] * (problem.shape[1] - 1)
    # Without their help, a limit that Newton steps did not need is not enough.
    limits = Limits(tol=1e-9, max_passes=found.passes)
    assert not Lbfgs(problem, limits).run().converged


def test_smooth_risks_need_no_second_derivatives(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a matrix was made")

    monkeypatch.setattr(Problem, "hessian", refuse)
    for risk in ("extremile:2", "esrm:1"):
        proved(multinomial(risk, n=5000, d=40, k=5), 1e-6)


@pytest.mark.parametrize("risk", ["superquantile:0.999", "superquantile:0.9", "extremile:10"])
def test_awkward_tables(risk: str) -> None:
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((120, 6)), rng.integers(0, 4, 120)

    def table(X: np.ndarray, y: np.ndarray, mu: float) -> Problem:
        X = np.ascontiguousarray(X)
        return make_problem(DenseRows(X), y, make_loss("logistic", 4), parse_risk(risk), mu)

    constants = np.tile([1.0, 0.0, 1000.0], (120, 1))
    proved(table(np.hstack([X, constants]), y, 1e-4 / 120))  # constant columns
    proved(table(np.hstack([X, X[:, :3]]), y, 1e-2 / 120))  # collinear
    proved(table(X * 10.0 ** rng.uniform(-4, 4, 6), y, 1.0 / 120))  # badly scaled
    proved(table(rng.standard_normal((40, 60)), y[:40], 1e-4 / 40))  # separable
    proved(table(np.repeat(X, 3, axis=0), np.repeat(y, 3), 0.1))  # duplicated rows
    proved(table(X[:5], np.arange(5) % 4, 0.01))  # five rows


def test_what_is_proved_does_not_depend_on_the_order_of_classes() -> None:
    problem = multinomial("superquantile:0.8", n=500)
    other = make_problem(problem.rows, 3 - problem.y, problem.loss, problem.spectrum, problem.mu)
    first, second = proved(problem).certificate, proved(other).certificate
    assert first.objective == pytest.approx(second.objective, rel=1e-8)


@pytest.mark.parametrize("sizes", [[30], [2, 3, 25]])
def test_tie_inverses_invert(sizes: list[int]) -> None:
    problem, rng = small_problem("logistic"), np.random.default_rng(0)
    slopes = rng.standard_normal((problem.n_rows, problem.shape[1]))
    rows = rng.permutation(problem.n_rows)[:30].astype(np.intp)
    H = 0.3 * np.eye(np.prod(problem.shape))
    for block in np.split(rows, np.cumsum(sizes)[:-1]):
        g = np.array([np.outer(matrix(problem)[i], slopes[i]).ravel() for i in block])
        H += (g - g.mean(axis=0)).T @ (g - g.mean(axis=0)) / 0.7
    inverse = TieInverse(problem, slopes, Tied(rows, np.array(sizes, dtype=np.intp)), 0.7, 0.3)
    g = rng.standard_normal(problem.shape)
    expected = np.linalg.solve(H, g.ravel()).reshape(g.shape)
    np.testing.assert_allclose(inverse(g), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_hard_rounds_of_lbfgs_are_helped_by_the_ties(
    loss: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More unknowns than rows: nearly all rows that weigh are tied."""
    problem = small_problem(loss, "superquantile:0.7", n_rows=150, n_columns=200, n_classes=3)
    passes = []
    for hard in (10, 10**9):
        monkeypatch.setattr(lbfgs, "HARD", hard)
        passes.append(proved(problem, 1e-8, SolverName.LBFGS).passes)
    assert passes[0] < passes[1]
