"""What may be wrong with how columns of text were read: doubts about their types and spellings."""

from collections.abc import Mapping
from dataclasses import replace

from lrisk_cli.errors import DataError, list_names, opt
from lrisk_cli.names import Task
from lrisk_cli.tables.column_types.category import CategoryType
from lrisk_cli.tables.column_types.numerals import MARK_NAMES, Written
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.tables.table import Column

FIRST = {"dmy": "day", "mdy": "month", "ymd": "year"}


def type_doubt(column: Column) -> str:
    """Why a column of text may be one of numbers, and the option that reads it; empty for none."""
    doubt = column.type.doubt if isinstance(column.type, CategoryType) else None
    if doubt is None:
        return ""
    remedy = doubt.remedy or f"pass {opt('dtype', f'{column.name}=number')}"
    return f"{doubt.finding}, but is read as text; {remedy}"


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
