"""Figures of groups of rows: a grid of the worst of them, their spread, the document of all."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lrisk_cli.evaluation.group_figures import FEW_ROWS, spell_name
from lrisk_cli.models.model import Model
from lrisk_cli.names import WORST_TENTH
from lrisk_cli.reports.facts import Grid, figure, interval, number, plain, plural

if TYPE_CHECKING:
    from lrisk_cli.evaluation.group_figures import ByGroup, Gap, GroupFigures

# Groups that a terminal shows, and the figures of each that it has columns for.
MOST_SHOWN = 10
_SHOWN = ("mean", WORST_TENTH, "rmse", "accuracy", "mean_deviance", "pinball")
_MOST_FIGURES = 3
FEW = f"few: fewer than {FEW_ROWS} rows, so that chance may decide these figures"


def lead_metric(model: Model, by_group: "ByGroup") -> str:
    """What groups are ordered by: the risk that was minimised within them, or the mean loss."""
    risk = model.group_risk
    if risk is not None and str(risk.within) in by_group.metrics:
        return str(risk.within)
    return "mean"


def groups_grid(model: Model, by_group: "ByGroup", which: str = "") -> Grid:
    """The worst groups first, at most ten, with the figures that people look at first.

    which: of the rows they are of, where there are several kinds.
    """
    lead = lead_metric(model, by_group)
    return grid_of_groups(by_group, lead, _shown(lead, by_group.metrics), which)


def grid_of_groups(by_group: "ByGroup", lead: str, metrics: Sequence[str], which: str = "") -> Grid:
    """The same of these figures; lead: the first of them, which orders the groups."""
    intervals = any(each.intervals for each in by_group.groups)
    if intervals:
        metrics = metrics[:-1]
    named = f"by {', '.join(map(plain, by_group.columns))}"
    heads = [f"{which} {named}".strip(), "rows", *metrics]
    rows = []
    for each in by_group.worst_first(lead)[:MOST_SHOWN]:
        figures = [figure(each.figures.get(name)) for name in metrics]
        if intervals:
            figures.insert(1, interval(each.intervals.get(lead)))
        rows.append([plain(spell_name(each.name)), _count(each), *figures])
    if intervals:
        heads.insert(3, "95 % interval")
    return Grid(heads, rows)


def spread_grid(model: Model, by_group: "ByGroup") -> Grid:
    """For the figures of the grid: that of the worst group, its name, that of the best, the gap."""
    return grid_of_spreads(spreads(model, by_group))


def grid_of_spreads(found: "Sequence[tuple[str, Gap]]", title: str = "spread") -> Grid:
    """The same of these figures by name."""
    rows = []
    for name, each in found:
        ends = figure(each.best.figures[name]), number(each.size)
        worst = figure(each.worst.figures[name]), plain(spell_name(each.worst.name))
        rows.append([name, *worst, *ends])
    return Grid([title, "worst", "group", "best", "gap"], rows)


def spreads(model: Model, by_group: "ByGroup") -> "list[tuple[str, Gap]]":
    """The figures that people look at first, with the worst and the best group of each."""
    return spreads_of(by_group, _shown(lead_metric(model, by_group), by_group.metrics))


def spreads_of(by_group: "ByGroup", names: Sequence[str]) -> "list[tuple[str, Gap]]":
    """The worst and the best group of each of these figures that is defined."""
    found = [(name, by_group.spread(name)) for name in names]
    return [(name, gap) for name, gap in found if gap is not None]


def rest_of_groups(by_group: "ByGroup") -> list[str]:
    """Sentences below the grid: how many groups it leaves out, what `few` means."""
    n_more = len(by_group.groups) - MOST_SHOWN
    lines = []
    if n_more > 0:
        lines.append(f"and {plural(n_more, 'group')} more, which the JSON document has")
    return lines + few_lines([each.uncertain for each in by_group.groups])


def few_lines(uncertain: Sequence[bool]) -> list[str]:
    """What `few` means, where any group is one."""
    return [f"{FEW} ({sum(uncertain)} of {plural(len(uncertain), 'group')})"] * any(uncertain)


def groups_document(by_group: "ByGroup") -> dict[str, Any]:
    """All groups by name, with every figure, and the worst and the best group of each."""
    return {
        "groups": [_group(by_group.columns, each) for each in by_group.groups],
        "group_spread": spread_document(by_group),
    }


def spread_document(by_group: "ByGroup") -> dict[str, Any]:
    """The worst and the best group of each figure, and their distance."""
    spread = {}
    for name in by_group.metrics:
        found = by_group.spread(name)
        if found is not None:
            spread[name] = {
                "worst": named_cells(by_group.columns, found.worst.name),
                "best": named_cells(by_group.columns, found.best.name),
                "gap": found.size,
            }
    return spread


def _group(columns: Sequence[str], each: "GroupFigures") -> dict[str, Any]:
    intervals = {name: list(ends) for name, ends in each.intervals.items()}
    return {
        "group": named_cells(columns, each.name),
        "rows": each.rows,
        "uncertain": each.uncertain,
        "metrics": each.figures,
        **({"intervals": intervals} if intervals else {}),
    }


def named_cells(columns: Sequence[str], name: Sequence[str]) -> dict[str, str]:
    """The cells of a group by their columns."""
    return dict(zip(columns, name, strict=True))


def _shown(lead: str, metrics: Sequence[str]) -> list[str]:
    found = dict.fromkeys([lead, *(name for name in _SHOWN if name in metrics)])
    return list(found)[:_MOST_FIGURES]


def _count(each: "GroupFigures") -> str:
    return f"{each.rows:,} few" if each.uncertain else f"{each.rows:,}"
