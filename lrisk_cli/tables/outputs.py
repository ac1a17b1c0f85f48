"""Write result files: whole or not at all, and never over a file the user did not give up."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.errors import UsageError, opt
from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_of, arrow_texts, true_flags
from lrisk_cli.tables.places import (
    delimiter_of,
    expect,
    is_expected,
    is_standard_output,
    make_folder,
    output_stream,
    unwritable,
)

ROWS_AT_A_TIME = 65_536
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Whether cells that a spreadsheet would take for formulas are defused: for the length of a command.
SPREADSHEET_SAFE: ContextVar[bool] = ContextVar("spreadsheet_safe", default=False)
_FORMULA = r"^[=+\-@\t\r]"
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"

Column: TypeAlias = npt.NDArray[Any] | pa.Array


def write_bytes(path: str | os.PathLike[str], data: bytes) -> None:
    """Put the bytes at `path`, whole or not at all."""
    _write_text(path, iter((data,)))


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Column]) -> None:
    """A table as CSV, TSV or Parquet by suffix, whole or not at all; floats read back exactly.

    NaN and null are empty fields in text and null in Parquet. See SPREADSHEET_SAFE for text.
    """
    table = as_table(columns)
    delimiter = delimiter_of(path)
    if delimiter is None:
        import pyarrow.parquet as pq  # takes a while to load

        _replace(Path(path), lambda temporary: pq.write_table(table, temporary))
    else:
        _write_text(path, _text_of(table, delimiter))


def write_parts(
    path: str | os.PathLike[str],
    parts: Iterable[Mapping[str, Column]],
    *,
    group_rows: int = 0,
    group_cells: int = 0,
) -> None:
    """The same of consecutive rows, part after part; one is held at a time.

    A part becomes a row group of a Parquet file, or is joined with others to one of group_rows, or
    fewer where these would have more than group_cells together.
    """
    tables = map(as_table, parts)
    delimiter = delimiter_of(path)
    if delimiter is None:
        groups = _regrouped(tables, group_rows, group_cells) if group_rows else tables
        _replace(Path(path), lambda temporary: _write_row_groups(temporary, groups))
    else:
        _write_text(path, _texts_of(tables, delimiter))


def write_csv_parts(stream: BinaryIO, parts: Iterable[Mapping[str, Column]]) -> None:
    """Consecutive rows as CSV into an open stream, as write_parts spells them."""
    stream.writelines(_texts_of(map(as_table, parts), ","))


def _write_text(path: str | os.PathLike[str], pieces: Iterator[bytes]) -> None:
    """Pieces of one text, to a file as a whole or piece by piece to standard output."""
    if is_standard_output(path):
        stream = output_stream()
        stream.writelines(pieces)
        stream.flush()
    else:
        _replace(Path(path), lambda temporary: _write_pieces(temporary, pieces))


def _replace(target: Path, write: Callable[[str], object]) -> None:
    """Let `write` fill a temporary file beside the target, then give it the target's name.

    A link is followed; a device or pipe is written to as it is. Folders that are missing are made.
    """
    named = target
    made: list[Path] = []
    try:
        if target.exists() and not target.is_file():
            write(str(target))
            return
        target = Path(os.path.realpath(target))
        temporary = str(target.parent / f".lrisk-{os.urandom(8).hex()}")
        try:
            made = make_folder(target.parent)
            _create(temporary, target)
            write(temporary)
            _flush(temporary)
            if is_expected(target):
                _name_new(temporary, target, named)
            else:
                os.replace(temporary, target)
        except BaseException:
            # A signal may arrive before the file is made, or after it has got its name.
            with suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(temporary)
            for folder in reversed(made):
                with suppress(OSError):  # it may hold other files by now
                    folder.rmdir()
            raise
        for folder in (target.parent, *(each.parent for each in made)):
            _flush(str(folder))
    except OSError as error:
        raise unwritable(named, error) from error


def _name_new(temporary: str, target: Path, named: Path) -> None:
    """Give a file its name unless another has got it since the command began."""
    try:
        try:
            os.link(temporary, target)
            os.unlink(temporary)
        except FileExistsError:
            raise
        except OSError:
            # Not every file system has links: then an empty file holds the place for an instant.
            _make_empty(str(target))
            try:
                os.replace(temporary, target)
            except BaseException:
                os.unlink(target)
                raise
    except FileExistsError as error:
        raise UsageError(
            f"{named}: appeared during the run; it was not replaced: pass {opt('force')} to "
            "overwrite it, or choose another place"
        ) from error
    expect(target, force=True)


def _create(temporary: str, target: Path) -> None:
    """An empty file with the permissions and the owner that the target has, or would get."""
    _make_empty(temporary)
    if target.exists():
        state = target.stat()
        # Only root may give files away; for others a new file is their own.
        with suppress(PermissionError):
            os.chown(temporary, state.st_uid, state.st_gid)
        os.chmod(temporary, stat.S_IMODE(state.st_mode))


def _make_empty(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def _flush(path: str) -> None:
    """Have the system put a file or folder on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_pieces(path: str, pieces: Iterator[bytes]) -> None:
    with open(path, "wb") as file:
        file.writelines(pieces)


