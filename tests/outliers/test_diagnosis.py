"""Errors against robust distances: which rows are remote, off the fit, both or neither."""

import re

import numpy as np
import pytest
from sklearn.covariance import MinCovDet

from helpers.program import lrisk
from lrisk_cli.outliers.diagnosis import diagnose
from lrisk_cli.rows.dense import DenseRows

N = 300


def table(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated columns and a two-valued one; ten remote rows, five of them off the fit, and seven
    rows off the fit alone.
    """
    draws = np.random.default_rng(seed)
    X = draws.standard_normal((N, 3)) @ [[1.0, 0.8, 0.0], [0.0, 0.6, 0.0], [0.0, 0.0, 5.0]]
    X[:10, :2] = [6.0, -6.0] + 0.1 * draws.standard_normal((10, 2))
    errors = np.clip(draws.standard_normal(N), -2.0, 2.0)
    errors[:5], errors[20:27] = 30.0, -20.0
    return np.column_stack([X, draws.random(N) < 0.2, np.ones(N)]), errors


def test_rows_are_counted_by_whether_they_are_remote_and_off_the_fit():
    X, errors = table(1)
    found = diagnose(DenseRows(X), errors, np.abs(errors) > 10.0, np.arange(N), 0)
    assert found is not None
    assert found.n_columns == 3
    assert found.counts[True, True] == 5
    assert found.counts[False, True] == 7
    # Besides the planted five, 2.5 % of normal rows are beyond their 97.5 % quantile.
    assert 5 <= found.counts[True, False] <= 5 + 0.06 * N
    assert sum(found.counts.values()) == N


def test_distances_are_those_of_the_minimum_covariance_determinant():
    X, errors = table(2)
    found = diagnose(DenseRows(X), errors, np.zeros(N, np.bool_), np.arange(N), 0)
    assert found is not None
    theirs = np.sqrt(MinCovDet(random_state=0).fit(X[:, :3]).mahalanobis(X[:, :3]))
    # The rows that both reweight differ by a few, so that scatters differ by some per cent.
    np.testing.assert_allclose(found.distances, theirs, rtol=0.15)


def test_a_row_of_few_numbers_or_too_few_rows_have_no_distances():
    draws = np.random.default_rng(3)
    codes = np.column_stack([draws.random((50, 2)) < 0.5, np.ones(50)]).astype(float)
    assert diagnose(DenseRows(codes), np.ones(50), np.zeros(50, np.bool_), np.arange(50), 0) is None
    wide = draws.standard_normal((50, 30))
    assert diagnose(DenseRows(wide), np.ones(50), np.zeros(50, np.bool_), np.arange(50), 0) is None


@pytest.mark.parametrize("target", ["y", "label"])
def test_the_page_has_the_plot_for_numbers_alone(tmp_path, target):
    X, errors = table(4)
    y = X[:, 0] + errors
    rows = np.column_stack([X[:, :3], y])
    lines = [",".join(map(str, row)) + "," + "ab"[int(row[0] > 0.0)] for row in rows]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,c,y,label", *lines]) + "\n")
    left_out = "label" if target == "y" else "y"
    lrisk(
        tmp_path, "detect-outliers", "t.csv", "--target", target, "--exclude", left_out,
        "--html", "page.html",
    )  # fmt: skip
    page = (tmp_path / "page.html").read_text()
    found = re.search(r"(\d+) rows are remote and off the fit, \d+ remote and on it", page)
    assert (found is not None) == (target == "y")
    if found is not None:
        assert found[1] == "5"
