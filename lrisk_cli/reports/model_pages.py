"""The pages of a fit and of an evaluation: what was learned or judged, and how far to trust it."""

from collections.abc import Mapping, Sequence

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.gates import Verdict
from lrisk_cli.evaluation.metrics import Figures, Intervals
from lrisk_cli.evaluation.registry import error_names
from lrisk_cli.models.model import Model, original_units
from lrisk_cli.reports.documents import largest_first, output_names
from lrisk_cli.reports.figures import draw
from lrisk_cli.reports.html import (
    GATES,
    Block,
    Facts,
    Notes,
    Page,
    Section,
    Table,
    Tiles,
    brief,
    clip,
)
from lrisk_cli.reports.plots import JudgedRows, row_plots, run_plots
from lrisk_cli.reports.terminal import (
    describe_model,
    describe_rows,
    figure,
    gate_row,
    interval,
    number,
    proof_sentence,
)
from lrisk_cli.solvers.solution import Epoch

MAX_COEFFICIENTS = 40
MAX_OUTPUTS = 8
UNITS = (
    "Per unit of the file. The effect is that of one deviation of the column, or of a category, on "
    "the scale of the fit."
)


def fit_page(
    model: Model,
    counts: RowCounts,
    figures: Mapping[str, Figures],
    notes: Sequence[str],
    epochs: Sequence[Epoch],
    rows: Sequence[JudgedRows],
    command_line: str,
) -> Page:
    """A fit: its proof, its course, its losses, its coefficients.

    figures, rows: of the training rows first, then of those to test on.
    """
    run = [draw(plot, f"run{k}") for k, plot in enumerate(run_plots(model, epochs, counts.used))]
    seen = [draw(plot, f"rows{k}") for k, plot in enumerate(row_plots(model, rows))]
    sections = [
        Section("At a glance", [_fit_tiles(model, figures), *_notes(notes)]),
        Section("Losses", [*seen, _figures_table(figures)]),
        Section("The run", [*run, Facts(_run_facts(model), beside=bool(run))]),
        Section("Coefficients", [_coefficients(model)], lead=UNITS),
        Section("What was done", [Facts(_fit_facts(model, counts))]),
    ]
    lead = f"{_first_upper(proof_sentence(model))}."
    title = f"Fit of {model.target.name} by {model.risk}"
    return Page("fit", title, lead, sections, command_line)


def evaluation_page(
    path: str,
    model: Model,
    counts: RowCounts,
    figures: Figures,
    intervals: Intervals | None,
    verdicts: Sequence[Verdict],
    rows: JudgedRows,
    command_line: str,
) -> Page:
    """A model judged on a table: its figures, its losses, the gates."""
    seen = [draw(plot, f"rows{k}") for k, plot in enumerate(row_plots(model, [rows]))]
    gates = [
        Section("Gates", [Table(GATES, ["gate", "verdict", "figure"],
                                [gate_row(verdict) for verdict in verdicts], texts=3)])
    ]  # fmt: skip
    facts = [("model", f"{path}: {describe_model(model)}"), ("rows", describe_rows(counts))]
    sections = [
        Section("At a glance", [_evaluation_tiles(figures)]),
        *(gates if verdicts else []),
        Section("Losses", [*seen, _figures_table({"value": figures}, intervals)]),
        Section("What was done", [Facts([*facts, ("loss", _loss_words(model))])]),
    ]
    n_failed = sum(verdict.failed for verdict in verdicts)
    lead = f"{counts.used:,} rows judged: {_errors(figures)}."
    if verdicts:
        lead += f" {n_failed} of {len(verdicts)} gates failed."
    return Page("evaluate", f"{path} on {counts.used:,} rows", lead, sections, command_line)


def _fit_tiles(model: Model, figures: Mapping[str, Figures]) -> Tiles:
    fit = model.fit
    if fit.gap is None:
        items = [("end of the run", fit.status.partition(":")[0], fit.solver)]
    else:
        items = [("gap proved", f"{fit.gap:.1e}", fit.solver)]
    for name, of_rows in figures.items():
        items.append((f"mean loss, {name}", brief(of_rows["mean"]), _errors(of_rows)))
        if of_rows.get(model.risk) is not None and model.risk != "mean":
            word = "minimised on these rows" if name == "training" else "on rows not learned from"
            items.append((f"{model.risk}, {name}", brief(of_rows[model.risk]), word))
    return Tiles(items)


