"""Dense rows against plain NumPy."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from lrisk_cli.native.threads import CHUNK_NUMBERS, one_thread, thread_pool
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows

OUTPUTS = [1, 3]
# Few columns, and more than the kernel of our own takes; more than one chunk of every kind.
SHAPES = [(1, 1), (7, 3), (2500, 5), (2500, 70)]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def weights_of(n: int) -> np.ndarray:
    """Of either sign, and a third of them 0."""
    weights = numbers(n, seed=1)
    weights[::3] = 0.0
    return weights


@pytest.fixture(name="X", params=SHAPES, ids=str)
def matrix_of_rows(request):
    with one_thread():
        yield numbers(*request.param)


def test_dense_rows_are_rows():
    rows: Rows = DenseRows(numbers(4, 3))
    assert rows.shape == (4, 3)


@pytest.mark.parametrize("k", OUTPUTS)
def test_products(X, k):
    n, d = X.shape
    rows, W, R = DenseRows(X), numbers(d, k, seed=2), numbers(n, k, seed=3)
    R[::4] = 0.0
    for product in (rows.scores, rows.margins, rows.times):
        np.testing.assert_allclose(product(W), X @ W, rtol=1e-12, atol=1e-12)
    for product in (rows.combine, rows.transposed_times):
        np.testing.assert_allclose(product(R), X.T @ R, rtol=1e-10, atol=1e-10)
    some = np.arange(0, n, 2)
    np.testing.assert_allclose(rows.combine(R[some], some), X[some].T @ R[some], atol=1e-10)
    np.testing.assert_allclose(rows.magnitudes(R), np.abs(X).T @ np.abs(R), rtol=1e-12)


@pytest.mark.parametrize("k", OUTPUTS)
def test_products_keep_to_their_roundings(X, k):
    n, d = X.shape
    rows, W, R = DenseRows(X), numbers(d, k, seed=2), numbers(n, k, seed=3)
    unit, allowed = np.finfo(np.float64).eps / 2.0, rows.roundings(k)
    wide = X.astype(np.longdouble)
    off = np.abs(rows.margins(W) - wide @ W)
    assert (off <= allowed.margin * unit * (np.abs(X) @ np.abs(W))).all()
    off = np.abs(rows.combine(R) - wide.T @ R)
    assert (off <= allowed.row_sum * unit * rows.magnitudes(R)).all()


@pytest.mark.parametrize("k", OUTPUTS)
def test_the_score_of_a_row_does_not_depend_on_the_others(k):
    X, W = numbers(50, 9), numbers(9, k)
    together = DenseRows(X).scores(W)
    for i in range(50):
        assert np.array_equal(DenseRows(X[i : i + 1]).scores(W)[0], together[i])


def test_gram_matrices_take_weights_of_either_sign(X):
    rows, weights = DenseRows(X), weights_of(len(X))
    for w in (weights, np.abs(weights), np.full(len(X), 0.25), np.zeros(len(X))):
        expected = X.T @ (w[:, None] * X)
        np.testing.assert_allclose(rows.gram(w), expected, rtol=1e-10, atol=1e-10)
        assert rows.gram_trace(w) == pytest.approx(np.trace(expected), abs=1e-9)
        assert np.array_equal(rows.gram(w), rows.gram(w).T)


def test_rows_without_weight_are_left_out_of_a_gram_matrix():
    X, w = numbers(40, 70), weights_of(40)
    X[w == 0.0] = np.nan
    assert np.isfinite(DenseRows(X).gram(np.abs(w))).all()


@pytest.mark.parametrize("k", OUTPUTS)
def test_sums_over_every_other_row_have_the_bits_of_a_copy_of_these(X, k):
    rows, some = DenseRows(X), slice(None, None, 2)
    copied, R, weights = rows.take(some), numbers(len(X), k)[some].copy(), weights_of(len(X))[some]
    np.testing.assert_array_equal(rows.combine(R, some), copied.combine(R))
    for w in (weights, np.abs(weights), np.full(len(weights), 0.25)):
        np.testing.assert_array_equal(rows.gram(w, some), copied.gram(w))


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


def test_products_of_rows(X):
    some = np.arange(min(len(X), 300))[::-1].copy()
    rows = DenseRows(X)
    np.testing.assert_allclose(rows.row_products(some), X[some] @ X[some].T, atol=1e-12)
    np.testing.assert_array_equal(rows.take(some).row_products(), rows.row_products(some))
    np.testing.assert_allclose(rows.row_norms(), np.square(X).sum(axis=1), rtol=1e-12)


def test_sums_of_blocks_are_divided_by_the_root_of_their_size():
    X, coefs = numbers(30, 4), numbers(30)
    rows, sizes = np.array([4, 2, 29, 0, 7, 8]), np.array([2, 1, 3])
    blocks = [[4, 2], [29], [0, 7, 8]]
    expected = [coefs[block] @ X[block] / np.sqrt(len(block)) for block in blocks]
    np.testing.assert_allclose(DenseRows(X).block_sums(coefs, rows, sizes), expected, rtol=1e-12)


@pytest.mark.parametrize("some", [slice(0), slice(3, 9), slice(None, None, 2), np.array([5, 1, 1])])
def test_rows_taken_have_memory_of_their_own(some):
    X = numbers(20, 3)
    rows = DenseRows(X)
    taken = rows.take(some)
    expected = X[some].copy()
    np.testing.assert_array_equal(rows.dense_rows(some), expected)
    np.testing.assert_array_equal(rows.dense_rows(some, 2), expected[:, :2])
    X[:] = np.nan
    found = taken.dense_rows(slice(None))
    np.testing.assert_array_equal(found, expected)
    assert found.flags.c_contiguous


def test_a_slice_of_dense_rows_is_not_copied():
    X = numbers(20, 3)
    assert np.shares_memory(DenseRows(X).dense_rows(slice(4, 8)), X)
    assert np.shares_memory(DenseRows(X).column(1), X)


def test_factors_multiply_some_rows_of_a_copy():
    X, factors = numbers(6, 3), np.array([100.0, 2.0, 1.0])
    before = X.copy()
    changed = DenseRows(X).with_factors(np.array([1, 4]), factors).dense_rows(slice(None))
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(changed[[1, 4]], X[[1, 4]] * factors)
    np.testing.assert_array_equal(changed[[0, 2, 3, 5]], X[[0, 2, 3, 5]])


def test_columns(X):
    rows = DenseRows(X)
    smallest, largest = rows.column_stats()
    np.testing.assert_array_equal(smallest, X.min(axis=0))
    np.testing.assert_array_equal(largest, X.max(axis=0))
    np.testing.assert_array_equal(rows.column(X.shape[1] - 1), X[:, -1])
    for d in {1, X.shape[1]}:
        assert rows.variance(d) == pytest.approx(np.var(X[:, :d]), rel=1e-12, abs=1e-15)


def test_marks_of_every_row():
    X = np.array([[0.5, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    assert DenseRows(X[:2]).all_marked(slice(1, 3))
    assert not DenseRows(X).all_marked(slice(1, 3))
    assert not DenseRows(X).all_marked(slice(0, 1))


def test_steps_change_their_state_as_the_kernel_does():
    X, y = numbers(12, 3), numbers(12, seed=4)
    rows = np.arange(12, dtype=np.int32)
    G, V, scalars = X.T @ y, np.zeros(3), np.array([1.0, 0.0])
    DenseRows(X).steps("lsvrg_squared", np.array([0.1]), G, V, scalars, 0.1, 0.5, rows)
    delta = np.zeros(3)
    for i in rows:
        delta = (1.0 - 0.1 * 0.5) * delta - 0.1 * (X[i] @ delta) * X[i] - 0.1 * G
    np.testing.assert_allclose(scalars[0] * V - scalars[1] * G, delta, rtol=1e-9)


@pytest.mark.parametrize("k", OUTPUTS)
def test_threads_do_not_change_a_bit(k):
    X = numbers(60_000, 80)
    rows, W, R, w = DenseRows(X), numbers(80, k), numbers(60_000, k), weights_of(60_000)

    def results() -> list[np.ndarray]:
        return [rows.margins(W), rows.combine(R), rows.gram(w)]

    with one_thread():
        alone = results()
        with thread_pool(2):
            for one, other in zip(alone, results(), strict=True):
                assert np.array_equal(one, other)
