"""Where results go: a file, in folders that are made where they are missing, or standard output.

Places are checked before any work starts; nothing is made before there is something to write.
"""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from lrisk_cli.errors import UsageError, opt

TABLE_DELIMITERS = {".csv": ",", ".tsv": "\t"}
TABLE_SUFFIXES = (*TABLE_DELIMITERS, ".parquet")
# How standard output is named; a file of this name is ./-
STANDARD_OUTPUT = "-"
# Files that were not there when a command began: it may make them, and not replace them.
_EXPECTED: ContextVar[frozenset[str]] = ContextVar("expected", default=frozenset())
# What is written to standard output; None: the stream that sys has for it.
_STREAM: ContextVar[BinaryIO | None] = ContextVar("stream", default=None)


def check_output(path: str | os.PathLike[str], *, force: bool, table: bool = False) -> None:
    """UsageError before any work if the file exists, nothing can be made there, or no format fits.

    table: the file is a table, so its suffix must name a format that write_table knows.
    """
    if not os.fspath(path):
        raise UsageError("an output is named by an empty text; give it a path")
    if is_standard_output(path):
        return
    if table:
        check_suffix(path)
    mode = _mode(path)
    if os.fspath(path).endswith(os.sep) or stat.S_ISDIR(mode):
        raise UsageError(f"{path}: is a folder; name a file in it")
    if stat.S_ISREG(mode) and not force:
        raise UsageError(f"{path}: exists; pass {opt('force')} to overwrite it")
    _check_folder(path)
    expect(path, force=force)


def _check_folder(path: str | os.PathLike[str]) -> None:
    """UsageError if the folder of a file can neither take it nor be made."""
    folder = Path(path).parent
    # The current folder, or the root, ends the search.
    nearest = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if not nearest.is_dir():
        raise UsageError(f"{path}: {nearest} is not a folder; choose another name")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise UsageError(f"{path}: the folder {nearest} is not writable; choose another")


def expect(path: str | os.PathLike[str], *, force: bool) -> None:
    """Whoever writes this file will make it, and replace it only by force."""
    place = {os.path.realpath(path)}
    _EXPECTED.set(_EXPECTED.get() - place if force else _EXPECTED.get() | place)


def is_expected(path: Path) -> bool:
    """Whether the file must not be there yet."""
    return str(path) in _EXPECTED.get()


def _mode(path: str | os.PathLike[str]) -> int:
    """What is at a path that is to be written; 0 for nothing. UsageError if nothing can be."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: str | os.PathLike[str], error: OSError) -> UsageError:
    """What to say of a place that takes no file."""
    reason = error.strerror or str(error)
    return UsageError(f"{path}: cannot be written ({reason}); choose another place")


def delimiter_of(path: str | os.PathLike[str]) -> str | None:
    """What separates the fields of a table there; None for Parquet. Standard output takes CSV."""
    return "," if is_standard_output(path) else TABLE_DELIMITERS.get(Path(path).suffix.lower())


def check_suffix(path: str | os.PathLike[str]) -> None:
    """UsageError if write_table knows no format of this suffix."""
    suffix = Path(path).suffix
    if not is_standard_output(path) and suffix.lower() not in TABLE_SUFFIXES:
        raise UsageError(
            f"{path}: unknown kind of table '{suffix}'; use {', '.join(TABLE_SUFFIXES)}"
        )


def check_apart(
    outputs: Sequence[str | os.PathLike[str] | None], inputs: Sequence[str | os.PathLike[str]]
) -> None:
    """UsageError if two outputs are the same place, or one of them would replace an input.

    None among the outputs: one that was not asked for. `-` is standard output here and standard
    input there.
    """
    files = [path for path in inputs if not is_standard_output(path)]
    taken = {os.path.realpath(path): "also an input" for path in files}
    for path in outputs:
        if path is None:
            continue
        # Of no file: an absolute path is never so short.
        place = STANDARD_OUTPUT if is_standard_output(path) else os.path.realpath(path)
        if place in taken:
            raise UsageError(
                f"{place_name(path)}: is {taken[place]}; give the output a path of its own"
            )
        taken[place] = "named for two outputs"


def is_standard_output(path: str | os.PathLike[str]) -> bool:
    """Whether results go there instead of to a file."""
    return os.fspath(path) == STANDARD_OUTPUT


def place_name(path: str | os.PathLike[str]) -> str:
    """A place as a report names it."""
    return "standard output" if is_standard_output(path) else os.fspath(path)


def output_stream() -> BinaryIO:
    """What results for standard output are written to."""
    return _STREAM.get() or sys.stdout.buffer


@contextmanager
def written_to(stream: BinaryIO) -> Iterator[None]:
    """In this context, results for standard output are written to this stream."""
    token = _STREAM.set(stream)
    try:
        yield
    finally:
        _STREAM.reset(token)


def make_folder(folder: Path) -> list[Path]:
    """Make a folder and those around it where they are missing; what was made, outermost first."""
    missing = []
    while not folder.is_dir() and folder != folder.parent:
        missing.append(folder)
        folder = folder.parent
    made = []
    for each in reversed(missing):
        try:
            each.mkdir()
        except FileExistsError:  # another command may make it at the same time
            continue
        made.append(each)
    return made
