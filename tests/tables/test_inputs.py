"""What the options of reading say holds in every command, and wherever the table is."""

import gzip
import io

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from helpers.house_prices import house_columns
from helpers.program import document, lrisk, refusal
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.tables import csv_files, csv_start
from lrisk_cli.tables.inputs import Inputs, Spelling, make_inputs
from lrisk_cli.tables.table import Table, Texts, open_table


def read(table: Table) -> dict[str, list]:
    """All cells by column; None where one is missing."""
    found: dict[str, list] = {column.name: [] for column in table.columns}
    for batch in table.batches([*found]):
        for name, cells in batch.columns.items():
            if isinstance(cells, Texts):
                found[name] += [cells.values[code] if code >= 0 else None for code in cells.codes]
            else:
                found[name] += [None if cell != cell else cell for cell in cells.tolist()]
    return found


def read_text(folder, text: str, *options) -> dict[str, list]:
    (folder / "t.csv").write_text(text)
    return read(open_table(make_inputs([str(folder / "t.csv")], *options)))


# What the options mean


@pytest.mark.parametrize(
    ("option", "mark"),
    [("tab", "\t"), ("\\t", "\t"), ("|", "|"), (":", ":"), (" ", " "), ("^", "^")],
)
def test_the_delimiter_is_the_one_that_is_named(tmp_path, option, mark):
    text = f"a,b{mark}c\n1{mark}x,y\n2{mark}z\n"
    assert read_text(tmp_path, text, option, ".", None) == {"a,b": [1.0, 2.0], "c": ["x,y", "z"]}


@pytest.mark.parametrize("option", ["", ",,", "ab", "é", '"', "\n", "1", "x"])
def test_a_delimiter_that_cannot_be_one_is_refused(option):
    with pytest.raises(UsageError, match=r"delimiter takes one character .* or the word tab"):
        make_inputs(["t.csv"], option, ".", None)


def test_a_decimal_comma_makes_numbers_and_a_point_spoils_them(tmp_path):
    text = "x;y;z;when\n1,5;7;1.5;1970-01-02T12:00:00.0\n-2,25e1;8;1,5;1970-01-03\n,5;9;u;\n"
    found = read_text(tmp_path, text, None, ",", None)
    assert found["x"] == [1.5, -22.5, 0.5]
    assert found["y"] == [7.0, 8.0, 9.0]
    assert found["z"] == ["1.5", "1,5", "u"]
    assert found["when"] == [1.5, 2.0, None]
    with pytest.raises(DataError, match=r"column 'x', row 2: '1\.5' is not a number"):
        read_text(tmp_path, "x;y\n1,5;1\n2,5;1\n1.5;1\n", None, ",", None)
    assert read_text(tmp_path, 'x,y\n"1,5",1\n"2,5",2\n', ",", ",", None)["x"] == [1.5, 2.5]
    with pytest.raises(UsageError, match=r"decimal takes \. or , and got ';'"):
        make_inputs(["t.csv"], None, ";", None)


def test_only_named_texts_are_missing(tmp_path):
    text = "x,word,code,when\n1,None,7,2020-01-01\n ? ,NA,-999,?\n-999.0, ?,?,1970-01-01\n3,?,9,\n"
    words = read_text(tmp_path, "word,x\nNone,1\nNA,1\n ?,1\n", None, ".", None)["word"]
    assert words == ["None", "NA", "?"]
    found = read_text(tmp_path, text, None, ".", "?, -999,1970-01-01")
    assert found == {
        "x": [1.0, None, None, 3.0],
        "word": ["None", "NA", None, None],
        "code": [7.0, None, None, 9.0],
        "when": [18262.0, None, None, None],
    }
    assert read_text(tmp_path, text, None, ".", "NA,None,?")["word"] == [None] * 4


def test_a_missing_text_that_is_not_utf8_is_refused():
    with pytest.raises(UsageError, match=r"na_values takes UTF-8 text"):
        make_inputs(["t.csv"], None, ".", "?,caf\udce9")


def test_a_column_is_typed_without_the_texts_that_are_missing(tmp_path):
    text = "x,y\n" + "na,1\n" * 6 + "2,3\n4,5\n"
    assert read_text(tmp_path, text, None, ".", None)["x"][-1] == "4"
    assert read_text(tmp_path, text, None, ".", "na")["x"] == [None] * 6 + [2.0, 4.0]


