"""Figures of a model by sums over parts of the rows, in memory that does not grow with the rows.

Losses and probabilities are counted in bins: 256 to a doubling of a loss, 32768 of the log-odds. Of
a bin the mean is known, so the mean of the losses is exact up to rounding and other risks, medians
and ranks take the rows of a bin for equal.
"""

from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.evaluation.class_errors import Bins, ClassErrors, Scores, bin_sums, of_many
from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.metrics import Errors, Figures, Reported, figures_by_names
from lrisk_cli.evaluation.streams import Fraction
from lrisk_cli.losses.base import Loss
from lrisk_cli.models.model import Model
from lrisk_cli.risk.binned import LossBins, loss_bins
from lrisk_cli.rows.sweeps import Part
from lrisk_cli.types import Array

# Bins of the log-odds, from minus to plus this.
N_SCORES, FARTHEST = 1 << 15, 20.0


@dataclass(frozen=True, slots=True, eq=False)
class NumberSums:
    """Of errors e = prediction - target: n; sums of y, y^2 (standardised), e, |e|, |e / target|.

    has_ratios: whether no target is 0.
    """

    n: int
    sums: Array
    has_ratios: bool

    def add(self, other: "NumberSums") -> "NumberSums":
        """Those of both."""
        ratios = self.has_ratios and other.has_ratios
        return NumberSums(self.n + other.n, self.sums + other.sums, ratios)


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """Rows of each class, predicted as it, both (3, k); bins (4, 10); scores: (2, 2, N_SCORES).

    scores: by class the rows of each bin of the log-odds, and the sum of their probabilities.
    """

    counts: Array
    bins: Array
    means: MeanProbabilities
    scores: Array | None

    def add(self, other: "ClassSums") -> "ClassSums":
        """Those of both."""
        means = MeanProbabilities(self.counts.shape[1])
        means.merge(self.means)
        means.merge(other.means)
        both = None
        if self.scores is not None and other.scores is not None:
            both = self.scores + other.scores
        return ClassSums(self.counts + other.counts, self.bins + other.bins, means, both)


@dataclass(frozen=True, slots=True, eq=False)
class FigureSums:
    """What the figures of some rows follow from."""

    losses: LossBins
    of: NumberSums | ClassSums

    def add(self, other: "FigureSums") -> "FigureSums":
        """Those of both."""
        return replace(self, losses=self.losses.add(other.losses), of=self.of.add(other.of))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Observer:
    """Sums up parts. loss: of the fit; mean, scale: of the target; k: its classes, 0 for none."""

    loss: Loss
    mean: float
    scale: float
    k: int

    def __call__(self, part: Part, Z: Array, losses: Array) -> FigureSums:
        bins = loss_bins(losses)
        if self.k:
            return FigureSums(bins, self._classes(part, Z))
        y = np.asarray(part.y, np.float64)
        errors = (Z[:, 0] - y) * self.scale
        targets = self.mean + self.scale * y
        with np.errstate(all="ignore"):
            ratios = np.abs(errors) / np.abs(targets)
        finite = np.isfinite(ratios)
        sizes = np.abs(errors)
        terms = (y, y * y, errors, sizes, np.where(finite, ratios, 0.0))
        sums = np.array([float(each.sum()) for each in terms])
        return FigureSums(bins, NumberSums(len(y), sums, bool(finite.all())))

    def _classes(self, part: Part, Z: Array) -> ClassSums:
        k, y = self.k, np.asarray(part.y, np.int64)
        codes = y.astype(np.int32)
        P, predicted = self.loss.probabilities(Z), self.loss.predict(Z)
        assert P is not None  # noqa: S101  (of classes)
        hits = np.bincount(y[predicted == y], minlength=k)
        counts = np.array([np.bincount(y, minlength=k), np.bincount(predicted, minlength=k), hits])
        means, scores = MeanProbabilities(k), None
        means.add(codes, P)
        if k == 2:
            p, hit = P[:, 1], y == 1
            squares = (p - hit) ** 2
            at = np.clip((Z[:, 0] + FARTHEST) * (N_SCORES / (2.0 * FARTHEST)), 0, N_SCORES - 1)
            code = y * N_SCORES + at.astype(np.int64)
            rows = np.bincount(code, minlength=2 * N_SCORES)
            scores = np.array([rows, np.bincount(code, p, 2 * N_SCORES)]).reshape(2, 2, N_SCORES)
        else:
            p, hit, squares = of_many(codes, P)
        return ClassSums(counts, bin_sums(np.array([p, hit, squares])), means, scores)


