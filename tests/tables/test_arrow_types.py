"""Columns of every Arrow type, alone and under --dtype; files that differ in what they hold."""

import gzip
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from helpers.program import document, lrisk, refusal
from helpers.tables import kinds, read
from lrisk_cli.errors import DataError
from lrisk_cli.tables.cells import InvalidCell
from lrisk_cli.tables.column_types.boolean import BOOLEAN_NUMBER
from lrisk_cli.tables.table import open_table

BIG = 2**53 + 1
DAY = date(2020, 2, 29)
NAN = "nan"  # a missing number, which equals itself

# Cells, then what they are as they come, as numbers, and as categories.
TYPES = {
    "bool": (pa.array([True, None, False]), "category", [1.0, NAN, 0.0], ["true", None, "false"]),
    "decimal128": (
        pa.array([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal128(9, 2)),
        "number", [1.5, NAN, -2.0], ["1.50", None, "-2.00"],
    ),
    "decimal256": (
        pa.array([Decimal("1.5"), Decimal("1e30"), None], pa.decimal256(60, 1)),
        "number", [1.5, 1e30, NAN], ["1.5", "1" + "0" * 30 + ".0", None],
    ),
    "int64": (pa.array([7, None, BIG]), "number", [7.0, NAN, 2.0**53], ["7", None, str(BIG)]),
    "uint64": (
        pa.array([2**64 - 1, 2**63 + 1, None], pa.uint64()),
        "number", [2.0**64, 2.0**63, NAN], [str(2**64 - 1), str(2**63 + 1), None],
    ),
    "dictionary of ints": (
        pa.array([BIG, 3, None]).dictionary_encode(),
        "number", [2.0**53, 3.0, NAN], [str(BIG), "3", None],
    ),
    "dictionary of floats": (
        pa.array([0.5, 3.0, None]).dictionary_encode(),
        "number", [0.5, 3.0, NAN], ["0.5", "3", None],
    ),
    "dictionary of texts": (
        pa.array(["4", None, "05"]).dictionary_encode(),
        "category", [4.0, NAN, 5.0], ["4", None, "05"],
    ),
    "dictionary of dates": (
        pa.array([DAY, None, DAY]).dictionary_encode(),
        "date", [18321.0, NAN, 18321.0], ["2020-02-29", None, "2020-02-29"],
    ),
    "duration": (
        pa.array([timedelta(hours=36), None, timedelta(hours=-6)]),
        "number", [1.5, NAN, -0.25], ["129600000000", None, "-21600000000"],
    ),
    "time of day": (
        pa.array([time(6), None, time(18)], pa.time32("s")),
        "number", [0.25, NAN, 0.75], ["06:00:00", None, "18:00:00"],
    ),
    "moment": (
        pa.array([datetime(2020, 1, 10, 5, 10), datetime(2020, 1, 1, 5, 6, 7, 120000)]),
        "date", [18271 + 31 / 144, 18262 + 18367.12 / 86400],
        ["2020-01-10 05:10:00", "2020-01-01 05:06:07.12"],
    ),
    "half": (pa.array(np.array([0.5, 2.0, -1.0], np.float16)), "number", [0.5, 2.0, -1.0],
             ["0.5", "2", "-1"]),
    "large text": (
        pa.array(["1", "2", None], pa.large_string()),
        "category", [1.0, 2.0, NAN], ["1", "2", None],
    ),
    "text view": (
        pa.array(["1", "2", None], pa.string_view()), "category", [1.0, 2.0, NAN], ["1", "2", None],
    ),
    "null": (pa.nulls(3), "category", [NAN] * 3, [None] * 3),
}  # fmt: skip


def same(cells: list) -> list:
    return [NAN if cell != cell else cell for cell in cells]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_a_number_a_category_or_what_it_looks_like(tmp_path, name, suffix):
    cells, kind, numbers, texts = TYPES[name]
    path, table = str(tmp_path / f"t.{suffix}"), pa.table({"c": cells})
    if suffix == "parquet":
        if name == "text view" and int(pa.__version__.partition(".")[0]) < 21:
            pytest.skip(
                "PYARROW BELOW 21: it reads views of text, and cannot write them to Parquet"
            )
        pq.write_table(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    plain = open_table([path])
    assert kinds(plain) == {"c": kind}
    assert same(read(plain)["c"]) == (texts if kind == "category" else numbers)
    assert same(read(open_table([path], dtypes={"c": "number"}))["c"]) == numbers
    for dtype in ("category", "string"):
        assert read(open_table([path], dtypes={"c": dtype}))["c"] == texts


NESTED = {
    "list": pa.array([[1.0], [2.0], None]),
    "struct": pa.array([{"a": 1}, {"a": 2}, None]),
    "map": pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"a", b"b", None]),
    "fixed binary": pa.array([b"ab", b"cd", None], pa.binary(2)),
    "list of texts": pa.array([["a"], [], None]),
}


