"""Small tables that are odd or broken, made on the fly: name -> contents and how a fit must end.

`python tests/make_corpus.py FOLDER` writes them down, to be looked at.
"""

import bz2
import gzip
import io
import random
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.orc as orc
import pyarrow.parquet as pq

FITS, REFUSED = 0, 3
N_ROWS = 30
Entry = tuple[str, bytes, int | None]

HEADER = "x,color,y"
ROWS = [f"{at * 0.37 - 3:.2f},{'red' if at % 3 else 'blue'},{at * 0.8 + 1:.1f}" for at in range(30)]
GOOD = "\n".join([HEADER, *ROWS, ""])
NUMBERS = np.arange(30.0)


def with_row(row: str, at: int = 17) -> str:
    """The good table with a row put in."""
    return "\n".join([HEADER, *ROWS[:at], row, *ROWS[at:], ""])


def with_header(header: str) -> str:
    """The good table under another header."""
    return "\n".join([header, *ROWS, ""])


def with_cell(cell: str) -> str:
    """A fourth column, of small numbers but for one cell."""
    cells = [*(str(at % 7) for at in range(17)), cell, *(str(at % 7) for at in range(18, 30))]
    lines = [f"{row},{cell}" for row, cell in zip(ROWS, cells, strict=True)]
    return "\n".join([HEADER + ",z", *lines, ""])


def with_column(cells: list[str], name: str = "z") -> str:
    """A fourth column of these cells, over and over."""
    lines = [f"{row},{cells[at % len(cells)]}" for at, row in enumerate(ROWS)]
    return "\n".join([f"{HEADER},{name}", *lines, ""])


def dialects() -> Iterator[tuple[str, str | bytes, int]]:
    """Texts that are tables, however they are written."""
    yield "plain", GOOD, FITS
    yield "crlf", GOOD.replace("\n", "\r\n"), FITS
    yield "cr", GOOD.replace("\n", "\r"), FITS
    yield "bom", "\ufeff" + GOOD, FITS
    yield "bom-crlf", "\ufeff" + GOOD.replace("\n", "\r\n"), FITS
    yield "no-last-newline", GOOD.rstrip("\n"), FITS
    yield "blank-lines", GOOD.replace("\n", "\n\n"), FITS
    yield "blank-first-lines", "\n\n\n" + GOOD, FITS
    yield "semicolons", GOOD.replace(",", ";"), FITS
    yield "tabs", GOOD.replace(",", "\t"), FITS
    yield "pipes", GOOD.replace(",", "|"), FITS
    yield "quoted", "\n".join('"' + row.replace(",", '","') + '"' for row in GOOD.split()), FITS
    yield "quoted-newline", GOOD.replace("red", '"re\nd"'), FITS
    yield "quoted-crlf", GOOD.replace("red", '"re\r\nd"').replace("\n", "\r\n"), FITS
    yield "quoted-delimiter", GOOD.replace("red", '"re,d"'), FITS
    yield "doubled-quotes", GOOD.replace("red", '"re""d"'), FITS
    yield "quotes-inside", GOOD.replace("red", 're"d"'), FITS
    yield "only-quotes", GOOD.replace("red", '""""'), FITS
    yield "quoted-header", with_header('"x","col\nor","y"'), FITS
    yield (
        "spaced-numbers",
        GOOD.replace(",", ", ").replace(" color", "color").replace(" y", "y"),
        FITS,
    )
    yield "spaces-in-header", with_header("x , color ,y"), FITS
    yield "mixed-newlines", GOOD.replace("\n", "\r\n", 9), FITS
    yield "emoji", GOOD.replace("red", "🦊").replace("blue", "日本"), FITS
    yield "combining", GOOD.replace("red", "e\u0301").replace("blue", "\u00e9"), FITS
    yield "control-characters", GOOD.replace("red", "\x01\x1b[31m"), FITS
    yield "bidi", GOOD.replace("red", "\u202ered"), FITS
    yield "null-inside", GOOD.replace("red", "re\0d") + "#" * 0, REFUSED
    yield "unit-separator", GOOD.replace(",", "\x1f"), REFUSED
    yield "carets", GOOD.replace(",", "^"), REFUSED
    yield "spaces-between", GOOD.replace(",", " "), REFUSED
    yield "long-line", with_column(["w" * 20_000]), FITS
    yield (
        "many-columns",
        "\n".join(
            [",".join(["y", *(f"x{at}" for at in range(400))])]
            + [",".join(str((at * k) % 11) for at in range(7, 408)) for k in range(1, 30)]
        ),
        FITS,
    )
    yield "formula", GOOD.replace("red", "=SUM(A1:A9)"), FITS
    yield "comment-line", "# a table\n" + GOOD, REFUSED
    yield "sep-line", "sep=,\n" + GOOD, FITS
    yield "title-line", "Prices of 2024\n\n" + GOOD, REFUSED
    yield "footer", GOOD + "30 rows\n", REFUSED
    yield "repeated-header", with_row(HEADER), REFUSED
    yield "html", "<html><body><table><tr><td>y</td></tr></table></body></html>\n", REFUSED
    yield "json", '{"x": [1, 2], "y": [3, 4]}\n', REFUSED
    yield "json-lines", '{"x": 1, "y": 2}\n' * 9, REFUSED
    yield "prose", "To be, or not to be, that is the question:\nWhether 'tis nobler\n", REFUSED


