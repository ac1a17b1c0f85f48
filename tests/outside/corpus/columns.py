"""What a column of text is taken for: numbers, categories, booleans, dates; and missing cells."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

from outside.corpus.base import base_with, with_column
from outside.corpus.case import AsPeers, Case, Refused
from outside.readings import DAY, Moment


def cases() -> Iterator[Case]:
    """Each file is the small table with one more column in front."""
    for name, (written, held) in {**_categories(), **_dates()}.items():
        yield Case(f"{name}.csv", with_column(written).encode(), base_with(held))
    yield from _missing()
    yield from _minorities()
    yield from _not_dates()


def _categories() -> dict[str, tuple[list[str], list[Any]]]:
    """As the cells are written, and as they are read."""
    texts = {
        "yes-no": ["yes", "no"],
        "y-n": ["Y", "N"],
        "t-f": ["t", "f"],
        "zero-padded": ["007", "012", "120"],
        "zero-padded-negative": ["-01", "-02"],
        "one-zero-padded": ["1", "2", "03"],
        "postcodes": ["01234", "90210", "10001"],
        "phones": ["+49-30-123", "0301234"],
        "times": ["10:00", "23:59:59"],
        "versions": ["1.2.3", "2.0.0"],
        "addresses": ["10.0.0.1", "192.168.0.1"],
        "hexadecimal": ["0x10", "0xff"],
        "currencies": ["$5", "€7.50"],
        "ranges": ["1-2", "3-4"],
        "fractions": ["1/2", "3/4"],
        "lists": ["[1]", "[2;3]"],
        "half-numbers": ["1", "a"],
        "na-spellings": ["NA", "null", "None", "N/A", "NULL", "<NA>"],
        "other-words": ["(other)", "(missing)", "nil"],
        "case-differs": ["Red", "red", "RED"],
        "uuid": ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"],
        "letters": ["a", "b", "ä", "ß", "İ"],
        "infinities": ["inf", "-inf"],
        "dashes": ["-", "--"],
        "underscores": ["1_000", "2_000"],
        "big-words": ["w" * 900, "v" * 900],
        "iso-week": ["2020-W01", "2020-W53"],
        "odd-dates": ["31|12|2020", "01|02|2021"],
        "year-months": ["2020-01", "2020-12"],
        "mixed-dates": ["2020-01-01", "yesterday"],
    }
    booleans = {
        "booleans": (["true", "false"], ["true", "false"]),
        "booleans-upper": (["TRUE", "FALSE"], ["true", "false"]),
        "booleans-mixed": (["True", "FALSE", "true"], ["true", "false", "true"]),
        "booleans-missing": (["true", "", "false"], ["true", None, "false"]),
        "boolean-and-text": (["True", "false", "maybe"], ["True", "false", "maybe"]),
        "zero-one": (["0", "1"], [0.0, 1.0]),
        "compact-dates": (["20200101", "20201231"], [20200101.0, 20201231.0]),
        "years": (["1999", "2020"], [1999.0, 2020.0]),
        "spaced-numbers": ([" 1", "2 ", " 3.5 "], [1.0, 2.0, 3.5]),
        "tabbed-numbers": (["\t1", "2\t"], [1.0, 2.0]),
        "quoted-numbers": (['"1"', '"2.5"'], [1.0, 2.5]),
        "only-spaces": ([" ", "  ", "x"], [None, None, "x"]),
        "percent": (["5%", "7.5%"], [0.05, 0.075]),
        "money": (["$5", "$7.50"], [5.0, 7.5]),
    }
    return {name: (cells, cells) for name, cells in texts.items()} | booleans


def _dates() -> dict[str, tuple[list[str], list[Any]]]:
    two = timezone(timedelta(hours=2))
    half = timezone(-timedelta(hours=9, minutes=30))
    return {
        "nanoseconds": (
            ["2020-01-01T00:00:00.123456789", "1970-01-02T00:00:00.000000001"],
            [Moment(18_262 * DAY + 123_456_789), Moment(DAY + 1)],
        ),
        "slash-dates": (["31/12/2020", "01/02/2021"], [date(2020, 12, 31), date(2021, 2, 1)]),
        "us-dates": (["12/31/2020", "02/01/2021"], [date(2020, 12, 31), date(2021, 2, 1)]),
        "dot-dates": (["31.12.2020", "01.02.2021"], [date(2020, 12, 31), date(2021, 2, 1)]),
        "month-names": (["1-Jan-2020", "2-Feb-2021"], [date(2020, 1, 1), date(2021, 2, 2)]),
        "dates": (["2020-01-01", "1999-12-31"], [date(2020, 1, 1), date(1999, 12, 31)]),
        "date-edges": (["0001-01-01", "9999-12-31"], [date(1, 1, 1), date(9999, 12, 31)]),
        "leap-days": (["2020-02-29", "2000-02-29"], [date(2020, 2, 29), date(2000, 2, 29)]),
        "before-1970": (["1969-12-31", "1582-10-04"], [date(1969, 12, 31), date(1582, 10, 4)]),
        "date-times": (
            ["2020-01-01 10:30:00", "2020-06-01T23:59:59"],
            [datetime(2020, 1, 1, 10, 30), datetime(2020, 6, 1, 23, 59, 59)],
        ),
        "date-minutes": (
            ["2020-01-01 10:30", "2020-06-01T23:59"],
            [datetime(2020, 1, 1, 10, 30), datetime(2020, 6, 1, 23, 59)],
        ),
        "date-zulu": (
            ["2020-01-01T10:30:00Z", "2020-06-01T23:59:59Z"],
            [datetime(2020, 1, 1, 10, 30), datetime(2020, 6, 1, 23, 59, 59)],
        ),
        "date-offsets": (
            ["2020-01-01T10:30:00+02:00", "2020-01-01 10:30:00-0930"],
            [
                datetime(2020, 1, 1, 10, 30, tzinfo=two),
                datetime(2020, 1, 1, 10, 30, tzinfo=half),
            ],
        ),
        "date-mixed-zones": (
            ["2020-01-01T10:30:00Z", "2020-01-01T10:30:00", "2020-01-01"],
            [datetime(2020, 1, 1, 10, 30, tzinfo=UTC)] * 2 + [date(2020, 1, 1)],
        ),
        "date-fractions": (
            ["2020-01-01T00:00:00.5", "2020-01-01T00:00:00.123", "2020-01-01T00:00:00.123456"],
            [datetime(2020, 1, 1, 0, 0, 0, part) for part in (500_000, 123_000, 123_456)],
        ),
        "date-last-microsecond": (
            ["1969-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"],
            [datetime(1969, 12, 31, 23, 59, 59, 999_999), Moment(2932897 * DAY - 1000)],
        ),
        "date-year-0": (
            ["0000-01-01", "0000-12-31"],
            [Moment(-719528 * DAY), Moment(-719163 * DAY)],
        ),
        "date-missing": (["2020-01-01", ""], [date(2020, 1, 1), None]),
        "date-spaces": ([" 2020-01-01", "2020-01-02 "], [date(2020, 1, 1), date(2020, 1, 2)]),
        "date-quoted": (['"2020-01-01"', "2020-01-02"], [date(2020, 1, 1), date(2020, 1, 2)]),
    }


def _missing() -> Iterator[Case]:
    """Cells that are missing by their nature, or because the user says so."""
    for name, cell in {"empty": "", "quoted": '""', "nan": "nan", "spaces": "  "}.items():
        numbers = with_column(["1", cell, "3"]).encode()
        yield Case(f"missing-{name}.csv", numbers, base_with([1.0, None, 3.0]))
    for name, cell, word in (
        ("question", "?", "?"), ("word", "unknown", "unknown"), ("number", "-999", "-999"),
        ("other-notation", "-999.0", "-999"), ("NA", "NA", "NA,null"), ("null", "null", "NA,null"),
        ("spaced", " ? ", "?"),
    ):  # fmt: skip
        text = with_column(["1.5", cell, "3"]).encode()
        expected = base_with([1.5, None, 3.0])
        yield Case(f"na-values-{name}.csv", text, expected, {"na_values": word})
    text = with_column(["red", "?", "blue"]).encode()
    expected = base_with(["red", None, "blue"])
    yield Case("na-values-text.csv", text, expected, {"na_values": "?"})
    text = with_column(["2020-01-01", "never", "2020-01-03"]).encode()
    expected = base_with([date(2020, 1, 1), None, date(2020, 1, 3)])
    yield Case("na-values-date.csv", text, expected, {"na_values": "never"})
    text = with_column([""]).encode()
    yield Case("missing-all.csv", text, base_with([None]))
    yield Case("missing-all-nan.csv", with_column(["nan"]).encode(), AsPeers())
    late = "x,y\n" + ",1\n" * 3000 + "".join(f"{at},2\n" for at in range(100))
    expected = {
        "x": [None] * 3000 + [float(at) for at in range(100)],
        "y": [1.0] * 3000 + [2.0] * 100,
    }
    yield Case("missing-first-thousands.csv", late.encode(), expected)


def _minorities() -> Iterator[Case]:
    """Numbers beside texts: a few texts are invalid cells, eleven different ones are codes."""
    numbers = [f"{at}.5" for at in range(40)]
    for n_others in (1, 10, 11, 20):
        cells = [*numbers, *(f"V{at}" for at in range(n_others))]
        text = "x\n" + "".join(f"{cell}\n" for cell in cells)
        expected = Refused("'V0' is not a number") if n_others <= 10 else {"x": cells}
        yield Case(f"numbers-and-{n_others}-texts.csv", text.encode(), expected)
    half = ["1", "2", "a", "b"]
    yield Case("half-texts.csv", with_column(half).encode(), base_with(half))
    late = ["1"] * 30_000 + ["late"]
    text = "x\n" + "".join(f"{cell}\n" for cell in late)
    yield Case("late-text.csv", text.encode(), Refused("row 30000: 'late' is not a number"))
    padded = "x\n" + "10\n" * 400_000 + "007\n"
    yield Case("late-zero-padded.csv", padded.encode(), Refused("'007' is not a number"))


def _not_dates() -> Iterator[Case]:
    """A majority of ISO dates with a day that does not exist, or another text."""
    for name, cell in {
        "february-30": "2020-02-30", "february-29": "2021-02-29", "month-13": "2020-13-01",
        "day-0": "2020-01-00", "hour-25": "2020-01-01T25:00:00",
        "word": "never", "slash": "2020/01/01", "minute-60": "2020-01-01T10:60:00",
        "zone-99": "2020-01-01T10:00:00+99:00", "year-5-digits": "12020-01-01",
    }.items():  # fmt: skip
        text = with_column(["2020-01-01", "2020-01-02", "2020-01-03", cell]).encode()
        yield Case(f"no-date-{name}.csv", text, Refused("row 3"))
