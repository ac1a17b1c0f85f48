"""The same table in every encoding, compression and layout of Parquet; and damaged files."""

import base64
import io
import random
import struct
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from outside.corpus.base import BASE, N_ROWS, NUMBERS
from outside.corpus.case import AsPeers, Case, Refused
from outside.corpus.parquet_types import TABLE, to_parquet
from outside.readings import NESTED

COMPRESSIONS = ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
VERSIONS = ("1.0", "2.0")
WHOLE = pa.table(
    {
        "i": pa.array(range(N_ROWS), pa.int32()),
        "j": pa.array([at**9 for at in range(N_ROWS)], pa.int64()),
        "f": pa.array([at / 3 for at in range(N_ROWS)], pa.float32()),
        "t": pa.array([f"text-{at % 5}" for at in range(N_ROWS)]),
        "b": pa.array([at % 3 == 0 for at in range(N_ROWS)]),
        "y": pa.array(NUMBERS),
    }
)
READ: dict[str, list[Any]] = {
    **{name: [float(cell) for cell in WHOLE[name].to_pylist()] for name in ("i", "j", "f")},
    "t": WHOLE["t"].to_pylist(),
    "b": [str(cell).lower() for cell in WHOLE["b"].to_pylist()],
    "y": NUMBERS,
}


def cases() -> Iterator[Case]:
    """Encodings, layouts, damage."""
    yield from _encodings()
    yield from _layouts()
    yield from _times()
    yield from _checksums()
    yield from _damaged()
    yield from _encrypted()


def _encodings() -> Iterator[Case]:
    for codec in COMPRESSIONS:
        for version in VERSIONS:
            name = f"{codec}-pages-{version[0]}"
            file = to_parquet(WHOLE, compression=codec, data_page_version=version)
            yield Case(f"{name}.parquet", file, READ)
            plain = {"use_dictionary": False, "compression": codec, "data_page_version": version}
            yield Case(f"{name}-plain.parquet", to_parquet(WHOLE, **plain), READ)
    for name, encodings in {
        "delta-binary": {"i": "DELTA_BINARY_PACKED", "j": "DELTA_BINARY_PACKED"},
        "delta-length": {"t": "DELTA_LENGTH_BYTE_ARRAY"},
        "delta-bytes": {"t": "DELTA_BYTE_ARRAY"},
        "split": {"f": "BYTE_STREAM_SPLIT", "y": "BYTE_STREAM_SPLIT", "i": "BYTE_STREAM_SPLIT"},
        "rle": {"b": "RLE"},
        "plain": {"t": "PLAIN", "i": "PLAIN"},
    }.items():
        for version in VERSIONS:
            file = to_parquet(
                WHOLE, use_dictionary=False, column_encoding=encodings, data_page_version=version
            )
            yield Case(f"{name}-{version[0]}.parquet", file, READ)


