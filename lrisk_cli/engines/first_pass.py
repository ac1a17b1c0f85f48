"""The first pass over the files: what the encoding needs, and a uniform sample of the rows.

Means and deviations come from sums of blocks that are merged by Chan's formula; those of rows in
memory are summed in two passes, so that both agree up to rounding. Categories are counted. What
needs sorting is taken from the sample: the medians that fill in missing numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.design.choosing import DesignOptions, choose_columns
from lrisk_cli.design.columns.base import Learned, LearningRules, NumberCells, always_missing
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.columns.registry import NUMERIC_FEATURES
from lrisk_cli.design.doubts import note_written, refuse_doubtful
from lrisk_cli.design.encoding import Encoding, drop_reasons, find_missing, refuse_missing
from lrisk_cli.design.learning import (
    MOST_CLASSES,
    check_target_scale,
    decide_task,
    find_classes,
    note_constant,
)
from lrisk_cli.design.raw_rows import RowCounts, count_ragged, note_invalid
from lrisk_cli.design.target import ClassTarget, NumberTarget, Target
from lrisk_cli.engines.blocks import blocks
from lrisk_cli.engines.moments import Moments
from lrisk_cli.engines.sampling import RowSampler
from lrisk_cli.errors import DataError, opt
from lrisk_cli.names import Missing, Standardize, Task
from lrisk_cli.progress import Progress, Report
from lrisk_cli.tables.arrays import distinct
from lrisk_cli.tables.cells import InvalidCell, Texts, Values
from lrisk_cli.tables.fingerprint import Fingerprint
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.table import Batch, Column, Table
from lrisk_cli.types import Array, Flags

# Texts of a column that are remembered.
MOST_TEXTS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class FirstPass:
    """What was learned. sample: usable rows in a random order, as read; n_used: usable rows."""

    encoding: Encoding
    counts: RowCounts
    fingerprint: str
    notes: tuple[str, ...]
    sample: Batch

    @property
    def n_used(self) -> int:
        """The rows that the fit learns from."""
        return self.counts.used


def read_first(table: Table, options: DesignOptions, report: Report) -> FirstPass:
    """One pass over the files."""
    features, target = choose_columns(table, options)
    if target is None:
        raise TypeError("a fit has a target")
    seen, ragged = _Seen(table, features, target, options), RaggedRows()
    names = list(seen.names)
    table.refuse_nested(names)
    lenient = options.missing is not Missing.ERROR
    for batch in blocks(table, names, invalid_as_missing=lenient, ragged=ragged):
        seen.add(batch)
        report(Progress("read", batch.first_row + batch.n_rows, table.n_rows))
    return seen.finish(ragged)


class _Column:
    """A text column: its texts, and how many usable cells have each."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}
        self.counts = np.zeros(0, np.int64)
        self.missing = False

    def add(self, texts: Texts, used: Flags, place: str) -> None:
        """Count the cells of the rows that are used."""
        codes = np.array([self.known.setdefault(text, len(self.known)) for text in texts.values])
        if len(self.known) > MOST_TEXTS:
            raise DataError(f"{place}: more than {MOST_TEXTS} different texts; leave it out")
        known = used & (texts.codes >= 0)
        self.missing |= bool((used & (texts.codes < 0)).any())
        if len(self.known) > len(self.counts):
            self.counts = np.append(
                self.counts, np.zeros(len(self.known) - len(self.counts), np.int64)
            )
        if known.any():
            own = np.bincount(texts.codes[known], minlength=len(codes))
            np.add.at(self.counts, codes, own)


