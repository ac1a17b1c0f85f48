"""Several fits for people: a line for each risk, or for each candidate of a cross-validation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.evaluation.selection import CrossValidation
from lrisk_cli.models.model import Model
from lrisk_cli.names import DEFAULT_RISK
from lrisk_cli.reports.terminal import (
    describe_model,
    describe_rows,
    figure,
    number,
    plain,
    print_pairs,
    print_rows,
)

SHOWN = ("mean", DEFAULT_RISK, "max")


@dataclass(frozen=True, slots=True)
class PathEntry:
    """One of several fits to the same rows. figures: by the rows they are of; seconds: to solve."""

    model: Model
    figures: Mapping[str, Figures]
    saved_to: str | None
    seconds: float
    notes: Sequence[str] = ()


def print_path(entries: Sequence[PathEntry], counts: RowCounts, notes: Sequence[str] = ()) -> None:
    """What several risks led to on the same rows."""
    first = entries[0]
    pairs = [
        ("model", describe_model(first.model, f"{len(entries)} risks")),
        ("rows", describe_rows(counts)),
        *(("note", plain(note)) for note in notes),
        *(("note", f"{entry.model.risk}: {note}") for entry in entries for note in entry.notes),
    ]
    if first.model.fit.objective_scale == "standardised":
        pairs.append(("objective", "on the standardised scale"))
    print_pairs(pairs)
    print()
    groups = [cell for rows in first.figures for cell in (rows, *[""] * (len(SHOWN) - 1))]
    heads = ["risk", "objective", "gap", *SHOWN * len(first.figures), "seconds"]
    print_rows([["", "", "", *groups], heads, *map(_path_row, entries)])
    print()
    saved = [f"saved to {entry.saved_to}" for entry in entries if entry.saved_to]
    print("\n".join(saved) or "nothing was saved; pass -o FOLDER/ to keep the models")


def _path_row(entry: PathEntry) -> list[str]:
    fit = entry.model.fit
    gap = "none" if fit.gap is None else f"{fit.gap:.1e}"
    figures = [figure(of_rows.get(name)) for of_rows in entry.figures.values() for name in SHOWN]
    return [entry.model.risk, number(fit.objective), gap, *figures, f"{entry.seconds:.3f}"]


def print_choice(choice: CrossValidation) -> None:
    """The figures of all candidates, and which of them was chosen."""
    scheme = choice.scheme
    better = "larger" if scheme.larger_is_better else "smaller"
    print(
        f"cross-validation: {scheme.n_folds} folds (seed {scheme.seed}); mean of {scheme.metric} "
        f"on the fold left out, {better} is better"
    )
    rows = [["risk", "l2", scheme.metric, "standard error"]]
    for candidate in choice.candidates:
        figures = map(number, (candidate.l2, candidate.value, candidate.standard_error))
        chosen = ["chosen"] if candidate is choice.chosen else []
        rows.append([str(candidate.options.risk), *figures, *chosen])
    print_rows(rows)
    print()
