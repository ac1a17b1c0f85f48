"""What a quantile report is about: models from files, or fits made on the spot."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from lrisk_cli.commands.comparing import (
    Outcome,
    SplitPlan,
    columns_read,
    compare_fits,
    compare_models,
    load_models,
)
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.options import HOLDOUT, REPEATS, ComparedModels, RandomSplits
from lrisk_cli.models.options import Penalty
from lrisk_cli.names import DEFAULT_RISK
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
    models: ComparedModels, columns: Columns, penalty: Penalty, splits: RandomSplits
) -> ModelFiles:
    """The models of the files; options of fits are refused."""
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
) -> FitsOnSplits:
    """The mean and the named risks, to be fitted on the spot."""
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
