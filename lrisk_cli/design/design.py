"""Turn a table into a numeric design, and remember enough to repeat it on new rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.choosing import DesignOptions, choose_columns
from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.doubts import note_written, refuse_doubtful, warn_of_columns
from lrisk_cli.design.duplicate_rows import note_duplicates
from lrisk_cli.design.encode_raw import encode_raw
from lrisk_cli.design.encoding import EncodedBatch, Encoding
from lrisk_cli.design.groups import RowGroups, read_groups
from lrisk_cli.design.hints import find_hints
from lrisk_cli.design.learning import (
    decide_task,
    find_classes,
    learn_features,
    learn_target,
    refuse_outside,
)
from lrisk_cli.design.raw_rows import (
    RawRows,
    RowCounts,
    RowNumbers,
    UsableRows,
    copy_rows,
    read_usable_rows,
    split_rows,
)
from lrisk_cli.design.target import Target
from lrisk_cli.design.weights import (
    NO_WEIGHT,
    UNWEIGHTED,
    Weighting,
    effective_rows,
    normalised,
    total_weight,
)
from lrisk_cli.errors import DataError, InvalidOption, opt
from lrisk_cli.names import Standardize, Task
from lrisk_cli.progress import Report, silent
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.arrays import arrow_of
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.column_types.numerals import Written
from lrisk_cli.tables.memory import Allowance
from lrisk_cli.tables.row_lines import RowLines
from lrisk_cli.tables.table import Column, Table
from lrisk_cli.types import Array, Flags, Targets
from lrisk_cli.warnings import Warnings

__all__ = [
    "Design", "DesignOptions", "EncodedBatch", "Encoding", "Feature", "RowCounts", "Target",
    "build_design",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Design:
    """Encoded rows: (n, d). y: (n,), standardised numbers or int32 class codes.

    targets: (n,) the same in units of the file, or on the scale that is fitted. Both are empty
    where there is no target.
    row_numbers: (n,) where they stand in the table. ids: their id column, as the file has it.
    counts, fingerprint and notes are those of the whole table, held-out rows included. exposure:
    (n,), where a column of the table holds it. label, allowance: of the table. groups: of the rows,
    where columns of groups are named. weights: how much the rows count, (n,), None where all count
    for 1; masses: in a fit, times those of classes.
    """

    rows: Rows
    y: Targets
    targets: Targets
    row_numbers: RowNumbers
    ids: Any
    encoding: Encoding
    counts: RowCounts
    fingerprint: str
    notes: tuple[str, ...]
    exposure: Array | None = None
    label: str = ""
    allowance: Allowance | None = None
    groups: RowGroups | None = None
    weights: Array | None = None
    masses: Array | None = None
    weighting: Weighting = UNWEIGHTED
    lines: RowLines = field(default_factory=RowLines)
    warnings: Warnings = ()

    @property
    def named_rows(self) -> dict[str, Any]:
        """The columns that name the rows in results: row, line of text, and id if there are ids."""
        named = self.lines.columns(self.row_numbers)
        return named | ({} if self.ids is None else {"id": self.ids})

    @property
    def total(self) -> float:
        """How many rows there are, or how much they count for in a fit together."""
        return self.rows.shape[0] if self.masses is None else total_weight(self.masses)

    @property
    def effective(self) -> float:
        """Kish's effective number of rows."""
        return self.rows.shape[0] if self.masses is None else effective_rows(self.masses)

    def take(self, rows: npt.NDArray[np.intp]) -> "Design":
        """Some of its rows; all that describes the table stays."""
        return replace(
            self,
            rows=self.rows.take(rows),
            y=self.y[rows] if len(self.y) else self.y,
            targets=self.targets[rows] if len(self.targets) else self.targets,
            row_numbers=self.row_numbers[rows],
            ids=None if self.ids is None else self.ids.take(arrow_of(rows)),
            exposure=None if self.exposure is None else self.exposure[rows],
            groups=None if self.groups is None else self.groups.take(rows),
            weights=None if self.weights is None else self.weights[rows],
            masses=None if self.masses is None else self.masses[rows],
        )


