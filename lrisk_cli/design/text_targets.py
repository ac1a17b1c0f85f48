"""Targets of text: numbers written in a way that is not read, and classes apart by spaces only."""

import re
from collections.abc import Iterable

from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.names import Task
from lrisk_cli.tables.arrays import distinct
from lrisk_cli.tables.cells import Texts

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR"
_DIGITS = r"[0-9]+|[0-9]{1,3}(?:[,.' \u00a0\u202f][0-9]{3})+"
_WRITTEN = re.compile(
    rf"[+-]?(?:(?:{_CURRENCY})\s?)?[+-]?(?:{_DIGITS})(?:[.,][0-9]*)?\s?(?:%|{_CURRENCY})?"
)
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
# Of the distinct texts; some cells of such a column may be remarks.
FRACTION = 0.9


def refuse_written_numbers(place: str, target: Texts) -> None:
    """DataError where nearly all texts are numbers with a currency, a percent sign or commas.

    They would be classes otherwise, one for each number.
    """
    texts = [target.values[code].strip() for code in distinct(target.codes)]
    numbers = [text for text in texts if any(map(str.isdigit, text)) and _WRITTEN.fullmatch(text)]
    marked = [text for text in numbers if not _is_plain(text)]
    if len(marked) == 0 or len(numbers) < FRACTION * len(texts):
        return
    if all(_COMMA.fullmatch(text) or _is_plain(text) for text in numbers):
        remedy = f"pass {opt('decimal', ',')} if the comma is a decimal mark"
    else:
        remedy = "write them as plain numbers such as 1201.5"
    raise DataError(
        f"{place}: holds numbers that are written as text ({quote(marked[0])}); {remedy}, or pass "
        f"{opt('task', Task.CLASSIFICATION)} if they are names of classes"
    )


def merge_spaces(classes: Iterable[str]) -> set[str]:
    """The classes; those that differ only in spaces around them become one, without spaces."""
    texts = set(classes)
    by_core: dict[str, list[str]] = {}
    for text in texts:
        by_core.setdefault(text.strip(), []).append(text)
    if len(by_core) == len(texts) or "" in by_core:
        return texts
    return {core if len(group) > 1 else group[0] for core, group in by_core.items()}


def _is_plain(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+\.?[0-9]*", text) is not None
