"""A table becomes the matrix that scikit-learn would make of it, once in memory."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from helpers.matrix import matrix
from helpers.program import unmeasured
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.design import Design, DesignOptions, build_design
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.names import Missing, Scaling, Standardize, Task, Unseen
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.table import Table, open_table

COLORS = ["red", "blue", "green", "blue", "red", "blue"]
ROWS = pa.table(
    {
        "size": [1.0, 4.0, 2.0, 8.0, 5.0, 7.0],
        "color": COLORS,
        "age": [30, 20, 10, 60, 50, 40],
        "price": [10.0, 30.0, 20.0, 70.0, 40.0, 60.0],
    }
)
HOLED = ROWS.set_column(0, "size", pa.array([1.0, None, 2.0, 8.0, None, 7.0])).set_column(
    1, "color", pa.array(["red", None, "green", "blue", "red", "blue"])
)
OPTIONS = DesignOptions("price")


def save(folder: Path, table: pa.Table, name: str = "t.parquet") -> str:
    path = str(folder / name)
    if name.endswith("csv"):
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    return path


def design_of(folder: Path, table: pa.Table, options: DesignOptions = OPTIONS, **how) -> Design:
    return build_design(open_table([save(folder, table)]), options, **how)[0]


def refusal(folder: Path, table: pa.Table, options: DesignOptions = OPTIONS, **how) -> str:
    with pytest.raises(DataError) as caught:
        design_of(folder, table, options, **how)
    return str(caught.value).replace(str(folder) + "/", "")


# What X and y hold


def test_numbers_are_scaled_by_median_and_mad_where_asked(tmp_path):
    options = replace(OPTIONS, scaling=Scaling.MAD)
    design = design_of(tmp_path, ROWS, options)
    for at, name in ((0, "size"), (-2, "age")):
        values = ROWS[name].to_numpy().astype(float)
        mad = np.median(np.abs(values - np.median(values)))
        expected = (values - np.median(values)) / (1.4826 * mad)
        np.testing.assert_allclose(matrix(design)[:, at], expected, rtol=1e-14)
    prices = ROWS["price"].to_numpy()
    mad = np.median(np.abs(prices - np.median(prices)))
    np.testing.assert_allclose(design.y, (prices - np.median(prices)) / (1.4826 * mad), rtol=1e-14)


def test_where_mad_is_zero_the_deviation_stands_in_and_then_one(tmp_path):
    table = ROWS.append_column("rare", pa.array([0.0, 0.0, 0.0, 0.0, 0.0, 6.0]))
    table = table.append_column("same", pa.array([2.5] * 6))
    design = design_of(tmp_path, table, replace(OPTIONS, scaling=Scaling.MAD))
    rare, same = design.encoding.features[-2:]
    assert (rare.mean, rare.scale) == (0.0, pytest.approx(np.std([0, 0, 0, 0, 0, 6])))
    assert (same.mean, same.scale) == (2.5, 1.0)
    assert "column 'same' is constant (2.5) and has no effect" in design.notes


def test_holes_are_filled_before_the_median_distance_is_taken(tmp_path):
    options = replace(OPTIONS, scaling=Scaling.MAD, missing=Missing.IMPUTE)
    design = design_of(tmp_path, HOLED, options)
    filled = np.array([1.0, 4.5, 2.0, 8.0, 4.5, 7.0])  # the median of the others is 4.5
    size = design.encoding.features[0]
    assert size.mean == 4.5
    assert size.scale == pytest.approx(1.4826 * np.median(np.abs(filled - 4.5)))


def test_outliers_do_not_move_median_and_mad(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(5.0, 2.0, 1000)
    values[:300] = 1e6
    table = pa.table({"x": values, "price": rng.standard_normal(1000)})
    x = design_of(tmp_path, table, replace(OPTIONS, scaling=Scaling.MAD)).encoding.features[0]
    assert abs(x.mean - 5.0) < 2.0
    assert 1.0 < x.scale < 8.0


def test_numbers_are_standardised_and_texts_one_hot_as_scikit_learn_does(tmp_path):
    design = design_of(tmp_path, ROWS)
    numbers = np.array([ROWS["size"].to_pylist(), ROWS["age"].to_pylist()]).T
    scaled = StandardScaler().fit_transform(numbers)
    one_hot = OneHotEncoder(sparse_output=False).fit_transform(np.array(COLORS)[:, None])
    expected = np.column_stack([scaled[:, 0], one_hot, scaled[:, 1], np.ones(6)])
    np.testing.assert_allclose(matrix(design), expected, rtol=1e-14, atol=1e-15)
    prices = StandardScaler().fit_transform(np.array(ROWS["price"].to_pylist())[:, None])[:, 0]
    np.testing.assert_allclose(design.y, prices, rtol=1e-14)
    names = ("size", "color=blue", "color=green", "color=red", "age", "(intercept)")
    assert design.encoding.column_names == names
    assert matrix(design).flags.c_contiguous
    assert matrix(design).dtype == design.y.dtype == np.float64
    assert design.row_numbers.tolist() == [0, 1, 2, 3, 4, 5]


def test_without_standardising_the_numbers_are_those_of_the_file(tmp_path):
    options = replace(OPTIONS, standardize=Standardize.NONE, intercept=False, exclude=("color",))
    design = design_of(tmp_path, ROWS, options)
    assert matrix(design)[:, 0].tolist() == ROWS["size"].to_pylist()
    assert matrix(design)[:, 1].tolist() == ROWS["age"].to_pylist()
    assert design.y.tolist() == ROWS["price"].to_pylist()
    features_only = design_of(tmp_path, ROWS, replace(OPTIONS, standardize=Standardize.FEATURES))
    assert features_only.y.tolist() == ROWS["price"].to_pylist()
    assert abs(matrix(features_only)[:, 0].mean()) < 1e-15


def test_a_constant_column_is_zero_exactly_and_noted(tmp_path):
    table = ROWS.append_column("same", pa.array([0.1] * 6)).append_column(
        "one", pa.array(["k"] * 6)
    )
    design = design_of(tmp_path, table)
    assert (matrix(design)[:, design.encoding.column_names.index("same")] == 0.0).all()
    assert "column 'same' is constant (0.1) and has no effect" in design.notes
    assert "column 'one' is constant ('k') and has no effect" in design.notes


def test_scales_are_right_far_from_zero(tmp_path):
    numbers = 1e9 + np.random.default_rng(0).random(10_000)
    table = pa.table({"x": numbers, "y": numbers - 1e9})
    (feature,) = design_of(tmp_path, table, DesignOptions("y")).encoding.features
    exact = np.std(numbers.astype(np.longdouble))
    assert feature.scale == pytest.approx(float(exact), rel=1e-12)
    assert feature.mean == pytest.approx(float(numbers.astype(np.longdouble).mean()), rel=1e-15)


def test_the_most_frequent_categories_keep_a_column(tmp_path):
    texts = ["d", "c", "c", "b", "b", "a"] * 5
    table = pa.table({"t": texts, "y": np.arange(30.0)})
    design = design_of(tmp_path, table, DesignOptions("y", max_categories=2, intercept=False))
    assert design.encoding.column_names == ("t=b", "t=c", "t=(other)")
    assert matrix(design)[:6].tolist() == [
        [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]
    ]  # fmt: skip
    assert any("4 categories; the 2 most frequent" in note for note in design.notes)
    assert any("(10 of 30 cells)" in note for note in design.notes)


# Columns


def test_columns_are_chosen_in_the_order_asked_and_ids_are_no_features(tmp_path):
    options = replace(OPTIONS, features=("age", "size"), id_column="color")
    design = design_of(tmp_path, ROWS, options)
    assert design.encoding.feature_names == ("age", "size")
    assert design.ids.to_pylist() == COLORS
    assert (
        design_of(tmp_path, ROWS, replace(options, exclude=("color",))).encoding == design.encoding
    )
    excluding = replace(OPTIONS, exclude=("size", "color"), intercept=False)
    assert design_of(tmp_path, ROWS, excluding).encoding.column_names == ("age",)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"features": ("size", "price")}, "features: 'price' is the target; leave it out there"),
        ({"exclude": ("price",)}, "exclude: 'price' is the target"),
        ({"features": ("age", "age")}, "features: 'age' is named twice"),
        ({"features": ("age",), "id_column": "age"}, "features: 'age' is the id_column column"),
        ({"id_column": "price"}, "id_column: 'price' is the target"),
        ({"exclude": ("size", "color", "age")}, "no features are left"),
    ],
)
def test_a_choice_of_columns_that_contradicts_itself_is_refused(tmp_path, changes, sentence):
    with pytest.raises(UsageError, match=sentence):
        design_of(tmp_path, ROWS, replace(OPTIONS, **changes))


@pytest.mark.parametrize(
    "changes", [{"target": "prize"}, {"features": ("prize",)}, {"exclude": ("prize",)}]
)
def test_a_misspelt_column_is_answered_with_the_right_one(tmp_path, changes):
    sentence = refusal(tmp_path, ROWS, replace(OPTIONS, **changes))
    assert sentence == "t.parquet: no column 'prize'; did you mean 'price' or 'size'?"


# Missing cells


def test_a_missing_cell_is_refused_with_its_place(tmp_path):
    assert refusal(tmp_path, HOLED) == (
        "t.parquet, column 'size', row 1: the cell is missing; "
        "pass missing='drop' or missing='impute'"
    )
    no_target = ROWS.set_column(3, "price", pa.array([1.0, 2.0, 3.0, None, 4.0, 5.0]))
    assert "column 'price', row 3: the cell is missing" in refusal(tmp_path, no_target)


def test_dropped_rows_are_counted_by_their_first_missing_column(tmp_path):
    table = HOLED.set_column(3, "price", pa.array([10.0, 30.0, None, 70.0, 40.0, 60.0]))
    design = design_of(tmp_path, table, replace(OPTIONS, missing=Missing.DROP))
    assert design.row_numbers.tolist() == [0, 3, 5]
    assert (design.counts.read, design.counts.used) == (6, 3)
    assert design.counts.dropped == {"missing price": 1, "missing size": 2}
    whole = design_of(tmp_path, ROWS.take([0, 3, 5]))
    np.testing.assert_array_equal(matrix(design), matrix(whole))
    np.testing.assert_array_equal(design.y, whole.y)


def test_missing_cells_are_filled_and_marked_as_scikit_learn_does(tmp_path):
    design = design_of(tmp_path, HOLED, replace(OPTIONS, missing=Missing.IMPUTE))
    sizes = np.array(HOLED["size"].to_pylist(), float)[:, None]
    filled = SimpleImputer(strategy="median", add_indicator=True).fit_transform(sizes)
    filled[:, :1] = StandardScaler().fit_transform(filled[:, :1])
    np.testing.assert_allclose(matrix(design)[:, :2], filled, rtol=1e-14, atol=1e-15)
    assert design.encoding.features[0].fill == 4.5
    assert design.encoding.features[1].fill == "blue"
    names = design.encoding.column_names
    assert names[:6] == (
        "size", "size=(missing)", "color=blue", "color=green", "color=red", "color=(missing)"
    )  # fmt: skip
    colors = HOLED["color"].to_pylist()
    expected = [[float((c or "blue") == name) for name in ("blue", "green", "red")] for c in colors]
    assert matrix(design)[:, 2:5].tolist() == expected
    assert matrix(design)[:, 5].tolist() == [float(color is None) for color in colors]
    assert design.counts.dropped == {}
    n_missing = {name: HOLED[name].null_count for name in ("size", "color")}
    assert design.counts.filled == n_missing


def test_only_columns_with_holes_to_learn_from_are_marked(tmp_path):
    impute = replace(OPTIONS, missing=Missing.IMPUTE)
    whole = design_of(tmp_path, ROWS, impute)
    assert not any(feature.indicator for feature in whole.encoding.features)
    assert whole.counts.filled == {}
    path = str(tmp_path / "holed.parquet")
    pq.write_table(HOLED, path)
    (batch,) = open_table([path]).batches(HOLED.column_names)
    assert whole.encoding.encode(batch).rows.shape == whole.rows.shape
    assert whole.encoding.encode(batch).filled == {
        name: HOLED[name].null_count for name in ("size", "color")
    }
    clusters = design_of(tmp_path, HOLED, replace(impute, target=None))
    assert not any(feature.indicator for feature in clusters.encoding.features)


def test_scoring_repeats_the_indicators_of_the_fit(tmp_path):
    design = design_of(tmp_path, HOLED, replace(OPTIONS, missing=Missing.IMPUTE))
    (batch,) = open_table([str(tmp_path / "t.parquet")]).batches(HOLED.column_names)
    encoded = design.encoding.encode(batch)
    np.testing.assert_array_equal(matrix(encoded), matrix(design))
    assert encoded.filled == design.counts.filled


def test_a_column_without_any_value_is_refused_under_impute(tmp_path):
    for nothing in (pa.nulls(6, pa.float64()), pa.nulls(6)):
        table = ROWS.append_column("none", nothing)
        sentence = refusal(tmp_path, table, replace(OPTIONS, missing=Missing.IMPUTE))
        assert sentence.endswith("missing in every row to learn from; pass exclude='none'")
        dropped = refusal(tmp_path, table, replace(OPTIONS, missing=Missing.DROP))
        assert "0 of 6 rows can be used, most of the others dropped for: missing none" in dropped


# Targets


@pytest.mark.parametrize(
    ("values", "classes", "note"),
    [
        (["b", "a", "b", "c"], ("a", "b", "c"), "because 'y' holds text"),
        ([10.0, 2.0, 2.0, 10.0], ("2", "10"), "because 'y' holds two values (2 and 10)"),
        ([True, False, True, True], ("false", "true"), "because 'y' holds text"),
        ([1.5, 2.0, 3.0, 2.0], (), "because 'y' holds numbers (3 distinct); pass task='class"),
    ],
)
def test_the_task_follows_the_target_and_says_why(tmp_path, values, classes, note):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": values})
    design = design_of(tmp_path, table, DesignOptions("y"))
    assert design.encoding.target.classes == classes
    assert note in design.notes[0]
    if classes:
        labels = [str(value).lower().removesuffix(".0") for value in values]
        assert [classes[code] for code in design.y] == labels
        assert design.y.dtype == np.int32


def test_numbers_are_classes_when_asked_in_the_order_of_numbers(tmp_path):
    table = pa.table({"x": np.arange(4.0), "y": [10.0, 9.0, 0.5, 9.0]})
    options = DesignOptions("y", task=Task.CLASSIFICATION)
    design = design_of(tmp_path, table, options)
    assert design.encoding.target.classes == ("0.5", "9", "10")
    assert design.y.tolist() == [2, 1, 0, 1]
    assert design.notes == ()


@pytest.mark.parametrize(
    ("values", "task", "sentence"),
    [
        ([3.0] * 4, Task.AUTO, "column 'y': is constant (3), nothing to learn"),
        (["a"] * 4, Task.AUTO, "column 'y': one class only ('a'); classification needs two"),
        ([3.0] * 4, Task.CLASSIFICATION, "column 'y': one class only ('3')"),
        (["a", "b", "a", "b"], Task.REGRESSION, "column 'y': holds text ('a'), and regression"),
        ([1e308, -1e308, 1e308, 5.0], Task.AUTO, "column 'y': numbers too large to add up"),
        (
            [1e-200, 3e-200, 2e-200, 4e-200],
            Task.AUTO,
            "column 'y': numbers differ too little to square (1.12e-200); rescale the column",
        ),
    ],
)
def test_a_target_that_teaches_nothing_is_refused(tmp_path, values, task, sentence):
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "y": values})
    assert sentence in refusal(tmp_path, table, DesignOptions("y", task=task))


@pytest.mark.parametrize("numbers", [[1.5e308, 1.7e308], [-1.5e308, 1.0, 1.5e308, 1.7e308]])
def test_the_median_is_finite_where_the_sum_of_the_middle_numbers_is_not(numbers):
    expected = float(median(map(Fraction, numbers)))
    assert NumberFeature.median(np.array(numbers)) == expected


@pytest.mark.parametrize("unit", [2.0**-520, 2.0**-700, 2.0**-1060])
def test_columns_whose_squares_underflow_are_standardised_like_others(tmp_path, unit):
    numbers = np.array([1.0, -3.0, 4.0, 100.0])
    table = pa.table({"x": numbers, "tiny": numbers * unit, "y": [1.0, 2.0, 3.0, 5.0]})
    design = design_of(tmp_path, table, DesignOptions("y"))
    X = matrix(design)
    # Numbers below 1e-308 have few digits, and so have their mean and scale.
    np.testing.assert_allclose(X[:, 1], X[:, 0], rtol=0.1 if unit < 1e-308 else 1e-14)
    (note,) = design.notes
    assert note.startswith("task: regression, because 'y' holds numbers (4 distinct)")


def test_two_usable_rows_are_needed(tmp_path):
    assert "1 of 1 rows can be used; two are needed" in refusal(tmp_path, ROWS.slice(0, 1))
    many = pa.table({"x": np.arange(2000.0), "y": [f"name {k}" for k in range(2000)]})
    classes = DesignOptions("y", task=Task.CLASSIFICATION)
    assert "2000 classes, more than 1000" in refusal(tmp_path, many, classes)


# EffectiveOption-out rows


def test_what_is_learned_comes_from_the_rows_to_learn_from(tmp_path):
    mask = np.array([False, True, False, False, True, False])
    options = replace(OPTIONS, missing=Missing.IMPUTE)
    table = open_table([save(tmp_path, HOLED)])
    train, test = build_design(table, options, hold_out=lambda n_rows: mask[:n_rows])
    alone = design_of(tmp_path, HOLED.filter(pa.array(~mask)), options)
    assert train.encoding == alone.encoding
    np.testing.assert_array_equal(matrix(train), matrix(alone))
    np.testing.assert_array_equal(train.y, alone.y)
    assert (train.row_numbers.tolist(), test.row_numbers.tolist()) == ([0, 2, 3, 5], [1, 4])
    batches = open_table([save(tmp_path, HOLED)], expected=alone.encoding.dtypes).batches(
        ["size", "color", "age", "price"]
    )
    (encoded,) = [alone.encoding.encode(batch) for batch in batches]
    np.testing.assert_array_equal(matrix(test), matrix(encoded)[mask])
    np.testing.assert_array_equal(test.y, encoded.y[mask])


def test_categories_of_held_out_rows_alone_follow_the_unseen_policy(tmp_path):
    def hold_out_green(n_rows: int) -> np.ndarray:
        return np.array(COLORS) == "green"

    sentence = refusal(tmp_path, ROWS, hold_out=hold_out_green)
    assert sentence.startswith("t.parquet, column 'color', row 2: 'green' was not seen by the fit")
    table = open_table([save(tmp_path, ROWS)])
    options = replace(OPTIONS, unseen=Unseen.OTHER)
    train, test = build_design(table, options, hold_out=hold_out_green)
    assert train.encoding.features[1].categories == ("blue", "red")
    assert matrix(test)[0, 1:3].tolist() == [0.0, 0.0]


# The same rows, the same design

CELLS = st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(-5, 5).map(float))
TEXTS = st.one_of(st.none(), st.sampled_from(["a", "b", "c,d", 'e"', "é\nf", "None"]))
TABLES = st.lists(st.tuples(CELLS, TEXTS, CELLS, st.floats(-9, 9)), min_size=4, max_size=40)


@settings(max_examples=60, deadline=None)
@given(
    rows=TABLES,
    missing=st.sampled_from([Missing.DROP, Missing.IMPUTE]),
    batch_rows=st.integers(1, 9),
    block=st.integers(8, 90),
)
def test_format_and_batches_do_not_change_a_bit(tmp_path_factory, rows, missing, batch_rows, block):
    folder = tmp_path_factory.getbasetemp()
    x, t, z, y = zip(*[*rows, (0.5, "a", 1.0, 10.5), (1.5, "b", 2.0, -10.5)], strict=True)
    table = pa.table({"x": x, "t": t, "z": pa.array(z, pa.float64()), "y": y})
    options = DesignOptions("y", missing=missing, task=Task.REGRESSION)
    parquet, text = save(folder, table), save(folder, table, "t.csv")
    kinds = {"x": "number", "t": "string", "z": "number"}
    designs = [build_design(open_table([parquet]), options)[0]]
    designs.append(build_design(open_table([parquet], batch_rows=batch_rows), options)[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", block)
        designs.append(build_design(open_table([text], expected=kinds), options)[0])
    for design in designs[1:]:
        assert matrix(design).tobytes() == matrix(designs[0]).tobytes()
        assert design.y.tobytes() == designs[0].y.tobytes()
        assert design.row_numbers.tolist() == designs[0].row_numbers.tolist()
        assert design.encoding == designs[0].encoding
        assert design.counts == designs[0].counts
        assert design.fingerprint == designs[0].fingerprint


def test_one_file_or_ten_give_the_same_design(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"x": rng.random(1000), "t": rng.choice(COLORS, 1000), "y": rng.random(1000)})
    whole = design_of(tmp_path, table, DesignOptions("y"))
    paths = [save(tmp_path, table.slice(k * 100, 100), f"part{k}.parquet") for k in range(10)]
    parts, _ = build_design(open_table(paths), DesignOptions("y"))
    assert matrix(parts).tobytes() == matrix(whole).tobytes()
    assert parts.fingerprint == whole.fingerprint


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_or_moved_cell_changes_the_fingerprint(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    before = design_of(folder, ROWS).fingerprint
    name = data.draw(st.sampled_from(["size", "color", "price"]))
    row, other = data.draw(st.lists(st.integers(0, 5), min_size=2, max_size=2, unique=True))
    values = ROWS[name].to_pylist()
    if data.draw(st.booleans()):
        values[row] = "pink" if name == "color" else np.nextafter(values[row], 99.0)
    else:
        values[row], values[other] = values[other], values[row]
    changed = ROWS.set_column(ROWS.column_names.index(name), name, pa.array(values))
    assert (design_of(folder, changed).fingerprint == before) == changed.equals(ROWS)


# Real tables, and memory


def test_adult_rows_without_missing_cells_are_those_its_documentation_counts(real_data):
    table = open_table([str(real_data / "adult" / "train.parquet")])
    design, _ = build_design(table, DesignOptions("income", missing=Missing.DROP))
    assert design.counts.used == 30_162
    assert sum(design.counts.dropped.values()) == 2_399
    assert design.encoding.target.classes == ("<=50K", ">50K")
    one_hot = [feature for feature in design.encoding.features if feature.kind == "category"]
    assert matrix(design)[:, :-1].sum() == pytest.approx(30_162 * len(one_hot), abs=1e-6)


def test_diabetes_keeps_the_text_none_and_flights_their_hours(real_data):
    table = open_table([str(real_data / "diabetes_readmission.parquet")])
    options = DesignOptions("readmitted", ("max_glu_serum", "weight"), missing=Missing.IMPUTE)
    design, _ = build_design(table, options)
    assert "None" in design.encoding.features[0].categories
    assert design.encoding.target.classes == ("<30", ">30", "NO")
    table = open_table([str(real_data / "nyc_flights_2013.parquet")])
    assert table.column("time_hour").kind == "date"
    design, _ = build_design(
        table, DesignOptions("arr_delay", ("carrier", "distance"), missing=Missing.DROP)
    )
    assert design.counts.dropped == {"missing arr_delay": 9430}
    assert design.encoding.target.mean == pytest.approx(6.89538, abs=1e-5)


MEASURE = """
import sys
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.tables.table import Table, open_table
def kilobytes(field):
    lines = open('/proc/self/status').read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
