"""Dates as people write them: orders of day, month and year, names of months, times and zones."""

from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.column_types.calendar import count_dates, parse_dates
from lrisk_cli.tables.column_types.numerals import INVALID, MISSING, NUMBER, Written
from lrisk_cli.tables.inputs import make_inputs
from lrisk_cli.tables.table import open_table

FORMATS = {
    "%d.%m.%Y": "dmy", "%d/%m/%Y": "dmy", "%m/%d/%Y": "mdy", "%d-%m-%Y": "dmy", "%Y/%m/%d": "ymd",
    "%d %b %Y": "dmy", "%d-%b-%Y": "dmy", "%B %d, %Y": "mdy", "%d. %B %Y": "dmy", "%Y-%m-%d": "ymd",
    "%d.%m.%y": "dmy", "%m/%d/%y": "mdy", "%y-%m-%d": "ymd", "%d-%b-%y": "dmy",
}  # fmt: skip
CLOCKS = ["", " %H:%M", " %H:%M:%S", ", %H:%M:%S", " %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f"]
DAY = 86_400


def days(moment: datetime) -> float:
    since = moment.replace(tzinfo=moment.tzinfo or UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    micros = (since.days * DAY + since.seconds) * 10**6 + since.microseconds
    return micros / (DAY * 10**6)


@given(
    moment=st.datetimes(datetime(1969, 1, 1), datetime(2068, 12, 31)),
    pattern=st.sampled_from(list(FORMATS)),
    clock=st.sampled_from(CLOCKS),
)
def test_what_strftime_writes_is_read_as_strptime_reads_it(moment, pattern, clock):
    text = moment.strftime(pattern + clock)
    found, kinds = parse_dates(pa.array([text]), FORMATS[pattern])
    assert kinds.tolist() == [NUMBER]
    assert found.tolist() == [days(datetime.strptime(text, pattern + clock))]


@given(moment=st.datetimes(datetime(1000, 1, 1)), zone=st.timezones())
def test_zones_are_read(moment, zone):
    text = moment.replace(tzinfo=zone).strftime("%d.%m.%Y %H:%M:%S %z")
    try:
        expected = datetime.strptime(text, "%d.%m.%Y %H:%M:%S %z")
    except ValueError:  # Offsets of seconds, before zones were.
        return
    if expected.utcoffset().total_seconds() % 60 or len(text) > 25:
        return
    assert parse_dates(pa.array([text]), "dmy")[0].tolist() == [days(expected)]
    for utc in ("Z", " Z", " UTC", " GMT", " UTC+0000", "+00:00", "-00"):
        same = parse_dates(pa.array([moment.strftime("%d.%m.%Y %H:%M:%S") + utc]), "dmy")[0]
        assert same.tolist() == [days(moment.replace(microsecond=0))]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("1. März 2024", datetime(2024, 3, 1)), ("5 AOÛT 2024", datetime(2024, 8, 5)),
        ("3 févr. 2024", datetime(2024, 2, 3)), ("31 dic 2024", datetime(2024, 12, 31)),
        ("Sept. 9, 2024", datetime(2024, 9, 9)), ("2024 May 3", datetime(2024, 5, 3)),
        ("29.02.2024", datetime(2024, 2, 29)), ("29.2.2000", datetime(2000, 2, 29)),
        ("31.12.68", datetime(2068, 12, 31)), ("1.1.69", datetime(1969, 1, 1)),
        ("1582/10/4", datetime(1582, 10, 4)), ("01.01.0001", datetime(1, 1, 1)),
        ("2024-12-31T23:59:59,5Z", datetime(2024, 12, 31, 23, 59, 59, 500_000)),
    ],
)  # fmt: skip
def test_names_of_months_and_edges_of_the_calendar(text, day):
    assert parse_dates(pa.array([text]), "dmy")[0].tolist() == [days(day)]


@pytest.mark.parametrize(
    "text",
    ["31.02.2024", "29.02.1900", "32.1.2024", "1.13.2024", "0.1.2024", "1.0.2024", "1.1.24.5", "x",
     "1/2.2024", "1 2 2024", "12.2024", "1.1.202", "31 Foo 2024", "1.1.2024 24:00", "1.1.2024 10",
     "1.1.2024 10:60", "1.1.2024 13:00 PM", "1.1.2024 10:00 CET", "1.1.2024x", "1.1.2024 -",
     "Dec Dec 2024", "2024", "10:00", "1-1-1-2024", "20241231", "1.1.2024 10:00+99:00"],
)  # fmt: skip
def test_what_is_no_date_is_none(text):
    assert parse_dates(pa.array([text]), "dmy")[1].tolist() == [INVALID]


