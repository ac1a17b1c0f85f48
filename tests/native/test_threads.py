"""Rows in shares: the same sums for any number of threads, cut by the table alone."""

import time

import numpy as np
import pytest

import lrisk_cli.native.threads as threads
from helpers.matrix import matrix
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.native.threads import over_chunks, thread_pool
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a test are cut as large ones are."""
    monkeypatch.setattr(threads, "CHUNK_NUMBERS", 20_000)
    monkeypatch.setattr(threads, "CHUNK_STEP", 256)


def problem(risk: str, n_classes: int, n_columns: int) -> Problem:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((6000, n_columns))
    y = X @ rng.standard_normal((n_columns, max(n_classes, 1))) + rng.standard_t(3, (6000, 1))
    if n_classes == 0:
        return make_problem(DenseRows(X), y[:, 0], make_loss("squared", 0), parse_risk(risk), 1e-3)
    codes = np.argmax(y + rng.gumbel(size=y.shape), axis=1)
    return make_problem(
        DenseRows(X), codes, make_loss("logistic", n_classes), parse_risk(risk), 1e-3
    )


@pytest.mark.parametrize("n_columns", [5, 70])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_sums_over_rows_are_those_of_numpy(n_classes: int, n_columns: int) -> None:
    some = problem("mean", n_classes, n_columns)
    rng = np.random.default_rng(0)
    W, coefs = rng.standard_normal(some.shape), rng.standard_normal((6000, some.shape[1]))
    weights = rng.random(6000) * (rng.random(6000) < 0.7)
    with thread_pool(2):
        np.testing.assert_allclose(some.margins(W), matrix(some) @ W, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(
            some.combine(coefs), matrix(some).T @ coefs, rtol=1e-9, atol=1e-9
        )
        gram = matrix(some).T @ (matrix(some) * weights[:, None])
        np.testing.assert_allclose(some.gram(weights), gram, rtol=1e-10, atol=1e-9)
        even = matrix(some).T @ matrix(some) / 6000
        found = some.gram(np.full(6000, 1 / 6000))
        np.testing.assert_allclose(found, even, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_columns", [5, 70])
@pytest.mark.parametrize(
    ("risk", "n_classes"),
    [("superquantile:0.9", 0), ("extremile:2", 2), ("esrm:1", 3), ("subquantile:0.8", 0)],
)
def test_fits_are_the_same_to_the_last_bit_for_any_number_of_threads(
    risk: str, n_classes: int, n_columns: int
) -> None:
    found = []
    for n_threads in (1, 2, 5):
        with thread_pool(n_threads):
            found.append(solve(problem(risk, n_classes, n_columns), SolverOptions(), Limits()))
    for each in found[1:]:
        assert np.array_equal(each.W, found[0].W)
        assert np.array_equal(each.lam, found[0].lam)
        assert (each.objective, each.status) == (found[0].objective, found[0].status)


def test_shares_cover_the_rows_and_come_in_order_however_long_each_takes() -> None:
    def work(rows: slice) -> int:
        time.sleep(0.02 if rows.start == 0 else 0.0)
        return rows.start

    alone = list(over_chunks(work, 100_000, 3))
    with thread_pool(3):
        assert list(over_chunks(work, 100_000, 3)) == alone
    assert alone == sorted(alone)
    assert len(alone) == threads.MAX_CHUNKS
    covered = np.zeros(100_000, dtype=int)
    for rows in over_chunks(lambda rows: rows, 100_000, 3):
        covered[rows] += 1
    assert (covered == 1).all()


def test_small_tables_are_one_share() -> None:
    assert list(over_chunks(lambda rows: rows, 300, 10)) == [slice(0, 512)]


def test_a_failure_in_a_share_is_raised_and_the_team_goes_home() -> None:
    def work(rows: slice) -> None:
        raise ValueError("a share")

    with pytest.raises(ValueError, match="a share"), thread_pool(2):
        list(over_chunks(work, 100_000, 3))
    assert list(over_chunks(lambda rows: rows.start, 300, 1)) == [0]
