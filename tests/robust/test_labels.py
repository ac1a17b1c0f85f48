"""Labels: flips are found at the rates they have, and nothing is called wrong without evidence."""

import numpy as np
import pytest

from lrisk_cli.losses.registry import make_loss
from lrisk_cli.robust.labels import LabelJudgement, judge_labels
from lrisk_cli.robust.swaps import Swaps, fit_weights, improve, one_rate, right_labels
from lrisk_cli.rows.dense import DenseRows


def judge(X: np.ndarray, y: np.ndarray) -> LabelJudgement:
    loss = make_loss("logistic", int(y.max()) + 1)
    rows = DenseRows(np.ascontiguousarray(np.column_stack([X, np.ones(len(y))])))
    targets = loss.targets(y.astype(np.int32))
    return judge_labels(rows, targets, loss, constant=True, seed=0, until=np.inf)


def clouds(n_each: tuple[int, ...], apart: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(n_each)), n_each)
    return apart * np.eye(3)[y] + rng.standard_normal((len(y), 3)), y


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_flipped_labels_are_flagged_and_as_many_as_estimated(share: float) -> None:
    X, y = clouds((150, 100, 50), 4.0, 1)
    rng = np.random.default_rng(2)
    bad = rng.permutation(300)[: round(share * 300)]
    labels = y.copy()
    labels[bad] = (y[bad] + rng.integers(1, 3, len(bad))) % 3
    found = judge(X, labels)
    assert found.fraction == pytest.approx(share, abs=0.03)
    assert abs(found.flags.mean() - found.fraction) <= 1.0 / 300
    assert found.flags[bad].mean() > 0.85
    assert found.flags[bad].sum() > 0.85 * found.flags.sum()


def test_flips_of_one_class_only_are_found_at_the_rate_of_that_class() -> None:
    X, y = clouds((300, 200), 3.0, 3)
    labels = y.copy()
    bad = np.flatnonzero(y == 1)[:50]
    labels[bad] = 0
    found = judge(X, labels)
    assert found.fraction == pytest.approx(0.1, abs=0.03)
    assert found.flags[bad].mean() > 0.8
    assert found.flags[y == 0].mean() < 0.03


@pytest.mark.parametrize("signal", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("curve", [False, True])
def test_small_tables_without_wrong_labels_lose_none(signal: float, curve: bool) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 4))
    margin = signal * (X[:, 0] ** 2 - 1.0 if curve else X[:, 0])
    y = (rng.random(150) < 1.0 / (1.0 + np.exp(-margin))).astype(np.intp)
    assert not judge(X, y).flags.any()


def test_a_rare_class_that_the_columns_hardly_tell_is_not_wrong() -> None:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1500, 4))
    y = (rng.random(1500) < 1.0 / (1.0 + np.exp(3.0 - X[:, 0]))).astype(np.intp)
    assert not judge(X, y).flags.any()


def test_a_handful_of_rows_for_many_columns_is_not_judged() -> None:
    rng = np.random.default_rng(6)
    found = judge(rng.standard_normal((40, 20)), rng.integers(0, 2, 40))
    assert found.thin
    assert not found.flags.any()


def test_the_probability_of_a_right_label_is_that_of_bayes() -> None:
    p, e = np.array([0.9, 0.5, 0.05]), 0.2
    Z = np.column_stack([np.zeros(3), np.log(p / (1.0 - p))])
    right, odds = right_labels(Swaps(one_rate(e, 2)), Z, np.ones(3, np.intp))
    expected = (1.0 - e) * p / ((1.0 - e) * p + e * (1.0 - p))
    np.testing.assert_allclose(right, expected)
    np.testing.assert_allclose(odds, np.log((1.0 - expected) / expected))


def test_rates_by_pair_and_temperature_are_estimated_from_true_margins() -> None:
    rng = np.random.default_rng(7)
    Z = np.column_stack([np.zeros(20_000), 4.0 * rng.standard_normal(20_000)])
    true = rng.random(20_000) < 1.0 / (1.0 + np.exp(-Z[:, 1]))
    y = np.where(true & (rng.random(20_000) < 0.25), 0, true).astype(np.intp)
    swaps = Swaps(one_rate(0.2, 2), 2.0)
    for _ in range(60):
        swaps = improve(swaps, Z, y, by_pair=True)
    np.testing.assert_allclose(swaps.rates, [[1.0, 0.0], [0.25, 0.75]], atol=0.02)
    # Weighted like this, labels are as frequent as the true classes wherever one looks.
    w = fit_weights(swaps, Z, y)
    high = Z[:, 1] > 2.0
    assert np.average(y[high], weights=w[high]) == pytest.approx(true[high].mean(), abs=0.01)


def test_a_constant_column_does_no_harm():
    draws = np.random.default_rng(61)
    X = draws.standard_normal((300, 3))
    y = (X[:, 0] + 0.5 * draws.standard_normal(300) > 0.0).astype(np.int32)
    found = judge(np.column_stack([X[:, :2], np.zeros(300), X[:, 2]]), y)
    assert np.isfinite(found.scores).all()
