"""When columns are stored as codes, and what a row then takes."""

import numpy as np
import pytest

from lrisk_cli.rows.layout import make_layout


def test_codes_pay_where_they_save_many_numbers():
    # Sixteen saved of forty columns, fifteen, and sixteen of eighty-one.
    assert make_layout(40, [(3, 20)]).as_codes
    assert not make_layout(40, [(3, 19)]).as_codes
    assert not make_layout(81, [(3, 20)]).as_codes
    assert not make_layout(40, [(3, 20)], whole=True).as_codes
    assert not make_layout(200, [(j, j + 1) for j in range(100)]).as_codes


def test_a_row_takes_eight_bytes_for_a_number_and_four_for_a_code():
    assert make_layout(40, [(3, 20), (21, 22)]).row_bytes == 8 * 22 + 4 * 2
    assert make_layout(40, [(3, 5)]).row_bytes == 8 * 40
    assert make_layout(40, [(3, 20)], whole=True).row_bytes == 8 * 40


@pytest.mark.parametrize("spans", [[], [(0, 40)], [(3, 20), (20, 21), (30, 40)]])
def test_each_column_is_a_number_or_belongs_to_one_code_column(spans):
    layout = make_layout(40, spans)
    for j in range(40):
        mine = [at for at, (start, stop) in enumerate(spans) if start <= j < stop]
        assert layout.code_column(j) == (mine[0] if mine else -1)
        assert (j in layout.numbers) == (not mine)
    assert np.array_equal(layout.numbers, np.sort(layout.numbers))
