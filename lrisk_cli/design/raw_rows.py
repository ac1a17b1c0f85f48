"""Read the chosen columns of a table into memory once, as raw numbers and codes, without copies."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.collected import Coded, NumberMatrix, block_rows
from lrisk_cli.design.dividers import Divider
from lrisk_cli.design.encoding import find_missing, refuse_missing
from lrisk_cli.design.exposure import check_exposure
from lrisk_cli.design.weights import WeightCells, positive
from lrisk_cli.errors import opt, quote
from lrisk_cli.names import Missing
from lrisk_cli.progress import Progress, Report
from lrisk_cli.tables.arrays import Buffer, arrow_of
from lrisk_cli.tables.cells import InvalidCell, Texts
from lrisk_cli.tables.fingerprint import Fingerprint
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.row_lines import RowLines
from lrisk_cli.tables.table import Batch, Column, Table, join_arrays
from lrisk_cli.types import Array, Flags

RowNumbers = npt.NDArray[np.int64]

RAGGED = "ragged"  # the reason for which the reader skipped rows


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows read, rows used, rows dropped by reason, and cells filled in by column.

    padded: rows of text that got or lost fields, so that they have those of the header. ragged:
    places of the first rows that were padded, or dropped for their fields. learned: usable rows
    that were left out since a model learned from them.
    """

    read: int
    used: int
    dropped: dict[str, int] = field(default_factory=dict)
    filled: dict[str, int] = field(default_factory=dict)
    padded: int = 0
    ragged: tuple[str, ...] = ()
    learned: int = 0


def count_ragged(counts: RowCounts, rows: RaggedRows) -> RowCounts:
    """The counts of rows in batches, and with them the rows that the reader skipped or padded."""
    return replace(
        counts,
        read=counts.read + rows.skipped,
        dropped=({RAGGED: rows.skipped} if rows.skipped else {}) | counts.dropped,
        padded=rows.padded,
        ragged=tuple(rows.named),
    )


@dataclass(frozen=True, slots=True)
class RawRows:
    """Rows before encoding.

    buffer: n_rows x n_numbers raw numbers, NaN for missing; texts: one for each category feature;
    target: None where there is none; rows: their numbers in the table; exposure, divider, weights:
    as target. divider: the column by which rows are divided into folds. weights: as the table has
    them, all greater than 0.
    """

    buffer: Buffer
    n_numbers: int
    texts: list[Texts]
    target: Array | Texts | None
    rows: RowNumbers
    ids: Any
    exposure: Array | None = None
    divider: Array | Texts | None = None
    weights: Array | None = None

    @property
    def numbers(self) -> Array:
        """The numbers as a matrix over the same memory. (n_rows, n_numbers)."""
        return self.buffer.view().reshape(len(self.rows), self.n_numbers)


@dataclass(frozen=True, slots=True)
class UsableRows:
    """All usable rows of a table, and notes on how it was read. lines: of all rows of text."""

    rows: RawRows
    counts: RowCounts
    fingerprint: str
    notes: tuple[str, ...]
    lines: RowLines = field(default_factory=RowLines)


def read_usable_rows(
    table: Table,
    features: Sequence[Column],
    target: Column | None,
    id_column: str | None,
    missing: Missing,
    report: Report,
    *,
    exposure: str | None = None,
    divider: Column | None = None,
    weight: str | None = None,
) -> UsableRows:
    """Read the table once. Rows with missing cells are refused, dropped or kept, by `missing`.

    exposure: a column of numbers greater than 0, which none may lack; nor a cell of `divider`.
    weight: a column of numbers of at least 0; rows of weight 0 are left out, whatever they hold.
    """
    n_numbers = sum(feature.numeric for feature in features)
    table.allowance.check(table.label, table.n_rows or 0, n_numbers)
    collector = _RowCollector(
        features, target, missing, table.n_rows or 0, exposure, divider, weight
    )
    names = [column.name for column in (*features, target, divider) if column is not None]
    names = list(dict.fromkeys([*names, *([] if exposure is None else [exposure])]))
    groups, ragged = table.column_groups(names), RaggedRows()
    beside = [] if weight is None else [weight]
    for number, group in enumerate(groups, 1):
        keep = [id_column] if id_column is not None and number == len(groups) else []
        n_read = 0
        for batch in table.batches(
            list(dict.fromkeys([*group, *beside])),
            invalid_as_missing=missing is not Missing.ERROR, keep=keep, ragged=ragged,
        ):  # fmt: skip
            collector.add(batch, group, begin=number == 1)
            collector.take_ids(list(batch.kept.values()))
            n_read += batch.n_rows
            table.allowance.check(table.label, n_read, n_numbers, collector.text_bytes)
            done = n_read if table.n_rows is None else (number - 1) * table.n_rows + n_read
            report(Progress("read", done / len(groups), table.n_rows))
    usable = collector.finish(n_read, table.label)
    return replace(
        usable,
        counts=count_ragged(usable.counts, ragged),
        notes=(*table.notes, *usable.notes),
        lines=ragged.lines,
    )


