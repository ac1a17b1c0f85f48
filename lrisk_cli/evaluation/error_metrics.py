"""The metrics that compare predictions with targets. This table needs no numpy."""

from math import sqrt
from typing import Protocol

from lrisk_cli.evaluation.metric import Better, Metric, Needs


class Classes(Protocol):
    """How predicted classes agree with the true ones; code: of one class, None for the usual one.

    The usual one is the second of two classes, and the mean over all of more.
    """

    @property
    def accuracy(self) -> float: ...
    @property
    def majority(self) -> float: ...
    @property
    def balanced_accuracy(self) -> float: ...
    @property
    def brier(self) -> float | None: ...
    @property
    def calibration_error(self) -> float | None: ...
    @property
    def roc_auc(self) -> float | None: ...
    @property
    def average_precision(self) -> float | None: ...

    def precision(self, code: int | None = None) -> float | None:
        """Of the rows predicted as a class, the fraction that are of it."""

    def recall(self, code: int | None = None) -> float | None:
        """Of the rows of a class, the fraction predicted as it."""

    def f1(self, code: int | None = None) -> float | None:
        """Harmonic mean of the two."""


class Errors(Protocol):
    """What is known of the errors of a model on some rows; classes: of a classifier."""

    @property
    def mean_loss(self) -> float: ...
    @property
    def mean_square(self) -> float: ...
    @property
    def target_variance(self) -> float: ...
    @property
    def bias(self) -> float: ...
    @property
    def relative(self) -> float | None: ...
    @property
    def null_deviance(self) -> float: ...
    @property
    def below(self) -> float: ...
    @property
    def logarithms(self) -> "Errors":
        """Those of the logarithms, where these were fitted."""

    @property
    def classes(self) -> Classes: ...

    def mean_absolute(self) -> float:
        """Mean of |target - prediction|."""

    def median_absolute(self) -> float:
        """Median of |target - prediction|."""


def _r2(errors: Errors) -> float | None:
    variance = errors.target_variance
    return 1.0 - errors.mean_square / variance if variance > 0.0 else None


def _d2(errors: Errors) -> float | None:
    null = errors.null_deviance
    return 1.0 - 2.0 * errors.mean_loss / null if null > 0.0 else None


