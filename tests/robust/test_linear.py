"""The robust linear fit: what it withstands, what it costs, and what its scores are."""

import numpy as np
import pytest

from lrisk_cli.robust.linear import LinearFit, fit_linear
from lrisk_cli.rows.dense import DenseRows


def table(n: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows with their constant, targets with unit normal noise, the coefficients."""
    rng = np.random.default_rng([seed, n, p])
    rows = np.column_stack([rng.standard_normal((n, p)), np.ones(n)])
    beta = np.append(rng.standard_normal(p), 0.5)
    return rows, rows @ beta + rng.standard_normal(n), beta


def distance(fit: LinearFit, beta: np.ndarray) -> float:
    return float(np.sum((fit.beta - beta) ** 2))


def shifted(share: float, far: float, seed: int, n: int = 200, p: int = 5):
    rows, y, beta = table(n, p, seed)
    y[: int(share * n)] += far
    return rows, y, beta


def leverage(share: float, seed: int, n: int = 200, p: int = 5):
    rows, y, beta = table(n, p, seed)
    bad = slice(int(share * n))
    rows[bad, :p] *= 0.3
    rows[bad, 0] += 6.0
    y[bad] = rows[bad] @ beta - 12.0
    return rows, y, beta


CASES = {
    "30 % at 5 sigma": lambda seed: shifted(0.3, 5.0, seed),
    "40 % at 8 sigma": lambda seed: shifted(0.4, 8.0, seed),
    "40 % far away": lambda seed: shifted(0.4, 1e6, seed),
    "30 %, p = n / 5": lambda seed: shifted(0.3, 10.0, seed, n=100, p=20),
    "a leverage cluster of 25 %": lambda seed: leverage(0.25, seed),
}


@pytest.mark.parametrize("case", CASES, ids=lambda name: name.replace(" ", "-"))
def test_contaminated_rows_do_not_bend_the_fit(case: str) -> None:
    """At most 2.5 times the error of least squares on the clean rows, which knows them."""
    ours, known = 0.0, 0.0
    for seed in range(5):
        rows, y, beta = CASES[case](seed)
        fit = fit_linear(DenseRows(rows), y)
        ours += distance(fit, beta)
        clean = np.abs(y - rows @ beta) < 4.0
        known += float(np.sum((np.linalg.lstsq(rows[clean], y[clean], rcond=None)[0] - beta) ** 2))
        assert fit.scale == pytest.approx(1.0, abs=0.3)
    assert ours < 2.5 * known


@pytest.mark.parametrize(("n", "p", "most"), [(200, 5, 1.15), (100, 20, 1.15)])
def test_clean_rows_cost_little(n: int, p: int, most: float) -> None:
    ours, squares = 0.0, 0.0
    for seed in range(12):
        rows, y, beta = table(n, p, seed)
        ours += distance(fit_linear(DenseRows(rows), y), beta)
        squares += float(np.sum((np.linalg.lstsq(rows, y, rcond=None)[0] - beta) ** 2))
    assert ours < most * squares


def test_the_fit_is_stationary_for_its_weights() -> None:
    rows, y, _ = shifted(0.2, 10.0, 3)
    fit = fit_linear(DenseRows(rows), y)
    assert fit.method == "MM"
    assert np.abs(rows.T @ (fit.weights * fit.errors)).max() < 1e-4
    assert fit.suspected == pytest.approx(0.2, abs=0.02)


def test_more_than_a_third_ends_with_reweighted_least_squares_of_the_others() -> None:
    rows, y, _ = shifted(0.4, 10.0, 3)
    fit = fit_linear(DenseRows(rows), y)
    assert fit.method == "reweighted LTS"
    kept = fit.weights == 1.0
    assert not kept[:80].any()
    np.testing.assert_allclose(
        fit.beta, np.linalg.lstsq(rows[kept], y[kept], rcond=None)[0], atol=1e-8
    )


def test_the_fit_follows_units_and_shifts() -> None:
    rows, y, _ = shifted(0.2, 10.0, 4)
    plain = fit_linear(DenseRows(rows), y)
    slopes = np.array([2.0, 0.0, -1.0, 0.0, 3.0, 7.0])
    other = fit_linear(DenseRows(rows), 100.0 * y + rows @ slopes)
    np.testing.assert_allclose(other.beta, 100.0 * plain.beta + slopes, rtol=1e-3)
    np.testing.assert_allclose(other.scores, plain.scores, atol=2e-2)


def test_scores_are_errors_of_the_fits_without_the_row() -> None:
    rows, y, _ = table(40, 3, 1)
    fit = fit_linear(DenseRows(rows), y)
    for i in (0, 17, 39):
        w = np.where(np.arange(40) == i, 0.0, fit.weights)
        G = rows.T @ (w[:, None] * rows)
        beta = np.linalg.solve(G, rows.T @ (w * y))
        spread = fit.scale * np.sqrt(1.0 + rows[i] @ np.linalg.solve(G, rows[i]))
        assert fit.scores[i] == pytest.approx((y[i] - rows[i] @ beta) / spread, rel=1e-3, abs=1e-3)


def test_rows_on_one_line_are_an_exact_fit() -> None:
    rows, _, beta = table(50, 2, 2)
    y = rows @ beta
    y[:10] += 5.0
    fit = fit_linear(DenseRows(rows), y)
    assert fit.method == "exact fit"
    np.testing.assert_allclose(fit.beta, beta, atol=1e-6)
    assert fit.suspected == pytest.approx(0.2)


def test_columns_that_depend_on_each_other_and_a_constant_column_do_no_harm() -> None:
    rows, y, beta = shifted(0.2, 10.0, 5)
    doubled = np.column_stack([rows[:, :5], rows[:, 0] + rows[:, 1], np.zeros(200), rows[:, 5]])
    fit = fit_linear(DenseRows(doubled), y)
    np.testing.assert_allclose(y - fit.errors, rows @ fit_linear(DenseRows(rows), y).beta, atol=0.2)
    assert np.abs(rows @ beta - (y - fit.errors)).max() < 1.5


def test_a_large_table_is_searched_by_a_sample_and_fitted_whole() -> None:
    rows, y, beta = shifted(0.3, 8.0, 6, n=20_000, p=4)
    fit = fit_linear(DenseRows(rows), y)
    assert distance(fit, beta) < 2e-3
    assert fit.suspected == pytest.approx(0.3, abs=0.01)
