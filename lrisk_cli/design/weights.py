"""Weights of rows: how much each counts, by a column of the table and by the class of the row."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lrisk_cli.errors import DataError, InvalidOption, list_names, quote
from lrisk_cli.names import WeightKind
from lrisk_cli.native.kernels import core
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.named_columns import quote_field, split_list
from lrisk_cli.tables.table import Batch
from lrisk_cli.types import Array, Flags, Targets

BALANCED = "balanced"
# Why rows of weight 0 are left out.
NO_WEIGHT = "weight 0"
# Weights greater than 0 are within these: their squares and sums neither overflow nor vanish.
LEAST, MOST = 1e-100, 1e100


@dataclass(frozen=True, slots=True)
class ClassWeights:
    """What the rows of a class count for in a fit: weights by label, or all classes alike.

    by_label: None for classes of equal total weight; a class that is not named has the weight 1.
    """

    by_label: tuple[tuple[str, float], ...] | None = None

    def factors(self, codes: Targets, classes: Sequence[str], weights: Array | None) -> Array:
        """The weight of the class of each row. codes: (n,); weights: of the rows. (n,)."""
        if self.by_label is None:
            sizes = np.bincount(codes, weights, minlength=len(classes))
            occur = sizes > 0.0
            of_class = np.ones(len(classes))
            of_class[occur] = sizes.sum() / (np.count_nonzero(occur) * sizes[occur])
        else:
            known = dict(self.by_label)
            of_class = np.array([known.get(label, 1.0) for label in classes])
        return np.asarray(of_class[codes])

    def check(self, place: str, classes: Sequence[str]) -> None:
        """Refuse labels that are no classes of the target, and a target without classes."""
        if not classes:
            raise InvalidOption(
                "class_weight", f"weighs classes, and {place}, holds numbers; leave it out"
            )
        for label, _ in self.by_label or ():
            if label not in classes:
                raise InvalidOption(
                    "class_weight",
                    f": {quote(label)} is no class of {place}; its classes are "
                    f"{list_names(list(classes))}",
                )

    @property
    def text(self) -> str:
        """As the option is written."""
        if self.by_label is None:
            return BALANCED
        return ",".join(quote_field(f"{label}={weight:g}") for label, weight in self.by_label)


@dataclass(frozen=True, slots=True)
class Weighting:
    """Where weights of rows come from. column: None for none; classes: of a fit only."""

    column: str | None = None
    kind: WeightKind = WeightKind.FREQUENCY
    classes: ClassWeights | None = None

    @property
    def asked(self) -> bool:
        """Whether rows do not all count alike."""
        return self.column is not None or self.classes is not None


UNWEIGHTED = Weighting()


def parse_weighting(
    column: str | None, kind: WeightKind | None, class_weight: str | None
) -> Weighting:
    """The weighting that the options ask for; a wrong one is refused."""
    if kind is not None and column is None:
        raise InvalidOption("weight_kind", "says what a weight column holds; name it", str(kind))
    return Weighting(column, kind or WeightKind.FREQUENCY, _parse_classes(class_weight))


def _parse_classes(text: str | None) -> ClassWeights | None:
    if text is None:
        return None
    if text.strip() == BALANCED:
        return ClassWeights()
    found: dict[str, float] = {}
    for field in split_list(text):
        label, separator, number = field.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            separator, weight = "", 0.0
        if not separator or not 0.0 < weight < np.inf or found.setdefault(label, weight) != weight:
            raise InvalidOption(
                "class_weight",
                "takes balanced, or CLASS=WEIGHT with a weight greater than 0 for each class once; "
                f"got {field!r}",
            )
    return ClassWeights(tuple(found.items()))


def check_weights(cells: Array, name: str, label: str, first_row: int) -> None:
    """DataError that names the first weight that is missing, negative or of an extreme size."""
    valid = (cells == 0.0) | ((cells >= LEAST) & (cells <= MOST))
    if not valid.all():
        row = int(np.argmin(valid))
        found = "the cell is missing" if np.isnan(cells[row]) else f"the weight is {cells[row]:g}"
        remedy = "a weight is a number of at least 0, so correct the table or leave the row out"
        if 0.0 < cells[row] < np.inf:
            remedy = f"weights are 0 or {LEAST:g} to {MOST:g}, so multiply the column by a constant"
        raise DataError(f"{label}, column '{name}', row {first_row + row}: {found}; {remedy}")


class WeightCells:
    """Collects the weights of a table, batch by batch. column: None for none."""

    def __init__(self, column: str | None) -> None:
        self._column = column
        self._parts: list[Array] = []
        # Rows of weight 0, by the reason for leaving them out.
        self.dropped: dict[str, int] = {}

    def add(self, batch: Batch, *, first: bool) -> Array | None:
        """The weights of a batch. first: it is the first time that its rows are read. (n,)."""
        if self._column is None:
            return None
        weights = np.array(batch.columns[self._column], dtype=np.float64)
        if first:
            check_weights(weights, self._column, batch.source, batch.source_row)
            self._parts.append(weights)
        return weights

    def beside(self, names: Sequence[str]) -> dict[str, Array | Texts]:
        """The last weights by the name of their column, unless it is one of these anyway."""
        if self._column is None or self._column in names:
            return {}
        return {self._column: self._parts[-1]}

    def finish(self, label: str) -> Array | None:
        """All weights; a table whose rows all have the weight 0 is refused. label: of the table."""
        if self._column is None or not self._parts:
            return None
        weights = np.concatenate(self._parts)
        place = f"{label}, column '{self._column}'"
        n_weightless = len(weights) - int(np.count_nonzero(weights))
        if n_weightless == len(weights) > 0:
            raise DataError(f"{place}: every weight is 0; name a column of weights")
        if n_weightless:
            self.dropped = {NO_WEIGHT: n_weightless}
        return weights


def normalised(weights: Array, kind: WeightKind) -> Array:
    """Weights as they count: frequencies as they are, importances with the sum n. (n,)."""
    if kind is WeightKind.FREQUENCY:
        return weights
    return np.asarray(weights * (len(weights) / total_weight(weights)))


def total_weight(weights: Array) -> float:
    """Their sum."""
    return float(core.compensated_dot(weights, np.ones(len(weights))))


def effective_rows(weights: Array) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2."""
    largest = float(weights.max())
    scaled = weights / largest
    return total_weight(scaled) ** 2 / float(core.compensated_dot(scaled, scaled))


def positive(weights: Array) -> Flags:
    """The rows that count at all. (n,)."""
    found: Flags = weights > 0.0
    return found
