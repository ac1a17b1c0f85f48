"""Hold-outs and folds depend on the number of rows and the seed, and on nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, TimeSeriesSplit

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.splits import (
    folds,
    group_folds,
    hold_out,
    hold_out_groups,
    hold_out_latest,
    number_groups,
    stratified_folds,
    time_folds,
)


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


@given(st.integers(2, 8), st.lists(st.integers(0, 3), min_size=8, max_size=80), st.integers(0, 99))
def test_stratified_folds_have_as_many_of_each_class_as_any_other(k, classes, seed):
    codes = number_groups(np.array(classes))
    fold = stratified_folds(codes, k, seed)
    counts = np.array([np.bincount(codes[fold == j], minlength=4) for j in range(k)])
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()
    assert np.ptp(counts.sum(axis=1)) <= 1
    assert not np.array_equal(fold, stratified_folds(codes, k, seed, repeat=1)) or len(codes) < 20


def test_stratified_folds_have_the_class_counts_of_scikit_learn():
    classes = np.repeat([0, 1, 2], [50, 31, 9]).astype(np.int32)
    ours = stratified_folds(classes, 5, 0)
    found = sorted(np.bincount(classes[ours == j]).tolist() for j in range(5))
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(classes, classes)
    expected = np.array([np.bincount(classes[test]) for _, test in splits])
    assert (np.sort(np.array(found), axis=0) == np.sort(expected, axis=0)).all()


@given(st.integers(2, 5), st.lists(st.integers(0, 9), min_size=6, max_size=60), st.integers(0, 99))
def test_no_group_is_in_two_folds_and_none_is_empty(k, cells, seed):
    groups = number_groups(np.array([*cells, *range(5)]))
    fold = group_folds(groups, k, seed)
    assert len(np.unique(fold)) == k
    assert all(len(np.unique(fold[groups == group])) == 1 for group in np.unique(groups))
    sizes = np.bincount(fold)
    assert np.ptp(sizes) <= np.bincount(groups).max()
    held_out = hold_out_groups(groups, 0.3, seed)
    assert 0 < held_out.sum() < len(groups)
    assert not set(groups[held_out]) & set(groups[~held_out])


@given(st.integers(2, 6), st.integers(14, 60), st.integers(0, 99))
def test_folds_in_time_are_those_of_scikit_learn(k, n_rows, seed):
    times = np.random.default_rng(seed).permutation(n_rows).astype(float)
    fold, order = time_folds(times, k), np.argsort(times)
    for j, (train, test) in enumerate(TimeSeriesSplit(k).split(order)):
        assert set(np.flatnonzero(fold == j)) == set(order[test])
        assert set(np.flatnonzero(fold < j)) == set(order[train])


@given(st.integers(2, 4), st.lists(st.integers(0, 6), min_size=5, max_size=60))
def test_rows_of_one_time_stay_together_and_no_fit_sees_the_future(k, cells):
    times = np.array([*cells, *range(5)], dtype=float)
    fold = time_folds(times, k)
    assert set(np.unique(fold)) == set(range(-1, k))
    for j in range(k):
        assert times[fold < j].max() < times[fold == j].min()
    latest = hold_out_latest(times, 0.2)
    assert times[~latest].max() < times[latest].min()


def test_groups_and_times_that_cannot_be_divided_are_refused():
    with pytest.raises(DataError, match="2 groups cannot fill 3 folds"):
        group_folds(np.array([0, 1, 1, 0]), 3, 0)
    with pytest.raises(DataError, match="3 different times cannot fill 3 folds that follow"):
        time_folds(np.array([1.0, 2.0, 2.0, 3.0]), 3)
    with pytest.raises(DataError, match="one group"):
        hold_out_groups(np.array([0, 0]), 0.5, 0)
    with pytest.raises(DataError, match="one time"):
        hold_out_latest(np.array([4.0, 4.0]), 0.5)
