"""Every Arrow type in every reading: as a feature, a target, an id and a group, alike in all."""

import uuid
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from helpers.tables import kinds
from lrisk_cli.cli import run
from lrisk_cli.errors import DataError
from lrisk_cli.tables.table import Texts, open_table

N = 24
NUMBERS = [1, 2, 5]
DAYS = [date(2020, 1, 1), date(2021, 1, 5), date(2019, 2, 28)]
MOMENTS = [datetime(2020, 1, 1, 6), datetime(2021, 1, 5), datetime(2019, 2, 28, 12)]
SPANS = [timedelta(days=1), timedelta(hours=6), timedelta(days=-2)]
DECIMALS = [Decimal("1.90"), Decimal("0.07"), Decimal("-2.15")]
MOMENT_DAYS = [18262.25, 18632.0, 17955.5]
TEXTS = ["a", "b", "c"]
BIG = [2**53 + 1, 2**62 + 1, -(2**53) - 1]

# Three cells of each type, and the numbers or texts that they are.
READ = {
    **{str(kind): (pa.array(NUMBERS, kind), NUMBERS) for kind in (
        pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(),
        pa.uint64(), pa.float16(), pa.float32(), pa.float64(),
    )},
    **{f"decimal {kind}": (pa.array(DECIMALS, kind), [1.9, 0.07, -2.15]) for kind in (
        pa.decimal128(9, 2), pa.decimal128(38, 2), pa.decimal256(76, 2),
    )},
    "whole decimals": (pa.array([Decimal(1200), Decimal(300), Decimal(-700)], pa.decimal128(9, -2)),
                       [1200.0, 300.0, -700.0]),
    "text": (pa.array(TEXTS), TEXTS),
    "long text": (pa.array(TEXTS, pa.large_string()), TEXTS),
    "text view": (pa.array(TEXTS, pa.string_view()), TEXTS),
    "truth": (pa.array([True, False, True]), ["true", "false", "true"]),
    "day": (pa.array(DAYS), [18262.0, 18632.0, 17955.0]),
    "day of milliseconds": (pa.array(DAYS, pa.date64()), [18262.0, 18632.0, 17955.0]),
    **{f"moment {unit} {zone}": (pa.array(MOMENTS, pa.timestamp(unit, zone)), MOMENT_DAYS)
       for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Tokyo", "-03:30")},
    **{f"span {unit}": (pa.array(SPANS, pa.duration(unit)), [1.0, 0.25, -2.0])
       for unit in ("s", "ms", "us", "ns")},
    **{f"time {kind}": (pa.array([21_600, 0, 43_200], pa.int32()).view(pa.time32("s")).cast(kind),
                        [0.25, 0.0, 0.5])
       for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))},
}  # fmt: skip

IDS = [uuid.UUID(int=k).bytes for k in range(3)]
LIST, RUNS = pa.array([[1], [2], [3]]), pa.array([1, 2, 3], pa.int32())
REFUSED = {
    "bytes": pa.array([b"a", b"b", b"c"]),
    "long bytes": pa.array([b"a", b"b", b"c"], pa.large_binary()),
    "bytes view": pa.array([b"a", b"b", b"c"], pa.binary_view()),
    "bytes of one length": pa.array(IDS, pa.binary(16)),
    "list": LIST,
    "long list": LIST.cast(pa.large_list(pa.int64())),
    "list of one length": pa.array([[1], [2], [3]], pa.list_(pa.int64(), 1)),
    "list view": pa.array([[1], [2], [3]], pa.list_view(pa.int64())),
    "struct": pa.array([{"a": 1}, {"a": 2}, {"a": 3}]),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "union": pa.UnionArray.from_sparse(
        pa.array([0, 1, 0], pa.int8()), [pa.array([1, 2, 3]), pa.array(TEXTS)]
    ),
    "months and days": pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()),
    "runs": pa.RunEndEncodedArray.from_arrays(RUNS, pa.array(NUMBERS)),
    "runs of text": pa.RunEndEncodedArray.from_arrays(RUNS, pa.array(TEXTS)),
    "tensor": pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.int64(), [1]), pa.array([[1], [2], [3]], pa.list_(pa.int64(), 1))
    ),
    "decimals of no scale": pa.Array.from_buffers(
        pa.decimal128(9, -100), 3, [None, pa.py_buffer(bytes(48))]
    ),
}
for name, storage in (
    ("uuid", pa.array(IDS, pa.binary(16))),
    ("bool8", pa.array([0, 1, 2], pa.int8())),
    ("json_", pa.array(["{}", "1", "[]"])),
):
    if hasattr(pa, name):  # younger than the oldest pyarrow
        REFUSED[name] = pa.ExtensionArray.from_storage(getattr(pa, name)(), storage)
CODED = [name for name in READ if name not in ("text view", "whole decimals")]


def write(path: Path, columns: dict[str, object]) -> str:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    return str(path)


