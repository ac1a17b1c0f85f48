"""The pages of a fit and of an evaluation: the results, and how far to trust them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from lrisk_cli.evaluation.metrics import Figures, Intervals
from lrisk_cli.evaluation.registry import error_names
from lrisk_cli.models.model import Model
from lrisk_cli.names import WORST_TENTH
from lrisk_cli.reports.class_pages import class_section, worst_section
from lrisk_cli.reports.facts import count_failed, decision_facts, interval_facts, number, rows_fact
from lrisk_cli.reports.figure_facts import (
    ORDINARY,
    figures_grid,
    result_fact,
    root,
    typical,
)
from lrisk_cli.reports.figures import draw
from lrisk_cli.reports.group_pages import group_section
from lrisk_cli.reports.html import (
    Page,
    Section,
    Table,
    Tiles,
    brief,
    clip,
    facts_block,
    gates_section,
    notes_block,
)
from lrisk_cli.reports.model_facts import (
    choice_grid,
    coefficient_grid,
    describe_choice,
    model_facts,
    proof_sentence,
    run_facts,
)
from lrisk_cli.reports.plots import row_plots, run_plots

if TYPE_CHECKING:
    from lrisk_cli.api.evaluate import Evaluation
    from lrisk_cli.api.fit_result import FitResult, Fits

# Errors named beside the main figures.
MAIN_ERRORS = ("rmse", "mae", "r2", "deviance", "accuracy", "majority_accuracy", "roc_auc")
MAX_COEFFICIENTS = 40
MAX_OUTPUTS = 8
UNITS = (
    "Per unit of the file. The effect is that of one deviation of the column, or of a category, on "
    "the scale of the fit."
)


def fit_page(fits: "Fits", result: "FitResult", command_line: str) -> Page:
    """A fit: its proof, its run, its losses, its coefficients."""
    model, counts = result.model, fits.counts
    plots = run_plots(model, result.epochs, counts.used, converged=result.converged)
    run = [draw(plot, f"run{k}") for k, plot in enumerate(plots)]
    rows = result.evaluated_rows()
    seen = [draw(plot, f"rows{k}") for k, plot in enumerate(row_plots(model, rows))]
    reference = None if result.reference is None else result.reference.figures
    notes = notes_block((*fits.notes, *result.notes), result.warnings)
    sections = [
        Section(
            "At a glance",
            [_fit_tiles(result), *notes],
        ),
        *gates_section([gate for name, gate in fits.gate_results if name in (None, model.risk)]),
        Section("Losses", [*seen, _figures_table(model, result.figures, reference)]),
        *_groups_of_fit(result),
        *class_section(model, rows),
        Section("The run", [*run, facts_block(run_facts(model), beside=bool(run))]),
        *_choice(model),
        *_coefficients(model),
        *worst_section(model, rows[-1]),
        *_theory(result),
        Section("What was done", [facts_block([*model_facts(model), rows_fact(counts)])]),
    ]
    lead = f"{_first_upper(result_fact(result).text)}. {_first_upper(proof_sentence(model))}."
    title = f"Fit of {model.target.name} by {model.risk}"
    return Page("fit", title, lead, sections, command_line)


def _groups_of_fit(result: "FitResult") -> list[Section]:
    """The groups of the rows to test on, or else of those learned from, where there are any."""
    if not result.groups:
        return []
    *_, rows = result.groups
    words = {"training": "learned from", "held out": "held out", "test": "to test on"}
    return group_section(result.model, result.groups[rows], result.figures[rows], words[rows])


def _theory(result: "FitResult") -> list[Section]:
    """What the theorems say, where it was asked for."""
    if result.theory is None:
        return []
    from lrisk_cli.reports.theory import theory_facts

    return [Section("What the theorems say", [facts_block(theory_facts(result.theory))])]


def evaluation_page(found: "Evaluation", command_line: str) -> Page:
    """A model evaluated on a table: its figures, its losses, the gates."""
    model, counts, figures = found.model, found.counts, found.figures
    rows = [] if found.rows is None else [found.rows]
    plots = row_plots(model, rows) if rows else []
    seen = [draw(plot, f"rows{k}") for k, plot in enumerate(plots)]
    name = PurePath(found.path).name
    facts = [
        *model_facts(replace(model, weight=found.weight), name),
        *decision_facts(found),
        *interval_facts(found),
        rows_fact(counts),
    ]
    sections = [
        Section(
            "At a glance",
            [
                _evaluation_tiles(model, figures),
                *notes_block(found.notes, found.warnings),
            ],
        ),
        *gates_section(found.gate_results),
        Section(
            "Losses", [*seen, _figures_table(model, {"value": figures}, intervals=found.intervals)]
        ),
        *group_section(model, found.by_group, figures),
        *class_section(model, rows),
        *(section for each in rows for section in worst_section(model, each)),
        Section("What was done", [facts_block(facts)]),
    ]
    lead = f"{counts.used:,} rows evaluated: {_errors(figures)}."
    if found.gate_results:
        lead += f" {count_failed(found.gate_results)}."
    return Page("evaluate", f"{name} on {counts.used:,} rows", lead, sections, command_line)


def _fit_tiles(result: "FitResult") -> Tiles:
    model, fit = result.model, result.model.fit
    if fit.gap is None:
        items = [("end of the run", fit.status.partition(":")[0], fit.solver)]
    else:
        items = [("gap proved", f"{fit.gap:.1e}", fit.solver)]
    reference = {} if result.reference is None else result.reference.figures
    for name, of_rows in result.figures.items():
        beside = reference.get(name)
        items.append(_loss_tile(model, f"{typical(model)}, {name}", of_rows, "mean", beside))
        items.append(_loss_tile(model, f"worst tenth, {name}", of_rows, WORST_TENTH, beside))
    return Tiles(items)


def _evaluation_tiles(model: Model, figures: Figures) -> Tiles:
    items = [_loss_tile(model, typical(model), figures, "mean")]
    if figures.get(WORST_TENTH) is not None:
        items.append(_loss_tile(model, "worst tenth", figures, WORST_TENTH))
    largest = "largest error" if model.row_loss.quadratic else "largest loss"
    items.append(_loss_tile(model, largest, figures, "max"))
    # The root of the mean square is the typical error.
    errors = [name for name in error_names(figures) if name != "rmse"]
    items += [(name, brief(figures[name]), "") for name in errors[:1]]
    return Tiles(items)


def _loss_tile(
    model: Model, label: str, figures: Figures, risk: str, reference: Figures | None = None
) -> tuple[str, str, str]:
    """A risk of the losses, as an error where they are squared, with that of the ordinary fit."""
    value, ordinary = figures.get(risk), (reference or {}).get(risk)
    words = [] if risk in ("mean", "max") else [risk]
    if model.row_loss.quadratic:
        words = [f"half squared error {brief(value)}"]
        value, ordinary = root(value), root(ordinary)
    if ordinary is not None:
        words.insert(0, f"{ORDINARY} {brief(ordinary)}")
    return label, brief(value), "; ".join(words)


def _errors(figures: Figures) -> str:
    """ "rmse 0.65, mae 0.5, r2 0.36": those that say most; the table has all."""
    names = [name for name in error_names(figures) if name in MAIN_ERRORS]
    known = [(name, figures[name]) for name in names]
    return ", ".join(f"{name} {number(value, 3)}" for name, value in known if value is not None)


def _figures_table(
    model: Model,
    figures: Mapping[str, Figures],
    reference: Mapping[str, Figures] | None = None,
    intervals: Intervals | None = None,
) -> Table:
    grid = figures_grid(model, figures, reference, intervals)
    return Table("Risks of the losses, then errors", grid.heads, grid.rows, beside=True)


def _choice(model: Model) -> list[Section]:
    """The candidates of a cross-validation, if there was one."""
    record = model.cross_validation
    if record is None:
        return []
    grid = choice_grid(record)
    lead = f"{_first_upper(describe_choice(record))}."
    if record.chosen.optimistic:
        lead += " The figure of the chosen candidate is what chose it, so it is optimistic."
    table = Table("Candidates, on rows that their fits did not see", grid.heads, grid.rows)
    return [Section("The choice", [table], lead=lead)]


def _coefficients(model: Model) -> list[Section]:
    """The largest coefficients; nothing for a kernel model, which has none of columns."""
    grid = coefficient_grid(model, MAX_OUTPUTS, clip)
    if grid is None:
        return []
    shown = grid.rows[: 1 + MAX_COEFFICIENTS]
    n_more = len(grid.rows) - len(shown)
    more = f"; the {n_more} smallest are left out" if n_more else ""
    caption = f"Coefficients, largest effect first{more}"
    return [Section("Coefficients", [Table(caption, grid.heads, shown)], lead=UNITS)]


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
