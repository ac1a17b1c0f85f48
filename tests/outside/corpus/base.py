"""A small table that most files of the corpus hold, and ways to write it as text."""

import csv
import io
from collections.abc import Sequence
from typing import Any

N_ROWS = 12
HEADER = ["x", "name", "y"]
ROWS = [
    [f"{at * 0.5 - 2:g}", ("ann", "bob", "cy")[at % 3], f"{at * at - 3.5:g}"]
    for at in range(N_ROWS)
]
NAMES = [row[1] for row in ROWS]
NUMBERS = [float(row[2]) for row in ROWS]
BASE: dict[str, list[Any]] = {"x": [float(row[0]) for row in ROWS], "name": NAMES, "y": NUMBERS}
QUOTED, QUOTED_TEXTS, BARE = csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_MINIMAL


def write_text(
    rows: Sequence[Sequence[str]], delimiter: str = ",", newline: str = "\n", quoting: int = BARE
) -> str:
    """Rows as delimited text; QUOTED_TEXTS leaves numbers bare."""
    if quoting == QUOTED_TEXTS:
        rows = [[_number_or_text(cell) for cell in row] for row in rows]
    file = io.StringIO()
    csv.writer(file, delimiter=delimiter, lineterminator=newline, quoting=quoting).writerows(rows)
    return file.getvalue()


def _number_or_text(cell: str) -> Any:
    try:
        number = float(cell)
    except ValueError:
        return cell
    return int(number) if number == int(number) else number


def base_text(delimiter: str = ",", newline: str = "\n", quoting: int = BARE) -> str:
    """The table as text."""
    return write_text([HEADER, *ROWS], delimiter, newline, quoting)


def with_column(cells: Sequence[str], name: str = "z") -> str:
    """The table with one more column, first, of these cells as they are written."""
    cells = [cells[at % len(cells)] for at in range(N_ROWS)]
    lines = [f"{cell},{','.join(row)}" for cell, row in zip(cells, ROWS, strict=True)]
    return "\n".join([f"{name},{','.join(HEADER)}", *lines, ""])


def base_with(cells: Sequence[Any], name: str = "z") -> dict[str, list[Any]]:
    """What is read from with_column when these are the values of the cells."""
    return {name: [cells[at % len(cells)] for at in range(N_ROWS)], **BASE}
