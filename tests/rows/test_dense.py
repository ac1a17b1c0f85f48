"""What dense rows do with memory; tests/rows/test_rows.py compares their numbers with NumPy."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from lrisk_cli.native.threads import CHUNK_NUMBERS, one_thread
from lrisk_cli.rows.dense import DenseRows


def test_rows_without_weight_are_left_out_of_a_gram_matrix():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((40, 70)), rng.random(40)
    w[::3] = 0.0
    X[w == 0.0] = np.nan
    assert np.isfinite(DenseRows(X).gram(w)).all()


@pytest.mark.parametrize("d", [50, 80])
def test_sums_over_every_other_row_copy_a_chunk_at_a_time(d):
    n, some = 2 * (2 * CHUNK_NUMBERS // d + 1), slice(None, None, 2)  # of every other, two chunks
    rows, R = DenseRows(np.ones((n, d))), np.ones((n // 2, 1))

    def both() -> None:
        rows.gram(R[:, 0], some)
        rows.combine(R, some)

    with one_thread():
        assert peak_bytes(both) < 0.6 * peak_bytes(lambda: rows.take(some))


def peak_bytes(run: Callable[[], object]) -> int:
    """The most memory that arrays take meanwhile."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("some", [slice(3, 9), slice(None, None, 2), np.array([5, 1, 1])])
def test_rows_taken_have_memory_of_their_own(some):
    X = np.arange(60.0).reshape(20, 3)
    taken, expected = DenseRows(X).take(some), X[some].copy()
    X[:] = np.nan
    np.testing.assert_array_equal(taken.dense_rows(slice(None)), expected)


def test_a_slice_of_dense_rows_is_not_copied():
    X = np.ones((20, 3))
    assert np.shares_memory(DenseRows(X).dense_rows(slice(4, 8)), X)
    assert np.shares_memory(DenseRows(X).column(1), X)
