"""Figures of the courses of solvers, and of where they end and after how long."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.papers.spectral.runs import SolverRun
from lrisk_cli.reports.figures import Plot, Series, draw
from lrisk_cli.reports.html import Figure
from lrisk_cli.types import Array

METHODS = ("lsvrg", "sgd", "srda")


def course_figure(
    name: str,
    risk: str,
    found: Sequence[SolverRun],
    *,
    label: str = "",
    by_gradients: bool = False,
    every: int = 1,
) -> Figure:
    """A line for each method, with a band from the best to the worst seed.

    every: so many points are one step of the line, the last of them; pages have a limit.
    """
    series = []
    for k, course in enumerate(found, 1):
        at = np.arange(len(course.epochs))[::-1][::every][::-1]
        x = (course.gradients if by_gradients else course.epochs)[at]
        low, high = (np.maximum(f(course.values, axis=0), 1e-13)[at] for f in (np.min, np.max))
        series.append(Series(course.method, x, course.middle[at], k, low=low, high=high))
    ends = ", ".join(f"{course.method} {course.last:.1e}" for course in found)
    plot = Plot(
        title=f"{name}, {risk}",
        alternative=f"Suboptimality at the end: {ends}.",
        x_label="gradient evaluations, in n" if by_gradients else "epochs",
        y_label="suboptimality",
        series=series,
        y_log=True,
    )
    return draw(plot, f"{label}{name}-{risk.replace(':', '-').replace('.', '-')}")


def time_figure(name: str, panels: Mapping[tuple[str, str], Sequence[SolverRun]]) -> Figure:
    mine = [found for (of, _), found in panels.items() if of == name]
    series = [
        Series(METHODS[k], np.array([f[k].seconds for f in mine]),
               np.array([f[k].last for f in mine]), k + 1, "marks")
        for k in range(len(METHODS))
    ]  # fmt: skip
    slowest = max(float(np.max(each.x)) for each in series)
    plot = Plot(
        title=f"{name}: the steps of a run take at most {1e3 * slowest:.3g} ms",
        alternative=f"Suboptimality against CPU seconds of the steps of a run on {name}.",
        x_label="CPU seconds of the steps",
        y_label="suboptimality at the end",
        series=series,
        x_log=True,
        y_log=True,
        x_range=_decades([each.x for each in series]),
        y_range=_decades([each.y for each in series]),
    )
    return draw(plot, f"time-{name}")


def _decades(values: Sequence[Array]) -> tuple[float, float]:
    """The powers of ten around all values, so that an axis has at least two of them."""
    logs = np.log10(np.concatenate(values))
    low, high = float(np.floor(logs.min() - 0.1)), float(np.ceil(logs.max() + 0.1))
    return 10.0**low, 10.0 ** max(high, low + 1.0)
