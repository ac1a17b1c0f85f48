"""Conformity scores of rows that a fit did not see -> intervals of numbers, sets of classes.

Of numbers a score is target - prediction (of counts, the difference of the roots), and an
interval reaches from the prediction plus a low score to the prediction plus a high one. Of classes
a score is the probability of the true class, and a set has all classes that are at least as likely
as a low score. If the rows that are predicted and those of the scores are exchangeable, and all
are new to the model, the target lies inside with at least the probability of the level.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Any, Literal

import numpy as np

from lrisk_cli.design.weights import effective_rows
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.models.calibration_record import ConformalRecord, CoverageRecord
from lrisk_cli.models.model import Model
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.names import WeightKind
from lrisk_cli.types import Array, Flags, Index, Targets

Scale = Literal["plain", "root", "probability"]

# Ranks are kept so densely that a tail is smaller by at most this fraction than was asked for.
_RATIO = 1.01
# Levels whose coverage a fit reports.
LEVELS = (0.8, 0.9, 0.95)
# (n + 1) (1 - level) may be below a whole number by rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """Predictions of rows and what they turned out to be. predictions, targets: (n,).

    probabilities: of classes, (n, k). restore: the way to units of the file where predictions and
    targets are logarithms; it keeps their order. weights: of the rows, where they have any, (n,).
    """

    predictions: Array
    targets: Targets
    probabilities: Array | None = None
    restore: Callable[[Array], Array] = np.asarray
    weights: Array | None = None


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is added to a prediction for the ends of its interval, on the scale of the scores.

    low: of classes, the least probability of a class in the set.
    """

    scale: Scale
    low: float
    high: float

    def interval(self, predictions: Array) -> tuple[Array, Array]:
        """The ends, in units of the predictions. (n,) each."""
        if self.scale == "plain":
            return predictions + self.low, predictions + self.high
        roots = np.sqrt(predictions)
        lower, upper = (np.maximum(roots + end, 0.0) ** 2 for end in (self.low, self.high))
        return lower, upper

    def members(self, probabilities: Array) -> Flags:
        """Which classes are in the set of each row; the likeliest always is. (n, k)."""
        inside: Flags = probabilities >= self.low
        inside[np.arange(len(inside)), np.argmax(probabilities, axis=1)] = True
        return inside

    def covers(self, rows: Outcomes) -> tuple[Flags, Array]:
        """Whether each target is inside; the width in units of the file, or the number of classes.

        (n,) each.
        """
        if rows.probabilities is not None:
            inside = self.members(rows.probabilities)
            found: Flags = inside[np.arange(len(inside)), rows.targets]
            return found, inside.sum(axis=1).astype(np.float64)
        lower, upper = self.interval(rows.predictions)
        widths = rows.restore(upper) - rows.restore(lower)
        return (lower <= rows.targets) & (rows.targets <= upper), widths


def scale_of(model: Model) -> Scale:
    """On which scale the model's scores are."""
    if model.target.classes:
        return "probability"
    return "root" if model.row_loss.log_link else "plain"


def conformity_scores(rows: Outcomes, scale: Scale) -> Array:
    """A score for each row. (n,)."""
    if rows.probabilities is not None:
        of_class: Array = rows.probabilities[np.arange(len(rows.targets)), rows.targets]
        return of_class
    if scale == "plain":
        return np.asarray(rows.targets - rows.predictions)
    return np.asarray(np.sqrt(rows.targets) - np.sqrt(rows.predictions))


