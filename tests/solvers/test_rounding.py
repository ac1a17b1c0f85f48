"""Errors that are proved: held against the same quantities in sixty digits."""

from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.losses import draw_targets, exact_derivatives, use_sixty_digits
from helpers.losses import exact_loss as exact_row_loss
from helpers.matrix import matrix
from helpers.problems import small_problem
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SmoothingName
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import lower_bound, weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.rounding import HAS_WIDE, Evaluation, evaluate, evaluate_wide
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

use_sixty_digits()
LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 4), ("huber:0.5", 0), ("poisson", 0)]
NARROW = pytest.mark.skipif(not HAS_WIDE, reason="long doubles are doubles here")
EVALUATIONS = [evaluate, pytest.param(evaluate_wide, marks=NARROW)]
EXAMPLES = settings(max_examples=25, deadline=None)
Evaluate = Callable[[Problem, np.ndarray, np.ndarray], Evaluation]


def exactly(values: np.ndarray) -> list[Decimal]:
    """Doubles, or long doubles as a sum of two."""
    high = values.astype(np.float64)
    low = (values - high).astype(np.float64)
    pairs = zip(high.ravel().tolist(), low.ravel().tolist(), strict=True)
    return [Decimal(a) + Decimal(b) for a, b in pairs]


def dot(a: Sequence[Decimal], b: Sequence[Decimal]) -> Decimal:
    return sum((p * q for p, q in zip(a, b, strict=True)), Decimal(0))


def exact_loss(problem: Problem, z: Sequence[Decimal], i: int) -> Decimal:
    return exact_row_loss(problem.loss, z, problem.y[i])


def exact_slopes(problem: Problem, z: Sequence[Decimal], i: int) -> list[Decimal]:
    return exact_derivatives(problem.loss, z, problem.y[i])


def exact_margins(problem: Problem, V: np.ndarray) -> list[list[Decimal]]:
    columns = [exactly(column) for column in V.T]
    return [[dot(exactly(row), column) for column in columns] for row in matrix(problem)]


def exact_penalty(problem: Problem, V: np.ndarray) -> Decimal:
    flat = exactly(V)
    return Decimal(problem.mu) / 2 * dot(flat, flat)


def exact_norm(problem: Problem, lam: np.ndarray, V: np.ndarray, Z: np.ndarray) -> Decimal:
    """Length of sum_i lam_i s_i x_i + mu V with the slopes at the margins Z."""
    slopes = [exact_slopes(problem, exactly(z), i) for i, z in enumerate(Z)]
    total, weights = Decimal(0), exactly(lam)
    for j in range(V.shape[0]):
        column = [w * x for w, x in zip(weights, exactly(matrix(problem)[:, j]), strict=True)]
        for c in range(V.shape[1]):
            there = dot(column, [s[c] for s in slopes]) + Decimal(problem.mu) * Decimal(V[j, c])
            total += there**2
    return total.sqrt()


def awkward_problem(loss: str, n_classes: int, seed: int, risk: str = "mean") -> Problem:
    """A dozen rows whose columns nearly repeat one another, of scales far apart."""
    rng = np.random.default_rng(seed)
    problem = small_problem(loss, risk, n_rows=12, n_columns=3, n_classes=n_classes, seed=seed)
    X = matrix(problem).copy()
    X[:, 1] = X[:, 0] + 10.0 ** -rng.integers(1, 8) * X[:, 1]
    X *= 10.0 ** rng.integers(-4, 5, 3)
    mu = float(10.0 ** rng.integers(-6, 2))
    return make_problem(DenseRows(X), problem.y, problem.loss, problem.spectrum, mu)


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([1e-3, 10.0, 1e5]))
@EXAMPLES
def test_errors_contain_the_truth(
    evaluation: Evaluate, loss: str, n_classes: int, seed: int, size: float
) -> None:
    problem = awkward_problem(loss, n_classes, seed)
    rng = np.random.default_rng(seed)
    V = rng.standard_normal(problem.shape) / np.abs(matrix(problem)).max(axis=0)[:, None]
    # The first two columns nearly cancel: margins are small beside their terms.
    first, second = matrix(problem).T[:2]
    V[0] *= size
    V[1] -= V[0] * (first @ second) / (second @ second)
    lam = rng.dirichlet(np.ones(problem.n_rows))
    found = evaluation(problem, lam, V)
    losses = [exact_loss(problem, z, i) for i, z in enumerate(exact_margins(problem, V))]
    value = dot(exactly(lam), losses) + exact_penalty(problem, V)
    assert abs(Decimal(found.value) - value) <= Decimal(found.value_error)
    assert_norm_is_contained(evaluation, problem, lam, V)
    # And where the gradient is nothing but rounding.
    best, _ = weighted_minimiser(problem, lam, V, 1e-14)
    assert_norm_is_contained(evaluation, problem, lam, best)


def assert_norm_is_contained(
    evaluation: Evaluate, problem: Problem, lam: np.ndarray, V: np.ndarray
) -> None:
    found, wide = evaluation(problem, lam, V), evaluation is evaluate_wide
    Z = matrix(problem).astype(np.longdouble) @ V if wide else problem.margins(V)
    norm = exact_norm(problem, lam, V, Z)
    assert abs(Decimal(found.norm) - norm) <= Decimal(found.norm_error) + Decimal("1e-15") * norm