def structures() -> Iterator[tuple[str, str | bytes, int]]:
    """Headers and rows that do not make a table, or barely one."""
    yield "empty", "", REFUSED
    yield "one-newline", "\n", REFUSED
    yield "newlines", "\n\r\n\r\n", REFUSED
    yield "only-bom", "\ufeff", REFUSED
    yield "only-spaces", "   \n  \n", REFUSED
    yield "only-commas", ",,\n,,\n", REFUSED
    yield "header-only", HEADER, REFUSED
    yield "header-and-newline", HEADER + "\n", REFUSED
    yield "header-and-blanks", HEADER + "\n\n\n", REFUSED
    yield "one-row", f"{HEADER}\n{ROWS[0]}\n", REFUSED
    yield "two-rows", f"{HEADER}\n{ROWS[0]}\n{ROWS[9]}\n", FITS
    yield "two-equal-rows", f"{HEADER}\n{ROWS[0]}\n{ROWS[0]}\n", REFUSED
    yield "only-target", "y\n" + "1\n2\n" * 9, REFUSED
    yield "no-target", GOOD.replace("y\n", "z\n", 1), REFUSED
    yield "target-in-capitals", GOOD.replace("y\n", "Y\n", 1), REFUSED
    yield "target-with-space", with_header("x,color, y"), REFUSED
    yield "repeated-column", with_header("x,x,y"), REFUSED
    yield "repeated-target", with_header("y,color,y"), REFUSED
    yield "nameless-column", with_header("x,,y"), FITS
    yield "nameless-first", with_header(",color,y"), FITS
    yield "nameless-last", with_header("x,y,"), FITS
    yield "short-header", with_header("x,y"), REFUSED
    yield "long-header", with_header("x,color,y,z"), REFUSED
    yield "short-row", with_row("1.0,red"), REFUSED
    yield "long-row", with_row("1.0,red,2,3"), REFUSED
    yield "short-first-row", with_row("1.0,red", 0), REFUSED
    yield "short-last-row", GOOD + "1.0,red", REFUSED
    yield "last-row-cut", GOOD.rstrip("\n")[:-3], FITS
    yield "trailing-commas", GOOD.replace("\n", ",\n"), FITS
    yield "trailing-commas-below", HEADER + "\n" + ",\n".join(ROWS) + ",\n", REFUSED
    yield "blank-fields-row", with_row(",,"), REFUSED
    yield "spaces-row", with_row("   "), REFUSED
    yield "open-quote", with_row('1.0,"red,2'), REFUSED
    yield "open-quote-last", GOOD + '1.0,"red,2', REFUSED
    yield "open-quote-header", with_header('x,"color,y'), REFUSED
    yield "text-after-quote", with_row('1.0,"red"dish,2'), FITS
    yield "lone-quote", with_row('1.0,",2'), REFUSED
    yield "constant-feature", with_column(["5"]), FITS
    yield "constant-text", with_column(["same"]), FITS
    yield "constant-target", "x,y\n" + "".join(f"{at},7\n" for at in range(9)), REFUSED
    yield "one-class", "x,y\n" + "".join(f"{at},a\n" for at in range(9)), REFUSED
    yield "every-row-a-class", "x,y\n" + "".join(f"{at},c{at}\n" for at in range(1200)), REFUSED
    yield "ids-as-text", "x,id,y\n" + "".join(f"{at},u{at},{at % 7}\n" for at in range(300)), FITS
    yield "equal-columns", with_column([row.split(",")[2] for row in ROWS]), FITS


