"""Damaged copies of typed files give rows or a sentence: no crash, no other error, no endless loop.

`tests/helpers/damage.py FILE SEED COUNT` tries as many as there is time for.
"""

import os
import subprocess
import sys
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lrisk_cli.errors import DataError
from lrisk_cli.tables.table import open_table

TESTS = Path(__file__).parents[1]
N = 24
COPIES = 150
DELTAS = {"s": "DELTA_BYTE_ARRAY", "x": "BYTE_STREAM_SPLIT", "k": "DELTA_BINARY_PACKED"}


def write(path: Path, how: str) -> None:
    rows = np.arange(N)
    table = pa.table({
        "s": ["a", "b", None] * 8,
        "d": pa.array(["u", "v", "w"] * 8).dictionary_encode(),
        "x": rows * 1.0,
        "k": rows,
        "m": pa.array([Decimal(k) / 100 for k in range(N)], pa.decimal128(9, 2)),
        "t": [datetime(2020, 1, 1) + timedelta(k) for k in range(N)],
        "b": [True, False] * 12,
        "l": [[1], [2, 3]] * 12,
    })  # fmt: skip
    if how == "pages":
        pq.write_table(table, path, row_group_size=10)
    elif how == "deltas":
        pq.write_table(table, path, compression="none", data_page_version="2.0",
                       use_dictionary=False, column_encoding=DELTAS)  # fmt: skip
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd" if how == "zstd" else None)
        start = pa.ipc.new_stream if how == "stream" else pa.ipc.new_file
        with start(path, table.schema, options=options) as writer:
            writer.write_table(table, max_chunksize=10)


@pytest.mark.parametrize("how", ["pages", "deltas", "file", "stream", "zstd"])
def test_a_damaged_file_gives_rows_or_a_sentence(tmp_path, how):
    path = tmp_path / ("t.parquet" if how in ("pages", "deltas") else "t.arrow")
    write(path, how)
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, TESTS / "helpers/damage.py", path, "7", str(COPIES)],
        capture_output=True, text=True, timeout=120, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert (done.returncode, done.stdout.split("\n")[-2]) == (0, str(COPIES - 1)), done.stderr
    assert [line for line in done.stdout.splitlines() if ":" in line] == []


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_file_that_is_cut_off_or_has_a_wrong_end_is_refused(tmp_path, suffix):
    path = tmp_path / f"t.{suffix}"
    write(path, "pages" if suffix == "parquet" else "file")
    data = path.read_bytes()
    huge = (2**31 - 1).to_bytes(4, "little")
    for part in (data[:9], data[:-1], data[:-12], data[:-10] + huge + data[-6:], data[:8]):
        path.write_bytes(part)
        with pytest.raises(DataError, match=r"t\.(parquet|arrow)"):
            list(open_table(str(path)).batches(["x"]))