def _write_row_groups(path: str, tables: Iterator[pa.Table]) -> None:
    import pyarrow.parquet as pq

    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)


def _regrouped(tables: Iterator[pa.Table], n_rows: int, n_cells: int) -> Iterator[pa.Table]:
    """The same rows in tables of n_rows each but the last, or of n_cells if that is less."""
    waiting: list[pa.Table] = []
    n_waiting = 0
    for table in tables:
        size = max(1, min(n_rows, n_cells // table.num_columns))
        waiting.append(table)
        n_waiting += len(table)
        while n_waiting >= size:
            joined = pa.concat_tables(waiting).combine_chunks()
            yield joined.slice(0, size)
            waiting = [joined.slice(size)]
            n_waiting -= size
    if n_waiting:
        yield pa.concat_tables(waiting).combine_chunks()


def _texts_of(tables: Iterator[pa.Table], delimiter: str) -> Iterator[bytes]:
    """Tables of consecutive rows as delimited text under one header."""
    for k, table in enumerate(tables):
        yield from _text_of(table, delimiter, heads=k == 0)


def as_table(columns: Mapping[str, Column]) -> pa.Table:
    return pa.table({name: _as_arrow(values) for name, values in columns.items()})


def _as_arrow(values: Column) -> pa.Array:
    """NaN becomes null."""
    if isinstance(values, np.ndarray):
        return arrow_texts(values.tolist()) if values.dtype.kind in "UO" else arrow_of(values)
    return values


def _text_of(table: pa.Table, delimiter: str, *, heads: bool = True) -> Iterator[bytes]:
    """The table as delimited text, quoting only the fields that need it."""
    between = arrow_texts([delimiter])[0]
    if heads:
        header = _quote(_defuse(arrow_texts(table.column_names)), delimiter).to_pylist()
        # Without the mark, Excel takes text for the encoding of the system.
        mark = BYTE_ORDER_MARK if SPREADSHEET_SAFE.get() else b""
        yield mark + (delimiter.join(header) + "\n").encode()
    for start in range(0, len(table), ROWS_AT_A_TIME):
        part = table.slice(start, ROWS_AT_A_TIME).combine_chunks()
        fields = [_quote(_spell(column.chunk(0)), delimiter) for column in part.columns]
        lines = compute.join(*fields, between, nulls="replace")
        yield ("\n".join(lines.to_pylist()) + "\n").encode()


def _spell(column: pa.Array) -> pa.Array:
    """The fields of a column, not yet quoted."""
    column = compute.dictionary_decode(column)
    texts = column if pa.types.is_string(column.type) else compute.cast(column, pa.string())
    return texts if pa.types.is_primitive(column.type) else _defuse(texts)


def _defuse(texts: pa.Array) -> pa.Array:
    """An apostrophe before what a spreadsheet would compute, if asked for; numbers stay."""
    if not SPREADSHEET_SAFE.get():
        return texts
    formulas = compute.both(
        compute.matches(texts, _FORMULA),
        compute.invert(compute.matches(texts, _NUMBER)),
    )
    mark, nothing = arrow_texts(["'", ""])
    return compute.choose(formulas, compute.join(mark, texts, nothing), texts)


def _quote(fields: pa.Array, delimiter: str) -> pa.Array:
    special = compute.matches(fields, rf'["\r\n{delimiter}]')
    if not true_flags(special).any():
        return fields
    doubled = compute.replace(fields, '"', '""')
    mark, nothing = arrow_texts(['"', ""])
    return compute.choose(special, compute.join(mark, doubled, mark, nothing), fields)