def test_parquet_cells_go_missing_by_the_same_names(tmp_path):
    table = pa.table(
        {
            "n": pa.array([1, -999, 3], pa.int16()),
            "f": [0.5, -999.0, 1.5],
            "word": pa.array(["a", "?", "b"]).dictionary_encode(),
            "d": pa.array([0, 1, 2], pa.date32()),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    path = (str(tmp_path / "t.parquet"),)
    found = read(open_table(Inputs(path, spelling=Spelling(missing=("?", "-999", "1970-01-02")))))
    assert found == {
        "n": [1.0, None, 3.0],
        "f": [0.5, None, 1.5],
        "word": ["a", None, "b"],
        "d": [0.0, None, 2.0],
    }


def test_a_header_longer_than_the_sample_is_read_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_start, "START_BYTES", 16)
    names = [f"column{at}" for at in range(40)]
    text = ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n"
    assert read_text(tmp_path, text, None, ".", None) == {name: [1.0] for name in names}
    monkeypatch.setattr(csv_files, "LONGEST_RECORD", 64)
    with pytest.raises(DataError, match="a record is longer than 0 MB; check for a quote"):
        read_text(tmp_path, text, None, ".", None)


# Addresses


CSV = b"x,y\n1,u\n2,v\n"


def in_memory(files: dict[str, bytes], monkeypatch) -> None:
    """Let every address lead to files in memory."""
    memory = fs._MockFileSystem()
    for name, contents in files.items():
        memory.create_dir(name.rpartition("/")[0], recursive=True)
        with memory.open_output_stream(name, compression=None) as stream:
            stream.write(contents)
    find = fs.FileSystem.from_uri

    class Finder:
        @staticmethod
        def from_uri(uri):
            scheme, _, path = uri.partition("://")
            return (memory, path) if scheme == "memory" else find(uri)

    monkeypatch.setattr(fs, "FileSystem", Finder)


def test_an_address_leads_to_a_file_of_any_format(monkeypatch):
    parquet = io.BytesIO()
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": ["u", "v"]}), parquet)
    files = {
        "a/t.csv": CSV,
        "a/t.tsv.gz": gzip.compress(CSV.replace(b",", b"\t")),
        "a/t.parquet": parquet.getvalue(),
    }
    in_memory(files, monkeypatch)
    for name in files:
        table = open_table([f"memory://{name}"])
        assert table.paths == (f"memory://{name}",)
        assert read(table) == {"x": [1.0, 2.0], "y": ["u", "v"]}
    with pytest.raises(DataError, match=r"memory://a/no\.csv: no such file; check the address"):
        open_table(["memory://a/no.csv"])


def test_an_address_of_a_folder_gives_its_tables_and_what_their_folders_name(monkeypatch):
    files = {
        "d/part=01/b.csv": b"x\n2\n",
        "d/part=00/a.csv": b"x\n1\n",
        "d/_meta/c.csv": b"no\n",
        "d/part=01/.hidden.csv": b"no\n",
        "d/notes.md": b"no",
        "empty/notes.md": b"no",
    }
    in_memory(files, monkeypatch)
    table = open_table(["memory://d"])
    assert table.paths == ("memory://d/part=00/a.csv", "memory://d/part=01/b.csv")
    assert read(table) == {"x": [1.0, 2.0], "part": ["00", "01"]}
    with pytest.raises(DataError, match="memory://empty: the folder holds no tables"):
        open_table(["memory://empty"])


def test_a_file_address_is_a_path(tmp_path):
    (tmp_path / "part=00").mkdir()
    (tmp_path / "part=00" / "t.csv").write_bytes(CSV)
    expected = {"x": [1.0, 2.0], "y": ["u", "v"]}
    assert read(open_table([f"file://{tmp_path}/part=00/t.csv"])) == expected
    assert read(open_table([f"file://{tmp_path}/*/*.csv"])) == expected
    assert read(open_table([f"file://{tmp_path}"])) == {**expected, "part": ["00", "00"]}
    with pytest.raises(DataError, match=r"t\.csv: no such file"):
        open_table([f"file://{tmp_path}/t.csv"])


@pytest.mark.parametrize(
    "uri", ["caf\udce9://b.csv", "file:///caf\udce9.csv", "file:///caf%E9.csv"]
)
def test_an_address_that_is_not_utf8_is_refused(uri):
    with pytest.raises(DataError, match=r"(not|does not spell) UTF-8"):
        open_table([uri])


@pytest.mark.parametrize("uri", ["file://[/x", "://"])
def test_an_address_that_nothing_opens_is_refused(uri):
    with pytest.raises(DataError, match=r"cannot be read \("):
        open_table([uri])


@pytest.mark.parametrize("scheme", ["gopher", "http", "sqlite"])
def test_an_address_of_an_unknown_kind_is_refused_with_those_that_are_read(scheme):
    with pytest.raises(DataError, match=rf"does not read from {scheme}://, only from file://, s3"):
        open_table([f"{scheme}://a/b.csv"])


# Every command reads alike


@pytest.fixture(scope="module")
def european(tmp_path_factory):
    """Houses as usual, and with decimal commas, colons between fields and a mark for a hole."""
    folder = tmp_path_factory.mktemp("european")
    columns = {name: house_columns()[name] for name in ("area", "color", "rooms", "price")}
    lines = [";".join(columns)]
    for cells in zip(*(column.tolist() for column in columns.values()), strict=True):
        lines += [";".join(str(cell).replace(".", ",") for cell in cells)]
    text = "\n".join([*lines, "?;red;3;100,5", ""])
    (folder / "odd.csv").write_text(text.replace(";", ":"))
    plain = text.replace(",", ".").replace(";", ",").replace("?", "")
    (folder / "plain.csv").write_text(plain)
    done = lrisk(folder, "fit", "plain.csv", "--target", "price", "-o", "m.json",
                 "--missing", "drop", "--quiet")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


COMMANDS = {
    "fit": ("fit", "{}", "--target", "price"),
    "evaluate": ("evaluate", "m.json", "{}"),
    "predict": ("predict", "m.json", "{}"),
    "cluster": ("cluster", "{}", "--clusters", "2", "--starts", "1"),
    "quantile-report": ("quantile-report", "{}", "--target", "price"),
    "detect-outliers": ("detect-outliers", "{}", "--model", "m.json", "--top", "2"),
    "compare": ("compare", "{}", "--target", "price", "--rival", "none", "--risk", "mean"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_reads_marks_and_commas_as_it_is_told(european, name):
    def run(table: str, *options: str):
        command = [part.format(table) for part in COMMANDS[name]]
        json = [] if name == "predict" else ["--json"]
        done = lrisk(european, *command, "--missing", "drop", "--quiet", *json, *options)
        assert done.returncode == 0, done.stderr
        return done.stdout.replace(table, "table")

    told = run("odd.csv", "--delimiter", ":", "--decimal", ",", "--na-values", "?")
    expected = run("plain.csv")
    if name != "predict":
        assert '"missing area": 1' in expected
    without_times = [
        "\n".join(
            line for line in text.splitlines() if '_s":' not in line and "seconds" not in line
        )
        for text in (told, expected)
    ]
    assert without_times[0] == without_times[1]


def test_wrong_options_of_reading_are_refused_before_reading(tmp_path):
    run = lrisk(tmp_path, "fit", "none.csv", "--target", "y", "--delimiter", "ab")
    assert "--delimiter takes one character" in refusal(run, 2)
    run = lrisk(tmp_path, "fit", "none.csv", "--target", "y", "--decimal", "-")
    assert "--decimal takes . or ," in refusal(run, 2)


def test_standard_input_takes_both_formats(european):
    table = pa.table({"x": np.arange(9.0), "y": np.arange(9.0) ** 2})
    parquet = io.BytesIO()
    pq.write_table(table, parquet)
    text = "x;y\n" + "".join(f"{x},0;{x * x},0\n" for x in range(9))
    command = ("fit", "-", "--target", "y", "--json", "--quiet")
    one = lrisk(european, *command, input=parquet.getvalue(), text=False)
    other = lrisk(european, *command, "--decimal", ",", input=text)
    prints = [document(run)["fit"]["fingerprint"] for run in (one, other)]
    assert prints[0] == prints[1]
