"""Deviations of numbers of any size, against the statistics module."""

from statistics import stdev

import numpy as np
import pytest

from lrisk_cli.evaluation.deviations import sample_deviation


@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1.0, 1e200, 1e300])
def test_the_deviation_is_that_of_exact_arithmetic_at_any_scale(unit: float) -> None:
    values = [unit * each for each in (1.0, 2.5, 7.0, 7.5)]
    # The statistics module adds fractions, but converts their square root to a number.
    expected = stdev(each / unit for each in values) * unit
    assert sample_deviation(values) == pytest.approx(
        expected, rel=1e-10 if unit < 1e-300 else 1e-14
    )


def test_ordinary_numbers_have_the_deviation_of_numpy_to_the_last_bit() -> None:
    values = np.random.default_rng(0).standard_normal((5, 7))
    np.testing.assert_array_equal(sample_deviation(values), np.std(values, axis=0, ddof=1))


def test_equal_numbers_and_zeros_have_no_deviation() -> None:
    assert sample_deviation([0.0, 0.0]) == 0.0
    assert sample_deviation([1e300, 1e300]) == 0.0
