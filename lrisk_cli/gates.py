"""Conditions such as "superquantile:0.9>1.5", and whether a command's figures meet them."""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import isfinite

from lrisk_cli.errors import UsageError

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
_GATE = re.compile(r"\s*([^<>=!\s]+)\s*(>=|<=|==|!=|>|<)\s*(\S+)\s*")


@dataclass(frozen=True, slots=True)
class Gate:
    """Fail when `metric comparison threshold` holds."""

    metric: str
    comparison: str
    threshold: float

    def __str__(self) -> str:
        return f"{self.metric}{self.comparison}{self.threshold!r}".removesuffix(".0")


@dataclass(frozen=True, slots=True)
class Verdict:
    """A gate and the figure it met. A figure that does not exist (None) fails its gate."""

    gate: Gate
    value: float | None
    failed: bool


def parse_gate(text: str, canonical: Callable[[str], str] = str) -> Gate:
    """Read METRIC COMPARISON NUMBER; `canonical` spells the metric or refuses it."""
    match = _GATE.fullmatch(text)
    if match is None:
        raise UsageError(
            f"--fail-on {text!r} is not a condition; write METRIC, one of > >= < <= == !=, "
            "and a number, for example 'superquantile:0.9>1.5'"
        )
    metric, comparison, number = match.groups()
    try:
        threshold = float(number)
    except ValueError:
        threshold = float("nan")
    if not isfinite(threshold):
        raise UsageError(f"--fail-on {text!r}: {number!r} is not a number to compare with")
    return Gate(canonical(metric), comparison, threshold)


def judge(gates: Iterable[Gate], metrics: Mapping[str, float | None]) -> tuple[Verdict, ...]:
    """A verdict for each gate, in order."""
    return tuple(_judge_one(gate, metrics[gate.metric]) for gate in gates)


def _judge_one(gate: Gate, value: float | None) -> Verdict:
    failed = value is None or _COMPARISONS[gate.comparison](value, gate.threshold)
    return Verdict(gate, value, failed)
