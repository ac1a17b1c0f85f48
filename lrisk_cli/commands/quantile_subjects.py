"""The models of a quantile report: from files, or fitted by the command."""

from typing import TYPE_CHECKING

from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.options.comparing import HOLDOUT, REPEATS, ComparedModels, RandomSplits
from lrisk_cli.models.options import Penalty
from lrisk_cli.names import DEFAULT_RISK

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import FitsOnSplits, ModelFiles


def files_subject(
    models: ComparedModels, columns: Columns, penalty: Penalty, splits: RandomSplits
) -> "ModelFiles":
    """The models of the files; options of fits are refused."""
    from lrisk_cli.api.quantile_report import ModelFiles
    from lrisk_cli.evaluation.loss_comparison import load_models

    of_fits = {
        "target": columns.target, "risk": models.risk, "holdout": splits.holdout,
        "repeats": splits.repeats, "seed": splits.seed, "features": columns.features,
        "exclude": columns.exclude, "dtype": columns.dtype, "dates": columns.dates,
        "task": columns.task, "l2": penalty.l2,
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
    return ModelFiles(load_models(paths, columns.missing, columns.unseen))


def fits_subject(
    models: ComparedModels, columns: Columns, penalty: Penalty, splits: RandomSplits
) -> "FitsOnSplits":
    """The mean and the named risks, to be fitted by the command."""
    from lrisk_cli.api.quantile_report import FitsOnSplits
    from lrisk_cli.evaluation.loss_comparison import SplitPlan
    from lrisk_cli.evaluation.splits import hold_out
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.risk.spectrum import Spectrum, parse_risk

    if columns.target is None:
        raise UsageError(
            f"nothing to compare; name models with {opt('model')} and {opt('baseline')}, or a "
            f"{opt('target')} to fit"
        )
    risks = [parse_risk(text) for text in models.risk or [DEFAULT_RISK]]
    for risk in risks:
        if risk.flat:
            raise InvalidOption(
                "risk", ": the mean is the baseline already; name another risk", risk
            )
    fits = {
        str(risk): FitOptions(risk, l2=penalty.l2)
        for risk in dict.fromkeys([Spectrum("mean"), *risks])
    }
    for options_of_fit in fits.values():
        check_fit(options_of_fit)
    holdout = HOLDOUT if splits.holdout is None else splits.holdout
    plan = SplitPlan(holdout, splits.seed or 0, splits.repeats or REPEATS)
    hold_out(2, plan.holdout, plan.seed)  # a wrong fraction is refused before any reading
    return FitsOnSplits(columns.parse(), columns.dtypes, fits, plan)
