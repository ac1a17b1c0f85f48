"""What a fit learned about its columns, and how new rows become the same numeric features."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.dates import write_parts
from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.native.kernels import core
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.cells import Texts, shortest_text
from lrisk_cli.tables.table import Batch
from lrisk_cli.types import Array, Codes, Flags, Targets

INTERCEPT = "(intercept)"
OTHER = "(other)"
ABSENT = "(missing)"


@dataclass(frozen=True, slots=True)
class Feature:
    """A column of the table: standardised if it holds numbers, one-hot if it holds text.

    A date is its days since 1970, standardised, then its `parts` as they are (see `dates`).
    `other`: one more 0/1 column for the categories that have none of their own.
    `fill`: stands in for a missing cell, learned only under impute. `indicator`: one more column,
    its last, that is 1 where the cell was missing.
    """

    name: str
    kind: Literal["number", "category", "date"]
    mean: float = 0.0
    scale: float = 1.0
    categories: tuple[str, ...] = ()
    other: bool = False
    fill: float | str | None = None
    indicator: bool = False
    parts: tuple[str, ...] = ()

    @property
    def numeric(self) -> bool:
        """Whether it is read as numbers, and its first column of X holds them."""
        return self.kind != "category"

    @property
    def n_values(self) -> int:
        """How many columns of X its values take."""
        return 1 + len(self.parts) if self.numeric else len(self.categories) + self.other

    @property
    def n_columns(self) -> int:
        """How many columns of X it takes."""
        return self.n_values + self.indicator

    @property
    def column_names(self) -> tuple[str, ...]:
        """Its columns of X: "alcohol", or "color=red" and so on, or "day.days", "day.month=Jan"."""
        absent = (f"{self.name}={ABSENT}",) * self.indicator
        if self.kind == "number":
            return (self.name, *absent)
        if self.kind == "date":
            return (*(f"{self.name}.{part}" for part in ("days", *self.parts)), *absent)
        texts = (*self.categories, *(OTHER,) * self.other)
        return (*(f"{self.name}={text}" for text in texts), *absent)

    def positions(self, texts: Sequence[str]) -> Codes:
        """The one-hot column of each text, -1 for none; then that of a missing cell."""
        column = {text: position for position, text in enumerate(self.categories)}
        unseen = len(column) if self.other else -1
        missing = -1 if self.fill is None else self.filled_position
        if self.indicator:
            missing = self.n_values
        return np.array([*(column.get(text, unseen) for text in texts), missing], np.int32)

    @property
    def filled_position(self) -> int:
        """The column, among its own, of what stands in for a missing cell."""
        return 0 if self.numeric else self.categories.index(str(self.fill))


@dataclass(frozen=True, slots=True)
class Target:
    """What is to be predicted: y = (number - mean) / scale, or the position among the classes."""

    name: str
    kind: Literal["number", "class"]
    mean: float = 0.0
    scale: float = 1.0
    classes: tuple[str, ...] = ()

    @property
    def dtype(self) -> str:
        """How its column is to be read. Numbers as classes are spelled as briefly as possible."""
        try:
            numbers = [float(label) for label in self.classes]
        except ValueError:
            return "string"
        return "number" if shortest_text(numbers) == list(self.classes) else "string"

    def encode(self, cells: Array | Texts) -> Targets:
        """y of each row. A missing number is NaN; a missing or unknown class is -1."""
        if self.kind == "number":
            if isinstance(cells, Texts):
                raise TypeError(f"the target {self.name!r} was read as text")
            numbers = cells - self.mean
            numbers /= self.scale
            return numbers
        texts = cells if isinstance(cells, Texts) else spell_numbers(cells)
        code = {label: position for position, label in enumerate(self.classes)}
        codes = np.array([*(code.get(text, -1) for text in texts.values), -1], np.int32)
        return codes[texts.codes]


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """The rows of a batch that can be scored; y is None when the batch has no target column.

    kept: offsets into the batch. dropped: rows left out, by reason. n_missing and n_unseen: rows
    of the batch with a missing feature, with an unseen category, whether kept or not. filled:
    cells of the rows kept that something stands in for, by column.
    """

    rows: Rows
    y: Targets | None
    kept: npt.NDArray[np.int64]
    dropped: dict[str, int]
    n_missing: int
    n_unseen: int
    filled: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Encoding:
    """Repeats on new rows what the fit did to its own. goal: the target, where there is one."""

    features: tuple[Feature, ...]
    intercept: bool
    goal: Target | None
    missing: Missing
    unseen: Unseen

    @property
    def target(self) -> Target:
        """What is predicted; asking clusters for it, which have none, is a bug."""
        if self.goal is None:
            raise TypeError("an encoding of features only has no target")
        return self.goal

    @property
    def n_columns(self) -> int:
        """Columns of X, the intercept included."""
        return sum(feature.n_columns for feature in self.features) + self.intercept

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of X, in order."""
        names = tuple(name for feature in self.features for name in feature.column_names)
        return (*names, INTERCEPT) if self.intercept else names

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of a table that X is made of."""
        return tuple(feature.name for feature in self.features)

    @property
    def dtypes(self) -> dict[str, str]:
        """How a table is to be read for this encoding: what open_table takes as `expected`."""
        kinds = {"number": "number", "category": "string", "date": "date"}
        read = {feature.name: kinds[feature.kind] for feature in self.features}
        return read if self.goal is None else {**read, self.goal.name: self.goal.dtype}

    def encode(self, batch: Batch, place: str | None = None) -> EncodedBatch:
        """The rows of a batch and y, each row by itself; `place` names the table in messages.

        A missing feature is a DataError, a dropped row or filled, by the policy `missing`; a
        missing target is a DataError or a dropped row. A category or class that the fit did not
        see is a DataError under unseen="error"; otherwise such a category counts as `other` (all
        zeros if there is no such column) and a row of such a class is dropped.
        """
        label = place or batch.source
        cells = [_cells_of(feature, batch, label) for feature in self.features]
        # The target comes first among the columns; without one, an absent column without a name.
        target = None if self.goal is None else batch.columns.get(self.goal.name)
        names = ("" if self.goal is None else self.goal.name, *self.feature_names)
        holes = find_holes([target, *cells], batch.n_rows)
        if self.missing is Missing.ERROR:
            learnt = all(feature.fill is not None for feature in self.features)
            refuse_holes(holes, names, label, batch.source_row, fillable=learnt)
        drops = drop_reasons(holes if self.missing is Missing.DROP else holes[:1], names)
        y = None if target is None else self.target.encode(target)
        if target is not None and y is not None and self.target.kind == "class":
            strangers = (y < 0) & ~np.any([holes[0], *drops.values()], axis=0)
            self._refuse_unseen(strangers, self.target.name, target, batch, label)
            drops |= {f"unseen class of {self.target.name}": strangers} if strangers.any() else {}
        positions, unseen = self._encode_texts(cells, batch, label)
        kept = np.flatnonzero(~np.any([np.zeros(batch.n_rows, bool), *drops.values()], axis=0))
        numbers = [values[kept] for values in cells if not isinstance(values, Texts)]
        X = np.empty((len(kept), self.n_columns))
        codes = [codes[kept] for codes in positions]
        Filler(self).fill(stack(numbers, len(kept)), codes, X)
        return EncodedBatch(
            DenseRows(X),
            None if y is None else y[kept],
            kept,
            {reason: int(np.count_nonzero(rows)) for reason, rows in drops.items()},
            int(np.count_nonzero(holes[1:].any(axis=0))),
            int(np.count_nonzero(unseen)),
            count_filled(holes[1:, kept], self.feature_names),
        )

    def _encode_texts(
        self, cells: Sequence[Array | Texts], batch: Batch, label: str
    ) -> tuple[list[Codes], Flags]:
        """One-hot positions of each category feature, and the rows with an unseen category."""
        unseen = np.zeros(batch.n_rows, bool)
        positions = []
        for feature, texts in zip(self.features, cells, strict=True):
            if not isinstance(texts, Texts):
                continue
            found = feature.positions(texts.values)[texts.codes]
            strange = (found < 0) & (texts.codes >= 0)
            self._refuse_unseen(strange, feature.name, texts, batch, label)
            unseen |= strange
            positions.append(found)
        return positions, unseen

    def _refuse_unseen(
        self, strange: Flags, name: str, cells: Array | Texts, batch: Batch, label: str
    ) -> None:
        if self.unseen is Unseen.OTHER or not strange.any():
            return
        row = int(np.argmax(strange))
        texts = cells if isinstance(cells, Texts) else spell_numbers(cells)
        text = texts.values[texts.codes[row]]
        raise unseen_cell(label, name, batch.source_row + row, text)


class Filler:
    """Writes the rows of an encoding into matrices, block after block."""

    def __init__(self, encoding: Encoding) -> None:
        features = encoding.features
        numbers = [feature for feature in features if feature.numeric]
        stops = np.cumsum([feature.n_columns for feature in features])
        starts = stops - [feature.n_columns for feature in features]
        categories = np.array([feature.kind == "category" for feature in features])
        self._fills = np.array([feature.fill for feature in numbers], np.float64)
        self._means = np.array([feature.mean for feature in numbers], np.float64)
        self._scales = np.array([feature.scale for feature in numbers], np.float64)
        self._columns = starts[~categories]
        self._one_hot = starts[categories].tolist()
        self._width = int(stops[-1])
        # Where numbers with an indicator stand, among the numbers and among the columns.
        self._marked = [at for at, feature in enumerate(numbers) if feature.indicator]
        self._marks = [self._columns[at] + numbers[at].n_values for at in self._marked]
        # Dates: where they stand among the numbers, and their parts among the columns.
        self._dates = [
            (at, feature.parts, slice(start + 1, start + feature.n_values))
            for at, (feature, start) in enumerate(zip(numbers, self._columns.tolist(), strict=True))
            if feature.parts
        ]
        # Of categories with one: its column, and that of what stands in for a missing cell.
        self._beside = [
            (start + feature.n_values, start + feature.filled_position)
            for feature, start in zip(features, starts.tolist(), strict=True)
            if feature.indicator and feature.kind == "category"
        ]

    def fill(self, numbers: Array, positions: Sequence[Codes], X: Array) -> None:
        """Write encoded rows into X (rows, n_columns), which lies in one piece of memory.

        numbers: (rows, number features), raw, NaN for missing; overwritten. positions: for each
        category feature the one-hot column of each row, -1 for none.
        """
        absent = np.isnan(numbers[:, self._marked]) if self._marked else None
        if not np.isnan(self._fills).all():
            np.copyto(numbers, self._fills, where=np.isnan(numbers))
        if self._one_hot:
            X[:] = 0.0
        for at, parts, columns in self._dates:
            write_parts(numbers[:, at], parts, X[:, columns])
        core.standardize_rows(numbers, self._means, self._scales, self._columns, X)
        for codes, first in zip(positions, self._one_hot, strict=True):
            core.mark_codes(codes, first, X)
        if absent is not None:
            X[:, self._marks] = absent
        for mark, filled in self._beside:
            X[:, filled] += X[:, mark]
        X[:, self._width :] = 1.0


def find_holes(columns: Sequence[Array | Texts | None], n_rows: int) -> Flags:
    """Which cells are missing, (columns, rows). An absent column (None) misses nothing."""
    holes = np.zeros((len(columns), n_rows), bool)
    for missing, cells in zip(holes, columns, strict=True):
        if isinstance(cells, Texts):
            np.less(cells.codes, 0, out=missing)
        elif cells is not None:
            np.isnan(cells, out=missing)
    return holes


def count_filled(holes: Flags, names: Sequence[str]) -> dict[str, int]:
    """How many cells of each column are missing, where some are. holes: (columns, rows)."""
    counts = np.count_nonzero(holes, axis=1).tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def refuse_holes(
    holes: Flags, names: Sequence[str], label: str, first_row: int, *, fillable: bool = True
) -> None:
    """DataError that names the first missing cell, if there is one.

    fillable: values to fill in can be learnt, or were.
    """
    if holes.any():
        row = int(np.argmax(holes.any(axis=0)))
        name = names[int(np.argmax(holes[:, row]))]
        drop, impute = opt("missing", "drop"), opt("missing", "impute")
        remedy = f"pass {drop}" + f" or {impute}" * fillable
        raise DataError(
            f"{label}, column '{name}', row {first_row + row}: the cell is missing; {remedy}"
        )


def drop_reasons(holes: Flags, names: Sequence[str]) -> dict[str, Flags]:
    """The rows to drop, each under the first of its missing columns."""
    free = np.ones(holes.shape[1], bool)
    reasons = {}
    for name, missing in zip(names, holes, strict=False):
        if missing.any() and (missing & free).any():
            reasons[f"missing {name}"] = missing & free
            free &= ~missing
    return reasons


def unseen_cell(label: str, name: str, row: int, text: str) -> DataError:
    """The sentence for a category or class that the fit did not see."""
    return DataError(
        f"{label}, column '{name}', row {row}: {quote(text)} was not seen by the fit; "
        f"pass {opt('unseen', 'other')} or fit on rows that have it"
    )


def spell_numbers(numbers: Array) -> Texts:
    """Numbers as text, each as short as it reads back exactly; NaN is missing."""
    values, codes = np.unique(numbers, return_inverse=True)
    known = values[~np.isnan(values)]
    codes = np.where(np.isnan(numbers), -1, codes)
    return Texts(codes.astype(np.int32), shortest_text(known))


def stack(columns: Sequence[Array], n_rows: int) -> Array:
    """Columns side by side. (n_rows, number of columns)."""
    return np.stack(columns, axis=1) if columns else np.empty((n_rows, 0))


def _cells_of(feature: Feature, batch: Batch, label: str) -> Array | Texts:
    """The cells of a feature as the kind that it needs."""
    cells = batch.columns[feature.name]
    if feature.kind == "category":
        return cells if isinstance(cells, Texts) else spell_numbers(cells)
    if isinstance(cells, Texts):
        raise DataError(
            f"{label}, column '{feature.name}': holds text where the fit had numbers; "
            f"pass {opt('dtype', f'{feature.name}=number')}"
        )
    return np.asarray(cells)
