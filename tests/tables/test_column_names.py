"""Columns without a name of their own get one, which no other column has."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.tables import read
from lrisk_cli.errors import DataError
from lrisk_cli.tables.column_names import name_columns
from lrisk_cli.tables.inputs import Inputs, Layout
from lrisk_cli.tables.table import open_table

NAMES = st.sampled_from(["", " ", "a", "a.2", "a.2.2", "column_1", "column_2", "column_2.2", "b"])


@given(st.lists(NAMES, min_size=1, max_size=12))
def test_names_differ_and_first_ones_are_kept(stored):
    named = name_columns(stored, "t.csv", rename=True)
    names = named.names
    assert len(set(names)) == len(names) == len(stored)
    assert all(name.strip() for name in names)
    for at, name in enumerate(stored):
        if name.strip() and name not in stored[:at]:
            assert names[at] == name
    assert bool(named.notes(names)) == (list(names) != stored)


@pytest.mark.parametrize(
    ("stored", "names"),
    [
        (["a", "a", "a"], ["a", "a.2", "a.3"]),
        (["a", "a", "a.2"], ["a", "a.3", "a.2"]),
        (["x", "", "y", ""], ["x", "column_2", "y", "column_4"]),
        (["", "column_1"], ["column_1.2", "column_1"]),
    ],
)
def test_names_are_numbered(stored, names):
    assert name_columns(stored, "t.csv", rename=True).names == tuple(names)


def test_a_repeated_name_is_refused_with_the_option_that_accepts_it():
    with pytest.raises(DataError, match="'b' appears twice; rename one of them, or pass rename_d"):
        name_columns(["a", "b", "", "b"], "t.csv, header", rename=False)


def test_an_unnamed_first_column_may_be_an_index():
    (note,) = name_columns(["", "x"], "t.csv", rename=False).notes(["column_1", "x"])
    assert note == (
        "1 column has no name and is read as 'column_1': an index that pandas wrote? then pass "
        "exclude='column_1'"
    )
    (note,) = name_columns(["x", "", ""], "t.csv", rename=False).notes(["column_2", "column_3"])
    assert note == "2 columns have no name and are read as 'column_2' and 'column_3'"


CSV = "a,a,,b,\n1,u,x,3,5\n2,v,y,4,6\n"


def write(path) -> None:
    columns = [pa.array([1, 2]), pa.array(["u", "v"]), pa.array(["x", "y"])]
    columns += [pa.array([3.0, 4.0]), pa.array([5, 6])]
    table = pa.Table.from_arrays(columns, names=["a", "a", "", "b", ""])
    if path.suffix == ".csv":
        path.write_text(CSV)
    elif path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_columns_of_one_name_are_told_apart_in_every_format(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write(path)
    with pytest.raises(DataError, match="column 'a' appears twice"):
        open_table(path)
    table = open_table(Inputs((str(path),), Layout(rename_duplicates=True)))
    assert read(table) == {
        "a": [1.0, 2.0],
        "a.2": ["u", "v"],
        "column_3": ["x", "y"],
        "b": [3.0, 4.0],
        "column_5": [5.0, 6.0],
    }
    assert len(table.notes) == 2
    (batch,) = table.batches(["column_5", "a.2"], keep=["column_3"])
    assert batch.columns["column_5"].tolist() == [5.0, 6.0]
    assert batch.columns["a.2"].values == ["u", "v"]
    assert batch.kept["column_3"].to_pylist() == ["x", "y"]
    assert table.arrow_type("column_3") == pa.string()


@pytest.mark.parametrize("name", ["", " "])
def test_delimiters_at_the_ends_of_all_lines_make_no_column(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b,{name}\n1,2,\n3,4,\n")
    table = open_table(path)
    assert read(table) == {"a": [1.0, 3.0], "b": [2.0, 4.0]}
    assert table.notes == ("1 column has neither a name nor a value and is left out",)


def test_a_column_without_name_and_values_is_read_where_a_model_needs_it(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,,\n1,,\n2,,\n")
    table = open_table(path, expected={"a": "number", "column_2": "number"})
    assert [column.name for column in table.columns] == ["a", "column_2"]
    assert len(table.notes) == 2
