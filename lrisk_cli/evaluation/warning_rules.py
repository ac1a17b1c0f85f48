"""Figures of some rows -> warnings about them, under the conditions of lrisk_cli/warnings.py."""

from collections.abc import Mapping, Sequence

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.errors import join_words, opt, quote
from lrisk_cli.evaluation.constant_model import gain_over_constant, sampled
from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.evaluation.prediction_spread import PredictionSpread
from lrisk_cli.models.model import Model
from lrisk_cli.models.model_file import FitRecord
from lrisk_cli.models.row_digest import add_digests
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.tables.same_files import find_same
from lrisk_cli.warnings import CodedWarning, Warnings

# Fewer rows than this for each column, and the errors on the same rows say little.
ROWS_PER_COLUMN = 5
# A fit that lowers its risk by less than this fraction has learned almost nothing.
SMALL_GAIN = 1e-3


def warn_of_figures(figures: Mapping[str, Figures]) -> Warnings:
    """What is odd about the figures of a model. figures: by the rows they are of."""
    return (*_r2_below_zero(figures),)


def warn_of_majority(figures: Mapping[str, Figures], majorities: Mapping[str, float]) -> Warnings:
    """Classes predicted no better than by naming the most frequent one. majorities: by rows."""
    found = {
        name: (accuracy, majorities[name])
        for name, of_rows in figures.items()
        if (accuracy := of_rows.get("accuracy")) is not None
        and name in majorities
        and accuracy <= majorities[name]
    }
    if not found:
        return ()
    where = join_words(
        [f"{accuracy:.4g}{_on(name)} ({most:.4g})" for name, (accuracy, most) in found.items()]
    )
    text = (
        f"accuracy is {where}, not above the fraction of the most frequent class in brackets; if "
        "the other classes are rare, compare log_loss instead"
    )
    return (CodedWarning("below_majority", text),)


def warn_of_calibration(model: Model, means: Mapping[str, MeanProbabilities]) -> Warnings:
    """Classes whose mean probability is not their fraction. means: by the rows they are of."""
    found = {name: off[0] for name, each in means.items() if (off := each.off())}
    if not found:
        return ()
    where = join_words(
        [
            f"{worst.mean:.3g} on average{_on(name)} for class "
            f"{quote(model.target.classes[worst.code])}, which is {worst.fraction:.3g} of them"
            for name, worst in found.items()
        ]
    )
    remedy = f"fit with {opt('calibrate', 'platt')}, or compare with {opt('risk', 'mean')}"
    if model.calibration is not None:
        remedy = "the model is calibrated, but by other rows or by out-of-fold scores"
    text = f"probabilities are off: {where}; {remedy}"
    return (CodedWarning("miscalibrated", text),)


def warn_of_constant(*, constant: bool) -> Warnings:
    """All predictions nearly equal."""
    if not constant:
        return ()
    text = "all predictions are nearly equal: the columns tell the model nothing about the target"
    return (CodedWarning("constant_predictions", text),)


def warn_of_no_gain(model: Model, design: Design) -> Warnings:
    """A fit that is hardly better than its intercept alone; not known of risks of groups."""
    if model.group_columns:
        return ()
    few = sampled(design.rows.shape[0])
    exposure = None if design.exposure is None else design.exposure[few]
    fitted = model.uncalibrated
    Z = fitted.margins(design.rows.take(few))
    masses = None if design.masses is None else design.masses[few]
    gain = gain_over_constant(fitted, Z, design.targets[few], exposure, masses)
    if gain is None or gain > SMALL_GAIN:
        return ()
    # A gap of 1 or more leaves open whether it is the fault of the risk or of the run.
    patience = "allow more passes, or " if (model.fit.gap or 0.0) >= 1.0 else ""
    text = (
        f"{model.risk} is only {max(0.0, 100.0 * gain):.2g} % below that of a constant prediction: "
        f"{patience}{_remedy(model.spectrum)}"
    )
    return (CodedWarning("no_gain", text),)


def warn_of_learning(model: Model, design: Design) -> Warnings:
    """A fit that has learned nearly nothing from its rows."""
    return (
        *warn_of_constant(constant=predicts_constant(model, design)),
        *warn_of_no_gain(model, design),
    )


def milder_risk(spectrum: Spectrum) -> str | None:
    """The harshest of extremile:2 and the mean that is milder: less weight on the worst tenth."""
    of_tail = _tail_weight(spectrum)
    milder = (text for text in ("extremile:2", "mean") if _tail_weight(parse_risk(text)) < of_tail)
    return next(milder, None)


