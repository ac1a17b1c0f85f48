"""Numbers as people write them: separators, currencies, percent, parentheses, signs."""

import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import DataError
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.column_types.number import NumberType
from lrisk_cli.tables.column_types.numerals import (
    CURRENCIES,
    INVALID,
    MISSING,
    UNKNOWN,
    Written,
    count_cells,
    decimal_of,
    parse_numbers,
    written_by,
)
from lrisk_cli.tables.column_types.registry import infer_type
from lrisk_cli.tables.inputs import make_inputs
from lrisk_cli.tables.table import open_table

NARROW, NO_BREAK, MINUS = "\u202f", "\u00a0", "\u2212"
EXPORTS = {
    "german": (
        ["361.323,00 €", "5 €", "-1.262,6 €", "", "0,5€", f"{MINUS}7 €"],
        [361323.0, 5.0, -1262.6, None, 0.5, -7.0],
        Written(",", ".", "€"),
    ),
    "us": (
        ["$1,201.50", "($3.25)", "-$12", "$(1,000,000)", " $ 7 "],
        [1201.5, -3.25, -12.0, -1e6, 7.0],
        Written(".", ",", "$"),
    ),
    "french": (
        [f"1{NARROW}201,50", f"12{NO_BREAK}000", "3,5", "1 000 000,25"],
        [1201.5, 12000.0, 3.5, 1000000.25],
        Written(",", " "),
    ),
    "swiss": (
        ["CHF 1'201.50", "1\u20192" + "34\u2019567.-", "Fr. 12.--", "CHF 5"],
        [1201.5, 1234567.0, 12.0, 5.0],
        Written(".", "'", "CHF"),
    ),
    "indian": (
        ["₹12,34,567.50", "Rs. 1,23,456", "₹ 99", "₹1,000"],
        [1234567.5, 123456.0, 99.0, 1000.0],
        Written(".", ",", "₹"),
    ),
    "percent": (
        ["12.5%", "3 %", "0", "-100%"],
        [0.125, 0.03, 0.0, -1.0],
        Written(".", percent=True),
    ),
    "groups of three": (["1.234", "1.234.567", "12"], [1234.0, 1234567.0, 12.0], Written(",", ".")),
    "small beside grouped": (
        ["1,234", "950", "12,500"],
        [1234.0, 950.0, 12500.0],
        Written(".", ","),
    ),
}  # fmt: skip


def plain(numbers: np.ndarray) -> list[float | None]:
    return [None if number != number else number for number in numbers.tolist()]


def open_text(folder, text: str, *, dtypes=None, written=None, **options):
    (folder / "t.csv").write_text(text)
    inputs = make_inputs(
        [str(folder / "t.csv")], None, options.pop("decimal", None), None, **options
    )
    expected = None if written is None else dict.fromkeys(written, "number")
    return open_table(inputs, dtypes=dtypes, expected=expected, written=written)


def numbers_of(table, name: str) -> list[float | None]:
    return [x for batch in table.batches([name]) for x in plain(batch.columns[name])]


@pytest.mark.parametrize("name", EXPORTS)
def test_a_column_is_read_as_all_its_cells_are_written(name):
    cells, expected, written = EXPORTS[name]
    column = pa.array(cells)
    found = infer_type(column)
    assert isinstance(found, NumberType)
    assert found.written == written
    numbers, invalid = found.read(column)
    assert invalid is None
    assert plain(numbers) == expected


@pytest.mark.parametrize(
    "cell",
    ["12-", "5-10", "1,23,45", "0.123.456", "1.2.3", "$€5", "5%%", "(5", "5)", "(-5)", "--5", "1 2",
     "12:30", "1e", "e5", "%", "$", ".", ",", "1_000", "0x10", "12,345,67", "1,2345,678", "-(5)"],
)  # fmt: skip
def test_what_is_no_number_is_none(cell):
    for decimal in ".,":
        assert parse_numbers(pa.array([cell]), Written(decimal))[1].tolist() == [INVALID]


