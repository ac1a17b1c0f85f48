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
from lrisk_cli.risk.row_weights import row_weights
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
    """

    name: str
    losses: Array
    weights: Array
    predictions: Array
    targets: Array
    worst: Sequence[WorstRow] = ()
    errors: ClassErrors | None = None
    confusion: Confusion | None = None


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
    ) -> None:
        """Take one batch; its classes are counted elsewhere. All (n,)."""
        self.sample.add(rows, predictions, targets)
        self.worst.add(rows, losses, ids, targets, predictions)

    def evaluated(self, name: str, model: Model, ascending: Array) -> EvaluatedRows:
        """What the figures of a page are drawn from. ascending: sorted losses, (n,)."""
        errors, confusion = None, None
        if self.classes is not None:
            errors, pairs = self.classes.errors, self.classes.pairs
            confusion = None if pairs is None else Confusion(model.target.classes, pairs)
        predictions, targets = self.sample.columns
        return EvaluatedRows(
            name,
            ascending,
            row_weights(ascending, model.spectrum),
            predictions,
            targets,
            worst=self.worst.rows(model),
            errors=errors,
            confusion=confusion,
        )


def rows_of_design(model: Model, design: Design, scored: Scores) -> PageRows:
    """The rows of a design, for a page."""
    n_classes = len(model.target.classes)
    found = PageRows(ClassTally(n_classes) if n_classes else None)
    targets = design.targets
    found.add(design.row_numbers, scored.losses, design.ids, targets, scored.predictions)
    if found.classes is not None:
        found.classes.add(targets, scored.predictions, scored.probabilities)
    return found
