"""Bytes around and below text: encodings, byte-order marks, NUL, compression."""

import bz2
import gzip
import io
import lzma
import random
import tarfile
import zipfile
from collections.abc import Iterator

import pyarrow as pa

from outside.corpus.base import BASE, base_text, base_with, with_column
from outside.corpus.case import AsPeers, Case, Refused

GOOD = base_text().encode()
NOT_UTF8 = Refused("not UTF-8")


def cases() -> Iterator[Case]:
    """Encodings, then compressions."""
    yield from _encodings()
    yield from _broken_text()
    yield from _compressed()
    yield from _other_formats()


def _encodings() -> Iterator[Case]:
    umlauts = with_column(["größe", "naïve"])
    yield Case("utf-8.csv", umlauts.encode(), base_with(["größe", "naïve"]))
    yield Case("utf-8-bom.csv", umlauts.encode("utf-8-sig"), base_with(["größe", "naïve"]))
    for name in ("utf-16", "utf-32"):
        yield Case(f"{name}.csv", umlauts.encode(name), base_with(["größe", "naïve"]))
    for name in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        yield Case(f"{name}.csv", umlauts.encode(name), NOT_UTF8)
    for name in ("latin-1", "cp1252", "cp437", "iso8859-15", "mac-roman", "cp850"):
        yield Case(f"{name}.csv", umlauts.encode(name), NOT_UTF8)
        read = base_with(["größe", "naïve"])
        yield Case(f"{name}-named.csv", umlauts.encode(name), read, {"encoding": name})
    kana = with_column(["東京", "大阪"])
    for name in ("shift-jis", "euc-jp", "gb18030", "big5"):
        yield Case(f"{name}.csv", kana.encode(name), NOT_UTF8)
    yield Case("koi8-r.csv", with_column(["мир"]).encode("koi8-r"), NOT_UTF8)
    yield Case("utf-7.csv", umlauts.encode("utf-7"), AsPeers())
    header = with_column(["a"], "größe")
    yield Case("utf-8-header.csv", header.encode(), base_with(["a"], "größe"))
    yield Case("latin-1-header.csv", header.encode("latin-1"), Refused("header: not UTF-8"))
    double = b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD
    yield Case("bom-twice.csv", double, AsPeers())
    yield Case(
        "bom-quoted-header.csv", b'\xef\xbb\xbf"x","y"\n1,2\n3,4\n', {"x": [1, 3], "y": [2, 4]}
    )
    yield Case("bom-blank-first.csv", b"\xef\xbb\xbf\n\n" + GOOD, BASE)
    inside = with_column(["\ufeffa", "b"])
    yield Case("bom-inside.csv", inside.encode(), base_with(["\ufeffa", "b"]))
    astral = ["\U0001d538", "👩‍👩‍👧", "\U0010ffff", "\ue000"]
    yield Case("astral.csv", with_column(astral).encode(), base_with(astral))


def _broken_text() -> Iterator[Case]:
    """One cell, the last but one, with bytes that are no UTF-8; and NUL."""
    for name, cell in {
        "surrogate": b"\xed\xa0\x80", "overlong": b"\xc0\xaf", "lone-continuation": b"\x80",
        "cut": b"\xc3", "beyond": b"\xf4\x90\x80\x80", "fe": b"\xfe", "ff": b"a\xff",
    }.items():  # fmt: skip
        yield Case(f"invalid-{name}.csv", GOOD + b"1," + cell + b",2\n", NOT_UTF8)
    yield Case("invalid-late.csv", b"x,n\n" + b"1,a\n" * 300_000 + b"2,\xe9\n", NOT_UTF8)
    yield Case("nul-header.csv", GOOD.replace(b"name", b"na\0me"), Refused())
    yield Case("nul-cell.csv", GOOD.replace(b"ann", b"a\0n", 1), Refused())
    yield Case("nul-only.csv", bytes(4096), Refused())
    yield Case("nul-tail.csv", GOOD + bytes(64), Refused())
    yield Case("noise.csv", random.Random(1).randbytes(4000), Refused())
    for name, byte in {"ctrl-z": b"\x1a", "vertical-tab": b"\x0b"}.items():
        yield Case(f"tail-{name}.csv", GOOD + byte, Refused("1 field where the header has 3"))