def test_nothing_is_missing():
    assert parse_dates(pa.array(["", " ", "nan", None]), "dmy")[1].tolist() == [MISSING] * 4


@given(st.lists(st.sampled_from(["1.2.2024", "31.1.2024", "1.31.2024", "2-2-24", "3 May 24", "x"])))
def test_counts_of_parts_add_up(cells):
    column = pa.array(cells, pa.string())
    parts = count_dates(column[:2]) + count_dates(column[2:])
    assert parts.values.tolist() == count_dates(column).values.tolist()


# Whole columns


def open_text(folder, text: str, *date_format: str, written=None, **how):
    (folder / "t.csv").write_text(text)
    inputs = make_inputs([str(folder / "t.csv")], None, None, None, date_format=date_format)
    expected = None if written is None else dict.fromkeys(written, "date")
    return open_table(inputs, expected=expected, written=written, **how)


def days_of(table, name: str = "when") -> list[float]:
    return [x for batch in table.batches([name]) for x in batch.columns[name].tolist()]


def test_all_cells_decide_the_order_also_one_in_the_last_block(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    rows = "01/02/2024,1\n" * 100
    table = open_text(tmp_path, f"when,y\n{rows}13/02/2024,1\n")
    assert days_of(table) == [days(datetime(2024, 2, 1))] * 100 + [days(datetime(2024, 2, 13))]
    table = open_text(tmp_path, f"when,y\n{rows}02/13/2024,1\n")
    assert days_of(table) == [days(datetime(2024, 1, 2))] * 100 + [days(datetime(2024, 2, 13))]
    table = open_text(tmp_path, f"when,y\n{'02/02/2024,1' + chr(10)}{rows}02/13/2024,1\n")
    assert days_of(table)[-1] == days(datetime(2024, 2, 13))
    free = "1 May 2024,1\n" * 100
    table = open_text(tmp_path, f"when,y\n{free}02/03/2024,1\n02/13/2024,1\n")
    assert days_of(table)[-2:] == [days(datetime(2024, 2, 3)), days(datetime(2024, 2, 13))]


def test_an_order_that_no_cell_shows_has_to_be_named(tmp_path):
    text = "when,y\n01/02/2024,1\n03/04/2024,2\n"
    with pytest.raises(DataError, match=r"'when': its cells do not show .*; pass date_format='"):
        days_of(open_text(tmp_path, text))
    assert days_of(open_text(tmp_path, text), "y") == [1.0, 2.0]
    for option in ("dmy", "when=dmy", "%d/%m/%Y", "w*=%d/%m/%Y"):
        assert days_of(open_text(tmp_path, text, option))[0] == days(datetime(2024, 2, 1))
    assert days_of(open_text(tmp_path, text, "MDY"))[0] == days(datetime(2024, 1, 2))
    written = {"when": Written(order="dmy")}
    assert days_of(open_text(tmp_path, text, written=written))[0] == days(datetime(2024, 2, 1))
    words = open_text(tmp_path, text, dtypes={"when": "category"})
    assert words.column("when").kind == "category"
    with pytest.raises(DataError, match="no column 'wen'; did you mean 'when'"):
        open_text(tmp_path, text, "wen=dmy")
    with pytest.raises(InvalidOption, match="date_format takes dmy, mdy or ymd"):
        open_text(tmp_path, text, "when=myd")


def test_a_cell_of_another_order_is_invalid(tmp_path):
    text = "when,y\n31/01/2024,1\n30/01/2024,2\n01/31/2024,3\n"
    with pytest.raises(DataError, match="row 2: '01/31/2024' is not a date"):
        days_of(open_text(tmp_path, text))


def test_text_of_parquet_is_read_alike(tmp_path):
    import pyarrow.parquet as pq

    cells = ["31.12.2024", "1.2.2024 10:30", None]
    pq.write_table(pa.table({"when": cells, "y": [1, 2, 3]}), tmp_path / "t.parquet")
    found = days_of(open_table([str(tmp_path / "t.parquet")]))
    assert found[:2] == [days(datetime(2024, 12, 31)), days(datetime(2024, 2, 1, 10, 30))]