_NUMBERS: tuple[Metric[Errors], ...] = (
    Metric(
        "root of the mean squared error, in units of the target",
        name="rmse",
        needs=Needs.NUMBERS,
        formula=lambda errors: sqrt(errors.mean_square),
    ),
    Metric(
        "mean absolute error, in units of the target",
        name="mae",
        needs=Needs.NUMBERS,
        formula=lambda errors: errors.mean_absolute(),
    ),
    Metric(
        "median absolute error, in units of the target",
        name="median_error",
        needs=Needs.NUMBERS,
        formula=lambda errors: errors.median_absolute(),
    ),
    Metric(
        "1 - mean squared error / variance of the target; not defined for a constant target",
        name="r2",
        needs=Needs.NUMBERS,
        formula=_r2,
        better=Better.LARGER,
    ),
    Metric(
        "mean of prediction - target, in units of the target",
        name="bias",
        needs=Needs.NUMBERS,
        formula=lambda errors: errors.bias,
        better=Better.NEARER_ZERO,
    ),
    Metric(
        "mean of abs(error / target), as a fraction; not defined if a target is 0",
        name="mape",
        needs=Needs.NUMBERS,
        formula=lambda errors: errors.relative,
    ),
)
_CLASSES: tuple[Metric[Errors], ...] = (
    Metric(
        "fraction of rows whose class is predicted",
        name="accuracy",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.accuracy,
        better=Better.LARGER,
    ),
    Metric(
        "accuracy of always predicting the most frequent class of these rows",
        name="majority_accuracy",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.majority,
        better=Better.NEITHER,
    ),
    Metric(
        "mean recall of the classes that occur",
        name="balanced_accuracy",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.balanced_accuracy,
        better=Better.LARGER,
    ),
    Metric(
        "of the rows predicted as a class, the fraction that are of it; of the second of two "
        "classes, the mean over more, or `precision:CLASS`",
        name="precision",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.precision(),
        better=Better.LARGER,
        of_class=lambda errors, code: errors.classes.precision(code),
    ),
    Metric(
        "of the rows of a class, the fraction predicted as it; classes as for precision, or "
        "`recall:CLASS`",
        name="recall",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.recall(),
        better=Better.LARGER,
        of_class=lambda errors, code: errors.classes.recall(code),
    ),
    Metric(
        "harmonic mean of precision and recall of a class; classes as for precision, or `f1:CLASS`",
        name="f1",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.f1(),
        better=Better.LARGER,
        of_class=lambda errors, code: errors.classes.f1(code),
    ),
    Metric(
        "mean of -log(probability of the row's class)",
        name="log_loss",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.mean_loss,
    ),
    Metric(
        "mean squared error of the probability of the second class; for more than two classes, "
        "summed over them",
        name="brier",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.brier,
    ),
    Metric(
        "expected calibration error: mean of abs(fraction - mean probability) over ten bins of "
        "the probability, of the second class, or of the predicted one of more",
        name="calibration_error",
        needs=Needs.CLASSES,
        formula=lambda errors: errors.classes.calibration_error,
    ),
    Metric(
        "area under the ROC curve: how often a row of the second class has a larger probability "
        "of it than one of the first, ties half; not defined if a class is absent",
        name="roc_auc",
        needs=Needs.SCORES,
        formula=lambda errors: errors.classes.roc_auc,
        better=Better.LARGER,
    ),
    Metric(
        "mean precision over the thresholds at which rows of the second class are found, each "
        "weighted by the recall it adds; not defined if that class is absent",
        name="average_precision",
        needs=Needs.SCORES,
        formula=lambda errors: errors.classes.average_precision,
        better=Better.LARGER,
    ),
)
_COUNTS: tuple[Metric[Errors], ...] = (
    Metric(
        "mean Poisson deviance: twice the mean of mean - y + y log(y / mean)",
        name="mean_deviance",
        needs=Needs.COUNTS,
        formula=lambda errors: 2.0 * errors.mean_loss,
    ),
    Metric(
        "1 - deviance / deviance of predicting the mean count everywhere; not defined if all "
        "counts are equal",
        name="d2",
        needs=Needs.COUNTS,
        formula=_d2,
        better=Better.LARGER,
    ),
)
_QUANTILES: tuple[Metric[Errors], ...] = (
    Metric(
        "mean pinball loss: T times the error of targets above the prediction, 1 - T times that "
        "of others",
        name="pinball",
        needs=Needs.QUANTILES,
        formula=lambda errors: errors.mean_loss,
    ),
    Metric(
        "fraction of rows whose target is at or below the prediction; near T if predictions are "
        "right",
        name="below",
        needs=Needs.QUANTILES,
        formula=lambda errors: errors.below,
        better=Better.NEITHER,
    ),
)


def _of_logarithms(metric: Metric[Errors]) -> Metric[Errors]:
    """The same of the logarithms that were fitted."""
    return Metric(
        f"`{metric.name}` of the logarithms that are fitted with a target scale",
        name=f"log_{metric.name}",
        needs=Needs.LOGARITHMS,
        formula=lambda errors: metric.formula(errors.logarithms),
        better=metric.better,
    )


_LOGARITHMS = tuple(_of_logarithms(metric) for metric in _NUMBERS if metric.name != "mape")
LOGARITHM_NAMES = tuple(metric.name for metric in _LOGARITHMS)
ERROR_METRICS = (*_NUMBERS, *_CLASSES, *_COUNTS, *_QUANTILES, *_LOGARITHMS)
# Other names under which users know them.
ALIASES = {"auc": "roc_auc", "deviance": "mean_deviance", "ece": "calibration_error"}
