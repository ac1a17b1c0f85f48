"""Parquet files: encodings, checksums, encryption, and names that look like paths."""

import base64
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from helpers.program import lrisk
from helpers.tables import kinds, read
from lrisk_cli.errors import DataError
from lrisk_cli.tables.table import open_table

TEXTS = ["red", "green", "", "blue"] * 25
CODES = [text or None for text in TEXTS]


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_is_read_in_every_encoding(tmp_path, encoding, kind):
    path = str(tmp_path / "t.parquet")
    table = pa.table({"t": pa.array(TEXTS, kind), "u": TEXTS, "y": np.arange(100.0)})
    how = {"use_dictionary": ["u"], "column_encoding": {"t": encoding}, "row_group_size": 30}
    pq.write_table(table, path, **how)
    assert read(open_table(path)) == {"t": CODES, "u": CODES, "y": table["y"].to_pylist()}


def test_text_whose_later_row_groups_have_other_encodings_is_read(tmp_path):
    path = str(tmp_path / "t.parquet")
    many = [f"{k % 90:03d}-of-many-texts" for k in range(2000)]
    # The dictionary overflows, and the pages after it have deltas, as Spark writes them.
    pq.write_table(pa.table({"t": many}), path, dictionary_pagesize_limit=500, data_page_size=500,
                   data_page_version="2.0", version="2.6")  # fmt: skip
    assert read(open_table(path))["t"] == many


def test_a_page_that_does_not_match_its_checksum_is_refused(tmp_path):
    numbers = np.random.default_rng(3).normal(size=500)
    path = tmp_path / "t.parquet"
    how = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    pq.write_table(pa.table({"x": numbers, "y": numbers[::-1]}), path, **how)
    assert read(open_table(str(path)))["x"] == numbers.tolist()
    data = bytearray(path.read_bytes())
    data[data.index(numbers[250].tobytes())] ^= 1
    path.write_bytes(data)
    with pytest.raises(
        DataError, match=r"cannot be read \(could not verify page integrity"
    ) as told:
        read(open_table(str(path)))
    assert str(told.value).endswith("; if the file is damaged, write it again")


# Encryption


class OpenKeys(encryption.KmsClient):
    """Wraps keys by writing them down."""

    def __init__(self, _connection: object) -> None:
        super().__init__()

    def wrap_key(self, key_bytes: bytes, _master_key: str) -> bytes:
        return base64.b64encode(key_bytes)

    def unwrap_key(self, wrapped_key: bytes, _master_key: str) -> bytes:
        return base64.b64decode(wrapped_key)


def write_encrypted(path: str | Path, table: pa.Table, columns: list[str], *, footer: bool) -> None:
    """Write a table with encrypted columns, and an encrypted footer or a readable one."""
    how = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"key": columns}, plaintext_footer=not footer,
        double_wrapping=False,
    )  # fmt: skip
    factory = encryption.CryptoFactory(OpenKeys)
    secrets = factory.file_encryption_properties(encryption.KmsConnectionConfig(), how)
    with pq.ParquetWriter(path, table.schema, encryption_properties=secrets) as writer:
        writer.write_table(table, row_group_size=7)


@pytest.mark.parametrize("name", ["c", "n"])
def test_an_encrypted_column_is_refused_unless_it_is_excluded(tmp_path, name):
    n = np.arange(24)
    columns = {"n": n % 5 * 1.0, "c": [*"abc"] * 8, "x": n % 7 * 1.0, "y": n % 4 * 1.0}
    path = str(tmp_path / "t.parquet")
    write_encrypted(path, pa.table(columns), [name], footer=False)
    # In a process of its own, which pyarrow would end.
    command = ("fit", "t.parquet", "--target", "y", "--risk", "mean", "--quiet")
    assert lrisk(tmp_path, *command, "--exclude", name).returncode == 0
    for how in ({}, {"dtypes": {name: "category"}}):
        with pytest.raises(
            DataError, match=f"column '{name}': is encrypted; pass exclude='{name}'"
        ):
            list(open_table(path, **how).batches([name, "y"]))
    others = [other for other in columns if other != name]
    assert sum(batch.n_rows for batch in open_table(path).batches(others)) == 24


