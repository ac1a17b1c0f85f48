"""The facts of a model that predicts a target: what it is, how it was fitted, what was proved."""

from collections.abc import Callable
from decimal import Decimal

from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.models.model import Model, original_units
from lrisk_cli.models.model_file import ClusterRecord, FitRecord
from lrisk_cli.models.validation_record import CrossValidationRecord
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.names import TargetScale
from lrisk_cli.reports.facts import Fact, Grid, number, plain, plural

# Which rows a fit did not see, by the method of conformal prediction.
_LEFT_OUT = {"split": "held out", "cv": "left out by folds"}


def model_facts(model: Model, path: str | None = None) -> list[Fact]:
    """What a model is. path: of its file, where that names it."""
    what = describe_model(model)
    summary = {"feature_map": model.feature_map.summary()}
    # A model that is linear in its columns needs no words about its features.
    features = "" if model.is_linear else model.feature_map.describe()
    return [
        Fact(
            "model",
            what if path is None else f"{path}: {what}",
            {"task": str(model.task), "risk": model.risk, "loss": model.loss, **_exposure(model)},
        ),
        *weight_facts(model.weight),
        *robust_facts(model),
        *_scale_facts(model),
        Fact("features", features),
        *_refinement_facts(model),
        Fact("loss", model.row_loss.words, detail=True),
        Fact(
            "penalty",
            f"mu/2 ||w||² with mu = {model.l2:.6g}",
            {"l2": model.l2, **summary},
            detail=True,
        ),
    ]


def weight_facts(record: WeightRecord | None) -> list[Fact]:
    """How much rows count, where they do not count alike."""
    if record is None:
        return []
    found = [] if record.column is None else [f"{record.kind} weights of {plain(record.column)}"]
    if record.class_weight is not None:
        found.append(f"classes by {plain(record.class_weight)}")
    sizes = f"sum {number(record.sum)}, as good as {number(record.effective)} equal rows"
    return [Fact("weights", f"{', '.join(found)}; {sizes}", {"weight": record.as_dict()})]


def robust_facts(model: Model) -> list[Fact]:
    """What a robust fit found and what it minimises."""
    robust = model.robust
    if robust is None:
        return []
    name = plain(model.target.name)
    if robust.scale is None:
        text = "the mean of the losses, weighted by the probability that a label is right"
    elif robust.method == "MM":
        text = f"losses bounded beyond errors of 4.685 x {number(robust.scale)}"
    else:
        text = (
            f"the losses of rows that are no outliers; scale of their errors {number(robust.scale)}"
        )
    found = [f"{100.0 * robust.fraction:.3g} % of the rows are outliers"]
    found += [
        f"a group of {100.0 * each.fraction:.3g} % lies {number(each.centre)} {name} off"
        for each in robust.groups
    ]
    document = {
        "method": robust.method,
        "scale": robust.scale,
        "fraction": robust.fraction,
        "groups": [{"centre": each.centre, "fraction": each.fraction} for each in robust.groups],
    }
    return [
        Fact("minimises", text, {"robust": document}),
        Fact("", "; ".join(found), continued=True),
    ]


def _refinement_facts(model: Model) -> list[Fact]:
    """What it learned from rows that its fit did not see: a calibration, intervals."""
    facts, calibration, conformal = list[Fact](), model.calibration, model.conformal
    if calibration is not None:
        text = (
            f"{calibration.method}, by {calibration.folds} folds of "
            f"{plural(calibration.rows, 'row')}; the proof is about the fit before it"
        )
        facts.append(Fact("calibration", text, {"calibration": calibration.as_dict()}))
    if conformal is not None:
        rows = f"{plural(conformal.rows, 'row')} {_LEFT_OUT[conformal.method]}"
        text = f"{conformal.method} conformal, by {rows}"
        facts.append(Fact("intervals", text, {"conformal": conformal.as_dict()}))
        shown = [f"{each.coverage:.3f} at {100.0 * each.level:g} %" for each in conformal.coverage]
        sizes = [number(each.size, 3) for each in conformal.coverage]
        size = "classes" if model.target.classes else "width"
        covered = f"{', '.join(shown)}; {size} {', '.join(sizes)}" if shown else ""
        facts.append(Fact("coverage", covered))
    return facts


def _scale_facts(model: Model) -> list[Fact]:
    """Where a logarithm is fitted: what the predictions are, and how the mean follows."""
    target = model.target
    if target.on is TargetScale.NONE:
        return []
    text = f"{plain(target.fitted_name)}; losses are of it, predictions in units of the target"
    values: dict[str, object] = {"target_scale": str(target.on), "smearing": model.smearing}
    if model.smearing is None:
        return [Fact("target scale", text, values)]
    mean = (
        "a prediction is about the median; prediction_mean estimates the mean, by Duan's factor "
        f"{model.smearing:.4g}"
    )
    return [Fact("target scale", text, values), Fact("smearing", mean, continued=True)]


