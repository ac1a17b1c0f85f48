"""A folder or a pattern -> the files that it names; what may hold rows is read, or is an error.

Links are followed. In a folder, names that start with . or _ are no tables, as Spark has it.
"""

import fnmatch
import glob
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TypeVar

from lrisk_cli.errors import DataError, as_text, is_text
from lrisk_cli.tables.formats import ANY_TEXT, SUFFIXES, UNREAD_SUFFIXES
from lrisk_cli.tables.source import COMPRESSIONS, UNREAD_COMPRESSIONS, unreadable

NamePath = TypeVar("NamePath", bound=PurePath)
Identity = tuple[int, int]

HIDDEN = (".", "_")
MOST_NAMED = 5
MOST_ENTRIES = 500_000
# Folders of logs that say which files belong to a table: those that were replaced are there too.
LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
BELOW = "**"


def tables_in(folder: str) -> tuple[list[PurePath], str]:
    """The tables below a folder as paths from there, in order, and a note on other files."""
    problems: list[DataError] = []
    below = [PurePath(os.path.relpath(path, folder)) for path in _files_below(folder, problems)]
    found, note = tables_among(folder, below, problems)
    _refuse_twice([os.path.join(folder, path) for path in found])
    return found, note


def tables_among(
    folder: str, names: Iterable[NamePath], problems: Iterable[DataError] = ()
) -> tuple[list[NamePath], str]:
    """The tables among the files below a folder, in order, and a note on other files.

    problems: what could not be looked at. Beside a table they are errors: rows would be left out.
    """
    below = sorted(names)
    shown = [name for name in below if not _is_hidden(name.parts[:-1])]
    found = [name for name in shown if _is_table(name.name) and not _is_hidden(name.parts)]
    why = [*problems, *_find_problems(folder, below, shown)]
    if not found:
        raise _no_tables(folder, shown, why)
    if why:
        raise why[0]
    others = [name for name in shown if _is_table(name.name) == _is_hidden(name.parts)]
    return found, _note_others(folder, [str(name) for name in others], "not tables by their names")


def _no_tables(folder: str, shown: Sequence[PurePath], why: Sequence[DataError]) -> DataError:
    """The sentence for a folder without tables. why: what could not be looked at, or read."""
    looked_for = f"(looked for {', '.join(SUFFIXES)})"
    if why:
        return DataError(
            f"{folder}: the folder holds no tables that can be read {looked_for}; {why[0]}"
        )
    texts = any(name.suffix.lower() == ANY_TEXT for name in shown)
    remedy = f"name {ANY_TEXT} files by a pattern, '{folder.rstrip('/')}/*{ANY_TEXT}'"
    return DataError(
        f"{folder}: the folder holds no tables {looked_for}; "
        + (remedy if texts else "name a file, or another folder")
    )


def matches_of(pattern: str) -> tuple[list[str], str]:
    """The files that match a pattern, in order, and a note on folders that match it too."""
    top = "/" if pattern.startswith("/") else ""
    parts = [part for part in pattern.split("/") if part]
    paths = [top]
    for at, part in enumerate(parts):
        last = at == len(parts) - 1
        paths = [match for path in paths for match in _matches(path, part, last=last)]
    folders, found = [], []
    for path in sorted(set(paths)):
        if os.path.isdir(path):
            folders.append(path)
        elif not os.path.isfile(path):
            raise _no_file(path)
        else:
            found.append(check_text(path))
    if not found:
        only = "only folders match" if folders else "no file matches"
        raise DataError(f"{pattern}: {only} this pattern; check it, and quote it in the shell")
    _refuse_twice(found)
    return found, _note_others(pattern, folders, "folders")


def check_text(path: str) -> str:
    """The path. DataError where its bytes are not UTF-8, as results could not name it."""
    if is_text(path):
        return path
    raise DataError(f"{path}: the path is not UTF-8 text; rename the file")


def _find_problems(
    folder: str, below: Sequence[PurePath], shown: Sequence[PurePath]
) -> Iterator[DataError]:
    """What would leave rows out, or read too many. shown: those below that are not in hidden ones.

    Files in a hidden folder matter only if it is a log.
    """
    for name in below:
        for part in set(name.parts) & set(LOGS):
            yield DataError(
                f"{folder}: holds a {LOGS[part]} table, whose log says which of its files count; "
                "write the table as plain files, or name the files that count"
            )
    for name in shown:
        path = f"{folder.rstrip('/')}/{name}"
        if _is_hidden(name.parts):
            continue
        if not is_text(path) and _is_table(name.name):
            yield DataError(f"{path}: the path is not UTF-8 text; rename the file")
        stem, suffix = os.path.splitext(name.name.lower())
        if suffix in UNREAD_COMPRESSIONS and stem.endswith(SUFFIXES):
            finding = f"is compressed in a format ({suffix}) that lrisk does not read"
            yield DataError(f"{path}: {finding}; decompress it, or compress it as .gz")
        elif suffix in UNREAD_SUFFIXES:
            finding = f"is a table in a format ({suffix}) that lrisk does not read"
            yield DataError(f"{path}: {finding}; convert it, or move it elsewhere")


def _files_below(folder: str, problems: list[DataError]) -> Iterator[str]:
    """The files in a folder and in those below it, but for those below hidden ones."""
    for path, is_folder in _walk(folder, HIDDEN, problems):
        if not is_folder or os.path.basename(path) in LOGS:
            yield path


