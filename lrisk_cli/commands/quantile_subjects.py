"""What a quantile report is about: models from files, or fits made on the spot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from lrisk_cli.commands import fit_options, quantile_options
from lrisk_cli.commands.comparing import (
    Outcome,
    SplitPlan,
    columns_read,
    compare_fits,
    compare_models,
    load_models,
)
from lrisk_cli.errors import UsageError
from lrisk_cli.names import DEFAULT_RISK, Dates, Missing, Task, Unseen
from lrisk_cli.progress import Report
from lrisk_cli.tables.inputs import Inputs

if TYPE_CHECKING:
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.models.fitting import FitOptions
    from lrisk_cli.models.model import Model
    from lrisk_cli.reports.quantile_results import Splits
    from lrisk_cli.tables.table import Table
    from lrisk_cli.types import Array


class Subject(Protocol):
    """What is compared: models from files, or fits made on the spot."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Files that no output may replace."""

    def open(self, data: Inputs) -> "Table":
        """The table, read as the subject needs it."""

    def compare(self, table: "Table", by: str | None, levels: "Array", report: Report) -> Outcome:
        """The quantiles of all models."""

    def splits(self, outcome: Outcome) -> "Splits | None":
        """How the rows to learn from and those to test on were chosen, if they were."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Models that were fitted before, by path, the baseline first."""

    models: "dict[str, Model]"

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.models)

    def open(self, data: Inputs) -> "Table":
        from lrisk_cli.tables.table import open_table

        return open_table(data, expected=columns_read(self.models))

    def compare(self, table: "Table", by: str | None, levels: "Array", report: Report) -> Outcome:
        return compare_models(self.models, table, by, levels, report)

    def splits(self, outcome: Outcome) -> None:
        return None


@dataclass(frozen=True, slots=True)
class FitsOnSplits:
    """The mean and other risks, to be fitted on random splits."""

    columns: "DesignOptions"
    dtypes: dict[str, str]
    fits: "dict[str, FitOptions]"
    plan: SplitPlan

    @property
    def paths(self) -> tuple[str, ...]:
        return ()

    def open(self, data: Inputs) -> "Table":
        from lrisk_cli.tables.table import open_table

        return open_table(data, dtypes=self.dtypes)

    def compare(self, table: "Table", by: str | None, levels: "Array", report: Report) -> Outcome:
        return compare_fits(table, self.columns, self.fits, self.plan, by, levels, report)

    def splits(self, outcome: Outcome) -> "Splits":
        from lrisk_cli.reports.quantile_results import Splits

        plan = self.plan
        n_train, n_test = outcome.counts.used, outcome.n_tested
        return Splits(plan.holdout, plan.seed, plan.repeats, n_train, n_test)


def files_subject(
    models: Sequence[str],
    baseline: str | None,
    of_fits: Mapping[str, object],
    missing: Missing | None,
    unseen: Unseen | None,
) -> ModelFiles:
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
) -> FitsOnSplits:
    from lrisk_cli.design.design import DesignOptions
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
