"""Every way in which lrisk reads a cell, a name or a row differently from its peers on purpose.

A difference that none of these explains is a finding. Rules about cells take a cell of lrisk, the
kind of its column and the cell of the other program; the first that applies names the difference.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction

from outside.readings import DAY, Cell, Moment, Nested, ReadColumn, Span, python_cell

CONVENTIONS = {
    "empty": "an empty cell is missing, quoted or not, also where a program reads an empty text",
    "nan": "nan in any case and with any sign is a missing number",
    "spaces": "spaces around a cell do not matter, unless --keep-spaces keeps those of texts",
    "written-number": "separators, currency and percent signs and parentheses are parts of numbers",
    "na-spelling": "NA, null, None and the like are texts unless --na-values lists them",
    "boolean": "true and false are the categories 'true' and 'false'",
    "number-as-text": "numbers stay text: zero-padded codes, a minority in the column, or beside "
    "more than ten other texts; hexadecimal and other notations are no numbers",
    "number-notation": "a number in a notation that the other program keeps as text",
    "invalid-cell": "a cell that is not of its column's type is refused, or missing with --missing",
    "infinite": "an infinite number, or one too large for a double, is an invalid cell",
    "date": "dates in text become days since 1970",
    "date-as-text": "texts that another program takes for dates, times of day among them",
    "microseconds": "points in time are read to the microsecond",
    "nested": "lists, structures and bytes are refused unless excluded",
    "column-name": "a column without a name is column_N, a repeated name NAME.2",
    "nameless-empty": "a column with neither a name nor a value is left out, with a note",
    "name-spaces": "names keep the spaces around them",
    "blank-line": "a line without any character is no row; one of spaces is a row",
}
# What pandas, pyarrow and DuckDB take for missing by default.
NA_SPELLINGS = frozenset(
    ["#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
     "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
NAN = re.compile(r"[+-]?nan", re.IGNORECASE)
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?")
SAME = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A cell that lrisk read, of a column that it takes for `kind`, and the same of a peer."""

    kind: str
    ours: Cell
    theirs: Cell
    has_invalid: bool


def exact_days(moment: Moment | Span) -> float:
    """Days, rounded once."""
    return float(Fraction(moment.nanoseconds, DAY))


def number_of(text: str) -> float | None:
    """The number that a text spells, correctly rounded, or None."""
    return float(text) if NUMBER.fullmatch(text) else None


def written_numbers(text: str) -> set[float]:
    """What a text with separators, signs and currencies may say as a number."""
    sign = -1.0 if re.search(r"^\s*\(|[-\u2212\u2013]\s*\W?\s*\d", text) else 1.0
    scale = 0.01 if "%" in text else 1.0
    digits = re.sub(r"[^0-9.,]", "", text).rstrip(".,")
    found = set()
    for decimal, group in (".,", ",."):
        number = number_of(digits.replace(group, "").replace(decimal, "."))
        if number is not None:
            exact = Decimal(digits.replace(group, "").replace(decimal, ".")) * Decimal(str(scale))
            found.add(sign * float(exact))
    return found


