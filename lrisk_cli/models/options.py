"""Options: what a fit minimises and writes, and how a model scores."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.losses.registry import AUTO, LossChoice, describe_losses
from lrisk_cli.names import (
    DEFAULT_RISK,
    FORMER_RISK,
    RISKS,
    CalibrationName,
    ConformalName,
    Scaling,
    SmoothingName,
    Standardize,
    TargetScale,
    Task,
)
from lrisk_cli.options import argument, option
from lrisk_cli.parameters import split_specs

# What the option means wherever it is one.
LOSS = f"Loss of a row; auto follows the task. {describe_losses()}."

if TYPE_CHECKING:
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.losses.base import Loss
    from lrisk_cli.risk.groups import Risk


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A fitted model."""

    panel: ClassVar[str] = "Model"

    model: str = argument(metavar="MODEL", help="Model file written by lrisk fit.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The risks, losses and penalties to fit; of several, `cv` chooses."""

    panel: ClassVar[str] = "Model"

    risk: tuple[str, ...] = option(
        (),
        metavar="RISK",
        help="What to minimise: mean, superquantile:Q, extremile:R or esrm:RHO, which protect the "
        "tail; subquantile:P or lower-extremile:R, which ignore it. "
        f"Superquantile: {RISKS['superquantile']}. Subquantile: {RISKS['subquantile']}. "
        "With `by`, worst-group[:RISK], the risk of the worst group, or group-extremile:R, the "
        "extremile of the group means. "
        "Repeatable: one model for each, every fit starting from the last one's result; with `cv` "
        "only the best.",
        shown=DEFAULT_RISK,
    )
    robust: bool = option(
        False,
        help="Fit the rows that are no outliers, in place of a risk: an MM fit for numbers, "
        "weighted rows where labels may be swapped.",
    )
    loss: str = option(AUTO, metavar="LOSS", help=LOSS)
    l2: tuple[str, ...] = option(
        (),
        metavar="MU[,MU...]",
        help="Penalty mu > 0 on mu/2 ||w||^2; with `cv` a list to choose from.",
        shown="1/rows",
    )
    smoothing: SmoothingName = option(
        SmoothingName.NONE,
        help="Smooth the sorting of the losses: l2 or entropy for rising risks, softplus for the "
        "subquantile.",
        expert=True,
    )
    nu: float | None = option(
        metavar="NUMBER",
        help="Amount of smoothing; 0 would be none.",
        shown="1e-3, for l2 1e-3 rows",
        expert=True,
    )

    @property
    def risks(self) -> "tuple[Risk, ...]":
        """The risks to minimise; the mean stands for a robust fit, which has none."""
        if self.robust:
            self._refuse_robust()
            return parse_risks(("mean",))
        return parse_risks(self.risk)

    def _refuse_robust(self) -> None:
        """Refuse what a robust fit does not use."""
        if self.risk:
            raise InvalidOption(
                "robust", f"minimises no risk; leave out {opt('risk', self.risk[0])} or it"
            )
        if self.smoothing is not SmoothingName.NONE:
            raise InvalidOption(
                "smoothing",
                f"is for risks, and {opt('robust')} minimises none; leave it out",
                self.smoothing,
            )

    @property
    def penalties(self) -> tuple[float | None, ...]:
        """The penalties to try; None for 1/rows."""
        return parse_penalties(self.l2)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLoss:
    """The loss of all fits."""

    panel: ClassVar[str] = "Model"

    loss: str = option(AUTO, metavar="LOSS", help=LOSS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalty:
    """The penalty of all fits."""

    panel: ClassVar[str] = "Model"

    l2: float | None = option(metavar="MU", help="Penalty mu > 0 on mu/2 ||w||^2.", shown="1/rows")


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterFit:
    """What is learned after the fit from rows that it did not see."""

    panel: ClassVar[str] = "Validation"

    calibrate: CalibrationName | None = option(
        metavar="METHOD",
        help="Calibrate the probabilities of classes by those of the rows that the folds of `cv`, "
        "else 5 folds, leave out: platt (slope and intercepts of the log-odds) or isotonic.",
    )
    conformal: ConformalName | None = option(
        metavar="METHOD",
        help="Keep conformity scores in the model, from which predict and evaluate make intervals: "
        "of the rows of `holdout` (split), or of those that the folds of `cv`, else 5 folds, leave "
        "out (cv).",
    )

    @property
    def needs_folds(self) -> bool:
        """Whether rows are scored by fits that leave them out."""
        return self.calibrate is not None or self.conformal is ConformalName.CV


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionInterval:
    """The level of the intervals of predictions."""

    panel: ClassVar[str] = "Output"

    interval: float | None = option(
        metavar="LEVEL",
        help="Add intervals (of classes: sets) that cover the target with this probability, as 90% "
        "or 0.9; needs a model with conformity scores.",
        fraction=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitOutput:
    """The files of a fit."""

    panel: ClassVar[str] = "Output"

    output: str | None = option(
        short="-o",
        metavar="FILE",
        writes=True,
        help="Write the model (JSON); - is standard output. For several risks a folder, or a name "
        "with {risk} in it; the same holds for `losses` and `trace`.",
    )
    losses: str | None = option(
        metavar="FILE",
        writes=True,
        help="Write every training row's prediction, loss, weight and rank (.csv, .tsv, .parquet).",
    )
    trace: str | None = option(
        metavar="FILE",
        writes=True,
        help="Write objective, bound and gap per epoch; with `holdout` also the mean loss of the "
        "rows held out.",
        expert=True,
    )
    trace_rows: str | None = option(
        metavar="COLUMN",
        help="Count in the trace how many rows have weight among those marked by this column: 1, "
        "true or yes (planted errors, say).",
        expert=True,
    )
    reference: bool = option(
        True,
        help="Leave out the figures of the ordinary fit, which minimises the mean of the losses, "
        "on the same rows.",
    )
    theory: bool = option(
        False,
        help="Report what the papers' theorems say about the fit, with their assumptions: step "
        "sizes and epochs of lsvrg, the bias of batches, the error of the risk, breakdown.",
        expert=True,
    )
    dry_run: bool = option(
        False,
        help="Read the table, report the design and the memory it takes; fit and write nothing.",
        expert=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionOutput:
    """Where predictions go."""

    panel: ClassVar[str] = "Output"

    output: str | None = option(
        short="-o",
        metavar="FILE",
        writes=True,
        help="Write the predictions here (.csv, .tsv, .parquet); without it, CSV is printed.",
    )


def suit_columns(columns: "DesignOptions", asked: LossChoice) -> "DesignOptions":
    """The columns for a loss: the task that it implies, and whether the target may be scaled."""
    loss = None if asked.is_auto else asked.make(2)
    if columns.exposure is not None and (loss is None or not loss.takes_exposure):
        wanted = opt("loss", "poisson")
        raise InvalidOption("exposure", f"is not used by {opt('loss', str(asked))}; pass {wanted}")
    if columns.on_scale is not TargetScale.NONE:
        _check_scale(columns.on_scale, loss, columns.task)
    task = columns.task if columns.task is not Task.AUTO else asked.implied_task or Task.AUTO
    if columns.on_scale is not TargetScale.NONE and task is Task.AUTO:
        task = Task.REGRESSION
    return replace(columns, task=task, scale_target=loss is None or loss.scales_targets)


def _check_scale(scale: TargetScale, loss: "Loss | None", task: Task) -> None:
    """Refuse the logarithm of a target for losses and tasks that do not take it."""
    if loss is not None and loss.log_link:
        why = f"is not used by {loss.name} losses, which have a log link; leave it out"
        raise InvalidOption("target_scale", why, scale)
    if Task.CLASSIFICATION in (task, None if loss is None else loss.task):
        raise InvalidOption("target_scale", "is for numbers, not for classes; leave it out", scale)


def parse_risks(texts: Sequence[str]) -> "tuple[Risk, ...]":
    """The risks to minimise, the usual one where none is named; each once."""
    from lrisk_cli.risk.groups import parse_fit_risk

    risks = tuple(parse_fit_risk(text) for text in split_specs(texts) or (DEFAULT_RISK,))
    _refuse_twice("risk", [str(risk) for risk in risks])
    return risks


def default_risk_notes(texts: Sequence[str]) -> tuple[str, ...]:
    """What to say where no risk is named: the default is not that of versions before 0.2.0."""
    if texts:
        return ()
    return (
        f"risk: {DEFAULT_RISK}, the default since 0.2.0; pass {opt('risk', FORMER_RISK)} for "
        "the former one",
    )


def loss_notes(loss: LossChoice, risks: "Sequence[Risk]", scale: TargetScale) -> tuple[str, ...]:
    """What to say where risk or scale take a loss away from what it is known for."""
    away = [risk for risk in risks if not risk.flat]
    notes = []
    if loss.in_units and scale is not TargetScale.NONE:
        notes.append(
            f"{loss}: its parameter is an error of the logarithm, since "
            f"{opt('target_scale', scale)} fits that"
        )
    if not loss.of_mean or not away:
        return tuple(notes)
    return (
        *notes,
        f"{away[0]} weighs rows by their losses, so predictions are not {loss.of_mean} (compare "
        f"the figure below with {loss.parameter:g}); {opt('risk', 'mean')} gives these",
    )


def parse_penalties(texts: Sequence[str]) -> tuple[float | None, ...]:
    """Numbers separated by commas, each once; one None, which leaves it to us, for nothing."""
    if not texts:
        return (None,)
    parts = [part.strip() for text in texts for part in text.split(",")]
    try:
        penalties = [float(part) for part in parts]
    except ValueError:
        raise InvalidOption(
            "l2",
            f"takes a number greater than 0, or several separated by commas; got "
            f"{','.join(texts)!r}",
        ) from None
    _refuse_twice("l2", [f"{penalty:g}" for penalty in penalties])
    return tuple(penalties)


def _refuse_twice(option: str, names: Sequence[str]) -> None:
    for position, name in enumerate(names):
        if name in names[:position]:
            raise InvalidOption(option, "is named twice; name it once", name)


def choose_scaling(
    asked: Scaling | None,
    standardize: Standardize,
    risks: "Sequence[Risk]",
    *,
    robust: bool = False,
) -> tuple[Scaling, tuple[str, ...]]:
    """How numbers are standardised, and what to say about it where risks disagree."""
    if asked is not None and standardize is Standardize.NONE:
        none = opt("standardize", Standardize.NONE)
        raise InvalidOption("scaling", f"has no meaning with {none}; leave one of them out")
    falling = [risk for risk in risks if not risk.rising]
    if robust and asked is None and standardize is not Standardize.NONE:
        return Scaling.MAD, ()
    if asked is not None or not falling or standardize is Standardize.NONE:
        return asked or Scaling.DEVIATION, ()
    if len(falling) == len(risks):
        return Scaling.MAD, ()
    return Scaling.DEVIATION, (
        f"numbers are standardised by mean and deviation, which outliers move; alone, {falling[0]} "
        f"would use median and MAD ({opt('scaling', Scaling.MAD)})",
    )
