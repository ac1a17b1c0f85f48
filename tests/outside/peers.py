"""Read a file with pyarrow, pandas and DuckDB, each with its own defaults as far as possible.

Text is read with the delimiter that lrisk found, so that cells are compared and not guesses about
dialects; a file that lrisk refuses is read with the defaults of each program. pyarrow and pandas
infer types, DuckDB keeps every cell of text as it is written.
"""

import bz2
import gzip
import lzma
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa

from outside.readings import MOST_ROWS, ReadColumn, Reading, arrow_cells, python_cell

PEERS = ("pyarrow", "pandas", "duckdb")
LONGEST_SENTENCE = 200


def absent_peers() -> list[str]:
    """Programs to compare with that are not installed."""
    return [name for name in PEERS if find_spec(name) is None]


def read_with_peers(path: str, delimiter: str | None) -> dict[str, Reading]:
    """What each installed program reads from the file, or its reason not to."""
    absent = absent_peers()
    read = {name: _READ[name] for name in PEERS if name not in absent}
    with Path(path).open("rb") as file:
        start = file.read(8)
    if start.startswith((b"PAR1", b"PARE")):
        programs = {name: each[1] for name, each in read.items()}
    elif start.startswith((b"ARROW1", b"\xff\xff\xff\xff", b"FEA1")):
        programs = {"pyarrow": _arrow_file} if "pyarrow" in read else {}
    else:
        programs = {name: each[0](delimiter) for name, each in read.items()}
    return {name: _attempt(program, path, start) for name, program in programs.items()}


def _attempt(program: Callable[[str], Reading], path: str, start: bytes) -> Reading:
    try:
        with _decompressed(path, start) as plain:
            return program(plain)
    except Exception as error:  # whatever a program raises is its refusal
        sentence = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        return Reading(None, refusal=sentence[:LONGEST_SENTENCE])


@contextmanager
def _decompressed(path: str, start: bytes) -> Iterator[str]:
    """The path of the contents: not every program decompresses by contents."""
    unpack: Callable[[bytes], bytes] | None = None
    if start.startswith(b"\x1f\x8b"):
        unpack = gzip.decompress
    elif start.startswith(b"BZh"):
        unpack = bz2.decompress
    elif start.startswith(b"\xfd7zXZ"):
        unpack = lzma.decompress
    elif start.startswith(b"\x28\xb5\x2f\xfd"):
        unpack = _unpack_zstd
    if unpack is None:
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".csv") as plain:
        plain.write(unpack(Path(path).read_bytes()))
        plain.flush()
        yield plain.name


def _unpack_zstd(packed: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read())


def _arrow_reading(table: pa.Table) -> Reading:
    shown = table.slice(0, MOST_ROWS)
    columns = [
        ReadColumn(str(name), [cell for chunk in column.chunks for cell in arrow_cells(chunk)])
        for name, column in zip(shown.schema.names, shown.columns, strict=True)
    ]
    return Reading(columns, len(table))


def _arrow_text(delimiter: str | None) -> Callable[[str], Reading]:
    def read(path: str) -> Reading:
        from pyarrow import csv

        options = csv.ParseOptions(delimiter=delimiter or ",", newlines_in_values=True)
        return _arrow_reading(csv.read_csv(path, parse_options=options))

    return read


def _arrow_parquet(path: str) -> Reading:
    import pyarrow.parquet as pq

    # One file: a folder such as year=2013 above it names no column.
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        return _arrow_reading(file.read())


def _arrow_file(path: str) -> Reading:
    from pyarrow import feather, ipc

    if Path(path).read_bytes()[:4] == b"FEA1":
        return _arrow_reading(feather.read_table(path, memory_map=False))
    with pa.OSFile(path) as file:
        try:
            return _arrow_reading(ipc.open_file(file).read_all())
        except pa.ArrowInvalid:
            file.seek(0)
            return _arrow_reading(ipc.open_stream(file).read_all())


def _pandas_reading(frame: Any) -> Reading:
    shown = frame.iloc[:MOST_ROWS]
    columns = [
        ReadColumn(str(name), [python_cell(value) for value in shown.iloc[:, at].tolist()])
        for at, name in enumerate(shown.columns)
    ]
    return Reading(columns, len(frame))


def _pandas_text(delimiter: str | None) -> Callable[[str], Reading]:
    def read(path: str) -> Reading:
        import pandas as pd

        # An additional field at the end of each row makes no index; numbers are rounded correctly.
        return _pandas_reading(
            pd.read_csv(
                path, sep=delimiter or ",", index_col=False, float_precision="round_trip",
                low_memory=False,
            )
        )  # fmt: skip

    return read


def _pandas_parquet(path: str) -> Reading:
    import pandas as pd

    frame = pd.read_parquet(path, dtype_backend="pyarrow")
    return _arrow_reading(pa.Table.from_pandas(frame, preserve_index=None))


def _duckdb_reading(query: str, path: str) -> Reading:
    import duckdb

    with duckdb.connect(config={"threads": 1, "memory_limit": "1GB"}) as database:
        database.execute("SET TimeZone = 'UTC'")
        found = database.execute(query, [path])
        names = [str(column[0]) for column in found.description]
        table = found.to_arrow_table()
    columns = (
        [cell for chunk in column.chunks for cell in arrow_cells(chunk)]
        for column in table.slice(0, MOST_ROWS).columns
    )
    return Reading(
        [ReadColumn(name, cells) for name, cells in zip(names, columns, strict=True)], len(table)
    )


def _duckdb_text(delimiter: str | None) -> Callable[[str], Reading]:
    def read(path: str) -> Reading:
        if delimiter is None:
            return _duckdb_reading(
                "SELECT * FROM read_csv(?, all_varchar = true, hive_partitioning = false)", path
            )
        mark = delimiter.replace("'", "''")
        query = (
            f"SELECT * FROM read_csv(?, all_varchar = true, delim = '{mark}', quote = '\"', "
            "escape = '\"', header = true, comment = '', skip = 0, hive_partitioning = false)"
        )
        return _duckdb_reading(query, path)

    return read


def _duckdb_parquet(path: str) -> Reading:
    return _duckdb_reading("SELECT * FROM read_parquet(?, hive_partitioning = false)", path)


# Of each program: how it reads text with a delimiter, and how it reads Parquet.
_READ: dict[str, tuple[Callable[[str | None], Callable[[str], Reading]], Callable[[str], Reading]]]
_READ = {
    "pyarrow": (_arrow_text, _arrow_parquet),
    "pandas": (_pandas_text, _pandas_parquet),
    "duckdb": (_duckdb_text, _duckdb_parquet),
}