@pytest.mark.parametrize("cell", ["", "  ", NO_BREAK, "nan", "-NaN", None])
def test_nothing_and_nan_are_missing(cell):
    assert parse_numbers(pa.array([cell], pa.string()), UNKNOWN)[1].tolist() == [MISSING]


@given(
    number=st.integers(-(10**15), 10**15),
    digits=st.integers(0, 6),
    marks=st.sampled_from([(".", ","), (",", "."), (".", "'"), (",", " "), (",", NARROW)]),
    sign=st.sampled_from(["-", MINUS, "()"]),
    currency=st.sampled_from(["", *(text for each in CURRENCIES for text in each)]),
    before=st.booleans(),
)
def test_a_number_reads_back_whatever_its_dress(number, digits, marks, sign, currency, before):
    decimal, group = marks
    whole, fraction = divmod(abs(number), 10**digits)
    text = f"{whole:,}".replace(",", group) + (f"{decimal}{fraction:0{digits}d}" if digits else "")
    text = (f"{currency} {text}" if before else f"{text} {currency}") if currency else text
    if number < 0:
        text = f"({text})" if sign == "()" else sign + text
    name = next((each[0] for each in CURRENCIES if currency in each), "")
    thousands = " " if group == NARROW else group
    found, kinds = parse_numbers(pa.array([text]), Written(decimal, thousands, name))
    exact = f"{'-' * (number < 0)}{whole}.{fraction:0{digits}d}" if digits else str(number)
    assert kinds.tolist() == [0]
    assert found.tolist() == [float(exact)]


@given(
    st.lists(st.sampled_from(["1.5", "1,5", "1.234", "1,234", "7", "$5", "5 €", "3%", "x", "007"]))
)
def test_counts_of_parts_add_up_to_those_of_the_whole(cells):
    column = pa.array(cells, pa.string())
    parts = count_cells(column[:2], UNKNOWN) + count_cells(column[2:], UNKNOWN)
    whole = count_cells(column, UNKNOWN)
    assert parts.values.tolist() == whole.values.tolist()
    decimal = decimal_of(whole, UNKNOWN)
    assert written_by(parts, decimal, UNKNOWN) == written_by(whole, decimal, UNKNOWN)


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        ("1.201,50", 1201.5), ("1,201.50", 1201.5), ("1'000'000", 1e6), ("€ 12", 12.0),
        ("2,5", 2.5), ("(12)", -12.0), (f"{MINUS}3", -3.0),
    ],
)  # fmt: skip
def test_a_cell_in_the_last_block_decides_what_the_sample_left_open(
    tmp_path, monkeypatch, late, expected
):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    table = open_text(tmp_path, "x;y\n" + "5;1\n" * 200 + f"{late};1\n6;2\n")
    assert numbers_of(table, "x") == [5.0] * 200 + [expected, 6.0]


