"""Files of every format become the same batches; what cannot be read is refused with its place."""

import bz2
import csv
import gzip
import io
import subprocess
import sys
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.tables import kinds, read
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.inputs import make_inputs
from lrisk_cli.tables.table import open_table


def read_text(folder: Path, text: str | bytes, name: str = "t.csv", **how) -> dict[str, list]:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(open_table([str(path)], **how))


def refusal(folder: Path, text: str | bytes, name: str = "t.csv", **how) -> str:
    with pytest.raises(DataError) as caught:
        read_text(folder, text, name, **how)
    return str(caught.value).replace(str(folder) + "/", "")


# What a CSV column is taken for


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2.5", "-3e2", "+4", ".5", "6."], [1.0, 2.5, -300.0, 4.0, 0.5, 6.0]),
        (["1", " 2 ", "nan", "NaN", ""], [1.0, 2.0, None, None, None]),
        (["007", "012", "120"], ["007", "012", "120"]),
        (["0", "10", "0.5"], [0.0, 10.0, 0.5]),
        (["red", "1", "2 cm"], ["red", "1", "2 cm"]),
        (["None", "NA", ""], ["None", "NA", None]),
        (["True", "false", "TRUE"], ["true", "false", "true"]),
        (["True", "maybe"], ["True", "maybe"]),
        (["1970-01-02", "1969-12-31", ""], [1.0, -1.0, None]),
        (["1970-01-01T06:00:00", "1970-01-01 12:00"], [0.25, 0.5]),
        (["1970-01-01T06:00:00Z", "1970-01-01T06:00:00+06:00"], [0.25, 0.0]),
        (["1970-01-01T06:00:00Z", "1970-01-03"], [0.25, 2.0]),
        (["1e-400", "123456789012345678"], [0.0, 123456789012345680.0]),
    ],
)
def test_a_text_column_is_number_date_truth_or_text_by_what_it_holds(tmp_path, cells, expected):
    lines = [f'"{cell}",x' for cell in cells]
    found = read_text(tmp_path, "\n".join(["a,b", *lines]))["a"]
    assert [None if cell != cell else cell for cell in found] == expected


def test_a_column_is_typed_by_its_first_values_however_late_they_come(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    text = "a,b\n" + "1,\n" * 500 + "2,7.5\n"
    assert read_text(tmp_path, text)["b"][-1] == 7.5


def test_the_user_decides_the_type_of_a_column(tmp_path):
    text = "code,size\n1,007\n2,008\n"
    assert read_text(tmp_path, text, dtypes={"code": "category", "size": "number"}) == {
        "code": ["1", "2"],
        "size": [7.0, 8.0],
    }
    with pytest.raises(UsageError, match="dtype='code=int': no such type; use number, category"):
        read_text(tmp_path, text, dtypes={"code": "int"})
    assert "no column 'cod'; did you mean 'code'?" in refusal(
        tmp_path, text, dtypes={"cod": "number"}
    )
    assert read_text(tmp_path, text, expected={"gone": "number"})["code"] == [1.0, 2.0]


# Strays


@pytest.mark.parametrize(
    ("cell", "finding"),
    [
        ("n/a", "'n/a' is not a number"),
        ("inf", "'inf' is not a finite number"),
        ("1e999", "'1e999' is not a finite number"),
        ("0017", "'0017' is not a number"),
        ("1.5.2", "'1.5.2' is not a number"),
    ],
)
def test_an_invalid_cell_is_named_with_its_place_and_a_remedy(tmp_path, monkeypatch, cell, finding):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    text = "price,x\n" + "5,1\n" * 50 + f'"{cell}",1\n' + "6,1\n"
    assert refusal(tmp_path, text) == (
        f"t.csv, column 'price', row 50: {finding}; pass missing='drop' or dtype='price=string'"
    )
    table = open_table([str(tmp_path / "t.csv")])
    prices = read(table, invalid_as_missing=True)["price"]
    assert np.isnan(prices[50])
    assert prices[:50] + prices[51:] == [5.0] * 50 + [6.0]


def test_an_infinite_parquet_number_is_invalid_and_nan_is_missing(tmp_path):
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": [1.0, float("nan"), float("-inf")]}), path)
    with pytest.raises(DataError, match=r"column 'x', row 2: '-inf' is not a finite number"):
        read(open_table([path]))
    assert np.isnan(read(open_table([path]), invalid_as_missing=True)["x"][1:]).all()


def test_invalid_cells_of_real_heart_data_are_its_question_marks(real_data):
    table = open_table([str(real_data / "heart_cleveland_original.csv")])
    invalid: dict[str, int] = {}
    for batch in table.batches(["ca", "thal"], invalid_as_missing=True):
        for name, cell in batch.invalid.items():
            assert cell.text == "?"
            invalid[name] = invalid.get(name, 0) + cell.count
    assert invalid == {"ca": 4, "thal": 2}


# Unreadable files


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "t.csv: the file is empty; expected a table with a header and rows"),
        ("\n\n", "t.csv: the file is empty; expected a header line and rows"),
        ("a,b\n", "t.csv: a header but no rows; nothing to work on"),
        ("a,b,a\n1,2,3\n", "t.csv, header: column 'a' appears twice; rename one of them"),
        ("a,b\n1,2\n\n3\n", "t.csv, row 1: 1 field where the header has 2; check quotes"),
        ("a,b\n1,2\n1,2,3\n", "t.csv, row 1: 3 fields where the header has 2; check quotes"),
        (b"a,b\n1,x\n2,\xe9\n", "t.csv, row 1: not UTF-8 text: byte 0xE9 in line 3"),
        (b"a,\xe9\n1,2\n", "t.csv, header: not UTF-8 text: byte 0xE9 in line 1"),
        ("a,b\n1,2\n".encode("utf-16-le"), "t.csv, header: not UTF-8 text; pass encoding='utf-16'"),
        ('a,b\n1,"x\n2,y\n', "t.csv: the last record opens a quote and never closes it"),
        ('a,"b\n1,2\n', "t.csv, header: a quote is opened and never closed; close it"),
        (b"PK\x03\x04xxxx", "t.csv: a zip archive or spreadsheet; save the table in it as CSV"),
        (b"PAR1xxxxxxxx", "t.csv: cannot be read (Parquet"),
    ],
)
def test_a_damaged_text_file_is_refused_with_a_sentence(tmp_path, text, sentence):
    assert refusal(tmp_path, text).startswith(sentence)


