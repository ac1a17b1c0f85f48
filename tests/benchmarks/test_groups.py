"""A slice of the benchmark of risks of groups."""

import pytest

from benchmarks.reliability.groups import RISKS, Case, check

# Not a seed that the benchmark records.
SEED = 11


@pytest.mark.parametrize("index", range(4 * len(RISKS)))
def test_no_bound_exceeds_the_optimum_of_an_independent_solver(index):
    pytest.importorskip("clarabel", reason="cvxpy with Clarabel is not installed")
    pytest.importorskip("cvxpy", reason="cvxpy with Clarabel is not installed")
    found = check(Case(SEED, index))
    assert not found["refuted"]
    assert found["gap"] < 1e-4
