"""Where the table of a text file begins: its encoding, lines before the header, the header."""

import codecs
import os
import re
from dataclasses import replace

from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.names import Ragged
from lrisk_cli.tables.csv_header import DELIMITERS, find_header_end, split_fields
from lrisk_cli.tables.inputs import Layout
from lrisk_cli.tables.source import Source

START_BYTES = 1 << 20
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Of these UTF-32 comes first, whose mark begins like that of UTF-16.
MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
         (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))  # fmt: skip
# The line by which spreadsheets name the delimiter.
SEPARATOR_LINE = re.compile(rb'"?sep=([^"\r\n])"?(?:\r\n|\r|\n)', re.IGNORECASE)
LINE_END = re.compile(rb"\r\n|\r|\n")
# As many lines may stand before a header, and as many after it must look like rows.
MOST_TITLES, FEWEST_ROWS = 20, 2
UNDEFINED = b"\x81\x8d\x8f\x90\x9d"  # in cp1252


def decoded(source: Source, layout: Layout) -> Source:
    """The source as UTF-8: of the encoding that is named, or that a byte order mark tells."""
    if source.encoding:
        return source
    encoding = layout.encoding
    if encoding is None:
        start = source.read_start()
        encoding = next((name for mark, name in MARKS if start.startswith(mark)), "")
    return replace(source, encoding=encoding) if encoding else source


def read_start(source: Source, marks: bytes, layout: Layout, longest: int) -> tuple[bytes, int]:
    """The start of the file, at least its header, and where that begins.

    longest: as many bytes a record may have.
    """
    with source.open() as stream:
        start = source.read(stream, START_BYTES)
        if not start.strip(BYTE_ORDER_MARK + b"\r\n\t ,;"):
            raise DataError(f"{source.label}: the file is empty; expected a header line and rows")
        at = _find_header(source, start, layout)
        first_line = LINE_END.split(start[at:], maxsplit=1)[0]
        if b"\0" in first_line:
            raise not_utf8(source, ", header")
        while not find_header_end(start, at, marks):
            if len(start) > longest:
                raise too_long(source, longest)
            more = source.read(stream, len(start))
            if not more:
                break
            start += more
    strict = layout.delimiter is None and layout.ragged is Ragged.ERROR
    if strict and not (layout.skip_rows or layout.no_header):
        refuse_titles(source, start, at)
    return start, at


def _find_header(source: Source, start: bytes, layout: Layout) -> int:
    """Where the header begins: after empty lines, those to be skipped, and comments."""
    at = len(BYTE_ORDER_MARK) if start.startswith(BYTE_ORDER_MARK) else 0
    for _ in range(layout.skip_rows):
        end = LINE_END.search(start, at)
        if end is None:
            asked = opt("skip_rows", layout.skip_rows)
            raise DataError(f"{source.label}: has no line after those of {asked}; skip fewer")
        at = end.end()
    comment = None if layout.comment is None else layout.comment.encode()
    while True:
        at += len(start[at:]) - len(start[at:].lstrip(b"\r\n"))
        separator = SEPARATOR_LINE.match(start, at)
        if separator is not None:
            at = separator.end()
        elif comment is not None and start.startswith(comment, at):
            end = LINE_END.search(start, at)
            at = len(start) if end is None else end.end()
        else:
            return at


def named_delimiter(start: bytes, at: int) -> str | None:
    """The delimiter that a line such as sep=; before the header names."""
    lines = SEPARATOR_LINE.finditer(start, 0, at)
    return next((found[1].decode("latin-1") for found in lines), None)


