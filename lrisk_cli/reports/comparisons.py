"""A comparison of risks and baselines, as text and as a document."""

from typing import TYPE_CHECKING, Any

from lrisk_cli.design.weights import Weighting
from lrisk_cli.evaluation.group_figures import spell_name
from lrisk_cli.evaluation.registry import better_of
from lrisk_cli.names import WORST_TENTH, Task
from lrisk_cli.reports.facts import (
    Fact,
    Grid,
    document_of,
    figure,
    named_gates_document,
    note_facts,
    number,
    plain,
    rows_fact,
    warnings_document,
)
from lrisk_cli.reports.figure_facts import better_marked
from lrisk_cli.reports.groups import MOST_SHOWN, groups_document, rest_of_groups
from lrisk_cli.reports.terminal import print_facts, print_grid, print_named_gates, print_text

if TYPE_CHECKING:
    from lrisk_cli.evaluation.comparison import Comparison, MethodResult

# The figures of the table, by task; smaller is better for all but accuracy.
SHOWN = {
    Task.REGRESSION: ("mean", "rmse", WORST_TENTH, "max"),
    Task.CLASSIFICATION: ("mean", "accuracy", WORST_TENTH, "max"),
}
PLANTED = ("found", "found_precision")


def print_comparison(comparison: "Comparison") -> None:
    """A line for each method: figures on rows that it has not seen, and what it took."""
    print_facts([*comparison_facts(comparison), *note_facts(comparison.notes)])
    print()
    print_grid(comparison_grid(comparison))
    print()
    print_text("Means over the splits, +- the deviation between them; losses in units of the file.")
    if comparison.spoilt:
        print_text(
            "found: share of the planted rows among as many of the largest scores; "
            "found_precision: average precision of the scores."
        )
    for grid in group_grids(comparison):
        print()
        print_grid(grid)
    by_group = comparison.results[0].by_group
    for sentence in [] if by_group is None else rest_of_groups(by_group):
        print_text(sentence)
    print_named_gates(comparison.gate_results)


def group_grids(comparison: "Comparison") -> list[Grid]:
    """The mean loss of each method in the groups that are worst off with the first method, then the
    worst and the best group of each method; none where there are no groups.
    """
    known = [(each.method, found) for each in comparison.results if (found := each.by_group)]
    if not known:
        return []
    lead = known[0][1]
    heads = [f"mean loss by {', '.join(map(plain, lead.columns))}", "rows"]
    figures = [{group.name: group.figures["mean"] for group in found.groups} for _, found in known]
    rows = [
        [
            plain(spell_name(group.name)),
            f"{group.rows:,}" + (" few" if group.uncertain else ""),
            *(figure(each.get(group.name)) for each in figures),
        ]
        for group in lead.worst_first("mean")[:MOST_SHOWN]
    ]
    grids = [Grid([*heads, *(name for name, _ in known)], rows)]
    for metric in ("mean", SHOWN[comparison.task][1]):
        lines = []
        for name, found in known:
            gap = found.spread(metric)
            if gap is not None:
                worst, best = gap.worst.figures[metric], gap.best.figures[metric]
                group = plain(spell_name(gap.worst.name))
                lines.append([name, figure(worst), group, figure(best), number(gap.size)])
        grids.append(Grid([f"{metric} by group", "worst", "group", "best", "gap"], lines))
    return grids


def comparison_facts(comparison: "Comparison") -> list[Fact]:
    """The rows, and what was done to them."""
    return [
        Fact("task", str(comparison.task), {"task": str(comparison.task)}, detail=True),
        *_loss_facts(comparison),
        *_weight_facts(comparison.weighting),
        rows_fact(comparison.counts),
        Fact(
            "evaluated on",
            comparison.evaluated_on,
            {"splits": comparison.n_splits, "judged_on": comparison.evaluated_on},
        ),
        Fact("corrupted", comparison.spoilt, {"corruption": comparison.corruption}),
    ]


def _loss_facts(comparison: "Comparison") -> list[Fact]:
    """The loss, where it was asked for, and the exposure that goes with it."""
    if comparison.loss is None:
        return []
    exposure = comparison.exposure
    values = {"loss": comparison.loss} | ({} if exposure is None else {"exposure": exposure})
    beside = "" if exposure is None else f", exposure {plain(exposure)}"
    return [Fact("loss", comparison.loss + beside, values)]


def _weight_facts(weighting: Weighting) -> list[Fact]:
    """How much rows count, where they do not count alike."""
    if not weighting.asked:
        return []
    column, classes = weighting.column, weighting.classes
    found = [] if column is None else [f"{weighting.kind} weights of {plain(column)}"]
    found += [] if classes is None else [f"classes by {plain(classes.text)} in the fits"]
    values = {
        **({} if column is None else {"column": column}),
        "kind": weighting.kind.value,
        **({} if classes is None else {"class_weight": classes.text}),
    }
    return [Fact("weights", ", ".join(found), {"weight": values})]


def comparison_grid(comparison: "Comparison") -> Grid:
    """A row for each method, a column for each figure."""
    judged = [*SHOWN[comparison.task], *(PLANTED if comparison.spoilt else ())]
    names, results = [*judged, "seconds"], comparison.results
    columns = [[cell(each, name) for each in results] for name in names]
    for k, name in enumerate(judged):
        values = [each.mean(name) for each in results]
        columns[k] = better_marked(better_of(name), values, columns[k])
    rows = [[each.method, *cells] for each, *cells in zip(results, *columns, strict=True)]
    return Grid(["method", *names], rows)


def cell(result: "MethodResult", name: str) -> str:
    """Mean and deviation of a figure; nothing where it is not defined."""
    mean, deviation = result.mean(name), result.deviation(name)
    if mean is None:
        return ""
    if name == "seconds":
        return f"{mean:.3f}"
    return number4(mean) + (f" +- {number(deviation, 2)}" if deviation is not None else "")


def number4(value: float) -> str:
    """Four digits: the splits differ in the third."""
    return number(value, 4)


def comparison_document(comparison: "Comparison") -> dict[str, Any]:
    """What `compare --json` prints."""
    return {
        "command": "compare",
        **document_of(comparison_facts(comparison)),
        "methods": [_method_document(each) for each in comparison.results],
        "notes": list(comparison.notes),
        **named_gates_document(comparison.gate_results),
        **warnings_document(comparison.warnings),
    }


def _method_document(result: "MethodResult") -> dict[str, Any]:
    names = [*result.trials[0].figures, "seconds", *PLANTED]
    figures = {name: result.mean(name) for name in names}
    deviations = {name: result.deviation(name) for name in names}
    return {
        "method": result.method,
        "kind": result.kind,
        "figures": {name: value for name, value in figures.items() if value is not None},
        "deviations": {name: value for name, value in deviations.items() if value is not None},
        **({} if result.by_group is None else groups_document(result.by_group)),
    }
