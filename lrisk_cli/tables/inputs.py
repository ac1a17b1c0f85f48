"""What a command line says about its tables: where they are, and how their cells are written."""

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from lrisk_cli.errors import InvalidOption, is_text, opt
from lrisk_cli.names import Ragged
from lrisk_cli.tables.memory import Allowance, make_allowance
from lrisk_cli.tables.named_columns import split_list

DELIMITER_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
DECIMALS = (".", ",")
ORDERS = ("dmy", "mdy", "ymd")
DATE_LETTERS = {"d": "d", "e": "d", "m": "m", "b": "m", "B": "m", "Y": "y", "y": "y"}
THOUSANDS_WORDS = {
    "comma": ",", "point": ".", "dot": ".", "apostrophe": "'", "\u2019": "'", "space": " ",
    "\u00a0": " ", "\u202f": " ", "none": "none",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Spelling:
    """How cells are written. decimal, thousands: the marks before the fraction of a number, and
    between its thousands ("none" where there are none); empty for those that the cells show.

    missing: texts that stand for a missing cell, beside the empty one. keep_spaces: those around a
    text are part of it. orders: of day, month and year in dates, each with a text that names
    columns, which is empty for all. merge_case: texts that differ in capitals and spaces only are
    one.
    """

    decimal: str = ""
    missing: tuple[str, ...] = ()
    thousands: str = ""
    keep_spaces: bool = False
    orders: tuple[tuple[str, str], ...] = ()
    merge_case: bool = False

    def missing_among(self, texts: Sequence[str | None]) -> list[int]:
        """The places of texts that stand for a missing cell; spaces around them do not matter."""
        missing = set(self.missing)
        return [at for at, text in enumerate(texts) if not text or text.strip() in missing]


PLAIN = Spelling()


@dataclass(frozen=True, slots=True)
class Layout:
    """How files are divided into rows and columns.

    delimiter: between the fields of text files; None for what the header suggests. ragged: what
    happens to their rows of another number of fields than the header. rename_duplicates: columns of
    one name get different ones. encoding: of text; None for UTF-8, or what a byte order mark says.
    comment: the character that begins lines to leave out; skip_rows: lines before the header.
    no_header: the first line is a row.
    """

    delimiter: str | None = None
    ragged: Ragged = Ragged.ERROR
    rename_duplicates: bool = False
    encoding: str | None = None
    comment: str | None = None
    skip_rows: int = 0
    no_header: bool = False


STRICT = Layout()


@dataclass(frozen=True, slots=True)
class Inputs:
    """Paths, patterns, folders, addresses or "-", and how they are to be read.

    allowance: of memory, where all rows are held at once.
    """

    names: tuple[str, ...]
    layout: Layout = STRICT
    spelling: Spelling = PLAIN
    allowance: Allowance = field(default_factory=lambda: make_allowance(None))

    def beside(self, name: str) -> "Inputs":
        """Another table that is read in the same way."""
        return replace(self, names=(name,))


def make_inputs(
    names: Sequence[str],
    delimiter: str | None,
    decimal: str | None,
    na_values: str | Sequence[str] | None,
    memory_limit: str | None = None,
    ragged: Ragged = Ragged.ERROR,
    *,
    rename_duplicates: bool = False,
    thousands: str | None = None,
    keep_spaces: bool = False,
    date_format: Sequence[str] = (),
    encoding: str | None = None,
    comment: str | None = None,
    skip_rows: int = 0,
    no_header: bool = False,
    merge_case: bool = False,
) -> Inputs:
    """The inputs that the texts of options describe; UsageError where they cannot be meant."""
    if decimal is not None and decimal not in DECIMALS:
        raise InvalidOption("decimal", f"takes . or , and got {decimal!r}")
    missing = tuple(text.strip() for text in split_list(na_values) if text.strip())
    for text in missing:
        if not is_text(text):
            raise InvalidOption("na_values", f"takes UTF-8 text, which no cell lacks; got {text!r}")
    between = _parse_thousands(thousands, decimal)
    orders = tuple(map(_parse_date_format, date_format))
    spelling = Spelling(decimal or "", missing, between, keep_spaces, orders, merge_case)
    allowance = make_allowance(memory_limit)
    if ragged not in tuple(Ragged):
        raise InvalidOption("ragged", f"takes {', '.join(Ragged)}; got {ragged!r}")
    layout = Layout(
        _parse_delimiter(delimiter), Ragged(ragged), rename_duplicates, _parse_encoding(encoding),
        _parse_comment(comment), skip_rows, no_header,
    )  # fmt: skip
    return Inputs(tuple(names), layout, spelling, allowance)


def _parse_thousands(text: str | None, decimal: str | None) -> str:
    """The mark between thousands, "none", or empty where the cells show it."""
    if text is None:
        return ""
    mark = THOUSANDS_WORDS.get(text, text)
    if mark not in THOUSANDS_WORDS.values():
        raise InvalidOption("thousands", f"takes , . ' or a space, or the word none; got {text!r}")
    if mark == decimal:
        raise InvalidOption("thousands", f"takes another mark than {opt('decimal')}; got {text!r}")
    return mark


def _parse_date_format(text: str) -> tuple[str, str]:
    """The text that names columns, and the order of day, month and year."""
    name, _, pattern = text.rpartition("=")
    letters = re.findall(r"%[-_0]?([a-zA-Z])", pattern)
    order = "".join(DATE_LETTERS.get(letter, "") for letter in letters) or pattern.lower()
    if order not in ORDERS:
        raise InvalidOption(
            "date_format",
            "takes dmy, mdy or ymd, or a pattern such as %d/%m/%Y, after COLUMN= if it is not that "
            f"of all dates; got {text!r}",
        )
    return name, order


def _parse_encoding(text: str | None) -> str | None:
    """The name of an encoding of text, as Python has it; empty for UTF-8."""
    if text is None:
        return None
    try:
        name = codecs.lookup(text).name
        "".encode(name)  # Others, such as base64, are no text.
    except LookupError as error:
        known = "utf-8, utf-16, cp1252 or latin-1"
        raise InvalidOption(
            "encoding", f"takes an encoding such as {known}; got {text!r}"
        ) from error
    return "" if name == "utf-8" else name


def _parse_comment(text: str | None) -> str | None:
    if text is not None and (len(text) != 1 or not text.isascii() or text in '"\r\n\0'):
        raise InvalidOption("comment", f"takes one character such as #; got {text!r}")
    return text


def _parse_delimiter(text: str | None) -> str | None:
    if text is None:
        return None
    mark = DELIMITER_WORDS.get(text, text)
    if len(mark) != 1 or not mark.isascii() or mark in '"\r\n\0' or mark.isalnum():
        raise InvalidOption(
            "delimiter",
            f"takes one character that is no letter, digit or quote, or the word tab; got {text!r}",
        )
    return mark