class _Seen:
    """What the first pass has seen so far."""

    def __init__(
        self, table: Table, features: Sequence[Column], target: Column, options: DesignOptions
    ) -> None:
        self.table, self.features, self.target, self.options = table, features, target, options
        self.names = (target.name, *(column.name for column in features))
        self._numbers = [column.name for column in (target, *features) if column.numeric]
        self._moments = {name: Moments() for name in self._numbers}
        self._texts = {c.name: _Column() for c in (target, *features) if not c.numeric}
        self._few: Array | None = np.zeros(0)
        self._first = 0.0
        self._fingerprint = Fingerprint()
        self._dropped: dict[str, int] = {}
        self._filled: dict[str, int] = {}
        self._invalid: dict[str, InvalidCell] = {}
        self._read = self._used = 0
        self._sampler = RowSampler(self.names, max(1, len(self._numbers)))

    def add(self, batch: Batch) -> None:
        """Take the next rows."""
        cells = [batch.columns[name] for name in self.names]
        missing = find_missing(cells, batch.n_rows)
        impute = self.options.missing is Missing.IMPUTE
        if self.options.missing is Missing.ERROR:
            refuse_missing(
                missing, self.names, batch.source, batch.source_row, target=self.names[0]
            )
        self._fingerprint.add(dict(batch.columns), batch.first_row)
        used = np.ones(batch.n_rows, np.bool_)
        for reason, rows in drop_reasons(missing[: 1 if impute else None], self.names).items():
            self._dropped[reason] = self._dropped.get(reason, 0) + int(np.count_nonzero(rows))
            used &= ~rows
        for name, rows in zip(self.names[1:], missing[1:], strict=True):
            if impute and (count := int(np.count_nonzero(rows & used))):
                self._filled[name] = self._filled.get(name, 0) + count
        self._take(batch, cells[0], used)
        self._read += batch.n_rows
        self._used += int(np.count_nonzero(used))
        self._sampler.add(batch, used)

    def _take(self, batch: Batch, target: Values, used: Flags) -> None:
        """Learn from the rows that are used."""
        for name in self._numbers:
            self._moments[name].add(np.asarray(batch.columns[name])[used])
        for name, column in self._texts.items():
            texts = batch.columns[name]
            assert isinstance(texts, Texts)  # noqa: S101  (a text column)
            column.add(texts, used, f"{self.table.label}, column '{name}'")
        if self.target.numeric and self._few is not None:
            own = distinct(np.asarray(target)[used])
            self._few = distinct(np.concatenate([self._few, own[: MOST_CLASSES + 1]]))
            if len(self._few) > MOST_CLASSES:
                self._few = None
        if not self._used and used.any() and self.target.numeric:
            self._first = float(np.asarray(target)[used][0])
        for name, cell in batch.invalid.items():
            first = self._invalid.get(name)
            self._invalid[name] = (
                cell if first is None else replace(first, count=first.count + cell.count)
            )

    def finish(self, ragged: RaggedRows) -> FirstPass:
        """Learn the encoding."""
        options, label = self.options, self.table.label
        counts = RowCounts(self._read, self._used, self._dropped, self._filled)
        _check_enough(label, counts)
        goal, notes = self._goal(f"{label}, column '{self.target.name}'")
        sample = self._sampler.sample()
        impute = options.missing is Missing.IMPUTE
        scaled = options.standardize is not Standardize.NONE and options.scale_features
        written = self.table.written(self.names)
        limits = replace(options, many_categories=False).category_limits(len(goal.classes))
        rules = LearningRules(impute, marked=True, scaled=scaled, categories=limits)
        learned = [self._learn(column, sample, rules) for column in self.features]
        oddities = [note for each in learned for note in each.notes]
        encoding = Encoding(
            tuple(each.feature for each in learned), options.intercept, goal, options.missing,
            options.unseen, written=written,
        )  # fmt: skip
        all_counts = count_ragged(counts, ragged)
        read_as = note_written(written, self.table.spelling)
        invalid = [note_invalid(name, cell) for name, cell in self._invalid.items()]
        return FirstPass(
            encoding, all_counts, self._fingerprint.digest(self._read),
            (*notes, *read_as, *self.table.notes, *invalid, *oddities, *note_constant(learned)),
            sample,
        )  # fmt: skip

    def _goal(self, place: str) -> tuple[Target, tuple[str, ...]]:
        """The target, and why it was taken for what it is."""
        name, options = self.target.name, self.options
        if options.task is not Task.CLASSIFICATION:
            refuse_doubtful(place, self.target)
        cells = self._representatives()
        task, notes = decide_task(place, name, cells, options.task)
        if task is Task.CLASSIFICATION:
            classes = find_classes(place, name, cells)
            return ClassTarget(name, classes), notes
        moments = self._moments[name]
        scale = moments.deviation
        check_target_scale(place, self._first, moments.mean, scale)
        if options.standardize is not Standardize.BOTH or not options.scale_target:
            return NumberTarget(name), notes
        return NumberTarget(name, moments.mean, scale), notes

    def _representatives(self) -> Array | Texts:
        """Cells of the target that tell as much about its task as all of them."""
        name = self.target.name
        if self.target.numeric:
            if self._few is not None:
                return self._few
            return np.arange(MOST_CLASSES + 2, dtype=np.float64)
        column = self._texts[name]
        codes = np.flatnonzero(column.counts).astype(np.int32)
        # As many cells for each text as tell a class from a remark.
        repeated = np.resize(codes, min(self._used, 6 * len(codes)))
        return Texts(repeated.astype(np.int32), list(column.known))

    def _learn(self, column: Column, sample: Batch, rules: LearningRules) -> Learned:
        name, label = column.name, self.table.label
        if not column.numeric:
            found = self._texts[name]
            return CategoryFeature.learn_counts(
                label, name, list(found.known), (found.counts, found.counts), rules,
                any_missing=found.missing,
            )  # fmt: skip
        moments = self._moments[name]
        feature = NUMERIC_FEATURES[column.kind]
        if moments.n == 0:
            raise always_missing(label, name)
        fill = None
        if rules.impute:
            cells = np.asarray(sample.columns[name])
            known = cells[~np.isnan(cells)]
            fill = feature.median(known) if len(known) else moments.mean
        mean, deviation = moments.filled(fill, self._used)
        known_cells = NumberCells(np.zeros(0), mean, deviation, fill, self._filled.get(name, 0))
        assert issubclass(feature, NumberFeature)  # noqa: S101  (parts of dates are not streamed)
        return feature.learn(label, name, known_cells, rules)


def _check_enough(label: str, counts: RowCounts) -> None:
    if counts.used < 2:
        raise DataError(
            f"{label}: {counts.used} of {counts.read} rows can be used; two are needed, so pass "
            f"{opt('missing', 'impute')} or {opt('exclude')} a column that is often missing"
        )