def cells(values: object) -> list:
    if isinstance(values, Texts):
        return [values.values[code] if code >= 0 else None for code in values.codes]
    return values.tolist()


def column(path: str, *, as_is: bool = False, dtype: str | None = None) -> list:
    table = open_table(path, dtypes=None if dtype is None else {"c": dtype})
    how = {"columns": [], "keep": ["c"]} if as_is else {"columns": ["c"]}
    batches = [(batch.kept | batch.columns)["c"] for batch in table.batches(**how)]
    return [cell for batch in batches for cell in cells(batch)]


def check_readings(path: str, expected: list, original: pa.Array) -> None:
    """As the column type that it has, as categories that differ as the cells do, and as an id."""
    assert column(path) == expected
    texts = column(path, dtype="category")
    assert len(set(texts)) == len(set(expected))
    assert None not in texts
    if all(isinstance(each, float | int) for each in expected):
        assert column(path, dtype="number") == expected
    if not pa.types.is_temporal(original.type):
        assert column(path, as_is=True) == original.to_pylist()


@pytest.mark.parametrize("name", READ)
def test_a_type_that_is_read_is_read_exactly_in_each_reading(tmp_path, name):
    stored, expected = READ[name]
    suffixes = [".arrow"] if name == "whole decimals" else [".arrow", ".parquet"]
    for suffix in suffixes:
        check_readings(write(tmp_path / f"t{suffix}", {"c": stored}), expected, stored)
    # A part of longer memory, in which the cells before and after are other ones.
    longer = pa.concat_arrays([stored.slice(2), stored, stored.slice(0, 1)]).slice(1, 3)
    check_readings(write(tmp_path / "part.arrow", {"c": longer}), expected, stored)


@pytest.mark.parametrize("name", CODED)
def test_a_dictionary_is_read_as_its_values_are(tmp_path, name):
    stored, expected = READ[name]
    coded = pa.DictionaryArray.from_arrays(pa.array([2, 0, 1], pa.int8()), stored)
    path = write(tmp_path / "t.arrow", {"c": coded})
    check_readings(path, [expected[2], expected[0], expected[1]], stored.take(coded.indices))


def test_dictionaries_of_views_nulls_and_repeated_values_are_read(tmp_path):
    index = pa.array([0, 1, 2], pa.uint64())
    for values, expected in (
        (pa.array(TEXTS, pa.string_view()), TEXTS),
        (pa.array(["a", None, "a"]), ["a", None, "a"]),
        (pa.array(["b", "b", "a"]), ["b", "b", "a"]),
        (pa.array([1.5, None, 1.5]).fill_null(2.5), [1.5, 2.5, 1.5]),
    ):
        path = write(tmp_path / "t.arrow", {"c": pa.DictionaryArray.from_arrays(index, values)})
        assert column(path) == column(path, as_is=True) == expected


@pytest.mark.parametrize("name", REFUSED)
def test_a_type_that_is_not_read_is_refused_in_each_reading(tmp_path, name):
    path = write(tmp_path / "t.arrow", {"c": REFUSED[name], "y": [1.0, 2.0, 3.0]})
    assert kinds(open_table(path)) == {"c": "nested", "y": "number"}
    for how in ({}, {"as_is": True}, {"dtype": "category"}, {"dtype": "number"}):
        with pytest.raises(DataError, match="column 'c': holds neither numbers nor text"):
            column(path, **how)
    assert [batch.n_rows for batch in open_table(path).batches(["y"])] == [2, 1]


def answer(folder: Path, monkeypatch, capsys, *arguments: str) -> tuple[int, str]:
    monkeypatch.chdir(folder)
    code = run([*arguments, "--quiet"])
    return code, capsys.readouterr().err


def test_an_unknown_zone_is_refused_only_where_moments_are_spelled(tmp_path):
    moments = pa.array([0, 43_200]).view(pa.timestamp("s", "Mars/Olympus"))
    path = write(tmp_path / "t.arrow", {"c": moments})
    assert column(path) == [0.0, 0.5]
    for how in ({"as_is": True}, {"dtype": "category"}):
        with pytest.raises(DataError, match=r"column 'c': cannot be read \(.*Mars/Olympus"):
            column(path, **how)


