"""Results as aligned text on standard output."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lrisk_cli.colours import paint
from lrisk_cli.models.model import Model
from lrisk_cli.reports.facts import (
    Fact,
    Grid,
    confusion_grid,
    decision_facts,
    interval_facts,
    note_facts,
    plain,
    rows_fact,
)
from lrisk_cli.reports.figure_facts import figures_grid, result_fact
from lrisk_cli.reports.layout import fit_rows, terminal_width
from lrisk_cli.reports.model_facts import coefficient_grid, model_facts, recorded_rows, run_facts
from lrisk_cli.tables.places import place_name

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.api.fit_result import FitResult, Fits
    from lrisk_cli.evaluation.gates import GateResult
    from lrisk_cli.evaluation.group_figures import ByGroup


# Longer lines of prose are hard to read.
WIDEST = 120
# Classes whose confusion matrix fits a terminal of 80 columns.
MOST_PRINTED = 8


def print_fit(fits: "Fits") -> None:
    """What the only fit did and proved."""
    (result,) = fits.results
    model = result.model
    notes = note_facts((*fits.notes, *result.notes))
    facts = [*model_facts(model), rows_fact(fits.counts), *run_facts(model), *notes]
    print_facts([result_fact(result), *facts])
    print()
    reference = None if result.reference is None else result.reference.figures
    print_grid(figures_grid(model, result.figures, reference))
    print_groups(model, result.tested_groups, list(result.figures)[-1])
    print()
    print_theory(result)
    print_saved([result.files.model], "nothing was saved; pass -o MODEL.json to keep it")
    print_named_gates(fits.gate_results)


def print_theory(result: "FitResult") -> None:
    """What the theorems say about a fit, where it was asked for."""
    if result.theory is not None:
        from lrisk_cli.reports.theory import theory_facts

        print_facts(theory_facts(result.theory))
        print()


def print_evaluation(found: "Evaluation") -> None:
    """The figures of a model on a table, and what the gates say."""
    model = replace(found.model, weight=found.weight)
    facts = [*model_facts(model, found.path), rows_fact(found.counts)]
    facts += [*decision_facts(found), *interval_facts(found)]
    print_facts([*facts, *note_facts(found.notes)])
    print()
    print_grid(figures_grid(found.model, {"value": found.figures}, intervals=found.intervals))
    if found.confusion is not None and len(found.confusion.classes) <= MOST_PRINTED:
        print()
        print_grid(confusion_grid(found.confusion, 56 // len(found.confusion.classes) - 2))
    print_groups(found.model, found.by_group)
    print_gates(found.gate_results)


def print_groups(model: Model, by_group: "ByGroup | None", rows: str = "") -> None:
    """The groups of rows, the worst first, where there are any. rows: which, if there are more."""
    if by_group is None:
        return
    from lrisk_cli.reports.groups import groups_grid, rest_of_groups, spread_grid

    print()
    print_grid(groups_grid(model, by_group, rows))
    for line in rest_of_groups(by_group):
        print_text(line)
    print()
    print_grid(spread_grid(model, by_group))


def print_model(path: str, model: Model) -> None:
    """A model file: its risk, its certificate, its coefficients in units of the file."""
    rows = rows_fact(recorded_rows(model.fit))
    print_facts([*model_facts(model, path), rows, *run_facts(model)])
    coefficients = coefficient_grid(model)
    if coefficients is not None:
        print()
        print_grid(coefficients)
        print()
        print_text(
            "Coefficients are per unit of the file; the effect is per deviation of the column."
        )


def print_saved(paths: Sequence[str | None], otherwise: str) -> None:
    """Where the models are. None: not asked for. otherwise: what to say if none was."""
    saved = [f"saved to {plain(place_name(path))}" for path in paths if path]
    print("\n".join(saved) or otherwise)


def print_gates(
    gate_results: "Sequence[GateResult]", models: Sequence[str | None] | None = None
) -> None:
    """What the gates say, if there are any. models: that met them, if several could."""
    if gate_results:
        from lrisk_cli.reports.gates import gates_grid  # a plain fit has none

        print()
        grid = gates_grid(gate_results, models)
        print_rows([grid.heads, *grid.rows], numbers=False)


def print_named_gates(gate_results: "Sequence[tuple[str | None, GateResult]]") -> None:
    """The same of several models, which are named."""
    print_gates([result for _, result in gate_results], [model for model, _ in gate_results])


def print_facts(facts: Sequence[Fact]) -> None:
    """Labels and texts, one line each; on a terminal, long texts go on below their beginning."""
    for fact in facts:
        if fact.text and not fact.detail:
            label = "" if fact.continued else fact.label
            print_text(f"{label:<12} {fact.text}", margin=13)


def print_text(text: str, *, margin: int = 0) -> None:
    """A sentence as one line; on a terminal as a paragraph, with a margin from its second line."""
    line = plain(text).rstrip()
    if not sys.stdout.isatty():
        print(line)
        return
    import textwrap  # on terminals only

    width = min(terminal_width(), WIDEST)
    wrapped = textwrap.wrap(
        line, width, subsequent_indent=" " * margin, break_on_hyphens=False, break_long_words=False
    )
    print("\n".join(wrapped))


def print_grid(grid: Grid, *, ragged: bool = False) -> None:
    """Columns under their heads; an empty line before each further part of the rows.

    ragged: the last column is of sentences.
    """
    rows = [grid.heads, *grid.rows]
    for at in sorted(grid.divided, reverse=True):
        rows.insert(1 + at, [])
    print_rows(rows, ragged=ragged)


def print_rows(
    rows: Sequence[Sequence[str]], *, numbers: bool = True, ragged: bool = False
) -> None:
    """Columns of text, flush left; but numbers, in all but the first, flush right.

    ragged: the last column is of sentences. They fit the terminal, or 80 columns elsewhere.
    """
    width = terminal_width()
    for line in fit_rows(rows, width, numbers=numbers, ragged=ragged):
        print("".join(paint(text, style, sys.stdout) if style else text for text, style in line))
