"""Losses, targets and predictions, batch by batch, give named figures and their intervals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Protocol

import numpy as np

from lrisk_cli.design.target import Target
from lrisk_cli.evaluation.class_errors import ClassErrors, ClassTally
from lrisk_cli.evaluation.error_metrics import LOGARITHM_NAMES
from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.numbers import Numbers
from lrisk_cli.evaluation.registry import ERROR_NEEDS, TASK_NEEDS, figures_of, metrics_of
from lrisk_cli.evaluation.streams import CHUNK, Column, Fraction, Spread
from lrisk_cli.models.model import Model
from lrisk_cli.names import EVALUATED_RISKS, TargetScale, Task
from lrisk_cli.native.kernels import core
from lrisk_cli.native.medians import weighted_median
from lrisk_cli.parameters import split_specs
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.risk.value import sort_losses, spectral_risk
from lrisk_cli.risk.weighted import SortedMasses
from lrisk_cli.types import Array, Targets

Figures = dict[str, float | None]
Intervals = dict[str, tuple[float, float]]

CONFIDENCE = 0.95
# A mean error below this fraction of the targets is rounding: eight units in the last place.
BIAS_ROUNDING = 8.0 * 2.0**-52


@dataclass(frozen=True, slots=True)
class Reported:
    """Which errors of a model are reported, and what they are computed from.

    metrics: the names that its loss brings; those of the task where none are given. half_squared:
    whether each loss is half the squared error, which then need not be kept. classes: of a
    classifier. asked: further metrics, as `recall:CLASS`. target: where its logarithm is fitted,
    which is what losses, targets and predictions are of.
    """

    task: Task
    metrics: Sequence[str] = ()
    half_squared: bool = True
    classes: Sequence[str] = ()
    asked: Sequence[str] = ()
    target: Target | None = None

    @property
    def bytes_kept(self) -> int:
        """Of each row: its loss, and what ranks and medians need besides; no weight."""
        two_classes = len(self.classes) == 2
        sizes = self.task is Task.REGRESSION and not self.half_squared
        return 8 + 8 * (two_classes or sizes) + 8 * (self.target is not None)

    @property
    def names(self) -> list[str]:
        """The metrics in their order."""
        usual = self.metrics or metrics_of([TASK_NEEDS[self.task]])
        return list(dict.fromkeys([*usual, *self.asked]))


def reported_errors(model: Model, asked: Sequence[str] = ()) -> Reported:
    """The errors that the loss of a model brings, and those asked for."""
    loss, target = model.row_loss, model.target
    return Reported(
        model.task, error_names_of(model), loss.quadratic, target.classes, tuple(asked),
        None if target.on is TargetScale.NONE else target,
    )  # fmt: skip


def error_names_of(model: Model) -> tuple[str, ...]:
    """The errors that a model is judged by."""
    logs = () if model.target.on is TargetScale.NONE else LOGARITHM_NAMES
    return (*model.row_loss.metrics, *logs)


class Tally:
    """Collects scored rows; its results do not depend on how they were batched.

    Holds the losses (8 bytes a row), for two classes their probabilities and for losses other than
    the squared one the sizes of the errors (8 more), weights (8 more), and running sums of the
    rest. weighted: rows come with weights. means: of classes, also their mean probabilities.
    """

    def __init__(self, reported: Reported, *, weighted: bool = False, means: bool = True) -> None:
        self._reported = reported
        self._losses = Column()
        self._weights = Column() if weighted else None
        self._numbers: NumberTally | None = None
        self._restored: NumberTally | None = None
        self._classes: ClassTally | None = None
        if reported.task is Task.CLASSIFICATION:
            self._classes = ClassTally(len(reported.classes), weighted=weighted, means=means)
        else:
            self._numbers = NumberTally(keep_sizes=not reported.half_squared, weighted=weighted)
            if reported.target is not None:
                self._restored = NumberTally(keep_sizes=True, weighted=weighted)

    def add(
        self,
        losses: Array,
        targets: Targets,
        predictions: Targets,
        probabilities: Array | None = None,
        weights: Array | None = None,
    ) -> None:
        """Take one batch: numbers for regression, class codes for classification. All (n,).

        probabilities: of each class, (n, k). weights: where rows come with weights, (n,).
        """
        self._losses.add(losses)
        if self._weights is not None and weights is not None:
            self._weights.add(weights)
        if self._classes is not None:
            self._classes.add(targets, predictions, probabilities, weights)
        elif self._numbers is not None:
            self._numbers.add(targets, predictions, weights)
        if self._restored is not None and self._reported.target is not None:
            restore = self._reported.target.restore
            self._restored.add(restore(targets), restore(predictions), weights)

    @property
    def losses(self) -> Array:
        """The losses so far, in reading order. (n,)."""
        return self._losses.values

    @property
    def weights(self) -> Array | None:
        """The weights so far, in the order of the losses; None where rows have none. (n,)."""
        return None if self._weights is None else self._weights.values

    @property
    def classes(self) -> ClassTally | None:
        """Counts of classes, of a classifier."""
        return self._classes

    def sort(self) -> tuple[Array, Array | None]:
        """The losses in ascending order, in place, and the weights in the same order."""
        weights = self.weights
        return sort_losses(self.losses, weights), weights

    def figures(self, ascending: Array, masses: Array | None = None) -> Figures:
        """The metrics of the rows taken, given sorted losses, and their weights if any."""
        classes = None if self._classes is None else self._classes.errors
        errors = Errors((ascending, masses), self._numbers, classes)
        if self._restored is not None:
            errors = Errors((ascending, masses), self._restored, classes, errors)
        return figures_by_names(self._reported, errors)


def figures_by_names(reported: Reported, errors: "Errors") -> Figures:
    """The metrics that are reported, by name."""
    known = metrics_of(ERROR_NEEDS)
    figures: Figures = {}
    for name in reported.names:
        base, _, label = name.partition(":")
        metric = known[base]
        if label and metric.of_class is not None:
            figures[name] = metric.of_class(errors, reported.classes.index(label))
        else:
            figures[name] = metric.formula(errors)
    return figures


class NumberTally:
    """Running sums of targets and errors.

    keep_sizes: keeps the size of each error (8 bytes), and what deviances need. weighted: rows come
    with weights, which are kept beside the sizes.
    """

    def __init__(self, *, keep_sizes: bool, weighted: bool = False) -> None:
        spreads = (Spread(weighted=weighted) for _ in range(4))
        self.targets, self.errors, self.relative, self.logs = spreads
        self.below = Fraction(weighted=weighted)
        self.kept = Column() if keep_sizes else None
        self.weights = Column() if keep_sizes and weighted else None
        self.spread = Spread(weighted=weighted) if keep_sizes else None
        self.has_ratios = True
        # Of a sum over parts of the rows only; otherwise it follows from the losses.
        self.mean_size: float | None = None

    def add(self, targets: Targets, predictions: Targets, weights: Array | None = None) -> None:
        """Take one batch. All (n,)."""
        errors = predictions - targets
        self.targets.add(targets, weights)
        self.errors.add(errors, weights)
        self.below.add(errors >= 0.0, weights)
        sizes = np.abs(errors)
        if self.kept is not None and self.spread is not None:
            self.kept.add(sizes)
            self.spread.add(sizes, weights)
            with np.errstate(divide="ignore", invalid="ignore"):
                self.logs.add(np.where(targets > 0.0, targets * np.log(targets), 0.0), weights)
        if self.weights is not None and weights is not None:
            self.weights.add(weights)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratios = sizes / np.abs(targets)
        finite = np.isfinite(ratios)
        self.has_ratios = self.has_ratios and bool(np.all(finite))
        self.relative.add(np.where(finite, ratios, 0.0), weights)


class Errors:
    """What the formulas of error metrics ask for; see `error_metrics.Errors`."""

    def __init__(
        self,
        losses: tuple[Array, Array | None],
        numbers: Numbers | None,
        classes: ClassErrors | None,
        logarithms: "Errors | None" = None,
    ) -> None:
        self._ascending, self._masses = losses
        ranked = None if self._masses is None else SortedMasses(self._masses)
        self.mean_loss = spectral_risk(self._ascending, Spectrum("mean"), ranked)
        self._numbers, self._classes = numbers, classes
        self._logarithms = logarithms

    @property
    def logarithms(self) -> "Errors":
        """Of the logarithms that were fitted."""
        assert self._logarithms is not None  # noqa: S101
        return self._logarithms

    @property
    def numbers(self) -> Numbers:
        """Of regression."""
        assert self._numbers is not None  # noqa: S101
        return self._numbers

    @property
    def classes(self) -> ClassErrors:
        """Of classification."""
        assert self._classes is not None  # noqa: S101
        return self._classes

    @property
    def mean_square(self) -> float:
        """Mean of the squared errors."""
        sizes = self.numbers.spread
        return 2.0 * self.mean_loss if sizes is None else sizes.variance() + sizes.mean() ** 2

    @property
    def target_variance(self) -> float:
        """Mean square deviation of the targets from their mean."""
        return self.numbers.targets.variance()

    @property
    def bias(self) -> float:
        """Mean of prediction - target; 0 where it is below the rounding of these numbers."""
        mean, targets = self.numbers.errors.mean(), self.numbers.targets
        size = abs(targets.mean()) + sqrt(targets.variance())
        return mean if abs(mean) > BIAS_ROUNDING * size else 0.0

    @property
    def relative(self) -> float | None:
        """Mean of |error / target|; None if a target is 0 or a ratio is too large for a number."""
        return self.numbers.relative.mean() if self.numbers.has_ratios else None

    @property
    def null_deviance(self) -> float:
        """Mean Poisson deviance of predicting the mean of the targets: 2 mean(y log(y / mean))."""
        mean = self.numbers.targets.mean()
        if mean <= 0.0 or self.target_variance == 0.0:
            return 0.0
        return float(2.0 * (self.numbers.logs.mean() - mean * np.log(mean)))

    @property
    def below(self) -> float:
        """Fraction of the targets that are at most the prediction."""
        return self.numbers.below.value or 0.0

    def mean_absolute(self) -> float:
        """Mean of the sizes of the errors."""
        sizes, known = self.numbers.spread, self.numbers.mean_size
        if known is not None:
            return known
        return self._mean_root() if sizes is None else sizes.mean()

    def median_absolute(self) -> float:
        """Median of the sizes of the errors."""
        kept, weights = self.numbers.kept, self.numbers.weights
        if kept is not None:
            return weighted_median(kept.values, None if weights is None else weights.values)
        if self._masses is not None:
            return weighted_median(np.sqrt(2.0 * self._ascending), self._masses)
        n = len(self._ascending)
        middle = np.sqrt(2.0 * self._ascending[[(n - 1) // 2, n // 2]])
        return float(0.5 * middle[0] + 0.5 * middle[1])

    def _mean_root(self) -> float:
        """Mean of |error| = sqrt(2 loss), in chunks."""
        losses, masses = self._ascending, self._masses
        chunks = [slice(start, start + CHUNK) for start in range(0, len(losses), CHUNK)]
        if masses is None:
            parts = [float(np.sum(np.sqrt(2.0 * losses[some]))) for some in chunks]
            return sum(parts) / len(losses)
        parts = [float(np.sum(masses[some] * np.sqrt(2.0 * losses[some]))) for some in chunks]
        return sum(parts) / sum(float(np.sum(masses[some])) for some in chunks)


def risk_figures(
    ascending: Array, spectra: Iterable[Spectrum], masses: Array | None = None
) -> Figures:
    """The mean, each risk asked for, and the largest loss, by name. masses: of the sorted rows."""
    ranked = None if masses is None else SortedMasses(masses)
    figures: Figures = {"mean": spectral_risk(ascending, Spectrum("mean"), ranked)}
    for spectrum in spectra:
        figures.setdefault(str(spectrum), spectral_risk(ascending, spectrum, ranked))
    return figures | figures_of(ascending, [Needs.LOSSES])


def evaluate_rows(
    reported: Reported,
    losses: Array,
    targets: Targets,
    predictions: Targets,
    spectra: Iterable[Spectrum],
    probabilities: Array | None = None,
    weights: Array | None = None,
) -> Figures:
    """The mean, each risk asked for, the largest loss, and errors as of `Tally`. All (n, ...)."""
    tally = Tally(reported, weighted=weights is not None)
    tally.add(losses, targets, predictions, probabilities, weights)
    return tally_figures(tally, spectra)


class WithMeans(Protocol):
    """What is known of predicted classes."""

    @property
    def means(self) -> MeanProbabilities | None: ...


class AnyTally(Protocol):
    """Rows that were scored, however they were collected."""

    @property
    def classes(self) -> WithMeans | None: ...
    def sort(self) -> tuple[Array, Array | None]:
        """Losses in ascending order, and how much each counts."""

    def figures(self, ascending: Array, masses: Array | None = None) -> Figures:
        """The metrics of the rows, given these."""


def tally_figures(tally: AnyTally, spectra: Iterable[Spectrum]) -> Figures:
    """The same of the rows that a tally took; its losses are sorted thereby."""
    ascending, masses = tally.sort()
    return risk_figures(ascending, spectra, masses) | tally.figures(ascending, masses)


def bootstrap_intervals(
    ascending: Array, spectra: Sequence[Spectrum], seed: int = 0, report: Report = silent
) -> Intervals:
    """Percentile intervals of each risk under resampling of the rows with replacement.

    A resample is a count for each sorted loss, so nothing is sorted again: with c the running sum
    of the counts and Q(c) the mass that sigma puts above rank c, its risk is
    l_1 + sum_i Q(c_i) (l_(i+1) - l_i).
    """
    n = len(ascending)
    steps = np.diff(ascending)
    above = [np.append(np.cumsum(s.weights(n)[::-1])[::-1], 0.0) for s in spectra]
    n_resamples = count_resamples(n)
    risks = np.empty((len(spectra), n_resamples))
    generator = np.random.Generator(np.random.PCG64(seed))
    for b in range(n_resamples):
        counts = np.bincount(generator.integers(0, n, n, dtype=np.int32), minlength=n)
        places = np.cumsum(counts)[:-1]
        for r, masses in enumerate(above):
            risks[r, b] = ascending[0] + core.compensated_dot(masses[places], steps)
        report(Progress("resampling", b + 1, n_resamples))
    return middle_of(spectra, risks)


def middle_of(spectra: Sequence[Spectrum], risks: Array) -> Intervals:
    """Between which ends the middle 95 % of the resamples are. risks: (spectra, resamples)."""
    tails = [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]
    ends = np.quantile(risks, tails, axis=1)
    return {str(s): (float(low), float(high)) for s, low, high in zip(spectra, *ends, strict=True)}


def count_resamples(n_rows: int) -> int:
    """A thousand for tables of up to a hundred thousand rows, fewer for longer ones."""
    return int(min(1000, max(200, 100_000_000 // n_rows)))


def parse_risks(texts: Sequence[str]) -> tuple[Spectrum, ...]:
    """The risks asked for, each once; "max" is always reported and needs no spectrum."""
    asked = split_specs(texts) or EVALUATED_RISKS
    return tuple(dict.fromkeys(parse_risk(text) for text in asked if text != "max"))
