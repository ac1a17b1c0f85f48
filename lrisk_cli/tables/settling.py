"""Decide how columns of text are written where no sample can tell: by all cells, or by a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from lrisk_cli.errors import opt
from lrisk_cli.tables import compute
from lrisk_cli.tables.cells import is_text
from lrisk_cli.tables.column_types.base import ColumnType, Doubt, take_sample
from lrisk_cli.tables.column_types.category import CategoryType
from lrisk_cli.tables.column_types.nested import NestedType
from lrisk_cli.tables.column_types.number import DurationType, NumberType, asked_for
from lrisk_cli.tables.column_types.numerals import (
    UNKNOWN,
    Counts,
    Written,
    count_cells,
    decimal_of,
    written_by,
)
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.reader import TableFile

BLOCK_ROWS = 16_384
BOTH_MARKS = "its commas may stand before decimals or between thousands"


def settle_types(
    files: Sequence[TableFile],
    types: Mapping[str, ColumnType],
    spelling: Spelling,
    expected: Mapping[str, Written | None],
    asked: Mapping[str, str],
) -> dict[str, ColumnType]:
    """The types, those of numbers with what is known of how they are written.

    expected: how the columns that a model needs were written; None where programs wrote them.
    asked: the kinds that the user asks for. Columns whose sample leaves a mark open are read once
    in whole.
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
    counted = survey(files, open_names, spelling)
    found: dict[str, Written] = {}
    for name, counts in counted.items():
        wanted = asked_for(spelling, _fixed(name, expected))
        found[name] = written_by(counts, decimal_of(counts, wanted), wanted)
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
            else kind.rewritten(written, _later(files, name, spelling))
        )
    return settled


def _with_spaces(
    kind: ColumnType, name: str, spelling: Spelling, expected: Mapping[str, Written | None]
) -> ColumnType:
    """A column of texts keeps the spaces around them where an option or a model says so."""
    kept = spelling.keep_spaces or _fixed(name, expected).spaces
    if type(kind) is CategoryType and kept:
        return CategoryType(kind.doubt, Written(spaces=True))
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


@dataclass(frozen=True, slots=True)
class _Counted:
    n_rows: int
    counts: dict[str, Counts]


def survey(
    files: Sequence[TableFile], names: Sequence[str], spelling: Spelling
) -> dict[str, Counts]:
    """What all cells of the columns are as numbers."""
    total = {name: Counts() for name in names}
    asked = asked_for(spelling)

    def count(records: pa.RecordBatch) -> _Counted:
        columns = dict(zip(records.schema.names, records.columns, strict=True))
        counts = {}
        for name in names:
            cells = compute.dictionary_decode(columns[name]) if name in columns else None
            if cells is not None and is_text(cells.type):
                counts[name] = count_cells(take_sample(cells, spelling).cells, asked)
        return _Counted(records.num_rows, counts)

    for file in files if names else ():
        stored = [name for name in names if name not in file.source.partitions]
        for block in file.batches(stored, (), BLOCK_ROWS, count, RaggedRows()):
            for name, counts in block.counts.items():
                total[name] += counts
    return total


def _later(files: Sequence[TableFile], name: str, spelling: Spelling) -> Callable[[], Counts]:
    """What counts the cells of a column when a cell needs more than the sample has shown."""
    return lambda: survey(files, [name], spelling)[name]
