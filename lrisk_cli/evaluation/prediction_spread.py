"""Scored rows, batch by batch -> whether all predictions are nearly equal, and the majority."""

from math import sqrt

import numpy as np

from lrisk_cli.types import Array, Targets

# Predictions of fewer rows may well be equal.
LEAST_ROWS = 10
# Predictions that differ by less than this are nearly equal: relative to the target's standard
# deviation for numbers, to the smallest one for probabilities and for means of counts.
NEARLY = 0.01


class PredictionSpread:
    """Smallest and largest predictions, moments of the targets, and rows of each class."""

    def __init__(self, *, relative: bool) -> None:
        self._relative = relative
        self._low: Array | None = None
        self._high: Array | None = None
        self._n: float = 0
        self._n_rows, self._mean, self._squares = 0, 0.0, 0.0
        self.class_counts: Array = np.zeros(0)

    def add(self, values: Array, targets: Targets, weights: Array | None = None) -> None:
        """values: numbers, means over exposures, or probabilities of classes; (n,) or (n, k).

        weights: of the rows, where they have any. (n,).
        """
        if not len(values):
            return
        low, high = values.min(axis=0), values.max(axis=0)
        self._low = low if self._low is None else np.minimum(self._low, low)
        self._high = high if self._high is None else np.maximum(self._high, high)
        if values.ndim == 2:
            counts = np.bincount(np.asarray(targets, np.int64), weights, values.shape[1])
            self.class_counts = counts.astype(np.float64) + (
                self.class_counts if len(self.class_counts) else 0.0
            )
        self._n_rows += len(targets)
        added = len(targets) if weights is None else float(np.sum(weights))
        mean, n = float(np.average(targets, weights=weights)), self._n + added
        apart, share = mean - self._mean, added / n
        squares = (targets - mean) ** 2 * (1.0 if weights is None else weights)
        self._squares += float(np.sum(squares)) + apart**2 * self._n * share
        self._mean, self._n = self._mean + apart * share, n

    @property
    def deviation(self) -> float:
        """Standard deviation of the targets."""
        return sqrt(self._squares / self._n)

    @property
    def nearly_equal(self) -> bool:
        """Whether no prediction differs from another by more than NEARLY; see there."""
        if self._n_rows < LEAST_ROWS or self._low is None or self._high is None:
            return False
        if self._relative:
            return bool(np.all(self._high <= (1.0 + NEARLY) * self._low))
        return bool(self.deviation > 0.0 and self._high - self._low <= NEARLY * self.deviation)

    @property
    def majority(self) -> float | None:
        """Fraction of the most frequent class; None where there are none."""
        return float(self.class_counts.max() / self._n) if len(self.class_counts) else None