def _tail_weight(spectrum: Spectrum) -> float:
    return float(np.sum(spectrum.weights(1000)[900:]))


def _remedy(spectrum: Spectrum) -> str:
    milder = milder_risk(spectrum)
    if milder is None:
        return f"add columns that are related to the target, or lower {opt('l2')}"
    return f"choose a milder risk such as {milder}, or add columns that are related to the target"


def warn_of_learned_rows(fit: FitRecord, digest: str) -> Warnings:
    """Rows that the model learned from. digest: of the rows evaluated."""
    known, held_out = fit.training_rows, fit.held_out_rows
    if not known or digest not in (known, held_out and add_digests(known, held_out)):
        return ()
    which = "the rows that the model learned from" + (
        "" if digest == known else ", and those held out"
    )
    text = f"these are {which}: errors on new rows are usually larger; evaluate on other rows"
    return (CodedWarning("training_rows", text),)


def warn_of_table(
    model: Model,
    figures: Figures,
    spread: PredictionSpread,
    digest: str,
    paths: Sequence[str],
    means: MeanProbabilities | None = None,
) -> Warnings:
    """All that may be odd about a model on a table. digest: of the rows; paths: of its files.

    means: of the probabilities of classes.
    """
    of_rows = {"": figures}
    majorities = {} if spread.majority is None else {"": spread.majority}
    return (
        *warn_of_same_files(paths),
        *warn_of_learned_rows(model.fit, digest),
        *warn_of_constant(constant=spread.nearly_equal),
        *warn_of_figures(of_rows),
        *warn_of_majority(of_rows, majorities),
        *(() if means is None else warn_of_calibration(model, {"": means})),
    )


def warn_of_same_files(paths: Sequence[str]) -> Warnings:
    """A file that is named twice."""
    return tuple(
        CodedWarning("same_file", f"{other} is read twice; name it once")
        if path == other
        else CodedWarning("same_file", f"{path} has the same rows as {other}; name one of them")
        for other, path in find_same(paths)
    )


def make_spread(model: Model) -> PredictionSpread:
    """What collects predictions of the model."""
    return PredictionSpread(relative=bool(model.target.classes) or model.row_loss.takes_exposure)


def add_scored(spread: PredictionSpread, scored: ScoredBatch) -> None:
    """Take in a batch."""
    values, exposure = scored.probabilities, scored.encoded.exposure
    if values is None:
        values = np.asarray(scored.predictions, dtype=np.float64)
        values = values if exposure is None else values / exposure
    spread.add(values, scored.known_targets, scored.encoded.weights)


def predicts_constant(model: Model, design: Design) -> bool:
    """Whether the predictions of a design's rows are nearly equal; looks at a sample first."""
    for part in (sampled(design.rows.shape[0]), slice(0, design.rows.shape[0])):
        spread, Z = make_spread(model), model.margins(design.rows.take(part))
        values = model.row_loss.probabilities(Z)
        if values is None:
            values = np.asarray(model.predict(Z), dtype=np.float64)
        weights = None if design.weights is None else design.weights[part]
        spread.add(values, design.targets[part], weights)
        if not spread.nearly_equal:
            return False
    return True


def warn_of_few_rows(total: float, n_columns: int, *, tested: bool) -> Warnings:
    """Rows that are few for the columns, and none to test on. tested: whether there are some.

    total: how many rows there are, or the sum of their weights.
    """
    if tested or ROWS_PER_COLUMN * n_columns < total:
        return ()
    text = (
        f"{n_columns} columns are fitted to {total:.6g} rows, and no others show how well they "
        f"predict; pass {opt('holdout', '0.2')} or {opt('cv', 5)}, or fewer {opt('features')}"
    )
    return (CodedWarning("few_rows", text),)


def _r2_below_zero(figures: Mapping[str, Figures]) -> Warnings:
    found = {
        name: value
        for name, of_rows in figures.items()
        if (value := of_rows.get("r2")) is not None and value < 0.0
    }
    if not found:
        return ()
    where = join_words([f"{value:.3g}{_on(name)}" for name, value in found.items()])
    text = (
        f"r2 is {where}: the mean of the target has a smaller squared error; compare with "
        f"{opt('risk', 'mean')} and look for rows unlike the others"
    )
    return (CodedWarning("r2_below_zero", text),)


def _on(name: str) -> str:
    """Which rows are meant, where there are several sets of them."""
    return f" on the {name.replace('held out', 'held-out')} rows" if name else ""