def cells() -> Iterator[tuple[str, str | bytes, int]]:
    """Cells that are not what their column holds; and columns of odd cells."""
    strays = [
        "n/a", "NA", "null", "None", "?", "-", "--", "inf", "-inf", "Infinity", "1e999", "-1e400",
        "1e309", "0x10", "1_000", "1.2.3", "1e", "e5", "+-3", "\u0663", "\uff11\uff12", "12%",
        "$5", "(5)", "007", "1 2", "true", "2020-01-01", "#REF!", "#DIV/0!", "1d5", "½", "∞",
        "\u22125",
    ]  # fmt: skip
    for at, cell in enumerate(strays):
        read = cell in ("007", "$5", "(5)", "\u22125")
        yield f"stray-{at:02d}", with_cell(cell), FITS if read else REFUSED
    for at, cell in enumerate(['"1,5"', '"1,000"', '"1\n2"', "''", "`1`", "\u00a0", "\u200b3"]):
        yield f"stray-quoted-{at}", with_cell(cell), FITS if at < 2 else REFUSED
    for at, cell in enumerate(["", "nan", "NaN", "-nan", " ", '""', '" "']):
        yield f"hole-{at}", with_cell(cell), REFUSED
    numbers = [" 5 ", "5.", ".5", "+5", "-0", "5E0", "1e-400", "1e308", "0.1e1", '"5"', "00.5"]
    for at, cell in enumerate(numbers):
        yield f"number-{at:02d}", with_cell(cell), None if cell in ("1e308", "00.5") else FITS
    columns = {
        "zero-padded": (["007", "01", "120"], FITS),
        "truth": (["true", "False", "TRUE"], FITS),
        "yes-no": (["yes", "no"], FITS),
        "dates": (["2020-01-01", "1999-12-31"], FITS),
        "moments": (["2020-01-01T10:00:00Z", "2020-01-01 10:00:00+02:00"], FITS),
        "early-dates": (["0001-01-01", "9999-12-31"], FITS),
        "dates-30-february": (["2020-01-01", "2020-01-02", "2020-02-30"], REFUSED),
        "other-dates": (["31/12/2020", "01/02/2021"], FITS),
        "mixed-dates": (["2020-01-01", "yesterday"], FITS),
        "times": (["10:00", "11:30"], FITS),
        "half-numbers": (["1", "a"], FITS),
        "all-empty": ([""], REFUSED),
        "all-nan": (["nan"], FITS),
        "mostly-empty": (["", "", "1"], REFUSED),
        "huge": (["1e300", "-1e300"], REFUSED),
        "tiny": (["1e-300", "2e-300"], FITS),
        "denormal": (["5e-324", "1e-323"], FITS),
        "long-digits": (["0." + "1" * 400, "2"], FITS),
        "big-integers": (["9223372036854775808", "18446744073709551616"], FITS),
        "thousands": (['"1,000"', '"2,500"'], FITS),
        "percent": (["5%", "7%"], FITS),
        "long-text": (["t" * 5000, "u" * 5000], FITS),
        "lists": (['"[1, 2]"', '"[3]"'], FITS),
        "newline-categories": (['"\n"', '"\n\n"'], REFUSED),
        "space-categories": ([" ", "  "], None),
        "quote-categories": (['""""', '""""""'], FITS),
        "other-word": (["(other)", "(missing)", "(intercept)"], FITS),
        "equals-names": (["a=b", "=c"], FITS),
    }
    for name, (values, code) in columns.items():
        yield f"column-{name}", with_column(values), code
    for at, name in enumerate(["(intercept)", "x=1", "a,b", 'q"q', "line\nline", "é", "x\ty", " "]):
        quoted = '"' + name.replace('"', '""') + '"'
        yield f"name-{at}", with_column(["1", "2"], quoted), FITS


