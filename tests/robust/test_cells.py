"""The screen of cells: wrong cells found by their column or the others, and ordinary rows left."""

import numpy as np
import pytest

from lrisk_cli.robust.cells import FAR, CellScreen, screen_cells
from lrisk_cli.types import Array


def _related(n: int = 1000) -> list[Array]:
    """Four columns that two hidden ones make, nearly; the last is lognormal."""
    draws = np.random.default_rng(1)
    a, b = draws.standard_normal((2, n))
    noise = 0.1 * draws.standard_normal((4, n))
    return [
        10.0 + a + noise[0], 5.0 + b + noise[1], a + b + noise[2], np.exp(a - b + noise[3]),
    ]  # fmt: skip


def _screen(columns: list[Array], target: int | None = None) -> CellScreen:
    return screen_cells(columns, target=target)


def test_ordinary_rows_hold_no_wrong_cell() -> None:
    found = _screen(_related())
    assert not (found.scores > FAR).any()
    assert np.quantile(found.scores, 0.75) == pytest.approx(1.15, abs=0.01)


@pytest.mark.parametrize("column", [0, 1, 2, 3])
def test_a_cell_inside_its_column_is_wrong_where_the_others_predict_another(column: int) -> None:
    columns = _related()
    logs = np.log(columns[3]) if column == 3 else columns[column]
    rows = np.arange(0, 1000, 12)
    other = logs[(rows + 507) % 1000]
    apart = np.abs(other - logs[rows]) > 1.5
    before, rows = logs[rows][apart], rows[apart]
    columns[column][rows] = np.exp(other[apart]) if column == 3 else other[apart]
    found = _screen(columns)
    assert len(rows) >= 5
    assert (found.scores[rows] > FAR).mean() > 0.6
    assert (found.cells[rows] == column).mean() > 0.9
    expected = np.log(found.expected[rows]) if column == 3 else found.expected[rows]
    assert expected == pytest.approx(before, abs=1.0)
    assert not (found.scores[np.setdiff1d(np.arange(1000), rows)] > FAR).any()


@pytest.mark.parametrize("factor", [1000.0, -1.0, 10.0])
def test_a_far_cell_is_named_and_not_those_that_it_would_predict(factor: float) -> None:
    columns = _related()
    columns[0][:40] *= factor
    found = _screen(columns)
    assert (found.scores[:40] > FAR).all()
    assert (found.cells[:40] == 0).all()
    assert not (found.scores[40:] > FAR).any()


def test_a_wrong_target_is_the_first_suspect_and_no_cell_of_the_row_is_wrong() -> None:
    columns = _related()
    y = columns[0] - columns[1] + 0.2 * np.random.default_rng(2).standard_normal(1000)
    y[:50] += 5.0
    found = _screen([*columns, y], target=4)
    assert (found.suspects[:50, 0] == 4).mean() > 0.95
    assert (found.scores[:50] > FAR).mean() < 0.05
    assert (found.cells != 4).all()


def test_rows_that_are_not_kept_teach_nothing() -> None:
    columns = _related()
    far = [column.copy() for column in columns]
    far[0][:400] -= 3.0
    kept = np.arange(1000) >= 400
    found = screen_cells(far, kept=kept)
    assert (found.cells[:400] == 0).mean() > 0.95
    assert (found.scores[:400] > FAR).mean() > 0.95


def test_a_table_without_columns_that_can_be_judged_has_scores_of_zero() -> None:
    found = _screen([np.arange(100.0) % 3.0, np.ones(100)])
    assert (found.scores.tolist(), found.cells.tolist()) == ([0.0] * 100, [-1] * 100)


def test_a_nearly_constant_column_does_not_disturb_the_others() -> None:
    columns = _related()
    draws = np.random.default_rng(3)
    zeros = np.where(draws.random(1000) < 0.9, 0.0, draws.lognormal(size=1000))
    found = _screen([*columns, zeros])
    assert not (found.scores > FAR).any()
