"""The harness finds planted differences, and explains only those that a convention covers."""

import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from outside import commands
from outside.child import Child
from outside.comparing import compare
from outside.conventions import CONVENTIONS, SAME, explain_cell, explain_name, parse_date
from outside.readings import NESTED, Moment, ReadColumn, Reading, Span, read_with_lrisk

NUMBERS = ReadColumn("x", [1.5, None, -3.0], "number")
TEXTS = ReadColumn("t", ["a", None, "NA"], "category")
OURS = Reading([NUMBERS, TEXTS], 3, delimiter=",")


def theirs(**changes) -> Reading:
    """What another program read: the same, but for these columns."""
    columns = {"x": [1.5, None, -3.0], "t": ["a", None, "NA"], **changes}
    return Reading([ReadColumn(name, cells) for name, cells in columns.items()], 3)


def test_equal_readings_are_the_same():
    assert compare(OURS, theirs()).verdict == "same"


@pytest.mark.parametrize(
    "changes",
    [
        {"x": [1.5000000000000002, None, -3.0]},
        {"x": [1.5, 0.0, -3.0]},
        {"x": [1.5, None, None]},
        {"x": ["1.5", "", "3"]},
        {"t": ["b", None, "NA"]},
        {"t": ["a", "b", "NA"]},
        {"t": [None, None, "NA"]},
        {"more": [1, 2, 3]},
    ],
)
def test_a_planted_difference_is_found(changes):
    comparison = compare(OURS, theirs(**changes))
    assert comparison.verdict == "different"
    assert comparison.n_findings == 1


def test_columns_without_names_and_values_are_left_out_by_convention():
    empty = [None, None, None]
    comparison = compare(OURS, theirs(**{"Unnamed: 2": empty, "column3": empty}))
    assert (comparison.verdict, comparison.conventions) == ("conventions", {"nameless-empty": 1})
    assert compare(OURS, theirs(**{"Unnamed: 2": [None, "b", None]})).verdict == "different"
    assert compare(OURS, theirs(more=empty)).verdict == "different"


def test_a_missing_row_is_found():
    other = Reading([ReadColumn("x", [1.5, -3.0]), ReadColumn("t", ["a", "NA"])], 2)
    ours = Reading([NUMBERS, replace(TEXTS, cells=["a", "b", "NA"])], 3)
    assert compare(ours, other).findings == ("3 rows, 2 there",)


@pytest.mark.parametrize(
    ("kind", "ours", "other", "explained"),
    [
        ("number", 1.9, Decimal("1.90"), SAME),
        ("number", 1.9000000000000001, Decimal("1.90"), None),
        ("number", float(2**53), 2**53 + 1, SAME),
        ("number", 1.5, " 1.5 ", "spaces"),
        ("number", None, "NaN", "nan"),
        ("number", None, "1.5", None),
        ("number", 0.5, Span(43_200 * 10**9), SAME),
        ("date", 0.5, Moment(43_200 * 10**9), SAME),
        ("date", 0.5, Moment(43_200 * 10**9 + 1), "microseconds"),
        ("date", 1.0, "1970-01-02", "date"),
        ("date", 1.0, "1970-01-03", None),
        ("category", "NA", None, "na-spelling"),
        ("category", "a", None, None),
        ("category", None, "", "empty"),
        ("category", "true", True, "boolean"),
        ("category", "true", False, None),
        ("category", "007", 7, "number-as-text"),
        ("category", "007", 8, None),
        ("category", " a", "a", "spaces"),
        ("nested", NESTED, "[1]", "nested"),
    ],
)
def test_a_difference_is_explained_by_its_convention_only(kind, ours, other, explained):
    assert explain_cell(kind, ours, other, ReadColumn("x", [], kind)) == explained
    assert explained in (SAME, None) or explained in CONVENTIONS


def test_only_an_invalid_cell_may_be_missing_beside_a_text():
    column = ReadColumn("x", [], "number", n_invalid=1)
    assert explain_cell("number", None, "n/a", column) == "invalid-cell"
    assert explain_cell("number", None, "12.5", column) is None


def test_names_differ_by_convention_or_not():
    assert explain_name(3, "column_3", "Unnamed: 2") == "column-name"
    assert explain_name(2, "a.2", "a.1") == "column-name"
    assert explain_name(1, " x", "x") == "name-spaces"
    assert explain_name(1, "x", "y") is None


def test_dates_in_text_are_parsed_independently():
    assert parse_date("1970-01-02T00:00:00.000001") == Moment(86_400 * 10**9 + 1000)
    assert parse_date("0000-01-01") == Moment(-719_528 * 86_400 * 10**9)
    assert parse_date("2021-02-29") is None


def test_lrisk_is_read_before_encoding_with_its_refusal_beside_the_cells(tmp_path: Path):
    (tmp_path / "t.csv").write_text("x,t\n1,a\nn/a,b\n3,\n4,c\n")
    reading = read_with_lrisk(str(tmp_path / "t.csv"), {})
    assert "'n/a' is not a number" in reading.refusal
    assert reading.exit_code == 3
    assert [column.cells for column in reading.columns] == [[1, None, 3, 4], ["a", "b", None, "c"]]
    assert reading.columns[0].n_invalid == 1


def test_a_child_that_dies_or_hangs_costs_one_answer(tmp_path: Path):
    pq.write_table(pa.table({"x": [1.0, 2.0]}), tmp_path / "t.parquet")
    os.mkfifo(tmp_path / "never.csv")
    with Child("lrisk", seconds=20) as child:
        assert child.ask(str(tmp_path / "t.parquet"), {}).value.n_rows == 2
        child._seconds = 0.5
        assert "no answer within" in child.ask(str(tmp_path / "never.csv"), {}).failure
        child._seconds = 20
        answer = child.ask(str(tmp_path / "t.parquet"), {})
        assert (answer.failure, answer.value.n_rows) == ("", 2)
        assert answer.peak_bytes > 1e7


def test_the_target_is_the_last_column_of_numbers_or_else_of_text():
    assert commands.choose_target(OURS) == "x"
    assert commands.choose_target(Reading([TEXTS], 3)) == "t"
    assert commands.choose_target(None) == "y"
