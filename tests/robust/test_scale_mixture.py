"""Where inliers end: nothing found where nothing is, the share where something is."""

import numpy as np
import pytest
from scipy.stats import norm

from lrisk_cli.errors import DataError
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.robust.scale_mixture import (
    find_threshold,
    fit_scales,
    scores,
    swap_fraction,
    swapped,
)

SQUARED = make_loss("squared")
RNG = np.random.default_rng(5)


def half_squares(errors: np.ndarray) -> np.ndarray:
    return 0.5 * errors**2


@pytest.mark.parametrize("n_rows", [20, 100, 1000, 30_000])
def test_of_normal_errors_at_most_one_in_a_hundred_is_flagged(n_rows: int) -> None:
    losses = half_squares(3.0 * np.random.default_rng(n_rows).standard_normal(n_rows))
    threshold = find_threshold(losses, SQUARED, None)
    assert np.mean(scores(losses, SQUARED, threshold) > threshold.threshold) <= 0.01
    assert threshold.scale == pytest.approx(3.0, rel=0.4 if n_rows < 100 else 0.1)


@pytest.mark.parametrize("share", [0.02, 0.1, 0.3, 0.45])
def test_the_share_of_planted_errors_is_estimated_with_those_that_hide(share: float) -> None:
    errors = RNG.standard_normal(5000)
    planted = RNG.permutation(5000)[: round(share * 5000)]
    errors[planted] = RNG.normal(8.0, 8.0, len(planted))
    threshold = find_threshold(half_squares(errors), SQUARED, None)
    assert threshold.fraction == pytest.approx(share, rel=0.2)
    flagged = scores(half_squares(errors), SQUARED, threshold) > threshold.threshold
    assert flagged[planted].mean() > 0.7
    assert flagged.sum() - flagged[planted].sum() <= 0.02 * 5000


def test_one_gross_error_among_a_thousand_is_flagged_alone() -> None:
    errors = RNG.standard_normal(1000)
    errors[17] = 60.0
    threshold = find_threshold(half_squares(errors), SQUARED, None)
    flagged = np.flatnonzero(scores(half_squares(errors), SQUARED, threshold) > threshold.threshold)
    assert flagged.tolist() == [17]


@pytest.mark.parametrize("heavy", ["laplace", "logistic"])
def test_tails_without_a_gap_are_not_cut(heavy: str) -> None:
    losses = half_squares(getattr(RNG, heavy)(size=3000))
    assert find_threshold(losses, SQUARED, None).fraction == 0.0


def test_a_fraction_flags_exactly_so_many_rows_unless_losses_tie() -> None:
    losses = half_squares(RNG.standard_normal(200))
    threshold = find_threshold(losses, SQUARED, 0.1)
    assert np.count_nonzero(scores(losses, SQUARED, threshold) > threshold.threshold) == 20
    threshold = find_threshold(np.repeat([1.0, 2.0], [150, 50]), SQUARED, 0.1)
    flagged = scores(np.repeat([1.0, 2.0], [150, 50]), SQUARED, threshold) > threshold.threshold
    assert flagged.sum() == 0


def test_the_order_of_the_rows_does_not_matter() -> None:
    losses = half_squares(RNG.standard_t(2, 700))
    assert find_threshold(losses, SQUARED, None) == find_threshold(
        losses[::-1].copy(), SQUARED, None
    )


def test_the_mixture_is_that_of_its_formula() -> None:
    """How surely a row is an inlier, by Bayes' rule with SciPy's normal density."""
    sizes = np.abs(np.concatenate([RNG.standard_normal(800), RNG.normal(0.0, 30.0, 200)]))
    mixture = fit_scales(sizes)
    at = np.array([0.1, 2.0, 4.0, 6.0, 20.0])
    densities = mixture.shares * norm.pdf(at[:, None], scale=mixture.scales)
    expected = densities[:, : mixture.n_inlier].sum(axis=1) / densities.sum(axis=1)
    np.testing.assert_allclose(mixture.inlier(at), expected, atol=5e-3)
    assert mixture.inlier(np.array([mixture.threshold(1000)]))[0] == pytest.approx(0.5, abs=1e-3)
    assert (np.diff(mixture.inlier(np.sort(sizes))) <= 1e-12).all()


@pytest.mark.parametrize("losses", [np.zeros(10), np.full(10, 3.0), np.array([0.0, 0.0, 0.0, 7.0])])
def test_odd_losses_have_a_border_too(losses: np.ndarray) -> None:
    threshold = find_threshold(losses, SQUARED, None)
    assert np.isfinite([threshold.fraction, threshold.threshold, threshold.scale]).all()


def test_a_loss_that_overflowed_is_answered_with_a_sentence() -> None:
    with pytest.raises(DataError, match="too large"):
        find_threshold(np.array([1.0, np.inf]), SQUARED, None)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_the_share_of_swapped_labels_is_estimated(n_classes: int) -> None:
    n = 20_000
    truth = RNG.dirichlet(np.full(n_classes, 0.3), n)
    labels = (truth.cumsum(axis=1) > RNG.random((n, 1))).argmax(axis=1)
    bad = RNG.random(n) < 0.15
    labels[bad] = (labels[bad] + RNG.integers(1, n_classes, bad.sum())) % n_classes
    losses = -np.log(np.maximum(truth[np.arange(n), labels], 1e-300))
    assert swap_fraction(losses, n_classes) == pytest.approx(0.15, rel=0.1)
    threshold = find_threshold(losses, make_loss("logistic", n_classes), None, n_classes)
    flagged = losses > threshold.threshold
    np.testing.assert_array_equal(flagged, swapped(losses, threshold.fraction, n_classes) > 0.5)


def test_no_label_is_swapped_where_the_probabilities_are_right() -> None:
    p = RNG.uniform(0.5, 1.0, 5000)
    seen = np.where(RNG.random(5000) < p, p, 1.0 - p)
    assert swap_fraction(-np.log(seen), 2) < 0.02


def test_a_fraction_of_all_rows_flags_all_but_the_least() -> None:
    losses = np.array([4.0, 1.0, 3.0, 2.0])
    threshold = find_threshold(losses, SQUARED, 1.0)
    assert np.count_nonzero(scores(losses, SQUARED, threshold) > threshold.threshold) == 3


@pytest.mark.parametrize("unit", [2.0**-500, 2.0**600])
def test_the_mixture_of_scales_follows_the_unit_where_squares_leave_the_range(unit: float) -> None:
    rng = np.random.default_rng(3)
    sizes = np.abs(np.concatenate([rng.standard_normal(200), 50.0 * rng.standard_normal(20)]))
    plain, scaled = fit_scales(sizes), fit_scales(unit * sizes)
    assert scaled.inlier_scale == pytest.approx(unit * plain.inlier_scale, rel=1e-9)
    np.testing.assert_allclose(scaled.inlier(unit * sizes), plain.inlier(sizes), atol=1e-9)
    assert plain.fraction == pytest.approx(20 / 220, abs=0.03)
