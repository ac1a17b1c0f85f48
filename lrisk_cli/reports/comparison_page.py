"""The page of `compare`: errors on unseen rows, tails and cost of each method."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.baselines.registry import FAMILIES
from lrisk_cli.errors import join_words
from lrisk_cli.evaluation.group_figures import spell_name
from lrisk_cli.evaluation.registry import larger_is_better
from lrisk_cli.names import WORST_TENTH, Task
from lrisk_cli.reports.comparisons import (
    PLANTED,
    cell,
    comparison_facts,
    comparison_grid,
    group_grids,
)
from lrisk_cli.reports.facts import Fact
from lrisk_cli.reports.figures import Plot, Series, draw
from lrisk_cli.reports.group_pages import MOST_DRAWN
from lrisk_cli.reports.html import (
    Figure,
    Page,
    Section,
    Table,
    Tiles,
    brief,
    clip,
    facts_block,
    gates_section,
    notes_block,
)

if TYPE_CHECKING:
    from lrisk_cli.evaluation.comparison import Comparison, MethodResult

# The figure that methods are ordered by, and whether more of it is better.
MAIN = {Task.REGRESSION: "rmse", Task.CLASSIFICATION: "accuracy"}
# A method this many times worse than another would hide the other differences.
WIDE = 20.0
# Methods whose groups are drawn.
MOST_LINES = 5
# So many times the usual distance from the best method squeezes the others.
FAR = 4.0
KINDS = {"risk": ("risks", 1), "rival": ("rivals", 2), "oracle": ("oracle", 0)}
DEVIATIONS = "Bars: the deviation between splits on either side of the mean."


def comparison_page(comparison: "Comparison", command_line: str) -> Page:
    """The table of methods, its main columns as figures, what was done."""
    main = MAIN[comparison.task]
    figures = [_figure(comparison, name) for name in main_figures(comparison)]
    planted = [_figure(comparison, name) for name in PLANTED] if comparison.spoilt else []
    gates = comparison.gate_results
    sections = [
        Section(
            "At a glance",
            [
                _tiles(comparison),
                *notes_block(comparison.notes, comparison.warnings),
            ],
        ),
        *gates_section([gate for _, gate in gates], [name for name, _ in gates]),
        Section("Errors, tails and time", figures),
        *([Section("Finding the planted rows", planted, lead=FINDING)] if planted else []),
        Section("All methods", [_table(comparison)], lead=_table_words(comparison)),
        *_groups(comparison),
        Section("What was done", [facts_block(_facts(comparison))]),
    ]
    best = _best(comparison, main)
    n_methods = len(_without_oracle(comparison))
    lead = f"{best.method} has the {_word(main)} {main} of {n_methods} methods: "
    title = f"{n_methods} methods compared, evaluated on {comparison.evaluated_on}"
    if n_methods == 1:
        lead = f"{best.method} has the {main} "
        title = f"{best.method} evaluated on {comparison.evaluated_on}"
    lead += f"{_figures(best, main)}."
    return Page("compare", title, lead, sections, command_line, timed=True)


def _groups(comparison: "Comparison") -> list[Section]:
    """The mean loss of each method in each group, where there are groups."""
    known = [(each.method, found) for each in comparison.results if (found := each.by_group)]
    if not known:
        return []
    head, lead = ", ".join(known[0][1].columns), known[0][1]
    shown = lead.worst_first("mean")[:MOST_DRAWN]
    y = np.arange(len(shown), dtype=np.float64)
    series = []
    for k, (name, found) in enumerate(known[:MOST_LINES]):
        values = {group.name: group.figures["mean"] for group in found.groups}
        x = np.array([float(values.get(group.name) or np.nan) for group in shown])
        series.append(Series(name, x, y, k, "marks"))
    worst = shown[0]
    plot = Plot(
        title=f"{spell_name(worst.name)} is worst for {known[0][0]}: mean loss "
        f"{brief(worst.figures['mean'])}",
        alternative=f"Mean loss of {len(shown)} groups by {head} for each method; the table below "
        "has the numbers.",
        x_label="mean loss",
        y_label=head,
        series=series,
        rows=[clip(spell_name(group.name), 28) for group in shown],
    )
    tables = [Table("", grid.heads, grid.rows) for grid in group_grids(comparison)]
    return [Section("Groups", [draw(plot, "groups"), *tables])]


FINDING = (
    "found: of the planted rows, the share among as many of the largest scores. found_precision: "
    "average precision of the scores. Scores are losses, unless a method's paper defines others."
)


def main_figures(comparison: "Comparison") -> tuple[str, ...]:
    """The figures that are drawn: the error, the tail, the time."""
    return (MAIN[comparison.task], WORST_TENTH, "max", "seconds")


def _word(name: str) -> str:
    return "highest" if _more_is_better(name) else "lowest"


def _best(comparison: "Comparison", name: str) -> "MethodResult":
    """The method with the best mean, the oracle apart; the first of equals."""
    sign = -1.0 if _more_is_better(name) else 1.0
    known = [each for each in _without_oracle(comparison) if each.mean(name) is not None]
    return min(known, key=lambda each: sign * (each.mean(name) or 0.0))


def _without_oracle(comparison: "Comparison") -> "list[MethodResult]":
    return [each for each in comparison.results if each.kind != "oracle"]


def _tiles(comparison: "Comparison") -> Tiles:
    names = [MAIN[comparison.task], WORST_TENTH, "max"]
    names += ["found_precision"] if comparison.spoilt else []
    items = []
    for name in names:
        best = _best(comparison, name)
        items.append((f"{_word(name)} {name}", brief(best.mean(name)), best.method))
    splits = f"{comparison.n_splits} split{'s' * (comparison.n_splits != 1)}"
    return Tiles([*items, ("methods", str(len(_without_oracle(comparison))), f"on {splits}")])


def _more_is_better(name: str) -> bool:
    return name in PLANTED or larger_is_better(name)


def _figure(comparison: "Comparison", name: str) -> Figure:
    return draw(method_plot(comparison, name), name.replace(":", "-").replace(".", "-"))


def method_plot(comparison: "Comparison", name: str) -> Plot:
    """One figure of all methods, the best at the top, with deviations."""
    known = [each for each in comparison.results if each.mean(name) is not None]
    means = np.array([each.mean(name) for each in known], np.float64)
    sign = -1.0 if _more_is_better(name) else 1.0
    order = np.argsort(sign * means, kind="stable")
    ranked, means = [known[i] for i in order], means[order]
    is_log = bool(means.min() > 0.0 and means.max() > WIDE * means.min())
    best = _best(comparison, name)
    what = "share found" if name == "found" else name
    title = f"{best.method} has the {_word(name)} {what}: {brief(best.mean(name))}"
    if name == "seconds":
        title = f"{best.method} is fitted the soonest: {brief(best.mean(name))} s"
    values = ", ".join(
        f"{each.method} {brief(mean)}" for each, mean in zip(ranked, means, strict=True)
    )
    reach, beyond = (None, []) if is_log else _reach(ranked, name)
    return Plot(
        title=title,
        alternative=f"{name} of each method, mean over the splits: {values}.",
        x_label="seconds of a fit" if name == "seconds" else name,
        y_label="method",
        series=[*_bars(ranked, name, is_log=is_log), *_marks(ranked, means)],
        x_log=is_log,
        x_range=reach,
        rows=[clip(each.method) for each in ranked],
        note=" ".join([*([DEVIATIONS] if comparison.n_splits > 1 else []), *beyond]),
    )


def _reach(
    ranked: "Sequence[MethodResult]", name: str
) -> tuple[tuple[float, float] | None, list[str]]:
    """The range of an axis without methods that would squeeze the others, and who they are.

    ranked: the best first. Those are left out whose distance from it is many times the median one.
    """
    means = np.array([each.mean(name) for each in ranked], np.float64)
    spreads = np.array([each.deviation(name) or 0.0 for each in ranked], np.float64)
    distances = np.abs(means - means[0])
    usual = float(np.median(distances)) + float(np.median(spreads))
    kept = distances <= FAR * usual
    if usual == 0.0 or kept.all():
        return None, []
    low = float(np.min(means[kept] - spreads[kept]))
    high = float(np.max(means[kept] + spreads[kept]))
    margin = 0.03 * (high - low)
    names = [
        f"{clip(each.method)} ({brief(mean)})"
        for each, mean, inside in zip(ranked, means, kept, strict=True)
        if not inside
    ]
    return (low - margin, high + margin), [f"Beyond the axis: {join_words(names)}."]


def _marks(ranked: "Sequence[MethodResult]", means: np.ndarray) -> list[Series]:
    """The means, in a colour for each kind of method."""
    places = np.arange(len(ranked), dtype=np.float64)
    series = []
    for kind, (name, color) in KINDS.items():
        own = np.array([each.kind == kind for each in ranked])
        if own.any():
            series.append(Series(name, means[own], places[own], color, "marks"))
    return series


def _bars(ranked: "Sequence[MethodResult]", name: str, *, is_log: bool) -> list[Series]:
    """One deviation to either side of the mean; not below a tenth of it on a logarithmic axis."""
    series = []
    for place, each in enumerate(ranked):
        mean, deviation = each.mean(name), each.deviation(name)
        if mean is None or deviation is None:
            continue
        low = max(mean - deviation, 0.1 * mean) if is_log else mean - deviation
        ends, y = np.array([low, mean + deviation]), np.full(2, float(place))
        # Colour 0 is solid whatever the kind: a pattern would suggest a meaning.
        series.append(Series("", ends, y, 0))
    return series


def _table(comparison: "Comparison") -> Table:
    grid = comparison_grid(comparison)
    rows = [[text.replace("+-", "±") for text in row] for row in grid.rows]
    return Table("Figures of each method on rows it has not seen", grid.heads, rows)


def _figures(result: "MethodResult", name: str) -> str:
    return cell(result, name).replace("+-", "±")


def _table_words(comparison: "Comparison") -> str:
    words = "Losses in units of the file."
    if comparison.n_splits > 1:
        words = f"Means over the splits, ± the deviation between them. {words}"
    return words


def _facts(comparison: "Comparison") -> list[Fact]:
    plan = comparison.plan
    first = plan.fits[0]
    rivals = [rival.name for rival in plan.rivals or ()]
    mu = "1/n" if first.l2 is None else f"{first.l2:g}"
    expected = f"rivals are told to expect {100.0 * plan.eps:g} %"
    return [
        *comparison_facts(comparison),
        Fact("penalty", f"the same for all: mu/2 ||w||² with mu = {mu}"),
        Fact("bad rows", expected if rivals else ""),
        Fact("seed", str(plan.seed)),
        *(Fact(name, str(FAMILIES[name])) for name in dict.fromkeys(rivals)),
    ]