@dataclass(frozen=True, slots=True)
class RawDesign:
    """The columns of a table as they were read, before anything was learned from them.

    groups: of all rows of the table, where columns of groups are named. written: how the cells of
    columns of text are written, where not as programs write them; read_as: notes on these.
    warnings: of cells that may be misread.
    """

    label: str
    features: tuple[Column, ...]
    target: Column | None
    usable: UsableRows
    allowance: Allowance
    groups: RowGroups | None = None
    written: Mapping[str, Written] = field(default_factory=dict)
    read_as: tuple[str, ...] = ()
    warnings: Warnings = ()


def build_design(
    table: Table,
    options: DesignOptions,
    *,
    hold_out: Callable[[int], Flags] | None = None,
    report: Report = silent,
) -> tuple[Design, Design | None]:
    """Read the table and encode it: the design to learn from, and that of the rows held out."""
    raw = read_design(table, options, report, split=hold_out is not None)
    return encode_design(raw, options, hold_out=hold_out)


def read_design(
    table: Table, options: DesignOptions, report: Report = silent, *, split: bool = False
) -> RawDesign:
    """Read the columns that are asked for, and drop the rows that cannot be used.

    split: some rows will be held out, so those that repeat others are worth a note.
    """
    features, target = choose_columns(table, options)
    usable = read_usable_rows(
        table, features, target, options.id_column, options.missing, report,
        exposure=options.exposure, divider=_divider_column(table, options),
        weight=options.weighting.column,
    )  # fmt: skip
    _check_enough(table.label, usable.counts)
    classes = options.task is Task.CLASSIFICATION
    notes = find_hints(features, target, usable.rows, classes=classes, pixels=options.pixels)
    repeated = note_duplicates(usable.rows) if split else ()
    usable = replace(usable, notes=(*usable.notes, *notes, *repeated))
    groups = read_groups(table, options.by) if options.by else None
    names = [column.name for column in (*features, target) if column is not None]
    beside = [name for name in (options.exposure, options.weighting.column) if name is not None]
    written = table.written([*names, *beside])
    return RawDesign(
        table.label, features, target, usable, table.allowance, groups, written,
        note_written(written, table.spelling), warn_of_columns(features, usable.rows.texts),
    )  # fmt: skip


def copy_part(raw: RawDesign, rows: npt.NDArray[np.intp]) -> RawDesign:
    """Some of the usable rows in memory of their own, so that `raw` can be used again."""
    return replace(raw, usable=replace(raw.usable, rows=copy_rows(raw.usable.rows, rows)))


def find_task(raw: RawDesign, asked: Task) -> tuple[Task, tuple[str, ...]]:
    """The task that the usable rows call for, and why when it was left to us."""
    target, cells = raw.target, raw.usable.rows.target
    if target is None or cells is None:
        raise TypeError("a design of features only has no task")
    place = f"{raw.label}, column '{target.name}'"
    if asked is not Task.CLASSIFICATION:
        refuse_doubtful(place, target)
    return decide_task(place, target.name, cells, asked)


