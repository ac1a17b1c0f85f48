"""Few rows: what explains them better than wrong rows would, beside likelihoods by SciPy."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import lognorm, norm

from helpers.program import document, lrisk
from lrisk_cli.robust.alternatives import (
    _fit_growing,
    _shifted_lognormal,
    deleted_errors,
    find_alternative,
)
from lrisk_cli.robust.judge import Judgement, judge_numbers
from lrisk_cli.rows.dense import DenseRows

N = 60


def columns(seed: int, n: int = N) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    draws = np.random.default_rng([seed, 51])
    X = draws.standard_normal((n, 4))
    return X, X @ [1.0, -1.0, 0.5, 2.0], draws


def judged(X: np.ndarray, y: np.ndarray) -> Judgement:
    return judge_numbers(DenseRows(np.column_stack([X, np.ones(len(y))])), y, constant=True)


TRUTHS = {
    "logarithm": lambda X, f, e: np.exp(0.5 * f + 0.5 * e),
    "square": lambda X, f, e: X[:, 0] ** 2 + X[:, 1] + 0.3 * e,
    "product": lambda X, f, e: 2.0 * X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * e,
    "step": lambda X, f, e: 5.0 * (X[:, 0] > 1.2) + X[:, 1] + 0.5 * e,
    "growing noise": lambda X, f, e: f + np.exp(X[:, 0]) * e,
}


@pytest.mark.parametrize("truth", TRUTHS)
def test_few_correct_rows_are_left_alone_where_the_plane_is_wrong(truth):
    flagged = []
    for seed in range(12):
        X, f, draws = columns(seed)
        y = TRUTHS[truth](X, f, draws.standard_normal(N))
        flagged.append(judged(X, y).outliers.mean())
    assert np.mean(flagged) <= 0.02


@pytest.mark.parametrize("share", [0.05, 0.2])
def test_wrong_rows_among_few_stay_wrong(share):
    for seed in range(6):
        X, f, draws = columns(seed)
        bad = slice(round(share * N))
        y = f + draws.standard_normal(N)
        y[bad] += 12.0
        found = judged(X, y)
        assert found.outliers[bad].all()
        assert not found.instead


def test_wrong_rows_are_found_beside_a_logarithm():
    X, f, draws = columns(20)
    y = np.exp(0.5 * f + 0.3 * draws.standard_normal(N))
    y[:3] *= 40.0
    found = judged(X, y)
    assert found.outliers[:3].all()
    assert found.outliers[3:].mean() <= 0.02
    assert found.instead == "the logarithm of the target, less a constant, is linear"


def test_a_curve_through_the_wrong_rows_alone_is_no_explanation():
    X, f, draws = columns(21)
    y = f + 0.3 * draws.standard_normal(N)
    # Rows at the end of a column, whose errors a step would follow.
    bad = np.argsort(X[:, 0])[-4:]
    y[bad] += 15.0
    assert judged(X, y).outliers[bad].all()


def test_rows_are_compared_by_what_remains_beside_the_remote_ones():
    X, f, draws = columns(22)
    A, y = np.column_stack([X, np.ones(N)]), f + draws.standard_normal(N)
    wrong = np.zeros(N, np.bool_)
    wrong[:4] = True
    assert find_alternative(A, y, wrong, wrong) is None


def test_deleted_errors_are_those_of_the_fits_without_the_row():
    X, f, draws = columns(23, 12)
    A, y = np.column_stack([X, np.ones(12)]), f + draws.standard_normal(12)
    found = deleted_errors(A, y)
    for row in range(12):
        rest = np.arange(12) != row
        beta, squares, *_ = np.linalg.lstsq(A[rest], y[rest])
        inverse = np.linalg.inv(A[rest].T @ A[rest])
        variance = float(squares[0]) / (11 - 5) * (1.0 + A[row] @ inverse @ A[row])
        assert found[row] == pytest.approx((y[row] - A[row] @ beta) / np.sqrt(variance))


def test_likelihoods_are_those_of_scipy():
    X, f, draws = columns(24)
    e = np.exp(0.75 * draws.standard_normal(N))
    theirs = [
        -2.0 * lognorm.logpdf(e, 0.75, c, np.exp(np.log(e - c).mean())).sum()
        for c in e.min() - e.std() * np.geomspace(0.02, 20.0, 40)
    ]
    assert _shifted_lognormal(e, 0.75) == pytest.approx(min(theirs), rel=1e-9)
    A, u = np.column_stack([X, np.ones(N)]), X[:, 0]
    y = f + np.exp(0.9 * u) * draws.standard_normal(N)

    def surprise(t: np.ndarray) -> float:
        return -float(norm.logpdf(y, A @ t[:5], np.exp(t[5] + t[6] * u)).sum())

    least = minimize(surprise, np.append(np.linalg.lstsq(A, y)[0], [0.0, 0.0])).fun
    value, b = _fit_growing(A, y, u)
    assert value == pytest.approx(least, abs=0.05)
    assert b == pytest.approx(0.9, abs=0.3)


def test_the_command_says_what_explains_the_rows(tmp_path):
    X, f, draws = columns(25)
    y = np.exp(0.5 * f + 0.5 * draws.standard_normal(N))
    rows = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="a,b,c,d,y", comments="")
    found = document(lrisk(tmp_path, "detect-outliers", "t.csv", "--target", "y", "--json"))
    assert found["outlier_fraction"] <= 0.02
    assert any(
        "the logarithm of the target, less a constant, is linear" in note for note in found["notes"]
    )


def test_a_fit_says_that_rows_without_weight_are_no_outliers(tmp_path):
    draws = np.random.default_rng(26)
    x = np.linspace(0.0, 6.0, 30)
    y = np.exp(x + 0.05 * draws.standard_normal(30))
    rows = np.column_stack([x, y])
    np.savetxt(tmp_path / "t.csv", rows, delimiter=",", header="x,y", comments="")
    run = lrisk(tmp_path, "fit", "t.csv", "--target", "y", "--robust", "-o", "m.json")
    assert "no row was found to be an outlier, but" in run.stdout
