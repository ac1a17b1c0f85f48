"""The registry of formats: contents choose the reader, and every reader reads the same rows."""

import gzip
import json

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from helpers.tables import kinds, read
from lrisk_cli.errors import DataError
from lrisk_cli.tables.formats import READERS, SUFFIXES, choose_reader
from lrisk_cli.tables.inputs import STRICT
from lrisk_cli.tables.sources import find_sources
from lrisk_cli.tables.table import open_table

ROWS = pa.table({"x": [1.5, 2.0, None], "c": ["a", None, "b"]})


def write(path):
    """Write ROWS in the format of the suffix."""
    if path.suffix in (".parquet", ".pq"):
        pq.write_table(ROWS, path)
    elif path.suffix == ".orc":
        orc.write_table(ROWS, str(path))
    elif path.suffix in (".jsonl", ".ndjson"):
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS.to_pylist()))
    elif path.suffix in (".arrow", ".feather", ".ipc"):
        feather.write_feather(ROWS, str(path))
    else:
        mark = "\t" if path.suffix in (".tsv", ".tab") else ","
        lines = [["x", "c"], ["1.5", "a"], ["2", ""], ["", "b"]]
        path.write_text("".join(mark.join(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_suffix_has_a_reader_that_gives_the_same_table(tmp_path, suffix):
    path = write(tmp_path / f"t{suffix}")
    (source,), _ = find_sources([str(path)])
    reader = choose_reader(source)
    assert suffix in reader.suffixes
    assert reader.inspect(source, STRICT).names == ("x", "c")
    table = open_table(path)
    assert kinds(table) == {"x": "number", "c": "category"}
    assert str(read(table)) == str({"x": [1.5, 2.0, float("nan")], "c": ["a", None, "b"]})


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_contents_decide_before_the_name(tmp_path, suffix):
    path = write(tmp_path / f"t{suffix}")
    path.rename(tmp_path / "table")
    table = open_table([str(tmp_path / "table")])
    assert suffix in table.files[0].reader.suffixes
    assert table.n_rows in (None, 3)


@pytest.mark.parametrize(
    "reader",
    [each for each in READERS if each.signatures],
    ids=lambda reader: type(reader).__name__,
)
def test_typed_files_are_refused_inside_a_compressed_one(tmp_path, reader):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(reader.signatures[0] + b"\0" * 100))
    with pytest.raises(DataError, match="Parquet or Arrow inside gzip; decompress the file"):
        open_table([str(path)])


def test_a_single_path_is_one_table(tmp_path):
    path = write(tmp_path / "t.csv")
    for inputs in (path, str(path), [str(path)]):
        assert open_table(inputs).paths == (str(path),)
