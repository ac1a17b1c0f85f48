"""Each rival against its formula, computed in another way, or against scikit-learn."""

import numpy as np
import pytest
from scipy import optimize
from scipy.special import logsumexp
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    PoissonRegressor,
    RANSACRegressor,
)

from helpers.matrix import matrix
from helpers.problems import small_problem
from lrisk_cli.baselines.common import Setting, losses_at, refit
from lrisk_cli.baselines.huber import best_scale, huber_objective
from lrisk_cli.baselines.ransac import class_consensus
from lrisk_cli.baselines.registry import fit_baseline, parse_baseline
from lrisk_cli.baselines.sever import gradient_scores, survivors
from lrisk_cli.baselines.stir import truncated_weights
from lrisk_cli.baselines.term import tilt, tilted_objective
from lrisk_cli.baselines.trimmed_ml import alternate
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem

LOSSES = [("squared", 0), ("logistic", 2), ("logistic", 3), ("huber:0.7", 0), ("poisson", 0)]


def mean_problem(loss_name: str, n_classes: int, **options: float) -> Problem:
    return small_problem(loss_name, "mean", n_classes=n_classes, **options)


def fit(text: str, problem: Problem, eps: float = 0.2, seed: int = 0):
    rival = parse_baseline(text)
    return fit_baseline(
        rival, problem.rows, problem.y, problem.loss, problem.mu, eps=eps, seed=seed
    )


