"""What a quantile report is about: models from files, or fits made on the spot."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lrisk_cli.commands import fit_options, quantile_options
from lrisk_cli.errors import UsageError
from lrisk_cli.names import DEFAULT_RISK, Dates, Missing, Task, Unseen

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import FitsOnSplits, ModelFiles


def files_subject(
    models: Sequence[str],
    baseline: str | None,
    of_fits: Mapping[str, object],
    missing: Missing | None,
    unseen: Unseen | None,
) -> "ModelFiles":
    from lrisk_cli.api.quantile_report import ModelFiles
    from lrisk_cli.evaluation.loss_comparison import load_models

    for flag, value in of_fits.items():
        if value is not None:
            raise UsageError(
                f"{flag} is for fits made on the spot; with --model and --baseline leave it out"
            )
    if baseline is None:
        raise UsageError("--model needs a --baseline to be compared with; name a model file")
    if not models:
        raise UsageError("--baseline needs a --model to be compared with it; name a model file")
    return ModelFiles(load_models([baseline, *models], missing, unseen))


def fits_subject(
    given: Mapping[str, Any], missing: Missing | None, unseen: Unseen | None
) -> "FitsOnSplits":
    from lrisk_cli.api.quantile_report import FitsOnSplits
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.evaluation.loss_comparison import SplitPlan
    from lrisk_cli.evaluation.splits import hold_out
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.risk.spectrum import Spectrum, parse_risk

    if given["--target"] is None:
        raise UsageError(
            "nothing to compare; name models with --model and --baseline, or a --target to fit"
        )
    risks = [parse_risk(text) for text in given["--risk"] or [DEFAULT_RISK]]
    for risk in risks:
        if risk.flat:
            raise UsageError(f"--risk {risk}: the mean is the baseline already; name another risk")
    fits = {
        str(risk): FitOptions(risk, l2=given["--l2"])
        for risk in dict.fromkeys([Spectrum("mean"), *risks])
    }
    for options_of_fit in fits.values():
        check_fit(options_of_fit)
    holdout = given["--holdout"]
    plan = SplitPlan(
        quantile_options.HOLDOUT if holdout is None else holdout,
        given["--seed"] or 0,
        given["--repeats"] or quantile_options.REPEATS,
    )
    hold_out(2, plan.holdout, plan.seed)  # a wrong fraction is refused before any reading
    columns = DesignOptions(
        target=given["--target"],
        features=fit_options.parse_names(given["--features"]),
        exclude=fit_options.parse_names(given["--exclude"]),
        task=given["--task"] or Task.AUTO,
        dates=given["--dates"] or Dates.NUMBER,
        missing=missing or Missing.ERROR,
        unseen=unseen or Unseen.ERROR,
    )
    return FitsOnSplits(columns, fit_options.parse_dtypes(given["--dtype"] or ()), fits, plan)