def refuse_titles(source: Source, start: bytes, at: int) -> None:
    """DataError where lines of a title or of comments seem to stand before the header."""
    lines = _lines(start, at)[: MOST_TITLES + FEWEST_ROWS + 1]
    if len(lines) < FEWEST_ROWS + 2 or any(mark.encode() in lines[0] for mark in DELIMITERS):
        return
    counts = [max((line.count(mark.encode()), mark) for mark in DELIMITERS) for line in lines]
    for k in range(1, len(lines) - FEWEST_ROWS):
        block = counts[k : k + FEWEST_ROWS + 1]
        if block[0][0] > 0 and all(each == block[0] for each in block):
            break
    else:
        return
    fields = len(split_fields(lines[k].decode("utf-8", "replace"), block[0][1]))
    if fields == 1:
        # The marks are between quotes: a column of its own.
        return
    n_lines = len(LINE_END.findall(start[:at])) + k
    # Empty lines between them count too.
    header = start.index(lines[k], at)
    n_lines = len(LINE_END.findall(start[:header]))
    first = lines[0].decode("utf-8", "replace")
    comment = first[:1] in "#%;!" and all(line[:1] == lines[0][:1] for line in lines[:k])
    remedy = f"pass {opt('skip_rows', n_lines)}"
    remedy = f"pass {opt('comment', first[:1])} or {remedy[5:]}" if comment else remedy
    raise DataError(
        f"{source.label}: the first line, {quote(first)}, has 1 field and line {n_lines + 1} has "
        f"{fields}: a title? {remedy}, or {opt('delimiter')} if it is the header"
    )


def _lines(start: bytes, at: int) -> list[bytes]:
    """The lines from there on that are not empty; the last may be cut short."""
    return [line for line in LINE_END.split(start[at : at + (1 << 16)]) if line.strip()]


def decode_header(header: bytes, source: Source) -> str:
    """The text of the header. DataError where it is not UTF-8."""
    try:
        return header.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        raise not_utf8(source, ", header") from None


def is_tabbed(source: Source) -> bool:
    """Whether the name of the file says that tabs separate its fields."""
    stem, suffix = os.path.splitext(source.path.lower())
    return (stem if source.compression else stem + suffix).endswith((".tsv", ".tab"))


def too_long(source: Source, longest: int) -> DataError:
    """The sentence for a record that is no record."""
    return DataError(
        f"{source.label}: a record is longer than {longest >> 20} MB; "
        "check for a quote that is never closed, or for binary contents"
    )


def not_utf8(source: Source, place: str) -> DataError:
    """The sentence for a file of another encoding: the first byte that is wrong, and a remedy."""
    found = _find_wrong_byte(source)
    if found is None:
        remedy = f"pass {opt('encoding', 'utf-16')} if it is UTF-16; NUL bytes are no text"
        return DataError(f"{source.label}{place}: not UTF-8 text; {remedy}")
    line, byte, around = found
    if b"\0" in around:
        remedy = f"pass {opt('encoding', 'utf-16')} if it is UTF-16"
    else:
        encoding = "latin-1" if any(each in UNDEFINED for each in around) else "cp1252"
        text = quote(around.decode(encoding).strip())
        remedy = f"pass {opt('encoding', encoding)}, which reads {text}"
    return DataError(
        f"{source.label}{place}: not UTF-8 text: byte 0x{byte:02X} in line {line}; {remedy}, or "
        "save the file as UTF-8"
    )


def _find_wrong_byte(source: Source) -> tuple[int, int, bytes] | None:
    """The line of the first byte that is not UTF-8, the byte, and those around it."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, before = 1, b""
    with source.open() as stream:
        while chunk := source.read(stream, START_BYTES):
            pending = decoder.getstate()[0]
            try:
                decoder.decode(chunk)
            except UnicodeDecodeError as error:
                text = pending + chunk
                line += len(LINE_END.findall(text[: error.start]))
                first = max(error.start - 10, 0)
                around = text[first : error.start + 10]
                start = around.rfind(b"\n", 0, error.start - first) + 1
                return line, text[error.start], re.split(rb"[\r\n]", around[start:])[0]
            text = before + chunk
            line += len(LINE_END.findall(text[: len(text) - text.endswith(b"\r")]))
            before = b"\r" if text.endswith(b"\r") else b""
    return None
