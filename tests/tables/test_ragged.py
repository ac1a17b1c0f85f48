"""Ragged rows are padded or skipped as asked, and every one of them is counted and named."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import DataError
from lrisk_cli.names import Ragged
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.inputs import Inputs, Layout
from lrisk_cli.tables.ragged import MOST_NAMED, RaggedRows
from lrisk_cli.tables.table import open_table

CELLS = st.text(st.sampled_from('ab ",\r\n'), max_size=4)
ENDS = st.sampled_from(["\n", "\r", "\r\n", "\n\n"])


def read_rows(path, policy: Ragged) -> tuple[list[list[str | None]], RaggedRows]:
    table = open_table(Inputs((str(path),), Layout(ragged=policy)))
    names = [each.name for each in table.columns]
    rows, ragged = [], RaggedRows()
    for batch in table.batches((), keep=names, ragged=ragged):
        columns = [batch.kept[name].to_pylist() for name in names]
        rows += [list(row) for row in zip(*columns, strict=True)]
    return rows, ragged


def quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set('",\r\n') else cell


@st.composite
def ragged_texts(draw) -> tuple[str, list[int]]:
    """A table, and the lines on which its records begin."""
    width = draw(st.integers(1, 4))
    text, lines = ",".join("abcd"[:width]) + draw(ENDS), []
    for row in draw(st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=12)):
        record = ",".join(map(quoted, row))
        if record:
            lines.append(len(f"{text}.".splitlines()))
            text += record + draw(ENDS)
    return text, lines


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("ragged")


@given(ragged_texts(), st.sampled_from([Ragged.PAD, Ragged.SKIP]), st.integers(1, 60))
def test_any_ragged_table_is_evened_and_its_rows_are_counted(scratch, made, policy, size):
    text, lines = made
    header, *rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    width, expected, n_padded, uneven, begins = len(header), [], 0, [], []
    for row, line in zip(rows, lines, strict=True):
        mended = policy is Ragged.PAD and not "".join(row[width:]).strip(" ")
        if len(row) == width or mended:
            padded = (row + [""] * width)[:width]
            expected.append([cell or None for cell in padded])
            begins.append(line)
        if len(row) != width:
            n_padded += mended
            uneven.append(line)
    path = scratch / "t.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", size)
        patch.setattr(csv_files, "SAMPLE_BYTES", size)
        if not expected:
            with pytest.raises(DataError, match="no rows"):
                read_rows(path, policy)
            return
        found, ragged = read_rows(path, policy)
    assert found == expected
    assert ragged.lines.of(np.arange(len(begins))).tolist() == begins
    assert (ragged.padded, ragged.skipped) == (n_padded, len(uneven) - n_padded)
    named = [int(place.split("line ")[1].split(":")[0]) for place in ragged.named]
    assert named == uneven[:MOST_NAMED]


def test_the_sentence_for_a_ragged_row_names_its_line_and_the_option(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"two\nlines"\n\n3\n')
    with pytest.raises(DataError) as caught:
        read_rows(path, Ragged.ERROR)
    assert str(caught.value) == (
        f"{path}, row 1: 1 field where the header has 2; check quotes and delimiter in line 5, or "
        "pass ragged='pad' or ragged='skip'"
    )


def test_a_padded_row_of_a_thousand_columns_does_not_fill_memory(tmp_path):
    """Each of the short lines becomes a thousand cells, so a block is read in parts."""
    names = ",".join(f"c{at}" for at in range(1000))
    path = tmp_path / "t.csv"
    path.write_text(names + "\n" + "1\n" * 5000)
    table = open_table(Inputs((str(path),), Layout(ragged=Ragged.PAD)))
    ragged = RaggedRows()
    sizes = [batch.n_rows for batch in table.batches(["c0", "c999"], ragged=ragged)]
    assert max(sizes) <= (1 << 20) // 1000 + 1
    assert sum(sizes) == ragged.padded == 5000


def test_a_row_left_out_does_not_shift_the_types_of_columns(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "a,b,c\n" * 20 + "1,2\n" * 3)
    table = open_table(Inputs((str(path),), Layout(ragged=Ragged.SKIP)))
    assert [column.kind for column in table.columns] == ["number", "number"]


def test_rows_of_one_column_keep_their_place_when_they_are_padded(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('x\na\n\nc,d\n,\n"",""\nb,\n')
    rows, ragged = read_rows(path, Ragged.PAD)
    assert rows == [["a"], [None], [None], ["b"]]
    assert (ragged.padded, ragged.skipped) == (3, 1)
    assert ragged.named[0] == f"{path}, line 4: 2 fields, skipped"
