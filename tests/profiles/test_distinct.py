"""Distinct values: exact while they are few, near the truth beyond, in any order."""

import numpy as np
import pytest

from lrisk_cli.profiles.distinct import MOST_HASHES, DistinctCount, hash_numbers, hash_texts


def count(hashes: np.ndarray, n_parts: int) -> DistinctCount:
    found = DistinctCount()
    for part in np.array_split(hashes, n_parts):
        found.add(part)
    return found


@pytest.mark.parametrize("n", [0, 1, 100, MOST_HASHES - 1])
def test_few_values_are_counted_exactly(n):
    values = np.repeat(np.arange(n) * 0.37, 3)
    found = count(hash_numbers(np.random.default_rng(0).permutation(values)), 7)
    assert (found.count, found.exact) == (n, True)


@pytest.mark.parametrize("n", [10_000, 300_000])
def test_many_values_are_estimated_within_four_standard_errors(n):
    rng = np.random.default_rng(n)
    for hashes in (hash_numbers(rng.standard_normal(n)), hash_texts([f"id{k}" for k in range(n)])):
        found = count(np.concatenate([hashes, hashes[: n // 2]]), 11)
        assert not found.exact
        assert abs(found.count - n) < 4.0 * n / np.sqrt(MOST_HASHES)


def test_the_count_depends_on_no_order_and_no_batches():
    hashes = hash_numbers(np.random.default_rng(1).standard_normal(50_000))
    expected = count(hashes, 1).count
    assert all(count(hashes[::step], n).count == expected for step in (1, -1) for n in (1, 13, 900))


def test_zero_is_one_number():
    assert count(hash_numbers(np.array([0.0, -0.0])), 1).count == 1
