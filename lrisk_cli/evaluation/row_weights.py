"""How much the rows of a table count when a model is evaluated: by which column, and what it holds.

The column is the one asked for, or else that by which the fit counted rows, where the table has it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from lrisk_cli.design.weights import Weighting, effective_rows, total_weight
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.names import WeightKind
from lrisk_cli.tables.table import Table
from lrisk_cli.types import Array

if TYPE_CHECKING:
    from lrisk_cli.evaluation.class_errors import Counts


AnyModel = TypeVar("AnyModel", bound=Model | ClusterModel)


@dataclass(frozen=True, slots=True)
class RowCounting:
    """The weights of the rows that are evaluated. asked: whether the column was named.

    column: None where all rows count alike.
    """

    column: str | None
    kind: WeightKind
    asked: bool

    def record(self, weights: Array | None) -> WeightRecord | None:
        """What documents say of it. weights: of all rows, as the table has them. (n,)."""
        if self.column is None or weights is None:
            return None
        frequent = self.kind is WeightKind.FREQUENCY
        return WeightRecord(
            column=self.column,
            kind=self.kind.value,
            sum=total_weight(weights) if frequent else float(len(weights)),
            effective=effective_rows(weights),
        )

    def counts(self, counts: "Counts", weights: Array | None) -> "Counts":
        """Sums of weights as they count: importances with the number of rows as their sum."""
        if weights is None or self.kind is WeightKind.FREQUENCY:
            return counts
        factor = np.float64(len(weights) / total_weight(weights))
        return np.asarray(counts * factor, dtype=np.float64)


# All rows count alike.
ALIKE = RowCounting(None, WeightKind.FREQUENCY, asked=False)


def choose_weights(path: str, model: AnyModel, asked: Weighting) -> tuple[AnyModel, RowCounting]:
    """The model that reads the weights of new rows, and what they are. path: of the model."""
    recorded = model.weight if isinstance(model, Model) else model.fit.weight
    column = asked.column
    if column is None and recorded is not None:
        column = recorded.column
    if column is None:
        return model, ALIKE
    if isinstance(model, Model) and column == model.target.name:
        raise InvalidOption("weight", f": '{column}' is the target of {path}")
    kind = asked.kind
    if asked.column is None and recorded is not None:
        kind = WeightKind(recorded.kind)
    encoding = replace(model.encoding, weight=column)
    return replace(model, encoding=encoding), RowCounting(column, kind, asked.column is not None)


def suit_table(
    model: AnyModel, counting: RowCounting, table: Table
) -> tuple[AnyModel, RowCounting, tuple[str, ...]]:
    """The same for a table that may lack the column of the fit, and what to know about it."""
    if counting.column is None:
        return model, counting, ()
    if counting.asked:
        if not table.column(counting.column).numeric:
            raise InvalidOption("weight", f": '{counting.column}' holds no numbers")
        return model, counting, ()
    name = counting.column
    if any(column.name == name for column in table.columns):
        return model, counting, (f"weights: rows count by '{name}', as in the fit",)
    note = f"weights: the fit counted rows by '{name}', which this table lacks; all count alike"
    model = replace(model, encoding=replace(model.encoding, weight=None))
    return model, replace(counting, column=None), (note,)


def choose_common_weights(
    models: Mapping[str, Model], asked: Weighting
) -> tuple[dict[str, Model], RowCounting, tuple[str, ...]]:
    """The same for models that are compared on the same rows, and what to know about it.

    Where no column is named and the fits counted rows differently, all rows count alike.
    """
    chosen = {path: choose_weights(path, model, asked) for path, model in models.items()}
    found = dict.fromkeys((each.column, each.kind) for _, each in chosen.values())
    if len(found) == 1:
        counting = next(iter(chosen.values()))[1]
        return {path: model for path, (model, _) in chosen.items()}, counting, ()
    note = "weights: the fits counted rows differently; all count alike here"
    return dict(models), ALIKE, (f"{note} unless {opt('weight')} names a column",)


def suit_common_table(
    models: Mapping[str, Model], counting: RowCounting, table: Table
) -> tuple[dict[str, Model], RowCounting, tuple[str, ...]]:
    """`suit_table` for several models."""
    suited = {path: suit_table(model, counting, table) for path, model in models.items()}
    _, counting, notes = next(iter(suited.values()))
    return {path: model for path, (model, _, _) in suited.items()}, counting, notes
