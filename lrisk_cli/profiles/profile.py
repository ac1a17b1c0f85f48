"""Columns that stream by -> what is in them: missing cells, distinct values, ranges, ..."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.doubts import type_doubt
from lrisk_cli.errors import opt, quote
from lrisk_cli.profiles.distinct import DistinctCount, hash_numbers, hash_texts
from lrisk_cli.tables.cells import InvalidCell, Texts, shortest_text
from lrisk_cli.tables.exact import EXACT
from lrisk_cli.tables.row_lines import RowPlace
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.tables.table import Batch, Column
from lrisk_cli.types import Array

# Different values whose rows are counted one by one: more are identifiers, or measurements.
MOST_TEXTS, MOST_NUMBERS = 10_000, 100
SAMPLED_ROWS = 4096
# Rows from which examples are taken.
FIRST_ROWS = 1000
MOST_SHOWN, N_BINS = 5, 20
# Frequent values of a profile; results show the first of them.
MOST_FREQUENT = 50


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What was found in a column.

    distinct: how many values differ; exact: whether that is no estimate. smallest, largest, median
    (of a sample of SAMPLED_ROWS rows): of numbers, and of dates in days since 1970; None where
    there are none. frequent: values and their rows, most frequent first; none if too many differ.
    bins: counts of sampled numbers between the smallest and the largest, or of frequent texts.
    """

    name: str
    kind: str
    n_rows: int
    missing: int
    invalid: int
    distinct: int
    exact: bool
    smallest: float | None
    largest: float | None
    median: float | None
    frequent: tuple[tuple[str, int], ...]
    examples: tuple[str, ...]
    bins: tuple[int, ...]
    doubts: tuple[str, ...] = ()

    @property
    def n_known(self) -> int:
        """Cells with a value."""
        return self.n_rows - self.missing - self.invalid

    def share(self, n_rows: int) -> float:
        """A number of rows over that of all."""
        return n_rows / max(1, self.n_rows)


@dataclass(slots=True)
class ColumnTally:
    """Takes the cells of one column. places: of the first invalid cell."""

    column: Column
    n_rows: int = 0
    missing: int = 0
    invalid: int = 0
    first_invalid: tuple[InvalidCell, RowPlace] | None = None
    smallest: float = np.inf
    largest: float = -np.inf
    whole: bool = True
    distinct: DistinctCount = field(default_factory=DistinctCount)
    counts: dict[str | float, int] = field(default_factory=dict)
    crowded: bool = False
    examples: list[str | float] = field(default_factory=list)
    _texts: list[str] | None = None
    _rows: "NDArray[np.int64] | None" = None

    def add(self, cells: Array | Texts, invalid: InvalidCell | None, place: RowPlace) -> None:
        """Take a batch. place: of the invalid cell."""
        n_invalid = 0 if invalid is None else invalid.count
        if invalid is not None and self.first_invalid is None:
            self.first_invalid = invalid, place
        start = self.n_rows
        self.n_rows += len(cells)
        self.invalid += n_invalid
        if start < FIRST_ROWS and len(self.examples) < MOST_SHOWN:
            self._keep_examples(cells[slice(0, FIRST_ROWS - start)])
        if isinstance(cells, Texts):
            self._add_texts(cells)
            self.missing += int(np.count_nonzero(cells.codes < 0)) - n_invalid
        else:
            missing = np.isnan(cells)
            known = cells[~missing] if missing.any() else cells
            self.missing += len(cells) - len(known) - n_invalid
            if len(known):
                self._add_numbers(known)

    def _add_numbers(self, known: Array) -> None:
        self.smallest = min(self.smallest, float(known.min()))
        self.largest = max(self.largest, float(known.max()))
        self.whole = self.whole and bool(np.array_equal(known, np.rint(known)))
        self.distinct.add(hash_numbers(known))
        if not self.crowded:
            values, counts = np.unique(known, return_counts=True)
            self._count(values[: MOST_NUMBERS + 1].tolist(), counts.tolist(), MOST_NUMBERS)

    def _add_texts(self, cells: Texts) -> None:
        """Batches of one block share their texts, which are looked at once."""
        if cells.values is not self._texts:
            self.flush()
            self._texts, self._rows = cells.values, np.zeros(len(cells.values), np.int64)
        known = cells.codes[cells.codes >= 0]
        assert self._rows is not None  # noqa: S101
        self._rows += np.bincount(known, minlength=len(cells.values))

    def flush(self) -> None:
        """Count the texts of the last block."""
        if self._texts is None or self._rows is None:
            return
        met = np.flatnonzero(self._rows)
        texts = [self._texts[at] for at in met.tolist()]
        self.distinct.add(hash_texts(texts))
        self._count(texts, self._rows[met].tolist(), MOST_TEXTS)
        self._texts = self._rows = None

    def _count(self, values: Sequence[str | float], rows: Sequence[int], limit: int) -> None:
        """Add rows to the counts, which are given up beyond the limit."""
        if self.crowded:
            return
        for value, n_rows in zip(values, rows, strict=False):
            self.counts[value] = self.counts.get(value, 0) + n_rows
        self.crowded = len(self.counts) > limit
        if self.crowded:
            self.counts.clear()

    def _keep_examples(self, cells: "Array | Texts") -> None:
        """Keep the first values that differ."""
        if isinstance(cells, Texts):
            values: list[Any] = [cells.values[at] for at in cells.codes.tolist() if at >= 0]
        else:
            values = cells[~np.isnan(cells)].tolist()
        for value in values:
            if len(self.examples) < MOST_SHOWN and value not in self.examples:
                self.examples.append(value)


