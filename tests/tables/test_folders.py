"""No part of a folder or of a pattern is left out unsaid: it is read, it is an error, or a note."""

import glob
import inspect
import json
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.house_prices import add_house_files
from lrisk_cli.cli import run
from lrisk_cli.errors import DataError
from lrisk_cli.tables import folders
from lrisk_cli.tables.folders import tables_in
from lrisk_cli.tables.sources import find_sources
from lrisk_cli.tables.table import open_table

NOBODY = 65534


def write(path: Path, number: int = 1) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"x\n{number}\n")
    return path


def labels(folder: Path, *names: str) -> list[str]:
    """The files behind names, as paths from the folder."""
    sources, _ = find_sources([str(folder / name) for name in names or [""]])
    return [os.path.relpath(source.label, folder) for source in sources]


def notes(folder: Path, name: str = "") -> tuple[str, ...]:
    return tuple(note.replace(str(folder), "D") for note in open_table([str(folder / name)]).notes)


def refusal(folder: Path, name: str = "") -> str:
    with pytest.raises(DataError) as caught:
        open_table([str(folder / name)])
    return str(caught.value).replace(str(folder), "D")


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """For root, whom no permission stops: as a user who may enter this folder."""
    if os.geteuid():
        yield
        return
    for above in (folder, *folder.parents[:-1]):
        above.chmod(above.stat().st_mode | 0o055)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def locked(path: Path, base: Path) -> Iterator[None]:
    """Nobody may look into this folder or file."""
    path.chmod(0)
    try:
        with as_nobody(base):
            yield
    finally:
        path.chmod(0o755)


# Folders


def test_a_subfolder_that_cannot_be_read_is_an_error(tmp_path):
    write(tmp_path / "year=2013" / "a.csv")
    write(tmp_path / "year=2014" / "a.csv")
    with locked(tmp_path / "year=2014", tmp_path):
        assert refusal(tmp_path).startswith("D/year=2014: cannot be read (Permission denied)")
        # A pattern that does not lead there does not need it.
        assert labels(tmp_path, "year=2013/*.csv") == ["year=2013/a.csv"]
        for pattern in ("*/*.csv", "**/*.csv", "*/a.csv", "**"):
            assert "year=2014: cannot be read (Permission denied)" in refusal(tmp_path, pattern)
    assert labels(tmp_path) == ["year=2013/a.csv", "year=2014/a.csv"]


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    write(tmp_path / "a.csv")
    with locked(write(tmp_path / "b.csv"), tmp_path):
        for name in ("", "*.csv", "b.csv"):
            assert "D/b.csv: cannot be read (Permission denied)" in refusal(tmp_path, name)


def test_a_path_below_a_locked_folder_is_a_data_error(tmp_path):
    write(tmp_path / "inner" / "a.csv")
    with locked(tmp_path / "inner", tmp_path):
        for name in ("inner/a.csv", "inner/*.csv", "inner", "inner/[a].csv"):
            assert "cannot be read (Permission denied)" in refusal(tmp_path, name)


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "a.csv/b.csv", "a\0b.csv"])
def test_a_path_that_no_file_can_have_is_a_data_error(tmp_path, name):
    write(tmp_path / "a.csv")
    assert refusal(tmp_path, name).startswith(f"D/{name}: ")


def test_a_circle_of_links_is_a_data_error(tmp_path):
    (tmp_path / "one.csv").symlink_to("two.csv")
    (tmp_path / "two.csv").symlink_to("one.csv")
    assert "cannot be read (Too many levels of symbolic links)" in refusal(tmp_path, "one.csv")
    write(tmp_path / "a.csv")
    for name in ("", "*.csv"):
        assert "cannot be read (Too many levels of symbolic links)" in refusal(tmp_path, name)


def test_a_linked_partition_folder_is_read_with_its_column(tmp_path):
    write(tmp_path / "elsewhere" / "a.csv", 2)
    write(tmp_path / "data" / "year=2013" / "a.csv", 1)
    (tmp_path / "data" / "year=2014").symlink_to(tmp_path / "elsewhere")
    table = open_table([str(tmp_path / "data")])
    (first, second) = table.batches(["x", "year"])
    assert [*first.columns["x"], *second.columns["x"]] == [1.0, 2.0]
    assert [*first.columns["year"], *second.columns["year"]] == [2013.0, 2014.0]
    assert labels(tmp_path, "data/**/*.csv") == ["data/year=2013/a.csv", "data/year=2014/a.csv"]