def test_a_time_that_no_calendar_has_is_refused_by_column_and_row(tmp_path, monkeypatch, capsys):
    seconds = np.arange(N) * 86_400
    seconds[17] = 2**62
    columns = {"c": pa.array(seconds).view(pa.timestamp("s")), "x": np.arange(N) % 7 * 1.0}
    write(tmp_path / "t.arrow", {**columns, "y": np.arange(N) % 5 * 1.0})
    place = f"t.arrow, column 'c', row 17: '{2**62} s' is not a date that calendars have; "
    command = ("fit", "t.arrow", "--target", "y", "--risk", "mean")
    for options in ((), ("--dtype", "c=category"), ("--dates", "parts"), ("--dry-run",)):
        code, told = answer(tmp_path, monkeypatch, capsys, *command, *options)
        assert (code, told) == (3, f"lrisk: error: {place}pass --missing drop\n")
    for options in (("--missing", "drop"), ("--missing", "impute")):
        monkeypatch.chdir(tmp_path)
        assert run([*command, *options, "--dates", "parts", "--quiet"]) == 0
        shown = capsys.readouterr()
        assert f"1 cells are no valid dates or times (such as '{2**62} s')" in shown.out
        assert [line.split()[-1] for line in shown.err.splitlines()] == ["[few_rows]"]
        outputs = ("--id", "c", "--losses", "losses.parquet", *options)
        code, told = answer(tmp_path, monkeypatch, capsys, *command, *outputs)
        assert (code, told) == (3, f"lrisk: error: {place}convert the column\n")
    assert not (tmp_path / "losses.parquet").exists()


def test_large_numbers_are_no_names_of_groups(tmp_path, monkeypatch, capsys):
    rows = np.arange(60)
    large = pa.array([2**53 + k % 3 for k in range(60)])
    columns = {"g": large, "x": rows % 7 * 1.0, "z": rows % 11 * 1.0, "y": rows % 5 * 1.0}
    write(tmp_path / "t.parquet", columns)
    command = ("quantile-report", "t.parquet", "--target", "y", "--risk", "superquantile:0.5")
    options = ("--exclude", "g", "--by", "g", "--repeats", "1")
    code, told = answer(tmp_path, monkeypatch, capsys, *command, *options)
    assert code == 3
    assert "column 'g': holds numbers beyond 2^53, which lose digits that may tell groups" in told
    code, told = answer(
        tmp_path, monkeypatch, capsys, "cluster", "t.parquet", "--clusters", "2", "--label", "g"
    )
    assert code == 3
    assert "column 'g': holds numbers beyond 2^53" in told


def undecodable(kind: pa.DataType, row: int) -> pa.Array:
    """Texts of which one is not UTF-8, which no function of Arrow has looked at."""
    data = [b"na\xefve" if k == row else b"ok" for k in range(12)]
    if kind == pa.string_view():
        return pa.array(data, pa.binary_view()).view(kind)
    parts = pa.array(data, pa.large_binary() if kind == pa.large_string() else pa.binary())
    return pa.Array.from_buffers(kind, len(data), parts.buffers())


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), "coded"])
def test_text_that_is_not_utf8_is_refused_by_row_in_each_reading(tmp_path, kind, suffix):
    texts = undecodable(pa.string() if kind == "coded" else kind, 5)
    if kind == "coded":
        few = undecodable(pa.string(), 1).slice(0, 2)
        texts = pa.DictionaryArray.from_arrays(pa.array([0] * 5 + [1] * 7, pa.int8()), few)
    path = write(tmp_path / f"t{suffix}", {"c": texts})
    # In the first batch of an Arrow file the dictionary holds a text that is in none of its rows.
    row = "" if (kind, suffix) == ("coded", ".arrow") else ", row 5"
    for how in ({}, {"dtype": "number"}, {"as_is": True}):
        with pytest.raises(DataError, match=f"column 'c'{row}: not UTF-8 text"):
            column(path, **how)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_csv_and_typed_files_give_the_same_model(tmp_path, monkeypatch, capsys, unit):
    rng = np.random.default_rng(5)
    price = [Decimal(int(k)) / 100 for k in rng.integers(-99_999, 99_999, 200)]
    rate = [Decimal(int(k)) / 10**15 for k in rng.integers(10**15, 10**17, 200)]
    grade = [Decimal(int(k)) / 100 for k in rng.choice([190, 7, 215], 200)]
    seconds = rng.integers(-(10**9), 2 * 10**9, 200).astype("M8[s]")
    table = pa.table({
        "price": pa.array(price, pa.decimal128(12, 2)),
        "rate": pa.array(rate, pa.decimal128(38, 15)),
        "when": pa.array(seconds).cast(pa.timestamp(unit)),
        "day": pa.array(seconds.astype("M8[D]")),
        "grade": pa.array(grade, pa.decimal256(40, 2)),
        "y": rng.normal(size=200),
    })  # fmt: skip
    pacsv.write_csv(table, tmp_path / "t.csv")
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    write(tmp_path / "t.arrow", {name: table[name] for name in table.column_names})
    for options in (
        ("--target", "y", "--dates", "parts"),
        ("--target", "price"),
        ("--target", "grade", "--task", "classification"),
        ("--target", "y", "--dtype", "grade=category"),
    ):
        models = []
        for suffix in ("csv", "parquet", "arrow"):
            command = ("fit", f"t.{suffix}", *options, "--risk", "mean", "-o", "m.json", "--force")
            code, told = answer(tmp_path, monkeypatch, capsys, *command)
            assert code == 0, told
            models.append((tmp_path / "m.json").read_bytes())
        assert models[0] == models[1] == models[2]
