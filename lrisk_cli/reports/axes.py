"""Ticks whose labels keep apart, and places for words beside lines where nothing is drawn."""

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10
from typing import Any

import numpy as np

from lrisk_cli.types import Array

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TIMES, MINUS = "\u00d7", "\u2212"
# Width of a letter and the least space between labels, in units of the drawing.
LETTER, SPACE = 6.6, 9.0
# Numbers beyond these are written with a power of ten.
LARGE, SMALL = 1e7, 1e-4
# Part of the width of the axes that a letter of a guide takes, and of their height a line of it.
LETTER_PART, LINE_PART = 0.0165, 0.09


def spell_percent(value: float, _: object = None) -> str:
    """A tick of an axis of shares."""
    return f"{100.0 * value:.6g} %"


def spell_power(value: float, _: object = None) -> str:
    """A tick of a logarithmic axis: 0.01, 1, 100, or 10⁻⁷ where it is far from 1."""
    if value <= 0.0:
        return ""
    exponent = round(log10(value))
    return f"{value:g}" if abs(exponent) <= 2 else "10" + str(exponent).translate(SUPERSCRIPTS)


def spell_numbers(values: Sequence[float]) -> list[str]:
    """Ticks of a linear axis, all with the same decimals: 0.5, 200,000, 1.5×10¹¹."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0.0:
        return ["0" for _ in values]
    exponent = floor(log10(largest)) if largest >= LARGE or largest < SMALL else 0
    scaled = [value / 10.0**exponent for value in values]
    step = min((abs(b - a) for a, b in pairwise(scaled)), default=1.0)
    decimals = _decimals(step)
    power = f"{TIMES}10" + str(exponent).translate(SUPERSCRIPTS) if exponent else ""
    return [
        ("0" if power and value == 0.0 else f"{value + 0.0:,.{decimals}f}{power}").replace(
            "-", MINUS
        )
        for value in scaled
    ]


def _decimals(step: float) -> int:
    """The fewest that tell ticks of this distance apart."""
    for decimals in range(12):
        if abs(round(step, decimals) - step) < 1e-6 * step:
            return decimals
    return 12


def keep_apart(axis: Any, width: float, *, percent: bool, sideways: bool) -> None:
    """Ticks of a linear axis, as many as have room for their labels.

    width: of the axis in units of the drawing. sideways: labels stand beside each other, as on
    the x axis; otherwise one above the other.
    """
    from matplotlib.ticker import MaxNLocator

    low, high = sorted(axis.get_view_interval())
    spread = 1e-9 * (high - low)
    places: Array = np.array([])
    labels: list[str] = []
    for n in (8, 7, 6, 5, 4, 3, 2) if sideways else (6,):
        found = MaxNLocator(n, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
        places = found[(found >= low - spread) & (found <= high + spread)]
        labels = [spell_percent(at) for at in places] if percent else spell_numbers(places.tolist())
        needed = LETTER * max(map(len, labels), default=0) + SPACE
        if (
            not sideways
            or len(places) < 2
            or needed <= width * (places[1] - places[0]) / (high - low)
        ):
            break
    axis.set_ticks(places, labels)
    axis.set_view_interval(low, high, ignore=True)


def free_place(axes: Any, at: float, n_letters: int) -> tuple[str, str]:
    """Where words beside a vertical line cover no series: ("left" or "right", "top" or "bottom").

    The first of four places that is inside the axes and empty; at the top right if none is.
    """
    x_line = float(_fractions(axes, np.array([at]), np.array([axes.get_ylim()[0]]))[0][0])
    length = LETTER_PART * n_letters + 0.02
    for side, place in (("right", "top"), ("left", "top"), ("right", "bottom"), ("left", "bottom")):
        first, last = (x_line, x_line + length) if side == "right" else (x_line - length, x_line)
        low, high = (1.0 - LINE_PART, 1.1) if place == "top" else (-0.1, LINE_PART)
        if first >= -0.01 and last <= 1.01 and not _covers(axes, (first, last), (low, high)):
            return side, place
    return "right" if x_line + length <= 1.0 else "left", "top"


def _covers(axes: Any, across: tuple[float, float], up: tuple[float, float]) -> bool:
    """Whether a line, a mark or a bar lies in the box. across, up: in parts of the axes."""
    # Guides are not among them: they are drawn in parts of the axes.
    for line in (each for each in axes.lines if each.get_transform() == axes.transData):
        x, y = _fractions(axes, *(np.asarray(each, np.float64) for each in line.get_data()))
        if line.get_linestyle() not in ("None", "none", "") and len(x) > 1:
            steps = np.linspace(0.0, len(x) - 1.0, 50 * len(x))
            x, y = (np.interp(steps, np.arange(len(x)), each) for each in (x, y))
        if np.any((x >= across[0]) & (x <= across[1]) & (y >= up[0]) & (y <= up[1])):
            return True
    for bar in axes.patches:
        left, right = bar.get_x(), bar.get_x() + bar.get_width()
        x, y = _fractions(axes, np.array([left, right]), np.full(2, bar.get_height()))
        if y[0] > 1e-3 and x[0] <= across[1] and x[1] >= across[0] and y[0] >= up[0]:
            return True
    return False


def _fractions(axes: Any, x: Array, y: Array) -> tuple[Array, Array]:
    """Points of the data as parts of the width and the height of the axes."""
    points = axes.transData.transform(np.column_stack([x, y]))
    points = axes.transAxes.inverted().transform(points)
    return points[:, 0], points[:, 1]
