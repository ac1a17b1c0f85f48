"""Results as aligned text on standard output."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lrisk_cli.models.model import Model
from lrisk_cli.reports.facts import (
    Fact,
    Grid,
    confusion_grid,
    decision_facts,
    gate_row,
    note_facts,
    plain,
    rows_fact,
)
from lrisk_cli.reports.figure_facts import figures_grid, result_fact
from lrisk_cli.reports.model_facts import coefficient_grid, model_facts, recorded_rows, run_facts

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.api.fit_result import FitResult, Fits
    from lrisk_cli.evaluation.gates import GateResult


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
    facts = [*model_facts(found.model, found.path), rows_fact(found.counts)]
    facts += decision_facts(found)
    print_facts([*facts, *note_facts(found.notes)])
    print()
    print_grid(figures_grid(found.model, {"value": found.figures}, intervals=found.intervals))
    if found.confusion is not None and len(found.confusion.classes) <= MOST_PRINTED:
        print()
        print_grid(confusion_grid(found.confusion, 56 // len(found.confusion.classes) - 2))
    print_gates(found.gate_results)


def print_model(path: str, model: Model) -> None:
    """A model file: its risk, its certificate, its coefficients in units of the file."""
    rows = rows_fact(recorded_rows(model.fit))
    print_facts([*model_facts(model, path), rows, *run_facts(model)])
    coefficients = coefficient_grid(model)
    if coefficients is not None:
        print()
        print_grid(coefficients)
        print()
        print("Coefficients are per unit of the file; the effect is per deviation of the column.")


def print_saved(paths: Sequence[str | None], otherwise: str) -> None:
    """Where the models are. None: not asked for. otherwise: what to say if none was."""
    saved = [f"saved to {plain(path)}" for path in paths if path]
    print("\n".join(saved) or otherwise)


def print_gates(gate_results: "Sequence[GateResult]") -> None:
    """What the gates say, if there are any."""
    if gate_results:
        print()
        print_rows([gate_row(result) for result in gate_results], numbers=False)


def print_named_gates(gate_results: "Sequence[tuple[str | None, GateResult]]") -> None:
    """The same of several models, which are named."""
    if gate_results:
        print()
        rows = [[*gate_row(result), model or ""] for model, result in gate_results]
        print_rows(rows, numbers=False)


def print_facts(facts: Sequence[Fact]) -> None:
    """Labels and texts, one line each, whatever a file wants the terminal to do."""
    for fact in facts:
        if fact.text and not fact.detail:
            label = "" if fact.continued else fact.label
            print(plain(f"{label:<12} {fact.text}").rstrip())


def print_grid(grid: Grid) -> None:
    """Columns under their heads; an empty line before each further part of the rows."""
    rows = [grid.heads, *grid.rows]
    for at in sorted(grid.divided, reverse=True):
        rows.insert(1 + at, [])
    print_rows(rows)


def print_rows(rows: Sequence[Sequence[str]], *, numbers: bool = True) -> None:
    """Columns of text, flush left; but numbers, in all but the first, flush right."""
    cells = [[plain(cell) for cell in row] for row in rows]
    n_columns = max(map(len, cells))
    widths = [max(len(row[k]) for row in cells if k < len(row)) for k in range(n_columns)]
    for row in cells:
        first = [cell.ljust(width) for cell, width in zip(row[:1], widths, strict=False)]
        align = str.rjust if numbers else str.ljust
        others = [align(cell, width) for cell, width in zip(row[1:], widths[1:], strict=False)]
        print("  ".join([*first, *others]).rstrip())
