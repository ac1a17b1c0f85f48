"""Inlier weights: outliers of every kind get no weight, correct rows keep theirs."""

from time import process_time

import numpy as np
import pytest

from lrisk_cli.losses.registry import make_loss
from lrisk_cli.robust.bounded_columns import learn_columns
from lrisk_cli.robust.inlier_weights import find_inlier_weights
from lrisk_cli.rows.dense import DenseRows

NUMBERS = make_loss("squared")


def law(n_rows: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """A curved law of three columns and a constant, with a little noise."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n_rows, 3)), np.ones(n_rows)])
    y = 2.0 * X[:, 0] - X[:, 1] + 0.5 * X[:, 2] ** 2 + 0.3 * rng.standard_normal(n_rows)
    return X, y, rng


def some(rng: np.random.Generator, n_rows: int, share: float) -> np.ndarray:
    return rng.permutation(n_rows)[: round(share * n_rows)]


@pytest.mark.parametrize("share", [0.1, 0.4])
@pytest.mark.parametrize("kind", ["target", "both", "features"])
def test_outliers_lose_their_weight_and_others_keep_it(kind: str, share: float) -> None:
    X, y, rng = law()
    bad = some(rng, len(X), share)
    if kind != "target":
        X[bad, :3] *= 100.0
    if kind != "features":
        y[bad] = 10_000.0 * y[bad] if kind == "both" else rng.normal(15.0, 5.0, len(bad))
    w = find_inlier_weights(DenseRows(X), y, NUMBERS, constant=True).weights
    good = np.setdiff1d(np.arange(len(X)), bad)
    assert w[bad].mean() < 0.05
    assert w[good].mean() > 0.9


def test_clean_rows_all_belong_together() -> None:
    X, y, _ = law()
    found = find_inlier_weights(DenseRows(X), y, NUMBERS, constant=True)
    assert np.mean(found.weights < 0.5) < 0.01
    assert found.fraction < 0.02


def test_a_remote_row_counts_where_the_others_predict_it() -> None:
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.standard_normal((2000, 2)), np.ones(2000)])
    y = X @ np.array([1.0, -1.0, 0.0]) + 0.5 * rng.standard_normal(2000)
    X[:2, :2] = [[40.0, -40.0], [-40.0, 40.0]]
    y[:2] = [80.0, 0.0]
    w = find_inlier_weights(DenseRows(X), y, NUMBERS, constant=True).weights
    assert w[0] > 0.5
    assert w[1] == 0.0


def test_units_do_not_matter() -> None:
    X, y, rng = law()
    y[some(rng, len(X), 0.2)] += 20.0
    other = X.copy()
    other[:, :3] = 1e3 * X[:, :3] + 7.0
    plain = find_inlier_weights(DenseRows(X), y, NUMBERS, constant=True).weights
    scaled = find_inlier_weights(DenseRows(other), y, NUMBERS, constant=True).weights
    np.testing.assert_allclose(scaled > 0.5, plain > 0.5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_swapped_labels_are_found(n_classes: int) -> None:
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.uniform(-3.0, 3.0, (1500, n_classes)), np.ones(1500)])
    y = X[:, :n_classes].argmax(axis=1).astype(np.int32)
    bad = some(rng, 1500, 0.15)
    y[bad] = (y[bad] + 1) % n_classes
    found = find_inlier_weights(DenseRows(X), y, make_loss("logistic", n_classes), constant=True)
    assert found.weights[bad].mean() < 0.5
    assert np.delete(found.weights, bad).mean() > 0.95
    flagged = found.weights < 0.5
    assert flagged[bad].sum() > 0.9 * flagged.sum() > 0.0


def test_remote_rows_with_swapped_labels_get_no_weight() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.standard_normal((400, 3)), np.ones(400)])
    y = (X[:, 0] + 0.3 * rng.standard_normal(400) > 0.0).astype(np.int32)
    bad = some(rng, 400, 0.3)
    X[bad, :3] *= 100.0
    y[bad] = 1 - y[bad]
    w = find_inlier_weights(DenseRows(X), y, make_loss("logistic", 2), constant=True).weights
    assert w[bad].mean() < 0.1
    assert np.delete(w, bad).mean() > 0.9


def test_labels_without_signal_are_not_called_swapped() -> None:
    """Two classes that the columns do not tell apart, or hardly: there is nothing to swap."""
    for signal in (0.0, 0.4):
        for n_rows in (60, 400):
            rng = np.random.default_rng([5, n_rows])
            X = np.column_stack([rng.standard_normal((n_rows, 3)), np.ones(n_rows)])
            chance = 1.0 / (1.0 + np.exp(-signal * X[:, 0]))
            y = (rng.random(n_rows) < chance).astype(np.int32)
            found = find_inlier_weights(DenseRows(X), y, make_loss("logistic", 2), constant=True)
            assert (found.weights < 0.5).mean() <= 0.02


def test_bounded_columns_are_asinh_standardised_in_the_middle() -> None:
    rng = np.random.default_rng(4)
    columns = np.column_stack(
        [rng.standard_normal(200), rng.integers(0, 2, 200), np.full(200, 3.0)]
    )
    bounded = learn_columns(columns)
    assert bounded.used.tolist() == [0, 1]
    B = bounded.fill(columns)
    x = columns[:, 0]
    mad = 1.4826 * np.median(np.abs(x - np.median(x)))
    u = np.arcsinh((x - np.median(x)) / mad)
    other = np.arcsinh((columns[:, 1] - bounded.centres[1]) / bounded.scales[1])
    middle = np.argsort(u**2 + other**2, kind="stable")[:100]
    np.testing.assert_allclose(B[middle, 1:].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(B[middle, 1:].std(axis=0), 1.0)
    np.testing.assert_allclose(B[:, 1], (u - u[middle].mean()) / u[middle].std())
    beta = rng.standard_normal((3, 2))
    np.testing.assert_allclose(bounded.multiply(DenseRows(columns), beta), B @ beta, atol=1e-12)


@pytest.mark.parametrize("n_rows", [2, 3, 8])
def test_a_handful_of_rows_is_no_error(n_rows: int) -> None:
    X, y, _ = law(n_rows)
    w = find_inlier_weights(DenseRows(X), y, NUMBERS, constant=True).weights
    assert np.isfinite(w).all()
    assert w.sum() > 0.0


def test_a_wide_table_costs_no_more_than_its_rows_allow() -> None:
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.standard_normal((4, 3000)), np.ones(4)])
    began = process_time()
    find_inlier_weights(DenseRows(X), X[:, 0], NUMBERS, constant=True)
    # Two dozen inverses of 3000 x 3000 took a minute.
    assert process_time() - began < 15.0
