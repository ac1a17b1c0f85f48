"""Loss quantiles and their differences, against numpy, exact fractions, SciPy and the bootstrap."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.quantiles import (
    CURVE,
    SortedLosses,
    average,
    better_from,
    compare,
    crossings,
    interval_ranks,
    loss_quantiles,
    parse_levels,
    quantile_ranks,
    tail_mean,
)
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.value import spectral_risk

LEVELS = np.array([0.05, 0.07, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0])


def paired(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Heavy-tailed losses of two models that mostly fail on the same rows."""
    rng = np.random.default_rng(seed)
    first = rng.exponential(size=n)
    return first, 0.9 * first * rng.lognormal(0.0, 0.3, n)


def test_the_curve_of_a_picture_rises_from_near_0_to_1():
    assert np.all(np.diff(CURVE) > 0.0)
    assert (CURVE[0], CURVE[-1]) == (0.005, 1.0)


@settings(max_examples=200, deadline=None)
@given(n=st.integers(1, 10**7), hundredths=st.integers(1, 100))
def test_the_place_of_a_decimal_level_is_exact(n, hundredths):
    # 100 x 0.07 is above 7 in floating point, and its ceiling must still be 7.
    level = np.array([hundredths / 100])
    assert quantile_ranks(n, level)[0] == ceil(Fraction(hundredths, 100) * n)


def test_the_example_of_the_formula():
    assert quantile_ranks(100, np.array([0.07, 0.071, 1e-12, 1.0])).tolist() == [7, 8, 1, 100]


@pytest.mark.parametrize("n", [1, 2, 7, 160, 999])
def test_loss_quantiles_are_those_of_numpy(n):
    losses = np.sort(paired(n)[0])
    # numpy's inverted cdf is the same order statistic, but for the rounding of n p.
    expected = np.quantile(losses, LEVELS - 1e-12, method="inverted_cdf")
    found = loss_quantiles(SortedLosses(losses, len(losses)), LEVELS)
    assert found.values.tolist() == expected.tolist()
    assert np.all(found.low <= found.values)
    assert np.all((found.values <= found.high) | np.isnan(found.high))


@pytest.mark.parametrize("n", [2, 5, 30, 400, 12_345, 1_000_000])
def test_order_statistics_are_placed_by_the_binomial_distribution(n):
    r, s = interval_ranks(n, CURVE)
    assert r.tolist() == stats.binom.ppf(0.025, n, CURVE).astype(int).tolist()
    assert s.tolist() == (stats.binom.ppf(0.975, n, CURVE) + 1).astype(int).tolist()


def test_where_the_sample_is_too_small_an_interval_has_no_upper_end():
    losses = np.sort(paired(100)[0])
    found = loss_quantiles(SortedLosses(losses, len(losses)), np.array([0.01, 0.5, 0.99, 1.0]))
    assert found.low[0] == 0.0
    assert np.isfinite(found.high[:2]).all()
    assert np.isnan(found.high[2:]).all()
    both = compare([losses.copy(), 2.0 * losses], [losses, losses], np.array([0.5, 1.0]))
    difference = both.models[0].difference
    assert np.isnan([difference.low[1], difference.high[1]]).all()
    assert difference.low[0] <= difference.values[0] <= difference.high[0]


def test_intervals_hold_the_true_difference_at_least_as_often_as_they_say():
    levels, n, runs = np.array([0.5, 0.75, 0.9, 0.95]), 400, 400
    pairs = [paired(n, seed) for seed in range(runs)]
    many = [np.sort(each) for each in paired(2_000_000, 10**6)]
    at = quantile_ranks(2_000_000, levels) - 1
    truth = many[0][at] - many[1][at]
    hits = np.zeros(len(levels))
    for a, b in pairs:
        difference = compare([a.copy(), b.copy()], [a, b], levels).models[0].difference
        hits += (difference.low <= truth) & (truth <= difference.high)
    # 400 runs tell 0.95 from 0.92; intervals of quantiles by resampling are known to be wide.
    assert np.all(hits / runs > 0.92)


def test_intervals_of_differences_are_those_of_a_paired_bootstrap():
    n, levels = 3000, np.array([0.25, 0.5, 0.75, 0.9, 0.95])
    a, b = paired(n)
    found = compare([a.copy(), b.copy()], [a, b], levels).models[0].difference
    rng, at = np.random.default_rng(1), quantile_ranks(n, levels) - 1
    draws = []
    for _ in range(1500):
        rows = rng.integers(0, n, n)
        draws.append(np.sort(a[rows])[at] - np.sort(b[rows])[at])
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    width = high - low
    assert np.all(np.abs(found.low - low) < 0.15 * width)
    assert np.all(np.abs(found.high - high) < 0.15 * width)


