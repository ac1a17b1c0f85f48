"""Exchanged cells are found as such, single wrong cells are not."""

import numpy as np

from lrisk_cli.robust.cells import screen_cells
from lrisk_cli.robust.swapped_cells import find_swaps
from lrisk_cli.types import Array, Index


def _columns() -> list[Array]:
    draws = np.random.default_rng(1)
    a, b = draws.standard_normal((2, 800))
    noise = 0.2 * draws.standard_normal((3, 800))
    return [50.0 + 5.0 * (a + noise[0]), 20.0 + 2.0 * (b + noise[1]), a + b + noise[2]]


def _partners(columns: list[Array], rows: Index) -> list[int]:
    found = screen_cells(columns)
    assert found.far[rows].all()
    return find_swaps(found.model, columns, rows, found.cells[rows]).tolist()


def test_two_exchanged_cells_are_each_the_partner_of_the_other() -> None:
    columns, rows = _columns(), np.arange(30)
    columns[0][rows], columns[1][rows] = columns[1][rows].copy(), columns[0][rows].copy()
    found = screen_cells(columns)
    cells, partners = found.cells[rows], _partners(columns, rows)
    assert np.mean([sorted(each) == [0, 1] for each in zip(cells, partners, strict=True)]) > 0.9


def test_a_single_wrong_cell_is_not_exchanged() -> None:
    columns, rows = _columns(), np.arange(30)
    columns[0][rows] *= 10.0
    assert _partners(columns, rows) == [-1] * 30


def test_one_column_has_nothing_to_exchange_with() -> None:
    columns, rows = _columns()[:1], np.arange(10)
    columns[0][rows] *= 100.0
    assert _partners(columns, rows) == [-1] * 10