def _evaluation_tiles(figures: Figures) -> Tiles:
    items = [("mean loss", brief(figures["mean"]), "")]
    if figures.get("superquantile:0.9") is not None:
        items.append(("worst tenth", brief(figures["superquantile:0.9"]), "superquantile:0.9"))
    items.append(("largest loss", brief(figures["max"]), ""))
    items += [(name, brief(figures[name]), "") for name in error_names(figures)[:1]]
    return Tiles(items)


def _errors(figures: Figures) -> str:
    """ "rmse 0.65, mae 0.5, r2 0.36"."""
    known = [(name, figures[name]) for name in error_names(figures)]
    return ", ".join(f"{name} {value:.3g}" for name, value in known if value is not None)


def _figures_table(figures: Mapping[str, Figures], intervals: Intervals | None = None) -> Table:
    """Risks first, then errors; a column for each set of rows."""
    names = list(next(iter(figures.values())))
    errors = error_names(names)
    ordered = [n for n in names if n not in errors] + [n for n in names if n in errors]
    rows = [
        [
            name,
            *(figure(of_rows.get(name)) for of_rows in figures.values()),
            *([interval(intervals.get(name))] if intervals else []),
        ]
        for name in ordered
    ]
    heads = ["risk of the loss", *figures, *(["95 % interval"] if intervals else [])]
    return Table("Risks of the losses, then errors", heads, rows, beside=True)


def _coefficients(model: Model) -> Table:
    units = original_units(model)
    outputs = output_names(model)[:MAX_OUTPUTS]
    heads = [f"log-odds of {outputs[0]}"] if len(model.target.classes) == 2 else outputs
    order = largest_first(units.effects)
    rows = [["(intercept)", *(number(x) for x in units.intercepts[: len(outputs)]), ""]]
    rows += [
        [
            units.columns[j],
            *(number(x) for x in units.coefficients[j][: len(outputs)]),
            brief(float(units.effects[j])),
        ]
        for j in order[:MAX_COEFFICIENTS]
    ]
    n_more = len(order) - MAX_COEFFICIENTS
    more = f"; the {n_more} smallest are left out" if n_more > 0 else ""
    caption = f"Coefficients, largest effect first{more}"
    return Table(caption, ["column", *(clip(head) for head in heads), "effect"], rows)


def _run_facts(model: Model) -> list[tuple[str, str]]:
    fit = model.fit
    scale = " on the standardised scale" if fit.objective_scale == "standardised" else ""
    pairs = [
        ("solver", f"{fit.solver} ({fit.solver_reason})"),
        ("passes", f"{fit.passes:g}, seed {fit.seed}"),
        ("end", fit.status),
        ("objective", f"{fit.objective:.9g}{scale}"),
    ]
    if fit.lower_bound is not None and fit.gap is not None:
        pairs.append(("lower bound", f"{fit.lower_bound:.9g}"))
        pairs.append(("gap", f"{fit.gap:.3g}, relative to what was gained"))
    for start in fit.starts or ():
        rounds = f"{start.rounds} round" + "s" * (start.rounds != 1)
        pairs.append((f"from {start.name}", f"{start.objective:.9g} after {rounds}"))
    return pairs


def _fit_facts(model: Model, counts: RowCounts) -> list[tuple[str, str]]:
    return [
        ("model", describe_model(model)),
        ("rows", describe_rows(counts)),
        ("loss", _loss_words(model)),
        ("penalty", f"mu/2 ||w||² with mu = {model.l2:.6g}"),
        ("data fingerprint", model.fit.fingerprint),
    ]


def _loss_words(model: Model) -> str:
    if model.loss == "squared":
        return "half the squared error, in units of the file"
    return "minus the logarithm of the probability given to the true class"


def _notes(notes: Sequence[str]) -> list[Block]:
    return [Notes(notes)] if notes else []


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]