def test_a_model_does_not_differ_from_itself():
    a, _ = paired(500)
    difference = compare([a.copy(), a.copy()], [a, a], LEVELS[:-1]).models[0].difference
    assert not difference.values.any()
    assert not difference.low[~np.isnan(difference.low)].any()
    assert not difference.high[~np.isnan(difference.high)].any()


@pytest.mark.parametrize("n", [2, 7, 10, 1599, 123_457])
@pytest.mark.parametrize("level", [0.0, 0.9, 0.99])
def test_the_mean_of_the_tail_is_the_superquantile(n, level):
    losses = np.sort(paired(n)[0])
    expected = spectral_risk(losses, Spectrum("superquantile", level))
    assert tail_mean(losses, level) == pytest.approx(expected, rel=1e-13)


def test_differences_are_baseline_minus_model_and_over_its_mean():
    a, b = paired(1000)
    found = compare([a.copy(), b.copy()], [a, b], LEVELS)
    expected = np.quantile(a, LEVELS - 1e-12, method="inverted_cdf") - np.quantile(
        b, LEVELS - 1e-12, method="inverted_cdf"
    )
    (model,) = found.models
    assert model.difference.values == pytest.approx(expected, abs=1e-15)
    assert found.normalised(expected) == pytest.approx(expected / a.mean())
    assert (found.mean, model.mean) == pytest.approx((a.mean(), b.mean()))


def test_a_perfect_baseline_has_no_normalised_difference():
    zero, b = np.zeros(10), np.ones(10)
    found = compare([zero, b], [zero, b], LEVELS)
    assert np.isnan(found.normalised(found.models[0].difference.values)).all()


def test_losses_that_overflowed_are_refused():
    with pytest.raises(DataError, match="too large"):
        compare([np.array([1.0, np.inf]), np.ones(2)], [np.ones(2), np.ones(2)], LEVELS)


@pytest.mark.parametrize(
    ("differences", "expected", "start"),
    [
        ([-1.0, -1.0, 1.0, 3.0], [0.5], 0.5),
        ([-1.0, 0.0, 1.0, 3.0], [0.4], 0.4),
        ([1.0, -1.0, -1.0, 1.0], [0.3, 0.8], 0.8),
        ([-1.0, 1.0, 1.0, -1.0], [0.3, 0.8], None),
        ([1.0, 2.0, 0.0, 1.0], [], 0.0),
        ([0.0, 0.0, 0.0, 0.0], [], None),
        ([-1.0, -1.0, -2.0, 0.0], [], None),
    ],
)
def test_curves_cross_where_the_sign_turns(differences, expected, start):
    levels = np.array([0.2, 0.4, 0.6, 1.0])
    values = np.array(differences)
    assert crossings(levels, values) == pytest.approx(expected)
    assert better_from(levels, values) == (None if start is None else pytest.approx(start))


def test_splits_are_averaged_with_a_correction_for_their_overlap():
    levels = np.array([0.5, 0.9])
    splits = [
        compare([a.copy(), b.copy()], [a, b], levels) for a, b in map(paired, [90] * 4, range(4))
    ]
    found = average(splits, 1.0 / 3.0)
    each = np.array([split.models[0].difference.values for split in splits])
    half = stats.t.ppf(0.975, 3) * np.sqrt((1 / 4 + 1 / 3) * each.var(axis=0, ddof=1))
    difference = found.models[0].difference
    assert difference.values == pytest.approx(each.mean(axis=0))
    assert difference.low == pytest.approx(each.mean(axis=0) - half)
    assert difference.high == pytest.approx(each.mean(axis=0) + half)
    apart = found.losses.values - found.models[0].losses.values
    assert difference.values == pytest.approx(apart)
    assert average(splits[:1], 1.0 / 3.0) is splits[0]


def test_levels_are_read_in_the_order_given():
    assert parse_levels("0.9, .5,1") == (0.9, 0.5, 1.0)
    for text, finding in (("0", "'0'"), ("1.1", "'1.1'"), ("0.5,x", "'x'"), ("nan", "'nan'")):
        with pytest.raises(
            UsageError, match=f"a level is greater than 0 and at most 1; got {finding}"
        ):
            parse_levels(text)
    with pytest.raises(UsageError, match="none was given"):
        parse_levels(" , ")
