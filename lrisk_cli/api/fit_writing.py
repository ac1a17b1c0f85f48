"""Write what fits give: models first, then tables of losses, traces and folds."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lrisk_cli.api.fit_result import FitResult
from lrisk_cli.design.design import Design
from lrisk_cli.models.fitting import Scores
from lrisk_cli.models.model import Model, save_model
from lrisk_cli.solvers.solution import Epoch
from lrisk_cli.tables.table import write_table

if TYPE_CHECKING:
    from lrisk_cli.evaluation.selection import CrossValidation


def write_results(
    results: Sequence[FitResult],
    design: Design | None = None,
    choice: "CrossValidation | None" = None,
    beside: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> None:
    """Write the models first: whatever fails after them, they are there.

    beside: puts the columns to copy beside a table of rows.
    """
    for result in results:
        if result.files.model is not None:
            save_model(result.files.model, result.model)
    for result in results:
        files = result.files
        if files.losses is not None and result.scored is not None and design is not None:
            columns = _losses_columns(result.model, design, result.scored)
            write_table(files.losses, beside(columns))
        if files.trace is not None:
            write_table(files.trace, _trace_columns(result.epochs))
        if files.oof is not None and choice is not None and design is not None:
            columns = choice.chosen_scores().columns(result.model, design.lines)
            write_table(files.oof, beside(columns))


def _losses_columns(model: Model, design: Design, scored: Scores) -> dict[str, Any]:
    from lrisk_cli.evaluation.rankings import losses_columns

    names = {**design.named_rows, "prediction": model.labelled(scored.predictions)}
    targets = model.labelled(design.targets)
    return losses_columns(names, targets, scored.losses, model.spectrum, design.weights)


def _trace_columns(epochs: Sequence[Epoch]) -> dict[str, Any]:
    """One row for each epoch; empty where nothing was proved or sorted yet."""
    names = ("passes", "seconds", "objective", "lower_bound", "gap", "rank_changes")
    heads = {"passes": "pass"}
    columns = {
        heads.get(name, name): pa.array([getattr(epoch, name) for epoch in epochs])
        for name in names
    }
    for name, type_ in (("epochs", pa.float64()), ("gradient_evaluations", pa.int64())):
        counts = [None if each.counts is None else getattr(each.counts, name) for each in epochs]
        columns[name] = pa.array(counts, type_)
    watched = [epoch.watched for epoch in epochs]
    for name, type_ in (("test_loss", pa.float64()), ("marked_rows", pa.int64())):
        seen = [None if each is None else getattr(each, name) for each in watched]
        if any(value is not None for value in seen):
            columns[name] = pa.array(seen, type_)
    return columns
