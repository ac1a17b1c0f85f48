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
        self._n, self._mean, self._squares = 0, 0.0, 0.0
        self.class_counts = np.zeros(0, np.int64)

    def add(self, values: Array, targets: Targets) -> None:
        """values: numbers, means over exposures, or probabilities of classes; (n,) or (n, k)."""
        if not len(values):
            return
        low, high = values.min(axis=0), values.max(axis=0)
        self._low = low if self._low is None else np.minimum(self._low, low)
        self._high = high if self._high is None else np.maximum(self._high, high)
        if values.ndim == 2:
            counts = np.bincount(np.asarray(targets, np.int64), minlength=values.shape[1])
            self.class_counts = counts + (self.class_counts if len(self.class_counts) else 0)
        mean, n = float(np.mean(targets)), self._n + len(targets)
        apart, share = mean - self._mean, len(targets) / n
        self._squares += float(np.sum((targets - mean) ** 2)) + apart**2 * self._n * share
        self._mean, self._n = self._mean + apart * share, n

    @property
    def deviation(self) -> float:
        """Standard deviation of the targets."""
        return sqrt(self._squares / self._n)

    @property
    def nearly_equal(self) -> bool:
        """Whether no prediction differs from another by more than NEARLY; see there."""
        if self._n < LEAST_ROWS or self._low is None or self._high is None:
            return False
        if self._relative:
            return bool(np.all(self._high <= (1.0 + NEARLY) * self._low))
        return bool(self.deviation > 0.0 and self._high - self._low <= NEARLY * self.deviation)

    @property
    def majority(self) -> float | None:
        """Fraction of the most frequent class; None where there are none."""
        return float(self.class_counts.max() / self._n) if len(self.class_counts) else None
