"""Facts of results, stated once, as text and as JSON values.

A result is a list of facts and a few grids. The terminal prints the texts, a page shows them, and
the document of --json holds the values, so that none of the three knows a fact of its own.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lrisk_cli.design.raw_rows import RAGGED, RowCounts
from lrisk_cli.errors import printable
from lrisk_cli.warnings import CodedWarning

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.evaluation.class_errors import Confusion
    from lrisk_cli.evaluation.gates import GateResult

LARGE = ((1e12, "trillion"), (1e9, "billion"))


@dataclass(frozen=True, slots=True)
class Fact:
    """label, text: as printed; not printed where the text is empty. values: for JSON, by key.

    detail: pages show it, the terminal does not. continued: the terminal prints it without its
    label, below the fact that it belongs to.
    """

    label: str
    text: str
    values: Mapping[str, Any] = field(default_factory=dict)
    detail: bool = False
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of text under heads. divided: where further parts of the rows begin, if anywhere."""

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    divided: Sequence[int] = ()


def document_of(facts: Sequence[Fact]) -> dict[str, Any]:
    """What programs read of the facts, in their order."""
    return {key: value for fact in facts for key, value in fact.values.items()}


def note_facts(notes: Sequence[str]) -> list[Fact]:
    """What to know before drawing conclusions."""
    return [Fact("note", plain(note)) for note in notes]


def notes_document(notes: Sequence[str]) -> dict[str, Any]:
    """The same for programs, where a command seldom has any."""
    return {"notes": list(notes)} if notes else {}


def warnings_document(warnings: Iterable[CodedWarning]) -> dict[str, Any]:
    """The warnings for programs; an empty list where there are none."""
    return {"warnings": [warning.document for warning in warnings]}


def rows_fact(counts: RowCounts) -> Fact:
    """What became of the rows."""
    return Fact("rows", describe_rows(counts), {"rows": rows_document(counts)})


def rows_document(counts: RowCounts) -> dict[str, Any]:
    """Rows read, used and dropped, by reason; if any, cells filled in, rows padded, ragged rows.

    learned_from: those left out where only the rows held out by the fit are evaluated.
    """
    return {
        "read": counts.read,
        "used": counts.used,
        **({"learned_from": counts.learned} if counts.learned else {}),
        "dropped": sum(counts.dropped.values()),
        "reasons": dict(counts.dropped),
        **({"filled": dict(counts.filled)} if counts.filled else {}),
        **({"padded": counts.padded} if counts.padded else {}),
        **({"ragged": list(counts.ragged)} if counts.ragged else {}),
    }


def held_out_rows(counts: RowCounts) -> int:
    """Rows that were read and kept for testing."""
    return counts.read - counts.used - counts.learned - sum(counts.dropped.values())


def describe_rows(counts: RowCounts) -> str:
    """The counts in words; cells filled in, rows padded and ragged rows only if there are any."""
    n_dropped = sum(counts.dropped.values())
    n_held_out = held_out_rows(counts)
    held_out = f", {n_held_out} held out" if n_held_out else ""
    held_out += f", {counts.learned} learned from" if counts.learned else ""
    reasons = ", ".join(f"{n} {plain(reason)}" for reason, n in counts.dropped.items())
    dropped = f"{n_dropped} dropped ({reasons})" if n_dropped else "none dropped"
    n_filled = sum(counts.filled.values())
    columns = ", ".join(f"{n} {plain(name)}" for name, n in counts.filled.items())
    filled = f"; {n_filled} cells filled in ({columns})" if n_filled else ""
    padded = f"; {counts.padded} padded" if counts.padded else ""
    n_ragged = counts.padded + counts.dropped.get(RAGGED, 0)
    more = f" and {n_ragged - len(counts.ragged)} more" if n_ragged > len(counts.ragged) else ""
    ragged = f"; ragged: {plain('; '.join(counts.ragged))}{more}" if counts.ragged else ""
    return f"{counts.read} read, {counts.used} used{held_out}, {dropped}{filled}{padded}{ragged}"


def decision_facts(found: "Evaluation") -> list[Fact]:
    """From which probability on the second of two classes is predicted, where that was given."""
    if found.threshold is None:
        return []
    label, threshold = found.model.target.classes[1], found.threshold
    text = f"{plain(label)} where its probability is at least {threshold:g}"
    return [Fact("predicted", text, {"threshold": threshold})]


