"""Groups of rows on a page: a dot for each with the bar of its interval, and tables."""

from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.evaluation.group_figures import FEW_ROWS, spell_name
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.models.model import Model
from lrisk_cli.reports.facts import number, plural
from lrisk_cli.reports.figures import Guide, Plot, Series, draw
from lrisk_cli.reports.groups import lead_metric, spreads
from lrisk_cli.reports.html import Section, Table, brief, clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lrisk_cli.evaluation.group_figures import ByGroup, Gap, GroupFigures

# Groups that the figure shows, and figures of each that the table has.
MOST_DRAWN, MOST_FIGURES = 30, 6


def group_section(
    model: Model, by_group: "ByGroup | None", overall: Figures, rows: str = ""
) -> list[Section]:
    """The groups, worst first, where there are any. overall: of all rows; rows: which they are."""
    if by_group is None:
        return []
    metric = _drawn_metric(model, by_group)
    ordered = by_group.worst_first(metric)
    head = ", ".join(by_group.columns)
    title = "Groups" if not rows else f"Groups of the rows {rows}"
    n_groups = len(by_group.groups)
    tables = [_table(head, ordered, by_group), spread_table(spreads(model, by_group), n_groups)]
    plot = dot_plot(ordered, metric, head, overall.get(metric))
    return [Section(title, [draw(plot, "groups"), *tables])]


def _drawn_metric(model: Model, by_group: "ByGroup") -> str:
    """What groups are drawn by: the root of a mean squared error, or what orders them elsewhere."""
    lead = lead_metric(model, by_group)
    return "rmse" if lead == "mean" and "rmse" in by_group.metrics else lead


def dot_plot(ordered: "list[GroupFigures]", metric: str, head: str, value: float | None) -> Plot:
    """A dot for each of the worst groups, with its interval if any. value: of all rows."""
    known = [each for each in ordered if each.figures.get(metric) is not None]
    shown, worst = known[:MOST_DRAWN], known[0]
    names = [clip(spell_name(each.name), 28) for each in shown]
    series = [
        _series(f"at least {FEW_ROWS} rows", shown, metric, few=False),
        _series(f"fewer than {FEW_ROWS} rows: chance may decide", shown, metric, few=True),
    ]
    n_more = len(known) - len(shown)
    bars = any(metric in each.intervals for each in shown)
    notes = ["Bars are 95 % intervals."] if bars else []
    if value is not None:
        notes.append("The dashed line is the figure of all rows.")
    if n_more:
        notes.append(f"{plural(n_more, 'group')} with better figures left out.")
    return Plot(
        title=f"{spell_name(worst.name)} is worst: {metric} {brief(worst.figures[metric])}",
        alternative=f"{metric} of {plural(len(shown), 'group')} by {head}, the worst first; the "
        "table below has the numbers.",
        x_label="mean loss" if metric == "mean" else metric,
        y_label=head,
        series=[each for each in series if len(each.x)],
        rows=names,
        guides=[] if value is None else [Guide("x", value)],
        note=" ".join(notes),
    )


def _series(name: str, shown: "list[GroupFigures]", metric: str, *, few: bool) -> Series:
    """The groups with many rows, or those with few."""
    own = [(at, each) for at, each in enumerate(shown) if each.uncertain == few]
    x = np.array([float(each.figures[metric] or 0.0) for _, each in own])
    ends = [each.intervals.get(metric, (v, v)) for (_, each), v in zip(own, x, strict=True)]
    low, high = (np.array([pair[side] for pair in ends]) for side in (0, 1))
    at = np.array([position for position, _ in own], dtype=np.float64)
    return Series(name, x, at, 0 if few else 1, "ranges", low=low, high=high)


def _table(head: str, ordered: "list[GroupFigures]", by_group: "ByGroup") -> Table:
    """A row for each group, with the first figures of the losses and of the errors."""
    names = by_group.metrics
    errors = names[names.index("max") + 1 :]
    metrics = ["mean", *(name for name in names if name == "superquantile:0.9"), *errors]
    return groups_table(head, ordered, metrics[:MOST_FIGURES])


def groups_table(head: str, ordered: "Sequence[GroupFigures]", metrics: "Sequence[str]") -> Table:
    """A row for each group with these figures."""
    rows = [
        [
            spell_name(each.name),
            f"{each.rows:,}" + (" few" if each.uncertain else ""),
            *(brief(each.figures.get(name)) for name in metrics),
        ]
        for each in ordered
    ]
    return Table("Figures of each group, the worst first", [head, "rows", *metrics], rows)


def spread_table(found: "Sequence[tuple[str, Gap]]", n_groups: int) -> Table:
    """The worst and the best group of each figure, and their distance."""
    rows = []
    for name, each in found:
        worst, best = each.worst.figures[name], each.best.figures[name]
        ends = [brief(worst), brief(best), brief(each.size)]
        rows.append([name, spell_name(each.worst.name), *ends])
    caption = f"The worst and the best of {number(n_groups)} groups"
    return Table(caption, ["figure", "worst group", "worst", "best", "gap"], rows, texts=2)
