"""Decide how columns of text are written where no sample can tell: by all cells, or by a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import pyarrow as pa

from lrisk_cli.errors import opt
from lrisk_cli.tables import compute
from lrisk_cli.tables.cells import is_text
from lrisk_cli.tables.column_types.base import ColumnType, Doubt, take_sample
from lrisk_cli.tables.column_types.calendar import count_dates
from lrisk_cli.tables.column_types.category import CategoryType
from lrisk_cli.tables.column_types.date import DateType, WrittenDateType
from lrisk_cli.tables.column_types.nested import NestedType
from lrisk_cli.tables.column_types.number import DurationType, NumberType, asked_for
from lrisk_cli.tables.column_types.numerals import (
    UNKNOWN,
    Written,
    count_cells,
    decimal_of,
    written_by,
)
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.reader import TableFile

BLOCK_ROWS = 16_384
BOTH_ORDERS = "its cells do not show which of two numbers is the day and which the month"
BOTH_MARKS = "its commas may stand before decimals or between thousands"

# Counts that add up.
Some = TypeVar("Some", bound=Any)


def settle_types(
    files: Sequence[TableFile],
    types: Mapping[str, ColumnType],
    spelling: Spelling,
    expected: Mapping[str, Written | None],
    asked: Mapping[str, str],
    orders: Mapping[str, str],
) -> dict[str, ColumnType]:
    """The types, those of numbers with what is known of how they are written.

    expected: how the columns that a model needs were written; None where programs wrote them.
    asked: the kinds that the user asks for; orders: those of day, month and year. Columns whose
    sample leaves a mark or an order open are read once in whole.
    """
    settled = {name: _with_spaces(kind, name, spelling, expected) for name, kind in types.items()}
    numbers = {
        name: kind
        for name, kind in types.items()
        if isinstance(kind, NumberType) and not isinstance(kind, DurationType)
        and _stored_as_text(files, name)
    }  # fmt: skip
    for name, kind in numbers.items():
        numbers[name] = _expected(kind, name, expected)
    open_names = [name for name, kind in numbers.items() if kind.ambiguous]
    count_marks = partial(count_cells, asked=asked_for(spelling))
    counted = survey(files, open_names, spelling, count_marks)
    found: dict[str, Written] = {}
    for name, counts in counted.items():
        wanted = asked_for(spelling, _fixed(name, expected))
        found[name] = written_by(counts, decimal_of(counts, wanted), wanted)
    dates = {
        name: kind
        for name, kind in types.items()
        if isinstance(kind, DateType) and _stored_as_text(files, name)
    }
    settled |= _settle_dates(files, dates, spelling, expected, orders)
    shown = {kind.written.decimal for kind in numbers.values() if not kind.ambiguous}
    shown = (shown | {written.decimal for written in found.values()}) - {""}
    for name, kind in numbers.items():
        written = found.get(name, kind.written)
        if kind.ambiguous and not written.decimal:
            decimal = "." if not counted[name].with_comma else ""
            decimal = next(iter(shown)) if len(shown) == 1 else decimal
            wanted = asked_for(spelling, _fixed(name, expected))
            written = written_by(counted[name], decimal, wanted)
        settled[name] = (
            _ambiguous(forced=name in asked)
            if kind.ambiguous and not written.decimal and counted[name].with_comma
            else kind.rewritten(written, partial(_survey_one, files, name, spelling, count_marks))
        )
    return settled


def _with_spaces(
    kind: ColumnType, name: str, spelling: Spelling, expected: Mapping[str, Written | None]
) -> ColumnType:
    """A column of texts keeps the spaces around them, or merges spellings, where an option or a
    model says so."""
    known = _fixed(name, expected)
    kept = (spelling.keep_spaces or known.spaces) and not spelling.merge_case
    merged = spelling.merge_case or known.merged
    if type(kind) is CategoryType and (kept or merged):
        return CategoryType(kind.doubt, Written(spaces=kept and not merged, merged=merged))
    return kind


def _fixed(name: str, expected: Mapping[str, Written | None]) -> Written:
    return expected.get(name) or UNKNOWN


def _expected(kind: NumberType, name: str, expected: Mapping[str, Written | None]) -> NumberType:
    """The type with what a model knows, which goes before what a sample shows."""
    if name not in expected:
        return kind
    known, shown = expected[name] or UNKNOWN, kind.written
    written = replace(
        known,
        decimal=known.decimal or shown.decimal,
        thousands=known.thousands or shown.thousands,
        currency=known.currency or shown.currency,
    )
    return type(kind)(written, ambiguous=kind.ambiguous and not written.decimal)


def _ambiguous(*, forced: bool) -> ColumnType:
    """A column whose commas have two meanings: text with a doubt, or refused if to be numbers."""
    remedy = f"pass {opt('decimal', ',')} or {opt('thousands', ',')}"
    if forced:
        return NestedType(BOTH_MARKS, remedy)
    return CategoryType(Doubt(BOTH_MARKS, remedy))


def _stored_as_text(files: Sequence[TableFile], name: str) -> bool:
    """Whether some file holds the column as text."""
    for file in files:
        if file.schema.types is None:
            return True
        at = file.schema.types.get_field_index(name)
        if at >= 0 and is_text(_plain_type(file.schema.types.field(at).type)):
            return True
    return False


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _settle_dates(
    files: Sequence[TableFile],
    dates: Mapping[str, DateType],
    spelling: Spelling,
    expected: Mapping[str, Written | None],
    orders: Mapping[str, str],
) -> dict[str, ColumnType]:
    """The types of dates, those of which no cell tells day from month refused."""
    settled: dict[str, ColumnType] = {}
    for name, kind in dates.items():
        order = orders.get(name) or _fixed(name, expected).order
        if order:
            settled[name] = WrittenDateType(order)
        elif isinstance(kind, WrittenDateType) and not kind.ambiguous:
            later = partial(_survey_one, files, name, spelling, count_dates)
            settled[name] = WrittenDateType(kind.written.order, later)
    left = [name for name in dates if name not in settled]
    left = [name for name in left if isinstance(dates[name], WrittenDateType)]
    for name, counts in survey(files, left, spelling, count_dates).items():
        remedy = " or ".join(opt("date_format", f"{name}={each}") for each in counts.orders)
        settled[name] = (
            NestedType(BOTH_ORDERS, f"pass {remedy}")
            if counts.ambiguous
            else WrittenDateType(counts.order)
        )
    return settled


@dataclass(frozen=True, slots=True)
class _Counted(Generic[Some]):
    n_rows: int
    counts: dict[str, Some]


def survey(
    files: Sequence[TableFile],
    names: Sequence[str],
    spelling: Spelling,
    count: Callable[[pa.Array], Some],
) -> dict[str, Some]:
    """What all cells of text of the columns are: the sum of the counts of the blocks."""
    total = {name: count(pa.array([], pa.string())) for name in names}

    def count_block(records: pa.RecordBatch) -> _Counted[Some]:
        columns = dict(zip(records.schema.names, records.columns, strict=True))
        counts = {}
        for name in names:
            cells = compute.dictionary_decode(columns[name]) if name in columns else None
            if cells is not None and is_text(cells.type):
                counts[name] = count(take_sample(cells, spelling).cells)
        return _Counted(records.num_rows, counts)

    for file in files if names else ():
        stored = [name for name in names if name not in file.source.partitions]
        for block in file.batches(stored, (), BLOCK_ROWS, count_block, RaggedRows()):
            for name, counts in block.counts.items():
                total[name] = total[name] + counts
    return total


def _survey_one(
    files: Sequence[TableFile], name: str, spelling: Spelling, count: Callable[[pa.Array], Some]
) -> Some:
    """The counts of one column, asked when a cell needs more than the sample has shown."""
    return survey(files, [name], spelling, count)[name]
