"""Arrow files tell their rows and what they unfold to, before any of it is read."""

import numpy as np
import pyarrow as pa
import pytest

from helpers.program import lrisk, refusal
from lrisk_cli.tables.arrow_messages import Sizes, measure_messages

KINDS = {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}


def write(path, kind: str, compression: str | None, table: pa.Table, n_rows: int) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (
        pa.OSFile(str(path), "wb") as file,
        KINDS[kind](file, table.schema, options=options) as out,
    ):
        out.write_table(table, max_chunksize=n_rows)


def numbers_and_words(n_rows: int) -> pa.Table:
    words = pa.array(["a", "bb", None, "dddd"] * (n_rows // 4))
    return pa.table({"x": np.zeros(n_rows), "w": words, "c": words.dictionary_encode()})


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_rows_are_counted_and_the_largest_batch_is_measured(tmp_path, kind, compression):
    table = numbers_and_words(100_000)
    write(tmp_path / "t", kind, compression, table, 40_000)
    sizes = measure_messages(pa.OSFile(str(tmp_path / "t")))
    assert sizes is not None
    assert sizes.n_rows == 100_000
    assert sizes.largest == pytest.approx(table.slice(0, 40_000).nbytes, rel=0.01)


def test_what_is_no_such_file_is_left_to_arrow(tmp_path):
    write(tmp_path / "t", "file", "zstd", numbers_and_words(1000), 100)
    whole = (tmp_path / "t").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(300):
        damaged = bytearray(whole)
        for at in rng.integers(0, len(whole), 5):
            damaged[at] = rng.integers(256)
        (tmp_path / "t").write_bytes(damaged[: rng.integers(len(whole))])
        assert isinstance(measure_messages(pa.OSFile(str(tmp_path / "t"))), Sizes | None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_that_unfolds_is_refused_unread(tmp_path, kind):
    zeros = np.zeros(3_000_000)
    write(tmp_path / "t.arrow", kind, "zstd", pa.table({"x": zeros, "y": zeros}), len(zeros))
    assert (tmp_path / "t.arrow").stat().st_size < 100_000
    run = lrisk(tmp_path, "fit", "t.arrow", "--target", "y", "--memory-limit", "20MB")
    sentence = refusal(run, 3)
    assert "t.arrow: a batch of its rows takes 48 MB, more than --memory-limit 20 MB" in sentence
