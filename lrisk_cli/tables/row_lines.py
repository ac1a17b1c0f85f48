"""Which line of which file a row begins on, kept as runs of rows on consecutive lines."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.tables.arrays import arrow_texts

Index = npt.NDArray[np.int64]
Text = bytes | memoryview

_LINE_END = re.compile(rb"\r\n|\r|\n")
_QUOTE = 34


@dataclass(frozen=True, slots=True)
class RowPlace:
    """Where a row is. file: where there are several; line: where it is of text."""

    row: int
    file: str | None = None
    line: int | None = None

    @property
    def spot(self) -> str:
        """The line, with its file where there are several; empty where the row has none."""
        line = "" if self.line is None else str(self.line)
        return line if self.file is None else f"{self.file}:{line}".rstrip(":")

    @property
    def document(self) -> dict[str, Any]:
        """What programs read of it."""
        named: dict[str, Any] = {"row": self.row}
        named |= {} if self.file is None else {"file": self.file}
        return named | ({} if self.line is None else {"line": self.line})

    def __str__(self) -> str:
        line = "" if self.line is None else f", line {self.line}"
        return f"row {self.row}{line}" + ("" if self.file is None else f" of {self.file}")


@dataclass(slots=True)
class RowLines:
    """Collects, while a table is read, the line that each row begins on.

    A file whose records take one line each is one run, whatever its length. files: of the table;
    textual: whether one of them is of text, so that its rows have lines.
    """

    files: tuple[str, ...] = ()
    textual: bool = False
    # For each run: its first row, the line of that row (0: no text), and the number of its file.
    _rows: "array[int]" = field(default_factory=lambda: array("q"))
    _lines: "array[int]" = field(default_factory=lambda: array("q"))
    _file: "array[int]" = field(default_factory=lambda: array("q"))
    _next: int = 0

    def begin(self, files: Sequence[str], *, textual: bool) -> None:
        """A table is read from its start."""
        self.files, self.textual, self._next = tuple(files), textual, 0
        for column in (self._rows, self._lines, self._file):
            del column[:]

    def begin_file(self, number: int, first_row: int) -> None:
        """A file is read from its start."""
        self._next = first_row
        self._run(first_row, 0, number)

    def add(self, n_rows: int, first_line: int, begins: Index | None = None) -> None:
        """The next rows of the file: on consecutive lines, or on the lines `begins` after it.

        first_line: of the first of them, or that `begins` counts from.
        """
        if not self._rows:  # a file that is read on its own
            self.begin_file(0, 0)
        file, start = self._file[-1], self._next
        if begins is None:
            self._extend(start, first_line, file)
        else:
            breaks = np.flatnonzero(np.diff(begins) != 1) + 1
            for at in (0, *breaks.tolist()) if n_rows else ():
                self._extend(start + at, first_line + int(begins[at]), file)
        self._next += n_rows

    def of(self, rows: Index) -> Index:
        """The line of each row; 0 where it is of no text. (n,)."""
        runs = self._runs(rows)
        begins, lines = np.asarray(self._rows)[runs], np.asarray(self._lines)[runs]
        found: Index = np.where(lines > 0, lines + (rows - begins), 0)
        return found

    def place(self, row: int) -> RowPlace:
        """Where one row is."""
        if not self._rows:
            return RowPlace(row)
        rows = np.array([row])
        line = int(self.of(rows)[0])
        file = self.files[self._file[int(self._runs(rows)[0])]] if len(self.files) > 1 else None
        return RowPlace(row, file, line or None)

    def columns(self, rows: Index) -> dict[str, Any]:
        """What names rows in results: row, and for text line; and file, if there are several."""
        named: dict[str, Any] = {"row": rows}
        if not self.textual:
            return named
        if len(self.files) > 1:
            numbers = np.asarray(self._file)[self._runs(rows)]
            named["file"] = arrow_texts(self.files).take(pa.array(numbers))
        lines = self.of(rows)
        return named | {"line": pa.array(lines, mask=lines == 0)}

    def _runs(self, rows: Index) -> Index:
        found: Index = np.searchsorted(np.asarray(self._rows), rows, side="right") - 1
        return found

    def _extend(self, row: int, line: int, file: int) -> None:
        """Rows go on at a line, in the last run if they continue it."""
        last_row, last_line = self._rows[-1], self._lines[-1]
        if last_line and line - last_line == row - last_row:
            return
        self._run(row, line, file)

    def _run(self, row: int, line: int, file: int) -> None:
        if self._rows and self._rows[-1] == row:  # a run without rows
            for column in (self._rows, self._lines, self._file):
                column.pop()
        self._rows.append(row)
        self._lines.append(line)
        self._file.append(file)


@dataclass(frozen=True, slots=True)
class Piece:
    """Records of a file. n_before: lines before the block that they are of, n_lines: in it.

    lines: on which the records begin, counted in the block; None where nothing was left out of it.
    """

    text: Text
    n_before: int
    n_lines: int
    lines: Index | None

    def begins(self, n_rows: int, delimiter: str) -> Index | None:
        """The lines of the rows that the parser found; None where each takes one line."""
        if self.lines is not None or not n_rows:
            return self.lines
        is_ended = self.text[-1] in b"\r\n"
        if n_rows == self.n_lines + (not is_ended):
            return None
        return record_lines(self.text, delimiter)


def record_lines(block: Text, delimiter: str) -> Index:
    """The lines on which the records of a block begin, counted from 0. Empty lines are no records.

    A quote opens a field only as its first character, as for the parser.
    """
    text = bytes(block)
    begins = array("q")
    line = begin = start = 0
    for token in _tokens(delimiter).finditer(text):
        if text[token.start()] == _QUOTE:
            line += len(_LINE_END.findall(text, token.start(), token.end()))
            continue
        if token.start() > start:
            begins.append(begin)
        line += 1
        begin, start = line, token.end()
    if len(text) > start:
        begins.append(begin)
    return np.array(begins, np.int64)


@cache
def _tokens(delimiter: str) -> "re.Pattern[bytes]":
    """A field in quotes, from its first character on, or the end of a line."""
    mark = re.escape(delimiter.encode())
    return re.compile(rb'(?:\A|(?<=[%b\r\n]))"(?:[^"]|"")*"?|\r\n|\r|\n' % mark)
