"""Result files read back exactly, appear whole or not at all, and overwrite nothing unasked."""

import csv
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrisk_cli.errors import UsageError
from lrisk_cli.tables import outputs
from lrisk_cli.tables.places import make_folder
from lrisk_cli.tables.table import check_output, open_table, write_bytes, write_parts, write_table

LINK = os.link
FLOATS = st.lists(st.floats(allow_infinity=False), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(numbers=FLOATS, suffix=st.sampled_from([".csv", ".tsv", ".parquet"]))
def test_floats_read_back_to_the_last_bit_and_nan_as_missing(tmp_path_factory, numbers, suffix):
    path = str(tmp_path_factory.getbasetemp() / f"floats{suffix}")
    written = np.array(numbers)
    write_table(path, {"row": np.arange(len(numbers)), "x": written})
    (batch,) = open_table([path], dtypes={"x": "number"}).batches(["row", "x"])
    np.testing.assert_array_equal(batch.columns["row"], np.arange(len(numbers)))
    np.testing.assert_array_equal(batch.columns["x"], written)
    assert (np.signbit(batch.columns["x"]) == np.signbit(written))[~np.isnan(written)].all()


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=20),
    suffix=st.sampled_from([".csv", ".tsv"]),
)
def test_any_text_reads_back_with_the_csv_module(tmp_path_factory, texts, suffix):
    path = tmp_path_factory.getbasetemp() / f"texts{suffix}"
    write_table(path, {'na"me': np.array(texts, object), "coded": pa.array(texts)})
    delimiter = "," if suffix == ".csv" else "\t"
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter=delimiter))
    assert rows == [['na"me', "coded"], *([text, text] for text in texts)]


def test_only_fields_that_need_quotes_get_them_and_missing_is_empty(tmp_path):
    path = tmp_path / "t.csv"
    coded = pa.array(["u", None, "u"]).dictionary_encode()
    write_table(path, {"n": pa.array([1, None, 3]), "t": pa.array(["a", "b,c", 'd"']), "c": coded})
    assert path.read_text() == 'n,t,c\n1,a,u\n,"b,c",\n3,"d""",u\n'


TEXTS = ["=1+1", "+a", "-b", "@c", "\td", "\re", "-5", "+1.5e3", "-", "a=1", "", None, '=",']
SAFE = ["'=1+1", "'+a", "'-b", "'@c", "'\td", "'\re", "-5", "+1.5e3", "'-", "a=1", "", "", "'=\","]


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_formulas_are_defused_when_asked_and_numbers_never(tmp_path, type_, suffix):
    path, delimiter = tmp_path / f"t{suffix}", "," if suffix == ".csv" else "\t"
    numbers = -np.arange(len(TEXTS), dtype=float)
    columns = {"=head": pa.array(TEXTS, type_), "x": numbers}
    token = outputs.SPREADSHEET_SAFE.set(True)
    try:
        write_table(path, columns)
    finally:
        outputs.SPREADSHEET_SAFE.reset(token)
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with open(path, newline="", encoding="utf-8-sig") as file:
        head, *rows = csv.reader(file, delimiter=delimiter)
    assert head == ["'=head", "x"]
    assert [row[0] for row in rows] == SAFE
    assert [float(row[1]) for row in rows] == numbers.tolist()
    write_table(path, columns)
    with open(path, newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file, delimiter=delimiter)][1:] == [
            text or "" for text in TEXTS
        ]


def test_parquet_keeps_types(tmp_path):
    path = tmp_path / "t.parquet"
    write_table(path, {"id": pa.array([2**63 - 1]), "x": np.array([0.1]), "r": np.array([3])})
    assert pq.read_table(path).to_pydict() == {"id": [2**63 - 1], "x": [0.1], "r": [3]}


def test_many_rows_are_written_in_order(tmp_path, monkeypatch):
    monkeypatch.setattr(outputs, "ROWS_AT_A_TIME", 7)
    write_table(tmp_path / "t.csv", {"row": np.arange(100)})
    assert (tmp_path / "t.csv").read_text().split() == ["row", *map(str, range(100))]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_parts_make_the_same_table_as_the_whole(tmp_path, suffix):
    columns = {"row": np.arange(7), "text": pa.array([None, "a", 'b"', None, "c,d", "e", None])}
    write_table(tmp_path / f"whole{suffix}", columns)
    slices = [slice(0, 3), slice(3, 4), slice(4, 7)]
    parts = ({name: values[part] for name, values in columns.items()} for part in slices)
    write_parts(tmp_path / f"parts{suffix}", parts)
    whole, joined = (tmp_path / f"{name}{suffix}" for name in ("whole", "parts"))
    if suffix == ".parquet":
        assert pq.read_table(whole).equals(pq.read_table(joined))
    else:
        assert whole.read_bytes() == joined.read_bytes()


def test_an_existing_file_is_kept_unless_forced(tmp_path):
    path = tmp_path / "m.json"
    check_output(path, force=False)
    write_bytes(path, b"old")
    with pytest.raises(UsageError, match=r"m\.json: exists; pass force to overwrite it"):
        check_output(path, force=False)
    check_output(path, force=True)


def test_impossible_outputs_are_refused_before_any_work(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"file is not a folder; choose another name"):
        check_output(tmp_path / "file" / "new" / "m.json", force=False)
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        check_output(f"{tmp_path}/new/", force=False)
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        check_output(tmp_path, force=True)
    with pytest.raises(UsageError, match=r"unknown kind of table '\.xls'; use \.csv, \.tsv"):
        check_output(tmp_path / "t.xls", force=False, table=True)
    check_output(tmp_path / "t.xls", force=False)
    check_output(tmp_path / "t.PARQUET", force=False, table=True)