def _layouts() -> Iterator[Case]:
    for size in (1, 5, N_ROWS, 100):
        yield Case(f"groups-of-{size}.parquet", to_parquet(WHOLE, row_group_size=size), READ)
    many = pa.table(
        {"x": [float(at % 91) for at in range(5000)], "t": [f"v{at}" for at in range(5000)]}
    )
    expected = {"x": many["x"].to_pylist(), "t": many["t"].to_pylist()}
    tiny = {"data_page_size": 64, "write_batch_size": 10}
    for name, settings in {
        "tiny-pages": tiny,
        "tiny-pages-v2": {**tiny, "data_page_version": "2.0"},
        "dictionary-too-large": {"dictionary_pagesize_limit": 100, "write_batch_size": 50},
        "page-index": {"write_page_index": True, "data_page_size": 256, "write_batch_size": 20},
        "no-statistics": {"write_statistics": False},
        "sorted": {"sorting_columns": [pq.SortingColumn(0)]},
        "format-1": {"version": "1.0"},
        "no-arrow-schema": {"store_schema": False},
    }.items():
        yield Case(f"{name}.parquet", to_parquet(many, **settings), expected)
    file = io.BytesIO()
    with pq.ParquetWriter(file, WHOLE.schema) as writer:
        for part in (WHOLE[:0], WHOLE[:4], WHOLE[4:4], WHOLE[4:], WHOLE[:0]):
            writer.write_table(part)
    yield Case("empty-groups.parquet", file.getvalue(), READ)
    nested = WHOLE.append_column("l", pa.array([[at, at] for at in range(N_ROWS)]))
    expected = {**READ, "l": [NESTED] * N_ROWS}
    yield Case("nested-tiny-pages.parquet", to_parquet(nested, **tiny), expected)
    first = nested.select(["l", *WHOLE.column_names])
    expected = {"l": [NESTED] * N_ROWS, **READ}
    yield Case("nested-first.parquet", to_parquet(first), expected)
    yield Case("named.csv", to_parquet(WHOLE), READ)
    yield Case("named-nothing", to_parquet(WHOLE), READ)
    gaps = pa.array([None] * 6 + [1.5] * 6)
    file_ = to_parquet(WHOLE.append_column("g", gaps), data_page_size=16, write_batch_size=3)
    yield Case("page-of-nulls.parquet", file_, {**READ, "g": gaps.to_pylist()})
    decimals = pa.table(
        {
            "x": pa.array([Decimal(at) for at in (1, 2, 3)], pa.decimal128(5, 2)),
            "y": [1.0, 2.0, 3.0],
        }
    )
    stored = to_parquet(decimals, store_decimal_as_integer=True)
    expected = {"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}
    yield Case("decimal-as-integer.parquet", stored, expected)


def _times() -> Iterator[Case]:
    moments = [datetime(1999, 12, 31, 23, 59, 58, 123_456) + timedelta(0, at) for at in range(9)]
    table = pa.table({"m": pa.array(moments, pa.timestamp("us")), "y": NUMBERS[:9]})
    expected = {"m": moments, "y": NUMBERS[:9]}
    int96 = to_parquet(table, use_deprecated_int96_timestamps=True)
    yield Case("int96.parquet", int96, expected)
    cut = [moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in moments]
    milli = to_parquet(table, coerce_timestamps="ms", allow_truncated_timestamps=True)
    yield Case("coerced-ms.parquet", milli, {**expected, "m": cut})
    yield Case("times-version-1.parquet", to_parquet(table, version="1.0"), expected)


def _checksums() -> Iterator[Case]:
    for version in VERSIONS:
        file = to_parquet(
            TABLE, write_page_checksum=True, data_page_version=version, compression="none",
            use_dictionary=False,
        )  # fmt: skip
        name = f"checksum-{version[0]}"
        yield Case(f"{name}.parquet", file, BASE)
        # One bit of a number, which no decoder can notice.
        at = file.index(struct.pack("<d", NUMBERS[7]))
        spoilt = file[:at] + bytes([file[at] ^ 1]) + file[at + 1 :]
        yield Case(f"{name}-number-changed.parquet", spoilt, Refused())
        at = file.index(b"bob")
        spoilt = file[:at] + b"rob" + file[at + 3 :]
        yield Case(f"{name}-text-changed.parquet", spoilt, Refused())


def _damaged() -> Iterator[Case]:
    good = to_parquet(WHOLE)
    for name, contents in {
        "magic": b"PAR1", "magic-twice": b"PAR1PAR1", "no-footer": good[: len(good) // 2],
        "cut-1": good[:-1], "cut-4": good[:-4], "cut-8": good[:-8], "cut-40": good[:-40],
        "footer-length-0": good[:-8] + bytes(4) + b"PAR1",
        "footer-length-large": good[:-8] + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        "footer-length-negative": good[:-8] + b"\xff" * 4 + b"PAR1",
        "footer-of-zeros": good[:-200] + bytes(192) + good[-8:],
        "empty-pages": b"PAR1" + bytes(len(good) - 12) + good[-8:],
        "text-between": b"PAR1" + b"x,y\n1,2\n" * 20 + b"PAR1",
    }.items():  # fmt: skip
        yield Case(f"{name}.parquet", contents, Refused())
    yield Case("tail-of-noise.parquet", good + b"noise", Refused())
    footer = int.from_bytes(good[-8:-4], "little")
    for seed in range(12):
        chance = random.Random(seed)
        spoilt = bytearray(good)
        # Half of them in the pages, half in the footer.
        start, end = (
            (4, len(good) - footer - 8) if seed % 2 else (len(good) - footer - 8, len(good) - 8)
        )
        place = chance.randrange(start, end - 4)
        spoilt[place : place + 4] = chance.randbytes(4)
        yield Case(f"spoilt-{seed}.parquet", bytes(spoilt), AsPeers())


def _encrypted() -> Iterator[Case]:
    """Encrypted with keys that nobody has; these alone differ from run to run, by their keys."""
    passed_over = {**BASE, "y": [NESTED] * N_ROWS}
    yield Case("encrypted-footer.parquet", _encrypt(plaintext_footer=False), Refused())
    yield Case("encrypted-column.parquet", _encrypt(plaintext_footer=True), passed_over)


def _encrypt(*, plaintext_footer: bool) -> bytes:
    from pyarrow.parquet import encryption

    class Keys(encryption.KmsClient):
        """Wraps no key."""

        def wrap_key(self, key: bytes, master: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, key: bytes, master: str) -> bytes:
            return base64.b64decode(key)

    factory = encryption.CryptoFactory(lambda _: Keys())
    settings = encryption.EncryptionConfiguration(
        footer_key="footer", column_keys={"column": ["y"]}, plaintext_footer=plaintext_footer
    )
    secret = factory.file_encryption_properties(encryption.KmsConnectionConfig(), settings)
    file = io.BytesIO()
    with pq.ParquetWriter(file, TABLE.schema, encryption_properties=secret) as writer:
        writer.write_table(TABLE)
    return file.getvalue()
