"""Find the files that paths, patterns, folders and addresses name."""

import glob
import io
import os
import select
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import unquote

import pyarrow as pa

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.tables.folders import check_text, matches_of, tables_among, tables_in
from lrisk_cli.tables.in_memory import find_in_memory
from lrisk_cli.tables.source import START_BYTES, Source, unreadable

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

# Files in reading order, and a note on what is not read; empty where there is nothing to say.
Found: TypeAlias = tuple[list[Source], str]

NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
SECONDS_ASLEEP = 0.5
SCHEMES = "file://, s3://, gs://, hdfs:// and abfs://"


def find_sources(names: Sequence[str]) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """The files behind paths, globs, folders, addresses and "-", in reading order, and notes.

    Addresses are those that pyarrow.fs opens, such as s3://bucket/table.parquet; "-" is standard
    input. Notes: on files of folders that are not read.
    """
    if not names:
        raise UsageError("no table was named; give a path, a pattern, a folder or - for stdin")
    found = [_expand(name) for name in names]
    notes = dict.fromkeys(note for _, note in found if note)
    return tuple(source for sources, _ in found for source in sources), tuple(notes)


def _expand(name: str) -> Found:
    if not name:
        raise UsageError("a table is named by an empty text; give a path, or . for this folder")
    if name == "-":
        return [_spool_stdin()], ""
    in_memory = find_in_memory(name)
    if in_memory is not None:
        return [in_memory], ""
    check_text(name)
    if "://" in name:
        return _expand_uri(name)
    mode = _mode(name)
    if mode is not None and stat.S_ISDIR(mode):
        parts, note = tables_in(name)
        return [_part(_file_source(os.path.join(name, part)), part) for part in parts], note
    if mode is not None or not glob.has_magic(name):
        return [_file_source(name)], ""
    matches, note = matches_of(name)
    return [_file_source(match) for match in matches], note


def _mode(path: str) -> int | None:
    """The kind of file that is at a path; None where there is none."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _expand_uri(uri: str) -> Found:
    """The file at an address, or the tables of the folder there."""
    from pyarrow import fs  # takes a while to load

    try:
        system, path = fs.FileSystem.from_uri(uri)
        if isinstance(system, fs.LocalFileSystem):
            return _expand(path)
        info = system.get_file_info(path)
        if info.type == fs.FileType.NotFound:
            raise DataError(f"{uri}: no such file; check the address")
        if info.type == fs.FileType.File:
            return [_remote_source(system, path, uri)], ""
        below = system.get_file_info(fs.FileSelector(path, recursive=True))
        names = {
            PurePosixPath(file.path).relative_to(path): file.path for file in below if file.is_file
        }
        parts, note = tables_among(uri, names)
        folder = uri.rstrip("/")
        return [
            _part(_remote_source(system, names[part], f"{folder}/{part}"), part) for part in parts
        ], note
    except UnicodeDecodeError as error:
        raise DataError(f"{uri}: the address does not spell UTF-8; rename the file") from error
    except (OSError, pa.ArrowException) as error:
        if "Unrecognized filesystem" in str(error):
            scheme = uri.partition("://")[0]
            raise DataError(
                f"{uri}: lrisk does not read from {scheme}://, only from {SCHEMES}; download the "
                "table first, or pass it through standard input as -"
            ) from error
        raise unreadable(uri, error) from error


def _remote_source(system: "FileSystem", path: str, label: str) -> Source:
    with system.open_input_file(path) as file:
        start = file.read(START_BYTES)
    return _source(label, path, start, lambda: system.open_input_file(path))


def _part(source: Source, path: PurePath) -> Source:
    """A file of a folder, with the columns that the folders between them name."""
    values: dict[str, str] = {}
    for name, mark, value in (folder.partition("=") for folder in path.parts[:-1]):
        if not mark:
            continue
        try:
            column, cell = (unquote(text, errors="strict") for text in (name, value))
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source.label}: the folder {name}{mark}{value} does not spell UTF-8; rename it"
            ) from error
        if not column.strip() or column in values:
            finding = "is named by two folders" if column.strip() else "has no name"
            raise DataError(
                f"{source.label}: the column of the folder {name}{mark}{value} {finding}; "
                "rename the folder"
            )
        values[column] = "" if cell == NO_PARTITION else cell
    return replace(source, partitions=values)


def _file_source(path: str) -> Source:
    try:
        with open(path, "rb") as file:
            if not file.seekable():
                return _spool(path, file.fileno())
            start = file.read(START_BYTES)
    except FileNotFoundError as error:
        raise DataError(f"{path}: no such file; check the path") from error
    except OSError as error:
        raise unreadable(path, error) from error
    return _source(path, path, start, lambda: pa.OSFile(path))


def _spool_stdin() -> Source:
    label = "standard input"
    if sys.stdin is None:
        raise DataError(f"{label}: is closed; pipe a table into it, or name a file")
    try:
        return _spool(label, sys.stdin.fileno())
    except OSError as error:
        raise unreadable(label, error) from error


def _spool(label: str, pipe: int) -> Source:
    """All that comes through a pipe, in an unnamed file so that it can be read more than once."""
    import tempfile  # a file on disk needs none

    spool = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the table is
    while chunk := _read_awake(pipe):
        spool.write(chunk)
    spool.seek(0)
    start = spool.read(START_BYTES)

    return _source(label, "", start, lambda: pa.PythonFile(_Spooled(spool.fileno()), mode="r"))


class _Spooled(io.RawIOBase):
    """An open file from its start, with a position of its own: two may be read side by side."""

    def __init__(self, number: int) -> None:
        self._number = os.dup(number)
        self._at = 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, at most as many as there is room for."""
        n_read = os.preadv(self._number, [buffer], self._at)
        self._at += n_read
        return n_read

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._at}.get(whence)
        self._at = offset + (os.fstat(self._number).st_size if origin is None else origin)
        return self._at

    def close(self) -> None:
        """Close it, once."""
        if not self.closed:
            os.close(self._number)
        super().close()


def _read_awake(pipe: int) -> bytes:
    """The next bytes, empty at the end. A signal that arrives just before the wait still interrupts
    it.

    Python handles signals between bytecodes, and a read that has begun may block forever.
    """
    while not select.select([pipe], [], [], SECONDS_ASLEEP)[0]:
        pass
    return os.read(pipe, 1 << 20)


def _source(label: str, path: str, start: bytes, open_raw: Callable[[], pa.NativeFile]) -> Source:
    if not start:
        raise DataError(f"{label}: the file is empty; expected a table with a header and rows")
    return Source(label, path, start, open_raw)
