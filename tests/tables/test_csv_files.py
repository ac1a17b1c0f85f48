"""Blocks of a text file end where records end, whatever is quoted, and errors keep their place."""

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
    assert column(tmp_path, text, "name") == [long, long, "short"]


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
        elif letter == "\n":
            end = k + 1
        at_start = not quoted and letter in ",\n\r"
        k += 1
    found = core.last_record(text.encode(), ord(","), ord("\n"))
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
    (source,) = find_sources([str(path)])
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


def test_a_byte_order_mark_inside_the_file_stays_in_its_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 16)
    path = tmp_path / "t.csv"
    path.write_text("name,y\n" + "\ufeffa,1\n" * 20, encoding="utf-8-sig")
    (batches,) = [list(open_table([str(path)]).batches(["name"]))]
    texts = [batch.columns["name"] for batch in batches]
    assert len(texts) > 5
    assert {text.values[code] for text in texts for code in text.codes} == {"\ufeffa"}
