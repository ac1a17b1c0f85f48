"""Text tables that fit a terminal: no number is cut, and no letter is lost."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.colours import Color, Style, Styled, choose
from lrisk_cli.reports import terminal
from lrisk_cli.reports.layout import columns_of, fit_rows

NUMBERS = st.one_of(
    st.floats(-1e9, 1e9).map(lambda x: f"{x:.6g}"),
    st.floats(0, 1).map(lambda x: f"{x:.3g} to {x + 1:.3g}"),
    st.just("12.6 billion"),
)
NAMES = st.text("ab c_=:-日é", min_size=1, max_size=90)
WIDTHS = st.integers(40, 120)


def lines_of(rows, width, **how) -> list[str]:
    return ["".join(text for text, _ in line) for line in fit_rows(rows, width, **how)]


def letters(text: str) -> str:
    return "".join(text.split())


@st.composite
def tables(draw) -> list[list[str]]:
    """Heads, then rows of a name and figures."""
    n_columns = draw(st.integers(1, 9))
    heads = draw(st.lists(NAMES, min_size=n_columns + 1, max_size=n_columns + 1))
    row = st.tuples(NAMES, *[NUMBERS] * n_columns).map(list)
    return [heads, *draw(st.lists(row, min_size=1, max_size=4))]


@given(tables(), WIDTHS)
def test_every_table_fits_and_every_number_stays_on_a_line(rows, width):
    lines = lines_of(rows, width, numbers=True)
    assert max(map(columns_of, lines)) <= width
    for row in rows[1:]:
        for number in row[1:]:
            assert any(number in line for line in lines)


@given(NAMES, WIDTHS)
def test_no_letter_of_a_long_name_is_lost(name, width):
    lines = lines_of([["column", "mean"], [name, "1.5"]], width, numbers=True)
    assert letters("".join(lines[1:]).replace("1.5", "")) == letters(name)


def test_a_table_that_fits_is_printed_as_it_is():
    rows = [["risk", "mean"], ["superquantile:0.9", "1.25"], [], ["mean", "12"]]
    assert lines_of(rows, 80, numbers=True) == [
        "risk               mean",
        "superquantile:0.9  1.25",
        "",
        "mean                 12",
    ]


def test_columns_that_do_not_fit_are_divided_under_the_same_names():
    rows = [["risk", *(f"head{k}" for k in range(12))], ["mean", *["1234.5678"] * 12]]
    lines = lines_of(rows, 40, numbers=True)
    assert [line.startswith("risk") for line in lines].count(True) == 4
    assert sum(line.count("1234.5678") for line in lines) == 12


def test_heads_are_cut_before_names():
    rows = [["column", "standard error"], ["a_name_of_thirty_two_letters_all", "0.5"]]
    assert lines_of(rows, 42, numbers=True) == [
        "                                  standard",
        "column                               error",
        "a_name_of_thirty_two_letters_all       0.5",
    ]


def test_a_title_takes_the_width_of_all_columns():
    rows = [["risk", "mean"], ["training, half squared error", ""], ["mean", "1"]]
    assert lines_of(rows, 40, numbers=True)[1:] == ["training, half squared error", "mean     1"]


def test_wide_letters_take_two_columns():
    assert columns_of("日本") == 4
    assert columns_of("é") == columns_of("e\u0301") == 1


def test_control_characters_of_cells_do_nothing():
    assert lines_of([["a\x1b[31m", "1"]], 80, numbers=True) == ["a\\x1b[31m  1"]


@pytest.fixture(name="always")
def coloured():
    choose(Color.ALWAYS)
    yield
    choose(Color.AUTO)


@pytest.mark.usefixtures("always")
def test_colours_change_no_width(capsys):
    rows = [["gate", "result", "is"], ["mae", Styled("FAILED", Style.FAILED), "1"]]
    terminal.print_rows(rows)
    coloured = capsys.readouterr().out
    assert "\x1b[1;31mFAILED\x1b[0m" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == "gate  result  is\nmae   FAILED   1\n"