def encodings() -> Iterator[Entry]:
    """Bytes that are not the text or the archive they should be."""
    good = GOOD.encode()
    yield "utf-16.csv", GOOD.encode("utf-16"), FITS
    yield "utf-16-le.csv", GOOD.encode("utf-16-le"), REFUSED
    yield "utf-32.csv", GOOD.encode("utf-32"), FITS
    yield "latin-1.csv", GOOD.replace("red", "größe").encode("latin-1"), REFUSED
    yield "latin-1-header.csv", with_header("x,größe,y").encode("latin-1"), REFUSED
    yield "latin-1-late.csv", good + b"1.0,\xe9,2\n", REFUSED
    yield "surrogate.csv", good.replace(b"red", b"\xed\xa0\x80", 1), REFUSED
    yield "overlong.csv", good.replace(b"red", b"\xc0\xaf", 1), REFUSED
    yield "cut-character.csv", good + "1.0,é".encode()[:-1], REFUSED
    yield "zeros.csv", bytes(4096), REFUSED
    yield "late-zeros.csv", good + bytes(64), REFUSED
    yield "noise.csv", random.Random(0).randbytes(5000), REFUSED
    yield "noise.parquet", random.Random(1).randbytes(5000), REFUSED
    yield "noise.arrow", b"ARROW1\0\0" + random.Random(2).randbytes(500), REFUSED
    yield "t.csv.gz", gzip.compress(good, mtime=0), FITS
    yield "t.csv.bz2", bz2.compress(good), FITS
    yield "t.csv.zst", pa.compress(good, "zstd", asbytes=True), FITS
    yield "gzip-by-another-name.csv", gzip.compress(good, mtime=0), FITS
    yield "two-members.csv.gz", gzip.compress(good) + gzip.compress(ROWS[0].encode()), FITS
    yield "cut.csv.gz", gzip.compress(good, mtime=0)[:-15], REFUSED
    yield "cut-early.csv.gz", gzip.compress(good, mtime=0)[:12], REFUSED
    yield "cut.csv.bz2", bz2.compress(good)[:-15], REFUSED
    yield "cut.csv.zst", pa.compress(good, "zstd", asbytes=True)[:-15], REFUSED
    yield "tail.csv.gz", gzip.compress(good, mtime=0) + b"tail of nonsense", None
    spoilt = bytearray(gzip.compress(good, mtime=0))
    spoilt[40] ^= 0xFF
    yield "spoilt.csv.gz", bytes(spoilt), REFUSED
    yield "empty.csv.gz", gzip.compress(b""), REFUSED
    yield "twice.csv.gz", gzip.compress(gzip.compress(good)), REFUSED
    yield "not-gzip.csv.gz", good, FITS
    yield "magic-only.gz", b"\x1f\x8b", REFUSED
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("t.csv", GOOD)
    yield "archive.zip", archive.getvalue(), REFUSED
    yield "archive.csv", archive.getvalue(), REFUSED
    yield "text.parquet", good, REFUSED
    yield "text.arrow", good, REFUSED
    yield "magic.parquet", b"PAR1", REFUSED
    yield "magic-twice.parquet", b"PAR1PAR1", REFUSED


