"""Predicted classes and probabilities, batch by batch, give counts, calibration and curves.

Letters: n rows, k classes, p the probability of the second of two classes or of the predicted one
of more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.streams import CHUNK, Chunks, Column
from lrisk_cli.types import Array, Targets

# Bins of probability; classes of which all pairs are counted.
N_BINS, MOST_CONFUSED = 10, 100
# Points of a curve.
CURVE_POINTS = 200

# Whole numbers of rows, or sums of their weights.
Counts = NDArray[np.int64] | Array


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Rows by probability. n, p, hits: rows, their mean probability, fraction of the class."""

    n: Counts
    p: Array
    hits: Array


@dataclass(frozen=True, slots=True, eq=False)
class Confusion:
    """Rows by class. counts: true class down, predicted class across, (k, k)."""

    classes: Sequence[str]
    counts: Counts


def _zeros(shape: tuple[int, int], *, weighted: bool) -> Counts:
    return np.zeros(shape) if weighted else np.zeros(shape, np.int64)


class ClassTally:
    """Collects rows of k classes.

    Holds counts of classes, of pairs of them up to `MOST_CONFUSED`, sums over bins and, for two
    classes, p of each row (8 bytes, the sign is the class). means: also the mean probabilities.
    """

    def __init__(self, n_classes: int, *, weighted: bool = False, means: bool = True) -> None:
        self.n_classes = n_classes
        # Rows of each class, rows predicted as it, and both.
        self._counts = _zeros((3, n_classes), weighted=weighted)
        few = n_classes <= MOST_CONFUSED
        self._pairs = _zeros((n_classes, n_classes), weighted=weighted) if few else None
        self._scores = Column() if n_classes == 2 else None
        self._weights = Column() if n_classes == 2 and weighted else None
        # Sums of weights depend on their order, so that they are made of fixed chunks.
        self._waiting = Chunks(3) if weighted else None
        self._chunks = Chunks(4 if weighted else 3)
        self._sums = np.zeros((4, N_BINS))
        self.means = MeanProbabilities(n_classes) if means else None
        self.has_probabilities = False

    def add(
        self,
        targets: Targets,
        predictions: Targets,
        probabilities: Array | None,
        weights: Array | None = None,
    ) -> None:
        """Take one batch. targets, predictions: codes; probabilities: (n, k). Others (n,)."""
        if self._waiting is None or weights is None:
            self._count(self._counts, self._pairs, targets, predictions, None)
        else:
            self._waiting.add((targets, predictions, weights), self._take_codes)
        if probabilities is None:
            return
        self.has_probabilities = True
        if self.means is not None:
            self.means.add(targets, probabilities, weights)
        if self._scores is not None:
            p, hit = probabilities[:, 1], targets == 1
            self._scores.add(np.copysign(p, np.where(hit, 1.0, -1.0)))
            squares = (p - hit) ** 2
        else:
            p, hit, squares = of_many(targets, probabilities)
        if self._weights is not None and weights is not None:
            self._weights.add(weights)
        of_rows = (p, hit, squares) if weights is None else (p, hit, squares, weights)
        self._chunks.add(of_rows, self._take)

    def _count(
        self,
        counts: Counts,
        pairs: Counts | None,
        targets: Targets,
        predictions: Targets,
        weights: Array | None,
    ) -> None:
        """Add rows to counts (3, k) and pairs (k, k), in place."""
        k, right = self.n_classes, targets == predictions
        counts[0] += np.bincount(targets, weights, k)
        counts[1] += np.bincount(predictions, weights, k)
        counts[2] += np.bincount(targets[right], None if weights is None else weights[right], k)
        if pairs is not None:
            codes = targets.astype(np.int64) * k + predictions
            pairs += np.bincount(codes, weights, k * k).reshape(k, k)

    def _take(self, chunk: Array) -> None:
        self._sums = self._sums + bin_sums(chunk)

    def _take_codes(self, chunk: Array) -> None:
        targets, predictions = chunk[:2].astype(np.int64)
        self._count(self._counts, self._pairs, targets, predictions, chunk[2])

    @property
    def counts(self) -> tuple[Counts, Counts | None]:
        """Rows of each class, rows predicted as it, both (3, k); pairs of true and predicted."""
        if self._waiting is None or not self._waiting.waiting.size:
            return self._counts, self._pairs
        counts, pairs = self._counts.copy(), None if self._pairs is None else self._pairs.copy()
        targets, predictions = self._waiting.waiting[:2].astype(np.int64)
        self._count(counts, pairs, targets, predictions, self._waiting.waiting[2])
        return counts, pairs

    @property
    def pairs(self) -> Counts | None:
        """Rows by true and predicted class, (k, k); None for very many classes."""
        return self.counts[1]

    @property
    def errors(self) -> "ClassErrors":
        """What is known of the rows so far."""
        bins, squares, scores = None, None, None
        if self.has_probabilities:
            sums = self._sums + bin_sums(self._chunks.waiting)
            n = sums[0].astype(self._counts.dtype)
            some = np.where(n > 0, n, 1)
            bins = Bins(n, sums[1] / some, sums[2] / some)
            squares = float(np.sum(sums[3]))
        if self._scores is not None and bins is not None:
            weights = None if self._weights is None else self._weights.values
            scores = Scores(self._scores.values, weights)
        actual, predicted, hits = self.counts[0]
        return ClassErrors(actual, predicted, hits, bins, squares, scores)