def split_rows(raw: RawRows, held_out: Flags) -> tuple[RawRows, RawRows]:
    """The rows to learn from, compacted in the memory of `raw`, and a copy of those held out."""
    test = copy_rows(raw, np.flatnonzero(held_out))
    return keep_rows(raw, np.flatnonzero(~held_out)), test


def copy_rows(raw: RawRows, rows: npt.NDArray[np.intp]) -> RawRows:
    """Some of the rows, in memory of their own."""
    copied = _pick(raw, rows, Buffer(len(rows) * raw.n_numbers))
    np.take(raw.numbers, rows, axis=0, out=copied.numbers)
    return copied


def keep_rows(raw: RawRows, kept: npt.NDArray[np.intp]) -> RawRows:
    """Some of the rows, in order, within the same memory; `raw` is used up."""
    numbers = raw.numbers
    step = block_rows(raw.n_numbers)
    for start in range(0, len(kept), step):
        block = kept[start : start + step]
        numbers[start : start + len(block)] = numbers[block]
    del numbers
    raw.buffer.resize(len(kept) * raw.n_numbers)
    picked = _pick(raw, kept, raw.buffer)
    raw.texts.clear()
    return picked


def _pick(raw: RawRows, rows: npt.NDArray[np.intp], buffer: Buffer) -> RawRows:
    return RawRows(
        buffer,
        raw.n_numbers,
        [texts[rows] for texts in raw.texts],
        None if raw.target is None else raw.target[rows],
        raw.rows[rows],
        None if raw.ids is None else raw.ids.take(arrow_of(rows)),
        None if raw.exposure is None else raw.exposure[rows],
        None if raw.divider is None else raw.divider[rows],
        None if raw.weights is None else raw.weights[rows],
    )


def count_missing(numbers: Array) -> npt.NDArray[np.int64]:
    """How many numbers of each column are NaN. numbers: (n, p); (p,)."""
    counts = np.zeros(numbers.shape[1], np.int64)
    step = block_rows(numbers.shape[1])
    for start in range(0, len(numbers), step):
        counts += np.count_nonzero(np.isnan(numbers[start : start + step]), axis=0)
    return counts


def as_read_bytes(column: Any) -> int:
    """What a column takes that is kept as the file has it: twice while its parts are joined."""
    return 2 * int(column.nbytes)


def note_invalid(name: str, cell: InvalidCell) -> str:
    """What a user should know about invalid cells that count as missing."""
    such = f"(such as {quote(cell.text)}), taken as missing"
    if not cell.retype:
        return f"column '{name}': {cell.count} cells are no valid dates or times {such}"
    return (
        f"column '{name}': {cell.count} cells are not numbers {such}; if they mean something, pass "
        f"{opt('dtype', f'{name}=category')}"
    )