base = kilobytes('VmRSS')
design, _ = build_design(open_table([sys.argv[1]]), DesignOptions('y'))
print((kilobytes('VmHWM') - base) * 1024, design.rows.dense_rows(slice(None)).nbytes)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
@pytest.mark.parametrize("name", ["big.parquet", "big.csv"])
def test_a_design_is_held_in_memory_once(tmp_path, name):
    rng = np.random.default_rng(0)
    n_rows = 400_000
    numbers = {f"x{k}": np.round(rng.random(n_rows), 4) for k in range(20)}
    path = save(tmp_path, pa.table(numbers | {"y": rng.random(n_rows)}), name)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, path],
        capture_output=True, check=True, text=True, env=unmeasured(),
    )  # fmt: skip
    peak, matrix = map(int, done.stdout.split())
    assert peak <= 1.5 * matrix + 100 * n_rows


# Without a target


def table_of(folder: Path, text: str) -> Table:
    (folder / "t.csv").write_text(text)
    return open_table([str(folder / "t.csv")])


def test_a_design_without_a_target_has_features_only(tmp_path):
    table = table_of(tmp_path, "a,b,c\n1,x,7\n3,y,8\n5,x,9\n")
    options = DesignOptions(None, id_column="c", intercept=False)
    design, _ = build_design(table, options)
    deviation = np.sqrt(8 / 3)
    np.testing.assert_allclose(matrix(design)[:, 0], [-2 / deviation, 0, 2 / deviation])
    np.testing.assert_array_equal(matrix(design)[:, 1:], [[1, 0], [0, 1], [1, 0]])
    assert len(design.y) == len(design.targets) == 0
    assert design.encoding.goal is None
    assert design.encoding.column_names == ("a", "b=x", "b=y")
    assert design.encoding.dtypes == {"a": "number", "b": "category"}
    with pytest.raises(TypeError, match="no target"):
        _ = design.encoding.target