def of_many(targets: Targets, probabilities: Array) -> tuple[Array, Array, Array]:
    """Probability of the predicted class, whether it is the right one, squared error. (n,)."""
    rows = np.arange(len(targets))
    likeliest = np.argmax(probabilities, axis=1)
    right = probabilities[rows, targets]
    squares = np.einsum("ij,ij->i", probabilities, probabilities) - right**2 + (1.0 - right) ** 2
    return probabilities[rows, likeliest], likeliest == targets, squares


def bin_sums(chunk: Array) -> Array:
    """By bin: rows, p, hits, squares. chunk: p, hits, squares, weights if any (., n). (4, bins)."""
    p, hits, squares = chunk[:3]
    bins = np.minimum((p * N_BINS).astype(np.int64), N_BINS - 1)
    found = np.empty((4, N_BINS))
    weights = chunk[3] if len(chunk) > 3 else None
    found[0] = np.bincount(bins, weights, N_BINS)
    for sums, each in zip(found[1:], (p, hits, squares), strict=True):
        sums[:] = np.bincount(bins, each if weights is None else weights * each, N_BINS)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """p of the second of two classes, minus for rows of the first; weights of the rows. (n,)."""

    signed: Array
    weights: Array | None = None

    def of_class(self, second: bool) -> "RankedScores":
        """p of the rows of one of the classes."""
        mine = np.signbit(self.signed) != second
        p = np.abs(self.signed[mine])
        if self.weights is None:
            p.sort()
            return RankedScores(p)
        order = np.argsort(p, kind="stable")
        weights = self.weights[mine][order]
        return RankedScores(p[order], weights, np.append(0.0, np.cumsum(weights)))


@dataclass(frozen=True, slots=True, eq=False)
class RankedScores:
    """p, ascending. upto: the weight of the rows before each and of all, (n + 1,)."""

    p: Array
    weights: Array | None = None
    upto: Array | None = None

    @property
    def total(self) -> int | float:
        """How many rows, or their weight."""
        return len(self.p) if self.upto is None else float(self.upto[-1])

    def below(self, at: Array, side: Literal["left", "right"] = "left") -> Counts:
        """How many rows, or their weight, have a smaller p; right: or an equal one. (m,)."""
        places = np.searchsorted(self.p, at, side)
        return places if self.upto is None else self.upto[places]

    def chunks(self) -> Iterator[tuple[Array, Array | int]]:
        """p and weights, a chunk at a time."""
        for start in range(0, len(self.p), CHUNK):
            some = slice(start, start + CHUNK)
            yield self.p[some], 1 if self.weights is None else self.weights[some]


