"""Rows and targets that are numbers -> which rows are outliers, of which kind, and how surely.

A robust linear fit gives standardised errors. What it calls outlying is an error only if no correct
row would be: errors are divided by their scale around the row (a region that the fit does not
follow, noise that grows), and judged on a scale where skewed errors are symmetric. Rows that are
remote in a column have no such excuse: there the linear fit decides.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.robust.alternatives import Alternative, deleted_errors, find_alternative
from lrisk_cli.robust.bisquare import MAD_TO_DEVIATION
from lrisk_cli.robust.judgement import Group, Outlying, far_from, find_outlying
from lrisk_cli.robust.linear import LinearFit, fit_linear
from lrisk_cli.robust.local_scale import local_scales
from lrisk_cli.robust.skewness import straighten
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Flags

# What a row is called; the first means nothing.
KINDS = ("", "error", "group", "leverage", "cell", "label", "tail")
PLAIN, ERROR, GROUP, LEVERAGE, CELL, LABEL, TAIL = range(len(KINDS))
# Fewer rows than this for each coefficient cannot be judged, or are little evidence.
FEWEST_ROWS, THIN = 2, 5
# A value that so many rows have, the smallest or largest of a target whose other values hardly
# repeat, is a part of its own: zeros of a zero-inflated target.
MASS, FEWEST_MASS, REPEATED = 0.1, 10, 0.5
# It is at most so many deviations of the other targets from the nearest of them.
APART = 2.0
# Up to so many rows, outliers are compared with explanations that need none.
MOST_COMPARED = 400
# Columns of fewer values are codes, and no row is remote in them.
FEWEST_VALUES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Judgement:
    """scores: (n,) errors in their standard deviations.

    kinds: (n,) positions in KINDS. weights: (n,) probability that the error of a row is that of an
    inlier. fraction: of rows with wrong errors, estimated. threshold: the smallest score of an
    outlier. scale: of the errors of inliers, in units of y. fit: None where the rows are too few to
    judge. alone: rows with the value that the target holds so often, judged apart. instead: what
    explains the rows better than errors would, in words.
    """

    scores: Array
    kinds: NDArray[np.int8]
    weights: Array
    fraction: float
    threshold: float
    scale: float
    groups: tuple[Group, ...]
    fit: LinearFit | None
    alone: Flags
    skewness: float = 0.0
    thin: bool = False
    instead: str = ""

    @property
    def outliers(self) -> Flags:
        """Rows with a kind other than a long tail. (n,)."""
        return np.asarray((self.kinds != PLAIN) & (self.kinds != TAIL))


def judge_numbers(rows: Rows, y: Array, *, constant: bool, seed: int = 0) -> Judgement:
    """rows: with their constant, the last column, if constant. y: (n,)."""
    alone = _mass(y)
    if not alone.any():
        return _judge(rows, y, constant=constant, seed=seed, alone=alone)
    kept = np.flatnonzero(~alone)
    part = _judge(rows.take(kept), y[kept], constant=constant, seed=seed, alone=alone[kept])
    return _with_mass(part, kept, alone)


def judge_errors(
    rows: Rows, z: Array, predicted: Array, first: Judgement, *, seed: int = 0
) -> Judgement:
    """The same for the standardised errors z of another model, (n,), and what it predicts, (n,).

    first: the judgement by the linear one.
    """
    n, p = rows.shape
    part = _conclude(rows, z, predicted, _remote(rows, p), float(max(n - p, 1)), seed)
    return replace(part, scale=first.scale, fit=first.fit, alone=first.alone, thin=first.thin)


def _judge(rows: Rows, y: Array, *, constant: bool, seed: int, alone: Flags) -> Judgement:
    n, p = rows.shape
    if n < FEWEST_ROWS * p + 2:
        return _undecided(y, alone)
    fit = fit_linear(rows, y, seed=seed)
    remote = _remote(rows, p - constant)
    part = _conclude(rows, fit.scores, y - fit.errors, remote, float(n - p), seed)
    if part.outliers.any() and n <= MOST_COMPARED:
        part = _compare(rows.dense_rows(slice(None)), y, part, remote, seed)
    return replace(part, scale=fit.scale, fit=fit, alone=alone, thin=n < THIN * p)


def _compare(A: Array, y: Array, part: Judgement, remote: Flags, seed: int) -> Judgement:
    """The outliers that remain where an alternative explains the rows much better than errors do.

    Those must be outliers under the alternative too; remote rows have no excuse. A: (n, p).
    """
    found = find_alternative(A, y, part.outliers, remote)
    if found is None:
        return part
    z = _scores_under(found, seed)
    other = find_outlying(z, float(max(len(y) - found.rows.shape[1], 1)))
    excused = part.outliers & ~remote & ~other.flags
    if not excused.any():
        return part
    kinds = part.kinds.copy()
    kinds[excused] = TAIL
    scores = np.where(remote, part.scores, np.minimum(part.scores, np.abs(z)))
    outliers = part.outliers & ~excused
    weights = np.where(excused, np.maximum(part.weights, 1.0 - other.outlying), part.weights)
    return replace(
        part,
        scores=scores,
        kinds=kinds,
        weights=weights,
        fraction=min(part.fraction, float(1.0 - weights.mean())),
        threshold=float(scores[outliers].min()) if outliers.any() else float(scores.max()),
        groups=part.groups if (kinds == GROUP).any() else (),
        instead=found.words,
    )


def _scores_under(found: Alternative, seed: int) -> Array:
    """Standardised errors where no row is to be wrong. (n,)."""
    if not found.refit:
        return deleted_errors(found.rows, found.y)
    z = fit_linear(DenseRows(found.rows), found.y, seed=seed).scores
    return straighten(z, z, found.skewness) if found.skewness else z


def _conclude(
    rows: Rows, z: Array, predicted: Array, remote: Flags, n_free: float, seed: int
) -> Judgement:
    """What standardised errors say. predicted, remote: (n,)."""
    found = find_outlying(z, n_free)
    if found.flags.any():
        scales = local_scales(rows, predicted, np.abs(z), seed=seed)
        # The errors are in units of the usual scale already.
        scales = np.maximum(scales / float(np.median(scales)), 1.0)
        scales[remote] = 1.0
        z = z / scales
        found = find_outlying(z, n_free)
    kinds = _kinds(z, found, remote, n_free)
    scores = np.abs(z)
    outliers = (kinds != PLAIN) & (kinds != TAIL)
    return Judgement(
        scores=scores,
        kinds=kinds,
        weights=1.0 - found.outlying,
        fraction=found.fraction,
        threshold=float(scores[outliers].min()) if outliers.any() else float(scores.max()),
        scale=1.0,
        groups=found.groups,
        fit=None,
        alone=np.zeros(len(z), np.bool_),
        skewness=found.skewness,
    )


def _kinds(z: Array, found: Outlying, remote: Flags, n_free: float) -> NDArray[np.int8]:
    """What the errors of the rows are called."""
    flags = found.flags
    kinds = np.zeros(len(z), np.int8)
    kinds[np.abs(z) > far_from(len(z), n_free)] = TAIL
    kinds[flags] = ERROR
    for group in found.groups:
        kinds[flags & (np.sign(z) == np.sign(group.centre))] = GROUP
    kinds[flags & remote] = LEVERAGE
    return kinds


def _remote(rows: Rows, n_columns: int) -> Flags:
    """Rows far out in one of their columns. (n,)."""
    n = rows.shape[0]
    remote = np.zeros(n, np.bool_)
    for j in rows.number_columns().tolist():
        if j >= n_columns:
            break
        column = rows.column(j)
        centre = float(np.median(column))
        mad = MAD_TO_DEVIATION * float(np.median(np.abs(column - centre)))
        if mad == 0.0 or len(np.unique(column[: 50 * FEWEST_VALUES])) < FEWEST_VALUES:
            continue
        u = np.clip((column - centre) / mad, -1e100, 1e100)
        remote |= find_outlying(u, float(n)).flags
    return remote


def _mass(y: Array) -> Flags:
    """The rows with the one value that a continuous target holds again and again.

    It is the smallest or the largest, next to the others: one far from them, such as -999, is not.
    """
    none = np.zeros(len(y), np.bool_)
    values, counts = np.unique(y, return_counts=True)
    at = int(np.argmax(counts))
    n_rest = len(y) - int(counts[at])
    if at not in (0, len(values) - 1) or counts[at] < max(MASS * len(y), FEWEST_MASS):
        return none
    if len(values) - 1 <= REPEATED * n_rest:
        return none
    found = np.asarray(y == values[at])
    rest = y[~found]
    spread = MAD_TO_DEVIATION * float(np.median(np.abs(rest - np.median(rest))))
    nearest = float(np.abs(rest - values[at]).min())
    return found if nearest <= APART * spread else none


def _with_mass(part: Judgement, kept: NDArray[np.intp], alone: Flags) -> Judgement:
    """A judgement of the rows `kept`, as one of all: the others are no outliers."""
    n = len(alone)
    scores, weights = np.zeros(n), np.ones(n)
    kinds = np.zeros(n, np.int8)
    scores[kept], weights[kept], kinds[kept] = part.scores, part.weights, part.kinds
    share = len(kept) / n
    groups = tuple(Group(each.centre, each.share * share) for each in part.groups)
    return replace(
        part, scores=scores, kinds=kinds, weights=weights, fraction=part.fraction * share,
        groups=groups, alone=alone,
    )  # fmt: skip


def _undecided(y: Array, alone: Flags) -> Judgement:
    """Too few rows: none is called an outlier, and all count."""
    n = len(y)
    sizes = np.abs(y - np.median(y))
    scale = MAD_TO_DEVIATION * float(np.median(sizes)) or float(sizes.max()) or 1.0
    return Judgement(
        sizes / scale, np.zeros(n, np.int8), np.ones(n), 0.0, float((sizes / scale).max()), scale,
        (), None, alone,
    )  # fmt: skip