def test_files_that_are_not_what_they_seem_are_refused(tmp_path):
    assert "damaged" in refusal(tmp_path, "a,b\n1,2\n", "t.parquet")
    assert "cannot be read" in refusal(tmp_path, b"ARROW1xxxxxxxx", "t.arrow")
    cut = gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-20]
    assert "t.csv.gz: cannot be read (" in refusal(tmp_path, cut, "t.csv.gz")
    whole = io.BytesIO()
    pq.write_table(pa.table({"a": np.random.default_rng(0).random(9999)}), whole)
    broken = bytearray(whole.getvalue())
    broken[4:64] = bytes(60)
    assert "t.parquet: cannot be read (" in refusal(tmp_path, bytes(broken), "t.parquet")


def test_a_path_that_leads_nowhere_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"nope\.csv: no such file; check the path"):
        open_table([str(tmp_path / "nope.csv")])
    with pytest.raises(DataError, match="no file matches this pattern"):
        open_table([str(tmp_path / "*.csv")])
    with pytest.raises(DataError, match="the folder holds no tables"):
        open_table([str(tmp_path)])
    with pytest.raises(UsageError, match="no table was named"):
        open_table([])


def test_an_absent_column_is_answered_with_the_nearest_names(tmp_path):
    (tmp_path / "t.csv").write_text("alcohol,quality\n1,2\n")
    table = open_table([str(tmp_path / "t.csv")])
    with pytest.raises(DataError, match=r"no column 'alcohl'; did you mean 'alcohol'\?"):
        table.column("alcohl")
    with pytest.raises(DataError, match="no column 'zzz'; it has alcohol, quality"):
        table.column("zzz")


# Dialects, compression, standard input


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("t.csv", b"a,b\n1,x\n2,y\n"),
        ("t.csv", b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n"),
        ("t.csv", b"\n\na,b\n\n1,x\n\n2,y\n\n"),
        ("t.csv", b"a,b\r1,x\r2,y"),
        ("t.csv", b'"a","b"\n"1","x"\n2,"y"'),
        ("t.csv", b"a;b\n1;x\n2;y\n"),
        ("t.tsv", b"a\tb\n1\tx\n2\ty\n"),
        ("t.csv", gzip.compress(b"a,b\n1,x\n2,y\n", mtime=0)),
        ("t.csv.bz2", bz2.compress(b"a,b\n1,x\n2,y\n")),
        ("t.tsv.zst", pa.compress(b"a\tb\n1\tx\n2\ty\n", "zstd", asbytes=True)),
    ],
)
def test_every_dialect_and_compression_gives_the_same_rows(tmp_path, name, data):
    assert read_text(tmp_path, data, name) == {"a": [1.0, 2.0], "b": ["x", "y"]}


