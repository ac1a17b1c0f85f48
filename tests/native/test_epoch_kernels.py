"""Stochastic kernels: each step against a plain NumPy step, in both builds."""

from types import ModuleType

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, softmax

from helpers.matrix import matrix
from helpers.problems import kernel_builds, small_problem
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers.problem import Problem

BUILDS = kernel_builds()
IDS = [build.__name__.rsplit(".", 1)[1] for build in BUILDS]
each_build = pytest.mark.parametrize("core", BUILDS, ids=IDS)
STEP, N_STEPS = 0.02, 300


def test_both_builds_are_there() -> None:
    """On the machines that run our tests; elsewhere the portable one serves alone."""
    assert IDS[0] == "_core"
    assert len(IDS) == 1 + BUILDS[0].cpu_has_avx2()


def state(seed: int = 5) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 2**63, size=4, dtype=np.uint64)


def slope(problem: Problem, i: int, W: np.ndarray) -> np.ndarray:
    return problem.loss.derivatives(matrix(problem)[i : i + 1] @ W, problem.y[i : i + 1])[0]


def plain_lsvrg(problem: Problem, W: np.ndarray, lam: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Algorithm 2 of the paper between two checkpoints, as it is written."""
    anchor, W = W, W.copy()
    gradient = problem.gradient(anchor, matrix(problem) @ anchor, lam) - problem.mu * anchor
    for i in rows:
        difference = slope(problem, i, W) - slope(problem, i, anchor)
        v = problem.n_rows * lam[i] * np.outer(matrix(problem)[i], difference) + gradient
        W = (1 - STEP * problem.mu) * W - STEP * v
    return W


def setting(loss: str, n_classes: int, n_columns: int, mu: float) -> tuple:
    problem = small_problem(
        loss, "superquantile:0.4", n_columns=n_columns, n_classes=n_classes, mu=mu
    )
    rng = np.random.default_rng(8)
    W = 0.1 * rng.standard_normal(problem.shape)
    lam = problem.at(W, problem.row_weighter()).lam
    G = problem.gradient(W, matrix(problem) @ W, lam)
    rows = rng.integers(0, problem.n_rows, N_STEPS).astype(np.int32)
    return problem, W, lam, G, rows


@each_build
@pytest.mark.parametrize("n_columns", [1, 3, 8, 21])
@pytest.mark.parametrize("mu", [1e-3, 30.0])
def test_lazy_squared_steps_equal_plain_steps(core: ModuleType, n_columns: int, mu: float) -> None:
    problem, W, lam, G, rows = setting("squared", 0, n_columns, mu)
    factors = STEP * problem.n_rows * lam
    V, scalars = np.zeros(n_columns), np.array([1.0, 0.0])
    core.lsvrg_squared_steps(matrix(problem), factors, G[:, 0], V, scalars, STEP, mu, rows)
    found = W + scalars[0] * V[:, None] - scalars[1] * G
    np.testing.assert_allclose(found, plain_lsvrg(problem, W, lam, rows), rtol=1e-9, atol=1e-12)


@each_build
def test_one_factor_serves_rows_drawn_by_weight(core: ModuleType) -> None:
    problem, _, _, G, rows = setting("squared", 0, 5, 1e-3)
    results = []
    for factors in (np.array([STEP]), np.full(problem.n_rows, STEP)):
        V, scalars = np.zeros(5), np.array([1.0, 0.0])
        core.lsvrg_squared_steps(matrix(problem), factors, G[:, 0], V, scalars, STEP, 1e-3, rows)
        results.append(V)
    assert (results[0] == results[1]).all()


@each_build
@pytest.mark.parametrize("n_columns", [1, 9])
@pytest.mark.parametrize("mu", [1e-3, 30.0])
def test_lazy_binary_steps_equal_plain_steps(core: ModuleType, n_columns: int, mu: float) -> None:
    problem, W, lam, G, rows = setting("logistic", 2, n_columns, mu)
    Z = matrix(problem) @ W
    factors, records = STEP * problem.n_rows * lam, np.column_stack([Z, expit(Z)])
    V, scalars = np.zeros(n_columns), np.array([1.0, 0.0])
    core.lsvrg_binary_steps(matrix(problem), factors, records, G[:, 0], V, scalars, STEP, mu, rows)
    found = W + scalars[0] * V[:, None] - scalars[1] * G
    np.testing.assert_allclose(found, plain_lsvrg(problem, W, lam, rows), rtol=1e-9, atol=1e-12)


@each_build
@pytest.mark.parametrize("n_classes", [3, 8, 11])
@pytest.mark.parametrize("mu", [1e-3, 30.0])
def test_lazy_multinomial_steps_equal_plain_steps(
    core: ModuleType, n_classes: int, mu: float
) -> None:
    problem, W, lam, G, rows = setting("logistic", n_classes, 7, mu)
    width = -(-n_classes // 8) * 8
    records = np.zeros((problem.n_rows, 2, width))
    records[:, 0, n_classes:] = -1e30
    records[:, 0, :n_classes] = matrix(problem) @ W
    records[:, 1] = softmax(records[:, 0], axis=1)
    padded, V = np.zeros((2, 7, width))
    padded[:, :n_classes] = G
    factors, scalars = STEP * problem.n_rows * lam, np.array([1.0, 0.0])
    core.lsvrg_multinomial_steps(
        matrix(problem), factors, records, padded, V, scalars, STEP, mu, rows, np.empty((2, width))
    )
    found = W + scalars[0] * V[:, :n_classes] - scalars[1] * G
    np.testing.assert_allclose(found, plain_lsvrg(problem, W, lam, rows), rtol=1e-8, atol=1e-11)
    assert (V[:, n_classes:] == 0.0).all()


def plain_batch(problem: Problem, sigma: np.ndarray, W: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """A subgradient of the risk of a batch, by NumPy."""
    Z = matrix(problem)[rows] @ W
    order = np.argsort(problem.loss.values(Z, problem.y[rows]), kind="stable")
    slopes = problem.loss.derivatives(Z, problem.y[rows])
    return matrix(problem)[rows[order]].T @ (sigma[:, None] * slopes[order])


def batch_arguments(problem: Problem, m: int) -> tuple:
    sigma = problem.spectrum.weights(m)
    labels = problem.y if problem.y.dtype == np.int32 else np.empty(0, dtype=np.int32)
    numbers = problem.y if problem.y.dtype == np.float64 else np.empty(0)
    pool = np.arange(problem.n_rows, dtype=np.int32)
    work = (np.empty((m, problem.loss.n_outputs)), np.empty(m), np.empty(m, dtype=np.int32))
    return sigma, numbers, labels, pool, work


LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 4)]


@each_build
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
@pytest.mark.parametrize("step", [0.1, 0.0])
def test_sgd_steps_equal_plain_steps(
    core: ModuleType, loss: str, n_classes: int, step: float
) -> None:
    problem = small_problem(loss, "extremile:2", n_classes=n_classes, mu=0.5)
    sigma, numbers, labels, pool, work = batch_arguments(problem, 16)
    W, mean, rng = np.zeros(problem.shape), np.zeros(problem.shape), state()
    expected, expected_mean = W.copy(), mean.copy()
    for t in range(1, 30):
        core.sgd_steps(
            problem.loss.code, matrix(problem), numbers, labels, sigma, W, mean, step, 2.5,
            problem.mu, t, 1, rng, pool, *work, np.empty(problem.shape),
        )  # fmt: skip
        eta = step or 1.0 / (problem.mu * (t + 2.5))
        expected_mean += (expected - expected_mean) / t
        gradient = plain_batch(problem, sigma, expected, pool[:16])
        expected = (1 - eta * problem.mu) * expected - eta * gradient
        np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-11)
        np.testing.assert_allclose(mean, expected_mean, rtol=1e-9, atol=1e-11)


@each_build
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_srda_steps_equal_plain_steps(core: ModuleType, loss: str, n_classes: int) -> None:
    problem = small_problem(loss, "superquantile:0.5", n_classes=n_classes, mu=0.5)
    sigma, numbers, labels, pool, work = batch_arguments(problem, 16)
    W, total, rng, step = np.zeros(problem.shape), np.zeros(problem.shape), state(), 0.1
    expected, subgradients = W.copy(), []
    for t in range(1, 30):
        core.srda_steps(
            problem.loss.code, matrix(problem), numbers, labels, sigma, W, total, step, problem.mu,
            t, 1, rng, pool, *work,
        )  # fmt: skip
        subgradients.append(plain_batch(problem, sigma, expected, pool[:16]))
        expected = -np.mean(subgradients, axis=0) / (problem.mu + 1.0 / (step * t))
        np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-11)


@each_build
def test_a_batch_of_all_rows_is_the_full_subgradient(core: ModuleType) -> None:
    problem = small_problem("squared", "extremile:2")
    n = problem.n_rows
    sigma, numbers, labels, pool, work = batch_arguments(problem, n)
    W = np.random.default_rng(0).standard_normal(problem.shape)
    point = problem.at(W, problem.row_weighter())
    expected = W - 0.1 * problem.gradient(W, point.margins, point.lam)
    core.sgd_steps(
        0, matrix(problem), numbers, labels, sigma, W, np.zeros(problem.shape), 0.1, 0.0,
        problem.mu, 1, 1, state(), pool, *work, np.empty(problem.shape),
    )  # fmt: skip
    np.testing.assert_allclose(W, expected, rtol=1e-12)


@each_build
def test_batches_are_drawn_without_replacement_and_evenly(core: ModuleType) -> None:
    problem = small_problem("squared", "mean", n_rows=20)
    sigma, numbers, labels, pool, work = batch_arguments(problem, 7)
    rng, counts = state(), np.zeros(20)
    for _ in range(4000):
        core.sgd_steps(
            0, matrix(problem), numbers, labels, sigma, np.zeros(problem.shape),
            np.zeros(problem.shape), 0.1, 0.0, 1.0, 1, 1, rng, pool, *work, np.empty(problem.shape),
        )  # fmt: skip
        assert len(set(pool[:7].tolist())) == 7
        counts[pool[:7]] += 1
    # Hypergeometric counts vary less than multinomial ones, so this p-value is conservative.
    assert stats.chisquare(counts).pvalue > 1e-4


@each_build
def test_uniform_draws_are_uniform_and_repeat(core: ModuleType) -> None:
    rows, again = np.empty(50_000, dtype=np.int32), np.empty(50_000, dtype=np.int32)
    core.draw_uniform_rows(13, state(), rows)
    core.draw_uniform_rows(13, state(), again)
    assert (rows == again).all()
    assert stats.chisquare(np.bincount(rows, minlength=13)).pvalue > 1e-4


@each_build
@pytest.mark.parametrize("risk", ["superquantile:0.7", "extremile:3", "esrm:20"])
def test_weighted_draws_follow_the_weights(core: ModuleType, risk: str) -> None:
    lam = np.random.default_rng(0).permutation(parse_risk(risk).weights(40))
    keep, (other, work) = np.empty(40), np.empty((2, 40), dtype=np.int32)
    rows = np.empty(100_000, dtype=np.int32)
    core.prepare_draws(lam, keep, other, work)
    core.draw_weighted_rows(keep, other, state(), rows)
    counts = np.bincount(rows, minlength=40)
    assert (counts[lam == 0.0] == 0).all()
    likely = lam * len(rows) > 5
    rest = [counts[~likely].sum(), lam[~likely].sum() * len(rows)]
    observed, expected = [*counts[likely], rest[0]], [*(lam[likely] * len(rows)), rest[1]]
    if rest[1] == 0.0:
        observed, expected = observed[:-1], expected[:-1]
    # By hand: scipy before 1.16 refuses sums that differ by rounding.
    statistic = sum(
        (one - other) ** 2 / other for one, other in zip(observed, expected, strict=True)
    )
    assert stats.chi2.sf(statistic, len(observed) - 1) > 1e-4


def test_the_builds_agree_to_rounding() -> None:
    if len(BUILDS) < 2:
        pytest.skip("ONE BUILD ONLY: this processor has no AVX2")
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3001, 13))
    for k in (1, 6, 8, 19):
        W, coefs = rng.standard_normal((13, k)), rng.standard_normal((3001, k))
        results = []
        for core in BUILDS:
            scores, total = np.empty((3001, k)), np.empty((13, k))
            core.scores(X, W, scores)
            core.weighted_rows(X, coefs, total, np.empty((13, k)))
            results.append((scores, total))
        np.testing.assert_allclose(results[0][0], results[1][0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-10, atol=1e-11)
        np.testing.assert_allclose(results[0][0], X @ W, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(results[0][1], X.T @ coefs, rtol=1e-9, atol=1e-10)


@each_build
@pytest.mark.parametrize("k", [1, 5, 8, 12])
def test_scoring_a_row_does_not_depend_on_its_neighbours(core: ModuleType, k: int) -> None:
    rng = np.random.default_rng(4)
    X, W = rng.standard_normal((57, 11)), rng.standard_normal((11, k))
    together = np.empty((57, k))
    core.scores(X, W, together)
    for i in range(57):
        alone = np.empty((1, k))
        core.scores(X[i : i + 1], W, alone)
        assert (alone[0] == together[i]).all()
