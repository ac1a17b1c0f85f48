"""The models of a quantile report: from files, or to be fitted on random splits."""

from dataclasses import dataclass, replace

from lrisk_cli.api.quantile_report import FitsOnSplits, Job, ModelFiles, Subject
from lrisk_cli.design.options import Columns
from lrisk_cli.design.weights import parse_weighting
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.checks import make_checks
from lrisk_cli.evaluation.loss_comparison import SplitPlan, load_models
from lrisk_cli.evaluation.options.comparing import (
    HOLDOUT,
    REPEATS,
    ComparedModels,
    QuantileOutput,
    RandomSplits,
)
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.quantile_gates import quantile_metric
from lrisk_cli.evaluation.quantiles import parse_levels
from lrisk_cli.evaluation.row_weights import choose_common_weights
from lrisk_cli.evaluation.splits import hold_out
from lrisk_cli.losses.registry import AUTO, parse_loss
from lrisk_cli.models.fitting import FitOptions, check_fit
from lrisk_cli.models.options import Penalty, RowLoss, default_risk_notes, suit_columns
from lrisk_cli.names import DEFAULT_RISK
from lrisk_cli.parameters import split_specs
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.tables.options import Data


@dataclass(frozen=True, slots=True)
class ComparedOptions:
    """The options that say which models are compared."""

    columns: Columns
    models: ComparedModels
    loss: RowLoss
    penalty: Penalty
    splits: RandomSplits

    def subject(self, by: tuple[str, ...]) -> Subject:
        """Models from files where some are named, else fits. by: what names columns of groups."""
        of_files = bool(self.models.model or self.models.baseline)
        return _files_subject(self, by) if of_files else _fits_subject(self, by)


def make_job(
    data: Data,
    compared: ComparedOptions,
    gates: Gates,
    output: QuantileOutput,
    *,
    html: str | None,
    grouping: Grouping | None = None,
) -> Job:
    """What the options ask for; impossible ones are refused."""
    inputs = data.parse()
    by = () if grouping is None else grouping.columns
    checks = make_checks(gates, "quantile-report", quantile_metric(by))
    levels = parse_levels(output.quantiles)
    return Job(inputs, compared.subject(by), levels, checks, output.output, html)


def _files_subject(asked: ComparedOptions, by: tuple[str, ...]) -> ModelFiles:
    """The models of the files; options of fits are refused."""
    models, columns, splits = asked.models, asked.columns, asked.splits
    of_fits = {
        "target": columns.target, "risk": models.risk, "holdout": splits.holdout,
        "repeats": splits.repeats, "seed": splits.seed, "features": columns.features,
        "exclude": columns.exclude, "exposure": columns.exposure, "dtype": columns.dtype,
        "dates": columns.dates, "task": columns.task, "class_weight": columns.class_weight,
        "l2": asked.penalty.l2,
        "loss": None if asked.loss.loss == AUTO else asked.loss.loss,
    }  # fmt: skip
    named = f"{opt('model')} and {opt('baseline')}"
    for name, value in of_fits.items():
        if value not in (None, ()):
            raise InvalidOption(name, f"is for fits made on the spot; with {named} leave it out")
    if models.baseline is None:
        raise InvalidOption(
            "model", f"needs a {opt('baseline')} to be compared with; name a model file"
        )
    if not models.model:
        raise InvalidOption(
            "baseline", f"needs a {opt('model')} to be compared with it; name a model file"
        )
    paths = [models.baseline, *models.model]
    weighting = parse_weighting(columns.weight, columns.weight_kind, None)
    loaded = load_models(paths, columns.missing, columns.unseen)
    models_read, counting, notes = choose_common_weights(loaded, weighting)
    return ModelFiles(models_read, counting, by, notes)


def _fits_subject(asked: ComparedOptions, by: tuple[str, ...]) -> FitsOnSplits:
    """The mean and the named risks, to be fitted by the command."""
    columns, splits = asked.columns, asked.splits
    if columns.target is None:
        raise UsageError(
            f"nothing to compare; name models with {opt('model')} and {opt('baseline')}, or a "
            f"{opt('target')} to fit"
        )
    risks = [parse_risk(text) for text in split_specs(asked.models.risk) or [DEFAULT_RISK]]
    for risk in risks:
        if risk.flat:
            raise InvalidOption(
                "risk", ": the mean is the baseline already; name another risk", risk
            )
    loss = parse_loss(asked.loss.loss)
    fits = {
        str(risk): FitOptions(risk, loss, asked.penalty.l2)
        for risk in dict.fromkeys([Spectrum("mean"), *risks])
    }
    for options_of_fit in fits.values():
        check_fit(options_of_fit)
    holdout = HOLDOUT if splits.holdout is None else splits.holdout
    plan = SplitPlan(holdout, splits.seed or 0, splits.repeats or REPEATS)
    hold_out(2, plan.holdout, plan.seed)  # a wrong fraction is refused before any reading
    notes = default_risk_notes(asked.models.risk)
    design = replace(suit_columns(columns.parse(), loss), by=by)
    return FitsOnSplits(design, columns.dtypes, fits, plan, notes)
