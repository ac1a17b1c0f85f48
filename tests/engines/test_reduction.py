"""Sums of parts in a fixed tree, moments by blocks, samples by hashes of the row numbers."""

from dataclasses import dataclass

import numpy as np
import pytest

from lrisk_cli.engines.moments import Moments
from lrisk_cli.engines.reduction import Tree
from lrisk_cli.engines.sampling import RowSampler, row_hashes
from lrisk_cli.tables.table import Batch


@dataclass(frozen=True)
class Text:
    """Writes down how it was added up."""

    text: str

    def add(self, other: "Text") -> "Text":
        return Text(f"({self.text}{other.text})")


def summed(parts: str) -> str:
    tree: Tree[Text] = Tree()
    for part in parts:
        tree.add(Text(part))
    return tree.total().text


def test_parts_are_added_by_halves_in_their_order():
    assert summed("a") == "a"
    assert summed("abcd") == "((ab)(cd))"
    assert summed("abcdefg") == "(((ab)(cd))((ef)g))"


def test_a_tree_holds_as_many_sums_as_the_number_of_parts_has_bits():
    tree: Tree[Text] = Tree()
    for part in range(1000):
        tree.add(Text(str(part % 10)))
        assert len(tree._waiting) <= 10


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_moments_of_blocks_are_those_of_all_numbers(offset):
    rng = np.random.default_rng(0)
    numbers = offset + rng.standard_t(3, 5000)
    numbers[::7] = np.nan
    moments = Moments()
    for block in np.array_split(numbers, 13):
        moments.add(block)
    known = numbers[~np.isnan(numbers)].astype(np.longdouble)
    assert moments.n == len(known)
    assert moments.mean == pytest.approx(float(known.mean()), rel=1e-15)
    assert moments.deviation == pytest.approx(float(known.std()), rel=1e-12)


def test_a_constant_has_exactly_its_value_as_mean_and_no_deviation():
    moments = Moments()
    for n in (3, 70, 11):
        moments.add(np.full(n, 0.1))
    assert (moments.mean, moments.deviation) == (0.1, 0.0)


def test_missing_numbers_count_as_what_stands_in_for_them():
    numbers = np.array([1.0, np.nan, 4.0, np.nan, 7.0])
    moments = Moments()
    moments.add(numbers)
    filled = np.where(np.isnan(numbers), 2.0, numbers)
    assert moments.filled(2.0, 5) == pytest.approx((filled.mean(), filled.std()), rel=1e-15)


def sampled(n: int, cuts: int, size: int) -> np.ndarray:
    """Row numbers of a sample of `size` of n rows that come in so many batches."""
    sampler = RowSampler(["row"], 1)
    sampler.size = size
    for rows in np.array_split(np.arange(n, dtype=np.float64), cuts):
        batch = Batch(int(rows[0]), len(rows), {"row": rows}, "t", 0)
        sampler.add(batch, np.ones(len(rows), bool))
    return np.asarray(sampler.sample().columns["row"])


def test_a_sample_does_not_depend_on_the_batches():
    one, other = sampled(30_000, 1, 500), sampled(30_000, 77, 500)
    assert len(one) == 500
    assert (one == other).all()


def test_a_sample_holds_the_rows_of_the_least_hashes_in_their_order():
    hashes = row_hashes(np.arange(20_000))
    assert (sampled(20_000, 9, 300) == np.argsort(hashes)[:300]).all()


def test_a_sample_is_uniform():
    """Its ranks among the rows, in 20 equal ranges: chi-squared with 19 degrees of freedom."""
    n, size = 200_000, 20_000
    counts = np.bincount(sampled(n, 10, size).astype(int) * 20 // n, minlength=20)
    chi2 = float(np.sum((counts - size / 20) ** 2) / (size / 20))
    assert 6.0 < chi2 < 40.0  # all but one in 300 samples