def describe_choice(record: CrossValidationRecord) -> str:
    """How the candidates of a cross-validation were compared."""
    kinds = {
        "random": f"(seed {record.seed})",
        "stratified": f"stratified by class (seed {record.seed})",
        "groups": f"of whole groups of '{record.column}' (seed {record.seed})",
        "time": f"in the order of '{record.column}', each predicted from earlier rows",
    }
    repeated = f", repeated {record.repeats} times" if record.repeats > 1 else ""
    better = "larger" if record.larger_is_better else "smaller"
    simplest = "; the simplest within a standard error is chosen" if record.rule != "best" else ""
    return (
        f"{record.folds} folds {kinds[record.kind]}{repeated}; mean of {record.select_by} on the "
        f"fold left out, {better} is better{simplest}"
    )


def choice_grid(record: CrossValidationRecord) -> Grid:
    """The figures of all candidates, and which of them was chosen."""
    chosen = record.chosen
    rows = []
    for each in record.candidates:
        mark = "chosen" if (each.risk, each.l2) == (chosen.risk, chosen.l2) else ""
        figures = map(number, (each.l2, each.value, each.standard_error))
        rows.append([each.risk, *figures, mark])
    return Grid(["risk", "l2", record.select_by, "standard error", ""], rows)


def run_facts(model: Model) -> list[Fact]:
    """How a model was fitted, and what was proved about it."""
    fit = model.fit
    scale = " on the standardised scale" if fit.objective_scale == "standardised" else ""
    facts = [
        Fact(
            "solver",
            f"{fit.solver} ({fit.solver_reason}), {_work_done(fit)}",
            {"fit": fit.as_dict()},
        ),
        Fact("end", fit.status, continued=True),
        Fact("objective", f"{fit.objective:.9g}{scale}"),
    ]
    if fit.lower_bound is not None and fit.gap is not None:
        facts.append(Fact("lower bound", f"{fit.lower_bound:.9g}"))
        facts.append(Fact("gap", f"{fit.gap:.3g}"))
    facts.append(Fact("proof", proof_sentence(model), continued=True))
    if fit.stationarity is not None:
        words = f"gradient of length {fit.stationarity:.2g} at the fit, 0 at a stationary point"
        facts.append(Fact("stationarity", words))
    if fit.smoothing_error is not None:
        error = f"the smoothed risk differs from the risk by at most {fit.smoothing_error:.4g}"
        facts.append(Fact("smoothing", f"{fit.smoothing}, nu {fit.nu:g}; {error}"))
    for start in fit.starts or ():
        ended = f"{start.objective:.9g} after {plural(start.rounds, 'round')}"
        facts.append(Fact(f"from {start.name}", ended, detail=True))
    return [
        *facts,
        Fact("seed", str(fit.seed), detail=True),
        Fact("data fingerprint", fit.fingerprint, detail=True),
    ]


def _work_done(fit: FitRecord) -> str:
    """How much the solver did: "133 passes, 64 of them epochs of steps"."""
    passes = f"{fit.passes:g} passes"
    if fit.epochs is None:
        return passes
    return f"{passes}; {fit.epochs:g} epochs with {fit.gradient_evaluations:,} gradient evaluations"


def coefficient_grid(
    model: Model, most_outputs: int | None = None, head: Callable[[str], str] = str
) -> Grid | None:
    """Coefficients in units of the file, the largest effect first; None for a kernel model.

    most_outputs: columns shown of a model of many classes. head: fits a class into a head.
    """
    units = original_units(model)
    if units is None:
        return None
    shown = slice(most_outputs)
    heads = [model.row_loss.describe_output(name) for name in units.outputs[shown]]
    rows = [["(intercept)", *map(number, units.intercepts[shown]), ""]]
    for j in units.order:
        values = map(number, units.coefficients[j][shown])
        rows.append([units.columns[j], *values, number(units.effects[j])])
    return Grid(["column", *map(head, heads), "effect"], rows)


def describe_model(model: Model, risk: str | None = None) -> str:
    """One line on what the model is. risk: in place of its own."""
    features = describe_features(model.encoding)
    if model.encoding.exposure is not None:
        features += f" with exposure {plain(model.encoding.exposure)}"
    target, risk = model.target, risk or model.risk
    what = f"{target.summary} of {plain(target.fitted_name)}"
    if model.robust is not None:
        return f"{what} on {features}; robust fit ({model.robust.method}) of {model.loss} losses"
    return f"{what} on {features}; {risk} of {model.loss} losses"


def describe_features(encoding: Encoding) -> str:
    """How many features there are, and how many columns they become."""
    n_features, n_columns = len(encoding.features), encoding.n_columns - encoding.intercept
    columns = "" if n_columns == n_features else f" ({n_columns} columns)"
    return plural(n_features, "feature") + columns


def recorded_rows(fit: FitRecord | ClusterRecord) -> RowCounts:
    """What became of the rows that a model learned from."""
    return RowCounts(fit.rows_read, fit.rows_used, fit.drop_reasons, fit.cells_filled)


def proof_sentence(model: Model) -> str:
    """The certificate in words."""
    gap = model.fit.gap
    if gap is None and model.robust is not None:
        return "not proved: a robust objective is not convex, so a better fit may exist"
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


def _exposure(model: Model) -> dict[str, str]:
    """The column of exposures, of models that have one."""
    name = model.encoding.exposure
    return {} if name is None else {"exposure": name}