def learn_intervals(
    method: Literal["split", "cv"],
    scale: Scale,
    rows: Outcomes,
    part: Index,
    kind: WeightKind = WeightKind.FREQUENCY,
) -> ConformalRecord:
    """The record of a model. part: of each row; the coverage is that of one part by the others.

    kind: of the weights of the rows. A row of weight 3 has three ranks; importances count for as
    many ranks as their effective number of rows.
    """
    scores = conformity_scores(rows, scale)
    ranked = _rank(scores, rows.weights, kind)
    ranks = kept_ranks(ranked.n)
    return ConformalRecord(
        method=method,
        rows=ranked.n,
        scale=scale,
        ranks=tuple(ranks),
        scores=tuple(ranked.at(np.array(ranks)).tolist()),
        coverage=_coverage(scores, scale, rows, part, kind),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """Sorted scores of n ranks. upto: the last rank of each score, None where each has its own."""

    n: int
    scores: Array
    upto: Array | None = None

    def at(self, ranks: Index) -> Array:
        """The scores of these ranks, counted from 1."""
        if self.upto is None:
            return np.asarray(self.scores[ranks - 1])
        places = np.searchsorted(self.upto, ranks - _ROUNDING * self.n)
        return np.asarray(self.scores[np.minimum(places, len(self.scores) - 1)])

    def ends(self, low: int, high: int) -> tuple[float, float]:
        """The scores of two ranks."""
        lower, higher = self.at(np.array([low, high])).tolist()
        return lower, higher


def _rank(scores: Array, weights: Array | None, kind: WeightKind) -> _Ranked:
    """Scores by rank, of which rows with weights have as many as these say."""
    if weights is None:
        return _Ranked(len(scores), np.sort(scores))
    order = np.argsort(scores, kind="stable")
    upto = np.cumsum(weights[order])
    total = float(upto[-1])
    n = total if kind is WeightKind.FREQUENCY else effective_rows(weights)
    whole = max(1, floor(n + _ROUNDING * n))
    return _Ranked(whole, scores[order], upto * (whole / total))


def kept_ranks(n: int) -> list[int]:
    """All of 1..n where n is small; the gaps grow with the distance from either end."""
    low, rank = list[int](), 1
    while 2 * rank <= n + 1:
        low.append(rank)
        rank = max(rank + 1, floor(rank * _RATIO))
    return sorted({*low, *(n + 1 - each for each in low)})


def bounds_of(record: ConformalRecord, level: float, path: str) -> Bounds:
    """The bounds for a level; it is refused where the scores are too few for it."""
    check_level(level)
    ranks, scores = record.ranks, record.scores

    def at(low: int, high: int) -> tuple[float, float]:
        """Where a rank was not kept, the next one farther out."""
        at_low = int(np.searchsorted(ranks, low, side="right")) - 1
        return scores[at_low], scores[int(np.searchsorted(ranks, high, side="left"))]

    found = _bounds(record.scale, record.rows, at, level)
    if found is None:
        least = ceil(_tails(record.scale) / (1.0 - level) - _ROUNDING) - 1
        raise InvalidOption(
            "interval",
            f"needs at least {least} rows to learn from, and {path} has scores of {record.rows}; "
            "ask for a lower level",
            f"{level:g}",
        )
    return found


def check_level(level: float) -> None:
    """Refuse a level that is no fraction."""
    if not 0.0 < level < 1.0:
        raise InvalidOption("interval", "must be between 0 and 1", f"{level:g}")


def require_intervals(path: str, model: Model) -> ConformalRecord:
    """The scores of a model; one without is refused with how to get some."""
    if model.conformal is None:
        raise InvalidOption(
            "interval",
            f": {path} has no conformity scores; fit it with {opt('conformal', 'cv')}, or with "
            f"{opt('holdout', 0.2)} and {opt('conformal', 'split')}",
        )
    return model.conformal


def interval_columns(model: Model, bounds: Bounds, scored: ScoredBatch) -> dict[str, Any]:
    """The columns lower and upper, or for each class whether it is in the set."""
    if scored.probabilities is None:
        ends = bounds.interval(np.asarray(scored.predictions, np.float64))
        lower, upper = (model.target.restore(end) for end in ends)
        return {"lower": lower, "upper": upper}
    inside = bounds.members(scored.probabilities).astype(np.int8)
    return {f"in_set:{label}": inside[:, c] for c, label in enumerate(model.target.classes)}


def _tails(scale: Scale) -> int:
    """An interval has two tails, a set of classes one."""
    return 1 if scale == "probability" else 2


def _bounds(
    scale: Scale, n: int, at: Callable[[int, int], tuple[float, float]], level: float
) -> Bounds | None:
    """From n ranks and the scores at two of them; None where they are too few."""
    tails = _tails(scale)
    low = floor((n + 1) * (1.0 - level) / tails + _ROUNDING)
    if low < 1:
        return None
    lower, higher = at(low, n + 1 - low)
    return Bounds(scale, float(lower), float("inf") if tails == 1 else float(higher))


def _coverage(
    scores: Array, scale: Scale, rows: Outcomes, part: Index, kind: WeightKind
) -> tuple[CoverageRecord, ...]:
    """Of each part, by intervals of the others; levels that these are too few for are left out."""
    found = list[CoverageRecord]()
    for level in LEVELS:
        inside, sizes = np.zeros(len(scores), np.bool_), np.zeros(len(scores))
        for each in np.unique(part):
            mine = part == each
            if mine.all():
                return ()
            of_others = None if rows.weights is None else rows.weights[~mine]
            others = _rank(scores[~mine], of_others, kind)
            bounds = _bounds(scale, others.n, others.ends, level)
            if bounds is None:
                return tuple(found)
            some = replace(
                rows,
                predictions=rows.predictions[mine],
                targets=rows.targets[mine],
                probabilities=None if rows.probabilities is None else rows.probabilities[mine],
            )
            inside[mine], sizes[mine] = bounds.covers(some)
        coverage = float(np.average(inside, weights=rows.weights))
        size = float(np.average(sizes, weights=rows.weights))
        found.append(CoverageRecord(level=level, coverage=coverage, size=size))
    return tuple(found)