@pytest.mark.parametrize("name", ["year=2014", "part", "b.csv", "b.csv.gz", "b.CSV"])
def test_a_link_that_leads_nowhere_is_an_error_where_rows_may_be(tmp_path, name):
    write(tmp_path / "a.csv")
    (tmp_path / name).symlink_to("lost")
    assert refusal(tmp_path) == (
        f"D/{name}: is a link to lost, which does not exist; repair or remove it"
    )
    assert "is a link to lost" in refusal(tmp_path, "*")
    assert labels(tmp_path, "a*.csv") == ["a.csv"]


def test_a_link_that_leads_nowhere_and_is_no_table_is_noted(tmp_path):
    write(tmp_path / "a.csv")
    (tmp_path / "notes.md").symlink_to("lost")
    assert notes(tmp_path) == ("D: not read: notes.md (not tables by their names)",)


def test_a_folder_that_links_to_one_above_it_is_an_error(tmp_path):
    write(tmp_path / "inner" / "a.csv")
    (tmp_path / "inner" / "again").symlink_to(tmp_path)
    for name in ("", "**/*.csv", "**"):
        assert "again: is a link to a folder that it is in" in refusal(tmp_path, name)


def test_a_file_and_a_link_to_it_are_not_read_twice(tmp_path):
    write(tmp_path / "a.csv")
    (tmp_path / "latest.csv").symlink_to("a.csv")
    for name in ("", "*.csv"):
        assert "D/latest.csv: is the same file as D/a.csv by a link" in refusal(tmp_path, name)
    (tmp_path / "latest.csv").unlink()
    # Copies that a file system stores once are copies.
    os.link(tmp_path / "a.csv", tmp_path / "copy.csv")
    assert labels(tmp_path) == ["a.csv", "copy.csv"]


@pytest.mark.parametrize(
    "name",
    ["b.csv.xz", "b.CSV.XZ", "b.tsv.lz4", "b.csv.Z", "b.csv.zip", "b.tab.7z", "b.parquet.br"],
)
def test_a_table_in_a_compression_that_is_not_read_is_an_error(tmp_path, name):
    write(tmp_path / "a.csv")
    write(tmp_path / name)
    suffix = os.path.splitext(name.lower())[1]
    assert refusal(tmp_path).startswith(f"D/{name}: is compressed in a format ({suffix})")


@pytest.mark.parametrize("name", ["b.xlsx", "year=1/b.avro", "b.ods"])
def test_a_table_in_a_format_that_is_not_read_is_an_error(tmp_path, name):
    write(tmp_path / "a.csv")
    write(tmp_path / name)
    suffix = os.path.splitext(name)[1]
    assert refusal(tmp_path).startswith(f"D/{name}: is a table in a format ({suffix})")