def corrupted_line(share: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y = X w without noise except on a share of the rows, and w."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((400, 6)), np.ones(400)])
    w = rng.standard_normal(7)
    y = X @ w
    bad = rng.permutation(400)[: round(share * 400)]
    y[bad] = rng.normal(5.0, 5.0, len(bad))
    return X, y, w


def count_problem(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X with a constant, counts, exposures."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((300, 4)), np.ones(300)])
    exposure = rng.uniform(0.2, 3.0, 300)
    y = rng.poisson(exposure * np.exp(X @ [0.4, -0.3, 0.0, 0.2, 0.5])).astype(float)
    return X, y, exposure


def poisson_oracle(X: np.ndarray, y: np.ndarray, exposure: np.ndarray, mu: float) -> np.ndarray:
    """scikit-learn weighs rates by their exposures, and divides by the sum of these."""
    alpha = mu * len(y) / exposure.sum()
    glm = PoissonRegressor(alpha=alpha, fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    return glm.fit(X, y / exposure, sample_weight=exposure).coef_


# ERM


def test_the_mean_of_poisson_losses_is_that_of_scikit_learn():
    X, y, exposure = count_problem()
    found = fit_baseline(
        parse_baseline("erm"), DenseRows(X), y, make_loss("poisson"), 0.01, eps=0.1,
        exposure=exposure,
    )  # fmt: skip
    np.testing.assert_allclose(found.W[:, 0], poisson_oracle(X, y, exposure, 0.01), atol=1e-6)


def test_trimmed_counts_end_at_the_fit_of_scikit_learn_to_the_rows_kept():
    X, y, exposure = count_problem(1)
    y[:20] += 30.0
    found = fit_baseline(
        parse_baseline("trimmed-ml"), DenseRows(X), y, make_loss("poisson"), 0.01, eps=0.1,
        exposure=exposure,
    )  # fmt: skip
    kept = found.weights > 0.0
    assert np.count_nonzero(~kept) == 30
    assert not kept[:20].any()
    oracle = poisson_oracle(X[kept], y[kept], exposure[kept], 0.01)
    np.testing.assert_allclose(found.W[:, 0], oracle, atol=1e-5)


# TERM


@pytest.mark.parametrize("t", [-50.0, -2.0, -1e-3, 1e-3, 1.0, 20.0])
@pytest.mark.parametrize(("loss_name", "n_classes"), LOSSES)
def test_the_tilted_gradient_is_the_slope_of_the_tilted_loss(loss_name, n_classes, t):
    problem = mean_problem(loss_name, n_classes)
    W = 0.3 * np.random.default_rng(1).standard_normal(problem.shape)
    _, gradient, _ = tilted_objective(problem, t, W)
    for place in np.ndindex(*W.shape):
        step = np.zeros_like(W)
        step[place] = 1e-5
        up, down = (tilted_objective(problem, t, W + s * step)[0] for s in (1, -1))
        assert gradient[place] == pytest.approx((up - down) / 2e-5, abs=2e-7)


@pytest.mark.parametrize("t", [-1e3, -2.0, 0.5, 1e3])
def test_the_tilt_is_a_log_sum_exp(t):
    losses = np.random.default_rng(0).exponential(size=50)
    value, weights = tilt(losses, t)
    assert value == pytest.approx((logsumexp(t * losses) - np.log(50)) / t, rel=1e-12)
    np.testing.assert_allclose(weights, np.exp(t * losses - logsumexp(t * losses)), rtol=1e-9)


def test_the_tilt_runs_from_the_least_loss_through_the_mean_to_the_largest():
    losses = np.random.default_rng(0).exponential(size=50)
    assert tilt(losses, -1e6)[0] == pytest.approx(losses.min(), abs=1e-5)
    assert tilt(losses, 1e6)[0] == pytest.approx(losses.max(), abs=1e-5)
    # mean + t/2 variance, to second order, where 1/t would magnify rounding a millionfold.
    assert tilt(losses, 1e-9)[0] == pytest.approx(losses.mean(), rel=1e-8)
    assert tilt(losses, 1e-15)[0] == pytest.approx(losses.mean(), rel=1e-14)
    assert tilt(losses, 1e-3)[0] == pytest.approx(losses.mean() + 5e-4 * losses.var(), rel=1e-5)


@pytest.mark.parametrize("t", [-2.0, 2.0])
def test_the_tilt_of_enormous_losses_does_not_overflow(t):
    losses = np.array([0.0, 1e300, 1e300])
    value, weights = tilt(losses, t)
    assert value == (pytest.approx(np.log(3.0) / 2.0) if t < 0 else pytest.approx(1e300))
    np.testing.assert_allclose(weights, [1, 0, 0] if t < 0 else [0, 0.5, 0.5])


@pytest.mark.parametrize(("loss_name", "n_classes"), LOSSES)
def test_no_tilt_is_the_mean(loss_name, n_classes):
    problem = mean_problem(loss_name, n_classes, mu=0.1)
    expected = fit("erm", problem).W
    for text in ("term:-1e-9", "term:1e-9"):
        np.testing.assert_allclose(fit(text, problem).W, expected, atol=1e-6)


@pytest.mark.parametrize("t", [-2.0, 3.0])
@pytest.mark.parametrize(("loss_name", "n_classes"), LOSSES)
def test_tilted_fits_end_where_no_other_descent_gets_lower(loss_name, n_classes, t):
    problem = mean_problem(loss_name, n_classes)
    found = fit(f"term:{t:g}", problem)
    value, gradient, _ = tilted_objective(problem, t, found.W)
    assert np.abs(gradient).max() < 1e-6

    def plain(flat: np.ndarray) -> float:
        W = flat.reshape(problem.shape)
        losses = losses_at(problem, W)
        return (logsumexp(t * losses) - np.log(len(losses))) / t + problem.penalty(W)

    rng = np.random.default_rng(2)
    starts = [np.zeros(problem.shape), refit(problem, problem.sigma)]
    starts += [rng.standard_normal(problem.shape) for _ in range(2)] if t > 0 else []
    others = [optimize.minimize(plain, W.ravel(), method="BFGS").fun for W in starts]
    assert value <= min(others) + 1e-9
    if t > 0:
        assert value == pytest.approx(min(others), abs=1e-6)


def test_a_strong_negative_tilt_finds_the_rows_that_agree():
    X, y, w = corrupted_line(0.3)
    found = fit_baseline(
        parse_baseline("term:-1e4"), DenseRows(X), y, make_loss("squared"), 1e-12, eps=0.3
    )
    np.testing.assert_allclose(found.W[:, 0], w, atol=1e-6)


# SEVER


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_rows", [8, 200])
def test_gradients_are_scored_along_their_top_singular_direction(n_outputs, n_rows):
    rng = np.random.default_rng(n_outputs)
    X, slopes = rng.standard_normal((n_rows, 5)), rng.standard_normal((n_rows, n_outputs))
    gradients = (X[:, :, None] * slopes[:, None, :]).reshape(n_rows, -1)
    centred = gradients - gradients.mean(axis=0)
    top = np.linalg.svd(centred)[2][0]
    np.testing.assert_allclose(
        gradient_scores(DenseRows(X), slopes, 0), np.abs(centred @ top), atol=1e-6
    )


def test_alike_gradients_leave_every_row():
    X = np.ones((20, 3))
    scores = gradient_scores(DenseRows(X), np.zeros((20, 1)), 0)
    np.testing.assert_array_equal(scores, 0.0)
    assert survivors(scores, 0.1).all()
    assert survivors(np.ones(20), 0.1).all()
    assert np.count_nonzero(survivors(np.arange(20.0), 0.1)) == 18


def test_sever_drops_planted_rows_of_gaussian_data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((1000, 10)), np.ones(1000)])
    w = rng.standard_normal(11)
    y = X @ w + rng.standard_normal(1000)
    # The attack of the paper: rows alike, that pull towards the opposite of w.
    X[:100, :-1] = 2.0 * w[:-1] / np.linalg.norm(w[:-1]) + 0.1 * rng.standard_normal((100, 10))
    y[:100] = -(X[:100] @ w) - 5.0
    found = fit_baseline(
        parse_baseline("sever"), DenseRows(X), y, make_loss("squared"), 1e-3, eps=0.1
    )
    assert np.count_nonzero(found.weights[:100]) == 0
    # Four rounds of a twentieth each.
    assert np.count_nonzero(found.weights) == pytest.approx(1000 * 0.95**4, abs=4)
    assert np.count_nonzero(np.argsort(-found.scores)[:50] < 100) >= 45
    assert np.linalg.norm(found.W[:, 0] - w) < 0.15


@pytest.mark.parametrize("n_classes", [2, 3])
def test_sever_filters_each_class(n_classes):
    rng = np.random.default_rng(1)
    y = rng.integers(0, n_classes, 900).astype(np.int32)
    X = np.column_stack(
        [3.0 * np.eye(n_classes)[y] + rng.standard_normal((900, n_classes)), y >= 0]
    )
    X[:45, :-1] *= 30.0
    y[:45] = (y[:45] + 1) % n_classes
    problem = make_problem(
        DenseRows(X), y, make_loss("logistic", n_classes), Spectrum("mean"), 1e-2
    )
    found = fit("sever", problem, eps=0.1)
    assert np.count_nonzero(found.weights[:45]) <= 15
    for label in range(n_classes):
        of_class = problem.y == label
        kept = np.count_nonzero(found.weights[of_class]) / np.count_nonzero(of_class)
        assert kept == pytest.approx(0.95**2, abs=0.01)


# CRR and STIR


@pytest.mark.parametrize("name", ["crr", "stir", "trimmed-ml"])
@pytest.mark.parametrize("share", [0.2, 0.3])
def test_noiseless_weights_are_recovered_exactly(name, share):
    X, y, w = corrupted_line(share)
    found = fit_baseline(
        parse_baseline(name), DenseRows(X), y, make_loss("squared"), 1e-15, eps=share
    )
    np.testing.assert_allclose(found.W[:, 0], w, atol=1e-8)
    bad = np.abs(y - X @ w) > 1e-9
    assert found.scores[bad].min() > found.scores[~bad].max()


def test_crr_is_the_iteration_of_its_paper():
    X, y, _ = corrupted_line(0.2, seed=3)
    y = y + np.random.default_rng(0).standard_normal(400)
    mu, k, b = 0.01, 80, np.zeros(400)
    P = X @ np.linalg.solve(X.T @ X + 400 * mu * np.eye(7), X.T)
    for _ in range(500):
        v = P @ b + (y - P @ y)
        b = np.where(np.abs(v) >= np.sort(np.abs(v))[-k], v, 0.0)
    expected = np.linalg.solve(X.T @ X + 400 * mu * np.eye(7), X.T @ (y - b))
    found = fit_baseline(parse_baseline("crr"), DenseRows(X), y, make_loss("squared"), mu, eps=0.2)
    np.testing.assert_allclose(found.W[:, 0], expected, atol=1e-8)
    np.testing.assert_array_equal(found.weights == 0.0, b != 0.0)


def test_stir_weights_are_truncated_and_the_middle_row_weighs_as_in_ridge():
    residuals = np.array([0.0, -0.1, 0.5, -2.0, 8.0])
    np.testing.assert_allclose(
        5.0 * truncated_weights(residuals, 5.0), 0.5 * np.array([5.0, 5.0, 2.0, 0.5, 0.125])
    )


def test_stir_ends_near_least_absolute_deviations():
    X, y, _ = corrupted_line(0.2, seed=1)
    y = y + 0.5 * np.random.default_rng(0).standard_normal(400)
    found = fit_baseline(
        parse_baseline("stir"), DenseRows(X), y, make_loss("squared"), 1e-12, eps=0.2
    )
    n, d = X.shape
    costs = np.concatenate([np.zeros(d), np.ones(2 * n)])
    split = np.hstack([X, np.eye(n), -np.eye(n)])
    least = optimize.linprog(
        costs, A_eq=split, b_eq=y, bounds=[(None, None)] * d + [(0, None)] * 2 * n
    )
    assert np.abs(y - X @ found.W[:, 0]).sum() == pytest.approx(least.fun, rel=1e-3)


# Huber, RANSAC, support vectors


@pytest.mark.parametrize("epsilon", [1.1, 1.35, 3.0])
def test_the_huber_scale_is_the_best(epsilon):
    problem = mean_problem("squared", 0)
    residuals = problem.y.copy()
    zero = np.zeros(problem.shape)
    best = optimize.minimize_scalar(
        lambda s: huber_objective(problem, zero, s, epsilon), bounds=(1e-3, 20.0), method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    assert best_scale(residuals, epsilon) == pytest.approx(best.x, rel=1e-6)


def test_the_huber_scale_of_rows_that_are_mostly_exact_is_zero():
    assert best_scale(np.array([0.0, 0.0, 0.0, 7.0]), 1.35) == 0.0


@pytest.mark.parametrize("epsilon", [1.35, 2.0])
@pytest.mark.parametrize("mu", [1e-4, 0.3])
def test_huber_is_scikit_learn_s(epsilon, mu):
    problem = mean_problem("squared", 0, n_rows=300, mu=mu)
    problem.y[:40] += 8.0
    theirs = HuberRegressor(
        epsilon=epsilon, alpha=300 * mu, fit_intercept=False, max_iter=10000, tol=1e-9
    ).fit(matrix(problem), problem.y)
    found = fit(f"huber:{epsilon}", problem)
    np.testing.assert_allclose(found.W[:, 0], theirs.coef_, atol=2e-5)
    scale = best_scale(problem.y - matrix(problem) @ found.W[:, 0], epsilon)
    assert scale == pytest.approx(theirs.scale_, rel=1e-4)
    attained = huber_objective(problem, theirs.coef_[:, None], theirs.scale_, epsilon)
    assert huber_objective(problem, found.W, scale, epsilon) <= attained * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_ransac_is_scikit_learn_s(seed):
    X, y, _ = corrupted_line(0.2, seed=2)
    y = y + 0.3 * np.random.default_rng(0).standard_normal(400)
    theirs = RANSACRegressor(
        LinearRegression(fit_intercept=False), min_samples=7, random_state=seed % 2**32
    ).fit(X, y)
    found = fit_baseline(
        parse_baseline("ransac"), DenseRows(X), y, make_loss("squared"), 1e-14, eps=0.2, seed=seed
    )
    np.testing.assert_allclose(found.W[:, 0], theirs.estimator_.coef_, atol=1e-9)
    np.testing.assert_array_equal(found.weights > 0.0, theirs.inlier_mask_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_more_trials_find_no_smaller_consensus(n_classes):
    problem = mean_problem("logistic", n_classes)
    setting = Setting(0.0, 0.2, 4)
    sizes = [class_consensus(problem, setting, 20, trials).sum() for trials in (1, 5, 50)]
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def test_support_vectors_of_two_classes_close_the_duality_gap():
    problem = mean_problem("logistic", 2)
    signs = 2.0 * problem.y - 1.0
    rows, cost = signs[:, None] * matrix(problem), 1.0 / (problem.n_rows * problem.mu)

    def dual(alpha: np.ndarray) -> tuple[float, np.ndarray]:
        w = rows.T @ alpha
        return 0.5 * w @ w - alpha.sum(), rows @ w - 1.0

    bounds = [(0.0, cost)] * problem.n_rows
    alpha = optimize.minimize(
        dual, np.zeros(problem.n_rows), jac=True, bounds=bounds,
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9},
    )  # fmt: skip
    w = fit("svm", problem).W[:, 0]
    primal = 0.5 * w @ w + cost * np.maximum(0.0, 1.0 - rows @ w).sum()
    assert primal == pytest.approx(-alpha.fun, rel=1e-4)


def test_support_vectors_of_numbers_cannot_be_improved():
    problem = mean_problem("squared", 0)
    w = fit("svm", problem).W[:, 0]

    def objective(v: np.ndarray) -> float:
        beyond = np.maximum(np.abs(problem.y - matrix(problem) @ v) - 0.1, 0.0)
        return beyond.mean() + 0.5 * problem.mu * v @ v

    start = objective(w)
    better = optimize.minimize(objective, w, method="Nelder-Mead", options={"maxiter": 4000})
    assert start <= better.fun * (1.0 + 1e-3)


# Trimmed maximum likelihood


@pytest.mark.parametrize(("loss_name", "n_classes"), LOSSES)
def test_trimming_never_lowers_the_likelihood(loss_name, n_classes):
    problem = mean_problem(loss_name, n_classes, n_rows=300)
    W, kept, objectives = alternate(problem, 200)
    assert len(objectives) > 2
    assert (np.diff(objectives) <= 1e-10).all()
    assert np.count_nonzero(kept) == 200
    losses = losses_at(problem, W)
    # Settled: the rows kept are those of least loss, and W is their fit.
    assert losses[kept].max() <= losses[~kept].min()
    np.testing.assert_allclose(refit(problem, kept / 200), W, atol=1e-4)


@pytest.mark.parametrize(("text", "n_kept"), [("trimmed-ml", 96), ("trimmed-ml:2", 72)])
def test_the_factor_says_how_much_is_trimmed(text, n_kept):
    problem = mean_problem("squared", 0)
    assert np.count_nonzero(fit(text, problem, eps=0.2).weights) == n_kept


# Targets without noise


def test_stir_has_nothing_to_learn_from_a_target_of_zeros():
    X, y, _ = corrupted_line(0.0)
    found = fit_baseline(
        parse_baseline("stir"), DenseRows(X), 0.0 * y, make_loss("squared"), 1e-6, eps=0.2
    )
    assert not found.W.any()
    assert "the target is 0 everywhere" in found.note


def test_huber_ends_where_most_rows_are_met_exactly():
    X, y, w = corrupted_line(0.0)
    found = fit_baseline(
        parse_baseline("huber"), DenseRows(X), y, make_loss("squared"), 1e-30, eps=0.2
    )
    assert found.W[:, 0] == pytest.approx(w, abs=1e-9)
    assert "most rows are met exactly" in found.note