def interval_facts(found: "Evaluation") -> list[Fact]:
    """The intervals whose coverage is among the figures, where they were asked for."""
    if found.level is None:
        return []
    what = "sets of classes" if found.model.target.classes else "intervals"
    text = f"{100.0 * found.level:g} %: coverage and mean_width are of these {what}"
    return [Fact("level", text, {"interval": found.level})]


def confusion_grid(confusion: "Confusion", most_letters: int = 24) -> Grid:
    """Rows by true class, down, and predicted class, across."""
    names = [
        name if len(name) <= most_letters else name[: most_letters - 1] + "…"
        for name in confusion.classes
    ]
    rows = [
        [name, *(count(n) for n in counts)]
        for name, counts in zip(names, confusion.counts.tolist(), strict=True)
    ]
    return Grid(["true \\ predicted", *names], rows)


def gates_document(gate_results: "Sequence[GateResult]") -> list[dict[str, Any]]:
    """Each gate with what it evaluated."""
    return [gate_document(result) for result in gate_results]


def named_gates_document(
    gate_results: "Sequence[tuple[str | None, GateResult]]",
) -> dict[str, Any]:
    """The gates with the models that met them, for commands that seldom have any."""
    if not gate_results:
        return {}
    gates = [
        {**({} if model is None else {"model": model}), **gate_document(result)}
        for model, result in gate_results
    ]
    return {"gates": gates}


def gate_document(result: "GateResult") -> dict[str, Any]:
    """A gate, the figure it met, and whether that fails it, or is worth a warning."""
    from lrisk_cli.evaluation.gates import Expectation, Worsening

    gate = result.gate
    if isinstance(gate, Expectation):
        said = {"gate": str(gate), "metric": gate.metric, "value": result.value}
        return {**said, "allowed": gate.allowed, "failed": result.failed, "warned": result.warned}
    stored = {"stored": gate.stored} if isinstance(gate, Worsening) else {}
    return {
        "gate": str(gate),
        "metric": gate.metric,
        "value": result.value,
        "comparison": gate.comparison,
        "threshold": gate.threshold,
        **stored,
        "failed": result.failed,
        "warned": result.warned,
    }


def count_failed(gate_results: "Sequence[GateResult]") -> str:
    """ "1 of 3 gates failed"; nothing where there are none."""
    n_failed = sum(result.failed for result in gate_results)
    return f"{n_failed} of {len(gate_results)} gates failed" if gate_results else ""


def largest_first(effects: Any) -> list[int]:
    """Positions by falling effect; equal ones in their order."""
    return sorted(range(len(effects)), key=lambda j: -float(effects[j]))


def number(value: float, digits: int = 6) -> str:
    """Six digits are enough to read; thousands are grouped, and billions are called so."""
    rounded = float(f"{value:.{digits}g}")
    size = abs(rounded)
    if size < min(1e4, 10.0**digits) or not size < 1e15:
        return f"{value:.{digits}g}"
    for least, word in LARGE:
        if size >= least:
            return f"{rounded / least:.{digits}g} {word}"
    text = f"{rounded:,.{max(digits - len(str(int(size))), 0)}f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if size >= 1e4 else text.replace(",", "")


def large_unit(value: float | None) -> tuple[float, str]:
    """What a figure is divided by to be read, and the word for that; 1 and "" below 1e9."""
    size = abs(value or 0.0)
    return next(((least, word) for least, word in LARGE if least <= size < 1e15), (1.0, ""))


def count(rows: float) -> str:
    """A number of rows, or the sum of their weights."""
    return number(rows) if isinstance(rows, float) else f"{rows:,}"


def figure(value: float | None) -> str:
    """A number to read, or the words for none."""
    return "not defined" if value is None else number(value)


def interval(ends: tuple[float, float] | None) -> str:
    """ "1.5 to 2.5"."""
    return "" if ends is None else f"{number(ends[0])} to {number(ends[1])}"


def plural(count: int, noun: str) -> str:
    """ "1 row", "2 rows"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def plain(text: str) -> str:
    """Text from a file, safe on a terminal and in the log of a CI runner."""
    return printable(text)
