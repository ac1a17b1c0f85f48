"""What a page shows of scored rows: losses, a sample, counts of classes, the worst rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.evaluation.class_errors import ClassErrors, ClassTally, Confusion
from lrisk_cli.evaluation.worst_rows import WorstRow, WorstRows
from lrisk_cli.models.fitting import Scores
from lrisk_cli.models.model import Model
from lrisk_cli.risk.weighted import row_weights
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.types import Array, Targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Rows whose predictions are kept for a picture.
SAMPLED_ROWS = 1500


@dataclass(frozen=True, slots=True, eq=False)
class EvaluatedRows:
    """Rows with their losses. losses: ascending, weights: those of the risk in the same order.

    predictions, targets: of a sample of the rows; codes where they are classes. worst: the rows
    that lose most. errors, confusion: of classes; confusion is None if there are very many.
    masses: how much the rows count, in the order of the losses; sampled_masses: those of the
    sample; None where all rows count alike.
    """

    name: str
    losses: Array
    weights: Array
    predictions: Array
    targets: Array
    worst: Sequence[WorstRow] = ()
    errors: ClassErrors | None = None
    confusion: Confusion | None = None
    masses: Array | None = None
    sampled_masses: Array | None = None

    @property
    def relative_weights(self) -> Array:
        """The weight of each row over that of an average row of its mass. (n,)."""
        if self.masses is None:
            return len(self.losses) * self.weights
        return np.asarray(self.weights / self.masses * self.masses.sum())

    def from_top(self, ranks: "NDArray[np.intp]") -> Array:
        """Which share of the rows the rows of ranks 1 to r are, 1 being the largest loss."""
        if self.masses is None:
            return np.asarray(ranks / len(self.losses))
        return np.asarray(np.cumsum(self.masses[::-1])[ranks - 1] / self.masses.sum())


@dataclass(slots=True)
class PageRows:
    """Collects rows for a page. classes: what counts them, None for numbers."""

    classes: ClassTally | None = None
    sample: RowSample = field(default_factory=lambda: RowSample(SAMPLED_ROWS))
    worst: WorstRows = field(default_factory=WorstRows)

    def add(
        self,
        rows: "NDArray[np.int64]",
        losses: Array,
        ids: object,
        targets: Targets,
        predictions: Targets,
        weights: Array | None = None,
    ) -> None:
        """Take one batch; its classes are counted elsewhere. All (n,)."""
        beside = () if weights is None else (weights,)
        self.sample.add(rows, predictions, targets, *beside)
        self.worst.add(rows, losses, ids, targets, predictions)

    def evaluated(
        self, name: str, model: Model, ascending: Array, masses: Array | None = None
    ) -> EvaluatedRows:
        """What the figures of a page are drawn from. ascending: sorted losses; masses: of them."""
        errors, confusion = None, None
        if self.classes is not None:
            errors, pairs = self.classes.errors, self.classes.pairs
            confusion = None if pairs is None else Confusion(model.target.classes, pairs)
        predictions, targets, *beside = self.sample.columns
        return EvaluatedRows(
            name,
            ascending,
            row_weights(ascending, model.spectrum, masses),
            predictions,
            targets,
            worst=self.worst.rows(model),
            errors=errors,
            confusion=confusion,
            masses=masses,
            sampled_masses=beside[0] if beside else None,
        )


def rows_of_design(model: Model, design: Design, scored: Scores) -> PageRows:
    """The rows of a design, for a page."""
    n_classes = len(model.target.classes)
    targets, weights = design.targets, design.weights
    found = PageRows(worst=WorstRows(design.lines))
    if n_classes:
        found.classes = ClassTally(n_classes, weighted=weights is not None)
    found.add(design.row_numbers, scored.losses, design.ids, targets, scored.predictions, weights)
    if found.classes is not None:
        found.classes.add(targets, scored.predictions, scored.probabilities, weights)
    return found
