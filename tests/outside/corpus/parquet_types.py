"""Parquet files of every type: numbers, decimals, text, dates, times, nested ones, nulls."""

import io
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from outside.corpus.base import BASE, N_ROWS, NUMBERS
from outside.corpus.case import AsPeers, Case, Refused
from outside.readings import DAY, NESTED, Moment, Span

TABLE = pa.table(BASE)
DAYS = [date(1969, 12, 30) + timedelta(at * 97) for at in range(N_ROWS)]
TIMES = [datetime(1969, 12, 31, 23, 59, 57, 123_456) + timedelta(0, at) for at in range(N_ROWS)]
CENTS = [Decimal(at * 19 - 7).scaleb(-2) for at in range(N_ROWS)]


def to_parquet(table: pa.Table, **settings: Any) -> bytes:
    """The table as a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, **settings)
    return file.getvalue()


def typed_columns() -> dict[str, tuple[pa.Array, list[Any]]]:
    """A column of each type that Arrow and Parquet have, and the values that are read."""
    small = [at * 9 - 50 for at in range(N_ROWS)]
    return _numbers(small) | _decimals() | _texts() | _times() | _nested()


def cases() -> Iterator[Case]:
    """Each column beside the small table."""
    for name, (array, held) in typed_columns().items():
        table = TABLE.add_column(0, "z", array)
        yield Case(f"{name}.parquet", to_parquet(table), {"z": held, **BASE})
    for name, array in far_timestamps().items():
        table = TABLE.add_column(0, "z", array)
        yield Case(f"{name}.parquet", to_parquet(table), Refused("calendars"))
    yield from _refused()


def _numbers(small: list[int]) -> dict[str, tuple[pa.Array, list[Any]]]:
    floats = [float(at) for at in small]
    columns: dict[str, tuple[pa.Array, list[Any]]] = {
        f"int{bits}": (pa.array(small, getattr(pa, f"int{bits}")()), floats)
        for bits in (8, 16, 32, 64)
    }
    for bits in (8, 16, 32, 64):
        edges = [0, 2**bits - 1] * 6
        columns[f"uint{bits}"] = pa.array(edges, getattr(pa, f"uint{bits}")()), [*map(float, edges)]
        edges = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] * 6
        name = f"int{bits}-edges"
        columns[name] = pa.array(edges, getattr(pa, f"int{bits}")()), [*map(float, edges)]
    beyond = [2**53 + at for at in range(N_ROWS)]
    columns["int64-beyond-doubles"] = pa.array(beyond), [*map(float, beyond)]
    halves = np.array([0.1, 65504, 6e-8, -1.5] * 3, np.float16)
    columns["float16"] = pa.array(halves), halves.astype(float).tolist()
    singles = np.array([0.1, 3.4028234e38, 1e-45, -1.5] * 3, np.float32)
    columns["float32"] = pa.array(singles), singles.astype(float).tolist()
    doubles = [0.1, 1e15, 5e-324, -0.0] * 3
    columns["float64"] = pa.array(doubles), doubles
    holed = [None if at % 3 == 0 else float(at) for at in range(N_ROWS)]
    columns["nullable-int"] = pa.array(holed, pa.int32()), holed
    columns["nullable-float"] = pa.array(holed), holed
    nans = [float("nan") if at % 3 == 0 else float(at) for at in range(N_ROWS)]
    columns["nan"] = pa.array(nans), holed
    columns["int-dictionary"] = pa.array(small).dictionary_encode(), floats
    columns["float-dictionary"] = pa.array(doubles).dictionary_encode(), doubles
    return columns


def _decimals() -> dict[str, tuple[pa.Array, list[Any]]]:
    """Each must be the double nearest to its digits, as in text."""
    columns: dict[str, tuple[pa.Array, list[Any]]] = {}
    for precision in (3, 9, 10, 18, 19, 38, 39, 76):
        kind = pa.decimal128(precision, 2) if precision <= 38 else pa.decimal256(precision, 2)
        columns[f"decimal-{precision}-2"] = (
            pa.array([Decimal(at * 73 % 999).scaleb(-2) for at in range(N_ROWS)], kind),
            [Decimal(at * 73 % 999).scaleb(-2) for at in range(N_ROWS)],
        )
    for bits, kind in {32: pa.decimal32(9, 3), 64: pa.decimal64(18, 3)}.items():
        cells = [Decimal(at * 100_003 - 7).scaleb(-3) for at in range(N_ROWS)]
        columns[f"decimal{bits}"] = pa.array(cells, kind), cells
    digits = [Decimal("1234567890123456789.0123456789") + at for at in range(N_ROWS)]
    columns["decimal-many-digits"] = pa.array(digits, pa.decimal128(38, 10)), digits
    tiny = [Decimal(at).scaleb(-30) for at in range(N_ROWS)]
    columns["decimal-tiny"] = pa.array(tiny, pa.decimal128(38, 30)), tiny
    prices = [Decimal("1.90"), Decimal("1003.858"), Decimal("7712.48"), Decimal("-999.9")] * 3
    columns["decimal-prices"] = pa.array(prices, pa.decimal128(20, 3)), prices
    columns["decimal-negative-scale"] = (
        pa.array([Decimal(at).scaleb(3) for at in range(N_ROWS)], pa.decimal128(9, 0)),
        [at * 1000.0 for at in range(N_ROWS)],
    )
    holed = [None if at == 4 else cell for at, cell in enumerate(CENTS)]
    columns["decimal-nullable"] = pa.array(holed, pa.decimal128(9, 2)), holed
    columns["decimal-dictionary"] = pa.array(CENTS).dictionary_encode(), CENTS
    return columns


def _texts() -> dict[str, tuple[pa.Array, list[Any]]]:
    texts = ["", "größe", "🦊", "a\nb", 'q"', "s", "007", "1.5", "true", "NA", "nan", "a\x01b"]
    read = [None, *texts[1:]]
    flags = [at % 2 == 0 for at in range(N_ROWS)]
    spelled = ["true" if flag else "false" for flag in flags]
    iso = [day.isoformat() for day in DAYS]
    return {
        "text": (pa.array(texts), read),
        "large-text": (pa.array(texts, pa.large_string()), read),
        "text-view": (pa.array(texts, pa.string_view()), read),
        "text-dictionary": (pa.array(texts).dictionary_encode(), read),
        "text-nullable": (pa.array([None, *texts[1:]]), read),
        "text-numbers": (pa.array([str(at) for at in range(N_ROWS)]), [*map(str, range(N_ROWS))]),
        "text-dates": (pa.array(iso), DAYS),
        "text-long": (pa.array(["w" * 4000] * N_ROWS), ["w" * 4000] * N_ROWS),
        "boolean": (pa.array(flags), spelled),
        "boolean-nullable": (pa.array([None, *flags[1:]]), [None, *spelled[1:]]),
        "null": (pa.nulls(N_ROWS), [None] * N_ROWS),
        "json": (pa.array(texts, pa.json_()), [NESTED] * N_ROWS),
    }


def _times() -> dict[str, tuple[pa.Array, list[Any]]]:
    edges = [date(1, 1, 1), date(9999, 12, 31)] * 6
    moments: dict[str, tuple[pa.Array, list[Any]]] = {
        "date32": (pa.array(DAYS), DAYS),
        "date64": (pa.array(DAYS, pa.date64()), DAYS),
        "date-edges": (pa.array(edges), edges),
        "date-nullable": (pa.array([None, *DAYS[1:]]), [None, *DAYS[1:]]),
    }
    whole = [moment.replace(microsecond=0) for moment in TIMES]
    millis = [moment.replace(microsecond=123_000) for moment in TIMES]
    for unit, cells in {"s": whole, "ms": millis, "us": TIMES, "ns": TIMES}.items():
        moments[f"timestamp-{unit}"] = pa.array(cells, pa.timestamp(unit)), cells
        aware = [cell.replace(tzinfo=UTC) for cell in cells]
        zoned = pa.array(aware, pa.timestamp(unit, "America/New_York"))
        moments[f"timestamp-{unit}-zone"] = zoned, cells
        spans = [cell - TIMES[0].replace(microsecond=0) for cell in cells]
        moments[f"duration-{unit}"] = pa.array(spans, pa.duration(unit)), spans
    # Far from 1970, a second or a millisecond is a number of microseconds that int64 cannot hold.
    for unit, scale in {"s": 10**9, "ms": 10**6}.items():
        cells = _far_times(scale)
        held: list[Any] = [Span(at * scale) for at in cells]
        moments[f"duration-{unit}-far"] = pa.array(cells, pa.duration(unit)), held
    last = 2**63 - 1
    cut = Moment(last // 1000 * 1000)
    moments["timestamp-ns-last"] = pa.array([last] * N_ROWS, pa.timestamp("ns")), [cut] * N_ROWS
    clock = [time(at, at * 4, 59) for at in range(N_ROWS)]
    moments["time32-s"] = pa.array(clock, pa.time32("s")), clock
    moments["time32-ms"] = pa.array(clock, pa.time32("ms")), clock
    moments["time64-us"] = (
        pa.array([each.replace(microsecond=7) for each in clock]),
        [each.replace(microsecond=7) for each in clock],
    )
    moments["time64-ns"] = pa.array(clock, pa.time64("ns")), clock
    moments["date64-days"] = (
        pa.array([at * 86_400_000 for at in range(N_ROWS)], pa.date64()),
        [Moment(at * DAY) for at in range(N_ROWS)],
    )
    return moments


def _far_times(scale: int) -> list[int]:
    """Counts of a unit of so many nanoseconds, half a day apart, beyond the year 200,000."""
    return [(2 * 107_640_000 + at) * (DAY // 2 // scale) for at in range(N_ROWS)]


def far_timestamps() -> dict[str, pa.Array]:
    """Points in time that no calendar has; the same counts as durations are read."""
    units = {"s": 10**9, "ms": 10**6}.items()
    return {
        f"timestamp-{unit}-far": pa.array(_far_times(scale), pa.timestamp(unit))
        for unit, scale in units
    }


def _nested() -> dict[str, tuple[pa.Array, list[Any]]]:
    held = [NESTED] * N_ROWS
    entries = pa.map_(pa.string(), pa.int64())
    return {
        "list": (pa.array([[at] for at in range(N_ROWS)]), held),
        "list-empty": (pa.array([[], None, [1]] * 4, pa.list_(pa.int64())), held),
        "list-of-lists": (pa.array([[[1], []]] * N_ROWS), held),
        "fixed-list": (pa.array([[1, 2]] * N_ROWS, pa.list_(pa.int8(), 2)), held),
        "struct": (pa.array([{"a": 1, "b": "x"}] * N_ROWS), held),
        "struct-of-struct": (pa.array([{"a": {"b": {"c": 1}}}] * N_ROWS), held),
        "struct-nullable": (pa.array([None, {"a": None}] * 6, pa.struct({"a": pa.int8()})), held),
        "map": (pa.array([[("k", 1)]] * N_ROWS, entries), held),
        "binary": (pa.array([b"\xff\x00"] * N_ROWS), held),
        "fixed-binary": (pa.array([b"ab"] * N_ROWS, pa.binary(2)), held),
        "uuid": (pa.array([bytes(16)] * N_ROWS, pa.uuid()), held),
    }


def _refused() -> Iterator[Case]:
    inf = TABLE.set_column(2, "y", pa.array([float("inf"), *NUMBERS[1:]]))
    yield Case("inf.parquet", to_parquet(inf), Refused("row 0: 'inf' is not a finite number"))
    twice = pa.Table.from_arrays([TABLE["x"], TABLE["x"], TABLE["y"]], ["x", "x", "y"])
    yield Case("duplicate.parquet", to_parquet(twice), Refused("'x' appears twice"))
    yield Case("no-rows.parquet", to_parquet(TABLE[:0]), Refused("no rows"))
    yield Case("no-columns.parquet", to_parquet(pa.table({})), Refused())
    unnamed = TABLE.rename_columns(["x", "", "y"])
    yield Case("unnamed.parquet", to_parquet(unnamed), AsPeers())
    only = pa.table({"z": pa.array([[1]] * N_ROWS)})
    yield Case("only-nested.parquet", to_parquet(only), {"z": [NESTED] * N_ROWS})
    huge = TABLE.set_column(2, "y", pa.array([Decimal(10) ** 75] * N_ROWS, pa.decimal256(76)))
    yield Case("decimal-huge.parquet", to_parquet(huge), {**BASE, "y": [1e75] * N_ROWS})
    bytes_ = pa.array([b"caf\xe9", b"ok"] * 6).view(pa.string())
    yield Case(
        "text-not-utf8.parquet", to_parquet(TABLE.set_column(1, "name", bytes_)), Refused("UTF")
    )
    text = to_parquet(TABLE.rename_columns(["x", "n@me", "y"]), store_schema=False)
    yield Case("name-not-utf8.parquet", text.replace(b"n@me", b"n\xffme"), Refused("UTF"))
    dots = TABLE.rename_columns(["a.b", "a", "y"])
    yield Case(
        "dots.parquet", to_parquet(dots), dict(zip(["a.b", "a", "y"], BASE.values(), strict=True))
    )
    pandas = TABLE.replace_schema_metadata({"pandas": "{not json"})
    yield Case("pandas-metadata.parquet", to_parquet(pandas), BASE)
    yield Case("int96-far.parquet", _int96_far(), AsPeers())


def _int96_far() -> bytes:
    far = pa.array([date(2400, 1, 1)] * N_ROWS).cast(pa.timestamp("us"))
    return to_parquet(TABLE.add_column(0, "z", far), use_deprecated_int96_timestamps=True)
