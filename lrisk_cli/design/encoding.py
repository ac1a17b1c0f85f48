"""What a fit learned about its columns, and how new rows become the same numeric features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.exposure import check_exposure
from lrisk_cli.design.filling import Filler
from lrisk_cli.design.target import Target
from lrisk_cli.design.weights import NO_WEIGHT, check_weights, positive
from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.rows.layout import Layout, make_layout
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.cells import Texts, spell_numbers
from lrisk_cli.tables.column_types.numerals import Written
from lrisk_cli.tables.table import Batch
from lrisk_cli.types import Array, Codes, Flags, Targets

INTERCEPT = "(intercept)"


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """The rows of a batch that can be scored; y is None when the batch has no target column.

    kept: offsets into the batch. dropped: rows left out, by reason. n_missing and n_unseen: rows
    of the batch with a missing feature, with an unseen category, whether kept or not. filled:
    cells of the rows kept that something stands in for, by column. exposure, weights: of the
    rows kept.
    """

    rows: Rows
    y: Targets | None
    kept: npt.NDArray[np.int64]
    dropped: dict[str, int]
    n_missing: int
    n_unseen: int
    filled: dict[str, int] = field(default_factory=dict)
    exposure: Array | None = None
    weights: Array | None = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """Repeats on new rows what the fit did to its own. goal: the target, where there is one.

    exposure: the column of exposures, which is no feature. weight: that of the weights of new rows,
    where they are to count by them. written: how the cells of columns of text were written, where
    not as programs write them.
    """

    features: tuple[Feature, ...]
    intercept: bool
    goal: Target | None
    missing: Missing
    unseen: Unseen
    exposure: str | None = None
    weight: str | None = None
    written: Mapping[str, Written] = field(default_factory=dict)

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
    def layout(self) -> Layout:
        """How rows are stored; clusters compute distances on one array."""
        spans, first = [], 0
        for feature in self.features:
            spans += [(first + start, first + stop) for start, stop in feature.code_spans()]
            first += feature.n_columns
        return make_layout(self.n_columns, spans, whole=self.goal is None)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of the columns of X, in order."""
        names = tuple(name for feature in self.features for name in feature.column_names)
        return (*names, INTERCEPT) if self.intercept else names

    @property
    def units(self) -> tuple[Array, Array]:
        """Mean and scale of each column of X; 0 and 1 for all but numbers. (n_columns,) each."""
        units = [feature.units() for feature in self.features]
        means = [mean for each, _ in units for mean in each] + [0.0] * self.intercept
        scales = [scale for _, each in units for scale in each] + [1.0] * self.intercept
        return np.array(means), np.array(scales)

    @property
    def numbers(self) -> list[NumberFeature]:
        """The features that are read as numbers, in order."""
        return [feature for feature in self.features if isinstance(feature, NumberFeature)]

    @property
    def categories(self) -> list[CategoryFeature]:
        """The features that are read as texts, in order."""
        return [feature for feature in self.features if isinstance(feature, CategoryFeature)]

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of a table that X is made of."""
        return tuple(feature.name for feature in self.features)

    @property
    def needed_names(self) -> tuple[str, ...]:
        """The columns of a table that scoring needs beside a target: features, exposure, weight."""
        beside = (name for name in (self.exposure, self.weight) if name is not None)
        return tuple(dict.fromkeys((*self.feature_names, *beside)))

    @property
    def dtypes(self) -> dict[str, str]:
        """How a table is to be read for this encoding: what open_table takes as `expected`."""
        read: dict[str, str] = {feature.name: feature.kind for feature in self.features}
        read |= {} if self.exposure is None else {self.exposure: "number"}
        read |= {} if self.weight is None or self.weight in read else {self.weight: "number"}
        return read if self.goal is None else {**read, self.goal.name: self.goal.dtype}

    def encode(self, batch: Batch, place: str | None = None) -> EncodedBatch:
        """The rows of a batch and y, each row by itself; `place` names the table in messages.

        A missing feature is a DataError, a dropped row or filled, by the policy `missing`; a
        missing target is a DataError or a dropped row. A category or class that the fit did not
        see is a DataError under unseen="error", unless its row is dropped; otherwise such a
        category counts as `other` (all zeros if there is no such column) and a row of such a class
        is dropped. A row of weight 0 is dropped whatever it holds.
        """
        label = place or batch.source
        weights = self._weights_of(batch, label)
        cells = [
            feature.check_cells(batch.columns[feature.name], label) for feature in self.features
        ]
        # The target comes first among the columns; without one, an absent column without a name.
        target = None if self.goal is None else batch.columns.get(self.goal.name)
        names = ("" if self.goal is None else self.goal.name, *self.feature_names)
        missing_cells = find_missing([target, *cells], batch.n_rows)
        if weights is not None:
            missing_cells &= positive(weights)
        if self.missing is Missing.ERROR:
            learnt = all(feature.fill is not None for feature in self.features)
            refuse_missing(
                missing_cells, names, label, batch.source_row,
                fillable=learnt, target=names[0] or None,
            )  # fmt: skip
        n_decisive = len(names) if self.missing is Missing.DROP else 1
        drops = drop_reasons(missing_cells[:n_decisive], names)
        if weights is not None and not positive(weights).all():
            drops |= {NO_WEIGHT: ~positive(weights)}
        y = None if target is None else self.target.encode(target)
        unseen_class = None if y is None else self.target.unseen(y)
        if target is not None and unseen_class is not None:
            strangers = unseen_class & ~np.any([missing_cells[0], *drops.values()], axis=0)
            self._refuse_unseen(strangers, self.target.name, target, batch, label)
            drops |= {f"unseen class of {self.target.name}": strangers} if strangers.any() else {}
        lost = np.any([np.zeros(batch.n_rows, bool), *drops.values()], axis=0)
        positions, unseen = self._encode_texts(cells, lost, batch, label)
        kept = np.flatnonzero(~lost)
        numbers = [values[kept] for values in cells if not isinstance(values, Texts)]
        filler = Filler(self.features, self.layout, intercept=self.intercept)
        D, codes = filler.empty(len(kept))
        filler.fill(stack(numbers, len(kept)), [found[kept] for found in positions], D, codes)
        return EncodedBatch(
            filler.rows(D, codes),
            None if y is None else y[kept],
            kept,
            {reason: int(np.count_nonzero(rows)) for reason, rows in drops.items()},
            int(np.count_nonzero(missing_cells[1:].any(axis=0))),
            int(np.count_nonzero(unseen)),
            count_filled(missing_cells[1:, kept], self.feature_names),
            self._exposure_of(batch, label, kept),
            None if weights is None else weights[kept],
        )

    def _weights_of(self, batch: Batch, label: str) -> Array | None:
        """Of all rows of the batch, where they count by them; an invalid one is a DataError."""
        if self.weight is None:
            return None
        weights = np.asarray(batch.columns[self.weight], dtype=np.float64)
        check_weights(weights, self.weight, label, batch.source_row)
        return weights

    def _exposure_of(self, batch: Batch, label: str, kept: npt.NDArray[np.int64]) -> Array | None:
        """Of the rows kept; a row of the batch without a valid one is a DataError."""
        if self.exposure is None:
            return None
        cells = np.asarray(batch.columns[self.exposure], dtype=np.float64)
        needed = cells
        if self.weight is not None:
            needed = np.ones(batch.n_rows)
            needed[kept] = cells[kept]
        check_exposure(needed, self.exposure, label, batch.source_row)
        return cells[kept]

    def _encode_texts(
        self, cells: Sequence[Array | Texts], lost: Flags, batch: Batch, label: str
    ) -> tuple[list[Codes], Flags]:
        """One-hot positions of each category feature, and the rows with an unseen category.

        lost: rows that are dropped, as the fit dropped them before it learned its categories.
        """
        unseen = np.zeros(batch.n_rows, bool)
        positions = []
        coded = [texts for texts in cells if isinstance(texts, Texts)]
        for feature, texts in zip(self.categories, coded, strict=True):
            found = feature.positions(texts.values)[texts.codes]
            strange = (found < 0) & (texts.codes >= 0)
            self._refuse_unseen(strange & ~lost, feature.name, texts, batch, label)
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


def find_missing(columns: Sequence[Array | Texts | None], n_rows: int) -> Flags:
    """Which cells are missing, (columns, rows). An absent column (None) misses nothing."""
    missing_cells = np.zeros((len(columns), n_rows), bool)
    for missing, cells in zip(missing_cells, columns, strict=True):
        if isinstance(cells, Texts):
            np.less(cells.codes, 0, out=missing)
        elif cells is not None:
            np.isnan(cells, out=missing)
    return missing_cells


def count_filled(missing_cells: Flags, names: Sequence[str]) -> dict[str, int]:
    """How many cells of each column are missing, where some are. missing_cells: (columns, rows)."""
    counts = np.count_nonzero(missing_cells, axis=1).tolist()
    return {name: count for name, count in zip(names, counts, strict=True) if count}


def refuse_missing(
    missing_cells: Flags,
    names: Sequence[str],
    label: str,
    first_row: int,
    *,
    fillable: bool = True,
    target: str | None = None,
) -> None:
    """DataError that names the first missing cell, if there is one.

    fillable: values to fill in can be learnt, or were. target: the column that is never filled in.
    """
    if missing_cells.any():
        row = int(np.argmax(missing_cells.any(axis=0)))
        name = names[int(np.argmax(missing_cells[:, row]))]
        drop, impute = opt("missing", "drop"), opt("missing", "impute")
        remedy = f"pass {drop}" + f" or {impute}" * fillable
        if name == target:
            remedy = f"a target cannot be filled in, so pass {drop} to leave such rows out"
        raise DataError(
            f"{label}, column '{name}', row {first_row + row}: the cell is missing; {remedy}"
        )


def drop_reasons(missing_cells: Flags, names: Sequence[str]) -> dict[str, Flags]:
    """The rows to drop, each under the first of its missing columns."""
    free = np.ones(missing_cells.shape[1], bool)
    reasons = {}
    for name, missing in zip(names, missing_cells, strict=False):
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


def stack(columns: Sequence[Array], n_rows: int) -> Array:
    """Columns side by side. (n_rows, number of columns)."""
    return np.stack(columns, axis=1) if columns else np.empty((n_rows, 0))
