"""Two readings of a file -> how they differ, and which convention explains each difference."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from outside.conventions import SAME, explain_cell, explain_name, is_nameless
from outside.readings import Cell, Nested, ReadColumn, Reading

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Comparison:
    """What one program read, beside lrisk.

    verdict: same, conventions (all differences are explained), different, or refused.
    conventions: how many cells or names each of them explains. findings: the first differences
    that nothing explains, in words; n_findings: how many there are.
    """

    verdict: str
    conventions: Mapping[str, int] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    n_findings: int = 0
    refusal: str = ""

    def as_document(self) -> dict[str, Any]:
        """For the JSON report, without what is empty."""
        return {key: value for key, value in asdict(self).items() if value}


def compare(ours: Reading, theirs: Reading) -> Comparison:
    """lrisk read columns; the other program may have refused the file."""
    if theirs.columns is None:
        return Comparison("refused", refusal=theirs.refusal)
    assert ours.columns is not None
    found = _Found()
    columns = list(enumerate(theirs.columns, 1))
    with_names = [
        (at, each) for at, each in columns if _known(each) or not is_nameless(at, each.name)
    ]
    if len(ours.columns) == len(with_names) < len(columns):
        found.add("nameless-empty", "")
        columns = with_names
    if len(ours.columns) != len(columns):
        found.add(None, f"{len(ours.columns)} columns, {len(columns)} there")
    else:
        for one, (at, other) in zip(ours.columns, columns, strict=True):
            explained = explain_name(at, one.name, other.name)
            found.add(explained, f"column {at} is named {one.name!r}, {other.name!r} there")
        _compare_rows(ours, replace(theirs, columns=[each for _, each in columns]), found)
    verdict = "different" if found.n else ("conventions" if found.conventions else "same")
    return Comparison(verdict, dict(found.conventions), tuple(found.sentences), found.n)


def _compare_rows(ours: Reading, theirs: Reading, found: "_Found") -> None:
    assert ours.columns is not None
    assert theirs.columns is not None
    if ours.n_rows != theirs.n_rows:
        blank = len(ours.columns) == 1 and _known(ours.columns[0]) == _known(theirs.columns[0])
        explained = "blank-line" if blank or _only_blank(ours, theirs) else None
        found.add(explained, f"{ours.n_rows} rows, {theirs.n_rows} there")
        return
    for one, other in zip(ours.columns, theirs.columns, strict=True):
        for row, (mine, its) in enumerate(zip(one.cells, other.cells, strict=True)):
            explained = explain_cell(one.kind, mine, its, one)
            if explained != SAME:
                place = f"column {one.name!r}, row {row}"
                found.add(explained, f"{place}: {mine!r}, {its!r} there")


def _known(column: ReadColumn) -> int:
    return sum(cell is not None and str(cell).strip() != "" for cell in column.cells)


def _only_blank(ours: Reading, theirs: Reading) -> bool:
    """Whether the rows that one has more than the other are empty."""
    return _full_rows(ours) == _full_rows(theirs)


def _full_rows(reading: Reading) -> int:
    assert reading.columns is not None
    rows = zip(*(column.cells for column in reading.columns), strict=True)
    return sum(any(cell is not None and str(cell).strip() for cell in row) for row in rows)


class _Found:
    """Differences, counted by the convention that explains them."""

    def __init__(self) -> None:
        self.conventions: Counter[str] = Counter()
        self.sentences: list[str] = []
        self.n = 0

    def add(self, explained: str | None, sentence: str) -> None:
        """explained: SAME, a convention, or None for a finding."""
        if explained == SAME:
            return
        if explained is not None:
            self.conventions[explained] += 1
            return
        self.n += 1
        if len(self.sentences) < SHOWN:
            self.sentences.append(sentence[:300])


def compare_cells(expected: list[Cell], column: ReadColumn) -> str | None:
    """The first difference of a column from exactly these cells, in words; None where it is none.

    Numbers are compared as doubles, dates as days rounded once, and nothing is a convention.
    """
    if len(expected) != len(column.cells):
        return f"{len(column.cells)} rows, expected {len(expected)}"
    for row, (cell, read) in enumerate(zip(expected, column.cells, strict=True)):
        if isinstance(cell, Nested) and column.kind == "nested":
            continue
        if isinstance(cell, str) != isinstance(read, str) or (
            explain_cell(column.kind, read, cell, column) != SAME
        ):
            return f"column {column.name!r} ({column.kind}), row {row}: {read!r}, expected {cell!r}"
    return None
