"""Rows of numbers as small pictures: ink where the numbers are large, in the colours of a page."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.reports.facts import plain
from lrisk_cli.reports.html import Picture
from lrisk_cli.types import Array

# Distinct grey levels; the weakest is the background.
SHADES = 16


def draw_picture(values: Array, low: float, high: float, title: str, word: str) -> Picture:
    """A grid of pixels. values: (height, width); low is paper, high is full ink."""
    height, width = values.shape
    levels = np.zeros(values.shape, np.intp)
    if high > low:
        scaled = np.clip((values - low) / (high - low), 0.0, 1.0)
        levels = np.rint((SHADES - 1) * scaled).astype(np.intp)
    paths = "".join(
        f'<path fill-opacity="{level / (SHADES - 1):.2g}" d="{path}"/>'
        for level, path in _paths(levels)
    )
    # Without crisp edges, paper would shine through between neighbours.
    svg = (
        f'<svg viewBox="0 0 {width} {height}" aria-hidden="true" class="fill-ink" '
        f'shape-rendering="crispEdges">{paths}</svg>'
    )
    return Picture(svg, plain(title), plain(word))


def _paths(levels: NDArray[np.intp]) -> Iterator[tuple[int, str]]:
    """For each strength but paper, the outlines of its runs of pixels along the lines."""
    starts = np.ones(levels.shape, np.bool_)
    starts[:, 1:] = levels[:, 1:] != levels[:, :-1]
    lines, firsts = np.nonzero(starts)
    ends = np.append(firsts[1:], 0)
    ends[ends == 0] = levels.shape[1]
    shades = levels[lines, firsts]
    for level in range(1, SHADES):
        runs = np.flatnonzero(shades == level)
        if len(runs):
            yield (
                level,
                "".join(
                    f"M{firsts[i]} {lines[i]}h{ends[i] - firsts[i]}v1h{firsts[i] - ends[i]}z"
                    for i in runs
                ),
            )
