"""The header of a text file is split as Python's csv module splits it."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.tables.csv_header import find_header_end, split_fields


@given(st.text(st.sampled_from('ab";| \r\n')))
def test_a_record_is_split_as_python_splits_it(text):
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";"))
    end = find_header_end(text.encode(), 0, b";")
    if not end or not rows[0]:
        return
    record = text[:end].rstrip("\r\n")
    assert split_fields(record, ";") == tuple(rows[0])
    others = csv.reader(io.StringIO(text[end:], newline=""), delimiter=";")
    assert list(others) == rows[1:]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (b"a,b\n1", 4),
        (b"a,b\r\n1", 5),
        (b"a,b\r1", 4),
        (b"a,b\r", 0),
        (b'"a\r\nb"\r\n1', 8),
        (b"a", 0),
    ],
)
def test_a_header_ends_with_its_line(start, end):
    assert find_header_end(start, 0, b",") == end
