"""The page of `detect-outliers`: how many rows stand out, how far, and for which columns."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.errors import opt
from lrisk_cli.outliers.diagnosis import OFF
from lrisk_cli.reports.figures import Guide, Plot, Series, draw
from lrisk_cli.reports.group_pages import dot_plot, groups_table, spread_table
from lrisk_cli.reports.groups import spreads_of
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
from lrisk_cli.reports.outliers import (
    GROUP_METRICS,
    describe_threshold,
    outlier_facts,
    top_grid,
)
from lrisk_cli.types import Array

if TYPE_CHECKING:
    from lrisk_cli.outliers.detection import Outliers
    from lrisk_cli.outliers.diagnosis import Diagnosis

MOST_COLUMNS = 12
# Smaller errors and distances are drawn here: the axes are logarithmic.
LEAST_SHOWN = 0.05


def outlier_page(found: "Outliers", command_line: str) -> Page:
    """Tiles, scores, errors against distances, the columns named most often, the first rows."""
    figures = [draw(score_plot(found), "scores"), *_diagnostic(found), *_named_figure(found)]
    sections = [
        Section(
            "At a glance",
            [_tiles(found), *notes_block(found.notes, found.warnings)],
        ),
        *gates_section(found.gate_results),
        Section("Scores", figures),
        Section("The first rows of the ranking", [_top_table(found)]),
        *_groups(found),
        Section("What was done", [facts_block(outlier_facts(found))]),
    ]
    title = f"Outliers among {found.counts.used:,} rows"
    lead = f"{describe_threshold(found)}."
    return Page("detect-outliers", title, lead[:1].upper() + lead[1:], sections, command_line)


def _groups(found: "Outliers") -> list[Section]:
    """The fraction of outliers in each group, where there are any."""
    by_group, lead = found.by_group, GROUP_METRICS[0]
    if by_group is None:
        return []
    ordered, head = by_group.worst_first(lead), ", ".join(by_group.columns)
    plot = dot_plot(ordered, lead, head, found.figures[lead])
    spread = spread_table(spreads_of(by_group, GROUP_METRICS), len(by_group.groups))
    table = groups_table(head, ordered, GROUP_METRICS)
    return [Section("Groups", [draw(plot, "groups"), table, spread])]


def score_plot(found: "Outliers") -> Plot:
    """Sorted scores, the largest first, and the threshold."""
    ranks, values = found.curve
    threshold = found.threshold
    n_rows, n_outliers = found.counts.used, found.n_outliers
    title = (
        f"{n_outliers:,} of {n_rows:,} rows score above {threshold.threshold:.3g}"
        if n_outliers
        else f"No row scores above {threshold.threshold:.3g}"
    )
    # Scores far above the threshold would hide all others on a linear axis.
    is_log = threshold.threshold > 0.0 and values[0] > 8.0 * threshold.threshold
    low = 0.01 * threshold.threshold if is_log else min(-1.0, threshold.threshold - 1.0)
    at = values > low
    return Plot(
        title=title,
        alternative=f"Scores by rank, largest first, on a logarithmic axis: {brief(values[0])} for "
        f"the first row; {n_outliers} are above the threshold {brief(threshold.threshold)}.",
        x_label="rank",
        y_label="score",
        series=_lines(found, ranks[at], values[at]),
        x_log=True,
        y_log=is_log,
        guides=[Guide("y", threshold.threshold, "threshold")],
        data=Table(
            "Scores by rank",
            ["rank", "score"],
            [[str(int(r)), brief(float(v))] for r, v in zip(ranks, values, strict=True)][::8],
            texts=0,
        ),
    )


def _lines(found: "Outliers", ranks: Array, values: Array) -> list[Series]:
    """One line for the outliers, one for the others; they meet."""
    n_above = int(np.count_nonzero(ranks <= found.n_outliers))
    above = slice(0, n_above + 1)
    lines = [Series("other rows", ranks[n_above:], values[n_above:], 1)]
    return [Series("outliers", ranks[above], values[above], 2), *lines] if n_above else lines


def _diagnostic(found: "Outliers") -> list[Figure]:
    """Errors against robust distances, where the target is of numbers."""
    diagnosis = found.diagnosis
    return [] if diagnosis is None else [draw(diagnostic_plot(diagnosis), "diagnostic")]


def diagnostic_plot(diagnosis: "Diagnosis") -> Plot:
    """Robust error against robust distance of each row (Rousseeuw & van Zomeren 1990)."""
    counts, total = diagnosis.counts, sum(diagnosis.counts.values())
    n_bad, n_good, n_off = counts[True, True], counts[True, False], counts[False, True]
    others = ~diagnosis.outliers
    x = np.maximum(diagnosis.distances, LEAST_SHOWN)
    y = np.maximum(diagnosis.errors, LEAST_SHOWN)
    series = [Series("other rows", x[others], y[others], 1, "dots")]
    if not others.all():
        series.append(Series("outliers", x[~others], y[~others], 2, "crosses"))
    columns = "1 column" if diagnosis.n_columns == 1 else f"{diagnosis.n_columns} columns"
    shown = f"{len(x):,} of {total:,} rows are shown. " if len(x) < total else ""
    return Plot(
        title=f"{n_bad:,} rows are remote and off the fit, {n_good:,} remote and on it",
        alternative=f"Sizes of errors against distances of {len(x)} rows, both logarithmic: "
        f"{n_off} rows are off the fit and not remote, {n_bad} are both, {n_good} are remote only.",
        x_label="robust distance",
        y_label="size of the error, in robust deviations",
        series=series,
        x_log=True,
        y_log=True,
        guides=[Guide("y", OFF, f"{OFF:g} deviations"), Guide("x", diagnosis.far, "97.5 %")],
        note=f"{shown}Distances are those of the minimum covariance determinant of {columns} of "
        f"many numbers; 97.5 % of normal rows are nearer than {diagnosis.far:.3g}. Remote rows on "
        "the fit support it; those off the fit would bend least squares most.",
        data=Table(
            "Rows by distance and error",
            ["", "on the fit", "off the fit"],
            [["near", f"{counts[False, False]:,}", f"{n_off:,}"],
             ["remote", f"{n_good:,}", f"{n_bad:,}"]],
        ),
    )  # fmt: skip


def _named_figure(found: "Outliers") -> list[Figure]:
    """The columns that come first among the reasons, by how many rows, if they are several."""
    if len(found.named) < 2:
        return []
    names = list(found.named)[:MOST_COLUMNS]
    counts = np.array([found.named[name] for name in names], np.float64)
    total = sum(found.named.values())
    places = np.arange(len(names), dtype=np.float64)
    first = f"'{clip(names[0])}' is the first reason of {int(counts[0])} of {total} rows"
    plot = Plot(
        title=first,
        alternative=f"How many of the rows explained name a column first; {first}.",
        x_label="rows that name it first",
        y_label="column",
        series=[Series("", counts, places, 1, "marks")],
        ticks=_whole_ticks(int(counts[0])),
        x_range=(0.0, 1.08 * float(counts[0])),
        rows=[clip(name) for name in names],
        data=Table("Rows by first reason", ["column", "rows"],
                   [[name, str(found.named[name])] for name in names]),
    )  # fmt: skip
    return [draw(plot, "named")]


def _whole_ticks(largest: int) -> dict[float, str]:
    """Places of an axis that counts rows: round numbers from 0, at most five steps of them."""
    power = 10 ** (len(str(largest)) - 2) if largest >= 10 else 1
    step = next(
        s for s in (power, 2 * power, 5 * power, 10 * power, 20 * power) if largest <= 5 * s
    )
    return {float(n): f"{n:,}" for n in range(0, largest + 1, step)}


def _tiles(found: "Outliers") -> Tiles:
    share = 100.0 * float(found.figures["outlier_fraction"] or 0.0)
    how = "estimated" if found.contamination is None else "as asked"
    return Tiles(
        [
            ("outliers", f"{found.n_outliers:,}", f"of {found.counts.used:,} rows"),
            ("share of the rows", f"{share:.3g} %", how),
            ("threshold", f"{found.threshold.threshold:.3g}", "scores above it are outliers"),
            ("largest score", brief(found.top[0].score), str(found.top[0].place)),
        ]
    )


def _top_table(found: "Outliers") -> Table:
    """The rows of the terminal, and more outliers; the words come first, then the numbers."""
    grid = top_grid(found, found.shown)
    n_names = 2 + found.has_lines + found.has_ids

    def words_first(row: Sequence[str]) -> list[str]:
        return [*row[:n_names], row[-1], *row[n_names:-1]]

    caption = f"The {len(found.shown)} rows of the largest scores"
    left = found.n_outliers - len(found.shown)
    if left > 0:
        caption += f"; {left:,} more outliers are in the file of {opt('output', 'FILE')}"
    rows = [words_first(row) for row in grid.rows]
    return Table(caption, words_first(grid.heads), rows, texts=n_names + 1)