def columnar() -> Iterator[Entry]:
    """Parquet, Arrow and others, of odd types and in pieces."""
    whole = pa.table({"x": NUMBERS, "color": ["red", "blue", "green"] * 10, "y": NUMBERS**2})
    yield "t.parquet", parquet(whole), FITS
    yield "parquet.csv", parquet(whole), FITS
    yield "t.feather", arrow(whole, feather.write_feather), FITS
    yield "v1.feather", b"FEA1" + bytes(60) + b"FEA1", REFUSED
    yield "t.orc", arrow(whole, orc.write_table), FITS
    stream = io.BytesIO()
    with pa.ipc.new_stream(stream, whole.schema) as writer:
        writer.write_table(whole, max_chunksize=7)
    yield "stream.arrow", stream.getvalue(), FITS
    yield "cut-stream.arrow", stream.getvalue()[:-90], REFUSED
    yield "cut-feather.arrow", arrow(whole, feather.write_feather)[:-40], REFUSED
    good = parquet(whole)
    yield "cut.parquet", good[:-20], REFUSED
    yield "cut-head.parquet", b"PAR1" + good[40:], None
    yield "no-footer.parquet", good[: len(good) // 2], REFUSED
    spoilt = bytearray(good)
    spoilt[-8:-4] = (2**31 - 1).to_bytes(4, "little")
    yield "lying-footer.parquet", bytes(spoilt), REFUSED
    for at in range(8):
        spoilt = bytearray(good)
        place = random.Random(at).randrange(4, len(good) - 8)
        spoilt[place : place + 16] = random.Random(at).randbytes(16)
        yield f"spoilt-{at}.parquet", bytes(spoilt), None
    yield "no-rows.parquet", parquet(whole[:0]), REFUSED
    yield "no-columns.parquet", parquet(pa.table({})), REFUSED
    yield "one-row.parquet", parquet(whole[:1]), REFUSED
    for name, (values, code) in typed_columns().items():
        yield f"{name}.parquet", parquet(whole.append_column("z", values)), code
    yield (
        "text-target.parquet",
        parquet(whole.select(["x", "color"]).rename_columns(["x", "y"])),
        FITS,
    )
    null = pa.nulls(N_ROWS)
    yield "null-target.parquet", parquet(whole.set_column(2, "y", null)), REFUSED
    nested = pa.array([[1]] * N_ROWS)
    yield "list-target.parquet", parquet(whole.set_column(2, "y", nested)), REFUSED
    twice = pa.Table.from_arrays([whole["x"], whole["x"], whole["y"]], ["x", "x", "y"])
    yield "repeated-column.parquet", parquet(twice), REFUSED
    empty_name = whole.rename_columns(["x", "", "y"])
    yield "nameless-column.parquet", parquet(empty_name), None


def typed_columns() -> dict[str, tuple[pa.Array, int]]:
    """A column of each type that Arrow has, and how a fit with it must end."""
    days = [date(2020, 1, 1) + timedelta(at) for at in range(N_ROWS)]
    moments = [datetime(2020, 1, 1, 5, tzinfo=UTC) + timedelta(at) for at in range(N_ROWS)]
    holed = [None if at == 4 else at for at in range(N_ROWS)]
    texts = ["u", "v", "w"] * 10
    integers = pa.array(range(N_ROWS))
    return {
        "int8": (integers.cast(pa.int8()), FITS),
        "uint64": (pa.array([2**64 - 1 - at for at in range(N_ROWS)], pa.uint64()), FITS),
        "float16": (pa.array(np.arange(30, dtype=np.float16)), FITS),
        "float32": (pa.array(np.arange(30, dtype=np.float32)), FITS),
        "decimal": (pa.array([Decimal(at) / 4 for at in range(N_ROWS)]), FITS),
        "wide-decimal": (pa.array([Decimal(at) for at in range(N_ROWS)], pa.decimal256(60)), FITS),
        "nullable": (pa.array(holed, pa.int32()), REFUSED),
        "inf": (pa.array([float("inf"), *range(29)]), REFUSED),
        "nan": (pa.array([float("nan"), *range(29)]), REFUSED),
        "huge-floats": (pa.array([1.7e308, *range(29)]), REFUSED),
        "bool": (pa.array([True, False, False] * 10), FITS),
        "date32": (pa.array(days), FITS),
        "date64": (pa.array(days, pa.date64()), FITS),
        "timestamp": (pa.array(moments, pa.timestamp("ns", "Europe/Madrid")), FITS),
        "seconds": (pa.array(moments, pa.timestamp("s")), FITS),
        "last-timestamp": (pa.array([2**63 - 1, *range(29)], pa.timestamp("ns")), FITS),
        "far-milliseconds": (pa.array([2**62, *range(29)], pa.timestamp("ms")), None),
        "time": (pa.array([time(at % 24) for at in range(N_ROWS)]), FITS),
        "duration": (pa.array([timedelta(at) for at in range(N_ROWS)]), FITS),
        "dictionary": (pa.array(texts).dictionary_encode(), FITS),
        "number-dictionary": (integers.dictionary_encode(), FITS),
        "large-text": (pa.array(texts, pa.large_string()), FITS),
        "text-view": (pa.array(texts, pa.string_view()), FITS),
        "bytes": (pa.array([b"\xff"] * N_ROWS), REFUSED),
        "fixed-bytes": (pa.array([b"ab"] * N_ROWS, pa.binary(2)), REFUSED),
        "list": (pa.array([[1, 2]] * N_ROWS), REFUSED),
        "struct": (pa.array([{"a": 1}] * N_ROWS), REFUSED),
        "map": (pa.array([[("k", 1)]] * N_ROWS, pa.map_(pa.string(), pa.int64())), REFUSED),
        "null": (pa.nulls(N_ROWS), REFUSED),
        "iso-text": (pa.array([day.isoformat() for day in days]), FITS),
        "empty-text": (pa.array([""] * N_ROWS), REFUSED),
    }


def parquet(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


def arrow(table: pa.Table, write) -> bytes:
    file = pa.BufferOutputStream()
    write(table, file)
    return file.getvalue().to_pybytes()


def corpus() -> Iterator[Entry]:
    """Every table: its file name, its contents, and the exit code of a fit.

    The code is None where the file may be readable or not.
    """
    for group in (dialects, structures, cells):
        for name, text, code in group():
            yield f"{name}.csv", text if isinstance(text, bytes) else text.encode(), code
    yield from encodings()
    yield from columnar()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, contents, _ in corpus():
        (folder / name).write_bytes(contents)


if __name__ == "__main__":
    main()