def test_standard_input_is_read_twice(tmp_path):
    program = (
        "from lrisk_cli.tables.table import open_table; t = open_table(['-'])\n"
        "for _ in 'ab': print([b.columns['a'].tolist() for b in t.batches(['a'])])\n"
    )
    parquet = io.BytesIO()
    pq.write_table(pa.table({"a": [1.0, 2.0]}), parquet)
    for data in (b"a,b\n1,x\n2,y\n", gzip.compress(b"a\n1\n2\n", mtime=0), parquet.getvalue()):
        done = subprocess.run([sys.executable, "-c", program], input=data, capture_output=True)
        assert done.stdout.decode() == "[[1.0, 2.0]]\n" * 2, done.stderr.decode()


FIELDS = st.text(st.sampled_from('ab,;"\n\r é7'), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=30),
    block=st.integers(1, 80),
    dialect=st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\n", csv.QUOTE_ALL)]),
)
def test_records_split_over_blocks_read_as_the_csv_module_wrote_them(
    tmp_path_factory, rows, block, dialect
):
    rows = [("k" + left, right) for left, right in rows]  # Never a blank line.
    text = io.StringIO()
    lines, quoting = dialect
    writer = csv.writer(text, lineterminator=lines, quoting=quoting)
    writer.writerows([("left", "right"), *rows])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", block)
        path = tmp_path_factory.getbasetemp() / "t.csv"
        path.write_bytes(text.getvalue().encode())
        inputs = make_inputs([str(path)], None, None, None, keep_spaces=True)
        found = read(open_table(inputs, dtypes={"right": "string"}))
    expected = {"left": [left for left, _ in rows], "right": [right or None for _, right in rows]}
    assert found == expected


@settings(max_examples=100, deadline=None)
@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=40))
def test_numbers_survive_text_to_the_last_bit(tmp_path_factory, numbers):
    text = "x,y\n" + "".join(f"{number!r},1\n" for number in numbers)
    found = np.array(read_text(tmp_path_factory.getbasetemp(), text)["x"])
    assert found.tobytes() == np.array(numbers).tobytes()


# Parquet and Arrow


TYPED = pa.table(
    {
        "int": pa.array([1, None, 3], pa.int8()),
        "float": pa.array([0.5, None, 2.0], pa.float32()),
        "decimal": pa.array([Decimal("1.25"), None, Decimal("-3.00")]),
        "date": pa.array([date(1970, 1, 2), None, date(1969, 12, 31)]),
        "time": pa.array(
            [datetime(1970, 1, 1, 12), None, datetime(1970, 1, 2)], pa.timestamp("ns")
        ),
        "truth": pa.array([True, None, False]),
        "text": pa.array(["a", None, ""]),
        "iso": pa.array(["1970-01-03", None, "1970-01-01T12:00:00"]),
        "code": pa.array(["007", None, "1"]),
        "category": pa.array(["x", None, "y"]).dictionary_encode(),
        "nothing": pa.nulls(3),
    }
)
NAN = float("nan")
TYPED_ROWS = {
    "int": [1.0, NAN, 3.0],
    "float": [0.5, NAN, 2.0],
    "decimal": [1.25, NAN, -3.0],
    "date": [1.0, NAN, -1.0],
    "time": [0.5, NAN, 1.0],
    "truth": ["true", None, "false"],
    "text": ["a", None, None],
    "iso": [2.0, NAN, 0.5],
    "code": ["007", None, "1"],
    "category": ["x", None, "y"],
    "nothing": [None, None, None],
}


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow"])
@pytest.mark.parametrize("batch_rows", [1, 2, 100])
def test_typed_columns_become_numbers_or_text(tmp_path, name, batch_rows):
    path = str(tmp_path / name)
    if name == "t.parquet":
        pq.write_table(TYPED, path, row_group_size=2)
    elif name == "t.feather":
        feather.write_feather(TYPED, path)
    else:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_stream(file, TYPED.schema) as stream:
            stream.write_table(TYPED)
    np.testing.assert_equal(read(open_table([path], batch_rows=batch_rows)), TYPED_ROWS)


def test_a_number_read_as_category_is_spelled_briefly(tmp_path):
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": [1.0, 0.5, -0.0, 1e22], "n": [1, 20, 300, -4]}), path)
    table = open_table([path], dtypes={"x": "category", "n": "string"})
    assert read(table) == {"x": ["1", "0.5", "0", "1e+22"], "n": ["1", "20", "300", "-4"]}


def test_nested_columns_are_refused_only_when_asked_for(tmp_path):
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({"x": [1.0], "list": [[1, 2]]}), path)
    table = open_table([path])
    assert kinds(table) == {"x": "number", "list": "nested"}
    assert [batch.columns["x"].tolist() for batch in table.batches(["x"])] == [[1.0]]
    with pytest.raises(DataError, match=r"column 'list': holds neither .* pass exclude='list'"):
        next(table.batches(["x", "list"]))


