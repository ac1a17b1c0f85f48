"""The page of a quantile report: what each model gains in the tail and what that costs."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import join_words
from lrisk_cli.evaluation.group_figures import spell_name
from lrisk_cli.evaluation.quantiles import TAIL, Compared, PairAt, better_from
from lrisk_cli.reports.facts import Fact
from lrisk_cli.reports.figures import Guide, Plot, Series, draw
from lrisk_cli.reports.group_pages import dot_plot, spread_table
from lrisk_cli.reports.html import (
    Block,
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
from lrisk_cli.reports.quantile_text import (
    finding,
    group_cells,
    group_heads,
    group_spreads,
    mean_rows,
    percent_change,
    quantile_facts,
    quantile_rows,
)

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import NamedModel, QuantileResults

# The most lines in a readable figure; and the most with bands.
MAX_LINES = 7
MAX_BANDS = 2
TICKS = {
    "differences": (0.0, 0.25, 0.5, 0.75, 0.9, 1.0),
    "tail": (0.9, 0.92, 0.94, 0.96, 0.98, 1.0),
}
MAX_GROUPS = 24


def quantile_page(results: "QuantileResults", command_line: str) -> Page:
    """The page of a comparison."""
    first, *others = (model.name for model, _ in results.compared)
    more = f" and {len(others)} more" if others else ""
    sections = [
        Section("At a glance", [_tiles(results), *_differences(results)]),
        Section("Quantile by quantile", [_table(results, *pair) for pair in results.compared]),
    ]
    if results.groups:
        sections.append(Section(f"By {', '.join(results.by)}", _groups(results)))
    models = [name for name, _ in results.gate_results]
    sections += gates_section([result for _, result in results.gate_results], models)
    sections.append(Section("What was done", _method(results)))
    return Page(
        "quantile-report",
        f"Loss quantiles of {first}{more} against {results.baseline.name}",
        _lead(results),
        sections,
        command_line,
    )


def _lead(results: "QuantileResults") -> str:
    comparison = results.comparison
    if len(results.compared) == 1:
        return f"{results.models[1].name}: {finding(comparison, results.compared[0][1])}."
    words = [
        f"{model.name} {percent_change(compared.tail, comparison.tail)} "
        f"(all rows: {percent_change(compared.mean, comparison.mean)})"
        for model, compared in results.compared[:MAX_LINES]
    ]
    return f"The mean of the worst tenth of the losses: {', '.join(words)}."


def _tiles(results: "QuantileResults") -> Tiles:
    comparison = results.comparison
    items = []
    for model, compared in results.compared[:MAX_LINES]:
        change = percent_change(compared.tail, comparison.tail)
        mean = percent_change(compared.mean, comparison.mean)
        items.append((f"worst tenth, {model.name}", change, f"{mean} on average"))
    rows = f"{comparison.n_rows:,.0f}"
    word = "rows evaluated" if results.splits is None else "rows evaluated in each split"
    return Tiles([*items, (word, rows, f"largest loss {brief(comparison.losses.values[-1])}")])


def _differences(results: "QuantileResults") -> list[Block]:
    names = ("differences", "tail")
    plots = zip(difference_plots(results), names, strict=True)
    return [draw(plot, name) for plot, name in plots]


def difference_plots(results: "QuantileResults") -> list[Plot]:
    """The differences at all levels, and once more those in the tail."""
    shown = results.compared[:MAX_LINES]
    lines = [_line(results, model, compared, k) for k, (model, compared) in enumerate(shown, 1)]
    baseline, comparison = results.baseline.name, results.comparison
    relative = comparison.mean > 0.0
    words = "; ".join(f"{model.name}: {finding(comparison, compared)}" for model, compared in shown)
    note = "Above the line at 0 the model loses less than the baseline."
    if lines[0].low is not None:
        note += " Bands: 95 % intervals, level by level."
    plots = []
    for name, first, title, remark, data in (
        ("differences", 0.0, _where(results), note, _numbers(results, lines)),
        ("tail", TAIL, _how_much(results), _how_sure(results), None),
    ):
        ticks = [tick for tick in TICKS[name] if tick >= first]
        part = [_cut(line, comparison.levels >= first) for line in lines]
        reach = _reach(part, 0.99)
        plot = Plot(
            title=title,
            alternative=f"Difference of the loss quantiles to those of {baseline}, against the "
            f"level p from {first:g} to 1. {words}.",
            x_label="p, the share of rows with losses no larger",
            y_label=f"difference to {baseline}" + (", in its mean losses" if relative else ""),
            series=part,
            y_percent=relative,
            ticks={tick: f"{tick:g}" for tick in ticks},
            x_range=(first, 1.0),
            y_range=reach,
            guides=[Guide("y", 0.0)],
            note=remark + _beyond(part, reach, percent=relative),
            data=data,
        )
        plots.append(plot)
    return plots


def _line(
    results: "QuantileResults", model: "NamedModel", compared: Compared, color: int
) -> Series:
    """The differences of a model as they are drawn, with a band where there are few models."""
    comparison, difference = results.comparison, compared.difference
    unit = comparison.mean or 1.0
    values, low, high = (
        each / unit for each in (difference.values, difference.low, difference.high)
    )
    if len(results.compared) > MAX_BANDS:
        return Series(model.name, comparison.levels, values, color)
    return Series(model.name, comparison.levels, values, color, low=low, high=high)


def _cut(series: Series, kept: NDArray[np.bool_]) -> Series:
    low, high = series.low, series.high
    return replace(
        series,
        x=series.x[kept],
        y=series.y[kept],
        low=None if low is None else low[kept],
        high=None if high is None else high[kept],
    )


def _reach(lines: Sequence[Series], last: float) -> tuple[float, float]:
    """The range of the values up to a level, with a margin for bands; the largest loss of all
    may differ by far more than the rest."""
    values = np.concatenate([line.y[line.x <= last] for line in lines])
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    margin = 0.25 * (high - low) or 1.0
    return low - margin, high + margin


def _beyond(lines: Sequence[Series], reach: tuple[float, float], *, percent: bool) -> str:
    """What the axis leaves out: the largest loss, where it is far off, and the ends of bands."""
    low, high = reach
    last = [float(line.y[-1]) for line in lines]
    far = [y for y in last if not low <= y <= high]
    words = [f"{100.0 * y:.3g} %" if percent else brief(y) for y in far]
    bands = [each for line in lines for each in (line.low, line.high) if each is not None]
    cut = any(bool(np.any((each < low) | (each > high))) for each in bands)
    remarks = [f" At p = 1 the difference is {join_words(words)}, beyond the axis."] if far else []
    return "".join([*remarks, *([" The bands go on beyond the axis."] if cut else [])])


def _where(results: "QuantileResults") -> str:
    """The title of the figure of all levels."""
    levels = results.comparison.levels
    starts = [better_from(levels, compared.difference.values) for _, compared in results.compared]
    name, baseline = results.models[1].name, results.baseline.name
    if len(starts) > 1:
        n_better = sum(start is not None for start in starts)
        return f"{n_better} of {len(starts)} models lose less than {baseline} at the largest losses"
    if starts[0] is None:
        return f"{name} is not better than {baseline} at the largest losses"
    if starts[0] == 0.0:
        return f"{name} is at least as good as {baseline} at every level"
    return f"{name} is better than {baseline} from p = {starts[0]:.3g} on"


def _how_much(results: "QuantileResults") -> str:
    """The title of the figure of the tail."""
    comparison = results.comparison
    tails = [compared.tail for _, compared in results.compared]
    if len(tails) > 1:
        best = int(np.argmin(tails))
        change = percent_change(tails[best], comparison.tail)
        return f"The worst tenth is smallest with {results.models[1 + best].name}: {change}"
    change = percent_change(tails[0], comparison.tail)
    words = {"lower": "less", "higher": "more"}
    for word, other in words.items():
        change = change.replace(word, other)
    return f"The worst tenth loses {change} on average".replace("unchanged", "as much")


def _how_sure(results: "QuantileResults") -> str:
    """At how many levels of the tail the intervals leave no doubt about the sign."""
    in_tail = results.comparison.levels >= TAIL
    words = []
    for model, compared in results.compared[:MAX_LINES]:
        low, high = compared.difference.low[in_tail], compared.difference.high[in_tail]
        n_known = np.count_nonzero(~np.isnan(low))
        better, worse = np.count_nonzero(low > 0.0), np.count_nonzero(high < 0.0)
        words.append(f"{model.name} is better at {better} and worse at {worse} of {n_known} levels")
    return f"The worst tenth of the rows. By the intervals, {'; '.join(words)}."


def _numbers(results: "QuantileResults", lines: Sequence[Series]) -> Table:
    """What the figure shows, at every twentieth level and the last ones."""
    levels = results.comparison.levels
    shown = np.flatnonzero((np.arange(len(levels)) % 10 == 9) | (levels >= 0.99))
    unit = results.comparison.mean or 1.0
    rows = [[f"{levels[i]:g}", *(brief(unit * line.y[i]) for line in lines)] for i in shown]
    return Table("Differences of the losses", ["p", *(line.name for line in lines)], rows, texts=0)


def _table(results: "QuantileResults", model: "NamedModel", compared: Compared) -> Table:
    rows = quantile_rows(results, compared, brief)
    rows += mean_rows(results.comparison, compared, brief)
    heads = [
        "loss quantile", results.baseline.name, model.name, "difference", "95 % interval",
        "in mean losses",
    ]  # fmt: skip
    caption = f"{model.name}: positive differences mean that it loses less"
    return Table(caption, heads, rows)


def _groups(results: "QuantileResults") -> list[Block]:
    """Which groups carry the tail: a figure of the first, a table of all."""
    shown = results.groups[:MAX_GROUPS]
    first = shown[0]
    names, head = [model.name for model in results.models], ", ".join(results.by)
    y = np.arange(len(shown), dtype=np.float64)
    tails = [
        Series(f"tail of {name}", np.array([g.tail_shares[k - 1] for g in shown]), y, k, "marks")
        for k, name in enumerate(names[:MAX_LINES], 1)
    ]
    plot = Plot(
        title=f"{head} {spell_name(first.name)}: {100.0 * first.row_share:.3g} % of the rows, "
        f"{100.0 * first.tail_shares[0]:.3g} % of the tail",
        alternative="Share of each group in all rows and in the worst tenth of the losses of each "
        "model; the table below has the numbers.",
        x_label="share of the rows, and of the worst tenth of the losses",
        y_label=head,
        series=[Series("all rows", np.array([g.row_share for g in shown]), y, 0, "marks"), *tails],
        x_percent=True,
        rows=[clip(spell_name(group.name)) for group in shown],
        note="Right of its grey mark, a group has more than its share of the large losses.",
    )
    heads = group_heads(results, names)
    rows = [[spell_name(group.name), *group_cells(group)] for group in results.groups]
    few = len(names) == 2
    table = Table("Shares, and the mean of the worst tenth", heads, rows, beside=few)
    blocks: list[Block] = [draw(plot, "groups"), table]
    for k, (name, found) in enumerate(group_spreads(results)):
        by_group, own = results.by_model[name], PairAt(results.comparison, results.compared[k][1])
        gained = own.tail_gained
        dots = dot_plot(by_group.worst_first("tail_gained"), "tail_gained", head, gained)
        blocks += [draw(dots, f"gained_{k}"), spread_table(found, len(by_group.groups))]
    return blocks


def _method(results: "QuantileResults") -> list[Block]:
    splits = results.splits
    gaps = [f"{model.name} {model.gap:.1e}" for model in results.models if model.gap is not None]
    how = "from order statistics; of differences, from paired moves of both places"
    if splits is not None and splits.repeats > 1:
        how = "from the spread between splits, corrected for their overlap (Nadeau and Bengio)"
    facts = [
        *quantile_facts(results),
        Fact("gap proved", ", ".join(gaps)),
        Fact(
            "quantile",
            "the loss at place ceil(n p) of the n sorted losses; a difference is that of "
            "the baseline minus that of the model",
        ),
        Fact("intervals", f"95 %, {how}; none where the sample is too small to tell"),
    ]
    return [facts_block(facts), *notes_block(results.notes, results.warnings)]
