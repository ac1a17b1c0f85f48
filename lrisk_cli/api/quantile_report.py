"""Compare loss quantiles of models: from files, or fitted on random splits of the table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.design import DesignOptions, RowCounts
from lrisk_cli.errors import as_text
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.gates import NamedGateResults
from lrisk_cli.evaluation.group_figures import ByGroup, spell_name
from lrisk_cli.evaluation.loss_comparison import (
    Outcome,
    SplitPlan,
    columns_read,
    columns_written,
    compare_fits,
    compare_models,
)
from lrisk_cli.evaluation.paired_losses import Group
from lrisk_cli.evaluation.quantile_gates import (
    check_outcome,
    group_metrics,
    needed_levels,
    not_compared,
)
from lrisk_cli.evaluation.quantiles import Compared, Comparison
from lrisk_cli.evaluation.row_weights import RowCounting
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.model import Model
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.progress import Report
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.table import Table, check_apart, check_output, open_table
from lrisk_cli.types import Array
from lrisk_cli.warnings import Warnings


@dataclass(frozen=True, slots=True)
class NamedModel:
    """What a report calls a model, and the widest gap proved when it was fitted, if any."""

    name: str
    model: Model
    gap: float | None


@dataclass(frozen=True, slots=True)
class Splits:
    """Random splits on which the models were fitted and tested; the figures are averages."""

    holdout: float
    seed: int
    repeats: int
    n_train: int
    n_test: int


@dataclass(frozen=True, slots=True)
class QuantileResults:
    """All that a quantile report has to say. models: the baseline first.

    quantiles: the levels asked for, which are among those of the comparison; gate_results: with the
    model that met the gate, or None where a gate is about the rows. by: the columns of the groups;
    by_model: the figures of the groups for each model but the baseline. skipped: sentences on
    figures that an earlier run lacks; paths: of the table. weight: how much the rows count, where
    they do not count alike.
    """

    models: tuple[NamedModel, ...]
    quantiles: tuple[float, ...]
    comparison: Comparison
    groups: tuple[Group, ...]
    by: tuple[str, ...]
    by_model: dict[str, ByGroup]
    counts: RowCounts
    splits: Splits | None
    gate_results: NamedGateResults
    notes: tuple[str, ...]
    skipped: Sequence[str]
    paths: Sequence[str]
    warnings: Warnings = ()
    weight: WeightRecord | None = None

    @property
    def baseline(self) -> NamedModel:
        """The model that the others are compared with."""
        return self.models[0]

    @property
    def compared(self) -> tuple[tuple[NamedModel, Compared], ...]:
        """The other models and what came of them."""
        return tuple(zip(self.models[1:], self.comparison.models, strict=True))

    @property
    def level_indices(self) -> NDArray[np.intp]:
        """Indices of the requested levels among those of the comparison."""
        return self.comparison.at(np.array(self.quantiles))


class Subject(Protocol):
    """What is compared: models from files, or models fitted by this command."""

    @property
    def paths(self) -> tuple[str, ...]:
        """Files that no output may replace."""

    def open(self, data: Inputs) -> Table:
        """The table, read as the subject needs it."""

    def compare(self, table: Table, levels: Array, report: Report) -> Outcome:
        """The quantiles of all models, also by group where the subject has columns of groups."""

    def splits(self, outcome: Outcome) -> Splits | None:
        """How the rows to learn from and those to test on were chosen, if they were."""


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Models that were fitted before, by path, the baseline first. counting: how much rows count;
    by: columns of groups; notes: on these.
    """

    models: dict[str, Model]
    counting: RowCounting
    by: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(self.models)

    def open(self, data: Inputs) -> Table:
        return open_table(
            data, expected=columns_read(self.models), written=columns_written(self.models)
        )

    def compare(self, table: Table, levels: Array, report: Report) -> Outcome:
        found = compare_models(self.models, self.counting, table, self.by, levels, report)
        return replace(found, notes=(*found.notes, *self.notes))

    def splits(self, outcome: Outcome) -> None:
        return None


