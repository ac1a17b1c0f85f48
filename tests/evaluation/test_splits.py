"""Hold-outs and folds depend on the number of rows and the seed, and on nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.splits import folds, hold_out


@given(st.integers(2, 500), st.floats(0.001, 0.999), st.integers(0, 2**32))
def test_a_hold_out_has_the_size_asked_for_and_leaves_no_side_empty(n_rows, fraction, seed):
    held_out = hold_out(n_rows, fraction, seed)
    assert held_out.shape == (n_rows,)
    assert 1 <= held_out.sum() <= n_rows - 1
    assert abs(held_out.sum() - fraction * n_rows) <= 1
    assert np.array_equal(held_out, hold_out(n_rows, fraction, seed))


def test_each_row_is_held_out_as_often_as_any_other():
    times = sum(hold_out(50, 0.2, seed).astype(int) for seed in range(2000))
    # Binomial(2000, 0.2): mean 400, deviation 18.
    assert times.min() > 400 - 5 * 18
    assert times.max() < 400 + 5 * 18


def test_another_seed_holds_out_other_rows():
    assert not np.array_equal(hold_out(100, 0.5, 0), hold_out(100, 0.5, 1))


@given(st.integers(2, 20), st.integers(0, 200), st.integers(0, 1000))
def test_folds_share_the_rows_evenly(k, extra, seed):
    fold = folds(k + extra, k, seed)
    sizes = np.bincount(fold, minlength=k)
    assert len(sizes) == k
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(fold, folds(k + extra, k, seed))


def test_folds_are_not_runs_of_rows():
    assert not np.array_equal(folds(100, 2, 0), np.arange(100) % 2)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.2, 20.0, float("nan")])
def test_a_fraction_that_is_none_is_refused(fraction):
    with pytest.raises(UsageError, match="fraction between 0 and 1"):
        hold_out(10, fraction, 0)


def test_splits_that_cannot_be_filled_are_refused():
    with pytest.raises(DataError, match="cannot be split"):
        hold_out(1, 0.5, 0)
    with pytest.raises(DataError, match="3 rows cannot fill 5 folds"):
        folds(3, 5, 0)
    with pytest.raises(UsageError, match="at least 2 folds"):
        folds(10, 1, 0)
