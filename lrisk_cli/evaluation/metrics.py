"""Losses, targets and predictions, batch by batch, give named figures and their intervals."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from math import sqrt

import numpy as np

from lrisk_cli.errors import UsageError
from lrisk_cli.names import EVALUATED_RISKS, RISK_ALIASES, RISKS, Task
from lrisk_cli.native.kernels import core
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.risk.value import sort_losses, spectral_risk
from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.types import Array, Targets

Figures = dict[str, float | None]
Intervals = dict[str, tuple[float, float]]

TASK_METRICS = {
    Task.REGRESSION: ("rmse", "mae", "r2"),
    Task.CLASSIFICATION: ("accuracy", "log_loss"),
}
ROW_METRICS = ("n_rows", "missing_fraction", "unseen_fraction", "gap")
LABEL_METRICS = ("accuracy", "purity", "average_precision")
# Figures that other commands alone have, by their names without a level.
ELSEWHERE = {
    "outlier_fraction": "detect-outliers",
    "difference": "quantile-report",
    "normalised_difference": "quantile-report",
    "tail_gained": "quantile-report",
    "average_lost": "quantile-report",
}
CLUSTER_METRICS = ("outlier_fraction", *ROW_METRICS[:3], "max")
CONFIDENCE = 0.95
_CHUNK = 65_536


class Tally:
    """Collects scored rows; what it answers does not depend on how they were batched.

    Holds the losses (8 bytes a row) and running sums of the rest.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._losses = Buffer(0)
        self._n = 0
        self._n_correct = 0
        self._spread = _Spread()

    def add(self, losses: Array, targets: Targets, predictions: Targets) -> None:
        """Take one batch: numbers for regression, class codes for classification. All (n,)."""
        stop = self._n + len(losses)
        if stop > self._losses.size:
            self._losses.resize(max(stop, self._n + self._n // 2))
        self._losses.view()[self._n : stop] = losses
        self._n = stop
        if self.task is Task.CLASSIFICATION:
            self._n_correct += int(np.count_nonzero(targets == predictions))
        else:
            self._spread.add(targets)

    @property
    def losses(self) -> Array:
        """The losses so far, in reading order. (n,)."""
        return self._losses.view()[: self._n]

    def figures(self, ascending: Array) -> Figures:
        """rmse, mae and r2, or accuracy and log_loss, of the rows taken, given sorted losses."""
        if self.task is Task.CLASSIFICATION:
            return {
                "accuracy": self._n_correct / self._n,
                "log_loss": spectral_risk(ascending, Spectrum("mean")),
            }
        squares = 2.0 * spectral_risk(ascending, Spectrum("mean"))
        around_mean = self._spread.mean_square()
        return {
            "rmse": sqrt(squares),
            "mae": _mean_absolute_error(ascending),
            "r2": 1.0 - squares / around_mean if around_mean > 0.0 else None,
        }


class _Spread:
    """Mean square deviation of a stream of numbers, summed in chunks of fixed length."""

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

    def mean_square(self) -> float:
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
    figures["max"] = float(ascending[-1])
    return figures


def judge_rows(
    task: Task,
    losses: Array,
    targets: Targets,
    predictions: Targets,
    spectra: Iterable[Spectrum],
) -> Figures:
    """The mean, each risk asked for, the largest loss, and the errors of the task. All (n,)."""
    tally = Tally(task)
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
    of the counts and Q(c) the mass that sigma puts above place c, its risk is
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
    asked = texts or EVALUATED_RISKS
    return tuple(dict.fromkeys(parse_risk(text) for text in asked if text.strip() != "max"))


def is_risk(name: str) -> bool:
    """Whether the name belongs to a spectral risk, whatever its parameter."""
    return name.partition(":")[0] in {*RISKS, *RISK_ALIASES}


def metric_name(text: str, task: Task) -> str:
    """The spelling under which a metric is reported; a metric without a figure is refused.

    Task.AUTO: the task is not known yet, so the metrics of any will do.
    """
    name = text.strip().lower()
    tasks = TASK_METRICS if task is Task.AUTO else (task,)
    known = [*(metric for each in tasks for metric in TASK_METRICS[each]), *ROW_METRICS, "max"]
    for other, names in TASK_METRICS.items():
        if name in names and name not in known:
            raise UsageError(f"{name} is a metric of {other}; this model is a {task}")
    return spell_metric(text, known)


def spell_metric(text: str, known: Sequence[str]) -> str:
    """A metric among the known ones or a risk; others are refused with the nearest name."""
    name = text.strip().lower()
    if name in known:
        return name
    if is_risk(name):
        return str(parse_risk(name))
    command = ELSEWHERE.get(name.partition(":")[0])
    if command is not None:
        raise UsageError(
            f"{name} is a figure of lrisk {command}, not of this command; known: "
            f"{', '.join([*known, *RISKS])}"
        )
    near = get_close_matches(name, [*known, *RISKS], n=1)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join([*known, *RISKS])}"
    raise UsageError(f"unknown metric {text!r}; {hint}")