@pytest.mark.parametrize("name", NESTED)
def test_cells_that_hold_many_values_are_refused_unless_excluded(tmp_path, name):
    n = 20
    column = pa.concat_arrays([NESTED[name]] * n).slice(0, n)
    table = pa.table({"c": column, "x": np.arange(n) ** 0.5, "y": np.arange(n) % 7 * 1.0})
    pq.write_table(table, tmp_path / "t.parquet")
    command = ("fit", "t.parquet", "--target", "y", "--risk", "mean", "--quiet")
    for options in ((), ("--dtype", "c=number"), ("--dtype", "c=string"), ("--dry-run",)):
        told = refusal(lrisk(tmp_path, *command, *options), 3)
        assert "t.parquet, column 'c': holds neither numbers nor text; pass --exclude c" in told
    assert lrisk(tmp_path, *command, "--exclude", "c").returncode == 0


def test_true_and_false_are_alike_in_text_and_in_arrow(tmp_path):
    cells = [True, False, None, True] * 6
    table = pa.table({"b": cells, "x": np.arange(24) % 5 * 1.5, "y": np.arange(24) % 7 * 1.0})
    pq.write_table(table, tmp_path / "t.parquet")
    pacsv.write_csv(table, tmp_path / "t.csv")
    (tmp_path / "shout.csv").write_text((tmp_path / "t.csv").read_text().replace("true", " TRUE "))
    for options in ((), ("--dtype", "b=number"), ("--dtype", "b=category")):
        command = ("--target", "y", "--missing", "impute", "--risk", "mean", "--quiet", "--force")
        for name in ("t.parquet", "t.csv"):
            done = lrisk(tmp_path, "fit", name, *command, *options, "-o", f"{name}.json")
            assert done.returncode == 0, done.stderr
        models = [(tmp_path / f"{name}.json").read_bytes() for name in ("t.parquet", "t.csv")]
        assert models[0] == models[1]
    numbers = read(open_table([str(tmp_path / "shout.csv")], dtypes={"b": "number"}))["b"]
    assert same(numbers) == [1.0, 0.0, NAN, 1.0] * 6
    _, invalid = BOOLEAN_NUMBER.read(pa.array(["true", None, "", "maybe", "1"]))
    assert invalid == InvalidCell(3, "maybe", 2, "truth value")


