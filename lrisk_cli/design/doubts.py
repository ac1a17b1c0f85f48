"""What may be wrong with how columns of text were read: doubts about their types and spellings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from lrisk_cli.design.misspelt import MOST_CATEGORIES, find_misspelt
from lrisk_cli.errors import DataError, list_names, opt, quote
from lrisk_cli.names import Task
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.column_types.category import CategoryType, merged_case
from lrisk_cli.tables.column_types.numerals import MARK_NAMES, Written
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.tables.table import Column
from lrisk_cli.warnings import CodedWarning, Warnings

MOST_SHOWN = 3
FIRST = {"dmy": "day", "mdy": "month", "ymd": "year"}


def type_doubt(column: Column) -> str:
    """Why a column of text may be one of numbers, and the option that reads it; empty for none."""
    doubt = column.type.doubt if isinstance(column.type, CategoryType) else None
    if doubt is None:
        return ""
    remedy = doubt.remedy or f"pass {opt('dtype', f'{column.name}=number')}"
    return f"{doubt.finding}, but is read as text; {remedy}"


def spelling_doubt(name: str, texts: Texts) -> str:
    """Which categories may be misspelt, and what to do; empty where none is."""
    if len(texts.values) > MOST_CATEGORIES:
        return ""
    counts = np.bincount(texts.codes[texts.codes >= 0], minlength=len(texts.values))
    pairs = _same_but_case(texts.values, counts)
    alike = bool(pairs)
    for code, right in find_misspelt(texts).items():
        pairs.setdefault(code, texts.values.index(right))
    if not pairs:
        return ""
    found = sorted(pairs, key=lambda code: (-counts[code], texts.values[code]))
    shown = [
        f"{quote(texts.values[code])} ({_rows(counts[code])}) beside "
        f"{quote(texts.values[pairs[code]])} ({counts[pairs[code]]:,})"
        for code in found[:MOST_SHOWN]
    ]
    more = f" and {len(found) - MOST_SHOWN} more" if len(found) > MOST_SHOWN else ""
    remedy = f"correct them, or pass {opt('merge_case')}" if alike else "correct them if they are"
    return f"column '{name}': the same with another spelling? {', '.join(shown)}{more}; {remedy}"


def _same_but_case(values: Sequence[str], counts: np.ndarray) -> dict[int, int]:
    """Codes of texts that differ from a more frequent one in capitals and spaces only."""
    groups: dict[str, list[int]] = {}
    for code in np.flatnonzero(counts).tolist():
        groups.setdefault(merged_case(values[code]), []).append(code)
    found: dict[int, int] = {}
    for codes in groups.values():
        first = min(codes, key=lambda code: (-counts[code], values[code]))
        found |= {code: first for code in codes if code != first}
    return found


def warn_of_columns(features: Sequence[Column], texts: Sequence[Texts]) -> Warnings:
    """What may be wrong with how the features were read. texts: of those that are texts."""
    of_features = iter(texts)
    found: list[CodedWarning] = []
    for feature in features:
        if feature.numeric:
            continue
        cells, doubt = next(of_features), type_doubt(feature)
        if doubt:
            text = f"column '{feature.name}' {doubt}"
            found.append(CodedWarning("numbers_as_text", text))
        elif spelt := spelling_doubt(feature.name, cells):
            found.append(CodedWarning("near_categories", spelt))
    return tuple(found)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def refuse_doubtful(place: str, target: Column) -> None:
    """DataError where the target may be one of numbers that is read as text."""
    doubt = type_doubt(target)
    if doubt:
        anyway = f"or pass {opt('task', Task.CLASSIFICATION)} if they are names of classes"
        raise DataError(f"{place}: {doubt}, {anyway}")


def note_written(written: Mapping[str, Written], spelling: Spelling) -> tuple[str, ...]:
    """A note on each way in which cells are written that neither programs nor options say."""
    ways: dict[str, list[str]] = {}
    for name, each in written.items():
        decimal = "" if spelling.decimal else each.decimal
        thousands = "" if spelling.thousands else each.thousands
        order = "" if spelling.orders else each.order
        way = _describe(replace(each, decimal=decimal, thousands=thousands, order=order))
        ways.setdefault(way, []).append(name)
    return tuple(f"{list_names(names)}: read as {way}" for way, names in ways.items() if way)


def _describe(written: Written) -> str:
    """How numbers or dates are written, in words; empty for texts."""
    if written.order:
        return f"dates with the {FIRST[written.order]} first"
    marks = {"none": ""} | MARK_NAMES
    parts = []
    if written.decimal == ",":
        parts.append("decimal commas")
    if marks.get(written.thousands):
        parts.append(f"{marks[written.thousands]} between thousands")
    if written.currency:
        parts.append(f"the currency {written.currency}")
    if written.percent:
        parts.append("percent signs (12% is 0.12)")
    return f"numbers with {', '.join(parts)}" if parts else ""
