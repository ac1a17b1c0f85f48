"""Plots of fits and evaluations: convergence, losses, weights, residuals."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lrisk_cli.evaluation.page_rows import EvaluatedRows
from lrisk_cli.evaluation.quantiles import quantile_ranks
from lrisk_cli.models.model import Model
from lrisk_cli.names import Task
from lrisk_cli.reports.figure_facts import unit_of
from lrisk_cli.reports.figures import Guide, Plot, Series
from lrisk_cli.reports.html import Table, brief
from lrisk_cli.solvers.solution import Epoch
from lrisk_cli.types import Array

# Points of a line: more are not distinguishable, and pages stay small.
MAX_POINTS = 240
QUANTILES = (0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
# What rows do, and what their quantiles are of.
PLAIN = ("lose", "Loss quantiles")
SQUARED = ("are off by", "Quantiles of the errors")


def row_plots(model: Model, rows: Sequence[EvaluatedRows]) -> list[Plot]:
    """Losses, weights, and errors. rows: those learned from first, then those to test on."""
    last = rows[-1]
    errors = residual_plot if model.task is Task.REGRESSION else probability_plot
    squared = model.row_loss.quadratic
    losses = [_in_units(model, each) for each in rows]
    axis = unit_of(model) if squared else "loss"
    weights = weight_plot(model.risk, losses[0], axis)
    return [
        exceedance_plot(losses, axis, SQUARED if squared else PLAIN),
        *([weights] if weights else []),
        errors(model, last),
    ]


def _in_units(model: Model, rows: EvaluatedRows) -> EvaluatedRows:
    """Squared losses as the errors whose half squares they are; other losses as they are."""
    sizes = model.row_loss.sizes(rows.losses) if model.row_loss.quadratic else None
    return rows if sizes is None else replace(rows, losses=sizes)


def exceedance_plot(rows: Sequence[EvaluatedRows], axis: str, words: tuple[str, str]) -> Plot:
    """The fraction of rows with at least such a loss, with the quantiles marked.

    axis: what the losses are; words: what rows do, and what the quantiles are of.
    """
    do, what = words
    series = []
    for k, each in enumerate(rows, 1):
        n = len(each.losses)
        # From the largest loss on: ranks that are even on a logarithmic axis.
        ranks = np.unique(np.rint(np.geomspace(1, n, MAX_POINTS)).astype(np.intp))
        series.append(Series(f"{each.name} rows", each.losses[n - ranks], each.from_top(ranks), k))
    levels = np.array(QUANTILES)
    quantiles = [
        each.losses[quantile_ranks(len(each.losses), levels, each.masses) - 1] for each in rows
    ]
    marked = levels < 1.0
    series.append(Series("", quantiles[0][marked], 1.0 - levels[marked], 1, "marks"))
    named = dict(zip(QUANTILES, quantiles[0], strict=True))
    title = f"Half of the {rows[0].name} rows {do} more than {brief(named[0.5])}"
    return Plot(
        title=f"{title}, one in a hundred more than {brief(named[0.99])}",
        alternative=f"Share of rows that {do} at least so much. Of the "
        f"{rows[0].name} rows: median {brief(named[0.5])}, quantile 0.9 {brief(named[0.9])}, "
        f"0.99 {brief(named[0.99])}, largest {brief(named[1.0])}.",
        x_label=axis,
        y_label=f"share of rows that {do} at least so much",
        series=series,
        y_log=True,
        y_percent=True,
        note="Marks: quantiles 0.5, 0.75, 0.9, 0.95 and 0.99.",
        data=Table(
            what,
            ["p", *(each.name for each in rows)],
            [
                [f"{level:g}", *(brief(values[i]) for values in quantiles)]
                for i, level in enumerate(QUANTILES)
            ],
            texts=0,
        ),
    )


def weight_plot(risk: str, rows: EvaluatedRows, axis: str) -> Plot | None:
    """How much each row counts, in units of the average row; None where all count the same.

    axis: what the losses are.
    """
    n = len(rows.losses)
    relative = rows.relative_weights
    if float(np.ptp(relative)) < 1e-9:
        return None
    steps = np.unique(np.rint(np.linspace(0, n - 1, MAX_POINTS)).astype(np.intp))
    top = n - np.unique(np.rint(np.geomspace(1, n, MAX_POINTS)).astype(np.intp))
    at = np.union1d(steps, top)
    n_counting = int(np.count_nonzero(relative > 0.0))
    if n_counting < n:
        title = f"{n_counting:,} of {n:,} rows carry all the weight of {risk}"
    else:
        title = f"The largest loss weighs {relative[-1]:.3g} times an average row, the smallest "
        title += f"{relative[0]:.2g} times"
    return Plot(
        title=title,
        alternative=f"Weight that {risk} gives to a row, in units of the average row, against its "
        f"loss: {brief(float(relative[0]))} for the smallest, {brief(float(relative[-1]))} for the "
        "largest.",
        x_label=axis,
        y_label=f"weight of a row in {risk}, average = 1",
        series=[Series("", rows.losses[at], relative[at], 1)],
        guides=[Guide("y", 1.0, "an average row")],
    )


def residual_plot(model: Model, rows: EvaluatedRows) -> Plot:
    """Errors of some rows against their predictions."""
    n = len(rows.losses)
    loss = model.row_loss
    if loss.log_link:
        return _deviance_plot(model, rows)
    if loss.kinked:
        return _quantile_plot(model, rows)
    middle = quantile_ranks(n, np.array([0.5]), rows.masses)[0] - 1
    sizes = loss.sizes(rows.losses[[middle, -1]])
    assert sizes is not None  # noqa: S101  (a regression)
    half, largest = sizes.tolist()
    residuals = rows.targets - rows.predictions
    n_shown = len(residuals)
    sample = f"{n_shown:,} of {n:,} rows, evenly chosen." if n_shown < n else f"All {n:,} rows."
    return Plot(
        title=f"Half of the predictions are within {brief(half)} of {model.target.fitted_name}",
        alternative=f"Errors of the predictions, target minus prediction, against the prediction; "
        f"half are smaller than {brief(half)}, the largest is {brief(largest)}.",
        x_label=f"prediction of {model.target.fitted_name}",
        y_label="target minus prediction",
        series=[Series("", rows.predictions, residuals, 1, "dots")],
        guides=[Guide("y", 0.0)],
        note=f"{sample} The largest error of all is {brief(largest)}.",
    )


def _quantile_plot(model: Model, rows: EvaluatedRows) -> Plot:
    """Errors of some rows against predicted quantiles."""
    n, residuals = len(rows.losses), rows.targets - rows.predictions
    n_shown = len(residuals)
    below = float(np.average(residuals <= 0.0, weights=rows.sampled_masses))
    sample = f"{n_shown:,} of {n:,} rows, evenly chosen." if n_shown < n else f"All {n:,} rows."
    finding = f"{100.0 * below:.3g} % of the targets are at or below the prediction"
    return Plot(
        title=finding,
        alternative=f"Errors of the predictions, target minus prediction, against the prediction; "
        f"{finding}.",
        x_label=f"prediction of {model.target.fitted_name}",
        y_label="target minus prediction",
        series=[Series("", rows.predictions, residuals, 1, "dots")],
        guides=[Guide("y", 0.0)],
        note=f"{sample} The loss is {model.loss}.",
    )


def _deviance_plot(model: Model, rows: EvaluatedRows) -> Plot:
    """Deviance residuals of some rows, signed as the errors, against their predictions."""
    n, loss = len(rows.losses), model.row_loss
    Z = np.log(np.maximum(rows.predictions, np.finfo(np.float64).tiny))[:, None]
    sizes = loss.sizes(loss.values(Z, loss.targets(rows.targets)))
    assert sizes is not None  # noqa: S101  (a regression)
    residuals = np.sign(rows.targets - rows.predictions) * sizes
    n_shown = len(residuals)
    beyond = float(np.average(sizes > 2.0, weights=rows.sampled_masses))
    sample = f"{n_shown:,} of {n:,} rows, evenly chosen." if n_shown < n else f"All {n:,} rows."
    finding = f"{100.0 * beyond:.3g} % of the deviance residuals exceed 2"
    return Plot(
        title=finding,
        alternative=f"Deviance residuals against the prediction; {finding}.",
        x_label=f"prediction of {model.target.fitted_name}",
        y_label="deviance residual, signed as target minus prediction",
        series=[Series("", rows.predictions, residuals, 1, "dots")],
        guides=[Guide("y", 0.0)],
        note=f"{sample} Of a Poisson model that fits, about 5 % exceed 2.",
    )


def probability_plot(model: Model, rows: EvaluatedRows) -> Plot:
    """Predicted probabilities of the true classes: exp(-loss)."""
    likely = np.exp(-rows.losses)
    counts, edges = np.histogram(likely, bins=20, range=(0.0, 1.0), weights=rows.masses)
    shares = counts / counts.sum()
    sure = float(np.average(likely >= 0.5, weights=rows.masses))
    return Plot(
        title=f"{100.0 * sure:.3g} % of the {rows.name} rows got at least even odds",
        alternative="How the probability given to the true class is spread over the rows: "
        f"{100.0 * sure:.3g} % of them got at least 0.5, {100.0 * float(shares[0]):.3g} % less "
        "than 0.05.",
        x_label=f"probability that the model gave to the true {model.target.name}",
        y_label="share of the rows",
        series=[Series("", (edges[:-1] + edges[1:]) / 2.0, shares, 1, "bars")],
        y_percent=True,
        guides=[Guide("x", 0.5, "even odds")],
    )


def run_plots(model: Model, epochs: Sequence[Epoch], n_rows: int, *, converged: bool) -> list[Plot]:
    """The course of a fit: objective and bound, gap, and rows that change rank.

    The last only where the gap asked for was not proved: a proof says more than settled ranks.
    """
    if len(epochs) < 2:
        return []
    proved = converged and model.fit.gap is not None
    ranks = None if proved else rank_plot(epochs, n_rows)
    return [*filter(None, (objective_plot(model, epochs), gap_plot(model, epochs), ranks))]


def objective_plot(model: Model, epochs: Sequence[Epoch]) -> Plot:
    """The objective and the best bound proved, pass by pass."""
    passes, values = _trace_points(epochs, "objective")
    bound_passes, bounds = _trace_points(epochs, "lower_bound")
    record = model.fit
    lines = [*_line("objective", passes, values, 1)]
    if len(bounds):
        lines += _line("lower bound", bound_passes, bounds, 2)
    first, last = float(values[0]), record.objective
    return Plot(
        title=f"The objective went from {first:.4g} to {last:.4g} in {record.passes:.3g} passes",
        alternative=f"Objective against passes over the rows: {first:.6g} at first, {last:.6g} at "
        "the end"
        + ("." if record.lower_bound is None else f", above a bound of {record.lower_bound:.6g}."),
        x_label="passes over the rows",
        y_label="objective" + _scale(model),
        series=lines,
    )


def gap_plot(model: Model, epochs: Sequence[Epoch]) -> Plot | None:
    """How far from the optimum, as proved on the way and as known in the end."""
    record = model.fit
    if record.gap is None or record.lower_bound is None or not record.absolute_gap:
        return None
    gained = record.absolute_gap / record.gap if record.gap else 0.0
    if not gained > 0.0:
        return None
    passes, values = _trace_points(epochs, "objective")
    # The best objective so far is what a run would have returned.
    known = (np.minimum.accumulate(values) - record.lower_bound) / gained
    proved_passes, proved = _trace_points(epochs, "gap")
    lines = [*_line("by the final bound", passes[known > 0.0], known[known > 0.0], 1)]
    if np.count_nonzero(proved > 0.0):
        lines += _line("proved so far", proved_passes[proved > 0.0], proved[proved > 0.0], 2)
    return Plot(
        title=f"At most {100.0 * record.gap:.2g} % of the gain was left when the run ended",
        alternative=f"Relative gap to the optimum against passes, on a logarithmic axis; "
        f"{record.gap:.2g} is proved at the end.",
        x_label="passes over the rows",
        y_label="gap, relative to what was gained",
        series=lines,
        y_log=True,
    )


def rank_plot(epochs: Sequence[Epoch], n_rows: int) -> Plot | None:
    """Rows whose rank differs from that at the sort before (the paper's sorting sensitivity)."""
    passes, changes = _trace_points(epochs, "rank_changes")
    if len(changes) < 2:
        return None
    shares = changes / n_rows
    return Plot(
        title=f"At the last sort {100.0 * shares[-1]:.3g} % of the rows changed their rank",
        alternative="Share of the rows whose rank by loss differs from that at the sort before, "
        f"against passes: {100.0 * shares[0]:.3g} % at first, {100.0 * shares[-1]:.3g} % at the "
        "end.",
        x_label="passes over the rows",
        y_label="rows that changed rank since the last sort",
        series=_line("", passes, shares, 1),
        y_percent=True,
        y_range=(-0.02, 1.05),
        note="Few changes mean that the order of the losses, and so the weights, have settled.",
    )


def _trace_points(epochs: Sequence[Epoch], name: str) -> tuple[Array, Array]:
    """Passes and values of those epochs that have a value, thinned to what can be drawn."""
    pairs = [(e.passes, getattr(e, name)) for e in epochs if getattr(e, name) is not None]
    if not pairs:
        return np.empty(0), np.empty(0)
    at = np.unique(np.rint(np.linspace(0, len(pairs) - 1, MAX_POINTS)).astype(np.intp))
    passes, values = np.array(pairs, np.float64)[at].T
    return passes, values


def _line(name: str, x: Array, y: Array, color: int) -> list[Series]:
    """A line, with a mark at each point where they are few."""
    line = Series(name, x, y, color)
    return [line, Series("", x, y, color, "marks")] if len(x) <= 30 else [line]


def _scale(model: Model) -> str:
    return ", standardised" if model.fit.objective_scale == "standardised" else ""
