"""Distances of rows to clusters, to other rows, and wrong cells -> scores, outliers and kinds.

The score of a row is the largest of three deviations: from the clusters, from its nearest rows
(clusters/anomalies.py), and of its worst cell (cell_findings.py). Each has a judgement of its own
of what is outlying; a row is an outlier by any of them.
"""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.clusters.anomalies import Anomalies
from lrisk_cli.design.design import Design
from lrisk_cli.outliers.cell_findings import find_cells
from lrisk_cli.outliers.robust_fit import RankedScores, take_share, threshold_below
from lrisk_cli.robust.judge import CELL, ERROR, GROUP, TAIL
from lrisk_cli.robust.judgement import far_from, find_outlying
from lrisk_cli.robust.scale_mixture import Threshold
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Flags

# Rows nearer than this are no outliers, whatever the others do: duplicates are no group apart.
NEAREST = -2.5


def score_anomalies(
    design: Design,
    texts: Sequence[Texts],
    found: Anomalies,
    contamination: float | None,
    seed: int,
) -> tuple[Threshold, RankedScores, float | None]:
    """Scores and kinds of the rows; the last is the distance beyond which rows are outliers.

    contamination: so many rows of the largest scores are outliers; None to judge. texts: of the
    categories, as the table has them.
    """
    n, d = design.rows.shape
    n_free = float(max(n - d * len(found.centres), 1))
    far, lonely = _outlying(found.far, n_free), _outlying(found.lonely, n_free)
    cells = find_cells(design, texts, ~(far | lonely), numbers=False, seed=seed)
    scores = np.maximum(np.maximum(found.far, found.lonely), cells.scores)
    kinds = np.zeros(n, np.int8)
    kinds[scores > far_from(n, n_free)] = TAIL
    kinds[far | lonely] = ERROR
    kinds[cells.far] = CELL
    kinds[far & found.grouped] = GROUP
    firsts = np.where(cells.far, cells.places, -1).astype(np.int32)
    ranked = RankedScores(scores, kinds, firsts, cells)
    if contamination is not None:
        threshold, ranked = take_share(ranked, contamination, 1.0)
    else:
        threshold = Threshold(float(ranked.outliers.mean()), threshold_below(ranked), 1.0)
    far &= ranked.outliers
    distance = float(np.sqrt(found.losses[far].min())) if far.any() else None
    return threshold, ranked, distance


def _outlying(z: Array, n_free: float) -> Flags:
    """Deviations that are too large for the others. (n,)."""
    flags = find_outlying(np.maximum(z, NEAREST), n_free).flags
    return np.asarray(flags & (z > 0.0))
