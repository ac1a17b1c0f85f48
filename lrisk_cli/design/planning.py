"""What a fit would read and how much memory it would take, found by a pass that keeps no row."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lrisk_cli.design.choosing import DesignOptions, choose_columns
from lrisk_cli.design.columns.base import CategoryLimits, always_missing
from lrisk_cli.design.columns.registry import FEATURES
from lrisk_cli.design.encoding import find_missing, refuse_missing
from lrisk_cli.design.exposure import check_exposure
from lrisk_cli.design.raw_rows import RowCounts, as_read_bytes, count_ragged
from lrisk_cli.design.weights import NO_WEIGHT, WeightCells, positive
from lrisk_cli.names import Missing, Task
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.rows.layout import Layout, make_layout
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.memory import NUMBER_BYTES
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.table import Batch, Column, Table
from lrisk_cli.types import Flags

# Measured: what the program takes before it reads, and more of it with a kernel; what a fit takes
# for each row, and for each row and class; and how often it holds the kernel of all rows.
BASE_BYTES = 100 << 20
KERNEL_BASE_BYTES = 16 << 20
FLAT_ROW_BYTES = 85
ROW_BYTES = 122
CLASS_BYTES = 68
EXACT_COPIES = 6.2
MOST_CLASSES = 1000


@dataclass(frozen=True, slots=True)
class PlannedFeature:
    """A column to learn from. n_columns: how many it takes of the design."""

    name: str
    kind: str
    n_columns: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be read, and the shape of the design; all of it exact but the peak."""

    files: tuple[str, ...]
    target: str
    features: tuple[PlannedFeature, ...]
    counts: RowCounts
    n_columns: int
    design_bytes: int
    peak_bytes: int
    notes: tuple[str, ...] = ()


def plan_design(
    table: Table,
    options: DesignOptions,
    *,
    flat: bool,
    values: Callable[[int], int] | None = None,
    report: Report = silent,
) -> Plan:
    """Read the table once, as a fit would, and refuse what a fit would refuse.

    flat: all risks are the mean, whose fit is one weighted one. The peak is base + design +
    85 n bytes for it; others work on up to half of the rows besides: base + 1.5 design + 122 n.
    values: rows -> how many values a kernel makes of each; they take the place of the design in
    this formula. Classes beyond two take 68 bytes a row each.
    """
    columns, target = choose_columns(table, options)
    if target is None:
        raise TypeError("a plan is for a fit, which has a target")
    names = [target.name, *(column.name for column in columns)]
    exposure = options.exposure
    names += [] if exposure is None or exposure in names else [exposure]
    weight = options.weighting.column
    names += [] if weight is None or weight in names else [weight]
    named = [] if options.id_column is None else [options.id_column]
    table.refuse_nested(names, named)
    survey = _Survey(columns, target, options.missing)
    strict, n_id_bytes, ragged = options.missing is Missing.ERROR, 0, RaggedRows()
    weights = WeightCells(weight)
    for batch in table.batches(names, invalid_as_missing=not strict, keep=named, ragged=ragged):
        of_rows = weights.add(batch, first=True)
        counted = None if of_rows is None else positive(of_rows)
        survey.add(batch, counted)
        if exposure is not None:
            cells = np.asarray(batch.columns[exposure], dtype=np.float64)
            cells = cells if counted is None else np.where(counted, cells, 1.0)
            check_exposure(cells, exposure, batch.source, batch.source_row)
        n_id_bytes += sum(map(as_read_bytes, batch.kept.values()))
        report(Progress("read", batch.first_row + batch.n_rows, table.n_rows))
    weights.finish(table.label)
    survey.refuse_empty(table.label)
    n_classes = survey.n_classes(options.task)
    limits = options.category_limits(n_classes)
    features, layout = survey.features(limits), survey.layout(limits, intercept=options.intercept)
    n_columns, row_bytes = layout.n_columns, layout.row_bytes
    counts = count_ragged(survey.counts(), ragged)
    table.allowance.check(table.label, counts.used, n_columns, row_bytes=row_bytes)
    n_rows = counts.used
    n_values = values and values(n_rows)
    if n_values is not None:
        mapped = kernel_bytes(n_rows, n_values, flat=flat)
        table.allowance.check_features(table.label, n_rows, n_columns, mapped, row_bytes=row_bytes)
    design = n_rows * row_bytes
    peak = _base_bytes(n_rows, design, flat=flat, n_values=n_values)
    peak += n_id_bytes + n_rows * CLASS_BYTES * (n_classes if n_classes > 2 else 0)
    return Plan(table.paths, target.name, features, counts, n_columns, design, peak, table.notes)


