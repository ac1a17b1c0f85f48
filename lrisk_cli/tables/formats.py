"""The registry of file formats: a file -> the reader that its first bytes call for."""

from typing import Any

from lrisk_cli.errors import DataError
from lrisk_cli.tables.arrow_files import ArrowReader
from lrisk_cli.tables.csv_files import CsvReader
from lrisk_cli.tables.in_memory import MemoryReader
from lrisk_cli.tables.json_files import JsonLinesReader, is_json_line
from lrisk_cli.tables.model_text import is_model_file
from lrisk_cli.tables.orc_files import OrcReader
from lrisk_cli.tables.parquet_files import ParquetReader
from lrisk_cli.tables.reader import Reader
from lrisk_cli.tables.source import Source

TEXT = CsvReader()
MEMORY = MemoryReader()
JSON_LINES = JsonLinesReader()
READERS: tuple[Reader[Any], ...] = (TEXT, ParquetReader(), ArrowReader(), OrcReader(), JSON_LINES)
# Texts of any kind end with .txt: in a folder they are no tables unless a pattern names them.
ANY_TEXT = ".txt"
SUFFIXES = tuple(suffix for reader in READERS for suffix in reader.suffixes if suffix != ANY_TEXT)
UNREAD_SUFFIXES = (".xlsx", ".xls", ".ods", ".avro")
REFUSED = (
    (b"\xfd7zXZ\0", "compressed by xz, which lrisk does not read; decompress it"),
    (b"\x04\x22\x4d\x18", "compressed by lz4, which lrisk does not read; decompress it"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive; save the table in it as CSV"),
    (b"Obj\x01", "Avro, which lrisk does not read; convert it to Parquet"),
    (b"FEA1", "Feather of version 1, which few still read; save as version 2"),
    (b"PARE", "an encrypted Parquet file; decrypt it, and save it again"),
    (b"\x89HDF", "HDF5, which lrisk does not read; convert it to Parquet"),
    (b"\x93NUMPY", "an array of NumPy, which lrisk does not read; convert it to Parquet"),
    (b"\x80\x04", "a pickle of Python, which lrisk does not read; convert it to Parquet"),
    (b"\x80\x05", "a pickle of Python, which lrisk does not read; convert it to Parquet"),
    (b"%PDF", "a PDF, not a table; export the table in it as CSV"),
    (b"PK\x03\x04", "a zip archive or spreadsheet; save the table in it as CSV"),
)


def choose_reader(source: Source) -> Reader[Any]:
    """The reader for a file. Contents decide before names: Parquet named .csv is Parquet."""
    if source.in_memory is not None:
        return MEMORY
    reader = _reader_of(source.start)
    if reader is not None:
        return reader
    for signature, finding in REFUSED:
        if source.start.startswith(signature):
            raise DataError(f"{source.label}: {finding}")
    if source.start.startswith(b"{") and is_model_file(source.path):
        raise DataError(
            f"{source.label}: a model of lrisk, not a table; lrisk evaluate and lrisk predict take "
            "the model first, then the table"
        )
    if source.read_start().lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and is_json_line(source):
        return JSON_LINES
    finding = _describe_text(source)
    if finding:
        raise DataError(f"{source.label}: {finding}")
    binary = [each for each in READERS if each.signatures]
    if any(source.path.lower().endswith(each.suffixes) for each in binary):
        raise DataError(
            f"{source.label}: the contents are not those of its suffix; is the file damaged?"
        )
    if source.compression is not None and _reader_of(source.read_start()) is not None:
        raise DataError(
            f"{source.label}: Parquet or Arrow inside {source.compression}; decompress the file"
        )
    return TEXT


def _describe_text(source: Source) -> str:
    """What a text is that is no table, and what to do; empty where it may be one."""
    start = source.read_start().lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doc", b"<html", b"<head", b"<?xml", b"<table")):
        return (
            "a page of HTML or XML, not a table; a download that needs a login, or failed, often "
            "ends in one"
        )
    if start.startswith((b"{", b"[{", b"[[", b"[\n", b"[\r")):
        return "JSON, not CSV; convert it to CSV or Parquet"
    return ""


def _reader_of(start: bytes) -> Reader[Any] | None:
    """The reader whose signature the first bytes are, if there is one."""
    return next((each for each in READERS if start.startswith(each.signatures)), None)
