"""Orders of rows against NumPy's stable argsort, in both builds."""

import time
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.problems import kernel_builds

BUILDS = kernel_builds()
IDS = [build.__name__.rsplit(".", 1)[1] for build in BUILDS]
each_build = pytest.mark.parametrize("core", BUILDS, ids=IDS)

finite = st.floats(allow_nan=False, allow_infinity=False)
few_values = st.sampled_from([0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1e-300, 1.7e308, 0.1, 1 / 3])
near_one = st.integers(0, 40).map(lambda k: 1.0 + k * 2.0**-52)
key_lists = st.one_of(
    st.lists(st.one_of(finite, few_values), min_size=1, max_size=200),
    st.lists(st.one_of(near_one, few_values), min_size=1, max_size=200),
)


def argsort(core: ModuleType, keys: np.ndarray) -> np.ndarray:
    order = np.empty(len(keys), dtype=np.int32)
    core.argsort(keys, order, *scratch(len(keys)))
    return order


def scratch(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)


def stable(keys: np.ndarray) -> np.ndarray:
    return np.argsort(keys, kind="stable")


def with_a_zero(keys: np.ndarray) -> np.ndarray:
    keys[len(keys) // 2] = 0.0
    return keys


def any_bits(rng: np.random.Generator, n: int) -> np.ndarray:
    keys = rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)
    return np.where(np.isfinite(keys), keys, 1.0)


# Each crowds the keys in another place: the range, the digits, the prefix, the dropped bits.
FAMILIES = {
    "squares": lambda rng, n: rng.standard_normal(n) ** 2,
    "both signs": lambda rng, n: rng.standard_normal(n),
    "constant": lambda rng, n: np.full(n, 3.3),
    "two neighbours": lambda rng, n: 1.0 + 2.0**-52 * rng.integers(0, 2, n),
    "three values": lambda rng, n: rng.integers(-1, 2, n) * 1.0,
    "signed zeros": lambda rng, n: np.where(rng.random(n) < 0.5, -0.0, 0.0),
    "close": lambda rng, n: 1.0 + 1e-9 * rng.standard_normal(n),
    "close, and a zero": lambda rng, n: with_a_zero(1.0 + 1e-9 * rng.standard_normal(n)),
    "last bits, and a zero": lambda rng, n: with_a_zero(1.0 + 1e-15 * rng.standard_normal(n)),
    "subnormal": lambda rng, n: rng.integers(0, 50, n) * 5e-324,
    "any bits": any_bits,
    "two far clusters": lambda rng, n: (
        np.where(rng.random(n) < 0.5, 1.0, 1e300) * (1.0 + 2.0**-52 * rng.integers(0, 9, n))
    ),
    "falling": lambda rng, n: -np.arange(n, dtype=np.float64),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n) ** 5,
}
each_family = pytest.mark.parametrize("family", FAMILIES)


@each_build
@given(keys=key_lists)
def test_argsort_is_the_stable_order(core: ModuleType, keys: list[float]) -> None:
    array = np.array(keys)
    np.testing.assert_array_equal(argsort(core, array), stable(array))


@each_build
@each_family
@pytest.mark.parametrize("n", [1, 2, 47, 48, 49, 50, 300, 5_000, 70_000])
def test_argsort_is_the_stable_order_of_crowded_keys(core: ModuleType, family: str, n: int) -> None:
    keys = np.ascontiguousarray(FAMILIES[family](np.random.default_rng(n), n))
    np.testing.assert_array_equal(argsort(core, keys), stable(keys))


@each_build
def test_argsort_of_no_rows_does_nothing(core: ModuleType) -> None:
    assert argsort(core, np.empty(0)).size == 0


