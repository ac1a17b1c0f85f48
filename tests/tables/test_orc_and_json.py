"""ORC and JSON lines hold what pandas and DuckDB read in them, in any batches."""

import gzip
import json
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from helpers.program import document, lrisk
from lrisk_cli.errors import DataError
from lrisk_cli.tables import json_files
from lrisk_cli.tables.table import open_table

N_ROWS = 3000


def make_table() -> pa.Table:
    rng = np.random.default_rng(4)
    missing = rng.random(N_ROWS) < 0.1
    return pa.table({
        "x": pa.array(rng.standard_normal(N_ROWS), mask=missing),
        "n": rng.integers(-5, 2**40, N_ROWS),
        "city": pa.array(rng.choice(["Köln", 'a "b"', "c,\nd"], N_ROWS), mask=missing[::-1]),
        "sold": rng.random(N_ROWS) < 0.5,
        "day": pa.array(np.datetime64("2020-01-01") + rng.integers(0, 900, N_ROWS)),
    })  # fmt: skip


TABLE = make_table()


def write_lines(path: Path, table: pa.Table) -> None:
    """Missing cells are left out, as many programs do."""
    rows = table.set_column(4, "day", table["day"].cast(pa.string())).to_pylist()
    lines = [json.dumps({k: v for k, v in row.items() if v is not None}) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def read(path: Path, **how) -> pd.DataFrame:
    """What open_table reads, texts as they are."""
    table = open_table(str(path), **how)
    parts = [
        {
            name: (
                cells
                if isinstance(cells, np.ndarray)
                else [None if code < 0 else cells.values[code] for code in cells.codes]
            )
            for name, cells in batch.columns.items()
        }
        for batch in table.batches([column.name for column in table.columns])
    ]
    frame = pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)
    texts = [column.name for column in table.columns if not column.numeric]
    return frame.assign(**{name: with_none(frame[name]) for name in texts})


def with_none(texts: pd.Series) -> pd.Series:
    return pd.Series([None if pd.isna(text) else str(text) for text in texts], dtype=object)


def expected(frame: pd.DataFrame) -> pd.DataFrame:
    """The same rows of another reader, in the types that a design has."""
    days = pd.to_datetime(frame["day"]).to_numpy().astype("datetime64[D]").astype(float)
    texts = with_none(frame["city"])
    sold = with_none(frame["sold"].map({True: "true", False: "false"}))
    return pd.DataFrame({
        "x": frame["x"].astype(float), "n": frame["n"].astype(float), "city": texts,
        "sold": sold, "day": days,
    })  # fmt: skip


@pytest.mark.parametrize("batch_rows", [100, 16_384])
def test_json_lines_hold_what_duckdb_and_pandas_read(tmp_path, monkeypatch, batch_rows):
    monkeypatch.setattr(json_files, "BLOCK_BYTES", 5000 if batch_rows == 100 else 4 << 20)
    path = tmp_path / "t.jsonl"
    write_lines(path, TABLE)
    found = read(path, batch_rows=batch_rows)[["x", "n", "city", "sold", "day"]]
    by_pandas = expected(pd.read_json(path, lines=True))
    by_duckdb = expected(duckdb.sql(f"SELECT * FROM read_json('{path}')").df())
    for oracle in (by_pandas, by_duckdb):
        pd.testing.assert_frame_equal(found, oracle, check_dtype=False)


def test_orc_holds_what_pandas_reads(tmp_path):
    path = tmp_path / "t.orc"
    orc.write_table(TABLE, path, stripe_size=20_000)
    assert orc.ORCFile(path).nstripes > 1
    found = read(path, batch_rows=100)
    pd.testing.assert_frame_equal(found, expected(pd.read_orc(path)), check_dtype=False)
    assert open_table(str(path)).n_rows == N_ROWS


def test_a_fit_of_each_format_gives_the_same_model(tmp_path):
    pq.write_table(TABLE, tmp_path / "t.parquet")
    orc.write_table(TABLE, tmp_path / "t.orc")
    write_lines(tmp_path / "t.jsonl", TABLE)
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress((tmp_path / "t.jsonl").read_bytes()))
    (tmp_path / "folder").mkdir()
    write_lines(tmp_path / "folder/a.ndjson", TABLE.slice(0, 999))
    orc.write_table(TABLE.slice(999), tmp_path / "folder/b.orc")
    models = []
    for name in ("t.parquet", "t.orc", "t.jsonl", "t.jsonl.gz"):
        flags = ["--target", "x", "--missing", "drop", "--risk", "mean", "-o", "m.json", "--force"]
        assert document(lrisk(tmp_path, "fit", name, *flags, "--json"))["rows"]["read"] == N_ROWS
        models.append((tmp_path / "m.json").read_bytes())
    assert all(model == models[0] for model in models)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ('{"x": 1}\n{"x": "a"}\n', "x"),
        ('{"x": 1}\n[1, 2]\n', "write one object on each line"),
        ('{"x": 1}\n{"x": 2\n', "write one object on each line"),
    ],
)
@pytest.mark.parametrize("size", [6, 4 << 20])
def test_what_is_no_table_is_refused_with_a_sentence(tmp_path, monkeypatch, text, finding, size):
    monkeypatch.setattr(json_files, "BLOCK_BYTES", size)
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(DataError, match=finding):
        open_table(str(tmp_path / "t.jsonl"))


def test_whole_numbers_before_fractions_are_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(json_files, "BLOCK_BYTES", 10)
    (tmp_path / "t.jsonl").write_text('{"x": 1}\n{"x": 2.5, "y": "2020-01-01"}\n{"y": "late"}\n')
    found = read(tmp_path / "t.jsonl")
    assert found["x"].tolist()[:2] == [1.0, 2.5]
    assert found["y"].tolist() == [None, "2020-01-01", "late"]
