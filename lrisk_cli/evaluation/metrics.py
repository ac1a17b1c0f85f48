"""Losses, targets and predictions, batch by batch, give named figures and their intervals."""

from collections.abc import Iterable, Sequence

import numpy as np

from lrisk_cli.evaluation.registry import ERROR_NEEDS, TASK_NEEDS, Needs, figures_of, metrics_of
from lrisk_cli.names import EVALUATED_RISKS, Task
from lrisk_cli.native.kernels import core
from lrisk_cli.parameters import split_specs
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.risk.value import sort_losses, spectral_risk
from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.types import Array, Targets

Figures = dict[str, float | None]
Intervals = dict[str, tuple[float, float]]

CONFIDENCE = 0.95
_CHUNK = 65_536


class Tally:
    """Collects scored rows; its results do not depend on how they were batched.

    metrics: the names that the loss of the model brings; those of the task where none are given.
    half_squared: whether each loss is half the squared error, which then need not be kept.
    Holds the losses (8 bytes a row) and running sums of the rest.
    """

    def __init__(
        self, task: Task, metrics: Sequence[str] = (), *, half_squared: bool = True
    ) -> None:
        self.task = task
        known = metrics_of(ERROR_NEEDS)
        self._metrics = [known[name] for name in metrics or metrics_of([TASK_NEEDS[task]])]
        self._half_squared = half_squared
        self._losses = Buffer(0)
        self._n = 0
        self._n_correct = 0
        self._targets, self._errors = _Spread(), _Spread()

    def add(self, losses: Array, targets: Targets, predictions: Targets) -> None:
        """Take one batch: numbers for regression, class codes for classification. All (n,)."""
        stop = self._n + len(losses)
        if stop > self._losses.size:
            self._losses.resize(max(stop, self._n + self._n // 2))
        self._losses.view()[self._n : stop] = losses
        self._n = stop
        if self.task is Task.CLASSIFICATION:
            self._n_correct += int(np.count_nonzero(targets == predictions))
            return
        self._targets.add(targets)
        if not self._half_squared:
            self._errors.add(np.abs(targets - predictions))

    @property
    def losses(self) -> Array:
        """The losses so far, in reading order. (n,)."""
        return self._losses.view()[: self._n]

    def figures(self, ascending: Array) -> Figures:
        """The metrics of the loss, of the rows taken, given sorted losses."""
        squares = None if self._half_squared else self._errors
        errors = _Errors(ascending, self._n_correct, self._targets, squares)
        return {metric.name: metric.formula(errors) for metric in self._metrics}


class _Errors:
    """What the formulas of error metrics ask for; see `registry.Errors`.

    sizes: those of the errors, None where the losses are half their squares.
    """

    def __init__(
        self, ascending: Array, n_correct: int, targets: "_Spread", sizes: "_Spread | None"
    ) -> None:
        self.n_rows, self.n_correct = len(ascending), n_correct
        self.mean_loss = spectral_risk(ascending, Spectrum("mean"))
        self._ascending, self._targets, self._sizes = ascending, targets, sizes

    @property
    def mean_square(self) -> float:
        """Mean of the squared errors."""
        if self._sizes is None:
            return 2.0 * self.mean_loss
        return self._sizes.variance() + self._sizes.mean() ** 2

    @property
    def target_variance(self) -> float:
        """Mean square deviation of the targets from their mean."""
        return self._targets.variance()

    def mean_absolute(self) -> float:
        """Mean of the sizes of the errors."""
        if self._sizes is None:
            return _mean_absolute_error(self._ascending)
        return self._sizes.mean()


class _Spread:
    """Mean and variance of a stream of numbers, summed in chunks of fixed length."""

    def __init__(self) -> None:
        self._buffer = np.empty(_CHUNK)
        self._filled = 0
        self._n, self._mean, self._squares = 0, 0.0, 0.0

    def add(self, values: Targets) -> None:
        taken = 0
        while taken < len(values):
            part = values[taken : taken + _CHUNK - self._filled]
            self._buffer[self._filled : self._filled + len(part)] = part
            self._filled += len(part)
            taken += len(part)
            if self._filled == _CHUNK:
                self._n, self._mean, self._squares = self._merged()
                self._filled = 0

    def mean(self) -> float:
        return self._merged()[1]

    def variance(self) -> float:
        """Mean square deviation from the mean."""
        n, _, squares = self._merged()
        return squares / n

    def _merged(self) -> tuple[int, float, float]:
        """Count, mean and sum of squared deviations, with what waits in the buffer."""
        if self._filled == 0:
            return self._n, self._mean, self._squares
        waiting = self._buffer[: self._filled]
        mean = float(np.mean(waiting))
        squares = float(np.sum((waiting - mean) ** 2))
        n = self._n + self._filled
        apart = mean - self._mean
        squares += self._squares + apart * apart * self._n * self._filled / n
        return n, self._mean + apart * self._filled / n, squares


def _mean_absolute_error(losses: Array) -> float:
    """Mean of |error| = sqrt(2 loss), in chunks."""
    parts = [
        float(np.sum(np.sqrt(2.0 * losses[i : i + _CHUNK]))) for i in range(0, len(losses), _CHUNK)
    ]
    return sum(parts) / len(losses)


def risk_figures(ascending: Array, spectra: Iterable[Spectrum]) -> Figures:
    """The mean, each risk asked for, and the largest loss, by name."""
    figures: Figures = {"mean": spectral_risk(ascending, Spectrum("mean"))}
    for spectrum in spectra:
        figures.setdefault(str(spectrum), spectral_risk(ascending, spectrum))
    return figures | figures_of(ascending, [Needs.LOSSES])


def evaluate_rows(
    task: Task,
    losses: Array,
    targets: Targets,
    predictions: Targets,
    spectra: Iterable[Spectrum],
    metrics: Sequence[str] = (),
    *,
    half_squared: bool = True,
) -> Figures:
    """The mean, each risk asked for, the largest loss, and errors as of `Tally`. All (n,)."""
    tally = Tally(task, metrics, half_squared=half_squared)
    tally.add(losses, targets, predictions)
    return tally_figures(tally, spectra)


def tally_figures(tally: Tally, spectra: Iterable[Spectrum]) -> Figures:
    """The same of the rows that a tally took; its losses are sorted thereby."""
    ascending = sort_losses(tally.losses)
    return risk_figures(ascending, spectra) | tally.figures(ascending)


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
    n_resamples = _resamples(n)
    risks = np.empty((len(spectra), n_resamples))
    generator = np.random.Generator(np.random.PCG64(seed))
    for b in range(n_resamples):
        counts = np.bincount(generator.integers(0, n, n, dtype=np.int32), minlength=n)
        places = np.cumsum(counts)[:-1]
        for r, masses in enumerate(above):
            risks[r, b] = ascending[0] + core.compensated_dot(masses[places], steps)
        report(Progress("resampling", b + 1, n_resamples))
    tails = [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]
    ends = np.quantile(risks, tails, axis=1)
    return {str(s): (float(low), float(high)) for s, low, high in zip(spectra, *ends, strict=True)}


def _resamples(n_rows: int) -> int:
    """A thousand for tables of up to a hundred thousand rows, fewer for longer ones."""
    return int(min(1000, max(200, 100_000_000 // n_rows)))


def parse_risks(texts: Sequence[str]) -> tuple[Spectrum, ...]:
    """The risks asked for, each once; "max" is always reported and needs no spectrum."""
    asked = split_specs(texts) or EVALUATED_RISKS
    return tuple(dict.fromkeys(parse_risk(text) for text in asked if text != "max"))
