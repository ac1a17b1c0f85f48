"""The line on which a row begins, whatever quotes, empty lines and blocks there are."""

import csv
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.tables import csv_files
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.row_lines import RowLines, record_lines
from lrisk_cli.tables.table import open_table

CELLS = st.text(st.sampled_from('ab ",\r\n'), max_size=4)
ENDS = st.sampled_from(["\n", "\r", "\r\n", "\n\n"])


@st.composite
def texts(draw) -> str:
    width, text = draw(st.integers(2, 4)), ""
    for row in draw(st.lists(st.lists(CELLS, min_size=4, max_size=4), min_size=2, max_size=12)):
        cells = io.StringIO()
        csv.writer(cells).writerow(row[:width])
        text += cells.getvalue().removesuffix("\r\n") + draw(ENDS)
    return text


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("lines")


def lines_by_csv(text: str) -> list[int]:
    """Where Python's csv module has a record begin, by the lines that it has taken before it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    reader = csv.reader(lines)
    begins, before = [], 0
    for record in reader:
        if record:
            begins.append(before + 1)
        before = reader.line_num
    return begins


@given(texts(), st.integers(1, 60))
def test_rows_begin_where_the_csv_module_reads_them(scratch, text, size):
    path = scratch / "t.csv"
    width = len(next(csv.reader(io.StringIO(text, newline=""))))
    header = ",".join(f"h{k}" for k in range(width))
    path.write_bytes(f"{header}\n{text}".encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", size)
        table, ragged = open_table(str(path)), RaggedRows()
        n_rows = sum(batch.n_rows for batch in table.batches((), ragged=ragged))
    expected = [line + 1 for line in lines_by_csv(text)]
    assert ragged.lines.of(np.arange(n_rows)).tolist() == expected


def test_a_quote_inside_a_field_opens_nothing():
    assert record_lines(b'a,5"\n\nb,"x\ny"\n"c\r\n""d",1\re', ",").tolist() == [0, 2, 4, 6]


def test_consecutive_lines_are_one_run(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "1,2\n" * 300_000)
    ragged = RaggedRows()
    for _ in open_table(str(path)).batches(["x"], ragged=ragged):
        pass
    assert len(ragged.lines._rows) == 1
    assert ragged.lines.of(np.array([0, 299_999])).tolist() == [2, 300_001]


def test_rows_of_several_files_name_their_file(tmp_path):
    (tmp_path / "a.csv").write_text("x\n1\n\n2\n")
    pq.write_table(pa.table({"x": [3.0]}), tmp_path / "b.parquet")
    (tmp_path / "c.csv").write_text("\n\nx\n4\n")
    paths = [str(tmp_path / name) for name in ("a.csv", "b.parquet", "c.csv")]
    ragged = RaggedRows()
    n_rows = sum(batch.n_rows for batch in open_table(paths).batches(["x"], ragged=ragged))
    named = ragged.lines.columns(np.arange(n_rows))
    assert named["line"].to_pylist() == [2, 4, None, 4]
    assert named["file"].to_pylist() == [paths[0], paths[0], paths[1], paths[2]]
    assert str(ragged.lines.place(3)) == f"row 3, line 4 of {paths[2]}"
    assert str(ragged.lines.place(2)) == f"row 2 of {paths[1]}"


def test_rows_of_typed_files_have_no_line(tmp_path):
    pq.write_table(pa.table({"x": [3.0, 4.0]}), tmp_path / "b.parquet")
    ragged = RaggedRows()
    for _ in open_table(str(tmp_path / "b.parquet")).batches(["x"], ragged=ragged):
        pass
    assert list(ragged.lines.columns(np.arange(2))) == ["row"]
    assert str(RowLines().place(5)) == str(ragged.lines.place(5)) == "row 5"
