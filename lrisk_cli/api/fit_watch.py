"""What a trace shows of points that a solver passes: the loss of rows held out, marked rows."""

from collections.abc import Callable

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.errors import InvalidOption
from lrisk_cli.features.features import Features
from lrisk_cli.models.fitting import FitOptions, choose_loss
from lrisk_cli.solvers.solution import Watch, Watched
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.table import Table
from lrisk_cli.types import Array, Flags

MARKS = frozenset({"1", "true", "yes"})


def read_marks(table: Table, name: str) -> Flags:
    """True for the rows of the table whose cell is 1, true or yes. (rows of the table,)."""
    table.column(name)
    found = []
    for batch in table.batches([name], invalid_as_missing=True):
        cells = batch.columns[name]
        if isinstance(cells, Texts):
            marked = np.array([text.strip().lower() in MARKS for text in cells.values], bool)
            found.append((cells.codes >= 0) & np.append(marked, False)[cells.codes])
        else:
            found.append(np.asarray(cells) == 1.0)
    marks = np.concatenate(found)
    if not marks.any():
        raise InvalidOption("trace_rows", f": column '{name}' marks no row with 1, true or yes")
    return marks


def make_watch(
    design: Design,
    options: FitOptions,
    features: Features,
    held_out: Design | None,
    marks: Flags | None,
) -> Watch | None:
    """Sees the points of one fit; None where there is nothing to see. marks: of all rows read."""
    if held_out is None and marks is None:
        return None
    score = None if held_out is None else _scorer(held_out, options, features)
    marked = None if marks is None else marks[design.row_numbers]

    def see(W: Array, lam: Array | None) -> Watched:
        test_loss = None if score is None else score(W)
        kept = None
        if marked is not None and lam is not None:
            kept = int(np.count_nonzero(marked & (lam > 0.0)))
        return Watched(test_loss if test_loss is None or np.isfinite(test_loss) else None, kept)

    return see


def _scorer(held_out: Design, options: FitOptions, features: Features) -> Callable[[Array], float]:
    """The mean loss of the rows held out, in units of the file, from W."""
    target = held_out.encoding.target
    loss = choose_loss(options.loss, target)
    targets = loss.targets(held_out.targets, held_out.exposure)

    def score(W: Array) -> float:
        Z = features.map.margins(held_out.rows, features.coefficients(W))
        losses = loss.values(target.in_units(Z), targets)
        return float(np.average(losses, weights=held_out.weights))

    return score