@each_build
@pytest.mark.parametrize("n", [30, 1000])
def test_argsort_survives_values_that_are_not_finite(core: ModuleType, n: int) -> None:
    rng = np.random.default_rng(0)
    keys = rng.standard_normal(n)
    keys[rng.integers(0, n, n // 3)] = np.nan
    keys[1], keys[2] = np.inf, -np.inf
    assert sorted(argsort(core, keys)) == list(range(n))


def seconds(core: ModuleType, keys: np.ndarray) -> float:
    best = np.inf
    for _ in range(5):
        start = time.perf_counter()
        argsort(core, keys)
        best = min(best, time.perf_counter() - start)
    return best


@each_build
@each_family
def test_no_keys_make_argsort_quadratic(core: ModuleType, family: str) -> None:
    """Measured worst: 4 times the easy keys. A quadratic step would cost thousands."""
    rng, n = np.random.default_rng(1), 100_000
    easy = seconds(core, FAMILIES["squares"](rng, n))
    assert seconds(core, np.ascontiguousarray(FAMILIES[family](rng, n))) < 40.0 * easy


@each_build
@given(keys=key_lists, seed=st.integers(0, 99))
def test_warm_order_does_not_depend_on_where_it_starts(
    core: ModuleType, keys: list[float], seed: int
) -> None:
    array = np.array(keys)
    n = len(array)
    order = np.random.default_rng(seed).permutation(n).astype(np.int32)
    again = order.copy()
    assert core.argsort_warm(array, order, np.empty(n), n * n) >= 0
    core.sort_rows(array, again, *scratch(n))
    np.testing.assert_array_equal(order, stable(array))
    np.testing.assert_array_equal(again, stable(array))


@each_build
def test_warm_sort_counts_the_inversions(core: ModuleType) -> None:
    keys = np.random.default_rng(2).integers(0, 9, 60) * 1.0
    order = np.arange(60, dtype=np.int32)
    inversions = sum(keys[i] > keys[j] for i in range(60) for j in range(i + 1, 60))
    assert core.argsort_warm(keys, order, np.empty(60), 60 * 60) == inversions
    assert core.argsort_warm(keys, order, np.empty(60), 0) == 0


@each_build
def test_warm_sort_gives_up_beyond_its_budget_and_keeps_every_row(core: ModuleType) -> None:
    n = 1000
    keys = np.arange(n, dtype=np.float64)
    order = np.arange(n, dtype=np.int32)[::-1].copy()
    assert core.argsort_warm(keys, order, np.empty(n), 3 * n // 10) == -1
    assert sorted(order) == list(range(n))
    assert core.sort_rows(keys, order[::-1].copy(), *scratch(n)) == -1


@each_build
def test_sort_rows_moves_little_after_a_small_step(core: ModuleType) -> None:
    rng, n = np.random.default_rng(3), 20_000
    residuals = rng.standard_normal(n)
    order = argsort(core, residuals**2)
    nearby = (residuals + 1e-6 * rng.standard_normal(n)) ** 2
    moves = core.sort_rows(nearby, order, *scratch(n))
    assert 0 < moves <= 3 * n // 10
    np.testing.assert_array_equal(order, stable(nearby))


@each_build
def test_rank_changes_counts_rows_of_another_rank(core: ModuleType) -> None:
    rng = np.random.default_rng(4)
    first = rng.permutation(50).astype(np.int32)
    second = first.copy()
    second[[3, 7, 9]] = second[[7, 9, 3]]
    ranks = np.argsort(first), np.argsort(second)
    assert core.count_rank_changes(first, second) == np.sum(ranks[0] != ranks[1]) == 3
    assert core.count_rank_changes(first, first) == 0


@each_build
@pytest.mark.parametrize("short", ["order", "work_a", "work_b"])
def test_arrays_too_short_are_refused_by_name(core: ModuleType, short: str) -> None:
    arrays = {"order": np.empty(5, dtype=np.int32)}
    arrays["work_a"], arrays["work_b"] = scratch(5)
    arrays[short] = arrays[short][:4]
    for kernel in (core.argsort, core.sort_rows):
        with pytest.raises(ValueError, match=f"{short} holds 4 elements; 5 are needed"):
            kernel(np.ones(5), **arrays)
