"""A quantile report as text: a compact table and a small chart for each model."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.errors import opt
from lrisk_cli.evaluation.group_figures import Gap, spell_name
from lrisk_cli.evaluation.metric import Better
from lrisk_cli.evaluation.paired_losses import Group
from lrisk_cli.evaluation.quantiles import Compared, Comparison, better_from
from lrisk_cli.reports.chart import draw_bars
from lrisk_cli.reports.facts import Fact, note_facts, number, plain, rows_fact
from lrisk_cli.reports.figure_facts import better_marked
from lrisk_cli.reports.groups import few_lines, grid_of_spreads, spreads_of
from lrisk_cli.reports.model_facts import describe_model, weight_facts
from lrisk_cli.reports.terminal import (
    print_facts,
    print_grid,
    print_named_gates,
    print_rows,
    print_text,
)
from lrisk_cli.types import Array

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import NamedModel, QuantileResults, Splits

CHART_COLUMNS = 50
CHART_TICKS = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
# The chart stretches the tail: its columns are even in -log10(1 - p), up to this, and then p = 1.
CHART_REACH = 2.2
MAX_GROUPS = 12
QUANTILE_HEADS = (
    "loss quantile", "baseline", "model", "difference", "95 % interval", "of mean loss",
)  # fmt: skip


def print_quantiles(results: "QuantileResults") -> None:
    """Everything that the terminal shows of a report."""
    print_facts([*quantile_facts(results), *note_facts(results.notes)])
    for model, compared in results.compared:
        print()
        _print_compared(results, model, compared)
    if results.groups:
        print()
        _print_groups(results)
    print_named_gates(results.gate_results)


def quantile_facts(results: "QuantileResults") -> list[Fact]:
    """The models, the rows, and how these were split."""
    return [
        Fact("baseline", _who(results.baseline)),
        *(Fact("model", _who(model)) for model, _ in results.compared),
        rows_fact(results.counts),
        *weight_facts(results.weight),
        *([] if results.splits is None else [splits_fact(results.splits)]),
    ]


def splits_fact(splits: "Splits") -> Fact:
    """How the rows were split."""
    times = f"averages over {splits.repeats} random splits" if splits.repeats > 1 else "one split"
    last = splits.seed + splits.repeats - 1
    seeds = f"seeds {splits.seed} to {last}" if splits.repeats > 1 else f"seed {splits.seed}"
    values = {
        "holdout": splits.holdout,
        "seed": splits.seed,
        "repeats": splits.repeats,
        "train": splits.n_train,
        "test": splits.n_test,
    }
    rows = f"{splits.n_train} rows learned from, {splits.n_test} evaluated"
    return Fact("splits", f"{times} ({seeds}): {rows}", {"splits": values})


def finding(comparison: Comparison, compared: Compared) -> str:
    """What the model gains and what it costs, in one sentence without its end."""
    start = better_from(comparison.levels, compared.difference.values)
    if start is None:
        where = "no better at the largest losses"
    elif start == 0.0:
        where = "better at every level"
    else:
        where = f"better from p = {start:.3g} on"
    tail = percent_change(compared.tail, comparison.tail)
    mean = percent_change(compared.mean, comparison.mean)
    return f"{where}; the mean of the worst tenth is {tail}, that of all rows {mean}"


def percent_change(value: float, before: float) -> str:
    """ "2.1 % lower", "unchanged", or the plain difference where there is nothing to relate to."""
    if value == before:
        return "unchanged"
    word = "lower" if value < before else "higher"
    change = abs(value - before)
    return f"{100.0 * change / before:.2g} % {word}" if before > 0.0 else f"{change:.3g} {word}"


def ends(low: float, high: float) -> str:
    """An interval to read; empty where it has no end."""
    if np.isnan(low) and np.isnan(high):
        return ""
    return f"{low:.3g} to {'?' if np.isnan(high) else f'{high:.3g}'}"


def _who(model: "NamedModel") -> str:
    what = describe_model(model.model)
    # Models fitted by the command are named by their risk, which the description states anyway.
    return what if model.name == model.model.risk else f"{plain(model.name)}: {what}"


def _print_compared(results: "QuantileResults", model: "NamedModel", compared: Compared) -> None:
    comparison = results.comparison
    names = f"{plain(model.name)} against {plain(results.baseline.name)}"
    print_text(f"{names}: {finding(comparison, compared)}")
    print()
    of_levels, of_means = quantile_rows(results, compared), mean_rows(comparison, compared)
    print_rows([QUANTILE_HEADS, *of_levels, [], *of_means])
    print()
    _print_chart(comparison, compared.difference.values)


def quantile_rows(
    results: "QuantileResults", compared: Compared, spell: Callable[[float], str] = number
) -> list[list[str]]:
    """For each level both quantiles, their difference, its interval, and it over the mean loss."""
    comparison, difference = results.comparison, compared.difference
    normalised = comparison.normalised(difference.values)
    return [
        [
            f"{level:g}",
            *_two(comparison.losses.values[i], compared.losses.values[i], spell),
            spell(difference.values[i]),
            ends(difference.low[i], difference.high[i]),
            percent(normalised[i]),
        ]
        for level, i in zip(results.quantiles, results.level_indices, strict=True)
    ]


def mean_rows(
    comparison: Comparison, compared: Compared, spell: Callable[[float], str] = number
) -> list[list[str]]:
    """The same for the mean of the worst tenth and of all rows; they have no interval."""
    rows = []
    for name, ours, theirs in (
        ("worst tenth", compared.tail, comparison.tail),
        ("mean", compared.mean, comparison.mean),
    ):
        share = percent(float(comparison.normalised(np.array(theirs - ours))))
        rows.append([name, *_two(theirs, ours, spell), spell(theirs - ours), "", share])
    return rows


def _two(theirs: float, ours: float, spell: Callable[[float], str]) -> list[str]:
    """Losses of the baseline and of the model; the better one stands out."""
    return better_marked(Better.SMALLER, [theirs, ours], [spell(theirs), spell(ours)])


def _print_chart(comparison: Comparison, differences: Array) -> None:
    """Differences in mean losses of the baseline, above the axis where the model is better."""
    relative = comparison.mean > 0.0
    steps = (np.arange(CHART_COLUMNS - 1) + 1.0) / (CHART_COLUMNS - 1)
    levels = np.append(1.0 - 10.0 ** (-CHART_REACH * steps), 1.0)
    values = np.interp(levels, comparison.levels, differences) / (comparison.mean or 1.0)
    lines = draw_bars(values.tolist())
    labelled = {0, len(lines) - 1} | {k for k, (edge, _) in enumerate(lines) if edge == 0.0}
    for k, (edge, line) in enumerate(lines):
        label = "" if k not in labelled else percent(edge) if relative else f"{edge:.3g}"
        print(f"{label:>9} {line}".rstrip())
    scale = [" "] * CHART_COLUMNS
    for tick in CHART_TICKS:
        text = f"{tick:g}"
        end = int(np.argmin(np.abs(levels - tick))) + 1
        scale[end - len(text) : end] = text
    print(f"{'p':>9} {''.join(scale)}")


def _print_groups(results: "QuantileResults") -> None:
    """Which groups carry the tail, where the models help, and which group is worst off."""
    heads = group_heads(results, [plain(model.name) for model in results.models])
    shown = results.groups[:MAX_GROUPS]
    print_rows([heads, *([plain(spell_name(group.name)), *group_cells(group)] for group in shown)])
    n_more = len(results.groups) - MAX_GROUPS
    if n_more > 0:
        print(f"and {n_more} more groups; {opt('json')}, -o and {opt('html')} have more")
    for sentence in few_lines([group.uncertain for group in results.groups]):
        print(sentence)
    for name, found in group_spreads(results):
        print()
        print_grid(grid_of_spreads(found, f"spread of {plain(name)}"))


def group_heads(results: "QuantileResults", names: Sequence[str]) -> list[str]:
    """Of the columns of groups. names: of the models, the baseline first."""
    heads = [f"by {', '.join(map(plain, results.by))}", "rows"]
    heads += [f"tail of {name}" for name in names]
    return heads + [f"worst tenth, {name}" for name in names[1:]]


def group_spreads(results: "QuantileResults") -> list[tuple[str, list[tuple[str, Gap]]]]:
    """For each model the worst and the best group by what it gains in the tail and on average."""
    return [
        (name, spreads_of(by_group, ("tail_gained", "average_lost")))
        for name, by_group in results.by_model.items()
    ]


def group_cells(group: Group) -> list[str]:
    """Fractions of the rows and of every tail, and the effect of each model on the worst tenth."""
    comparison = group.comparison
    shares = [f"{100.0 * share:.3g} %" for share in (group.row_share, *group.tail_shares)]
    if group.uncertain:
        shares[0] += " few"
    return [*shares, *(percent_change(each.tail, comparison.tail) for each in comparison.models)]


def percent(value: float) -> str:
    """A fraction as a percentage, empty where it does not exist."""
    return "" if np.isnan(value) else f"{100.0 * value:+.3g} %".replace("+0 %", "0")