def _base_bytes(n_rows: int, design: int, *, flat: bool, n_values: int | None) -> int:
    """The peak of a fit of numbers. design: bytes; n_values: that a kernel makes of each row."""
    rows = n_rows * (FLAT_ROW_BYTES if flat else ROW_BYTES)
    if n_values is None:
        return BASE_BYTES + rows + design + (0 if flat else design // 2)
    mapped = kernel_bytes(n_rows, n_values, flat=flat)
    return BASE_BYTES + KERNEL_BASE_BYTES + rows + design + mapped


def kernel_bytes(n_rows: int, n_values: int, *, flat: bool) -> int:
    """What the values that a kernel makes of the rows take in a fit; they are used in part again.

    flat: the risk is the mean. With a landmark for each row the kernel itself is held too.
    """
    copies = EXACT_COPIES if n_values == n_rows else 1.0 if flat else 1.5
    return int(copies * n_rows * (n_values + 1) * NUMBER_BYTES)


class _Survey:
    """Counts rows, missing cells and categories, batch by batch."""

    def __init__(self, columns: Sequence[Column], target: Column, missing: Missing) -> None:
        self._columns = columns
        self._classes: set[object] = set()
        self._numbered = target.numeric
        self._names = (target.name, *(column.name for column in columns))
        self._missing = missing
        self._read = self._used = 0
        self._dropped: dict[str, int] = {}
        self._filled: dict[str, int] = {}
        self._surveys = {c.name: FEATURES[c.kind].survey() for c in columns}
        self._known = dict.fromkeys(self._names, 0)

    def add(self, batch: Batch, counted: Flags | None = None) -> None:
        """Take the next rows. counted: those of weight greater than 0, where rows have weights."""
        cells = [batch.columns[name] for name in self._names]
        missing_cells = find_missing(cells, batch.n_rows)
        lost = np.zeros(batch.n_rows, bool)
        if counted is not None:
            lost = ~counted
            missing_cells &= counted
            _count(self._dropped, NO_WEIGHT, int(np.count_nonzero(lost)))
        if self._missing is Missing.ERROR:
            refuse_missing(
                missing_cells, self._names, batch.source, batch.source_row, target=self._names[0]
            )
        for name, missing in zip(self._names, missing_cells, strict=True):
            if self._missing is Missing.DROP or name == self._names[0]:
                _count(self._dropped, f"missing {name}", int(np.count_nonzero(missing & ~lost)))
                lost |= missing
            else:
                _count(self._filled, name, int(np.count_nonzero(missing & ~lost)))
            self._known[name] += int(np.count_nonzero(~missing & ~lost))
        self._add_classes(cells[0], lost)
        self._read += batch.n_rows
        self._used += int(np.count_nonzero(~lost))
        for name, survey in self._surveys.items():
            survey.add(batch.columns[name], ~lost)

    def _add_classes(self, target: object, lost: Flags) -> None:
        """Take the classes of the rows that are kept; a target of many numbers has none."""
        if isinstance(target, Texts):
            codes = np.unique(target.codes[(target.codes >= 0) & ~lost])
            self._classes.update(target.values[code] for code in codes)
        elif len(self._classes) <= MOST_CLASSES:
            self._classes.update(np.unique(np.asarray(target)[~lost]).tolist())

    def n_classes(self, task: Task) -> int:
        """How many there are; 0 where a number is to be learned."""
        numbers = self._numbered if task is Task.AUTO else task is Task.REGRESSION
        return 0 if numbers else len(self._classes)

    def counts(self) -> RowCounts:
        """What became of the rows."""
        return RowCounts(self._read, self._used, self._dropped, self._filled)

    def refuse_empty(self, label: str) -> None:
        """DataError that names the first column without a value, of which nothing is learned."""
        for name, n_known in self._known.items():
            if self._used and not n_known and name != self._names[0]:
                raise always_missing(label, name)

    def features(self, limits: CategoryLimits) -> tuple[PlannedFeature, ...]:
        """The columns of the design that each feature takes."""
        return tuple(self._feature(column, limits) for column in self._columns)

    def layout(self, limits: CategoryLimits, *, intercept: bool) -> Layout:
        """How the rows will be stored."""
        spans: list[tuple[int, int]] = []
        first = 0
        for column, feature in zip(self._columns, self.features(limits), strict=True):
            survey, stop = self._surveys[column.name], first + feature.n_columns
            spans += [(first + a, first + b) for a, b in survey.value_spans(limits)]
            spans += [(stop - 1, stop)] if column.name in self._filled else []
            first = stop
        return make_layout(first + intercept, spans)

    def _feature(self, column: Column, limits: CategoryLimits) -> PlannedFeature:
        n_values = self._surveys[column.name].n_values(limits)
        n_columns = n_values + (column.name in self._filled)
        return PlannedFeature(column.name, column.kind, n_columns)


def _count(counts: dict[str, int], name: str, count: int) -> None:
    if count:
        counts[name] = counts.get(name, 0) + count