@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
@given(seed=st.integers(0, 10**6))
@EXAMPLES
def test_errors_are_a_few_roundings_and_less_in_extended_precision(
    loss: str, n_classes: int, seed: int
) -> None:
    problem = small_problem(loss, "mean", n_rows=40, n_classes=n_classes, seed=seed)
    V = np.random.default_rng(seed).standard_normal(problem.shape)
    double = evaluate(problem, problem.sigma, V)
    assert double.value_error <= 2e-14 * double.value
    if HAS_WIDE:
        wide = evaluate_wide(problem, problem.sigma, V)
        assert wide.value_error <= 2e-16 * wide.value
        assert abs(wide.value - double.value) <= double.value_error


def exact_risk(problem: Problem, losses: Sequence[Decimal]) -> Decimal:
    """Sorted losses times sigma; smoothed, of two rows, whose weights are (a, total - a)."""
    sigma = exactly(problem.sigma)
    if problem.smoothing is None:
        return dot(sigma, sorted(losses))
    nu, total = Decimal(problem.smoothing.nu), sum(sigma)
    difference = (losses[0] - losses[1]) / nu
    if problem.smoothing.name is SmoothingName.L2:
        a = (total + difference) / 2
    else:
        a = total / (1 + (-difference).exp())
    a = min(max(a, sigma[0]), sigma[1])
    lam = [a, total - a]
    if problem.smoothing.name is SmoothingName.L2:
        omega = sum((w - Decimal("0.5")) ** 2 for w in lam) / 2
    else:
        omega = sum(w * (2 * w).ln() for w in lam if w)
    return dot(lam, losses) - nu * omega


def exact_optimum(problem: Problem, nearby: float) -> Decimal:
    """min F of a problem with one unknown, to about forty digits, by ternary search."""
    x = exactly(matrix(problem))

    def objective(w: Decimal) -> Decimal:
        losses = [exact_loss(problem, [w * x[i]], i) for i in range(len(x))]
        return exact_risk(problem, losses) + Decimal(problem.mu) / 2 * w**2

    width = Decimal("1e-3") * (1 + abs(Decimal(nearby)))
    low, high = Decimal(nearby) - width, Decimal(nearby) + width
    while high - low > Decimal("1e-22") * width:
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if objective(left) < objective(right) else (left, high)
    return objective(low)


@pytest.mark.parametrize("risk", ["mean", "superquantile:0.4", "superquantile:0.9", "extremile:3"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "huber:0.3", "poisson"])
@given(seed=st.integers(0, 10**6), odds=st.sampled_from([0.0, 0.5]))
@settings(max_examples=6, deadline=None)
def test_no_bound_exceeds_the_optimum_by_a_single_digit(
    risk: str, loss: str, seed: int, odds: float
) -> None:
    """Also where classes have nothing to do with the rows, so that zero is nearly optimal."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((6, 1))
    found = make_loss(loss, 2)
    y = draw_targets(found, odds * np.hstack([-x, x]), rng)
    problem = make_problem(DenseRows(x), y, found, parse_risk(risk), 1.0 / 6.0)
    found = solve(problem, SolverOptions(), Limits(tol=1e-14, time_limit=5.0))
    optimum = exact_optimum(problem, found.W.item())
    bound = Decimal(found.certificate.lower_bound)
    assert bound <= optimum
    assert optimum - bound <= Decimal("1e-12") * optimum


@pytest.mark.parametrize("name", [SmoothingName.L2, SmoothingName.ENTROPY])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
@given(seed=st.integers(0, 10**6), nu=st.sampled_from([1e-2, 1.0, 100.0]))
@settings(max_examples=6, deadline=None)
def test_no_smoothed_bound_exceeds_the_smoothed_optimum(
    name: SmoothingName, loss: str, seed: int, nu: float
) -> None:
    x, y = np.random.default_rng(seed).standard_normal((2, 2))
    y = y if loss == "squared" else np.array([0.0, 1.0])
    risk, smoothing = parse_risk("extremile:3"), Smoothing(name, nu)
    problem = make_problem(
        DenseRows(x[:, None].copy()), y, make_loss(loss, 2), risk, 0.1, smoothing
    )
    found = solve(problem, SolverOptions(), Limits(tol=1e-13, max_passes=3000))
    assert found.smoothed is not None
    optimum = exact_optimum(problem, found.W.item())
    bound = Decimal(found.smoothed.lower_bound)
    assert bound <= optimum
    assert optimum - bound <= Decimal("1e-9") * max(optimum, Decimal(nu))


@given(seed=st.integers(0, 10**6))
@EXAMPLES
def test_a_bound_beyond_doubles_is_still_below_the_optimum(seed: int) -> None:
    """Accuracy that doubles cannot give: the optimum of a mean of squares is rational."""
    problem = awkward_problem("squared", 0, seed)
    bound = lower_bound(problem, problem.sigma, np.zeros(problem.shape), 0.0)
    (n, d), sigma = problem.rows.shape, exactly(problem.sigma)
    X, y = [exactly(column) for column in matrix(problem).T], exactly(problem.y)
    rows = [
        [sum(sigma[i] * X[j][i] * X[c][i] for i in range(n)) + Decimal(problem.mu) * (j == c)
         for c in range(d)]
        + [sum(sigma[i] * X[j][i] * y[i] for i in range(n))]
        for j in range(d)
    ]  # fmt: skip
    for j in range(d):
        rows[j] = [cell / rows[j][j] for cell in rows[j]]
        for other in range(d):
            if other != j:
                factor = rows[other][j]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[j], strict=True)]
    W = [row[d] for row in rows]
    residuals = [y[i] - dot([X[j][i] for j in range(d)], W) for i in range(n)]
    optimum = dot(sigma, [r * r / 2 for r in residuals]) + Decimal(problem.mu) / 2 * dot(W, W)
    assert Decimal(bound.value) <= optimum
