"""Samples of rows that stream by: even, bounded, and the same however the rows were batched."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrisk_cli.tables.row_sample import RowSample


def sample(n_rows: int, limit: int, cuts: list[int]) -> np.ndarray:
    """Which rows are kept when they come in pieces that end at the cuts."""
    kept = RowSample(limit)
    rows = np.arange(n_rows)
    for piece in np.split(rows, sorted(min(cut, n_rows) for cut in cuts)):
        kept.add(piece, piece.astype(float))
    return kept.columns[0]


@settings(max_examples=50, deadline=None)
@given(
    n_rows=st.integers(0, 3000),
    limit=st.integers(1, 500),
    cuts=st.lists(st.integers(0, 3000), max_size=8),
)
def test_a_sample_does_not_depend_on_the_batches_and_keeps_the_order(n_rows, limit, cuts):
    found = sample(n_rows, limit, cuts)
    assert found.tolist() == sample(n_rows, limit, []).tolist()
    assert len(found) <= limit
    assert np.all(np.diff(found) > 0)
    if n_rows <= limit:
        assert len(found) == n_rows


@pytest.mark.parametrize("period", [2, 3, 4, 7, 8, 16, 64])
def test_rows_that_take_turns_are_all_met(period):
    found = sample(1_000_000, 65_536, [])
    assert len(found) > 30_000
    shares = np.bincount(found.astype(int) % period) / len(found)
    assert shares == pytest.approx(1.0 / period, rel=0.1)