class BinnedTally:
    """Figures of the rows that were summed up, as of a `Tally`."""

    def __init__(self, model: Model, reported: Reported, sums: FigureSums) -> None:
        self._reported, self._sums = reported, sums
        self._target = model.target
        # Losses were those of standardised targets.
        scale = model.target.scale
        self._factor = scale**2 if model.row_loss.quadratic else 1.0

    @property
    def classes(self) -> "BinnedClasses | None":
        """Counts of classes, of a classifier."""
        return BinnedClasses(self._sums.of) if isinstance(self._sums.of, ClassSums) else None

    def sort(self) -> tuple[Array, Array]:
        """A loss for each bin, ascending, and how many rows it stands for; the largest apart."""
        bins = self._sums.losses
        full = np.flatnonzero(bins.count > 0.0)
        count, total = bins.count[full], bins.total[full]
        largest = bins.largest
        if count[-1] > 1.0:
            rest = (total[-1] - largest) / (count[-1] - 1.0)
            means = np.append(total / count, largest)
            means[-2] = min(rest, largest)
            count = np.append(count, 1.0)
            count[-2] -= 1.0
        else:
            means = total / count
        return self._factor * means, count

    def figures(self, ascending: Array, masses: Array | None = None) -> Figures:
        """The metrics of the rows, given what `sort` gave."""
        of, target = self._sums.of, self._target
        if isinstance(of, ClassSums):
            errors = Errors((ascending, masses), None, BinnedClasses(of).errors)
        else:
            errors = Errors((ascending, masses), _Numbers(of, target.mean, target.scale), None)
        return figures_by_names(self._reported, errors)


class BinnedClasses:
    """What is known of predicted classes."""

    def __init__(self, sums: ClassSums) -> None:
        self._sums, self.means = sums, sums.means

    @property
    def errors(self) -> ClassErrors:
        """The formulas of class metrics."""
        sums = self._sums
        n = sums.bins[0].astype(np.int64)
        some = np.where(n > 0, n, 1)
        bins = Bins(n, sums.bins[1] / some, sums.bins[2] / some)
        scores = None
        if sums.scores is not None:
            rows, total = sums.scores
            full = rows > 0.0
            # One probability for the rows of a bin, whatever their class: they tie.
            p = total.sum(axis=0) / np.maximum(rows.sum(axis=0), 1.0)
            signed = np.copysign(p, [[-1.0], [1.0]])[full]
            scores = Scores(signed, rows[full].astype(np.float64))
        actual, predicted, hits = sums.counts.astype(np.int64)
        return ClassErrors(actual, predicted, hits, bins, float(sums.bins[3].sum()), scores)


class _Mean:
    """A mean and, where it is known, a variance."""

    def __init__(self, mean: float, variance: float = 0.0) -> None:
        self._mean, self._variance = mean, variance

    def mean(self) -> float:
        return self._mean

    def variance(self) -> float:
        return self._variance


class _Numbers:
    """What the formulas of errors ask of a tally of numbers."""

    def __init__(self, of: NumberSums, mean: float, scale: float) -> None:
        y, squares, errors, sizes, ratios = of.sums / of.n
        self.targets = _Mean(mean + scale * y, scale**2 * (squares - y * y))
        self.errors, self.relative = _Mean(errors), _Mean(ratios)
        self.has_ratios = of.has_ratios
        # Only other losses than the squared one ask for these.
        self.logs, self.below = _Mean(0.0), Fraction()
        self.spread, self.kept, self.weights = None, None, None
        self.mean_size = float(sizes)
