"""Rows with whole frequencies as copies that count alike, for methods that judge equal rows.

Which rows are outliers is found by searches, tests and cuts whose theory is of equal rows. A row of
weight 3 is judged as three rows there, which is what its weight means.
"""

from dataclasses import dataclass, replace

import numpy as np
from msgspec.structs import replace as replace_record

from lrisk_cli.design.design import Design
from lrisk_cli.design.weights import UNWEIGHTED
from lrisk_cli.models.model import Model
from lrisk_cli.models.weight_record import weight_record
from lrisk_cli.names import WeightKind
from lrisk_cli.risk.units import rows_of_units
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.types import Array, Index

# More copies are not made: rows are judged alike then.
MOST_COPIES = 5_000_000
JUDGED_ALIKE = (
    "weights: which rows are outliers is judged with every row alike; the fit and all figures "
    "count rows by weight"
)


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """design: of the copies; of_table: of the rows. rows: the row of each copy, ascending; firsts:
    the first copy of each row.
    """

    design: Design
    of_table: Design
    rows: Index
    firsts: Index

    def of_rows(self, model: Model, solution: Solution) -> tuple[Model, Solution]:
        """A fit to the copies as one to their rows."""
        n_rows = len(self.firsts)
        lam: Array = np.bincount(self.rows, solution.lam, minlength=n_rows).astype(np.float64)
        record = replace_record(model.fit, rows_used=n_rows)
        model = replace(model, fit=record, weight=weight_record(self.of_table))
        return model, replace(solution, lam=lam)


def copies_of(design: Design) -> Copies | None:
    """The copies of the rows; None where all count alike, or weights are no whole numbers."""
    rows = rows_of_copies(design.masses, design.weighting.kind)
    if rows is None:
        return None
    alike = replace(design.take(rows), weights=None, masses=None, weighting=UNWEIGHTED)
    return Copies(alike, design, rows, np.flatnonzero(np.diff(rows, prepend=-1)))


def rows_of_copies(weights: Array | None, kind: WeightKind) -> Index | None:
    """The row of each copy, ascending, by whole frequencies; None for other weights."""
    if weights is None or kind is WeightKind.IMPORTANCE or weights.sum() > MOST_COPIES:
        return None
    return rows_of_units(weights) if bool((weights == np.rint(weights)).all()) else None


def alike_notes(design: Design) -> tuple[str, ...]:
    """What to know where rows count for unlike much and are judged alike."""
    if design.masses is None or rows_of_copies(design.masses, design.weighting.kind) is not None:
        return ()
    return (JUDGED_ALIKE,)