def _compressed() -> Iterator[Case]:
    packed = {
        "gz": gzip.compress(GOOD, mtime=0),
        "bz2": bz2.compress(GOOD),
        "zst": pa.compress(GOOD, "zstd", asbytes=True),
    }
    for suffix, contents in packed.items():
        yield Case(f"table.csv.{suffix}", contents, BASE)
        yield Case(f"{suffix}-without-suffix.csv", contents, BASE)
        yield Case(f"not-{suffix}.csv.{suffix}", GOOD, BASE)
        yield Case(f"cut.csv.{suffix}", contents[:-12], Refused())
        yield Case(f"cut-early.csv.{suffix}", contents[:12], Refused())
        spoilt = bytearray(contents)
        spoilt[len(spoilt) // 2] ^= 0x5A
        yield Case(f"spoilt.csv.{suffix}", bytes(spoilt), Refused())
        yield Case(f"other-suffix-{suffix}.csv.{'zst' if suffix == 'gz' else 'gz'}", contents, BASE)
    yield Case("tabs.tsv.gz", gzip.compress(base_text("\t").encode(), mtime=0), BASE)
    half = GOOD.index(b"\n", len(GOOD) // 2) + 1
    for suffix, pack in {
        "gz": lambda text: gzip.compress(text, mtime=0),
        "bz2": bz2.compress,
        "zst": lambda text: pa.compress(text, "zstd", asbytes=True),
    }.items():
        yield Case(f"two-members.csv.{suffix}", pack(GOOD[:half]) + pack(GOOD[half:]), BASE)
        yield Case(f"member-inside-row.csv.{suffix}", pack(GOOD[:20]) + pack(GOOD[20:]), BASE)
        yield Case(f"empty.csv.{suffix}", pack(b""), Refused())
        yield Case(f"twice.csv.{suffix}", pack(pack(GOOD)), Refused())
    yield Case("tail-of-noise.csv.gz", packed["gz"] + b"noise at the end", AsPeers())
    yield Case("tail-of-zeros.csv.gz", packed["gz"] + bytes(512), AsPeers())
    yield Case("bomb.csv.gz", gzip.compress(b"x" * (64 << 20), mtime=0), Refused())


def _other_formats() -> Iterator[Case]:
    """Files of other formats under any name: a sentence, and never a table of their bytes."""
    yield Case("table.csv.xz", lzma.compress(GOOD), Refused())
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(zipfile.ZipInfo("table.csv"), GOOD)
    yield Case("archive.zip", archive.getvalue(), Refused("zip archive"))
    yield Case("archive.csv", archive.getvalue(), Refused("zip archive"))
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as file:
        entry = tarfile.TarInfo("table.csv")
        entry.size = len(GOOD)
        file.addfile(entry, io.BytesIO(GOOD))
    yield Case("archive.tar", tar.getvalue(), Refused())
    yield Case("archive.tar.gz", gzip.compress(tar.getvalue(), mtime=0), Refused())
    for name, start in {
        "orc": b"ORC", "avro": b"Obj\x01", "sqlite": b"SQLite format 3\0", "pdf": b"%PDF-1.7\n",
        "hdf5": b"\x89HDF\r\n\x1a\n", "png": b"\x89PNG\r\n\x1a\n", "xls": b"\xd0\xcf\x11\xe0",
    }.items():  # fmt: skip
        noise = random.Random(name).randbytes(600)
        yield Case(f"{name}.csv", start + noise, Refused())
    yield Case("text.parquet", GOOD, Refused("not those of its suffix"))
    yield Case("text.arrow", GOOD, Refused("not those of its suffix"))
    yield Case("html.csv", b"<html><table><tr><td>1</td></tr></table></html>\n", Refused())
    yield Case("json.csv", b'[{"x": 1, "y": 3}, {"x": 2, "y": 4}]\n', Refused("JSON"))
