"""Draw figures for pages with matplotlib: lines, steps, dots and bars over two axes."""

import io
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, Literal

import numpy as np

from lrisk_cli.reports.axes import free_place, keep_apart, spell_percent, spell_power
from lrisk_cli.reports.facts import plain
from lrisk_cli.reports.html import Figure, Key, Table, dash_of
from lrisk_cli.reports.svg import INK, MUTED, RULE, SERIES, clean_svg
from lrisk_cli.types import Array

Look = Literal["line", "step", "dots", "marks", "spots", "crosses", "bars", "ranges"]

WIDTH, HEIGHT, ROW_HEIGHT = 5.6, 3.3, 0.28  # inches of 72 units each
PANELS = 2  # side by side
AROUND = 60.0  # units that labels take beside the axes
DASHES = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of series, of letters, of labels and of lines."""

    series: Sequence[str]
    ink: str
    muted: str
    rule: str

    @property
    def style(self) -> dict[Any, Any]:
        """Settings of matplotlib."""
        return {
            "svg.fonttype": "none",  # letters stay letters
            "svg.hashsalt": "lrisk",  # the same drawing has the same ids
            "text.parse_math": False,  # a column may be called $x$
            "font.size": 11.0,
            "axes.linewidth": 0.8,
            "axes.edgecolor": self.rule,
            "axes.labelcolor": self.muted,
            "axes.titlecolor": self.muted,
            "text.color": self.ink,
            "xtick.color": self.rule,
            "ytick.color": self.rule,
            "xtick.labelcolor": self.muted,
            "ytick.labelcolor": self.muted,
            "grid.color": self.rule,
            "grid.linewidth": 0.6,
            "axes.unicode_minus": True,
            "axes.formatter.useoffset": False,
            "path.simplify": False,
        }


# Names of colours, to which the style sheet of a page gives values.
OF_PAGES = Palette(SERIES, INK, MUTED, RULE)
# Those of a page on white.
ON_WHITE = Palette(
    (
        "#8b949e", "#0a62c9", "#c2510c", "#0f7a68", "#8a3fc0", "#a1790a", "#c0316b", "#3d5a80",
    ),
    "#1b2026", "#57606a", "#d8dee4",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Series:
    """One set of points. color: 0 is the neutral one, others follow the palette of the page.

    look: dots are small and many, marks large and few, spots are marks that stand out from dots,
    crosses are small and many, ranges are marks with bars from low to high along x. low, high: of
    others, a band around a line. An empty name stays out of the key.
    """

    name: str
    x: Array
    y: Array
    color: int = 1
    look: Look = "line"
    low: Array | None = None
    high: Array | None = None


@dataclass(frozen=True, slots=True)
class Guide:
    """A thin line at a value of the x or the y axis, with a word beside it."""

    axis: Literal["x", "y"]
    at: float
    label: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """What to draw. title: the finding; alternative: the same for those who cannot see it.

    ticks: positions on the x axis and their labels; rows: names down the y axis, from its top,
    at y = 0, 1, ...; data: the numbers behind the picture.
    """

    title: str
    alternative: str
    x_label: str
    y_label: str
    series: Sequence[Series]
    x_log: bool = False
    y_log: bool = False
    x_percent: bool = False
    y_percent: bool = False
    ticks: Mapping[float, str] | None = None
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    rows: Sequence[str] = ()
    guides: Sequence[Guide] = ()
    note: str = ""
    data: Table | None = None
    keys: Sequence[Key] = field(default_factory=tuple)


def draw(plot: Plot, name: str) -> Figure:
    """The figure for a page. name: unlike those of the other figures on it."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context(OF_PAGES.style), warnings.catch_warnings():
        # Letters that the measuring font lacks: the reader's own fonts will show them.
        warnings.simplefilter("ignore")
        canvas = Canvas(figsize=(WIDTH, _height(plot)), layout="constrained")
        canvas.patch.set_visible(False)
        _fill(canvas.add_subplot(), plot, OF_PAGES)
        stream = io.StringIO()
        canvas.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    title, alternative = plain(plot.title), plain(plot.alternative)
    keys = [Key(s.name, s.color, s.look) for s in plot.series if s.name]
    return Figure(
        svg=clean_svg(stream.getvalue(), f"{name}-", title, alternative),
        title=plot.title,
        note=plot.note,
        keys=tuple(plot.keys) or (tuple(keys) if len(keys) > 1 else ()),
        data=plot.data,
    )


