"""Find the files that paths, patterns, folders and addresses name."""

import glob
import os
import select
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import unquote

import pyarrow as pa

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.tables.formats import SUFFIXES
from lrisk_cli.tables.source import COMPRESSIONS, START_BYTES, Source, unreadable

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

NamePath = TypeVar("NamePath", bound=PurePath)

NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
SECONDS_ASLEEP = 0.5


def find_sources(names: Sequence[str]) -> tuple[Source, ...]:
    """The files behind paths, globs, folders, addresses and "-", in reading order.

    Addresses are those that pyarrow.fs opens, such as s3://bucket/table.parquet; "-" is standard
    input.
    """
    if not names:
        raise UsageError("no table was named; give a path, a pattern, a folder or - for stdin")
    return tuple(source for name in names for source in _expand(name))


def _expand(name: str) -> list[Source]:
    if not name:
        raise UsageError("a table is named by an empty text; give a path, or . for this folder")
    if name == "-":
        return [_spool_stdin()]
    if "://" in name:
        return _expand_uri(name)
    path = Path(name)
    if path.is_dir():
        return [
            replace(_file_source(str(part)), partitions=_partitions(part.relative_to(path)))
            for part in _tables_in(path)
        ]
    if path.exists() or not glob.has_magic(name):
        return [_file_source(name)]
    matches = sorted(match for match in glob.glob(name, recursive=True) if Path(match).is_file())
    if not matches:
        raise DataError(
            f"{name}: no file matches this pattern; check it, and quote it in the shell"
        )
    return [_file_source(match) for match in matches]


def _expand_uri(uri: str) -> list[Source]:
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
            return [_remote_source(system, path, uri)]
        below = system.get_file_info(fs.FileSelector(path, recursive=True))
        names = {
            PurePosixPath(file.path).relative_to(path): file.path for file in below if file.is_file
        }
        return [
            replace(
                _remote_source(system, names[name], f"{uri.rstrip('/')}/{name}"),
                partitions=_partitions(name),
            )
            for name in _tables_among(uri, names)
        ]
    except (OSError, pa.ArrowException) as error:
        raise unreadable(uri, error) from error


def _remote_source(system: "FileSystem", path: str, label: str) -> Source:
    with system.open_input_file(path) as file:
        start = file.read(START_BYTES)
    return _source(label, path, start, lambda: system.open_input_file(path))


def _tables_in(folder: Path) -> list[Path]:
    """The tables below a folder, by path."""
    below = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return [folder / path for path in _tables_among(str(folder), below)]


def _tables_among(folder: str, names: Iterable[NamePath]) -> list[NamePath]:
    """Those that are tables, in order. Hidden files and those that start with _ are skipped."""
    found = [
        name
        for name in sorted(names)
        if _is_table(name.name) and not any(part.startswith((".", "_")) for part in name.parts)
    ]
    if not found:
        raise DataError(f"{folder}: the folder holds no tables (looked for {', '.join(SUFFIXES)})")
    return found


def _partitions(path: PurePath) -> dict[str, str]:
    pairs = [folder.partition("=") for folder in path.parts[:-1] if "=" in folder]
    values = {unquote(name): unquote(value) for name, _, value in pairs}
    return {name: "" if value == NO_PARTITION else value for name, value in values.items()}


def _is_table(name: str) -> bool:
    stem, suffix = os.path.splitext(name.lower())
    return (stem if suffix in COMPRESSIONS else name.lower()).endswith(SUFFIXES)


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

    def reopen() -> pa.NativeFile:
        file = os.fdopen(os.dup(spool.fileno()), "rb")
        file.seek(0)
        return pa.PythonFile(file, mode="r")

    return _source(label, "", start, reopen)


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