def test_a_column_as_it_is_keeps_what_the_file_holds(tmp_path):
    path = str(tmp_path / "t.parquet")
    big = 2**63 - 1
    pq.write_table(pa.table({"id": [big, 7], "x": [1.0, 2.0]}), path)
    (batch,) = open_table([path]).batches(["x"], keep=["id"])
    assert batch.kept["id"].to_pylist() == [big, 7]
    (tmp_path / "t.csv").write_text("id,x\n007,1\n1e3,2\n")
    (batch,) = open_table([str(tmp_path / "t.csv")]).batches(["x"], keep=["id"])
    assert batch.kept["id"].to_pylist() == ["007", "1e3"]


# Several files


def test_several_files_read_as_one_table_in_the_order_given(tmp_path):
    (tmp_path / "b.csv").write_text("x,y\n1,u\n2,v\n")
    (tmp_path / "a.csv").write_text("y,x\nw,3\n")
    expected = {"x": [1.0, 2.0, 3.0], "y": ["u", "v", "w"]}
    assert read(open_table([str(tmp_path / "b.csv"), str(tmp_path / "a.csv")])) == expected
    assert read(open_table([str(tmp_path / "*.csv")]))["x"] == [3.0, 1.0, 2.0]
    assert read(open_table([str(tmp_path)]))["y"] == ["w", "u", "v"]
    places = [
        (Path(batch.source).name, batch.source_row, batch.first_row)
        for batch in open_table([str(tmp_path)], batch_rows=1).batches(["x"])
    ]
    assert places == [("a.csv", 0, 0), ("b.csv", 0, 1), ("b.csv", 1, 2)]


def test_files_whose_columns_differ_are_refused_by_name(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("x,z\n1,2\n")
    with pytest.raises(DataError, match=r"b\.csv: no column 'y', which .*a\.csv has"):
        open_table([str(tmp_path)])
    pq.write_table(pa.table({"x": [1], "y": [2.0]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1], "y": ["u"]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet, column 'y': holds string where .* double"):
        open_table([str(tmp_path / "*.parquet")])


def test_folders_name_columns_and_padded_ones_stay_text(tmp_path):
    for year, part, value in [("2012", "00", 1.0), ("2013", "01", 2.0)]:
        folder = tmp_path / f"year={year}" / f"part={part}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": [value, value]}), folder / "f.parquet")
    (tmp_path / "_metadata.csv").write_text("not a table")
    assert read(open_table([str(tmp_path)])) == {
        "x": [1.0, 1.0, 2.0, 2.0],
        "year": [2012.0, 2012.0, 2013.0, 2013.0],
        "part": ["00", "00", "01", "01"],
    }
    (batch, _) = open_table([str(tmp_path)]).batches(["part"])
    assert batch.columns["part"].values == ["00"]


def test_a_damaged_arrow_batch_is_refused_and_never_followed_out_of_its_memory(tmp_path):
    texts = pa.array(["ann", "bob", "cy"] * 20)
    feather.write_feather(
        pa.table({"t": texts, "y": range(60)}), tmp_path / "t.arrow", compression="uncompressed"
    )
    contents = bytearray((tmp_path / "t.arrow").read_bytes())
    offsets = contents.index(np.array([0, 3, 6, 8], np.int32).tobytes())
    contents[offsets + 8 : offsets + 12] = (2**30).to_bytes(4, "little")
    assert "cannot be read" in refusal(tmp_path, bytes(contents), "t.arrow")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_without_columns_is_refused(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    {"parquet": pq.write_table, "arrow": feather.write_feather}[suffix](pa.table({}), path)
    with pytest.raises(DataError, match="no columns"):
        open_table([str(path)])


def test_folders_name_the_only_columns_that_can_be_used(tmp_path):
    for year in (2012, 2013):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"l": [[1], [2]]}), tmp_path / f"year={year}" / "t.parquet")
    batches = list(open_table([str(tmp_path)]).batches(["year"]))
    assert [batch.columns["year"].tolist() for batch in batches] == [[2012.0] * 2, [2013.0] * 2]


@pytest.mark.parametrize("cell", ["nan(1)", "-nan(ind)", "NAN(0x1)"])
def test_nan_with_a_code_is_no_number(tmp_path, cell):
    message = refusal(tmp_path, f"x,y\n1.5,1\n2.5,2\n{cell},3\n4,4\n")
    assert f"row 2: {cell!r} is not a number" in message