def test_marks_that_the_sample_leaves_open_are_decided_by_the_whole_column(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    rows = "1.234;2,345\n" * 100
    table = open_text(tmp_path, "x;y\n" + rows + "1.234.567;0,5\n")
    assert numbers_of(table, "x") == [1234.0] * 100 + [1234567.0]
    assert numbers_of(table, "y") == [2.345] * 100 + [0.5]
    table = open_text(tmp_path, "x;y\n" + rows + "0.5;1,234,567\n")
    assert numbers_of(table, "x") == [1.234] * 100 + [0.5]
    assert numbers_of(table, "y") == [2345.0] * 100 + [1234567.0]


def test_other_columns_decide_what_a_column_leaves_open(tmp_path):
    table = open_text(tmp_path, "x;y\n1.234;2,5\n2.345;3,5\n")
    assert numbers_of(table, "x") == [1234.0, 2345.0]
    table = open_text(tmp_path, "x;y\n1,234;2.5\n2,345;3.5\n")
    assert numbers_of(table, "x") == [1234.0, 2345.0]


def test_a_column_that_stays_open_is_text_with_a_doubt(tmp_path):
    table = open_text(tmp_path, "x;y\n1,234;1\n2,345;2\n")
    assert table.column("x").kind == "category"
    assert table.column("x").type.doubt.remedy == "pass decimal=',' or thousands=','"
    assert numbers_of(open_text(tmp_path, "x;y\n1,234;1\n2,345;2\n", decimal=","), "x") == [
        1.234, 2.345,
    ]  # fmt: skip
    table = open_text(tmp_path, "x;y\n1,234;1\n2,345;2\n", thousands=",")
    assert numbers_of(table, "x") == [1234.0, 2345.0]
    table = open_text(tmp_path, "x;y\n1,234;1\n2,345;2\n", dtypes={"x": "number"})
    with pytest.raises(DataError, match=r"column 'x': its commas may .*; pass decimal=',' or"):
        numbers_of(table, "x")


def test_cells_that_do_not_agree_with_the_column_are_invalid(tmp_path):
    rows = "$5;1\n" * 20
    for odd in ("€5", "5%", "1,5", "1 000"):
        table = open_text(tmp_path, f"x;y\n$1,000.50;1\n{rows}{odd};1\n")
        with pytest.raises(DataError, match=f"row 21: '{odd}' is not a number"):
            numbers_of(table, "x")


def test_what_a_model_knows_goes_before_what_a_sample_shows(tmp_path):
    written = {"x": Written(",", ".", "€")}
    assert numbers_of(open_text(tmp_path, "x;y\n1.234;1\n5.678 €;1\n", written=written), "x") == [
        1234.0, 5678.0,
    ]  # fmt: skip
    for strange in ("1234.5", "5 %", "$5"):
        with pytest.raises(DataError, match=re.escape(f"'{strange}' is not a number")):
            numbers_of(open_text(tmp_path, f"x;y\n1,5;1\n{strange};1\n", written=written), "x")
    table = open_text(tmp_path, "x\n12%\n13%\n", written={"x": None})
    with pytest.raises(DataError, match="'12%' is not a number"):
        numbers_of(table, "x")


def test_one_file_and_its_parts_agree(tmp_path):
    rows = ["5", "1.234", "7", "2.345.678", "€ 3", "1,5"] * 30
    whole = numbers_of(open_text(tmp_path, "x;y\n" + "".join(f"{x};1\n" for x in rows)), "x")
    for at in range(0, len(rows), 45):
        part = "".join(f"{x};1\n" for x in rows[at : at + 45])
        (tmp_path / f"part{at:03d}.csv").write_text("x;y\n" + part)
    parts = open_table(make_inputs([str(tmp_path / "part*.csv")], None, None, None))
    assert numbers_of(parts, "x") == whole


def test_spaces_around_texts_are_left_out_unless_they_are_to_be_kept(tmp_path):
    text = f"word,y\n yes,1\nyes ,2\n{NO_BREAK}yes,3\nno,4\n  ,5\n"

    def words(**options):
        batches = open_text(tmp_path, text, **options).batches(["word"])
        cells = [batch.columns["word"] for batch in batches]
        return [None if code < 0 else part.values[code] for part in cells for code in part.codes]

    assert words() == ["yes", "yes", "yes", "no", None]
    assert words(keep_spaces=True) == [" yes", "yes ", f"{NO_BREAK}yes", "no", "  "]


def test_standard_input_is_asked_again_while_it_is_read(tmp_path):
    program = (
        "from lrisk_cli.tables import csv_files\n"
        "csv_files.BLOCK_BYTES = csv_files.SAMPLE_BYTES = 64\n"
        "from lrisk_cli.tables.table import open_table\n"
        "print([x for b in open_table(['-']).batches(['x']) for x in b.columns['x'].tolist()])\n"
    )
    text = "x;y\n" + "5;1\n" * 200 + "1.201,50;2\n"
    done = subprocess.run([sys.executable, "-c", program], input=text.encode(), capture_output=True)
    assert done.stdout.decode() == f"{[5.0] * 200 + [1201.5]}\n", done.stderr.decode()
