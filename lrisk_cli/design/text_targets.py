"""Targets of text: those that are no classes are refused."""

import re
from collections.abc import Sequence

import numpy as np

from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.names import Task
from lrisk_cli.tables.cells import Texts

_CURRENCY = r"[$€£¥₹]|USD|EUR|GBP|CHF|JPY|CNY|INR"
_DIGITS = r"[0-9]+|[0-9]{1,3}(?:[,.' \u00a0\u202f][0-9]{3})+"
_SIGN = r"[+\-\u2212]?"
_NUMBER = rf"{_SIGN}(?:(?:{_CURRENCY})\s?)?{_SIGN}(?:{_DIGITS})(?:[.,][0-9]*)?"
_WRITTEN = re.compile(rf"{_NUMBER}\s?(?:%|{_CURRENCY})?|\({_NUMBER}\)")
_WITH_UNIT = re.compile(rf"{_NUMBER}(?:[kKmM]|\s[^\W\d]{{1,4}}[²³]?)")
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_PLAIN = re.compile(r"[+-]?[0-9]+\.?[0-9]*")
_DATE = re.compile(
    r"[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{4}|[0-9]{4}[./][0-9]{1,2}[./][0-9]{1,2}"
    r"|[0-9]{1,2}\.?[ -][^\W\d]{3,9}\.?,?[ -][0-9]{4}|[^\W\d]{3,9}\.? [0-9]{1,2},? [0-9]{4}"
)
# Of the distinct texts; some cells of such a column may be remarks.
FRACTION = 0.9
# As many texts may be classes whatever they look like; of more, a class needs so many rows.
USUAL_CLASSES, ROWS_PER_CLASS = 20, 5


def refuse_no_classes(place: str, target: Texts) -> None:
    """DataError where the texts are numbers or dates, or nearly as many as the rows.

    They would be classes otherwise, and the fit would be a proved answer to another question.
    """
    texts = [text.strip() for text in present_texts(target)]
    _refuse_numbers(place, texts)
    anyway = f"or pass {opt('task', Task.CLASSIFICATION)} if they are names of classes"
    if _most(texts, _DATE):
        raise DataError(
            f"{place}: holds dates that are written as text ({quote(texts[0])}); write what is to "
            f"be predicted as numbers, such as days, {anyway}"
        )
    if len(texts) > max(USUAL_CLASSES, len(target) / ROWS_PER_CLASS):
        raise DataError(
            f"{place}: holds {len(texts)} different texts in {len(target)} rows "
            f"({', '.join(map(quote, texts[:3]))}, ...), too many to be classes; choose another "
            f"target, write numbers without units, {anyway}"
        )


def _refuse_numbers(place: str, texts: Sequence[str]) -> None:
    """DataError where nearly all are numbers with a currency, a percent sign, commas or a unit."""
    numbers = [text for text in texts if _WRITTEN.fullmatch(text)]
    if len(texts) > USUAL_CLASSES:
        numbers += [text for text in texts if _WITH_UNIT.fullmatch(text)]
    marked = [text for text in numbers if not _PLAIN.fullmatch(text)]
    if not marked or len(numbers) < FRACTION * len(texts):
        return
    if all(_COMMA.fullmatch(text) or _PLAIN.fullmatch(text) for text in numbers):
        remedy = f"pass {opt('decimal', ',')} if the comma is a decimal mark"
    else:
        remedy = "write them as plain numbers such as 1201.5"
    raise DataError(
        f"{place}: holds numbers that are written as text ({quote(marked[0])}); {remedy}, or pass "
        f"{opt('task', Task.CLASSIFICATION)} if they are names of classes"
    )


def _most(texts: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return sum(pattern.fullmatch(text) is not None for text in texts) >= FRACTION * len(texts)


def present_texts(target: Texts) -> list[str]:
    """The texts that occur, each once."""
    return [target.values[code] for code in np.flatnonzero(np.bincount(target.codes)).tolist()]
