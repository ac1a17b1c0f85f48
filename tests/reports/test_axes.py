"""Ticks keep apart, and words beside a line cover nothing."""

import re
from itertools import pairwise

import numpy as np
import pytest

from lrisk_cli.reports.axes import LETTER, spell_numbers
from lrisk_cli.reports.figures import Guide, Plot, Series, draw


def svg(x, y, **changes) -> str:
    settings = {"title": "t", "alternative": "a", "x_label": "x", "y_label": "y"}
    return draw(Plot(**settings, series=[Series("", x, y)], **changes), "f").svg


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"]),
        ([-200_000.0, 0.0, 200_000.0], ["\u2212200,000", "0", "200,000"]),
        ([0.0, 5e10, 1e11], ["0", "0.5\u00d710¹¹", "1.0\u00d710¹¹"]),
        ([2e-6, 4e-6], ["2\u00d710⁻⁶", "4\u00d710⁻⁶"]),
        ([0.0], ["0"]),
        ([], []),
    ],
)
def test_ticks_have_the_same_decimals_and_are_grouped(values, expected):
    assert spell_numbers(values) == expected


@pytest.mark.parametrize("size", [1e-9, 1.0, 12_345.0, 8.1e5, 3.2e11])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_labels_of_an_axis_do_not_run_together(size, sign):
    x = np.linspace(-0.9, 1.0, 7) * size * sign
    drawn = svg(x, np.arange(7.0))
    found = re.findall(r'<text[^>]*x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*\d[^<]*)</text>', drawn)
    heights = [float(y) for _, y, _ in found]
    bottom = sorted((float(x), text) for x, y, text in found if float(y) == max(heights))
    assert len(bottom) >= 2
    for (left, one), (right, other) in pairwise(bottom):
        assert right - left > LETTER * (len(one) + len(other)) / 2.0


@pytest.mark.parametrize(("y", "top"), [([1.0, 1.0, 0.0], False), ([0.0, 0.0, 1.0], True)])
def test_words_beside_a_line_keep_away_from_the_series(y, top):
    drawn = svg(np.arange(3.0) / 2.0, np.array(y), guides=[Guide("x", 0.05, "words")])
    ((_, height),) = re.findall(r'<text[^>]*x="([\d.]+)" y="([\d.]+)"[^>]*>words</text>', drawn)
    assert (float(height) < 118.0) == top