def test_an_encrypted_footer_is_refused_with_a_remedy(tmp_path):
    table = pa.table({"x": [1.0, 2.0]})
    write_encrypted(tmp_path / "t.parquet", table, ["x"], footer=True)
    with pytest.raises(DataError, match="an encrypted Parquet file; decrypt it"):
        open_table(str(tmp_path / "t.parquet"))


# Names


def test_a_name_with_points_is_a_name_not_a_path(tmp_path):
    days = ["2020-01-01", "2020-01-02"]
    columns = {
        "a.b": [b"x", b"y"], "a": days, "c": [{"b": 1, "a": "q"}, {"b": 2, "a": "r"}],
        "c.b": ["u", "v"], ".": [3.0, 4.0], "d.": ["p", "q"], "y": [1.0, 2.0],
    }  # fmt: skip
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table(columns), path)
    table = open_table(path)
    assert kinds(table) == {
        "a.b": "nested", "a": "date", "c": "nested", "c.b": "category", ".": "number",
        "d.": "category", "y": "number",
    }  # fmt: skip
    batches = list(table.batches(["d.", "c.b", "a", ".", "y"]))
    assert [batch.columns["a"].tolist() for batch in batches] == [[18262.0, 18263.0]]
    assert batches[0].columns["c.b"].values == ["u", "v"]
    assert batches[0].columns["d."].values == ["p", "q"]
    assert list(batches[0].columns) == ["d.", "c.b", "a", ".", "y"]


def test_long_texts_under_a_name_with_a_point_are_refused_too(tmp_path):
    path = str(tmp_path / "t.parquet")
    table = pa.table({"a.t": ["q" * 3_000_000] * 2, "y": [1.0, 2.0]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False, write_statistics=False)
    with pytest.raises(DataError, match=r"column 'a\.t': its cells take 3 MB each"):
        open_table(path)


def rename_bytes(path: Path, old: bytes, new: bytes) -> None:
    data = path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    path.write_bytes(data.replace(old, new))


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_a_column_name_that_is_not_utf8_is_refused(tmp_path, suffix):
    path, table = tmp_path / f"t.{suffix}", pa.table({"naeme": [1.0, 2.0], "y": [1.0, 2.0]})
    if suffix == "parquet":
        pq.write_table(table, path, store_schema=False)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)
    rename_bytes(path, b"naeme", b"na\xe4me")
    with pytest.raises(DataError, match=f"t.{suffix}: a column name is not UTF-8"):
        open_table(str(path))


# Physical types


def test_decimals_are_read_from_every_physical_type(tmp_path):
    numbers = [Decimal(k) / 100 for k in (190, -7, 12345, 30)]
    for precision in (5, 9, 18, 38):
        for integers in (True, False):
            path = str(tmp_path / "t.parquet")
            column = pa.array(numbers, pa.decimal128(precision, 2))
            pq.write_table(pa.table({"d": column}), path, store_decimal_as_integer=integers)
            assert read(open_table(path))["d"] == [1.9, -0.07, 123.45, 0.3]


def test_old_timestamps_and_narrow_numbers_are_read_exactly(tmp_path):
    moments = pa.array(np.array(["2020-02-29T06:00", "1815-06-18T12:00"], "M8[ns]"))
    table = pa.table({
        "t": moments,
        "u": pa.array([2**32 - 1, 5], pa.uint32()), "w": pa.array([255, 0], pa.uint8()),
        "h": pa.array(np.array([0.1, 65504], np.float16)),
        "v": pa.array([2**64 - 1, 3], pa.uint64()),
    })  # fmt: skip
    path = str(tmp_path / "t.parquet")
    pq.write_table(table, path, use_deprecated_int96_timestamps=True, store_schema=False)
    assert read(open_table(path)) == {
        "t": [18321.25, -56444.5], "u": [2.0**32 - 1, 5.0], "w": [255.0, 0.0],
        "h": [float(np.float16(0.1)), 65504.0], "v": [2.0**64, 3.0],
    }  # fmt: skip


def test_tables_without_rows_or_columns_are_refused(tmp_path):
    path = str(tmp_path / "t.parquet")
    pq.write_table(pa.table({name: pa.array([], pa.float64()) for name in "xy"}), path)
    with pytest.raises(DataError, match="the table has columns but no rows"):
        read(open_table(path))
    pq.write_table(pa.table({}), path)
    with pytest.raises(DataError, match="the file has no columns; nothing to work on"):
        open_table(path)
