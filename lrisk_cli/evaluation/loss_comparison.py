"""Compare the losses of models on the same rows: models from files, or fitted on random splits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lrisk_cli.design.design import DesignOptions, RowCounts, build_design
from lrisk_cli.design.groups import find_group_columns
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.paired_losses import Group, PairedLosses, average_groups
from lrisk_cli.evaluation.quantiles import Comparison, average
from lrisk_cli.evaluation.row_weights import RowCounting, suit_common_table
from lrisk_cli.evaluation.splits import hold_out
from lrisk_cli.evaluation.warning_rules import warn_of_learned_rows, warn_of_learning
from lrisk_cli.models.fitting import FitOptions, fit_design
from lrisk_cli.models.loading import load_predictor, with_policies
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.models.scoring import RowTally, score_together
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.tables.column_types.numerals import UNKNOWN, Written
from lrisk_cli.tables.table import Table
from lrisk_cli.types import Array
from lrisk_cli.warnings import Warnings


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """How often to split the table at random, and the fraction of rows to test on."""

    holdout: float
    seed: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Models compared on rows. gaps: the widest one proved, by name; tested: rows evaluated.

    weight: how much the rows count, where they do not count alike. by: the columns of the groups.
    """

    models: dict[str, Model]
    gaps: dict[str, float | None]
    comparison: Comparison
    groups: tuple[Group, ...]
    counts: RowCounts
    n_tested: int
    notes: tuple[str, ...] = ()
    warnings: Warnings = ()
    weight: WeightRecord | None = None
    by: tuple[str, ...] = ()


def load_models(
    paths: Sequence[str], missing: Missing | None, unseen: Unseen | None
) -> dict[str, Model]:
    """The models by path, the baseline first; losses of which can be compared."""
    models: dict[str, Model] = {}
    for path in paths:
        if path in models:
            raise UsageError(f"{path}: is named twice; compare different models")
        models[path] = with_policies(path, load_predictor(path), missing, unseen)
    (first, baseline), *others = models.items()
    for path, model in others:
        _check_comparable(first, baseline, path, model)
    return models


def columns_read(models: Mapping[str, Model]) -> dict[str, str]:
    """How the table is to be read for all of the models: what open_table takes as `expected`."""
    dtypes: dict[str, str] = {}
    named_by: dict[str, str] = {}
    for path, model in models.items():
        for name, dtype in model.encoding.dtypes.items():
            if dtypes.setdefault(name, dtype) != dtype:
                raise UsageError(
                    f"column '{name}' is a {dtypes[name]} to {named_by[name]} and a {dtype} to "
                    f"{path}; compare models that read the table in the same way"
                )
            named_by.setdefault(name, path)
    return dtypes


def columns_written(models: Mapping[str, Model]) -> dict[str, Written]:
    """How cells of text are to be read for all of the models, which must agree."""
    written: dict[str, Written] = {}
    for path, model in models.items():
        for name in model.encoding.dtypes:
            found = model.encoding.written.get(name, UNKNOWN)
            if written.setdefault(name, found) != found:
                raise UsageError(
                    f"column '{name}' was written in another way in the table of {path}; compare "
                    "models that read the table in the same way"
                )
    return written


def compare_models(
    models: dict[str, Model],
    counting: RowCounting,
    table: Table,
    by: Sequence[str],
    levels: Array,
    report: Report,
) -> Outcome:
    """One pass over the table; what stays in memory are the losses. counting: of its rows."""
    models, counting, counted = suit_common_table(models, counting, table)
    columns = find_group_columns(table, by)
    tally, pairs = RowTally(), PairedLosses(len(models), columns, counting.kind)
    digests = {name: RowDigest() for name in models}
    for scored in score_together(models, table, columns, tally, report, digests):
        pairs.add(scored)
    gaps = {name: model.fit.gap for name, model in models.items()}
    weight = counting.record(pairs.weights)
    comparison, groups = _compared(pairs, table, levels)
    warnings = tuple(
        warning.of(name)
        for name, model in models.items()
        for warning in warn_of_learned_rows(model.fit, digests[name].text)
    )
    return Outcome(
        models, gaps, comparison, groups, tally.counts, pairs.n_rows, (*table.notes, *counted),
        warnings, weight, columns,
    )  # fmt: skip


