"""Figures of a model on some rows, beside those of the ordinary fit: as a grid, and in a sentence.

A squared loss is half the squared error. Its root, sqrt(2 loss), is an error in units of the
target, which people can judge; it stands with the losses.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING

from lrisk_cli.colours import Style, Styled
from lrisk_cli.evaluation.metric import Better, Needs
from lrisk_cli.evaluation.metrics import Figures, Intervals
from lrisk_cli.evaluation.registry import better_of, error_names, metrics_of
from lrisk_cli.models.model import Model
from lrisk_cli.names import WORST_TENTH, TargetScale
from lrisk_cli.reports.facts import Fact, Grid, figure, interval, large_unit, number, plain

if TYPE_CHECKING:
    from lrisk_cli.api.fit_result import FitResult

ORDINARY = "ordinary fit"
# Letters of a target's name that fit above a column of names.
MOST_LETTERS = 18


def figures_grid(
    model: Model,
    figures: Mapping[str, Figures],
    reference: Mapping[str, Figures] | None = None,
    intervals: Intervals | None = None,
) -> Grid:
    """A row for each figure, a column for each set of rows; risks first, then errors.

    Roots of squared losses follow the risks. reference: of the ordinary fit, in columns of its own.
    """
    columns = _columns(figures, reference)
    names = list(next(iter(figures.values())))
    errors = [*error_names(names), *figures_of_intervals(names)]
    risks = [name for name in names if name not in errors]
    squared, asked = model.row_loss.quadratic, intervals or {}
    unit, units = large_unit(columns[0][1][risks[0]]) if risks else (1.0, "")

    def row(name: str, *, rooted: bool = False) -> list[str]:
        shown = [of_rows.get(name) for _, of_rows in columns]
        ends = asked.get(name)
        if rooted:
            shown = [root(value) for value in shown]
            ends = None if ends is None else (off_by(ends[0]), off_by(ends[1]))
        elif name in risks:
            shown = [None if value is None else value / unit for value in shown]
            ends = None if ends is None else (ends[0] / unit, ends[1] / unit)
        texts = list(map(figure, shown)) if reference is None else _compared(name, shown)
        return [name, *texts, *([interval(ends)] if intervals else [])]

    rows = [row(name) for name in risks]
    divided = [len(rows)]
    if squared:
        empty = [""] * (len(columns) + (intervals is not None))
        rows += [[unit_of(model), *empty], *(row(name, rooted=True) for name in risks)]
        divided.append(len(rows))
    rows += [row(name) for name in errors]
    first = "half squared error" if squared else "risk of the loss"
    first = f"{first}, {units}s" if units else first
    heads = [first, *(head for head, _ in columns), *(["95 % interval"] if intervals else [])]
    return Grid(heads, rows, divided)


def figures_of_intervals(names: Sequence[str]) -> list[str]:
    """Those of the names that compare intervals with targets."""
    known = metrics_of([Needs.INTERVALS])
    return [name for name in names if name in known]


def result_fact(result: "FitResult") -> Fact:
    """The typical error and that of the worst tenth; what the ordinary fit has instead.

    Of the rows to test on, if any, or of those learned from.
    """
    name = list(result.figures)[-1]
    squared = result.model.row_loss.quadratic
    mean, worst = _two(result.figures[name], squared=squared)
    text = f"{name}: {typical(result.model)} {mean}, worst tenth {worst}"
    if result.reference is not None:
        mean, worst = _two(result.reference.figures[name], squared=squared)
        text += f"; {ORDINARY} {mean}, {worst}"
    return Fact("result", text)


def typical(model: Model) -> str:
    """What the mean of the losses is called: of squared ones its root, the rmse, is shown."""
    name = "typical error" if model.row_loss.quadratic else "mean loss"
    on = model.target.on
    return name if on is TargetScale.NONE else f"{name} of {plain(model.target.fitted_name)}"


def unit_of(model: Model) -> str:
    """The head of errors in units of the target."""
    name = plain(model.target.fitted_name)
    return f"off by, in {name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + '…'}"


def off_by(loss: float) -> float:
    """sqrt(2 loss): the error whose half square the loss is."""
    return sqrt(max(2.0 * loss, 0.0))


def root(loss: float | None) -> float | None:
    """The same where there may be no loss."""
    return None if loss is None else off_by(loss)


def _compared(name: str, values: Sequence[float | None]) -> list[str]:
    """Figures of fits and of ordinary fits by turns; the better of two stands out."""
    found: list[str] = []
    for pair in zip(values[::2], values[1::2], strict=True):
        found += better_marked(better_of(name), pair, [figure(value) for value in pair])
    return found


def better_marked(
    better: Better, values: Sequence[float | None], texts: Sequence[str]
) -> list[str]:
    """The texts of figures; the best one stands out unless another reads the same."""
    known = [(better.badness(value), text) for value, text in zip(values, texts, strict=True)
             if value is not None]  # fmt: skip
    if better is Better.NEITHER or len(known) < 2:
        return list(texts)
    best = min(known)[1]
    if [text for _, text in known].count(best) > 1:
        return list(texts)
    return [Styled(text, Style.BETTER) if text == best else text for text in texts]


def _columns(
    figures: Mapping[str, Figures], reference: Mapping[str, Figures] | None
) -> Sequence[tuple[str, Figures]]:
    """The figures of each set of rows, those of the ordinary fit after them."""
    columns = []
    for name, of_rows in figures.items():
        columns.append((name, of_rows))
        if reference is not None:
            columns.append((ORDINARY, reference[name]))
    return columns


def _two(figures: Figures, *, squared: bool) -> tuple[str, str]:
    """The mean and the mean of the worst tenth, as errors where losses are squared."""
    values = (figures["mean"], figures[WORST_TENTH])
    shown = [root(value) if squared else value for value in values]
    first, second = ("not defined" if value is None else number(value, 3) for value in shown)
    return first, second
