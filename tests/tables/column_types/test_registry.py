"""Column types: inferred from text, given by an Arrow type, or asked for."""

import pyarrow as pa
import pytest

from lrisk_cli.tables.column_types.boolean import BOOLEAN, BOOLEAN_NUMBER
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.date import DATE
from lrisk_cli.tables.column_types.nested import NESTED
from lrisk_cli.tables.column_types.number import DURATION, INTEGER, NUMBER
from lrisk_cli.tables.column_types.numerals import Written
from lrisk_cli.tables.column_types.registry import (
    COLUMN_TYPES,
    DTYPES,
    convert_type,
    infer_type,
    type_of_arrow,
    types_agree,
)
from lrisk_cli.tables.inputs import Spelling


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["1", " 2 ", "", None], INTEGER),
        (["1", "2.5", "-3e4"], NUMBER),
        (["1", "2", "n/a"], INTEGER),
        (["1", "n/a", "?"], CATEGORY),
        (["1", "007", "3"], CATEGORY),
        (["2020-01-01", "2020-01-02T05:10Z", "x"], DATE),
        (["true", "FALSE"], BOOLEAN),
        (["true", "no"], CATEGORY),
        (["", "nan", None], None),
    ],
)
def test_text_is_what_most_of_its_cells_are(cells, found):
    assert infer_type(pa.array(cells, pa.string())) is found


def test_decimal_comma_and_missing_values_are_those_of_the_file():
    cells = pa.array(["1,5", "2,25", "n/a", "n/a", "n/a"])
    assert infer_type(cells) is CATEGORY
    found = infer_type(cells, Spelling(",", ("n/a",)))
    assert found.kind == "number"
    assert found.written == Written(",")


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (pa.int8(), NUMBER),
        (pa.dictionary(pa.int8(), pa.float32()), NUMBER),
        (pa.timestamp("us"), DATE),
        (pa.time32("s"), DURATION),
        (pa.duration("s"), DURATION),
        (pa.bool_(), BOOLEAN),
        (pa.null(), CATEGORY),
        (pa.large_string(), CATEGORY),
        (pa.list_(pa.int8()), NESTED),
        (pa.binary(), NESTED),
    ],
)
def test_an_arrow_type_has_a_column_type(kind, found):
    assert type_of_arrow(kind) is found
    assert types_agree(kind, pa.null())


def test_numbers_and_durations_do_not_agree():
    assert types_agree(pa.int8(), pa.float64())
    assert not types_agree(pa.int64(), pa.duration("s"))


def test_a_kind_that_is_asked_for_is_read_as_such():
    for found in COLUMN_TYPES:
        for name, kind in DTYPES.items():
            asked = convert_type(found, kind)
            assert (
                found is NESTED or asked.kind == kind or (asked.numeric, name) == (True, "number")
            )
        assert convert_type(found, None) is found
    assert convert_type(BOOLEAN, "number") is BOOLEAN_NUMBER
    assert convert_type(INTEGER, "number") is INTEGER
    assert convert_type(CATEGORY, "date") is DATE
    assert convert_type(DATE, "category") is CATEGORY
