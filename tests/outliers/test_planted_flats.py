"""Flats with the errors that people type: rows found, the column first, the mistake in words."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.common.flats import MISTAKES, make_flats, plant_in_flats
from helpers.program import lrisk

EACH = 10
Ranking = dict[str, list[Any]]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ranking, dict[str, list[int]]]:
    """The ranking by row, and the rows of each mistake."""
    folder: Path = tmp_path_factory.mktemp("flats")
    draws = np.random.default_rng(5)
    flats = make_flats(1500, draws)
    chosen = draws.permutation(1500)[: EACH * len(MISTAKES)].reshape(len(MISTAKES), EACH)
    for kind, rows in zip(MISTAKES, chosen, strict=True):
        plant_in_flats(flats, kind, rows)
    pq.write_table(flats.arrow(), folder / "flats.parquet")
    lrisk(folder, "detect-outliers", "flats.parquet", "--target", "price", "-o", "ranking.parquet")
    ranking = pq.read_table(folder / "ranking.parquet").sort_by("row").to_pydict()
    return ranking, dict(zip(MISTAKES, chosen.tolist(), strict=True))


@pytest.mark.parametrize(
    ("kind", "called", "first", "said"),
    [
        ("price / 1000", "error", {"price"}, "is expected"),
        ("price x 10", "error", {"price"}, "is expected"),
        ("area and rooms swapped", "cell", {"area", "rooms"}, "look swapped"),
        ("area in square feet", "cell", {"area"}, "times too large"),
        ("year reversed", "cell", {"year"}, "would fit"),
        ("city misspelt", "cell", {"city"}, "looks misspelt"),
    ],
)
def test_flats_with_a_mistake_are_found_and_the_reason_says_which(
    planted: tuple[Ranking, dict[str, list[int]]],
    kind: str,
    called: str,
    first: set[str],
    said: str,
) -> None:
    ranking, rows = planted
    found = [row for row in rows[kind] if ranking["is_outlier"][row]]
    assert len(found) >= 8
    assert {ranking["kind"][row] for row in found} == {called}
    assert {ranking["reason_1"][row] for row in found} <= first
    assert sum(said in ranking["reason"][row] for row in found) >= 8


def test_hardly_another_flat_is_an_outlier(
    planted: tuple[Ranking, dict[str, list[int]]],
) -> None:
    ranking, rows = planted
    wrong = {row for each in rows.values() for row in each}
    others = [row for row, out in enumerate(ranking["is_outlier"]) if out and row not in wrong]
    assert len(others) <= 5
