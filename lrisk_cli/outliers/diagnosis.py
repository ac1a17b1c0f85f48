"""Sizes of robust errors beside robust distances of the columns (Rousseeuw & van Zomeren 1990).

A row may be off the fit, remote in its columns, both (a bad leverage point), or neither.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.clusters.scatter import far_distance, fit_mcd, learn_units
from lrisk_cli.native.threads import one_thread
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Flags, Index

# Errors beyond so many deviations are off the fit.
OFF = 2.5
# The scatter is that of so many rows at most, and of no more columns than a third of them.
MOST_ROWS, ROWS_PER_COLUMN, MOST_COLUMNS = 2000, 3, 100
# Rows that are kept: outliers, and others.
MOST_OUTLIERS, MOST_OTHERS = 300, 500
CHUNK = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Diagnosis:
    """errors: sizes in robust deviations, distances: Mahalanobis, by the MCD of the columns of many
    numbers; outliers: flags. All (m,), of some rows.

    n_columns: of many numbers. far: the 97.5 % quantile of the distances of normal rows. counts: of
    all rows, by whether they are remote and whether they are off the fit.
    """

    errors: Array
    distances: Array
    outliers: Flags
    n_columns: int
    far: float
    counts: dict[tuple[bool, bool], int]


def diagnose(
    rows: Rows, errors: Array, outliers: Flags, some: Index, seed: int
) -> Diagnosis | None:
    """None where no column holds many numbers, or the rows are too few for their scatter.

    errors: in deviations, outliers: (n,). some: the rows that take part.
    """
    draws = np.random.default_rng([seed, 31])
    sample = np.sort(draws.permutation(some)[:MOST_ROWS])
    X = rows.dense_rows(sample)
    units = learn_units(X)
    columns = np.flatnonzero(units.used & ~units.coarse)
    q = len(columns)
    if not 0 < q <= min(len(sample) // ROWS_PER_COLUMN, MOST_COLUMNS):
        return None
    units = learn_units(X[:, columns])
    distances = np.empty(len(some))
    with one_thread():
        shape = fit_mcd(units.apply(X[:, columns]), units.coarse)
        for start in range(0, len(some), CHUNK):
            few = rows.dense_rows(some[start : start + CHUNK])[:, columns]
            distances[start : start + CHUNK] = np.sqrt(shape.distances(units.apply(few)))
    far, sizes, flags = far_distance(q), np.abs(errors[some]), outliers[some]
    counts = {
        (remote, off): int(np.count_nonzero(((distances > far) == remote) & ((sizes > OFF) == off)))
        for remote in (False, True)
        for off in (False, True)
    }
    kept = np.concatenate(
        [
            _evenly(np.flatnonzero(flags), MOST_OUTLIERS),
            _evenly(np.flatnonzero(~flags), MOST_OTHERS),
        ]
    )
    return Diagnosis(sizes[kept], distances[kept], flags[kept], q, far, counts)


def _evenly(places: Index, most: int) -> Index:
    """At most so many of them, from the first to the last."""
    if len(places) <= most:
        return places
    return places[np.unique(np.rint(np.linspace(0, len(places) - 1, most)).astype(np.intp))]
