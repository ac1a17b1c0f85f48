"""Texts that name columns: exact names first, then lists as CSV writes them, then patterns."""

import csv
import io
from fnmatch import filter as fnmatch_filter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.tables.named_columns import (
    find_columns,
    find_dtypes,
    quote_field,
    split_list,
)

NAMES = ("pH", "p,H", " alcohol %", 'in "quotes"', "fixed acid", "citric acid", "t [C]", "a*", "ab")


def names_of(*texts: str) -> list[str]:
    return [column.name for column in find_columns(texts, NAMES, "wine.csv")]


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["pH"], ["pH"]),
        (["p,H"], ["p,H"]),
        (['"p,H",pH'], ["p,H", "pH"]),
        (["p,H", "pH"], ["p,H", "pH"]),
        ([" alcohol %"], [" alcohol %"]),
        (["pH, alcohol %"], ["pH", " alcohol %"]),
        (['pH," alcohol %"'], ["pH", " alcohol %"]),
        (["pH , ab"], ["pH", "ab"]),
        (['in "quotes"'], ['in "quotes"']),
        (['"in ""quotes""",pH'], ['in "quotes"', "pH"]),
        (["*acid"], ["fixed acid", "citric acid"]),
        (["?H,t [C]"], ["pH", "t [C]"]),
        (["a*"], ["a*"]),
        (["[a]?"], ["a*", "ab"]),
        (["pH,"], ["pH"]),
    ],
)
def test_names_with_commas_spaces_and_quotes_can_be_named(texts, found):
    assert names_of(*texts) == found


def test_a_pattern_matches_what_fnmatch_does():
    for pattern in ("*", "*a*", "?*i*", "* *", "[cf]*"):
        assert names_of(pattern) == fnmatch_filter(NAMES, pattern)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ph", "wine.csv: no column 'ph'; did you mean 'pH'"),
        ("alcohol %", "no column 'alcohol %'; did you mean ' alcohol %'?"),
        ("*zinc*", r"no column matches '\*zinc\*'; it has pH, \"p,H\""),
        ("t [F]", r"no column 't \[F\]'; did you mean 't \[C\]'\?"),
        ('"*acid"', r"no column '\*acid'; it has"),
        ("Fixed_Acid", "did you mean 'fixed acid'"),
    ],
)
def test_what_names_nothing_is_refused_with_the_nearest_names(text, sentence):
    with pytest.raises(DataError, match=sentence):
        names_of(text)


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
def test_a_quoted_list_reads_back(values):
    wanted = tuple(value for value in values if value)
    assert split_list(",".join(map(quote_field, wanted))) == wanted


@given(st.lists(st.text("ab, \"'"), min_size=1))
def test_what_the_csv_module_writes_is_read_as_the_same(values):
    line = io.StringIO()
    csv.writer(line, quoting=csv.QUOTE_ALL, lineterminator="").writerow(values)
    assert split_list(line.getvalue()) == tuple(values)


def test_kinds_of_columns_are_found_by_name_before_patterns():
    asked = {"*acid": "number", "fixed acid": "category", "p,H": "string"}
    assert find_dtypes(asked, NAMES, "t") == {
        "fixed acid": "category", "citric acid": "number", "p,H": "string",
    }  # fmt: skip
    with pytest.raises(InvalidOption, match="dtype: 'pH' is named as number and as string"):
        find_dtypes({"pH": "number", "pH,ab": "string"}, NAMES, "t")
