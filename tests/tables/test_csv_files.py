"""Blocks of a text file end where records end, whatever is quoted, and errors keep their place."""

import csv
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import DataError
from lrisk_cli.native.kernels import core
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.inputs import Inputs, Layout
from lrisk_cli.tables.sources import find_sources
from lrisk_cli.tables.table import open_table


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 32)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 32)


def column(folder: Path, text: str, name: str) -> list:
    path = folder / "t.csv"
    path.write_text(text)
    cells = [batch.columns[name] for batch in open_table([str(path)]).batches([name])]
    return [part.values[code] for part in cells for code in part.codes]


@pytest.mark.usefixtures("small_blocks")
def test_a_quote_inside_a_field_opens_nothing(tmp_path):
    names = [f'{inches}" pipe' for inches in range(50)]
    text = "name,n\n" + "".join(f"{name},1\n" for name in names)
    assert column(tmp_path, text, "name") == names


@pytest.mark.usefixtures("small_blocks")
def test_a_quoted_field_longer_than_a_block_stays_whole(tmp_path):
    long = "line\n" * 100
    text = f'n,name\n1,"{long}"\n2,"{long}"\n3,short\n'
    assert column(tmp_path, text, "name") == [long.rstrip(), long.rstrip(), "short"]


@pytest.mark.usefixtures("small_blocks")
def test_a_ragged_record_is_counted_from_the_start_of_the_file(tmp_path):
    text = "n,name\n" + '1,"a\nb"\n' * 40 + "\n\n" + "1,a,b\n"
    with pytest.raises(DataError, match=r"t\.csv, row 40: 3 fields where the header has 2"):
        column(tmp_path, text, "name")


@pytest.mark.usefixtures("small_blocks")
def test_bytes_that_are_not_utf8_are_counted_from_the_start_of_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"n,name\n" + b"1,a\n" * 40 + b"1,\xff\n" + b"1,a\n" * 40)
    with pytest.raises(DataError, match=r"t\.csv, row 40: not UTF-8 text"):
        list(open_table([str(path)]).batches(["name"]))


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("stray", ['5" pipe', 'a"b""c', '"1"2', '""x', "''", 'x"'])
def test_quotes_inside_a_field_do_not_move_the_ends_of_blocks(tmp_path, stray):
    """Inch marks here and there, and fields of several lines among them."""
    lines = [f'{k},{stray if k % 3 else "plain"},"two\nlines, ""{k}"""\n' for k in range(60)]
    text = "n,name,note\n" + "".join(lines)
    # The same as one block by pyarrow itself.
    table = pacsv.read_csv(
        io.BytesIO(text.encode()),
        parse_options=pacsv.ParseOptions(newlines_in_values=True),
        convert_options=pacsv.ConvertOptions(column_types={"name": pa.string()}),
    )
    assert column(tmp_path, text, "name") == table["name"].to_pylist()
    assert column(tmp_path, text, "note") == table["note"].to_pylist()


@given(
    st.lists(st.sampled_from(['"', '"', ",", "\n", "\r", "a", '"b",', '"c"\n', "d" * 61])).map(
        "".join
    )
)
def test_the_last_record_is_where_a_plain_reading_finds_it(text):
    quoted, at_start, end, k = False, True, 0, 0
    while k < len(text):
        letter = text[k]
        if quoted and text[k : k + 2] == '""':
            k += 1
        elif quoted:
            quoted = letter != '"'
        elif letter == '"' and at_start:
            quoted = True
        elif letter == "\n" or (letter == "\r" and k + 1 < len(text)):
            end = k + 1
        at_start = not quoted and letter in ",\n\r"
        k += 1
    found = core.last_record(text.encode(), ord(","))
    assert found == (end, quoted)


def test_a_quote_that_is_never_closed_ends_in_a_sentence_not_in_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 10)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 1 << 10)
    monkeypatch.setattr(csv_files, "LONGEST_RECORD", 1 << 14)
    path = tmp_path / "t.csv"
    path.write_text("n,name\n" + "1,a\n" * 100 + '1,"a\n' + "1,a\n" * 9_000)
    with pytest.raises(DataError, match="a record is longer than 0 MB; check for a quote"):
        list(open_table([str(path)]).batches(["name"]))


@pytest.mark.parametrize(
    ("header", "names"),
    [
        ("a,b;c,d", ["a", "b;c", "d"]),
        ('"a;b;c",d', ["a;b;c", "d"]),
        ("a|b|c", ["a", "b", "c"]),
        ("a b", ["a b"]),
        ('"say ""hi""",b', ['say "hi"', "b"]),
    ],
)
def test_the_delimiter_is_the_commonest_mark_outside_quotes(tmp_path, header, names):
    path = tmp_path / "t.csv"
    path.write_text(header + "\n")
    with pytest.raises(DataError, match="a header but no rows"):
        open_table([str(path)])
    (source,), _ = find_sources([str(path)])
    assert list(csv_files.CsvReader().inspect(source).names) == names


def test_reading_may_stop_early_and_begin_again(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    path = tmp_path / "t.csv"
    path.write_text("n,m\n" + "".join(f"{k},0\n" for k in range(1000)))
    table = open_table([str(path)])
    first = next(iter(table.batches(["n"])))
    again = [number for batch in table.batches(["n"]) for number in batch.columns["n"]]
    assert first.columns["n"][0] == 0.0
    assert again == list(range(1000))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [5, 8, 23, 1 << 20])
