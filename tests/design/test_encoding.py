"""New rows are encoded as the fit's own were, each by itself, and strangers follow the policy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.matrix import matrix
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.target import ClassTarget, NumberTarget
from lrisk_cli.errors import DataError
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.table import Batch, open_table

FEATURES = (
    NumberFeature("size", mean=3.0, scale=0.7, fill=2.5),
    CategoryFeature("color", categories=("blue", "red"), fill="red"),
    CategoryFeature("brand", categories=("x", "y"), other=True, fill="x"),
    NumberFeature("age", mean=40.0, scale=13.0, fill=33.0),
)
NUMBER = NumberTarget("price", mean=10.0, scale=3.0)
LETTERS = ClassTarget("grade", ("a", "b", "c"))
ENCODING = Encoding(FEATURES, True, NUMBER, Missing.ERROR, Unseen.ERROR)
NAN = float("nan")


def texts(*cells: str | None) -> Texts:
    values = sorted({cell for cell in cells if cell is not None})
    codes = [-1 if cell is None else values.index(cell) for cell in cells]
    return Texts(np.array(codes, np.int32), values)


def batch_of(first_row: int = 100, **columns) -> Batch:
    """Rows of the features, with one column or another replaced."""
    usual = {
        "size": np.array([1.0, 2.0, 3.0]),
        "color": texts("red", "blue", "red"),
        "brand": texts("x", "y", "x"),
        "age": np.array([20.0, 30.0, 40.0]),
    }
    return Batch(first_row, 3, usual | columns, "new.csv", first_row - 90)


def test_every_cell_lands_in_its_column():
    encoded = ENCODING.encode(batch_of(brand=texts("x", "unheard of", "y")))
    assert ENCODING.column_names == (
        "size", "color=blue", "color=red", "brand=x", "brand=y", "brand=(other)", "age",
        "(intercept)",
    )  # fmt: skip
    np.testing.assert_array_equal(
        matrix(encoded),
        [
            [(1.0 - 3.0) / 0.7, 0, 1, 1, 0, 0, (20.0 - 40.0) / 13.0, 1],
            [(2.0 - 3.0) / 0.7, 1, 0, 0, 0, 1, (30.0 - 40.0) / 13.0, 1],
            [0, 0, 1, 0, 1, 0, 0, 1],
        ],
    )
    assert encoded.y is None
    assert encoded.kept.tolist() == [0, 1, 2]
    assert (encoded.dropped, encoded.n_missing, encoded.n_unseen) == ({}, 0, 0)


def test_an_unseen_category_is_refused_or_left_without_a_column():
    batch = batch_of(color=texts("red", "pink", "blue"))
    with pytest.raises(DataError) as caught:
        ENCODING.encode(batch)
    assert str(caught.value) == (
        "new.csv, column 'color', row 11: 'pink' was not seen by the fit; "
        "pass unseen='other' or fit on rows that have it"
    )
    lenient = replace(ENCODING, unseen=Unseen.OTHER)
    encoded = lenient.encode(batch)
    assert matrix(encoded)[:, 1:3].tolist() == [[0, 1], [0, 0], [1, 0]]
    assert encoded.n_unseen == 1


def test_a_missing_cell_is_refused_dropped_or_filled():
    batch = batch_of(size=np.array([1.0, NAN, 3.0]), color=texts("red", None, None))
    with pytest.raises(DataError, match=r"new\.csv, column 'size', row 11: the cell is missing"):
        ENCODING.encode(batch)
    with pytest.raises(DataError, match=r"the table, column 'size', row 11"):
        ENCODING.encode(batch, "the table")
    dropping = replace(ENCODING, missing=Missing.DROP).encode(batch)
    assert dropping.kept.tolist() == [0]
    assert dropping.dropped == {"missing size": 1, "missing color": 1}
    filling = replace(ENCODING, missing=Missing.IMPUTE).encode(batch)
    assert filling.kept.tolist() == [0, 1, 2]
    assert matrix(filling)[1, 0] == (2.5 - 3.0) / 0.7
    assert matrix(filling)[:, 2].tolist() == [1.0, 1.0, 1.0]
    assert dropping.n_missing == filling.n_missing == 2


def test_a_missing_target_is_refused_or_its_row_dropped():
    batch = batch_of(price=np.array([10.0, NAN, 16.0]))
    with pytest.raises(DataError, match="column 'price', row 11: the cell is missing"):
        ENCODING.encode(batch)
    encoded = replace(ENCODING, missing=Missing.IMPUTE).encode(batch)
    assert encoded.y.tolist() == [0.0, 2.0]
    assert encoded.dropped == {"missing price": 1}
    assert encoded.n_missing == 0


def test_an_unseen_class_is_refused_or_its_row_dropped():
    encoding = replace(ENCODING, goal=LETTERS)
    batch = batch_of(grade=texts("c", "d", "a"))
    with pytest.raises(DataError, match="column 'grade', row 11: 'd' was not seen by the fit"):
        encoding.encode(batch)
    encoded = replace(encoding, unseen=Unseen.OTHER).encode(batch)
    assert encoded.y.tolist() == [2, 0]
    assert encoded.y.dtype == np.int32
    assert encoded.dropped == {"unseen class of grade": 1}


def test_a_row_is_dropped_for_one_reason_only():
    encoding = replace(ENCODING, goal=LETTERS, missing=Missing.DROP, unseen=Unseen.OTHER)
    encoded = encoding.encode(batch_of(grade=texts("d", None, "a"), size=np.array([NAN, NAN, 3.0])))
    assert encoded.dropped == {"missing grade": 1, "missing size": 1}
    assert encoded.kept.tolist() == [2]


def test_numbers_match_classes_and_categories_spelled_as_numbers():
    codes = CategoryFeature("code", categories=("0.5", "3"))
    target = ClassTarget("kind", ("0", "1", "10"))
    encoding = Encoding((codes,), False, target, Missing.ERROR, Unseen.ERROR)
    columns = {"code": np.array([3.0, 0.5]), "kind": np.array([10.0, 0.0])}
    encoded = encoding.encode(Batch(0, 2, columns, "t.csv", 0))
    assert matrix(encoded).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert encoded.y.tolist() == [2, 0]


def test_text_where_the_fit_had_numbers_is_refused():
    with pytest.raises(DataError, match=r"column 'size': holds text where the fit had numbers"):
        ENCODING.encode(batch_of(size=texts("a", "b", "c")))


def test_a_table_is_read_with_the_kinds_that_the_fit_saw(tmp_path):
    target = ClassTarget("grade", ("1", "2"))
    encoding = replace(ENCODING, goal=target, unseen=Unseen.OTHER)
    assert encoding.dtypes == {
        "size": "number", "color": "category", "brand": "category", "age": "number",
        "grade": "number",
    }  # fmt: skip
    assert replace(ENCODING, goal=LETTERS).dtypes["grade"] == "category"
    padded = ClassTarget("grade", ("01", "02"))
    assert replace(ENCODING, goal=padded).dtypes["grade"] == "category"
    path = tmp_path / "new.csv"
    path.write_text("grade,color,brand,age,size\n1,7,008,,x\n2,8,9,50,3\n3,8,9,50,3\n")
    table = open_table([str(path)], expected=encoding.dtypes)
    batches = table.batches([*encoding.feature_names, "grade"], invalid_as_missing=True)
    (encoded,) = [replace(encoding, missing=Missing.DROP).encode(batch) for batch in batches]
    assert encoded.kept.tolist() == [1]
    assert encoded.dropped == {"missing size": 1, "unseen class of grade": 1}
    assert matrix(encoded)[0].tolist() == [0, 0, 0, 0, 0, 1, (50 - 40) / 13, 1]


ROWS = st.lists(
    st.tuples(
        st.one_of(st.just(NAN), st.floats(-1e9, 1e9)),
        st.sampled_from(["red", "blue", "pink", None]),
        st.sampled_from(["x", "y", "z", None]),
        st.floats(-100, 100),
        st.one_of(st.just(NAN), st.floats(-1e9, 1e9)),
    ),
    min_size=1,
    max_size=25,
)


@settings(max_examples=100, deadline=None)
@given(rows=ROWS, missing=st.sampled_from([Missing.DROP, Missing.IMPUTE]))
def test_rows_encoded_one_by_one_are_those_encoded_together(rows, missing):
    encoding = replace(ENCODING, missing=missing, unseen=Unseen.OTHER)

    def encode(first: int, some: list[tuple]):
        size, color, brand, age, price = zip(*some, strict=True)
        columns = {"size": np.array(size), "color": texts(*color), "brand": texts(*brand)}
        columns |= {"age": np.array(age), "price": np.array(price)}
        return encoding.encode(Batch(first, len(some), columns, "t.csv", first))

    together = encode(0, rows)
    alone = [encode(number, [row]) for number, row in enumerate(rows)]
    assert np.vstack([matrix(part) for part in alone]).tobytes() == matrix(together).tobytes()
    assert np.concatenate([part.y for part in alone]).tobytes() == together.y.tobytes()
    kept = [number for number, part in enumerate(alone) if len(part.kept)]
    assert kept == together.kept.tolist()
    assert sum(part.n_unseen for part in alone) == together.n_unseen
    assert sum(part.n_missing for part in alone) == together.n_missing
    assert len(rows) - len(kept) == sum(together.dropped.values())


def test_a_signalling_nan_is_a_missing_target_without_a_warning():
    signalling = np.array([0x7FF0000000000001], np.uint64).view(np.float64)
    assert np.isnan(NUMBER.encode(signalling)).all()
