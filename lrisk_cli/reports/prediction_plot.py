"""Plots of predictions and of columns: how often values occur, and how many are missing."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.reports.figures import Plot, Series
from lrisk_cli.reports.html import brief, clip

MOST_BARS = 24


def prediction_plot(name: str, values: NDArray[np.generic]) -> Plot:
    """A histogram of numbers, or the number of rows of each class or cluster. values: (n,)."""
    title, n_rows = f"{len(values):,} predictions", max(len(values), 1)
    if name == "prediction" and values.dtype.kind == "f":
        shares, edges = np.histogram(values, bins=MOST_BARS)
        middles, ticks = (edges[:-1] + edges[1:]) / 2.0, None
        words = f"from {brief(float(values.min()))} to {brief(float(values.max()))}"
    else:
        kinds, shares = np.unique(values, return_counts=True)
        shares = shares[:MOST_BARS]
        middles = np.arange(len(shares), dtype=np.float64)
        labels = [clip(str(kind)) for kind in kinds[:MOST_BARS]]
        ticks = dict(zip(middles.tolist(), labels, strict=True))
        words = f"of {len(kinds)} kinds"
    return Plot(
        title=f"{title} {words}",
        alternative=f"Share of the rows by {name}, {words}.",
        x_label=name,
        y_label="share of the rows",
        series=[Series("", middles, shares / n_rows, 1, "bars")],
        y_percent=True,
        ticks=ticks,
    )


def missing_plot(columns: Sequence[tuple[str, int]], n_rows: int) -> Plot:
    """The fraction of missing cells of each column, most first. columns: names and counts."""
    ranked = sorted(columns, key=lambda each: -each[1])[:MOST_BARS]
    shares = np.array([count / max(n_rows, 1) for _, count in ranked])
    n_missing = sum(count > 0 for _, count in columns)
    return Plot(
        title=f"{n_missing} of {len(columns)} columns have missing cells",
        alternative=f"Fraction of missing cells of {len(ranked)} columns.",
        x_label="missing cells",
        y_label="column",
        series=[Series("", shares, np.arange(len(ranked), dtype=np.float64), 1, "marks")],
        x_percent=True,
        rows=[clip(name) for name, _ in ranked],
    )