def draw_panels(plots: Sequence[Plot]) -> Any:
    """A figure of matplotlib on white, the plots side by side, under their findings."""
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    class Shown(Canvas):
        """A figure that notebooks show without pyplot, which none of it needs."""

        def _repr_png_(self) -> bytes:
            stream = io.BytesIO()
            self.savefig(stream, format="png", dpi=100)
            return stream.getvalue()

    with matplotlib.rc_context(ON_WHITE.style):
        n_down = -(-len(plots) // PANELS)
        size = (WIDTH * min(len(plots), PANELS), (max(map(_height, plots)) + 0.5) * n_down)
        canvas = Shown(figsize=size, layout="constrained", facecolor="white")
        for at, plot in enumerate(plots, 1):
            axes = canvas.add_subplot(n_down, min(len(plots), PANELS), at)
            _fill(axes, plot, ON_WHITE)
            axes.set_title("\n".join([*wrap(plain(plot.title), 58), plain(plot.y_label)]),
                           loc="left", fontsize=11.0, color=ON_WHITE.ink)  # fmt: skip
            if sum(bool(series.name) for series in plot.series) > 1:
                axes.legend(frameon=False, fontsize=9.0)
    return canvas


def _height(plot: Plot) -> float:
    return max(HEIGHT, ROW_HEIGHT * len(plot.rows) + 0.8) if plot.rows else HEIGHT


def _fill(axes: Any, plot: Plot, palette: Palette) -> None:
    """Draw a plot on axes."""
    _prepare(axes, plot)
    for series in plot.series:
        for artist in _add(axes, series, palette):
            artist.set_label(plain(series.name) or "_")
    if plot.y_range is not None:
        axes.set_ylim(*plot.y_range)
    _set_ticks(axes, plot)
    for guide in plot.guides:
        _add_guide(axes, guide, palette.muted)


def _prepare(axes: Any, plot: Plot) -> None:
    """Plain axes: a base line, faint grid lines, words instead of a side label."""
    axes.patch.set_visible(False)
    for side in ("left", "right", "top"):
        axes.spines[side].set_visible(False)
    axes.tick_params(which="both", length=0, pad=6)
    axes.grid(axis="y")
    axes.set_axisbelow(True)
    axes.margins(x=0.01)
    axes.set_xlabel(plain(plot.x_label))
    axes.set_title(plain(plot.y_label), loc="left", fontsize=11.0)
    for axis, is_log, percent in (
        (axes.xaxis, plot.x_log, plot.x_percent),
        (axes.yaxis, plot.y_log, plot.y_percent),
    ):
        if is_log:
            axis._set_axes_scale("log")
            axis.set_minor_formatter(lambda *_: "")
        if is_log or percent:
            axis.set_major_formatter(spell_percent if percent else spell_power)
    if plot.ticks is not None:
        axes.set_xticks(list(plot.ticks), list(plot.ticks.values()))
    if plot.rows:
        axes.set_yticks(range(len(plot.rows)), [plain(row) for row in plot.rows])
        axes.set_ylim(len(plot.rows) - 0.5, -0.5)
    if plot.x_range is not None:
        axes.set_xlim(*plot.x_range)


def _set_ticks(axes: Any, plot: Plot) -> None:
    """Ticks of the linear axes, unless the plot says which."""
    width = 72.0 * WIDTH - AROUND - 7.0 * max(map(len, plot.rows), default=0)
    if plot.ticks is None and not plot.x_log:
        keep_apart(axes.xaxis, width, percent=plot.x_percent, sideways=True)
    if not plot.rows and not plot.y_log:
        keep_apart(axes.yaxis, 72.0 * HEIGHT, percent=plot.y_percent, sideways=False)


def _add(axes: Any, series: Series, palette: Palette) -> Any:
    """Draw a series; the marks that a key shows for it."""
    color = palette.series[series.color % len(palette.series)]
    dash = DASHES[dash_of(series.color)]
    if series.look == "ranges":
        bars = {"color": color, "linewidth": 2.2, "alpha": 0.55}
        axes.hlines(series.y, series.low, series.high, **bars)
        return axes.plot(series.x, series.y, "o", color=color, markersize=6.5, markeredgewidth=0.0)
    if series.low is not None and series.high is not None:
        axes.fill_between(series.x, series.low, series.high, color=color, alpha=0.14, linewidth=0.0)
    if series.look == "dots":
        return axes.plot(
            series.x, series.y, "o", color=color, markersize=3.2, alpha=0.6, markeredgewidth=0.0
        )
    if series.look == "marks":
        return axes.plot(series.x, series.y, "o", color=color, markersize=6.5, markeredgewidth=0.0)
    if series.look == "spots":
        edge = {"markeredgecolor": palette.ink, "markeredgewidth": 1.4}
        return axes.plot(series.x, series.y, "o", color=color, markersize=9.0, zorder=4.0, **edge)
    if series.look == "crosses":
        return axes.plot(series.x, series.y, "x", color=color, markersize=4.0, markeredgewidth=1.0)
    if series.look == "bars":
        width = 0.92 * float(np.min(np.diff(series.x))) if len(series.x) > 1 else 0.8
        return [axes.bar(series.x, series.y, width=width, color=color, linewidth=0.0)]
    steps = "steps-post" if series.look == "step" else "default"
    line = {"linewidth": 1.6, "linestyle": dash, "drawstyle": steps}
    return axes.plot(series.x, series.y, color=color, **line)


def _add_guide(axes: Any, guide: Guide, color: str) -> None:
    style = {"color": color, "linewidth": 0.8, "linestyle": (0, (3, 2)), "zorder": 1.5}
    words = {"fontsize": 10.0, "color": color, "clip_on": False}
    if guide.axis == "x":
        axes.axvline(guide.at, **style)
        side, place = free_place(axes, guide.at, len(guide.label))
        at = {"xy": (guide.at, float(place == "top")), "xycoords": ("data", "axes fraction")}
        axes.annotate(
            plain(guide.label), **at, xytext=(4 if side == "right" else -4, -2 if place == "top"
            else 2), textcoords="offset points", ha="left" if side == "right" else "right",
            va=place, **words,
        )  # fmt: skip
    else:
        axes.axhline(guide.at, **style)
        at = {"xy": (1.0, guide.at), "xycoords": ("axes fraction", "data")}
        axes.annotate(
            plain(guide.label), **at, xytext=(0, 2), textcoords="offset points",
            ha="right", va="bottom", **words,
        )  # fmt: skip
