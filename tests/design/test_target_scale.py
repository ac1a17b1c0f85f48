"""Logarithms of a target: there and back, what has none, the smearing factor, the suggestion."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import skew

from lrisk_cli.design.target import NumberTarget
from lrisk_cli.design.target_scale import (
    find_outside,
    from_scale,
    note_skew,
    smearing_factor,
    to_scale,
)
from lrisk_cli.names import TargetScale

LOG, LOG1P, NONE = TargetScale.LOG, TargetScale.LOG1P, TargetScale.NONE


@given(st.lists(st.floats(1e-300, 1e300), min_size=1), st.sampled_from([LOG, LOG1P]))
def test_the_way_back_undoes_the_way_there(values: list[float], scale: TargetScale) -> None:
    numbers = np.array(values)
    back = from_scale(to_scale(numbers, scale), scale)
    np.testing.assert_allclose(back, numbers, rtol=1e-11)


def test_decimal_targets_come_back_as_they_were() -> None:
    numbers = np.array([200000.0, 12.99, 0.05, 8273.39, 1e9, 3e-5])
    assert from_scale(to_scale(numbers, LOG), LOG).tolist() == numbers.tolist()
    assert from_scale(np.zeros(1), LOG1P).tolist() == [0.0]
    assert from_scale(numbers, NONE) is numbers


def test_numbers_without_a_logarithm_are_found_and_missing_ones_are_not() -> None:
    numbers = np.array([np.nan, 2.0, 0.0, -1.0])
    assert find_outside(numbers, LOG) == 2
    assert find_outside(numbers, LOG1P) == 3
    assert find_outside(numbers, NONE) is None
    assert find_outside(numbers[:2], LOG) is None


def test_smearing_is_the_mean_of_the_exponentials_of_residuals() -> None:
    rng = np.random.default_rng(0)
    residuals = 0.5 * rng.standard_normal(100_000)
    # Of a lognormal: exp(variance / 2).
    assert smearing_factor(residuals) == pytest.approx(np.exp(0.125), rel=0.01)
    assert smearing_factor(np.array([0.0, 1000.0])) is None
    margins = np.array([1.0, 2.0])
    np.testing.assert_allclose(from_scale(margins, LOG, 1.5), 1.5 * np.exp(margins))
    np.testing.assert_allclose(from_scale(margins, LOG1P, 1.5), 1.5 * np.exp(margins) - 1.0)


def test_a_target_is_standardised_on_its_scale_and_spelled_in_its_units() -> None:
    target = NumberTarget("price", 1.0, 2.0, LOG)
    cells = np.array([np.e, np.exp(5.0)])
    np.testing.assert_allclose(target.encode(cells), [0.0, 2.0], atol=1e-15)
    np.testing.assert_allclose(target.as_read(cells, slice(None), np.zeros(2)), [1.0, 5.0])
    assert target.fitted_name == "log(price)"
    assert NumberTarget("n", on=LOG1P).fitted_name == "log(1 + n)"
    assert target.spell(np.log(1234.0)) == "1234"


def test_the_logarithm_is_suggested_for_positive_skewed_targets_only() -> None:
    rng = np.random.default_rng(0)
    normal = 50.0 + rng.standard_normal(2000)
    long_tail = np.exp(rng.standard_normal(2000))
    assert skew(long_tail) > 3.0
    (note,) = note_skew("price", long_tail)
    assert "skewness" in note
    assert "target_scale='log'" in note
    for other in (
        normal, long_tail - long_tail.min(), -long_tail, rng.uniform(1, 2, 2000),
        rng.poisson(3.0, 2000) + 1.0, np.ones(50), rng.exponential(size=2000),
    ):  # fmt: skip
        assert note_skew("y", other) == ()