@dataclass(frozen=True, slots=True)
class FitsOnSplits:
    """The mean and other risks, to be fitted on random splits. notes: on their options."""

    columns: DesignOptions
    dtypes: dict[str, str]
    fits: dict[str, FitOptions]
    plan: SplitPlan
    notes: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        return ()

    def open(self, data: Inputs) -> Table:
        return open_table(data, dtypes=self.dtypes)

    def compare(self, table: Table, levels: Array, report: Report) -> Outcome:
        found = compare_fits(table, self.columns, self.fits, self.plan, levels, report)
        return replace(found, notes=(*found.notes, *self.notes))

    def splits(self, outcome: Outcome) -> Splits:
        plan = self.plan
        n_train, n_test = outcome.counts.used, outcome.n_tested
        return Splits(plan.holdout, plan.seed, plan.repeats, n_train, n_test)


@dataclass(frozen=True, slots=True)
class Job:
    """What to compare on which rows, at which levels, and where the results go."""

    data: Inputs
    subject: Subject
    quantiles: tuple[float, ...]
    checks: Checks
    output: str | None
    html: str | None

    @property
    def outputs(self) -> list[str | None]:
        """All files to be written."""
        return [self.output, self.html, self.checks.junit]


def run(job: Job, report: Report, *, force: bool) -> QuantileResults:
    """Read, compare, evaluate."""
    for path in job.outputs:
        if path is not None:
            is_table = path == job.output and not is_json(path)
            check_output(path, force=force, table=is_table)
    subject, checks = job.subject, job.checks
    table = subject.open(job.data)
    check_apart(job.outputs, [*subject.paths, *checks.inputs, *table.paths])
    levels = needed_levels(job.quantiles, checks)
    outcome = subject.compare(table, levels, report)
    by_model = group_metrics(outcome, job.quantiles, checks)
    warnings = (*warn_of_same_files(table.paths), *outcome.warnings)
    return QuantileResults(
        models=tuple(
            NamedModel(name, model, outcome.gaps[name]) for name, model in outcome.models.items()
        ),
        quantiles=job.quantiles,
        comparison=outcome.comparison,
        groups=outcome.groups,
        by=outcome.by,
        by_model=by_model,
        counts=outcome.counts,
        splits=subject.splits(outcome),
        gate_results=check_outcome(outcome, job.quantiles, checks, warnings, by_model),
        notes=outcome.notes,
        skipped=not_compared(outcome, job.quantiles, checks),
        paths=table.paths,
        warnings=warnings,
        weight=outcome.weight,
    )


def is_json(path: str) -> bool:
    """Whether a file is to hold the document, not a table."""
    return path.lower().endswith(".json")


def quantile_columns(results: QuantileResults) -> dict[str, Any]:
    """One row for each model and quantile, of all rows, called (all), and then of each group."""
    parts = [("(all)", results.comparison)]
    parts += [(spell_name(group.name), group.comparison) for group in results.groups]
    lines = [
        {"group": name, "model": as_text(model.name), "quantile": results.quantiles[i], **figures}
        for name, comparison in parts
        for model, compared in zip(results.models[1:], comparison.models, strict=True)
        for i, figures in enumerate(_lines(results.level_indices, comparison, compared))
    ]
    names = [name for name in lines[0] if name != "group" or results.by]
    return {name: np.array([line[name] for line in lines]) for name in names}


def _lines(
    at: NDArray[np.intp], comparison: Comparison, compared: Compared
) -> list[dict[str, float]]:
    difference = compared.difference
    columns = {
        "baseline_loss": comparison.losses.values,
        "loss": compared.losses.values,
        "loss_low": compared.losses.low,
        "loss_high": compared.losses.high,
        "difference": difference.values,
        "difference_low": difference.low,
        "difference_high": difference.high,
        "normalised_difference": comparison.normalised(difference.values),
    }
    return [{name: float(values[i]) for name, values in columns.items()} for i in at]