class _RowCollector:
    """Collects batches of some or all columns; the buffer grows in place, so nothing is copied."""

    def __init__(
        self,
        features: Sequence[Column],
        target: Column | None,
        missing: Missing,
        n_rows: int,
        exposure: str | None = None,
        divider: Column | None = None,
        weight: str | None = None,
    ) -> None:
        self._ids: list[Any] = []
        self._id_bytes = 0
        self._target = None if target is None else target.name
        self._names = tuple(column.name for column in (target, *features) if column is not None)
        self._learned = {*self._names, exposure}
        self._missing = missing
        numeric = [feature.name for feature in features if feature.numeric]
        self._places = {name: place for place, name in enumerate(numeric)}
        self._texts = {feature.name: Coded() for feature in features if not feature.numeric}
        self._numbers = NumberMatrix(n_rows, len(numeric))
        numbered = target is not None and target.numeric
        self._target_numbers = NumberMatrix(n_rows if numbered else 0, 1)
        self._target_texts = Coded()
        self._exposure = exposure
        self._exposures: list[Array] = []
        self._weights = WeightCells(weight)
        self._divider = Divider(divider)
        # For each row how early its first missing column comes, counted from behind; 0: none.
        self._blame = np.zeros(0, np.int32)
        self._invalid: dict[str, InvalidCell] = {}
        self._fingerprint = Fingerprint()

    @property
    def text_bytes(self) -> int:
        """About what the texts take, and what names the rows."""
        texts = (*self._texts.values(), self._target_texts)
        return self._id_bytes + sum(each.n_bytes for each in texts)

    def take_ids(self, columns: Sequence[Any]) -> None:
        """Keep what names the next rows."""
        self._ids += columns
        self._id_bytes += sum(map(as_read_bytes, columns))

    def add(self, batch: Batch, names: Sequence[str], *, begin: bool) -> None:
        """Take in the next rows of the columns `names`. begin: these rows are read at first."""
        self._divider.add(batch, names)
        # What only divides the rows is no part of what is learned.
        columns: dict[str, Any] = {
            name: batch.columns[name] for name in names if name in self._learned
        }
        weights = self._weights.add(batch, first=begin)
        beside = self._weights.beside(self._names) if begin else {}
        has_missing = self._fingerprint.add(columns | beside, batch.first_row)
        if self._exposure in columns:
            self._take_exposures(columns, batch, weights)
        if has_missing:
            self._note_missing(columns, batch, weights)
        for name, cell in batch.invalid.items():
            first = self._invalid.get(name)
            self._invalid[name] = (
                cell if first is None else replace(first, count=first.count + cell.count)
            )
        numeric = [name for name in columns if name in self._places]
        if numeric:
            # Groups keep the order of the features, so their numbers lie side by side.
            place = self._places[numeric[0]]
            self._numbers.put([columns[name] for name in numeric], batch.first_row, place)
        for name in columns:
            if name in self._texts:
                self._texts[name].add(columns[name])
        target = None if self._target is None else columns.get(self._target)
        if isinstance(target, Texts):
            self._target_texts.add(target)
        elif target is not None:
            self._target_numbers.put([target], batch.first_row, 0)

    def finish(self, n_read: int, label: str) -> UsableRows:
        """Drop the rows to be dropped and let go of what is no longer needed."""
        buffer = self._numbers.buffer
        buffer.resize(n_read * len(self._places))
        raw = RawRows(
            buffer,
            len(self._places),
            [coded.finish() for coded in self._texts.values()],
            self._finish_target(n_read),
            np.arange(n_read),
            join_arrays(self._ids) if self._ids else None,
            np.concatenate(self._exposures) if self._exposures else None,
            self._divider.finish(),
            self._weights.finish(label),
        )
        counts = np.bincount(self._blame, minlength=len(self._names) + 1)[:0:-1]
        dropped = {
            f"missing {name}": int(count)
            for name, count in zip(self._names, counts, strict=True)
            if count
        }
        dropped |= self._weights.dropped
        if dropped:
            self._blame.resize(n_read, refcheck=False)
            kept = self._blame == 0
            kept &= True if raw.weights is None else positive(raw.weights)
            raw = keep_rows(raw, np.flatnonzero(kept))
        notes = tuple(note_invalid(name, cell) for name, cell in self._invalid.items())
        row_counts = RowCounts(n_read, len(raw.rows), dropped, self._count_filled(raw))
        return UsableRows(raw, row_counts, self._fingerprint.digest(n_read), notes)

    def _take_exposures(self, columns: dict[str, Any], batch: Batch, weights: Array | None) -> None:
        """Keep the exposures; unless they are a feature too, the other columns are left."""
        name = str(self._exposure)
        exposures = columns[name] if name in self._names else columns.pop(name)
        needed = exposures if weights is None else np.where(positive(weights), exposures, 1.0)
        check_exposure(needed, name, batch.source, batch.source_row)
        self._exposures.append(np.array(exposures))

    def _count_filled(self, raw: RawRows) -> dict[str, int]:
        """The missing cells that are left, which an encoding will fill in."""
        if not len(self._blame):
            return {}
        counts = dict.fromkeys(name for name in self._names if name != self._target)
        numbers = dict(zip(self._places, count_missing(raw.numbers).tolist(), strict=True))
        texts = {
            name: int(np.count_nonzero(texts.codes < 0))
            for name, texts in zip(self._texts, raw.texts, strict=True)
        }
        found = numbers | texts
        return {name: found[name] for name in counts if found[name]}

    def _finish_target(self, n_read: int) -> Array | Texts | None:
        if self._target is None:
            return None
        numbers = self._target_numbers.buffer
        return numbers.view()[:n_read] if numbers.size else self._target_texts.finish()

    def _note_missing(self, columns: dict[str, Any], batch: Batch, weights: Array | None) -> None:
        """Refuse missing cells of rows that count, or blame the rows that have to go for them."""
        missing_cells = find_missing(list(columns.values()), batch.n_rows)
        if weights is not None:
            missing_cells &= positive(weights)
        if self._missing is Missing.ERROR:
            refuse_missing(
                missing_cells, list(columns), batch.source, batch.source_row, target=self._target
            )
        stop = batch.first_row + batch.n_rows
        if stop > len(self._blame):
            self._blame.resize(max(stop, len(self._blame) * 3 // 2), refcheck=False)
        blame = self._blame[batch.first_row : stop]
        for name, missing in zip(columns, missing_cells, strict=True):
            if self._missing is Missing.DROP or name == self._target:
                earliness = len(self._names) - self._names.index(name)
                np.maximum(blame, np.int32(earliness) * missing, out=blame)