class ClassErrors:
    """The formulas of class metrics; see `error_metrics.Classes`.

    actual, predicted, hits: rows of each class, predicted as it, both. squares: sum of the squared
    errors of probabilities. scores: of two classes.
    """

    def __init__(
        self,
        actual: Counts,
        predicted: Counts,
        hits: Counts,
        bins: Bins | None,
        squares: float | None,
        scores: Scores | None,
    ) -> None:
        self.actual, self.predicted, self.hits = actual, predicted, hits
        self.bins, self._squares, self._scores = bins, squares, scores
        self._n = actual.sum().item()

    @property
    def accuracy(self) -> float:
        return float(self.hits.sum().item() / self._n)

    @property
    def majority(self) -> float:
        return float(self.actual.max().item() / self._n)

    @property
    def balanced_accuracy(self) -> float:
        occur = self.actual > 0
        return float(np.mean(self.hits[occur] / self.actual[occur]))

    def precision(self, code: int | None = None) -> float | None:
        return self._ratio(self.hits, self.predicted, code)

    def recall(self, code: int | None = None) -> float | None:
        return self._ratio(self.hits, self.actual, code)

    def f1(self, code: int | None = None) -> float | None:
        return self._ratio(2 * self.hits, self.actual + self.predicted, code)

    def _ratio(self, above: Counts, below: Counts, code: int | None) -> float | None:
        """Of one class; of more than two, the mean over those that occur or are predicted.

        In a mean a ratio without denominator is 0, elsewhere it is not defined.
        """
        if code is None and len(above) > 2:
            occur = self.actual + self.predicted > 0
            below = np.where(below > 0, below, 1)
            return float(np.mean(above[occur] / below[occur]))
        at = 1 if code is None else code
        return float(above[at].item() / below[at].item()) if below[at] else None

    @property
    def brier(self) -> float | None:
        return None if self._squares is None else float(self._squares / self._n)

    @property
    def calibration_error(self) -> float | None:
        bins = self.bins
        if bins is None:
            return None
        return float(np.sum(bins.n * np.abs(bins.hits - bins.p)) / self._n)

    @cached_property
    def _ranked(self) -> tuple[RankedScores, RankedScores] | None:
        """The rows of the first and of the second class."""
        if self._scores is None:
            return None
        return self._scores.of_class(second=False), self._scores.of_class(second=True)

    @property
    def roc_auc(self) -> float | None:
        """Twice the pairs in the right order plus once those tied, over twice the pairs."""
        if self._ranked is None:
            return None
        first, second = self._ranked
        if not len(first.p) or not len(second.p):
            return None
        doubled: int | float = 0
        for p, weights in second.chunks():
            for side in ("left", "right"):
                doubled += np.sum(weights * first.below(p, side)).item()
        return float(doubled / (2 * first.total * second.total))

    @property
    def average_precision(self) -> float | None:
        """Mean over the rows of the second class of the precision at their probability."""
        if self._ranked is None:
            return None
        first, second = self._ranked
        if not len(second.p):
            return None
        total = 0.0
        for p, weights in second.chunks():
            found = second.total - second.below(p)
            others = first.total - first.below(p)
            total += float(np.sum(weights * found / (found + others)))
        return float(total / second.total)

    def roc_curve(self) -> tuple[Array, Array] | None:
        """Rates of false and of true positives at falling thresholds; None if undefined."""
        if self._ranked is None or not all(len(ranked.p) for ranked in self._ranked):
            return None
        # Thresholds are quantiles of either class, so that both axes are covered evenly.
        levels = np.linspace(0.0, 1.0, CURVE_POINTS // 2)
        thresholds = [each.p[_places(each.p, levels)] for each in self._ranked]
        at = np.append(np.sort(np.concatenate(thresholds)), np.inf)[::-1]
        false, true = (1.0 - each.below(at) / each.total for each in self._ranked)
        return false, true


def _places(ascending: Array, levels: Array) -> NDArray[np.int64]:
    return np.asarray(levels * (len(ascending) - 1), dtype=np.int64)