def compare_fits(
    table: Table,
    columns: DesignOptions,
    fits: Mapping[str, FitOptions],
    plan: SplitPlan,
    levels: Array,
    report: Report,
) -> Outcome:
    """Fit by every risk (the baseline first) on each split, and compare on the rows held out.

    columns: with those of groups and of weights.
    """
    splits = []
    for k in range(plan.repeats):
        report(Progress("splits", k, plan.repeats))
        split = replace(plan, seed=plan.seed + k)
        splits.append(_compare_on_split(table, columns, fits, split, levels))
        report(Progress("splits", k + 1, plan.repeats))
    last = splits[-1]
    test_share = last.n_tested / last.counts.used
    return replace(
        last,
        gaps={name: _widest([split.gaps[name] for split in splits]) for name in fits},
        comparison=average([split.comparison for split in splits], test_share),
        groups=average_groups([split.groups for split in splits], test_share),
    )


def _compare_on_split(
    table: Table,
    columns: DesignOptions,
    fits: Mapping[str, FitOptions],
    split: SplitPlan,
    levels: Array,
) -> Outcome:
    """One split: the table is read to learn from it, then once more to score the rows held out."""
    design, tested = build_design(
        table, columns, hold_out=lambda n_rows: hold_out(n_rows, split.holdout, split.seed)
    )
    assert tested is not None  # noqa: S101
    held_out = np.zeros(design.counts.read, bool)
    held_out[tested.row_numbers] = True
    counts, notes = replace(design.counts, used=len(design.row_numbers)), design.notes
    models = {name: fit_design(design, how).model for name, how in fits.items()}
    warnings = tuple(
        warning.of(name)
        for name, model in models.items()
        for warning in warn_of_learning(model, design)
    )
    del design, tested  # the largest arrays of all
    by = find_group_columns(table, columns.by)
    pairs = PairedLosses(len(models), by, columns.weighting.kind)
    for scored in score_together(models, table, by, RowTally(), silent):
        pairs.add(scored, held_out[scored.rows])
    gaps = {name: model.fit.gap for name, model in models.items()}
    weight = next(iter(models.values())).weight
    comparison, groups = _compared(pairs, table, levels)
    return Outcome(
        models, gaps, comparison, groups, counts, pairs.n_rows, notes, warnings, weight, by
    )


def _compared(
    pairs: PairedLosses, table: Table, levels: Array
) -> tuple[Comparison, tuple[Group, ...]]:
    if pairs.n_rows < 2:
        raise DataError(
            f"{table.label}: {pairs.n_rows} {'row is' if pairs.n_rows else 'rows are'} left to "
            "evaluate; quantiles need two at least"
        )
    return pairs.compare(levels)


def _check_comparable(first: str, baseline: Model, path: str, model: Model) -> None:
    """Refuse models whose losses are not comparable."""
    if model.target.name != baseline.target.name:
        raise UsageError(
            f"{path} predicts '{model.target.name}' and {first} '{baseline.target.name}'; compare "
            "models of the same target"
        )
    if model.task is not baseline.task:
        raise UsageError(
            f"{path} is a model for {model.task} and {first} one for {baseline.task}; their losses "
            "cannot be compared"
        )
    if model.target.on is not baseline.target.on:
        raise UsageError(
            f"{path} has losses of {model.target.fitted_name} and {first} of "
            f"{baseline.target.fitted_name}; compare models of the same target scale"
        )
    if model.loss != baseline.loss:
        raise UsageError(
            f"{path} has {model.loss} losses and {first} {baseline.loss} ones; compare models of "
            "the same loss"
        )
    if set(model.target.classes) != set(baseline.target.classes):
        raise UsageError(
            f"{path} and {first} know different classes of '{model.target.name}'; compare models "
            "fitted on the same classes"
        )


def _widest(gaps: Sequence[Any]) -> float | None:
    """The largest gap; None where one of the fits proved nothing."""
    return None if None in gaps else max(gaps)
