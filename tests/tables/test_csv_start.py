"""Text files as they come: encodings, lines before the header, comments, no header, no table."""

import pytest

from helpers.program import document, lrisk
from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.inputs import make_inputs
from lrisk_cli.tables.table import open_table

TEXT = "größe,ort\n1.5,Köln\n2.5,Zürich\n"
READ = {"größe": [1.5, 2.5], "ort": ["Köln", "Zürich"]}


def read(folder, data: bytes, name: str = "t.csv", **options) -> dict[str, list]:
    (folder / name).write_bytes(data)
    inputs = make_inputs(
        [str(folder / name)], options.pop("delimiter", None), None, None, **options
    )
    table = open_table(inputs)
    names = [column.name for column in table.columns]
    found: dict[str, list] = {name: [] for name in names}
    for batch in table.batches(names):
        for name in names:
            cells = batch.columns[name]
            texts = (
                [cells.values[code] for code in cells.codes] if hasattr(cells, "codes") else None
            )
            found[name] += cells.tolist() if texts is None else texts
    return found


def refusal(folder, data: bytes, name: str = "t.csv", **options) -> str:
    with pytest.raises(DataError) as caught:
        read(folder, data, name, **options)
    return str(caught.value).replace(str(folder) + "/", "")


@pytest.mark.parametrize(
    "encoding", ["utf-16", "utf-16-le-bom", "utf-16-be-bom", "utf-32", "utf-8-sig"]
)
def test_a_byte_order_mark_tells_the_encoding(tmp_path, encoding):
    marked = "\ufeff" * encoding.endswith("bom") + TEXT
    assert read(tmp_path, marked.encode(encoding.removesuffix("-bom"))) == READ


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "mac-roman", "utf-16-le", "iso8859-15"])
def test_an_encoding_is_named(tmp_path, encoding, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    long = TEXT + "3.5,Łódź\n".replace("Łódź", "Åre") * 100
    found = read(tmp_path, long.encode(encoding), encoding=encoding)
    assert found["ort"] == ["Köln", "Zürich"] + ["Åre"] * 100
    assert found["größe"][2:] == [3.5] * 100


def test_the_first_byte_that_is_not_utf8_is_named_with_the_encoding_that_reads_it(tmp_path):
    assert refusal(tmp_path, TEXT.encode("cp1252")) == (
        "t.csv, header: not UTF-8 text: byte 0xF6 in line 1; pass encoding='cp1252', which reads "
        "'größe,ort', or save the file as UTF-8"
    )
    late = "a,ort\n" + "1,x\n" * 700_000 + "2,Köln\n"
    line = refusal(tmp_path, late.encode("cp1252"))
    assert "row 700000: not UTF-8 text: byte 0xF6 in line 700002; pass encoding='cp1252'" in line
    assert "encoding='latin-1'" in refusal(tmp_path, b"a,b\n1,x\xe4\x81\n")
    assert "encoding='utf-16'" in refusal(tmp_path, TEXT.encode("utf-16-le"))
    wrong = refusal(tmp_path, b"a,b\n1,x\xe4\n", encoding="ascii")
    assert "the text is not in the encoding ascii" in wrong
    for name in ("klingon", "base64"):
        with pytest.raises(InvalidOption, match="takes an encoding such as utf-8"):
            read(tmp_path, b"a\n1\n", encoding=name)


def test_the_line_that_names_the_separator_is_read(tmp_path):
    for first in ("sep=;\r\n", "SEP=;\n", '"sep=;"\n', "\ufeffsep=;\n"):
        assert read(tmp_path, (first + "a;b,c\n1,5;2\n").encode()) == {"a": [1.5], "b,c": [2.0]}


def test_title_lines_are_skipped_and_suggested(tmp_path):
    title = "Umsatz 2023\n\nStand: 1. Mai\n"
    rows = "a;b;c\n1;2;3\n4;5;6\n7;8;9\n"
    assert refusal(tmp_path, (title + rows).encode()) == (
        "t.csv: the first line, 'Umsatz 2023', has 1 field and line 4 has 3: a title? pass "
        "skip_rows=3, or delimiter if it is the header"
    )
    expected = {"a": [1.0, 4.0, 7.0], "b": [2.0, 5.0, 8.0], "c": [3.0, 6.0, 9.0]}
    assert read(tmp_path, (title + rows).encode(), skip_rows=3) == expected
    remarks = "# made by us\n# in May\n"
    line = refusal(tmp_path, (remarks + rows).encode())
    assert "pass comment='#' or skip_rows=2" in line
    assert read(tmp_path, (remarks + rows).encode(), comment="#") == expected
    assert "has no line after those of skip_rows=9" in refusal(tmp_path, rows.encode(), skip_rows=9)
    assert read(tmp_path, b"text\na;b\nc;d\ne;f\n", delimiter=",") == {
        "text": ["a;b", "c;d", "e;f"]
    }
    assert read(tmp_path, b"text\na;b\nc\nd;e\n") == {"text": ["a;b", "c", "d;e"]}


def test_comments_are_left_out_wherever_they_stand(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    body = "".join(f'{k},"#{k}\n# no comment"\r\n# "remark, {k}\n' for k in range(50))
    found = read(tmp_path, f"# top\na,b\n{body}".encode(), comment="#")
    assert found == {"a": list(range(50)), "b": [f"#{k}\n# no comment" for k in range(50)]}
    line = refusal(tmp_path, b"# top\na,b\n1,2\n# remark\n3\n", comment="#")
    assert "row 1: 1 field where the header has 2; check quotes and delimiter in line 5" in line


def test_a_file_without_a_header_has_numbered_columns(tmp_path):
    found = read(tmp_path, b"1,x\n2,y\n2,z\n", no_header=True)
    assert found == {"column_1": [1.0, 2.0, 2.0], "column_2": ["x", "y", "z"]}


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        (b"<!DOCTYPE html>\n<html><body>404</body></html>", "a page of HTML or XML, not a table"),
        (b"  <?xml version='1.0'?><a/>", "a page of HTML or XML"),
        (b'[{"a": 1}]', "JSON, not CSV"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x80\x04\x95aaaaaa", "a pickle of Python"),
        (b"%PDF-1.4\n", "a PDF"),
    ],
)
def test_what_is_no_table_is_named(tmp_path, data, finding):
    assert finding in refusal(tmp_path, data)


def test_marks_between_quotes_are_no_fields_below_a_title(tmp_path):
    (tmp_path / "t.csv").write_text("price\n" + "\n".join(f'"{k},250.5"' for k in range(1, 9)))
    (column,) = document(lrisk(tmp_path, "columns", "t.csv", "--json"))["columns"]
    assert (column["kind"], column["min"], column["max"]) == ("number", 1250.5, 8250.5)