class TableTally:
    """Takes the batches of a table, and profiles its columns."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.tallies = {column.name: ColumnTally(column) for column in columns}
        self._numeric = [column.name for column in columns if column.numeric]
        self._sample = RowSample(SAMPLED_ROWS)

    def add(self, batch: Batch, places: Mapping[str, RowPlace]) -> None:
        """Take a batch. places: of its invalid cells, by column."""
        for name, tally in self.tallies.items():
            place = places.get(name, RowPlace(batch.first_row))
            cells: Any = batch.columns[name]
            tally.add(cells, batch.invalid.get(name), place)
        if self._numeric:
            rows = np.arange(batch.first_row, batch.first_row + batch.n_rows)
            numbers: list[Any] = [batch.columns[name] for name in self._numeric]
            self._sample.add(rows, *numbers)

    def finish(self) -> tuple[ColumnProfile, ...]:
        """A profile of each column."""
        samples = (
            dict(zip(self._numeric, self._sample.columns, strict=True)) if self._numeric else {}
        )
        return tuple(_finish(tally, samples.get(name)) for name, tally in self.tallies.items())


def _finish(tally: ColumnTally, sample: Array | None) -> ColumnProfile:
    tally.flush()
    column, n_known = tally.column, tally.n_rows - tally.missing - tally.invalid
    ordered = sorted(tally.counts.items(), key=lambda pair: (-pair[1], str(pair[0])))
    numeric = column.numeric and n_known > 0
    sampled = np.empty(0) if sample is None else np.sort(sample[~np.isnan(sample)])
    bins: tuple[int, ...] = ()
    if numeric and tally.largest > tally.smallest:
        # By a quarter, so that the width of no range overflows.
        ends = (tally.smallest / 4.0, tally.largest / 4.0)
        bins = tuple(np.histogram(sampled / 4.0, N_BINS, ends)[0].tolist())
    elif not column.numeric:
        bins = tuple(count for _, count in ordered[:N_BINS])
    profile = ColumnProfile(
        column.name,
        column.kind,
        tally.n_rows,
        tally.missing,
        tally.invalid,
        tally.distinct.count,
        tally.distinct.exact,
        tally.smallest if numeric else None,
        tally.largest if numeric else None,
        float(np.median(sampled)) if len(sampled) else None,
        tuple((spell(column.kind, value), count) for value, count in ordered[:MOST_FREQUENT]),
        tuple(spell(column.kind, value) for value in tally.examples),
        bins,
    )
    return replace(profile, doubts=tuple(_doubts(tally, profile, sampled)))


def spell(kind: str, value: str | float) -> str:
    """A value as results show it: dates as dates, numbers as short as they read back."""
    if isinstance(value, str):
        return value
    if kind == "date":
        return spell_day(value)
    return shortest_text([value])[0]


def spell_day(days: float) -> str:
    """A number of days since 1970 as a date, with the time if it has one."""
    if not abs(days) < 3e6:
        return f"day {days:g}"
    moment = np.datetime64(round(days * 86_400), "s")
    text = str(moment)
    return text.removesuffix("T00:00:00").replace("T", " ")


def _doubts(tally: ColumnTally, found: ColumnProfile, sampled: Array) -> "list[str]":
    """All that may be wrong with how a column was read, or with what is in it."""
    column, n_known = tally.column, found.n_known
    doubts = [text] if (text := type_doubt(column)) else []
    if tally.first_invalid is not None:
        cell, place = tally.first_invalid
        cells = "1 cell is" if found.invalid == 1 else f"{found.invalid} cells are"
        doubts.append(f"{cells} no {cell.wanted}, the first {quote(cell.text)} in {place}")
    if n_known == 0:
        return [*doubts, "no cell has a value"]
    if found.missing > n_known:
        doubts.append(f"{found.share(found.missing):.0%} of the cells are missing")
    if found.distinct == 1 and found.n_rows > 1:
        doubts.append("one value in every cell: it has no effect")
    elif found.frequent and found.frequent[0][1] > 0.99 * n_known and n_known >= 200:
        value, count = found.frequent[0]
        doubts.append(f"nearly constant: {quote(value)} in {count} of {n_known} cells")
    if column.kind == "category":
        return doubts + _text_doubts(tally, found)
    return doubts + _number_doubts(tally, found, sampled)


def _text_doubts(tally: ColumnTally, found: ColumnProfile) -> "list[str]":
    doubts = []
    if found.n_known >= 20 and found.distinct >= 0.95 * found.n_known:
        how = "all" if found.exact and found.distinct == found.n_known else "nearly all"
        doubts.append(f"{how} texts differ: it may be an identifier, or free text")
    groups: dict[str, list[str]] = {}
    for value in tally.counts:
        groups.setdefault(" ".join(str(value).split()).casefold(), []).append(str(value))
    alike = [sorted(each) for each in groups.values() if len(each) > 1]
    for texts in alike[:MOST_SHOWN]:
        named = ", ".join(f"{quote(text)} ({tally.counts[text]})" for text in texts[:3])
        doubts.append(f"spellings that differ in capitals or spaces only: {named}")
    if len(alike) > MOST_SHOWN:
        doubts.append(f"{len(alike) - MOST_SHOWN} more such spellings")
    return doubts


# Numbers that people write for a value that they do not have.
_PLACEHOLDERS = {float(f"{sign}{'9' * n}") for sign in ("", "-") for n in (2, 3, 4, 5, 6)}


def _number_doubts(tally: ColumnTally, found: ColumnProfile, sampled: Array) -> "list[str]":
    """sampled: numbers of some rows, ascending."""
    doubts, column = [], tally.column
    largest = max(abs(tally.smallest), abs(tally.largest))
    if found.kind == "number" and tally.whole and largest >= EXACT:
        remedy = f"pass {opt('dtype', f'{column.name}=category')} to keep them"
        doubts.append(f"whole numbers beyond 2^53 lose digits; {remedy}")
    for value in (tally.smallest, tally.largest):
        others = sampled[sampled != value]
        n_such = len(sampled) - len(others)
        apart = len(others) and abs(value) > 2.0 * float(np.max(np.abs(others)))
        if value in _PLACEHOLDERS and apart and n_such > 1:
            share = n_such / len(sampled)
            doubts.append(
                f"{spell(found.kind, value)} in {share:.2g} of the cells may stand for a missing "
                f"value; if so, pass {opt('na_values', spell('number', value))}"
            )
    return doubts
