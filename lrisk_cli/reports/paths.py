"""Several fits as text: a line for each risk, or for each candidate of a cross-validation."""

from typing import TYPE_CHECKING

from lrisk_cli.names import WORST_TENTH
from lrisk_cli.reports.facts import Fact, figure, note_facts, number, rows_fact
from lrisk_cli.reports.model_facts import choice_grid, describe_choice, describe_model
from lrisk_cli.reports.terminal import print_facts, print_rows, print_saved

if TYPE_CHECKING:
    from lrisk_cli.api.fit import FitResult, Fits
    from lrisk_cli.evaluation.selection import CrossValidation

SHOWN = ("mean", WORST_TENTH, "max")


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
    groups = [cell for rows in first.figures for cell in (rows, *[""] * (len(SHOWN) - 1))]
    heads = ["risk", "objective", "gap", *SHOWN * len(first.figures), "seconds"]
    print_rows([["", "", "", *groups], heads, *map(_path_row, results)])
    print()
    otherwise = "nothing was saved; pass -o FOLDER/ to keep the models"
    print_saved([each.files.model for each in results], otherwise)


def _remarks(result: "FitResult") -> list[str]:
    """Why the run ended, unless it converged, and what else to know."""
    return [*([] if result.converged else [result.model.fit.status]), *result.notes]


def _path_row(result: "FitResult") -> list[str]:
    fit = result.model.fit
    gap = "none" if fit.gap is None else f"{fit.gap:.1e}"
    figures = [figure(of_rows.get(name)) for of_rows in result.figures.values() for name in SHOWN]
    return [result.model.risk, number(fit.objective), gap, *figures, f"{result.seconds:.3f}"]


def print_choice(choice: "CrossValidation") -> None:
    """The figures of all candidates, and which of them was chosen."""
    record = choice.record()
    print(f"cross-validation: {describe_choice(record)}")
    grid = choice_grid(record)
    print_rows([grid.heads, *grid.rows])
    print()