def encode_design(
    raw: RawDesign, options: DesignOptions, *, hold_out: Callable[[int], Flags] | None = None
) -> tuple[Design, Design | None]:
    """The design to learn from, and that of the rows held out.

    hold_out: number of usable rows -> True for those held out. Means, scales, categories and
    fills are learned from the other rows, the classes of the target from all of them. They are made
    in the memory that the table was read into, so `raw` can be used once.
    """
    usable = raw.usable
    classes, notes = see_target(raw, options.task)
    train, test = usable.rows, None
    if hold_out is not None:
        train, test = split_rows(train, hold_out(len(train.rows)))
    learned, oddities = learn_features(
        raw.label,
        raw.features,
        train,
        options.missing,
        options.category_limits(len(classes)),
        options.standardize is not Standardize.NONE and options.scale_features,
        options.scaling,
        # A distance would count a missing cell as a difference of its own.
        marked=options.target is not None,
    )
    goal = None
    if raw.target is not None and train.target is not None:
        scaled = options.standardize is Standardize.BOTH and options.scale_target
        place = f"{raw.label}, column '{raw.target.name}'"
        if not classes:
            refuse_outside(place, usable.rows, options.on_scale)
        goal = learn_target(
            place, raw.target.name, train.target, classes, scaled, options.scaling,
            options.on_scale, train.weights,
        )  # fmt: skip
        if options.weighting.classes is not None:
            options.weighting.classes.check(place, classes)
    encoding = Encoding(
        learned,
        options.intercept,
        goal,
        options.missing,
        options.unseen,
        options.exposure,
        options.weighting.column,
        raw.written,
    )
    n_rows = sum(len(part.rows) for part in (train, test) if part is not None)
    row_bytes = encoding.layout.row_bytes
    raw.allowance.check(raw.label, n_rows, encoding.n_columns, row_bytes=row_bytes)
    every_note = (*notes, *raw.read_as, *usable.notes, *oddities)
    shared = (usable.counts, usable.fingerprint, every_note)
    return (
        _encode_rows(raw, train, encoding, shared, options.weighting),
        None if test is None else _encode_rows(raw, test, encoding, shared, options.weighting),
    )


def see_target(raw: RawDesign, asked: Task) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The classes of the target, if it has any, and why it was taken for what it is."""
    cells = raw.usable.rows.target
    if raw.target is None or cells is None:
        return (), ()
    task, notes = find_task(raw, asked)
    place = f"{raw.label}, column '{raw.target.name}'"
    if task is not Task.CLASSIFICATION:
        return (), notes
    return find_classes(place, raw.target.name, cells), notes


def _divider_column(table: Table, options: DesignOptions) -> Column | None:
    """The column by which rows are divided into folds; times must be numbers or dates."""
    if options.divider is None:
        return None
    option, name = options.divider
    column = table.column(name)
    if name == options.target:
        raise InvalidOption(option, f": '{name}' is the target; choose another column")
    if option == "cv_time" and not column.numeric and column.kind != "date":
        raise InvalidOption(
            option, f": '{name}' holds no dates and no numbers; choose another column"
        )
    return column


def _check_enough(label: str, counts: RowCounts) -> None:
    if counts.used < 2:
        worst = max(counts.dropped, key=lambda reason: counts.dropped[reason], default="")
        why = f", most of the others dropped for: {worst}" if worst else ""
        remedy = (
            f"pass {opt('missing', 'impute')} or {opt('exclude')} a column that is often missing"
            if worst
            else "add rows to the table"
        )
        if worst == NO_WEIGHT:
            remedy = "give more rows a weight greater than 0"
        raise DataError(
            f"{label}: {counts.used} of {counts.read} rows can be used{why}; two are needed, so "
            f"{remedy}"
        )


def _encode_target(cells: Array | Texts | None, goal: Target | None) -> tuple[Targets, Targets]:
    """y, and the target in units of the file; both empty where there is none."""
    if cells is None or goal is None:
        return np.empty(0), np.empty(0)
    y = goal.encode(cells)
    return y, goal.as_read(cells, slice(None), y)


def _encode_rows(
    of: RawDesign,
    raw: RawRows,
    encoding: Encoding,
    shared: tuple[RowCounts, str, tuple[str, ...]],
    weighting: Weighting,
) -> Design:
    """Rows in the memory of the raw ones. The target as read is kept: results use its units."""
    y, targets = _encode_target(raw.target, encoding.goal)
    weights = None if raw.weights is None else normalised(raw.weights, weighting.kind)
    masses = weights
    if weighting.classes is not None and encoding.goal is not None and encoding.goal.classes:
        factors = weighting.classes.factors(y, encoding.goal.classes, weights)
        masses = normalised(factors if weights is None else weights * factors, weighting.kind)
    return Design(
        encode_raw(of.label, raw, encoding), y, targets, raw.rows, raw.ids, encoding, *shared,
        exposure=raw.exposure, label=of.label, allowance=of.allowance,
        groups=None if of.groups is None else of.groups.take(raw.rows),
        weights=weights, masses=masses, weighting=weighting,
        warnings=of.warnings, lines=of.usable.lines,
    )  # fmt: skip
