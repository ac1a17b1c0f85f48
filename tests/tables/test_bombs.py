"""Small files that unfold to more than there is room for are refused with a sentence, in time."""

import errno
import gzip
import os
import resource
import sys
import time
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.program import lrisk, refusal
from lrisk_cli import cli
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.models import loading
from lrisk_cli.tables import csv_files, schema
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.memory import Allowance, make_allowance, spell_size
from lrisk_cli.tables.table import open_table


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("2GB", 2 * 10**9), ("500MB", 5 * 10**8), ("1.5 gb", 15 * 10**8), ("1GiB", 2**30),
        ("2k", 2000), ("4096", 4096), (".5M", 500_000),
    ],
)  # fmt: skip
def test_a_limit_is_a_number_and_a_unit(text, n_bytes):
    assert make_allowance(text) == Allowance(n_bytes, named=True)


@pytest.mark.parametrize("text", ["", "GB", "-2GB", "2XB", "0", "two", "2 G B", "1e9"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(UsageError, match="memory_limit takes a size such as 500MB or 2GB; got"):
        make_allowance(text)


def test_sizes_are_spelled_with_three_digits():
    sizes = [0, 999, 1000, 999_600, 1_620_000_000, 3e13]
    spelled = ["0 bytes", "999 bytes", "1 KB", "1 MB", "1.62 GB", "30 TB"]
    assert [spell_size(size) for size in sizes] == spelled


def write_many(folder, n_rows: int) -> str:
    """Rows that take next to no room in their file."""
    path = str(folder / "many.parquet")
    table = pa.table(
        {"x": np.tile([0.0, 1.0], 500_000), "y": np.tile([0.0, 1.0, 1.0, 0.0], 250_000)}
    )
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(n_rows // len(table)):
            writer.write_table(table)
    return path


def test_rows_without_number_are_refused_before_they_are_read(tmp_path):
    write_many(tmp_path, 20_000_000)
    path = tmp_path / "many.parquet"
    contents = path.read_bytes()
    # Whoever reads rows finds them damaged; the footer at the end has their number.
    path.write_bytes(contents[:4] + bytes(len(contents) // 2) + contents[4 + len(contents) // 2 :])
    run = lrisk(tmp_path, "fit", "many.parquet", "--target", "y", "--memory-limit", "100MB",
                "--engine", "memory")  # fmt: skip
    assert refusal(run, 3).startswith(
        "lrisk: error: many.parquet: a design of 20000000 rows x 1 columns takes at least 640 MB, "
        "more than --memory-limit 100 MB; --exclude columns"
    )


def test_a_text_that_unfolds_is_refused_on_the_way(tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb", compresslevel=1) as file:
        file.write(b"x,y\n" + b"1.5,2\n0.5,1\n" * 1_000_000)
    inputs = Inputs((str(tmp_path / "bomb.csv.gz"),), allowance=Allowance(1_000_000, named=True))
    with pytest.raises(DataError, match=r"more than memory_limit='1 MB'") as caught:
        build_design(open_table(inputs), DesignOptions("y"))
    n_rows = int(str(caught.value).split("a design of ")[1].split()[0])
    assert n_rows < 500_000


def test_categories_stay_codes_and_their_texts_count(tmp_path):
    rows = np.arange(5000)
    table = pa.table({"id": rows.astype(str), "y": rows % 7})
    pq.write_table(table, tmp_path / "ids.parquet")
    flags = ["--target", "y", "--engine", "memory", "--max-categories", "5000"]
    flags += ["--memory-limit", "20MB"]
    run = lrisk(tmp_path, "fit", "ids.parquet", *flags)
    assert run.returncode == 0, run.stderr  # as 0/1 columns they would take 200 MB
    table = pa.table({"id": [f"{row:0500d}" for row in rows], "y": rows % 7})
    pq.write_table(table, tmp_path / "texts.parquet")
    flags[-1] = "2MB"
    run = lrisk(tmp_path, "fit", "texts.parquet", *flags)
    assert "5000 rows x 0 columns and its texts takes at least" in refusal(run, 3)


def test_without_a_limit_the_machine_sets_it(tmp_path, monkeypatch):
    monkeypatch.setattr("lrisk_cli.tables.memory.machine_memory", lambda: 10_000)
    (tmp_path / "t.csv").write_text("x,y\n" + "1,2\n3,4\n" * 500)
    with pytest.raises(DataError, match=r"more than the 10 KB of this machine"):
        build_design(open_table([str(tmp_path / "t.csv")]), DesignOptions("y"))


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        *product([b"x,y\n1,2\n", b'x,y\n1,2\n"', b"", b'"'], [b"a", b'""']),
        # Outside of quotes these would be records.
        *product([b'x,y\n1,2\n"', b'"'], [b"a,b\n"]),
    ],
)
def test_a_field_without_end_is_refused_soon(tmp_path, monkeypatch, start, piece):
    monkeypatch.setattr(csv_files, "LONGEST_RECORD", 4 << 20)
    with gzip.open(tmp_path / "long.csv.gz", "wb", compresslevel=1) as file:
        file.write(start + piece * ((12 << 20) // len(piece)))
    # Of the processor: others may be busy.
    began = time.process_time()
    with pytest.raises(DataError, match=r"a record is longer than 4 MB"):
        list(open_table([str(tmp_path / "long.csv.gz")]).batches(["y"]))
    assert (took := time.process_time() - began) < 8.0, took


def test_long_cells_of_parquet_are_refused_or_read_a_few_at_a_time(tmp_path):
    how = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    table = pa.table({"t": ["q" * 3_000_000] * 2, "y": [1.0, 2.0]})
    pq.write_table(table, tmp_path / "cell.parquet", **how)
    with pytest.raises(DataError, match=r"column 't': its cells take 3 MB each, more than"):
        open_table([str(tmp_path / "cell.parquet")])
    table = pa.table({"t": ["q" * 500_000, "r" * 500_000] * 100, "y": np.arange(200.0)})
    pq.write_table(table, tmp_path / "long.parquet", **how)
    batches = list(open_table([str(tmp_path / "long.parquet")]).batches(["t"]))
    assert sum(batch.n_rows for batch in batches) == 200
    assert max(batch.n_rows for batch in batches) <= 140


def test_names_of_rows_count_as_memory(tmp_path):
    rows = np.arange(20_000)
    table = pa.table({"id": [f"{row:0500d}" for row in rows], "x": rows % 5, "y": rows % 7})
    pq.write_table(table, tmp_path / "ids.parquet")
    flags = ["--target", "y", "--memory-limit", "5MB", "--quiet", "--max-passes", "5",
             "--engine", "memory"]  # fmt: skip
    assert lrisk(tmp_path, "fit", "ids.parquet", *flags, "--exclude", "id").returncode == 0
    run = lrisk(tmp_path, "fit", "ids.parquet", *flags, "--id", "id")
    assert "more than --memory-limit 5 MB" in refusal(run, 3)


def test_more_columns_than_any_table_has_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "MOST_COLUMNS", 3)
    (tmp_path / "wide.csv").write_text("a,b,c,d\n1,2,3,4\n")
    with pytest.raises(DataError, match=r"wide.csv: has 4 columns, more than the 3 that lrisk"):
        open_table([str(tmp_path / "wide.csv")])


def test_megabytes_of_line_ends_are_no_rows(tmp_path):
    text = b"x,c,y\n1,a,2\n2,b,3\n" + b"\n" * (3 * csv_files.BLOCK_BYTES) + b"3,a,5\n4,b,1\n"
    (tmp_path / "holes.csv").write_bytes(text)
    design, _ = build_design(open_table([str(tmp_path / "holes.csv")]), DesignOptions("y"))
    assert design.row_numbers.tolist() == [0, 1, 2, 3]
    assert design.targets.tolist() == [2.0, 3.0, 5.0, 1.0]


def zigzag(number: int) -> bytes:
    """An integer as the footer of a Parquet file spells it."""
    number, spelled = 2 * number, b""
    while number > 127:
        number, spelled = number >> 7, spelled + bytes([number & 127 | 128])
    return spelled + bytes([number])


def test_rows_that_a_footer_promises_and_the_file_lacks_are_missed(tmp_path):
    n_rows, promised = 123_457, 1_999_999
    values = np.arange(n_rows) % 7.0
    pq.write_table(pa.table({"x": values, "y": values}), tmp_path / "t.parquet")
    data = (tmp_path / "t.parquet").read_bytes()
    head, footer = data[:-8], data[-8:]
    start = len(head) - int.from_bytes(footer[:4], "little")
    forged = head[start:].replace(zigzag(n_rows), zigzag(promised))
    length = len(forged).to_bytes(4, "little")
    (tmp_path / "t.parquet").write_bytes(head[:start] + forged + length + b"PAR1")
    run = lrisk(tmp_path, "fit", "t.parquet", "--target", "y", "--quiet")
    assert f"says that it holds {promised} rows, and {n_rows} can be read" in refusal(run, 3)


# Limits of the process


def limit(monkeypatch, **soft: int) -> None:
    """Let the process have soft limits by the names of the resource module."""
    limits = {getattr(resource, name): n_bytes for name, n_bytes in soft.items()}
    usual = resource.getrlimit
    monkeypatch.setattr(
        resource, "getrlimit", lambda which: (limits.get(which, usual(which)[0]), usual(which)[1])
    )


@pytest.mark.parametrize(
    ("name", "flag"), [("RLIMIT_AS", "ulimit -v"), ("RLIMIT_DATA", "ulimit -d")]
)
def test_a_process_too_limited_for_its_libraries_is_refused(monkeypatch, capsys, name, flag):
    limit(monkeypatch, **{name: 10**9})
    assert cli.run(["fit", "t.csv", "--target", "y"]) == 2
    assert f"{flag} leaves this process 1 GB of address space" in capsys.readouterr().err
    assert cli.run(["fit", "--help"]) == 0


def test_a_limit_of_the_process_leaves_less_for_the_rows(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    limit(monkeypatch, RLIMIT_AS=2_300_000_000)
    for text in (None, "1TB"):
        allowance = make_allowance(text)
        allowance.check("t", 1000, 1000)
        with pytest.raises(DataError, match="more than the 300 MB that ulimit -v leaves"):
            allowance.check("t", 100_000, 1000)
    assert make_allowance("1MB").n_bytes == 1_000_000


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
        ImportError("libquadmath.so.0: failed to map segment from shared object"),
        pa.ArrowMemoryError("malloc of size 9 failed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lack_of_memory_is_no_bug(monkeypatch, capfd, error):
    def load_model(path):
        raise error

    monkeypatch.setattr(loading, "load_model", load_model)
    with open(os.dup(1), "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert cli.run(["show", "m.json"]) == 3
    assert "lrisk: error: there is not enough memory; read fewer" in capfd.readouterr().err
