"""What a program read from a file: columns of plain cells, which can be compared one by one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

MOST_ROWS = 20_000  # compared of a file; the rest is only counted
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400 * 10**9


@dataclass(frozen=True, slots=True)
class Moment:
    """A date or a point in time, in nanoseconds since 1970-01-01, in UTC where a zone is known."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Span:
    """A duration or a time of day, in nanoseconds."""

    nanoseconds: int


@dataclass(frozen=True, slots=True)
class Nested:
    """A cell of a list, a structure or bytes, which lrisk refuses; its contents are left out."""


NESTED = Nested()
Cell = None | bool | int | float | Decimal | str | Moment | Span | Nested


@dataclass(frozen=True, slots=True)
class ReadColumn:
    """A column as it was read. kind: what lrisk takes it for, empty where another program read it.

    n_invalid: cells that are not of the column's type, which lrisk refuses unless it may drop rows.
    """

    name: str
    cells: list[Cell]
    kind: str = ""
    n_invalid: int = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """The columns, or why there are none.

    refusal: the sentence of lrisk, also beside columns if only cells of a wrong type stand in the
    way of a fit. exit_code: of a command that reads the file. delimiter: of text.
    """

    columns: list[ReadColumn] | None
    n_rows: int = 0
    refusal: str = ""
    exit_code: int = 0
    delimiter: str | None = None
    notes: list[str] = field(default_factory=list)


def read_with_lrisk(path: str, options: Mapping[str, Any]) -> Reading:
    """The file as every command of lrisk reads it, before its cells are encoded."""
    from lrisk_cli.errors import LriskError
    from lrisk_cli.tables.options import Data
    from lrisk_cli.tables.table import open_table

    refusal, code = "", 0
    try:
        table = open_table(Data(data=(path,), **options).parse())
        delimiter = getattr(table.files[0].schema, "delimiter", None)
        try:
            columns, n_rows = _read_columns(table, lenient=False)
        except LriskError as error:
            refusal, code = str(error), int(error.exit_code)
            columns, n_rows = _read_columns(table, lenient=True)
    except LriskError as error:
        return Reading(None, refusal=str(error), exit_code=int(error.exit_code))
    return Reading(columns, n_rows, refusal, code, delimiter)


def _read_columns(table: Any, *, lenient: bool) -> tuple[list[ReadColumn], int]:
    """All columns that can be read. lenient: cells of a wrong type are missing, not an error."""
    flat = [column.name for column in table.columns if column.kind != "nested"]
    cells: dict[str, list[Cell]] = {column.name: [] for column in table.columns}
    invalid = dict.fromkeys(cells, 0)
    n_rows = 0
    for batch in table.batches(flat, invalid_as_missing=lenient):
        kept = max(0, min(batch.n_rows, MOST_ROWS - n_rows))
        n_rows += batch.n_rows
        for name in cells:
            if name in flat:
                cells[name] += _plain_cells(batch.columns[name][:kept])
            else:
                cells[name] += [NESTED] * kept
        for name, cell in batch.invalid.items():
            invalid[name] += cell.count
    columns = [
        ReadColumn(column.name, cells[column.name], column.kind, invalid[column.name])
        for column in table.columns
    ]
    return columns, n_rows


def _plain_cells(values: Any) -> list[Cell]:
    """Numbers with None for NaN, or texts with None for missing ones."""
    if hasattr(values, "codes"):
        return [None if code < 0 else values.values[code] for code in values.codes]
    return [None if number != number else number for number in values.tolist()]


def arrow_cells(column: pa.Array) -> list[Cell]:
    """The cells of an Arrow array without any rounding."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        codes, values = column.indices.to_pylist(), arrow_cells(column.dictionary)
        return [None if code is None else values[code] for code in codes]
    if pa.types.is_date32(kind):
        return [None if day is None else Moment(day * DAY) for day in _integers(column, pa.int32())]
    if pa.types.is_date64(kind):
        return [None if at is None else Moment(at * 10**6) for at in _integers(column, pa.int64())]
    if pa.types.is_timestamp(kind):
        unit = NANOSECONDS[kind.unit]
        return [None if at is None else Moment(at * unit) for at in _integers(column, pa.int64())]
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        unit = NANOSECONDS[kind.unit]
        stored = pa.int32() if pa.types.is_time32(kind) else pa.int64()
        return [None if at is None else Span(at * unit) for at in _integers(column, stored)]
    if _is_plain(kind):
        return column.to_pylist()
    return [NESTED] * len(column)


def _integers(column: pa.Array, kind: pa.DataType) -> list[int | None]:
    return column.view(kind).to_pylist()


def _is_plain(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)
        or types.is_decimal(kind) or types.is_string(kind) or types.is_large_string(kind)
        or types.is_string_view(kind) or types.is_null(kind)
    )  # fmt: skip


def python_cell(value: Any) -> Cell:
    """A value of Python, as pandas gives it and as expectations write it."""
    if value is None or isinstance(value, bool | int | Decimal | str | Moment | Span | Nested):
        return value
    if isinstance(value, float):
        return None if value != value else value
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return Moment(_nanoseconds(moment - datetime(1970, 1, 1, tzinfo=UTC)))
    if isinstance(value, date):
        return Moment((value - date(1970, 1, 1)).days * DAY)
    if isinstance(value, timedelta):
        return Span(_nanoseconds(value))
    if isinstance(value, time):
        whole = (value.hour * 60 + value.minute) * 60 + value.second
        return Span(whole * 10**9 + value.microsecond * 1000)
    return NESTED


def _nanoseconds(span: timedelta) -> int:
    return (span.days * 86_400 + span.seconds) * 10**9 + span.microseconds * 1000
