"""What a model learns after its fit, from rows that the fit did not see: calibration, intervals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.api.fit_result import FitResult
from lrisk_cli.design.design import Design, DesignOptions, RawDesign, find_task
from lrisk_cli.errors import DataError, InvalidOption, opt
from lrisk_cli.models.fitting import FitOptions, score_design
from lrisk_cli.models.model import Model
from lrisk_cli.models.options import AfterFit
from lrisk_cli.models.weight_record import weight_kind
from lrisk_cli.names import ConformalName, Task
from lrisk_cli.progress import Report
from lrisk_cli.types import Index

if TYPE_CHECKING:
    from lrisk_cli.evaluation.out_of_fold import FoldScores
    from lrisk_cli.evaluation.selection import Scheme


def check_task(after: AfterFit, columns: DesignOptions, raw: RawDesign) -> None:
    """Refuse to calibrate the probabilities of a number."""
    if after.calibrate is None or find_task(raw, columns.task)[0] is Task.CLASSIFICATION:
        return
    name = "" if raw.target is None else f"'{raw.target.name}' "
    raise InvalidOption(
        "calibrate",
        f"is for probabilities of classes, and the target {name}is a number; leave it out "
        f"({opt('conformal', 'cv')} gives intervals of numbers)",
        after.calibrate,
    )


def fold_scores(
    raw: RawDesign,
    columns: DesignOptions,
    fits: Sequence[FitOptions],
    scheme: "Scheme",
    rows: Index,
    report: Report,
) -> "tuple[FoldScores, ...]":
    """For each fit, the rows scored by fits that left them out. rows: those that take part."""
    from lrisk_cli.evaluation.selection import cross_validate

    found = cross_validate(raw, columns, fits, scheme, rows, report)
    assert found.out_of_fold is not None  # noqa: S101
    return tuple(found.out_of_fold.scores(at) for at in range(len(fits)))


def refine(
    results: Sequence[FitResult],
    after: AfterFit,
    folds: "Sequence[FoldScores]",
    held_out: Design | None,
) -> None:
    """Calibrate each model, then learn its intervals. folds: of each fit, or none."""
    for at, result in enumerate(results):
        scores = folds[at] if folds else None
        model = result.model
        if after.calibrate is not None and scores is not None:
            model = _calibrate(model, after, scores)
        if after.conformal is ConformalName.CV and scores is not None:
            model = _intervals_of_folds(model, scores)
        elif after.conformal is ConformalName.SPLIT and held_out is not None:
            model = _intervals_of_rows(model, held_out)
        result.fitted = replace(result.fitted, model=model)


def _calibrate(model: Model, after: AfterFit, scores: "FoldScores") -> Model:
    from lrisk_cli.models.calibration import learn_calibration

    assert after.calibrate is not None  # noqa: S101
    n_classes, n_folds = len(model.target.classes), len(np.unique(scores.fold))
    if len(np.unique(scores.targets)) < 2:
        raise DataError(
            "the rows that the folds leave out are of one class only, so that probabilities cannot "
            f"be calibrated; leave out {opt('calibrate')}, or divide the rows differently"
        )
    return replace(
        model,
        calibration=learn_calibration(
            after.calibrate, scores.margins, scores.targets, n_classes, n_folds, scores.weights
        ),
    )


def _intervals_of_folds(model: Model, scores: "FoldScores") -> Model:
    """The folds are the parts that cover one another."""
    from lrisk_cli.models.conformal import Outcomes, learn_intervals, scale_of

    margins = scores.margins
    if model.calibration is not None:
        from lrisk_cli.models.calibration import calibrated_margins

        margins = calibrated_margins(model.calibration, margins)
    predictions = model.row_loss.predict(margins, scores.exposure)
    probabilities = model.row_loss.probabilities(margins)
    predictions, restore = np.asarray(predictions, np.float64), model.target.restore
    rows = Outcomes(predictions, scores.targets, probabilities, restore, scores.weights)
    record = learn_intervals("cv", scale_of(model), rows, scores.fold, weight_kind(model.weight))
    return replace(model, conformal=record)


def _intervals_of_rows(model: Model, held_out: Design) -> Model:
    """Every other row is in the same half."""
    from lrisk_cli.models.conformal import Outcomes, learn_intervals, scale_of

    scored = score_design(model, held_out)
    predictions = np.asarray(scored.predictions, np.float64)
    restore = model.target.restore
    rows = Outcomes(predictions, held_out.targets, scored.probabilities, restore, held_out.weights)
    half = np.arange(len(predictions)) % 2
    record = learn_intervals("split", scale_of(model), rows, half, weight_kind(model.weight))
    return replace(model, conformal=record)
