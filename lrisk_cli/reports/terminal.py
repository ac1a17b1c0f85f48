"""Results for people: aligned text on standard output."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.gates import Verdict
from lrisk_cli.evaluation.metrics import Figures, Intervals
from lrisk_cli.evaluation.registry import error_names
from lrisk_cli.models.model import Model, original_units
from lrisk_cli.models.model_file import ClusterRecord, FitRecord
from lrisk_cli.reports.documents import held_out_rows, largest_first, output_names


def print_fit(
    model: Model,
    counts: RowCounts,
    figures: Mapping[str, Figures],
    saved_to: str | None,
    notes: Sequence[str] = (),
) -> None:
    """What a fit did and proved. figures: by the rows they are of, e.g. "training", "held out"."""
    print_pairs(
        [
            ("model", describe_model(model)),
            *_features(model),
            ("rows", describe_rows(counts)),
            *_certificate(model),
            *(("note", plain(note)) for note in notes),
        ]
    )
    print()
    _print_figures(figures)
    print()
    print(
        f"saved to {saved_to}" if saved_to else "nothing was saved; pass -o MODEL.json to keep it"
    )


def print_evaluation(
    path: str,
    model: Model,
    counts: RowCounts,
    figures: Figures,
    intervals: Intervals | None,
    verdicts: Sequence[Verdict],
) -> None:
    """The figures of a model on a table, and what the gates say."""
    print_pairs([("model", f"{path}: {describe_model(model)}"), ("rows", describe_rows(counts))])
    print()
    _print_figures({"value": figures}, intervals)
    if verdicts:
        print()
        print_rows([gate_row(verdict) for verdict in verdicts], numbers=False)


def print_model(path: str, model: Model) -> None:
    """A model file: its risk, its certificate, its coefficients in units of the file."""
    fit = model.fit
    rows = describe_rows(recorded_rows(fit))
    print_pairs(
        [
            ("model", f"{path}: {describe_model(model)}"),
            *_features(model),
            ("rows", rows),
            *_certificate(model),
        ]
    )
    if model.is_linear:
        _print_coefficients(model)


def _print_coefficients(model: Model) -> None:
    """In units of the file, largest effect first."""
    print()
    units = original_units(model)
    outputs = output_names(model)
    heads = [f"log-odds of {outputs[0]}"] if len(model.target.classes) == 2 else outputs
    rows_shown = [["column", *heads, "effect"]]
    rows_shown.append(["(intercept)", *map(number, units.intercepts), ""])
    for j in largest_first(units.effects):
        values = map(number, units.coefficients[j])
        rows_shown.append([units.columns[j], *values, number(units.effects[j])])
    print_rows(rows_shown)
    print()
    print("Coefficients are per unit of the file; the effect is per deviation of the column.")


def _features(model: Model) -> list[tuple[str, str]]:
    """What a kernel model is linear in; a linear one needs no words."""
    return [] if model.is_linear else [("features", model.feature_map.describe())]


def describe_model(model: Model, risk: str | None = None) -> str:
    """One line on what the model is. risk: in place of its own."""
    encoding = model.encoding
    n_features = len(encoding.features)
    features = f"{n_features} feature" + "s" * (n_features != 1)
    if encoding.n_columns - encoding.intercept != n_features:
        features += f" ({encoding.n_columns - encoding.intercept} columns)"
    classes = len(model.target.classes)
    what = "regression" if not classes else f"classification ({classes} classes)"
    risk = risk or model.risk
    return f"{what} of {plain(model.target.name)} on {features}; {risk} of {model.loss} losses"


def recorded_rows(fit: FitRecord | ClusterRecord) -> RowCounts:
    """What became of the rows that a model learned from."""
    return RowCounts(fit.rows_read, fit.rows_used, fit.drop_reasons, fit.cells_filled)


def describe_rows(counts: RowCounts) -> str:
    """Rows read, used, held out if any, and dropped with the reasons; cells filled in, if any."""
    n_dropped = sum(counts.dropped.values())
    n_held_out = held_out_rows(counts)
    held_out = f", {n_held_out} held out" if n_held_out else ""
    reasons = ", ".join(f"{n} {plain(reason)}" for reason, n in counts.dropped.items())
    dropped = f"{n_dropped} dropped ({reasons})" if n_dropped else "none dropped"
    n_filled = sum(counts.filled.values())
    columns = ", ".join(f"{n} {plain(name)}" for name, n in counts.filled.items())
    filled = f"; {n_filled} cells filled in ({columns})" if n_filled else ""
    return f"{counts.read} read, {counts.used} used{held_out}, {dropped}{filled}"


def proof_sentence(model: Model) -> str:
    """The certificate in words."""
    gap = model.fit.gap
    if gap is None:
        return "not proved: this risk is not convex, so a better fit may exist"
    if gap >= 1.0:
        return (
            f"little is proved: another model of this form may gain {gap + 1.0:.2g} times as much"
        )
    percent = 100.0 * max(gap, 0.0)
    # Two digits, spelled out unless there are too many zeros to count.
    shown = f"{percent:.2g}" if percent < 1e-7 else f"{Decimal(f'{percent:.2g}'):f}"
    return f"proved: no model of this form gains more than {shown} % beyond what this one gained"


def number(value: float) -> str:
    """Six digits are enough to read."""
    return f"{value:.6g}"


def plain(text: str) -> str:
    """Text from a file, safe on a terminal: control characters are spelled out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _certificate(model: Model) -> list[tuple[str, str]]:
    fit = model.fit
    scale = " on the standardised scale" if fit.objective_scale == "standardised" else ""
    pairs = [
        ("solver", f"{fit.solver} ({fit.solver_reason}), {fit.passes:g} passes"),
        ("", fit.status),
        ("objective", f"{fit.objective:.9g}{scale}"),
    ]
    if fit.lower_bound is not None and fit.gap is not None:
        pairs.append(("lower bound", f"{fit.lower_bound:.9g}"))
        pairs.append(("gap", f"{fit.gap:.3g}"))
    return [*pairs, ("", proof_sentence(model))]


def _print_figures(figures: Mapping[str, Figures], intervals: Intervals | None = None) -> None:
    """One line for each figure, one column for each set of rows; risks before errors."""
    names = list(next(iter(figures.values())))
    errors = error_names(names)
    heads = ["risk of the loss", *figures, *(["95 % interval"] if intervals else [])]
    rows = [heads]
    for name in [n for n in names if n not in errors] + [n for n in names if n in errors]:
        if name in errors[:1]:
            rows.append([])
        values = [figure(of_rows.get(name)) for of_rows in figures.values()]
        ends = [interval(intervals.get(name))] if intervals else []
        rows.append([name, *values, *ends])
    print_rows(rows)


def figure(value: float | None) -> str:
    """A number to read, or the words for none."""
    return "not defined" if value is None else number(value)


def interval(ends: tuple[float, float] | None) -> str:
    """ "1.5 to 2.5"."""
    return "" if ends is None else f"{number(ends[0])} to {number(ends[1])}"


def gate_row(verdict: Verdict) -> list[str]:
    """A gate, whether it held, and the figure it met."""
    word = "FAILED" if verdict.failed else "warned" if verdict.warned else "passed"
    return [f"gate {verdict.gate}", word, f"{verdict.gate.metric} is {figure(verdict.value)}"]


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and what they are, one line each, whatever a file wants the terminal to do."""
    for name, text in pairs:
        print(plain(f"{name:<12} {text}").rstrip())


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
