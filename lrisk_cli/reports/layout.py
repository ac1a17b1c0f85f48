"""Rows of cells -> lines of text that fit a terminal: no number is cut, no cell shortened.

Where the columns are too wide together, names, heads and sentences go on in lines below; where
that is not enough, the columns are divided into tables below each other, each under its names.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from shutil import get_terminal_size
from unicodedata import combining, east_asian_width

from lrisk_cli.colours import Style
from lrisk_cli.reports.facts import plain

# Narrower terminals are treated as if they were so wide.
NARROWEST = 40
BETWEEN = 2
# So many letters of the names in the first column stay on a line, and of any word.
OF_NAMES, OF_WORDS = 20, 16
# And of the sentences in the last column, where there are any.
OF_SENTENCES = 40
# Cells that begin with a number: "12.6 billion", "1.5 to 2.5", "+3 %".
_NUMBER = re.compile(r"[-+±~]?[0-9.]")
# Parts of a text that may stand on lines of their own; the digits of a number stay together.
_PIECE = re.compile(r"(?:[^ :_/=-]|-(?![A-Za-z]))*(?:[ :_/=]+|-)?")


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of one line that is safe on a terminal, and how it stands out, if it does."""

    text: str
    style: Style | None

    @property
    def is_number(self) -> bool:
        """Whether it is a figure, which stays on one line."""
        return _NUMBER.match(self.text) is not None


Line = list[tuple[str, Style | None]]
Cells = Sequence[Sequence[Cell]]


def terminal_width() -> int:
    """Columns of the terminal, or of COLUMNS; 80 elsewhere."""
    return max(get_terminal_size().columns, NARROWEST)


def columns_of(text: str) -> int:
    """How many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)


def fit_rows(
    rows: Sequence[Sequence[str]], width: int, *, numbers: bool, ragged: bool = False
) -> Iterator[Line]:
    """Lines of at most this width, as pieces to be coloured.

    numbers: all columns but the first flush right. ragged: the last one of sentences, flush left.
    """
    cells = [[Cell(plain(cell), getattr(cell, "style", None)) for cell in row] for row in rows]
    n_columns = max(map(len, cells))
    needs = [_need(cells, k) for k in range(n_columns)]
    if ragged:
        longest = max(columns_of(row[-1].text) for row in cells if len(row) == n_columns)
        needs[-1] = max(needs[-1], min(longest, OF_SENTENCES))
    for number, block in enumerate(_blocks(needs, width)):
        if number:
            yield []
        taken = [[row[k] for k in block if k < len(row)] for row in cells]
        widths = _share(taken, [needs[k] for k in block], width)
        left = {0} if numbers else set(range(len(block)))
        if ragged and block[-1] == n_columns - 1:
            left.add(len(block) - 1)
        for at, row in enumerate(taken):
            if _spans(row):
                yield from ([(text, row[0].style)] for text in _wrap(row[0], width))
            else:
                yield from _lines(row, widths, left, is_head=numbers and at == 0)


def _need(cells: Cells, k: int) -> int:
    """The least width of a column: of its figures, and of the longest parts of its words."""
    column = [row[k] for row in cells if k < len(row) and not _spans(row)]
    if k == 0:
        least = min(max((columns_of(each.text) for each in column), default=0), OF_NAMES)
    else:
        least = max((columns_of(each.text) for each in column if each.is_number), default=0)
    words = (columns_of(part.rstrip()) for each in column for part in _pieces(each.text, OF_WORDS))
    return max(least, *words, 0)


def _spans(row: Sequence[Cell]) -> bool:
    """Whether a row is a title, which may take the width of all columns."""
    return bool(row) and not any(each.text for each in row[1:])


def _blocks(needs: Sequence[int], width: int) -> list[list[int]]:
    """The columns of each table; the first column, of names, is in all of them."""
    blocks, room = [[0]], width - needs[0]
    for k, need in enumerate(needs[1:], 1):
        if need + BETWEEN > room and len(blocks[-1]) > 1:
            blocks.append([0])
            room = width - needs[0]
        blocks[-1].append(k)
        room -= need + BETWEEN
    return blocks


def _share(cells: Cells, needs: Sequence[int], width: int) -> list[int]:
    """Widths of columns: as wide as their cells, or all wide ones cut to one width that fits.

    Heads over figures are cut before names are.
    """
    shown = [row for row in cells if not _spans(row)]
    natural = [
        max((columns_of(row[k].text) for row in shown if k < len(row)), default=0)
        for k in range(len(needs))
    ]
    room = width - BETWEEN * (len(needs) - 1)
    narrow = [
        need if any(k < len(row) and row[k].is_number for row in shown) else most
        for k, (need, most) in enumerate(zip(needs, natural, strict=True))
    ]
    narrow[:1] = natural[:1]
    if sum(narrow) <= room:
        return _cut(natural, narrow, room)
    return _cut(narrow, needs, room)


def _cut(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """The widths, the large ones cut to one that makes all fit; none below the least."""

    def at_most(level: int) -> list[int]:
        return [min(n, max(low, level)) for n, low in zip(natural, least, strict=True)]

    level = max(natural)
    while sum(at_most(level)) > room and level > 0:
        level -= 1
    found = at_most(level)
    # What is left over by the rounding goes to the first columns that can use it.
    for k, most in enumerate(natural):
        found[k] += max(0, min(most - found[k], room - sum(found)))
    return found


def _lines(
    row: Sequence[Cell], widths: Sequence[int], left: set[int], *, is_head: bool
) -> Iterator[Line]:
    """The lines of a row: the cells of heads end on one line, others begin on one."""
    parts = [_wrap(cell, width) for cell, width in zip(row, widths, strict=False)]
    most = max(map(len, parts), default=1)
    if is_head:
        parts = [[""] * (most - len(each)) + each for each in parts]
    for texts in zip_longest(*parts, fillvalue=""):
        line: Line = []
        for k, (text, cell) in enumerate(zip(texts, row, strict=True)):
            blank = " " * (widths[k] - columns_of(text))
            before, after = ("", blank) if k in left else (blank, "")
            line += [(" " * BETWEEN * (k > 0) + before, None), (text, cell.style), (after, None)]
        yield _stripped(line)
    if not parts:
        yield []


def _stripped(line: Line) -> Line:
    """Without blanks at its end."""
    while line and not line[-1][0].strip():
        line.pop()
    if line:
        text, style = line[-1]
        line[-1] = (text.rstrip(), style)
    return line


def _wrap(cell: Cell, width: int) -> list[str]:
    """The text in lines; a word that is wider than a line goes on in the next one."""
    if columns_of(cell.text) <= width:
        return [cell.text]
    lines = [""]
    for piece in _pieces(cell.text, width):
        if lines[-1] and columns_of((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _pieces(text: str, width: int) -> Iterator[str]:
    """Parts that stay on one line, each with the marks and blanks that end it."""
    for piece in _PIECE.findall(text):
        while columns_of(piece.rstrip()) > width:
            most = next(n for n in range(len(piece), 0, -1) if columns_of(piece[:n]) <= width)
            yield piece[:most]
            piece = piece[most:]
        if piece:
            yield piece
