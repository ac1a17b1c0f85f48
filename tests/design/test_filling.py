"""Rows beside codes against rows as one array: the same numbers, cell by cell."""

import numpy as np
import pytest

from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.date import DateFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.dates import PARTS
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.filling import Filler
from lrisk_cli.design.target import NumberTarget
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.layout import make_layout
from lrisk_cli.rows.mixed import MixedRows

COLORS = tuple(f"c{k:02d}" for k in range(20))
FEATURES = (
    CategoryFeature("color", categories=COLORS, other=True, fill="c03", indicator=True),
    NumberFeature("area", mean=2.0, scale=4.0, fill=3.0, indicator=True),
    DateFeature("day", mean=15000.0, scale=100.0, fill=15001.5, indicator=True, parts=PARTS),
    CategoryFeature("kind", categories=("a", "b")),
    DateFeature("built", mean=15000.0, scale=100.0, parts=("month=Feb", "weekday=Sun", "day_cos")),
    NumberFeature("rooms"),
)


def encoding(*, clusters: bool = False) -> Encoding:
    goal = None if clusters else NumberTarget("y")
    return Encoding(FEATURES, not clusters, goal, Missing.IMPUTE, Unseen.OTHER)


def raw_cells(n: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Numbers with holes, and positions of colours and kinds, none and missing ones among them."""
    rng = np.random.default_rng(0)
    numbers = rng.uniform(14000.0, 16000.0, (n, 4))
    numbers[rng.random(n) < 0.2, 0] = np.nan
    numbers[rng.random(n) < 0.2, 1] = np.nan
    colors = rng.integers(-1, FEATURES[0].n_values + 1, n).astype(np.int32)
    return numbers, [colors, rng.integers(-1, 2, n).astype(np.int32)]


@pytest.mark.parametrize("intercept", [False, True])
def test_both_ways_to_store_rows_give_the_same_numbers(intercept):
    n_columns, spans, first = sum(f.n_columns for f in FEATURES) + intercept, [], 0
    for feature in FEATURES:
        spans += [(first + start, first + stop) for start, stop in feature.code_spans()]
        first += feature.n_columns
    found = []
    for whole in (True, False):
        filler = Filler(FEATURES, make_layout(n_columns, spans, whole=whole), intercept=intercept)
        numbers, positions = raw_cells(400)
        D, codes = filler.empty(400)
        D[:] = np.nan
        for rows in (slice(0, 150), slice(150, 400)):
            filler.fill(
                numbers[rows].copy(), [each[rows] for each in positions], D[rows], codes[rows]
            )
        found.append(filler.rows(D, codes))
    assert [type(rows) for rows in found] == [DenseRows, MixedRows]
    X, other = (rows.dense_rows(slice(None)) for rows in found)
    np.testing.assert_array_equal(X, other)
    assert np.isfinite(X).all()


def test_a_missing_category_is_its_indicator_and_what_stands_in_for_it():
    filler = Filler(FEATURES[:1], make_layout(22, [(0, 21), (21, 22)]), intercept=False)
    D, codes = filler.empty(3)
    filler.fill(np.empty((3, 0)), [np.array([21, -1, 20], np.int32)], D, codes)
    expected = np.zeros((3, 22))
    expected[0, [3, 21]] = expected[2, 20] = 1.0
    np.testing.assert_array_equal(filler.rows(D, codes).dense_rows(slice(None)), expected)


def test_clusters_have_one_array():
    assert encoding().layout.as_codes
    assert not encoding(clusters=True).layout.as_codes
    assert encoding(clusters=True).layout.row_bytes == 8 * encoding(clusters=True).n_columns


def test_column_names_and_code_columns_agree():
    layout, names = encoding().layout, encoding().column_names
    heads = [{names[j].partition("=")[0] for j in range(start, stop)}
             for start, stop in zip(layout.starts, layout.stops, strict=True)]  # fmt: skip
    assert all(len(head) == 1 for head in heads)
    assert [names[j] for j in layout.numbers if "=" in names[j]] == []
    assert len(heads) == 2 + 1 + 3 + 1 + 2