def as_double(number: int | float | Decimal) -> float:
    """The nearest double; infinite where there is none."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def explain_cell(kind: str, ours: Cell, theirs: Cell, column: ReadColumn) -> str | None:
    """SAME, the convention that explains the difference of two cells, or None."""
    if kind == "nested" or isinstance(theirs, Nested):
        return "nested" if kind == "nested" else None
    if isinstance(theirs, float) and theirs != theirs:
        return SAME if ours is None else ("nan" if ours == "nan" else None)
    pair = Pair(kind, ours, theirs, column.n_invalid > 0)
    return (_explain_text if kind == "category" else _explain_number)(pair)


def _explain_number(pair: Pair) -> str | None:
    """For a column of numbers or of dates, both of which are read as doubles."""
    if pair.ours is None:
        return _explain_missing(pair)
    assert isinstance(pair.ours, float)
    theirs = pair.theirs
    if isinstance(theirs, bool) or theirs is None:
        return None
    if isinstance(theirs, str):
        return _explain_parsed(pair, theirs)
    if isinstance(theirs, Moment | Span):
        if pair.ours == exact_days(theirs):
            return SAME
        cut = [type(theirs)(_cut(theirs.nanoseconds, floor)) for floor in (False, True)]
        return "microseconds" if pair.ours in map(exact_days, cut) else None
    assert isinstance(theirs, int | float | Decimal)
    return SAME if as_double(theirs) == pair.ours else None


def _cut(nanoseconds: int, floor: bool) -> int:
    """Whole microseconds, towards the past or towards 1970."""
    whole = nanoseconds // 1000 if floor or nanoseconds >= 0 else -(-nanoseconds // 1000)
    return whole * 1000


def _explain_parsed(pair: Pair, text: str) -> str | None:
    """A number or a date beside the text that it was read from."""
    trimmed = text.strip()
    spaces = SAME if trimmed == text else "spaces"
    if pair.kind == "date":
        moment = parse_date(trimmed)
        if moment is None:
            return "date" if pair.ours in written_days(trimmed) else None
        return "date" if _explain_number(Pair("", pair.ours, moment, False)) is not None else None
    number = number_of(trimmed)
    if number is None and pair.ours in written_numbers(trimmed):
        return "written-number"
    if number is None and number_of(trimmed.replace(",", ".")) == pair.ours:
        return "number-notation"
    return spaces if number == pair.ours else None


def parse_date(text: str) -> Moment | None:
    """The point in time that an ISO text names, to the microsecond."""
    if not DATE.fullmatch(text):
        return None
    # Python has no year 0, which is as long as year 4.
    early = text.startswith("0000")
    text = re.sub("^0000", "0004", re.sub(r"(\.\d{6})\d+", r"\1", text))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    cell = python_cell(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    assert isinstance(cell, Moment)
    return Moment(cell.nanoseconds - early * (4 * 365 + 1) * DAY)


def written_days(text: str) -> set[float]:
    """What pandas makes of a date, the day or the month first, in days since 1970."""
    import pandas as pd

    found = set()
    for day_first in (False, True):
        try:
            moment = pd.to_datetime(text, dayfirst=day_first, utc=True).to_pydatetime()
        except ValueError:
            continue
        cell = python_cell(moment)
        assert isinstance(cell, Moment)
        found.add(exact_days(cell))
    return found


def _explain_missing(pair: Pair) -> str | None:
    """A missing number or date."""
    theirs = pair.theirs
    if theirs is None:
        return SAME
    if isinstance(theirs, str):
        trimmed = theirs.strip()
        if not trimmed:
            return "empty"
        if NAN.fullmatch(trimmed):
            return "nan"
        if pair.has_invalid:
            number = number_of(trimmed)
            padded = bool(re.fullmatch(r"[+-]?0[0-9]+", trimmed))
            valid = number is not None and abs(number) != float("inf") and not padded
            return None if valid and pair.kind == "number" else "invalid-cell"
        return None
    if isinstance(theirs, int | float | Decimal) and not isinstance(theirs, bool):
        infinite = abs(as_double(theirs)) == float("inf")
        return "infinite" if infinite and pair.has_invalid else None
    return "invalid-cell" if pair.has_invalid else None


def _explain_text(pair: Pair) -> str | None:
    """For a column of categories."""
    ours, theirs = pair.ours, pair.theirs
    if ours is None:
        empty = isinstance(theirs, str) and not theirs.strip()
        return SAME if theirs is None else ("empty" if empty else None)
    assert isinstance(ours, str)
    if theirs is None:
        return "na-spelling" if ours in NA_SPELLINGS else None
    if isinstance(theirs, bool):
        return "boolean" if ours.strip().lower() == str(theirs).lower() else None
    if isinstance(theirs, str):
        return _explain_texts(ours, theirs)
    if isinstance(theirs, Moment | Span):
        return "date-as-text"
    if isinstance(theirs, Nested):
        return None
    return _explain_spelled(ours.strip(), theirs)


def _explain_texts(ours: str, theirs: str) -> str | None:
    if ours == theirs:
        return SAME
    if ours.lower() == theirs.strip().lower() and ours in ("true", "false"):
        return "boolean"
    return "spaces" if ours.strip() == theirs.strip() else None


def _explain_spelled(ours: str, theirs: int | float | Decimal) -> str | None:
    """A text beside the number that another program takes it for."""
    number = number_of(ours)
    if number is not None and as_double(theirs) == number:
        return "number-as-text"
    if ours.lower().lstrip("+-") in ("inf", "infinity") and abs(as_double(theirs)) == float("inf"):
        return "infinite"
    try:
        other = float(int(ours, 16)) if "x" in ours.lower() else float(ours.replace(",", ""))
    except ValueError:
        return None
    return "number-as-text" if as_double(theirs) == other else None


def explain_name(position: int, ours: str, theirs: str) -> str | None:
    """SAME, the convention that explains the difference of two names, or None. position: from 1."""
    if ours == theirs:
        return SAME
    rules: list[tuple[str, Callable[[], bool]]] = [
        ("column-name", lambda: ours == f"column_{position}" and is_nameless(position, theirs)),
        ("column-name", lambda: _is_repetition(ours, theirs)),
        ("name-spaces", lambda: ours.strip() == theirs.strip()),
    ]
    return next((name for name, applies in rules if applies()), None)


def is_nameless(position: int, theirs: str) -> bool:
    """Whether another program made up the name of a column, or left it empty. position: from 1."""
    names = ("", f"Unnamed: {position - 1}", f"column{position - 1}", f"column{position - 1:02d}")
    return theirs.strip() in names or bool(re.fullmatch(r"column\d+|_\d*|C\d+", theirs.strip()))


def _is_repetition(ours: str, theirs: str) -> bool:
    """a.2 of lrisk is a.1 of pandas, a_1 of DuckDB and a of pyarrow."""
    stem = re.fullmatch(r"(.*?)(?:[._]\d+)?", theirs, re.DOTALL)
    mine = re.fullmatch(r"(.*?)(?:\.\d+)?", ours, re.DOTALL)
    return bool(stem and mine and stem[1].lower() == mine[1].lower())