@pytest.mark.parametrize(
    ("start", "finding"),
    [
        (b"\xfd7zXZ\0", "compressed by xz"),
        (b"\x04\x22\x4d\x18", "compressed by lz4"),
        (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (b"Obj\x01", "Avro"),
    ],
)
def test_contents_that_are_not_read_are_named(tmp_path, start, finding):
    (tmp_path / "b.csv.xz").write_bytes(start + b"12345678")
    assert finding in refusal(tmp_path, "b.csv.xz")


@pytest.mark.parametrize("name", ["b.csv", "b.md"])
@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_what_is_no_file_is_an_error_under_the_name_of_a_table(tmp_path, monkeypatch, name, kind):
    write(tmp_path / "a.csv")
    if kind == "pipe":
        os.mkfifo(tmp_path / name)
    else:
        monkeypatch.chdir(tmp_path)  # names of sockets are short
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    if name == "b.csv":
        assert "D/b.csv: is no file but a pipe, socket or device" in refusal(tmp_path)
    else:
        assert notes(tmp_path) == (f"D: not read: {name} (not tables by their names)",)
    assert f"D/{name}: is no file but a pipe" in refusal(tmp_path, "b*")


def test_files_beside_the_tables_are_noted(tmp_path):
    for name in ("a.csv", "README.md", "year.json", "_draft.csv", ".old.csv", "part-00000"):
        write(tmp_path / name)
    assert labels(tmp_path) == ["a.csv"]
    assert notes(tmp_path) == (
        "D: not read: .old.csv, README.md, _draft.csv, part-00000, year.json "
        "(not tables by their names)",
    )
    write(tmp_path / "z.md")
    assert "part-00000, year.json and 1 more (" in notes(tmp_path)[0]


def test_what_spark_writes_beside_a_table_is_passed_over(tmp_path):
    pq.write_table(pa.table({"x": [1.0]}), tmp_path / "part-00000-c000.snappy.parquet")
    for name in ("_SUCCESS", "_metadata", "_common_metadata", "._SUCCESS.crc"):
        write(tmp_path / name)
    write(tmp_path / ".part-00000-c000.snappy.parquet.crc")
    write(tmp_path / "_temporary" / "0" / "b.csv")
    write(tmp_path / ".git" / "b.csv")
    assert labels(tmp_path) == ["part-00000-c000.snappy.parquet"]
    assert notes(tmp_path) == ()


def test_a_table_whose_log_says_which_files_count_is_refused(tmp_path):
    write(tmp_path / "inner" / "a.csv")
    write(tmp_path / "inner" / "_delta_log" / "00000000000000000000.json")
    assert refusal(tmp_path).startswith("D: holds a Delta table")


def test_names_in_capitals_are_names_of_tables(tmp_path):
    for name in ("A.CSV", "b.Csv.GZ", "c.TSV"):
        write(tmp_path / name)
    assert labels(tmp_path) == ["A.CSV", "b.Csv.GZ", "c.TSV"]


def test_a_folder_without_tables_is_named_as_such(tmp_path):
    for name in ("", "deep/er"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        assert "D: the folder holds no tables (looked for .csv, .tsv" in refusal(tmp_path)
    write(tmp_path / "hosts")
    assert "D: the folder holds no tables (looked for" in refusal(tmp_path)
    with locked(tmp_path / "deep", tmp_path):
        sentence = refusal(tmp_path)
    assert "D: the folder holds no tables that can be read" in sentence
    assert "D/deep: cannot be read (Permission denied)" in sentence


def test_an_empty_part_is_an_error(tmp_path):
    write(tmp_path / "a.csv")
    (tmp_path / "b.csv").touch()
    assert "D/b.csv: the file is empty" in refusal(tmp_path)


def test_a_part_in_another_format_is_read_with_the_others(tmp_path):
    write(tmp_path / "a.csv", 1)
    pq.write_table(pa.table({"x": [2.0]}), tmp_path / "b.parquet")
    table = open_table([str(tmp_path)])
    assert [batch.columns["x"].tolist() for batch in table.batches(["x"])] == [[1.0], [2.0]]


def test_a_part_that_vanishes_is_an_error(tmp_path):
    write(tmp_path / "a.csv")
    write(tmp_path / "b.csv")
    table = open_table([str(tmp_path)])
    (tmp_path / "b.csv").unlink()
    with pytest.raises(DataError, match=r"b\.csv: cannot be read"):
        list(table.batches(["x"]))


def test_a_folder_deeper_than_calls_may_nest_is_read(tmp_path):
    nested = len(inspect.stack(0)) + 60
    write(tmp_path / Path(*["d"] * nested) / "a.csv")
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(nested)
    try:
        assert len(tables_in(str(tmp_path))[0]) == 1
    finally:
        sys.setrecursionlimit(usual)


def test_a_folder_of_too_many_files_is_refused_before_it_takes_all_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST_ENTRIES", 3)
    for at in range(4):
        write(tmp_path / str(at) / "a.csv")
    assert "D: more than 3 files and folders are below this one" in refusal(tmp_path)


# Names


@pytest.mark.parametrize("name", [b"caf\xe9.csv", b"year=\xe9/a.csv"])
def test_a_name_that_is_not_utf8_is_an_error(tmp_path, name):
    write(tmp_path / "a.csv")
    write(tmp_path / os.fsdecode(name))
    assert "the path is not UTF-8 text; rename the file" in refusal(tmp_path)
    assert "the path is not UTF-8 text" in refusal(tmp_path, os.fsdecode(name))
    assert "the path is not UTF-8 text" in refusal(tmp_path, "**/*.csv")


def test_a_name_that_is_not_utf8_and_no_table_is_noted(tmp_path):
    write(tmp_path / "a.csv")
    write(tmp_path / os.fsdecode(b"caf\xe9.md"))
    assert notes(tmp_path) == (r"D: not read: caf\udce9.md (not tables by their names)",)


@pytest.mark.parametrize(
    "name", ["a\nb.csv", "a\x1b[31m.csv", " .csv", "[a].csv", "ü.csv", "*.csv"]
)
def test_any_other_name_is_read(tmp_path, name):
    write(tmp_path / name)
    assert labels(tmp_path) == [name]
    assert labels(tmp_path, name) == [name]
    assert labels(tmp_path, "*.csv") == [name]


@pytest.mark.parametrize(
    ("folders", "finding"),
    [
        ("year=1/year=2", "the column of the folder year=2 is named by two folders"),
        ("=1", "the column of the folder =1 has no name"),
        ("%FF=1", "the folder %FF=1 does not spell UTF-8"),
        ("a=%C3", "the folder a=%C3 does not spell UTF-8"),
    ],
)
def test_folders_that_name_no_column_are_refused(tmp_path, folders, finding):
    write(tmp_path / folders / "a.csv")
    assert finding in refusal(tmp_path)


# Patterns


@pytest.mark.parametrize(
    "pattern",
    [
        "*.csv", "*", "*/*.csv", "**/*.csv", "**", "sub/**", "./sub/*.csv", "[ab].csv", "?.csv",
        "sub//*.csv", "**/deep/*.csv", "*/deep/b.csv", ".*.csv", "_*.csv", "sub/../*.csv",
        "**/**/*.csv", "s*/**/b.csv", "[!a].csv", "{a,b}.c?v",
    ],
)  # fmt: skip
def test_patterns_match_what_the_glob_module_matches(tmp_path, monkeypatch, pattern):
    monkeypatch.chdir(tmp_path)
    names = ["a.csv", "b.csv", "_c.csv", ".d.csv", "sub/a.csv", "sub/deep/b.csv", ".sub/a.csv",
             "e.md", "{a,b}.csv", "_sub/a.csv"]  # fmt: skip
    for name in names:
        write(Path(name))
    expected = {os.path.normpath(path) for path in glob.glob(pattern, recursive=True)
                if os.path.isfile(path)}  # fmt: skip
    sources, _ = find_sources([pattern])
    found = [os.path.normpath(source.label) for source in sources]
    assert found == sorted(found)
    assert set(found) == expected
    assert len(found) == len(expected)
    absolute, _ = find_sources([f"{tmp_path}/{pattern}"])
    assert len(absolute) == len(expected)


def test_folders_that_match_a_pattern_are_noted(tmp_path):
    write(tmp_path / "a.csv")
    write(tmp_path / "archive" / "b.csv")
    assert notes(tmp_path, "a*") == ("D/a*: not read: D/archive (folders)",)
    assert notes(tmp_path, "*.csv") == notes(tmp_path, "**") == ()
    assert "D/arch*: only folders match this pattern" in refusal(tmp_path, "arch*")
    assert "D/z*: no file matches this pattern" in refusal(tmp_path, "z*")
    assert "D/z/*: no file matches this pattern" in refusal(tmp_path, "z/*")
    assert "D/a.csv/*: no file matches this pattern" in refusal(tmp_path, "a.csv/*")


# Every command says what it did not read


COMMANDS = {
    "fit": ("fit", "data", "--target", "price"),
    "fit --dry-run": ("fit", "data", "--target", "price", "--dry-run"),
    "fit --test": ("fit", "houses.csv", "--target", "price", "--test", "data"),
    "evaluate": ("evaluate", "price.json", "data"),
    "evaluate clusters": ("evaluate", "clusters.json", "data"),
    "predict": ("predict", "price.json", "data", "-o", "out.csv", "--force"),
    "cluster": ("cluster", "data", "--features", "area,rooms", "--clusters", "2"),
    "quantile-report": ("quantile-report", "data", "--target", "price"),
    "quantile-report of models": ("quantile-report", "data", "--model", "again.json",
                                  "--baseline", "price.json"),
    "detect-outliers": ("detect-outliers", "data", "--target", "price"),
    "detect-outliers of a model": ("detect-outliers", "data", "--model", "price.json"),
    "compare": ("compare", "data", "--target", "price", "--rival", "none", "--risk", "mean"),
    "compare --test": ("compare", "houses.csv", "--target", "price", "--rival", "none",
                       "--risk", "mean", "--test", "data"),
}  # fmt: skip


@pytest.fixture(scope="module")
def houses(tmp_path_factory) -> Path:
    folder = add_house_files(tmp_path_factory.mktemp("houses"))
    (folder / "data").mkdir()
    shutil.copy(folder / "houses.csv", folder / "data" / "houses.csv")
    shutil.copy(folder / "price.json", folder / "again.json")
    write(folder / "data" / "README.md")
    table, features = str(folder / "houses.csv"), ("--features", "area,rooms", "--clusters", "2")
    assert run(["cluster", table, *features, "-o", str(folder / "clusters.json")]) == 0
    return folder


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_every_command_says_what_it_did_not_read(houses, monkeypatch, capsys, command):
    monkeypatch.chdir(houses)
    assert run([*command, "--json", "--quiet"]) == 0
    (note,) = [each for each in json.loads(capsys.readouterr().out)["notes"] if "data" in each]
    assert note == "data: not read: README.md (not tables by their names)"
    assert run([*command]) == 0
    out, err = capsys.readouterr()
    assert note in out + err


def test_texts_of_any_kind_are_tables_only_where_a_pattern_names_them(tmp_path):
    write(tmp_path / "README.txt")
    assert refusal(tmp_path).endswith("; name .txt files by a pattern, 'D/*.txt'")
    assert labels(tmp_path, "*.txt") == ["README.txt"]
    write(tmp_path / "a.csv")
    assert labels(tmp_path) == ["a.csv"]
    assert notes(tmp_path) == ("D: not read: README.txt (not tables by their names)",)
