"""Every kind of rows against plain NumPy."""

import struct

import numpy as np
import pytest

from helpers.mixed_rows import mixed_rows
from lrisk_cli.native.threads import one_thread, thread_pool
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.mixed import MixedRows
from lrisk_cli.rows.rows import Rows

OUTPUTS = [1, 3, 9]
# Few columns, and more than the kernel of our own takes; more than one chunk of every kind.
DENSE = [(1, 1), (7, 3), (2500, 5), (2500, 70)]
# Rows, numbers, levels: none of one sort, a single level, many of them.
MIXED = [
    (1, 1, [1]), (7, 2, [3, 1]), (2500, 5, [3, 1, 20]), (2500, 0, [4, 9]), (2500, 70, [50]),
    (1100, 3, []), (300, 2, [700]),
]  # fmt: skip


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def weights_of(n: int) -> np.ndarray:
    """Of either sign, and a third of them 0."""
    weights = numbers(n, seed=1)
    weights[::3] = 0.0
    return weights


def make(case: tuple) -> tuple[Rows, np.ndarray]:
    if len(case) == 3:
        return mixed_rows(*case)
    X = numbers(*case)
    return DenseRows(X.copy()), X


@pytest.fixture(name="case", params=DENSE + MIXED, ids=str)
def rows_and_array(request):
    with one_thread():
        yield make(request.param)


def test_there_are_rows_of_both_kinds():
    assert {type(make(case)[0]) for case in DENSE + MIXED} == {DenseRows, MixedRows}


@pytest.mark.parametrize("k", OUTPUTS)
def test_products(case, k):
    rows, X = case
    n, d = rows.shape
    assert X.shape == (n, d)
    W, R = numbers(d, k, seed=2), numbers(n, k, seed=3)
    R[::4] = 0.0
    for product in (rows.scores, rows.margins, rows.times):
        np.testing.assert_allclose(product(W), X @ W, rtol=1e-12, atol=1e-12)
    for product in (rows.combine, rows.transposed_times):
        np.testing.assert_allclose(product(R), X.T @ R, rtol=1e-10, atol=1e-10)
    some = np.arange(0, n, 2)
    np.testing.assert_allclose(rows.combine(R[some], some), X[some].T @ R[some], atol=1e-10)
    np.testing.assert_allclose(rows.magnitudes(R), np.abs(X).T @ np.abs(R), rtol=1e-12)


@pytest.mark.parametrize("k", OUTPUTS)
def test_products_keep_to_their_roundings(case, k):
    rows, X = case
    n, d = rows.shape
    W, R = numbers(d, k, seed=2), numbers(n, k, seed=3)
    unit, allowed = np.finfo(np.float64).eps / 2.0, rows.roundings(k)
    wide = X.astype(np.longdouble)
    off = np.abs(rows.margins(W) - wide @ W)
    assert (off <= allowed.margin * unit * (np.abs(X) @ np.abs(W))).all()
    off = np.abs(rows.combine(R) - wide.T @ R)
    assert (off <= allowed.row_sum * unit * rows.magnitudes(R)).all()


@pytest.mark.parametrize("k", OUTPUTS)
def test_the_score_of_a_row_does_not_depend_on_the_others(case, k):
    rows, _ = case
    W = numbers(rows.shape[1], k)
    together = rows.scores(W)
    for i in range(0, rows.shape[0], 50):
        assert np.array_equal(rows.take(slice(i, i + 1)).scores(W)[0], together[i])


def test_gram_matrices_take_weights_of_either_sign(case):
    rows, X = case
    weights = weights_of(len(X))
    for w in (weights, np.abs(weights), np.full(len(X), 0.25), np.zeros(len(X))):
        expected = X.T @ (w[:, None] * X)
        found = rows.gram(w)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(rows.gram_diagonal(w), np.diag(expected), rtol=1e-10, atol=1e-10)
        assert rows.gram_trace(w) == pytest.approx(np.trace(expected), abs=1e-9)
        assert np.array_equal(found, found.T)


@pytest.mark.parametrize("k", OUTPUTS)
def test_sums_over_every_other_row_have_the_bits_of_a_copy_of_these(case, k):
    rows, X = case
    some = slice(None, None, 2)
    copied, R, weights = rows.take(some), numbers(len(X), k)[some].copy(), weights_of(len(X))[some]
    np.testing.assert_array_equal(rows.combine(R, some), copied.combine(R))
    for w in (weights, np.abs(weights), np.full(len(weights), 0.25)):
        np.testing.assert_array_equal(rows.gram(w, some), copied.gram(w))


def test_products_of_rows(case):
    rows, X = case
    some = np.arange(min(len(X), 300))[::-1].copy()
    np.testing.assert_allclose(rows.row_products(some), X[some] @ X[some].T, atol=1e-12)
    np.testing.assert_array_equal(rows.take(some).row_products(), rows.row_products(some))
    np.testing.assert_allclose(rows.row_norms(), np.square(X).sum(axis=1), rtol=1e-12)


def test_quadratic_forms(case):
    rows, X = case
    A = numbers(X.shape[1], X.shape[1])
    A += A.T
    expected = np.einsum("ij,ij->i", X @ A, X)
    np.testing.assert_allclose(rows.quadratic_forms(A), expected, rtol=1e-11, atol=1e-11)