def test_classes_keep_every_digit_of_large_whole_numbers(tmp_path):
    codes = [BIG + k % 3 for k in range(30)]
    table = pa.table({"code": codes, "x": np.arange(30) % 7 * 1.0, "y": np.arange(30) % 4 * 1.0})
    pq.write_table(table, tmp_path / "t.parquet")
    command = ("fit", "t.parquet", "--target", "code", "--risk", "mean", "--json", "--quiet")
    told = refusal(lrisk(tmp_path, *command, "--task", "classification"), 3)
    assert "column 'code': holds numbers beyond 2^53" in told
    assert "--dtype code=category" in told
    done = lrisk(tmp_path, *command, "--dtype", "code=category", "-o", "m.json")
    assert document(done)["task"] == "classification"
    shown = document(lrisk(tmp_path, "show", "m.json", "--json"))
    assert shown["classes"] == [str(BIG), str(BIG + 1), str(BIG + 2)]
    done = lrisk(tmp_path, "fit", "t.parquet", "--target", "y", "--id", "code", "--losses", "l.csv",
                 "--quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(BIG) in (tmp_path / "l.csv").read_text()


def test_a_column_without_a_value_is_refused_by_fits_and_dry_runs(tmp_path):
    table = pa.table({"c": pa.nulls(9), "x": np.arange(9.0), "y": np.arange(9) % 4 * 1.0})
    pq.write_table(table, tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("c,x,y\n" + "".join(f",{k},{k % 4}\n" for k in range(9)))
    for name in ("t.parquet", "t.csv"):
        command = ("fit", name, "--target", "y", "--missing", "impute", "--risk", "mean", "--quiet")
        for options in ((), ("--dry-run",), ("--dtype", "c=number"), ("--dtype", "c=category")):
            told = refusal(lrisk(tmp_path, *command, *options), 3)
            assert "column 'c': missing in every row to learn from; pass --exclude c" in told
        assert lrisk(tmp_path, *command, "--exclude", "c").returncode == 0


def test_a_type_for_a_column_that_is_not_there_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("size,y\n1,2\n3,5\n")
    run = lrisk(tmp_path, "fit", "t.csv", "--target", "y", "--dtype", "sise=number")
    assert "t.csv: no column 'sise'; did you mean 'size'?" in refusal(run, 3)


def test_many_different_invalid_cells_are_codes(tmp_path):
    numbers = [f"{k}.{k % 7}" for k in range(100, 180)]
    for n_codes, kind in ((10, "number"), (11, "category")):
        cells = [*numbers, "", *(f"V{k}" for k in range(n_codes)), "V1", "NaN"]
        (tmp_path / "t.csv").write_text("c,y\n" + "".join(f"{cell},1\n" for cell in cells))
        assert kinds(open_table([str(tmp_path / "t.csv")]))["c"] == kind
    table = open_table([str(tmp_path / "t.csv")], dtypes={"c": "number"})
    assert kinds(table)["c"] == "number"


# Several files


def write(folder: Path, name: str, **columns: object) -> str:
    path = str(folder / name)
    table = pa.table(columns)
    (pacsv.write_csv if name.endswith("csv") else pq.write_table)(table, path)
    return path


def test_order_and_width_of_numbers_may_differ_between_files(tmp_path):
    one = write(tmp_path, "a.parquet", n=[1, 2], t=["u", "v"])
    other = write(tmp_path, "b.parquet", t=["w", "u"], n=pa.array([0.5, 4.0], pa.float32()))
    third = write(tmp_path, "c.csv", t=["v", "v"], n=[7, 8])
    expected = {"n": [1.0, 2.0, 0.5, 4.0, 7.0, 8.0], "t": ["u", "v", "w", "u", "v", "v"]}
    assert read(open_table([one, other, third])) == expected


@pytest.mark.parametrize("name", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("cells", "kind"), [([1.5, 2.0], "number"), ([DAY, DAY], "date"), (["u", "v"], "category")]
)
def test_a_file_without_values_leaves_the_type_to_the_others(tmp_path, name, cells, kind):
    empty = write(tmp_path, f"a.{name}", c=pa.nulls(2), x=[1.0, 2.0])
    full = write(tmp_path, f"b.{name}", c=cells, x=[3.0, 4.0])
    for paths in ([empty, full], [full, empty]):
        table = open_table(paths)
        assert kinds(table) == {"c": kind, "x": "number"}
        assert [c for c in same(read(table)["c"]) if c not in (NAN, None)] == [
            18321.0 if cell == DAY else cell for cell in cells
        ]


def test_dictionaries_may_differ_between_files_and_batches(tmp_path):
    schema = pa.schema([("c", pa.dictionary(pa.int8(), pa.string()))])
    parts = [["a", "b", "a"], ["c", "a", None], ["b", "c", "c"]]
    with pa.ipc.new_stream(tmp_path / "s.arrow", schema) as writer:
        for part in parts[:2]:
            coded = pa.array(part).dictionary_encode().cast(schema.field(0).type)
            writer.write_batch(pa.record_batch([coded], schema))
    column = pa.array(parts[2] * 20).dictionary_encode()
    pq.write_table(pa.table({"c": column}), tmp_path / "p.parquet", row_group_size=7)
    table = open_table([str(tmp_path / "s.arrow"), str(tmp_path / "p.parquet")])
    assert read(table)["c"] == parts[0] + parts[1] + parts[2] * 20


def test_files_whose_types_differ_are_refused_by_file_and_column(tmp_path):
    one = write(tmp_path, "a.parquet", c=[1, 2], d=[DAY, DAY])
    texts = write(tmp_path, "b.parquet", c=["1", "2"], d=[DAY, DAY])
    spans = write(tmp_path, "c.parquet", c=[1, 2], d=[timedelta(1), timedelta(2)])
    with pytest.raises(DataError, match=r"b\.parquet, column 'c': holds string where .* has int64"):
        open_table([one, texts])
    with pytest.raises(DataError, match=r"c\.parquet, column 'd': holds duration"):
        open_table([one, spans])


def test_a_folder_without_a_name_for_its_rows_leaves_their_cells_missing(tmp_path):
    for part in ("00", "01", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"part={part}").mkdir()
        write(tmp_path / f"part={part}", "t.parquet", x=[1.0])
    assert read(open_table([str(tmp_path)]))["part"] == ["00", "01", None]


def test_a_folder_named_as_a_column_is_refused(tmp_path):
    (tmp_path / "x=1").mkdir()
    write(tmp_path / "x=1", "t.parquet", x=[1.0])
    with pytest.raises(DataError, match="column 'x' is also the name of a folder"):
        open_table([str(tmp_path)])


@pytest.mark.parametrize("compression", ["lz4", "zstd", "uncompressed"])
def test_feather_is_read_whatever_its_compression(tmp_path, compression):
    path = str(tmp_path / "t.feather")
    feather.write_feather(pa.table({"x": [1.5, 2.5]}), path, compression=compression)
    assert read(open_table([path])) == {"x": [1.5, 2.5]}


def test_old_feather_and_wrapped_parquet_are_refused_with_a_remedy(tmp_path):
    (tmp_path / "old.feather").write_bytes(b"FEA1" + bytes(60) + b"FEA1")
    with pytest.raises(DataError, match="Feather of version 1, which few still read; save as"):
        open_table([str(tmp_path / "old.feather")])
    inner = Path(write(tmp_path, "t.parquet", x=[1.0])).read_bytes()
    (tmp_path / "t.parquet.gz").write_bytes(gzip.compress(inner))
    with pytest.raises(DataError, match="Parquet or Arrow inside gzip; decompress the file"):
        open_table([str(tmp_path / "t.parquet.gz")])


def test_standard_input_takes_every_format(tmp_path):
    table = pa.table({"x": np.arange(9.0), "y": np.arange(9) % 4 * 1.0})
    pq.write_table(table, tmp_path / "t.parquet")
    pacsv.write_csv(table, tmp_path / "t.csv")
    feather.write_feather(table, str(tmp_path / "t.feather"))
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    prints = set()
    for name in ("t.parquet", "t.csv", "t.feather", "t.arrow", "t.csv.gz"):
        done = lrisk(tmp_path, "fit", "-", "--target", "y", "--json", "--quiet", text=False,
                     input=(tmp_path / name).read_bytes())  # fmt: skip
        prints.add(document(done)["fit"]["fingerprint"])
    assert len(prints) == 1