def test_blocks_of_blank_lines_hold_no_rows(tmp_path, monkeypatch, newline, size):
    blank = 40 * newline
    lines = ["a,b", "1,x", blank, '2,"y', f'{newline}"', blank]
    (tmp_path / "t.csv").write_bytes(newline.join(lines).encode())
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", size)
    batches = list(open_table([str(tmp_path / "t.csv")]).batches(["a", "b"]))
    assert min(batch.n_rows for batch in batches) > 0
    assert np.concatenate([batch.columns["a"] for batch in batches]).tolist() == [1.0, 2.0]
    texts = [batch.columns["b"] for batch in batches]
    read = [each.values[code] for each in texts for code in each.codes.tolist()]
    assert [text.split() for text in read] == [["x"], ["y"]]


# Line ends


ENDS = st.sampled_from(["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r"])
CELLS = st.text(st.sampled_from('ab ",\r\n'), max_size=8).filter(str.strip)


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set('",\r\n') else cell


@st.composite
def mixed_texts(draw) -> str:
    """A header and rows of three cells, each line ended in a way of its own."""
    rows = [["x", 'y"\r\nz', "w"], *draw(st.lists(st.lists(CELLS, min_size=3, max_size=3)))]
    lines = [",".join(map(quoted, row)) + draw(ENDS) for row in rows]
    return "".join(lines) + draw(st.sampled_from(["", "last,of,all"]))


def all_texts(path: Path, **layout) -> list[list[str | None]]:
    """All cells as text, row by row."""
    table = open_table(Inputs((str(path),), Layout(**layout)))
    names = [each.name for each in table.columns]
    rows: list[list[str | None]] = []
    for batch in table.batches((), keep=names):
        rows += zip(*(batch.kept[name].to_pylist() for name in names), strict=True)
    return [names, *map(list, rows)]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("texts")


@given(mixed_texts(), st.integers(1, 40))
def test_every_mixture_of_line_ends_is_read_as_python_reads_it(scratch, text, size):
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    path = scratch / "mixed.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", size)
        patch.setattr(csv_files, "SAMPLE_BYTES", size)
        if len(rows) == 1:
            with pytest.raises(DataError, match="a header but no rows"):
                all_texts(path)
        else:
            assert all_texts(path) == rows


@pytest.mark.parametrize("compression", [None, "gzip", "zstd", "bz2"])
@pytest.mark.parametrize("newline", ["\r", "\r\n", "\n"])
def test_rows_with_another_line_end_are_not_lost(tmp_path, compression, newline):
    """A thousand lines, and thirty that another program appended."""
    text = f"a,y{newline}" + f"1,2{newline}" * 1000 + "3,4\n" * 30 + "5,6\r" * 30
    path = tmp_path / "t.csv"
    with pa.output_stream(str(path), compression=compression) as stream:
        stream.write(text.encode())
    numbers = [batch.columns["a"] for batch in open_table(path).batches(["a"])]
    assert np.concatenate(numbers).tolist() == [1.0] * 1000 + [3.0] * 30 + [5.0] * 30


def test_a_return_split_from_its_line_feed_ends_one_line(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\r\n" + b"1,2\r\n" * 50 + b'"3\r\n3",4\r\n' + b"5,6,7\r\n")
    for size in range(1, 12):
        monkeypatch.setattr(csv_files, "BLOCK_BYTES", size)
        monkeypatch.setattr(csv_files, "SAMPLE_BYTES", size)
        with pytest.raises(DataError, match=r"row 51: 3 fields .* in line 54, or pass"):
            list(open_table(path).batches(["b"]))


@given(st.text(st.sampled_from('\r\na"'), max_size=200))
def test_lines_are_counted_as_python_counts_them(text):
    assert core.count_lines(text.encode()) == len(f"{text}.".splitlines()) - 1


def test_a_name_of_any_length_is_read(tmp_path):
    name = "n" * 200_000
    path = tmp_path / "t.csv"
    path.write_text(f'{name},"{name} again"\n1,2\n')
    assert all_texts(path) == [[name, f"{name} again"], ["1", "2"]]


def test_blocks_of_many_columns_are_larger(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 1 << 12)
    names = [f"c{at}" for at in range(512)]
    path = tmp_path / "t.csv"
    path.write_text(",".join(names) + "\n" + (",".join("7" for _ in names) + "\n") * 100)
    table = open_table(path)
    assert next(table.batches(names)).n_rows == 4 * (1 << 12) // 1024
    assert next(table.batches(["c7"])).n_rows == (1 << 12) // 1024


def test_a_nul_byte_is_refused_wherever_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    monkeypatch.setattr(csv_files, "SAMPLE_BYTES", 64)
    path = tmp_path / "t.csv"
    for n_before in (0, 1, 2000):
        path.write_bytes(b"n,name\r\n" + b"1,a\r\n" * n_before + b"2,b\0\r\n3,c\r\n")
        with pytest.raises(DataError, match=rf"t\.csv, line {n_before + 2}: a NUL byte"):
            all_texts(path)


def test_a_byte_order_mark_inside_the_file_stays_in_its_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 16)
    path = tmp_path / "t.csv"
    path.write_text("name,y\n" + "\ufeffa,1\n" * 20, encoding="utf-8-sig")
    (batches,) = [list(open_table([str(path)]).batches(["name"]))]
    texts = [batch.columns["name"] for batch in batches]
    assert len(texts) > 5
    assert {text.values[code] for text in texts for code in text.codes} == {"\ufeffa"}