def test_rows_without_a_target_are_dropped_for_their_features_only(tmp_path):
    table = table_of(tmp_path, "a,b\n1,2\n,3\n5,4\n")
    design, _ = build_design(table, DesignOptions(None, missing=Missing.DROP))
    assert (design.counts.used, design.counts.dropped) == (2, {"missing a": 1})
    encoded = design.encoding.encode(next(table.batches(["a", "b"])))
    assert encoded.y is None
    np.testing.assert_array_equal(matrix(encoded), matrix(design))


def test_a_column_set_aside_is_no_feature(tmp_path):
    table = table_of(tmp_path, "a,b\n1,2\n2,3\n")
    design, _ = build_design(table, DesignOptions(None, aside=("label", "b"), intercept=False))
    assert design.encoding.column_names == ("a",)
    with pytest.raises(UsageError, match="'b' is the label column"):
        build_design(table, DesignOptions(None, features=("b",), aside=("label", "b")))


def test_many_constant_columns_are_told_in_two_lines(tmp_path):
    names = [f"c{j}" for j in range(20)]
    table = table_of(tmp_path, ",".join(["a", *names]) + "\n1" + ",0" * 20 + "\n2" + ",0" * 20)
    design, _ = build_design(table, DesignOptions(None))
    assert design.notes == (
        "column 'c0' is constant (0) and has no effect",
        "19 more columns are constant and have no effect",
    )
