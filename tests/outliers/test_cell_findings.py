"""Wrong cells beside wrong labels: both are found, and the reason names what is wrong first."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.program import lrisk

N = 600
CELLS, FLIPS, CODES = slice(0, 12), slice(12, 36), slice(36, 44)


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Two classes that two columns tell apart, and a third column that has no effect; by row."""
    folder: Path = tmp_path_factory.mktemp("classes")
    draws = np.random.default_rng(3)
    a, b, c = draws.standard_normal((3, N))
    label = (4.0 * a - 3.0 * b + draws.logistic(size=N) > 0.0).astype(int)
    columns = {"a": 10.0 + a, "b": np.exp(b), "c": 5.0 + 2.0 * c + 0.1 * draws.standard_normal(N)}
    columns["c"][CELLS] *= 1000.0
    columns["b"][CODES] = -999.0
    label[FLIPS] = 1 - label[FLIPS]
    names = np.array(["no", "yes"], dtype=object)[label]
    pq.write_table(pa.table({**columns, "label": names.tolist()}), folder / "rows.parquet")
    lrisk(folder, "detect-outliers", "rows.parquet", "--target", "label", "-o", "ranking.parquet")
    found: dict[str, list[Any]] = (
        pq.read_table(folder / "ranking.parquet").sort_by("row").to_pydict()
    )
    return found


def test_a_cell_of_a_column_without_effect_on_the_classes_is_found_and_named(
    ranking: dict[str, list[Any]],
) -> None:
    assert ranking["kind"][CELLS] == ["cell"] * 12
    assert ranking["reason_1"][CELLS] == ["c"] * 12
    assert all("1000 times too large" in reason for reason in ranking["reason"][CELLS])


def test_a_code_for_missing_values_is_called_so(ranking: dict[str, list[Any]]) -> None:
    assert ranking["kind"][CODES] == ["cell"] * 8
    assert all(reason.startswith("b -999 looks like a code") for reason in ranking["reason"][CODES])


def test_a_wrong_label_is_named_first(ranking: dict[str, list[Any]]) -> None:
    labels = [row for row in range(N) if ranking["kind"][row] == "label"]
    assert len(set(labels) & set(range(12, 36))) >= 6
    assert {ranking["reason_1"][row] for row in labels} == {"label"}


def test_other_rows_hold_no_wrong_cell(ranking: dict[str, list[Any]]) -> None:
    assert "cell" not in ranking["kind"][44:]
    assert "cell" not in ranking["kind"][FLIPS]
