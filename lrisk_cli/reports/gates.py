"""Gates as a grid: what each figure is, what it was in an earlier run, and what is allowed."""

from collections.abc import Sequence

from lrisk_cli.colours import Style, Styled
from lrisk_cli.evaluation.gates import Expectation, Gate, GateResult, Worsening
from lrisk_cli.evaluation.metric import Better
from lrisk_cli.evaluation.registry import better_of
from lrisk_cli.reports.facts import Grid, figure, number

# What passes, by the comparison that fails.
_ALLOWED = {
    ">": "at most {}",
    ">=": "below {}",
    "<": "at least {}",
    "<=": "above {}",
    "==": "not {}",
    "!=": "only {}",
}
# Digits of figures to read; more where the figure and its limit look the same without being so.
_DIGITS, _MOST_DIGITS = 6, 17


def gates_grid(
    gate_results: Sequence[GateResult], models: Sequence[str | None] | None = None
) -> Grid:
    """A row for each gate. models: that met them, if several could.

    Only gates on stored figures have a figure from before; the column is left out if there is none.
    """
    rows = [_gate_row(each) for each in gate_results]
    heads = ["gate", "result", "is", "was", "allowed"]
    if not any(isinstance(each.gate, Worsening) for each in gate_results):
        rows = [[*row[:3], row[4]] for row in rows]
        heads.remove("was")
    if models is not None and any(models):
        heads.append("model")
        rows = [[*row, model or ""] for row, model in zip(rows, models, strict=True)]
    return Grid(heads, rows)


def _gate_row(result: GateResult) -> list[str]:
    gate = result.gate
    if isinstance(gate, Expectation):
        return [gate.metric, _word(result), figure(result.value), "", gate.allowed]
    value, limit = _apart(result.value, gate.threshold)
    was = number(gate.stored) if isinstance(gate, Worsening) else ""
    return [gate.metric, _word(result), value, was, _allowed(gate, limit)]


def _word(result: GateResult) -> str:
    if result.failed:
        return Styled("FAILED", Style.FAILED)
    return Styled("warned", Style.WARNING) if result.warned else "passed"


def _allowed(gate: Gate | Worsening, limit: str) -> str:
    if isinstance(gate, Worsening) and better_of(gate.metric) is Better.NEARER_ZERO:
        return f"-{limit} to {limit}"
    return _ALLOWED[gate.comparison].format(limit)


def _apart(value: float | None, limit: float) -> tuple[str, str]:
    """Both rounded, to as many digits as tell them apart where they differ."""
    if value is None:
        return figure(None), number(limit)
    digits = next(
        (
            digits
            for digits in range(_DIGITS, _MOST_DIGITS)
            if value == limit or number(value, digits) != number(limit, digits)
        ),
        _MOST_DIGITS,
    )
    return number(value, digits), number(limit, digits)
