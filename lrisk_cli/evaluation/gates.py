"""Conditions such as "superquantile:0.9>1.5", and whether a command's figures meet them.

A condition is written on the command line, or follows from the figures of an earlier run.
"""

import json
import operator
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, ClassVar

from lrisk_cli.errors import DataError, InvalidOption, UsageError, opt
from lrisk_cli.evaluation.metric import Better, Needs
from lrisk_cli.evaluation.registry import better_of, larger_is_better, metrics_of
from lrisk_cli.parameters import spell
from lrisk_cli.tables.small_files import read_small

Figures = Mapping[str, float | None]

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
# A class may be called ">50K": after a colon the last comparison counts, and group[COLUMN=VALUE]
# stands apart.
_GATE = re.compile(
    r"\s*((?:group\[.*?\]:\s*)?(?:[^<>=!\s:]+:.*?\S|[^<>=!\s]+))"
    r"\s*(>=|<=|==|!=|>|<)\s*([^<>=!\s]+)\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FAIL_ON, WARN_ON = "fail_on", "warn_on"
_LARGEST = sys.float_info.max
# Longer files are not results of lrisk.
_MOST_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Gate:
    """Fail, or only warn, when `metric comparison threshold` holds."""

    metric: str
    comparison: str
    threshold: float
    warns: bool = False

    def __str__(self) -> str:
        return f"{self.metric}{self.comparison}{self.threshold!r}".removesuffix(".0")

    def finding(self, value: float) -> str:
        """The sentence for a figure that meets the condition."""
        option = WARN_ON if self.warns else FAIL_ON
        return f"{self.metric} is {value:.6g}, and {opt(option)} {self} holds"


@dataclass(frozen=True, slots=True)
class Worsening:
    """Fail when a metric is worse than its stored figure by more than a fraction of it.

    Which way is worse is known of each metric; of those that are better near 0, the size is
    compared. Next to a figure of 0 any worse one fails.
    """

    metric: str
    stored: float
    fraction: float
    source: str
    warns: bool = False

    @property
    def comparison(self) -> str:
        """The side on which figures are worse."""
        return "<" if larger_is_better(self.metric) else ">"

    @property
    def threshold(self) -> float:
        """The worst figure that passes."""
        margin = self.fraction * abs(self.stored)
        if better_of(self.metric) is Better.NEARER_ZERO:
            return abs(self.stored) + margin
        return self.stored - margin if larger_is_better(self.metric) else self.stored + margin

    def __str__(self) -> str:
        return f"{self.metric}{self.comparison}{self.threshold!r}".removesuffix(".0")

    @property
    def _allowed(self) -> str:
        if better_of(self.metric) is Better.NEARER_ZERO:
            return f"-{self.threshold:.6g} to {self.threshold:.6g}"
        return f"{'at least' if larger_is_better(self.metric) else 'at most'} {self.threshold:.6g}"

    def finding(self, value: float) -> str:
        """The sentence for a figure that is too much worse."""
        return (
            f"{self.metric} is {value:.6g}, more than {100.0 * self.fraction:g} % worse than the "
            f"{self.stored:.6g} in {self.source}: {self._allowed} is allowed"
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """Fail when a table does not hold what is expected of it.

    metric: the column and what is expected; allowed: in words. found: the sentence for where it
    fails, with rows and values.
    """

    metric: str
    allowed: str
    found: str
    warns: ClassVar[bool] = False

    def __str__(self) -> str:
        return f"{self.metric}: {self.allowed}"

    def finding(self, value: float) -> str:
        """The sentence for an expectation that fails."""
        return self.found


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate, the figure it met, and whether its condition holds.

    A figure that does not exist (None) is taken for one that meets it.
    """

    gate: Gate | Worsening | Expectation
    value: float | None
    holds: bool

    @property
    def failed(self) -> bool:
        """Whether the command fails for it."""
        return self.holds and not self.gate.warns

    @property
    def warned(self) -> bool:
        """Whether it is worth a warning, and no more."""
        return self.holds and self.gate.warns

    @property
    def sentence(self) -> str:
        """What was found, in words, where the condition holds."""
        if self.value is None:
            return f"{self.gate.metric} is not defined, so {self.gate} cannot be evaluated"
        return self.gate.finding(self.value)


# With the model that met the gate; None where there is one model, or a gate is about the rows.
NamedGateResults = tuple[tuple[str | None, GateResult], ...]


@dataclass(frozen=True, slots=True)
class StoredFigures:
    """Figures of an earlier run, by model where it evaluated several (otherwise of None).

    fraction: by how much a figure may be worse.
    """

    path: str
    fraction: float
    figures: Mapping[str | None, Figures]

    def gates(self, figures: Figures, model: str | None = None) -> tuple[Worsening, ...]:
        """A gate for each figure that both runs have."""
        stored = self.figures.get(model, {})
        return tuple(
            Worsening(name, value, self.fraction, self.path)
            for name in figures
            if (value := stored.get(name)) is not None and better_of(name) is not Better.NEITHER
        )

    def not_compared(self, figures: Figures, model: str | None = None) -> tuple[str, ...]:
        """A sentence for each figure that one of the runs lacks."""
        stored = self.figures.get(model, {})
        of_model = "" if model is None else f" of {model}"
        absent = [name for name in figures if stored.get(name) is None]
        gone = [name for name, value in stored.items() if value is not None and name not in figures]
        return (
            *(f"{name}{of_model} is not in {self.path}, so it is not compared" for name in absent),
            *(f"{name}{of_model} is in {self.path}, but not among these figures" for name in gone),
        )


def parse_gate(text: str, canonical: Callable[[str], str] = str, *, warns: bool = False) -> Gate:
    """Read METRIC COMPARISON NUMBER; `canonical` spells the metric or refuses it."""
    option = WARN_ON if warns else FAIL_ON
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"{opt(option)} {text!r} is not a condition; write METRIC, one of > >= < <= == !=, "
            "and a number, for example 'superquantile:0.9>1.5'"
        )
    metric, comparison, number = match.groups()
    threshold = _read_number(number)
    if not isfinite(threshold):
        raise UsageError(
            f"{opt(option)} {text!r}: {number!r} is not a number to compare with; write 0.1 or 1e-3"
        )
    return Gate(canonical(metric), comparison, threshold, warns)


def parse_fraction(text: str) -> float:
    """ "10%" or "0.1"; not negative. More than the whole needs its percent sign."""
    number, percent, rest = text.strip().partition("%")
    fraction = _read_number(number.strip()) / (100.0 if percent else 1.0)
    if rest or not (isfinite(fraction) and fraction >= 0.0):
        raise InvalidOption(
            "max_worsening", f"takes a fraction that is not negative, as 10% or 0.1; got {text!r}"
        )
    if fraction > 1.0 and not percent:
        raise InvalidOption(
            "max_worsening",
            f"would be {100.0 * fraction:g} %; write {text}% or a fraction, as 0.1",
            text,
        )
    return fraction


def _read_number(text: str) -> float:
    """The number, or NaN: digits are those of ASCII, and nothing stands between them."""
    return float(text) if _NUMBER.fullmatch(text) else float("nan")


def check_gates(gates: Iterable[Gate | Worsening], metrics: Figures) -> tuple[GateResult, ...]:
    """A result for each gate, in order."""
    return tuple(_judge_one(gate, metrics[gate.metric]) for gate in gates)


def _judge_one(gate: Gate | Worsening, value: float | None) -> GateResult:
    compared = value
    if isinstance(gate, Worsening) and better_of(gate.metric) is Better.NEARER_ZERO:
        compared = None if value is None else abs(value)
    holds = compared is None or _COMPARISONS[gate.comparison](compared, gate.threshold)
    return GateResult(gate, value, holds)


def read_stored(path: str, command: str, fraction: float) -> StoredFigures:
    """The figures in a file that the command printed as JSON."""
    remedy = f"store one with: lrisk {command} ... {opt('json')} > {path}"
    try:
        text = read_small(path, _MOST_BYTES)
        document = None if text is None else json.loads(text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or "command" not in document:
        raise DataError(f"{path}: holds no result of lrisk; {remedy}")
    if document["command"] != command:
        raise UsageError(
            f"{path}: holds a result of lrisk {str(document['command'])[:40]}; {remedy}"
        )
    found = _stored_figures(document)
    if not any(found.values()):
        raise DataError(f"{path}: holds no figures to compare with; {remedy}")
    return StoredFigures(path, fraction, found)


def _stored_figures(document: Mapping[str, Any]) -> dict[str | None, Figures]:
    """Those of the whole table, or those of each model beside a baseline."""
    if isinstance(document.get("metrics"), dict):
        return {None: _numbers(document["metrics"])}
    models, levels = document.get("models"), document.get("quantiles")
    if not isinstance(models, list) or not isinstance(levels, list):
        return {}
    return {
        entry["model"]: _model_figures(entry, levels)
        for entry in models
        if isinstance(entry, dict) and isinstance(entry.get("model"), str)
    }


def _model_figures(entry: Mapping[str, Any], levels: list[Any]) -> Figures:
    """Figures of a model in a quantile report, under the names that gates have for them."""
    figures: dict[str, Any] = {}
    for name, metric in metrics_of([Needs.PAIRS]).items():
        values = entry.get(name)
        if metric.parameter is None:
            figures[name] = values
        elif isinstance(values, list):
            pairs = zip(levels, values, strict=False)
            figures |= {spell(name, level): x for level, x in pairs if _is_number(level)}
    return _numbers(figures)


def _numbers(figures: Mapping[str, Any]) -> dict[str, float | None]:
    return {name: value for name, value in figures.items() if value is None or _is_number(value)}


def _is_number(value: object) -> bool:
    """A finite number of a size that a float can have."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= _LARGEST
