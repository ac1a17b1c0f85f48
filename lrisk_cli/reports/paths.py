"""Several fits as text: a line for each risk, or for each candidate of a cross-validation."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lrisk_cli.names import WORST_TENTH
from lrisk_cli.reports.facts import Fact, figure, note_facts, number, rows_fact
from lrisk_cli.reports.figure_facts import ORDINARY, root, unit_of
from lrisk_cli.reports.model_facts import choice_grid, describe_choice, describe_model
from lrisk_cli.reports.terminal import (
    print_facts,
    print_named_gates,
    print_rows,
    print_saved,
    print_text,
    print_theory,
)

if TYPE_CHECKING:
    from lrisk_cli.api.fit_result import FitResult, Fits
    from lrisk_cli.evaluation.metrics import Figures
    from lrisk_cli.evaluation.selection import CrossValidation

SHOWN = ("mean", WORST_TENTH, "max")
SOLVED = ("objective", "gap", "seconds")


def print_path(fits: "Fits") -> None:
    """What several risks led to on the same rows."""
    results = fits.results
    first = results[0]
    standardised = first.model.fit.objective_scale == "standardised"
    print_facts(
        [
            Fact("model", describe_model(first.model, f"{len(results)} risks")),
            rows_fact(fits.counts),
            *note_facts(fits.notes),
            *(Fact("note", f"{each.model.risk}: {note}") for each in results
              for note in _remarks(each)),
            Fact("objective", "on the standardised scale" if standardised else ""),
        ]
    )  # fmt: skip
    print()
    print_rows([["risk", *SOLVED], *([each.model.risk, *_solved(each)] for each in results)])
    print()
    for group in first.figures:
        print_rows(_rows(results, group))
        print()
    for result in results:
        if result.theory is not None:
            print(f"theory of {result.model.risk}")
            print_theory(result)
    otherwise = "nothing was saved; pass -o FOLDER/ to keep the models"
    print_saved([each.files.model for each in results], otherwise)
    print_named_gates(fits.gate_results)


def _remarks(result: "FitResult") -> list[str]:
    """Why the run ended, unless it converged, and what else to know."""
    return [*([] if result.converged else [result.model.fit.status]), *result.notes]


def _rows(results: "Sequence[FitResult]", group: str) -> list[list[str]]:
    """The figures of all fits on one set of rows; of squared losses also their roots."""
    model = results[0].model
    every = [*_ordinary(results), *((each.model.risk, each.figures) for each in results)]
    loss = ", half squared error" if model.row_loss.quadratic else ""
    rows = [["risk", *SHOWN], [f"{group}{loss}"]]
    rows += [[name, *_shown(figures[group])] for name, figures in every]
    if model.row_loss.quadratic:
        rows += [[], [f"{group}, {unit_of(model)}"]]
        rows += [[name, *_shown(figures[group], rooted=True)] for name, figures in every]
    return rows


def _solved(result: "FitResult") -> list[str]:
    """What the solver ended with, and how long it took."""
    fit = result.model.fit
    gap = "none" if fit.gap is None else f"{fit.gap:.1e}"
    return [number(fit.objective), gap, f"{result.seconds:.3f}"]


def _ordinary(
    results: "Sequence[FitResult]",
) -> "list[tuple[str, Mapping[str, Figures]]]":
    """The figures of the ordinary fit, where it is not one of the fits."""
    known = next((each.reference for each in results if each.reference is not None), None)
    if known is None or any(each.figures is known.figures for each in results):
        return []
    return [(ORDINARY, known.figures)]


def _shown(figures: "Figures", *, rooted: bool = False) -> list[str]:
    """The figures of a line."""
    values = [figures.get(name) for name in SHOWN]
    return [figure(root(value) if rooted else value) for value in values]


def print_choice(choice: "CrossValidation") -> None:
    """The figures of all candidates, and which of them was chosen."""
    record = choice.record()
    print_text(f"cross-validation: {describe_choice(record)}")
    grid = choice_grid(record)
    print_rows([grid.heads, *grid.rows])
    print()
