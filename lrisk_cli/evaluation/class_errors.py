"""Predicted classes and probabilities, batch by batch, give counts, calibration and curves.

Letters: n rows, k classes, p the probability of the second of two classes or of the predicted one
of more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.streams import CHUNK, Chunks, Column
from lrisk_cli.types import Array, Targets

# Bins of probability; classes of which all pairs are counted.
N_BINS, MOST_CONFUSED = 10, 100
# Points of a curve.
CURVE_POINTS = 200

Counts = NDArray[np.int64]


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


class ClassTally:
    """Collects rows of k classes.

    Holds counts of classes, of pairs of them up to `MOST_CONFUSED`, sums over bins and, for two
    classes, p of each row (8 bytes, the sign is the class).
    """

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes
        # Rows of each class, rows predicted as it, and both.
        self.actual, self.predicted, self.hits = np.zeros((3, n_classes), np.int64)
        few = n_classes <= MOST_CONFUSED
        self.pairs = np.zeros((n_classes, n_classes), np.int64) if few else None
        self._scores = Column() if n_classes == 2 else None
        self._chunks = Chunks(3)
        self._sums = np.zeros((4, N_BINS))
        self.means = MeanProbabilities(n_classes)
        self.has_probabilities = False

    def add(self, targets: Targets, predictions: Targets, probabilities: Array | None) -> None:
        """Take one batch. targets, predictions: codes (n,); probabilities: (n, k)."""
        k = self.n_classes
        self.actual += np.bincount(targets, minlength=k)
        self.predicted += np.bincount(predictions, minlength=k)
        self.hits += np.bincount(targets[targets == predictions], minlength=k)
        if self.pairs is not None:
            codes = targets.astype(np.int64) * k + predictions
            self.pairs += np.bincount(codes, minlength=k * k).reshape(k, k)
        if probabilities is None:
            return
        self.has_probabilities = True
        self.means.add(targets, probabilities)
        if self._scores is not None:
            p, hit = probabilities[:, 1], targets == 1
            self._scores.add(np.copysign(p, np.where(hit, 1.0, -1.0)))
            squares = (p - hit) ** 2
        else:
            p, hit, squares = _of_many(targets, probabilities)
        self._chunks.add((p, hit, squares), self._take)

    def _take(self, chunk: Array) -> None:
        self._sums = self._sums + _bin_sums(chunk)

    @property
    def errors(self) -> "ClassErrors":
        """What is known of the rows so far."""
        bins, squares = None, None
        if self.has_probabilities:
            sums = self._sums + _bin_sums(self._chunks.waiting)
            n = sums[0].astype(np.int64)
            bins = Bins(n, sums[1] / np.maximum(n, 1), sums[2] / np.maximum(n, 1))
            squares = float(np.sum(sums[3]))
        scores = self._scores.values if self._scores is not None and bins is not None else None
        return ClassErrors(self.actual, self.predicted, self.hits, bins, squares, scores)


def _of_many(targets: Targets, probabilities: Array) -> tuple[Array, Array, Array]:
    """Probability of the predicted class, whether it is the right one, squared error. (n,)."""
    rows = np.arange(len(targets))
    likeliest = np.argmax(probabilities, axis=1)
    right = probabilities[rows, targets]
    squares = np.einsum("ij,ij->i", probabilities, probabilities) - right**2 + (1.0 - right) ** 2
    return probabilities[rows, likeliest], likeliest == targets, squares


def _bin_sums(chunk: Array) -> Array:
    """By bin: rows, p, hits, squares. chunk: p, hits, squares (3, n). (4, bins)."""
    p, hits, squares = chunk
    bins = np.minimum((p * N_BINS).astype(np.int64), N_BINS - 1)
    weights = (np.ones(len(p)), p, hits, squares)
    return np.array([np.bincount(bins, each, minlength=N_BINS) for each in weights])


class ClassErrors:
    """The formulas of class metrics; see `error_metrics.Classes`.

    actual, predicted, hits: rows of each class, predicted as it, both. squares: sum of the squared
    errors of probabilities. scores: p of two classes, minus for rows of the first. (n,).
    """

    def __init__(
        self,
        actual: Counts,
        predicted: Counts,
        hits: Counts,
        bins: Bins | None,
        squares: float | None,
        scores: Array | None,
    ) -> None:
        self.actual, self.predicted, self.hits = actual, predicted, hits
        self.bins, self._squares, self._scores = bins, squares, scores
        self._n = int(actual.sum())

    @property
    def accuracy(self) -> float:
        return int(self.hits.sum()) / self._n

    @property
    def majority(self) -> float:
        return int(self.actual.max()) / self._n

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
            return float(np.mean(above[occur] / np.maximum(below[occur], 1)))
        at = 1 if code is None else code
        return int(above[at]) / int(below[at]) if below[at] else None

    @property
    def brier(self) -> float | None:
        return None if self._squares is None else self._squares / self._n

    @property
    def calibration_error(self) -> float | None:
        bins = self.bins
        if bins is None:
            return None
        return float(np.sum(bins.n * np.abs(bins.hits - bins.p))) / self._n

    @cached_property
    def _sorted(self) -> tuple[Array, Array] | None:
        """p of the rows of the first and of the second class, ascending."""
        if self._scores is None:
            return None
        first = np.signbit(self._scores)
        parts = -self._scores[first], self._scores[~first]
        for part in parts:
            part.sort()
        return parts

    @property
    def roc_auc(self) -> float | None:
        """Twice the pairs in the right order plus once those tied, over twice the pairs."""
        if self._sorted is None:
            return None
        first, second = self._sorted
        if not len(first) or not len(second):
            return None
        doubled = 0
        for start in range(0, len(second), CHUNK):
            part = second[start : start + CHUNK]
            doubled += int(np.sum(np.searchsorted(first, part, "left")))
            doubled += int(np.sum(np.searchsorted(first, part, "right")))
        return doubled / (2 * len(first) * len(second))

    @property
    def average_precision(self) -> float | None:
        """Mean over the rows of the second class of the precision at their probability."""
        if self._sorted is None:
            return None
        first, second = self._sorted
        if not len(second):
            return None
        total = 0.0
        for start in range(0, len(second), CHUNK):
            part = second[start : start + CHUNK]
            found = len(second) - np.searchsorted(second, part, "left")
            others = len(first) - np.searchsorted(first, part, "left")
            total += float(np.sum(found / (found + others)))
        return total / len(second)

    def roc_curve(self) -> tuple[Array, Array] | None:
        """Rates of false and of true positives at falling thresholds; None if undefined."""
        if self._sorted is None or not all(map(len, self._sorted)):
            return None
        first, second = self._sorted
        # Thresholds are quantiles of either class, so that both axes are covered evenly.
        levels = np.linspace(0.0, 1.0, CURVE_POINTS // 2)
        thresholds = np.concatenate([part[_places(part, levels)] for part in (first, second)])
        thresholds = np.append(np.sort(thresholds), np.inf)[::-1]
        false, true = (
            1.0 - np.searchsorted(part, thresholds, "left") / len(part) for part in (first, second)
        )
        return false, true


def _places(ascending: Array, levels: Array) -> NDArray[np.int64]:
    return np.asarray(levels * (len(ascending) - 1), dtype=np.int64)
