"""The isotonic kernel against SciPy, in both builds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from helpers.problems import kernel_builds

BUILDS = kernel_builds()
each_build = pytest.mark.parametrize("core", BUILDS, ids=lambda core: core.__name__[-4:])
counts = st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=60)


def pooled(core, hits, rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    hits, rows = np.array(hits, np.int64), np.array(rows, np.int64)
    starts = np.empty(len(hits), np.int32)
    n_blocks = core.pool_fractions(hits, rows, starts)
    return hits[:n_blocks], rows[:n_blocks], starts[:n_blocks]


@each_build
@given(pairs=counts)
def test_blocks_are_those_of_the_isotonic_fit(core, pairs):
    rows = [rows for rows, _ in pairs]
    hits = [min(hits, rows) for rows, hits in pairs]
    found, sizes, starts = pooled(core, hits, rows)
    fractions = np.array(hits) / np.array(rows)
    expected = isotonic_regression(fractions, weights=rows).x
    lengths = np.diff(np.append(starts, len(rows)))
    np.testing.assert_allclose(np.repeat(found / sizes, lengths), expected, rtol=1e-12, atol=1e-12)
    assert (sizes.sum(), found.sum()) == (sum(rows), sum(hits))
    assert np.all(np.diff(found / sizes) > 0.0)


@each_build
def test_equal_fractions_of_large_counts_are_pooled_exactly(core):
    """1/3 and 333.../999... are equal, and floating-point numbers would not tell."""
    third = 333_333_333
    assert pooled(core, [third, 1], [3 * third, 3])[1].tolist() == [3 * third + 3]
    assert len(pooled(core, [third, third + 1], [3 * third, 3 * third])[0]) == 2
    assert pooled(core, [third + 1, third], [3 * third, 3 * third])[0].tolist() == [2 * third + 1]


@each_build
def test_arrays_of_other_lengths_are_refused(core):
    one, two = np.ones(1, np.int64), np.ones(2, np.int64)
    with pytest.raises(ValueError, match="rows"):
        core.pool_fractions(two, one, np.empty(2, np.int32))
    with pytest.raises(ValueError, match="starts"):
        core.pool_fractions(two, two.copy(), np.empty(1, np.int32))