def test_sums_of_blocks_are_divided_by_the_root_of_their_size(case):
    rows, X = case
    n, coefs = len(X), numbers(len(X))
    chosen = [np.array([4, 2]) % n, np.array([29]) % n, np.array([0, 7, 8]) % n]
    sizes = np.array([len(block) for block in chosen])
    expected = [coefs[block] @ X[block] / np.sqrt(len(block)) for block in chosen]
    found = rows.block_sums(coefs, np.concatenate(chosen), sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("some", [slice(0), slice(3, 9), slice(None, None, 2), np.array([5, 1, 1])])
@pytest.mark.parametrize("given", [(20, 3), (20, 3, [4, 2])], ids=str)
def test_rows_taken_are_those_rows(given, some):
    rows, X = make(given)
    taken, expected = rows.take(some), X[some].copy()
    np.testing.assert_array_equal(rows.dense_rows(some), expected)
    for width in (1, 2, 4):
        np.testing.assert_array_equal(rows.dense_rows(some, width), expected[:, :width])
    found = taken.dense_rows(slice(None))
    np.testing.assert_array_equal(found, expected)
    assert found.flags.c_contiguous
    assert taken.shape == expected.shape


@pytest.mark.parametrize("given", [(6, 3), (6, 2, [3, 1])], ids=str)
def test_factors_multiply_some_rows_of_a_copy(given):
    rows, X = make(given)
    factors = np.arange(1.0, X.shape[1] + 1.0)
    changed = rows.with_factors(np.array([1, 4]), factors).dense_rows(slice(None))
    np.testing.assert_array_equal(rows.dense_rows(slice(None)), X)
    np.testing.assert_array_equal(changed[[1, 4]], X[[1, 4]] * factors)
    np.testing.assert_array_equal(changed[[0, 2, 3, 5]], X[[0, 2, 3, 5]])


def test_columns(case):
    rows, X = case
    smallest, largest = rows.column_stats()
    np.testing.assert_array_equal(smallest, X.min(axis=0))
    np.testing.assert_array_equal(largest, X.max(axis=0))
    for j in range(X.shape[1]):
        np.testing.assert_array_equal(rows.column(j), X[:, j])
    others = np.setdiff1d(np.arange(X.shape[1]), rows.number_columns())
    assert np.isin(X[:, others], [0.0, 1.0]).all()
    for d in {1, X.shape[1]}:
        assert rows.variance(d) == pytest.approx(np.var(X[:, :d]), rel=1e-12, abs=1e-15)
        masses = np.random.default_rng(0).integers(1, 4, len(X))
        expected = np.var(np.repeat(X[:, :d], masses, axis=0))
        found = rows.variance(d, masses.astype(np.float64))
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-15)


def test_marks_of_every_row(case):
    rows, X = case
    for first in range(X.shape[1]):
        for columns in (slice(first, first + 3), slice(first, X.shape[1])):
            assert rows.all_marked(columns) == X[:, columns].any(axis=1).all()


@pytest.mark.parametrize("given", [(12, 3), (12, 3, [4, 2]), (12, 0, [3, 3])], ids=str)
def test_steps_change_their_state_as_plain_steps_do(given):
    rows, X = make(given)
    d, y, order = X.shape[1], numbers(12, seed=4), np.arange(12, dtype=np.int32)
    G, V, scalars = X.T @ y, np.zeros(d), np.array([1.0, 0.0])
    before = G.copy()
    rows.steps("lsvrg_squared", np.array([0.1]), G, V, scalars, 0.1, 0.5, order)
    np.testing.assert_array_equal(G, before)
    delta = np.zeros(d)
    for i in order:
        delta = (1.0 - 0.1 * 0.5) * delta - 0.1 * (X[i] @ delta) * X[i] - 0.1 * G
    np.testing.assert_allclose(scalars[0] * V - scalars[1] * G, delta, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("k", OUTPUTS)
@pytest.mark.parametrize("given", [(60_000, 80), (240_000, 10, [40, 3, 3, 3, 3, 3, 3])], ids=str)
def test_threads_do_not_change_a_bit(given, k):
    rows, X = make(given)
    n, d = X.shape
    W, R, w, A = numbers(d, k), numbers(n, k), weights_of(n), np.eye(d)

    def results() -> list[np.ndarray]:
        return [rows.margins(W), rows.combine(R), rows.gram(w), rows.quadratic_forms(A)]

    with one_thread():
        alone = results()
        with thread_pool(2):
            for one, other in zip(alone, results(), strict=True):
                assert np.array_equal(one, other)


def test_keys_are_sums_of_the_bits_of_the_rows_modulo_two_to_the_64(case):
    rows, X = case
    d = rows.shape[1]
    factors = np.random.default_rng(0).integers(0, 2**64, d, dtype=np.uint64)
    keys = rows.keys(factors)
    for at in {0, len(X) // 2, len(X) - 1}:
        words = [struct.unpack("<Q", struct.pack("<d", number + 0.0))[0] for number in X[at]]
        folded = [word ^ word >> 32 for word in words]
        expected = sum(int(f) * word for f, word in zip(factors, folded, strict=True)) % 2**64
        assert int(keys[at]) == expected
