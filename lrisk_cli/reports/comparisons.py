"""Risks and rivals side by side, for people and as a document."""

from typing import Any

from lrisk_cli.evaluation.comparison import Comparison, Standing
from lrisk_cli.names import DEFAULT_RISK, Task
from lrisk_cli.reports.documents import rows_document
from lrisk_cli.reports.terminal import describe_rows, plain, print_pairs, print_rows

# The figures of the table, by task; smaller is better for all but accuracy.
SHOWN = {
    Task.REGRESSION: ("mean", "rmse", DEFAULT_RISK, "max"),
    Task.CLASSIFICATION: ("mean", "accuracy", DEFAULT_RISK, "max"),
}
PLANTED = ("found", "precision")


def print_comparison(comparison: Comparison) -> None:
    """A line for each method: figures on rows that it has not seen, and what it took."""
    print_pairs(
        [
            ("rows", describe_rows(comparison.counts)),
            ("judged on", comparison.judged_on),
            *([("corrupted", comparison.spoilt)] if comparison.spoilt else []),
            *(("note", plain(note)) for note in comparison.notes),
        ]
    )
    print()
    shown = SHOWN[comparison.task]
    planted = PLANTED if comparison.spoilt else ()
    heads = ["method", *shown, *planted, "seconds"]
    rows = [
        [each.method, *(cell(each, name) for name in heads[1:])] for each in comparison.standings
    ]
    print_rows([heads, *rows])
    print()
    print("Means over the splits, +- the deviation between them; losses in units of the file.")
    if planted:
        print(
            "found: share of the planted rows among as many of the largest scores; precision: "
            "average precision of the scores."
        )


def cell(standing: Standing, name: str) -> str:
    """Mean and deviation of a figure; nothing where it is not defined."""
    mean, deviation = standing.mean(name), standing.deviation(name)
    if mean is None:
        return ""
    if name == "seconds":
        return f"{mean:.3f}"
    return number4(mean) + (f" +- {deviation:.2g}" if deviation is not None else "")


def number4(value: float) -> str:
    """Four digits: the splits differ in the third."""
    return f"{value:.4g}"


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """What `compare --json` prints."""
    return {
        "command": "compare",
        "task": str(comparison.task),
        "rows": rows_document(comparison.counts),
        "splits": comparison.n_splits,
        "judged_on": comparison.judged_on,
        "corruption": comparison.corruption,
        "methods": [_standing(each) for each in comparison.standings],
        "notes": list(comparison.notes),
    }


def _standing(standing: Standing) -> dict[str, Any]:
    names = [*standing.trials[0].figures, "seconds", *PLANTED]
    figures = {name: standing.mean(name) for name in names}
    deviations = {name: standing.deviation(name) for name in names}
    return {
        "method": standing.method,
        "kind": standing.kind,
        "figures": {name: value for name, value in figures.items() if value is not None},
        "deviations": {name: value for name, value in deviations.items() if value is not None},
    }