def test_a_folder_without_permission_is_refused(tmp_path, monkeypatch):
    # Root may write anywhere, so the system's answer is replaced.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(UsageError, match="is not writable; choose another"):
        check_output(tmp_path / "m.json", force=False)


def test_a_failed_write_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    write_bytes(path, b"old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"cannot be written \(No space left on device\)"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["m.json"]


def test_an_interrupted_write_leaves_the_old_file_and_no_debris(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    write_bytes(path, b"old")

    def interrupted(table, delimiter):
        yield b"half"
        raise KeyboardInterrupt

    monkeypatch.setattr(outputs, "_text_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_table(path, {"x": np.arange(3)})
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_permissions_links_and_devices_are_respected(tmp_path):
    path = tmp_path / "m.json"
    write_bytes(path, b"old")
    umask = os.umask(0o077)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o600)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    write_bytes(link, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert link.is_symlink()
    check_output(os.devnull, force=False)
    write_bytes(os.devnull, b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


# Files that appear while a command works


@pytest.fixture(params=["links", "no links"])
def file_system(request, monkeypatch) -> None:
    """Some file systems have no second name for a file."""

    def refuse(*paths: str) -> None:
        raise PermissionError(1, "Operation not permitted")

    if request.param == "no links":
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("file_system")
@pytest.mark.parametrize("name", ["out.csv", "link.csv"])
def test_a_file_that_appears_after_the_check_is_not_replaced(tmp_path, name):
    (tmp_path / "link.csv").symlink_to("target.csv")
    path = tmp_path / name
    check_output(path, force=False)
    path.write_bytes(b"of another")
    before = sorted(os.listdir(tmp_path))
    for write in (lambda: write_bytes(path, b"new"), lambda: write_table(path, {"x": np.ones(2)})):
        with pytest.raises(UsageError, match=r"csv: appeared during the run; .* pass force"):
            write()
        assert path.read_bytes() == b"of another"
        assert sorted(os.listdir(tmp_path)) == before
    check_output(path, force=True)
    write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


@pytest.mark.usefixtures("file_system")
def test_a_new_file_is_written_whole_and_may_then_be_written_again(tmp_path):
    path = tmp_path / "m.json"
    check_output(path, force=False)
    write_bytes(path, b"one")
    write_bytes(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["m.json"]
    assert path.stat().st_nlink == 1


@pytest.mark.usefixtures("file_system")
def test_a_failure_before_a_new_file_has_its_name_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    check_output(path, force=False)

    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"cannot be written \(No space left on device\)"):
        write_bytes(path, b"new")
    monkeypatch.setattr(os, "fsync", lambda handle: None)
    if os.link is not LINK:
        with pytest.raises(UsageError, match="cannot be written"):
            write_bytes(path, b"new")
    assert os.listdir(tmp_path) == []


@pytest.mark.usefixtures("file_system")
def test_of_writers_at_the_same_time_one_wins(tmp_path):
    path = tmp_path / "m.json"
    n_writers = 8
    together = Barrier(n_writers)

    def write(data: bytes) -> bytes | None:
        check_output(path, force=False)
        together.wait()
        try:
            write_bytes(path, data)
        except UsageError:
            return None
        return data

    with ThreadPoolExecutor(n_writers) as pool:
        written = list(pool.map(write, [bytes([k]) * 1000 for k in range(n_writers)]))
    assert [data for data in written if data is not None] == [path.read_bytes()]
    assert os.listdir(tmp_path) == ["m.json"]


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "loop.json").symlink_to("loop.json")
    for force in (False, True):
        with pytest.raises(UsageError, match=r"cannot be written \(Too many levels"):
            check_output(tmp_path / "loop.json", force=force)
    with pytest.raises(UsageError, match=r"cannot be written \(File name too long"):
        check_output(tmp_path / ("x" * 300), force=True)


def test_the_owner_of_a_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "m.json"
    path.write_bytes(b"old")
    path.chmod(0o4711)
    here = path.stat()
    if os.geteuid() == 0:
        os.chown(path, 12345, 23456)
        path.chmod(0o4711)
        write_bytes(path, b"new")
        state = path.stat()
        assert (state.st_uid, state.st_gid, stat.S_IMODE(state.st_mode)) == (12345, 23456, 0o4711)

    # Whoever may not give files away writes one of their own.
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    write_bytes(path, b"newer")
    assert path.read_bytes() == b"newer"
    assert path.stat().st_uid == here.st_uid


def test_folders_that_were_made_are_removed_if_the_write_fails(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(28, "No space left on device")

    (tmp_path / "old").mkdir()
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match=r"cannot be written \(No space left on device\)"):
        write_bytes(tmp_path / "old" / "new" / "deep" / "m.json", b"new")
    assert os.listdir(tmp_path) == ["old"]
    assert os.listdir(tmp_path / "old") == []


def test_a_folder_that_another_command_makes_meanwhile_is_used_and_kept(tmp_path, monkeypatch):
    make = Path.mkdir

    def late(folder):
        make(folder)
        raise FileExistsError(17, "File exists")

    monkeypatch.setattr(Path, "mkdir", late)
    assert make_folder(tmp_path / "a" / "b") == []
    assert (tmp_path / "a" / "b").is_dir()