def _walk(
    folder: str, hidden: tuple[str, ...], problems: list[DataError] | None
) -> Iterator[tuple[str, bool]]:
    """Everything below a folder, and whether it is one; hidden folders are not looked into.

    hidden: what their names start with. problems: where to put what cannot be looked at, and links
    in circles; None to raise it.
    """
    waiting: list[tuple[str, frozenset[Identity]]] = [(folder, frozenset())]
    n_entries = 0
    while waiting:
        if n_entries > MOST_ENTRIES:
            raise DataError(
                f"{folder}: more than {MOST_ENTRIES:,} files and folders are below this one; name "
                "a smaller folder, or a pattern"
            )
        path, above = waiting.pop()
        try:
            identity = _identify(path or ".")
            if identity in above:
                raise DataError(
                    f"{path}: is a link to a folder that it is in, so there is no end to it; "
                    "remove the link"
                )
            for name, is_folder in _listed(path, "*", problems):
                if is_folder and not name.startswith(hidden):
                    waiting.append((os.path.join(path, name), above | {identity}))
                n_entries += 1
                yield os.path.join(path, name), is_folder
        except OSError as error:
            _put(unreadable(path, error), problems)
        except DataError as error:
            _put(error, problems)


def _identify(path: str) -> Identity:
    state = os.stat(path)
    return state.st_dev, state.st_ino


def _put(problem: DataError, problems: list[DataError] | None) -> None:
    if problems is None:
        raise problem
    problems.append(problem)


def _listed(
    path: str, pattern: str, problems: list[DataError] | None
) -> Iterator[tuple[str, bool]]:
    """The entries of a folder that match, and whether they are folders; OSError as `scandir`.

    One that may hold rows, and is neither a file nor a folder, is a problem.
    """
    with os.scandir(path or ".") as entries:
        matching = [entry for entry in entries if fnmatch.fnmatchcase(entry.name, pattern)]
    for entry in matching:
        place = os.path.join(path, entry.name)
        try:
            is_folder = entry.is_dir()
            if not is_folder and not entry.is_file() and _may_hold_rows(entry):
                _put(_no_file(place), problems)
                continue
        except OSError as error:
            _put(unreadable(place, error), problems)
            continue
        yield entry.name, is_folder


def _may_hold_rows(entry: os.DirEntry[str]) -> bool:
    """Whether what is no file would be a table, or a folder of them, if its link led anywhere."""
    if entry.name.startswith(HIDDEN):
        return False
    may_be_folder = entry.is_symlink() and ("." not in entry.name or "=" in entry.name)
    return may_be_folder or _is_table(entry.name)


def _no_file(path: str) -> DataError:
    """The sentence for what is neither a file nor a folder."""
    if os.path.islink(path) and not os.path.exists(path):
        return DataError(
            f"{path}: is a link to {os.readlink(path)}, which does not exist; repair or remove it"
        )
    if not os.path.lexists(path):
        return DataError(f"{path}: was removed while the folder was read; run the command again")
    return DataError(
        f"{path}: is no file but a pipe, socket or device; name it itself, or move it elsewhere"
    )


def _matches(path: str, part: str, *, last: bool) -> Iterator[str]:
    """What matches the next part of a pattern in a folder. last: so files are looked for."""
    try:
        if part == BELOW:
            yield from _below(path, files=last)
        elif glob.has_magic(part):
            for name, is_folder in _listed(path, part, None):
                if (is_folder or last) and (part.startswith(".") or not name.startswith(".")):
                    yield os.path.join(path, name)
        else:
            os.lstat(os.path.join(path, part))
            yield os.path.join(path, part)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise unreadable(path or ".", error) from error


def _below(path: str, *, files: bool) -> Iterator[str]:
    """All files below a folder, or itself and all folders below it; hidden ones are not meant."""
    if not os.path.isdir(path or "."):
        return
    if not files:
        yield path
    for below, is_folder in _walk(path, HIDDEN[:1], None):
        if is_folder is not files and not os.path.basename(below).startswith(HIDDEN[:1]):
            yield below


def _refuse_twice(paths: Sequence[str]) -> None:
    """DataError where a link and its target are both among the files: rows would count twice."""
    seen: dict[Identity, str] = {}
    for path in paths:
        try:
            other = seen.setdefault(_identify(path), path)
        except OSError as error:
            raise unreadable(path, error) from error
        # Two names of one file on the disk are no link: copies are often stored so.
        if other is not path and os.path.realpath(other) == os.path.realpath(path):
            raise DataError(
                f"{path}: is the same file as {other} by a link, so that its rows would be read "
                "twice; remove the link, or name the files one by one"
            )


def _note_others(place: str, names: Sequence[str], what: str) -> str:
    """What is in a folder, or matches a pattern, and is not read; empty where there is nothing."""
    if not names:
        return ""
    shown = ", ".join(map(as_text, names[:MOST_NAMED]))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{place}: not read: {shown}{more} ({what})"


def _is_hidden(parts: Sequence[str]) -> bool:
    return any(part.startswith(HIDDEN) for part in parts)


def _is_table(name: str) -> bool:
    stem, suffix = os.path.splitext(name.lower())
    return (stem if suffix in COMPRESSIONS else name.lower()).endswith(SUFFIXES)
