"""Probabilities of classes, batch by batch -> the classes whose mean probability is off."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Array, Targets

# A mean probability is off if it differs from the fraction of the class by more than a tenth of
# that fraction, and by more than so many of its standard errors.
RELATIVE, STANDARD_ERRORS = 0.1, 2.0


@dataclass(frozen=True, slots=True)
class ClassMean:
    """A class by its code: the mean of its probability, and its fraction of the rows."""

    code: int
    mean: float
    fraction: float

    @property
    def ratio(self) -> float:
        """Relative difference of both."""
        return abs(self.mean - self.fraction) / self.fraction


class MeanProbabilities:
    """By class: rows, the sum of the probabilities p, and that of p (1 - p)."""

    def __init__(self, n_classes: int) -> None:
        self._rows = np.zeros(n_classes)
        self._sums, self._variances = np.zeros((2, n_classes))

    def add(self, targets: Targets, probabilities: Array, weights: Array | None = None) -> None:
        """Take one batch. targets: codes (n,); probabilities: (n, k). weights: (n,)."""
        self._rows += np.bincount(targets, weights, probabilities.shape[1])
        if weights is None:
            sums = probabilities.sum(axis=0)
            self._sums += sums
            self._variances += sums - np.einsum("ij,ij->j", probabilities, probabilities)
            return
        self._sums += np.einsum("i,ij->j", weights, probabilities)
        spread = probabilities * (1.0 - probabilities)
        self._variances += np.einsum("i,ij->j", weights, spread)

    def merge(self, other: "MeanProbabilities") -> None:
        """Take in what another collected."""
        self._rows += other._rows
        self._sums += other._sums
        self._variances += other._variances

    def off(self) -> list[ClassMean]:
        """The classes that occur and whose mean probability is off, the worst first."""
        n = self._rows.sum() or 1.0
        fractions, means = self._rows / n, self._sums / n
        apart, errors = np.abs(means - fractions), np.sqrt(np.maximum(self._variances, 0.0)) / n
        off = (apart > RELATIVE * fractions) & (apart > STANDARD_ERRORS * errors) & (fractions > 0)
        found = [
            ClassMean(int(code), float(means[code]), float(fractions[code]))
            for code in np.flatnonzero(off)
        ]
        return sorted(found, key=lambda each: -each.ratio)
