"""Scores of rows by models that did not learn from them: kept fold by fold, written as a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lrisk_cli.design.design import Design, RawDesign
from lrisk_cli.design.weights import Weighting, normalised
from lrisk_cli.errors import DataError, opt
from lrisk_cli.models.model import Model
from lrisk_cli.tables.arrays import arrow_of
from lrisk_cli.tables.row_lines import RowLines
from lrisk_cli.types import Array, Index

# Is given the position of a candidate, its model, and the rows that the model did not see.
Take = Callable[[int, Model, Design], None]


@dataclass(slots=True, eq=False)
class OutOfFold:
    """Margins in units of the file of the rows left out, for each candidate.

    fold: of each row that takes part, -1 where none tested it. margins: (n, outputs) each, made
    with the first scores. row_numbers, ids, exposure, weights: of the rows. (n,).
    """

    fold: Index
    margins: list[Array | None]
    targets: Any
    row_numbers: Any
    ids: Any
    exposure: Array | None
    weights: Array | None
    weighting: Weighting

    @classmethod
    def of(
        cls, raw: RawDesign, rows: Index, n_candidates: int, weighting: Weighting
    ) -> "OutOfFold":
        """For the rows that take part; no score is known yet."""
        usable = raw.usable.rows
        return cls(
            np.full(len(rows), -1, np.intp),
            [None] * n_candidates,
            None,
            usable.rows[rows],
            None if usable.ids is None else usable.ids.take(arrow_of(rows)),
            None if usable.exposure is None else usable.exposure[rows],
            None if usable.weights is None else usable.weights[rows],
            weighting,
        )

    def taker(self, rows: Index, fold: int) -> Take:
        """Keeps the scores of the rows of one fold, in their order."""
        self.fold[rows] = fold

        def take(at: int, model: Model, test: Design) -> None:
            Z = model.in_units(model.margins(test.rows))
            if self.targets is None:
                self.targets = np.zeros(len(self.fold), test.targets.dtype)
            margins = self.margins[at]
            if margins is None:
                margins = self.margins[at] = np.zeros((len(self.fold), Z.shape[1]))
            if margins.shape[1] != Z.shape[1]:
                raise DataError(
                    f"the rows up to fold {fold + 1} of {opt('cv')} have fewer classes than the "
                    "table; ask for fewer folds"
                )
            self.targets[rows] = test.targets
            margins[rows] = Z

        return take

    def scores(self, at: int) -> "FoldScores":
        """The scores of a candidate, of the rows that were tested, in their order."""
        tested, margins = np.flatnonzero(self.fold >= 0), self.margins[at]
        if margins is None:
            raise TypeError("no score was kept")
        weights = None
        if self.weights is not None:
            weights = normalised(self.weights[tested], self.weighting.kind)
        return FoldScores(
            self.fold[tested],
            margins[tested],
            self.targets[tested],
            self.row_numbers[tested],
            None if self.ids is None else self.ids.take(arrow_of(tested)),
            None if self.exposure is None else self.exposure[tested],
            weights,
        )


@dataclass(frozen=True, slots=True, eq=False)
class FoldScores:
    """Rows scored by models that did not learn from them; see `OutOfFold`. All (n, ...)."""

    fold: Index
    margins: Array
    targets: Any
    row_numbers: Any
    ids: Any
    exposure: Array | None
    weights: Array | None

    def predictions(self, model: Model) -> Any:
        """What the models of the folds predict. model: of the same loss and target. (n,)."""
        return model.row_loss.predict(self.margins, self.exposure)

    def columns(self, model: Model, lines: RowLines) -> dict[str, Any]:
        """The table: what names the row, row_weight if any, fold, target, prediction, ..."""
        loss = model.row_loss
        names = lines.columns(self.row_numbers) | ({} if self.ids is None else {"id": self.ids})
        names |= {} if self.weights is None else {"row_weight": self.weights}
        columns = {
            **names,
            "fold": self.fold,
            "target": model.labelled(self.targets),
            "prediction": model.labelled(self.predictions(model)),
            "loss": loss.values(self.margins, loss.targets(self.targets, self.exposure)),
        }
        probabilities = loss.probabilities(self.margins)
        if probabilities is not None:
            for code, label in enumerate(model.target.classes):
                columns[f"probability:{label}"] = probabilities[:, code]
        return columns
