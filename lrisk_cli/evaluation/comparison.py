"""Risks and baselines on the same rows: fit each on one part of a table, evaluate it on the other.

With planted corruption the training rows are corrupted, the test rows are not, and two more results
are known: the fit on the clean rows alone (the oracle), and how well a method's scores find the
planted rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TypeAlias

import numpy as np

from lrisk_cli.baselines.registry import (
    Baseline,
    check_baseline,
    fit_baseline,
    usual_baselines,
)
from lrisk_cli.design.design import (
    Design,
    DesignOptions,
    RawDesign,
    RowCounts,
    copy_part,
    encode_design,
    find_task,
)
from lrisk_cli.design.weights import UNWEIGHTED, Weighting
from lrisk_cli.errors import DataError, join_words
from lrisk_cli.evaluation.corruption import Corruption, Planted, check_targets, corrupt
from lrisk_cli.evaluation.deviations import sample_deviation
from lrisk_cli.evaluation.gates import NamedGateResults
from lrisk_cli.evaluation.group_figures import ByGroup, GroupTally, mean_of_groups
from lrisk_cli.evaluation.metrics import Figures, evaluate_rows, parse_risks, reported_errors
from lrisk_cli.evaluation.registry import error_names, is_risk
from lrisk_cli.features.features import Features
from lrisk_cli.models.fitting import FitOptions, fit_design, make_features, score_design
from lrisk_cli.models.model import Model
from lrisk_cli.names import EVALUATED_RISKS, Task, Unseen
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.groups import GroupRisk
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Flags, Targets
from lrisk_cli.warnings import Warnings

ORACLE = "oracle"
Method = FitOptions | Baseline | str
# The figures of a model on the rows to test on, and those of their groups, if there are any.
Evaluated: TypeAlias = tuple[Figures, ByGroup | None]
Evaluate: TypeAlias = Callable[[Model], Evaluated]


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    """Which methods are compared, and under which conditions.

    fits: one for each risk, equal in all other options. rivals: None for all that fit the loss and
    are installed. eps: the fraction of bad rows that baselines are given. gated: risks and errors
    that gates ask for, beyond those always reported.
    """

    fits: tuple[FitOptions, ...]
    rivals: tuple[Baseline, ...] | None
    corruption: Corruption | None
    eps: float
    seed: int
    gated: tuple[str, ...] = ()
    group_risks: tuple[GroupRisk, ...] = ()

    @property
    def within(self) -> tuple[Spectrum, ...]:
        """The risks that are reported for every group."""
        own = [fit.risk for fit in self.fits if isinstance(fit.risk, GroupRisk)]
        found = (each.within for each in (*own, *self.group_risks))
        return tuple(dict.fromkeys((*self.risks, *found)))

    @property
    def risks(self) -> tuple[Spectrum, ...]:
        """The risks of the losses that are reported for every method."""
        gated = [name for name in self.gated if is_risk(name)]
        return parse_risks([*EVALUATED_RISKS, *gated])

    @property
    def errors(self) -> list[str]:
        """The errors beyond the usual ones."""
        return error_names(self.gated)


@dataclass(frozen=True, slots=True)
class Trial:
    """One method on one split. figures: of the rows it has not seen.

    found: fraction of the planted rows among as many rows of the largest scores; found_precision:
    average precision of the scores. Both None where nothing was planted. by_group: of the groups,
    where their columns are named.
    """

    figures: Figures
    seconds: float
    found: float | None = None
    found_precision: float | None = None
    by_group: ByGroup | None = None


@dataclass(frozen=True, slots=True)
class MethodResult:
    """The results of a method on all splits."""

    method: str
    kind: str
    trials: tuple[Trial, ...]

    @property
    def by_group(self) -> ByGroup | None:
        """The means over the splits of the figures of each group, where there are groups."""
        found = [trial.by_group for trial in self.trials if trial.by_group is not None]
        return mean_of_groups(found) if found else None

    def values(self, name: str) -> list[float]:
        """A figure, `seconds`, `found` or `found_precision` of each split where it is defined."""
        values = [
            getattr(trial, name)
            if name in ("seconds", "found", "found_precision")
            else trial.figures[name]
            for trial in self.trials
        ]
        return [value for value in values if value is not None]

    def mean(self, name: str) -> float | None:
        """Over the splits; None where it is defined in none."""
        values = self.values(name)
        return float(np.mean(values)) if values else None

    def deviation(self, name: str) -> float | None:
        """Between splits; None for a single one."""
        values = self.values(name)
        return float(sample_deviation(values)) if len(values) > 1 else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All methods in the order asked for, and on which rows they were tried.

    exposure: the column of exposures, if any; weighting: how much rows count. gate_results: with
    the risk that met the gate, where there are several.
    """

    task: Task
    exposure: str | None
    counts: RowCounts
    plan: ComparisonPlan
    results: tuple[MethodResult, ...]
    n_splits: int
    evaluated_on: str
    notes: tuple[str, ...]
    warnings: Warnings = ()
    gate_results: NamedGateResults = ()
    weighting: Weighting = UNWEIGHTED

    @property
    def loss(self) -> str | None:
        """The loss that was asked for; None where the task decided."""
        asked = self.plan.fits[0].loss
        return None if asked.is_auto else str(asked)

    @property
    def corruption(self) -> str | None:
        """What was planted, as it was asked for."""
        return None if self.plan.corruption is None else str(self.plan.corruption)

    @property
    def spoilt(self) -> str:
        """What was planted, in words; empty where nothing was."""
        planted = self.plan.corruption
        if planted is None:
            return ""
        return (
            f"{100.0 * planted.fraction:g} % of the rows to learn from ({planted.kind}), none of "
            f"the test rows; {ORACLE} learns from the other rows"
        )


def compare(
    raw: RawDesign,
    columns: DesignOptions,
    plan: ComparisonPlan,
    splits: Sequence[Flags],
    evaluated_on: str,
    evaluate: Evaluate | None = None,
    report: Report = silent,
) -> Comparison:
    """Fit every method on the training rows of each split, and evaluate it on the test rows.

    splits: True for the usable rows to test on, (n,) each; evaluated_on: the same in words.
    evaluate: on another table instead; then no split has test rows.
    """
    task, notes = find_task(raw, columns.task)
    rivals, omitted = _choose_rivals(plan, task, weighted=columns.weighting.asked)
    plan = replace(plan, rivals=rivals)
    columns = replace(columns, task=task, unseen=Unseen.OTHER)
    methods = _methods(plan)
    trials: dict[str, list[Trial]] = {name: [] for name in methods}
    failures: dict[str, list[int]] = {}
    for at, left_out in enumerate(splits):
        train, test = _encode(raw, columns, left_out)
        on_split = _SplitTrials(train, evaluate or _evaluate_on(test, plan), plan, plan.seed + at)
        for name, method in methods.items():
            try:
                trials[name].append(on_split.run_trial(method))
            except DataError as error:
                failures.setdefault(f"{name}: {error}", []).append(at)
            report(Progress("compare", sum(map(len, trials.values())), len(splits) * len(methods)))
    results = tuple(
        MethodResult(name, _kind(method), tuple(trials[name]))
        for name, method in methods.items()
        if trials[name]
    )
    usable = raw.usable
    failed = (f"{why} ({len(at)} of {len(splits)} splits)" for why, at in failures.items())
    notes = (*notes, *usable.notes, *omitted, *failed)
    return Comparison(
        task,
        columns.exposure,
        usable.counts,
        plan,
        results,
        len(splits),
        evaluated_on,
        notes,
        weighting=columns.weighting,
    )


def _choose_rivals(
    plan: ComparisonPlan, task: Task, *, weighted: bool
) -> tuple[tuple[Baseline, ...], tuple[str, ...]]:
    """The baselines to fit, and what to say about those that are not; wrong ones are refused.

    weighted: whether rows do not count alike, which most baselines cannot learn from.
    """
    asked = plan.fits[0].loss
    loss = asked.resolve(task).make(2)
    check_targets(plan.corruption, loss)
    if plan.rivals is None:
        rivals, others = usual_baselines(loss, weighted=weighted)
        if weighted and others:
            return rivals, (f"rivals that take no row weights: {join_words(others)}",)
        if asked.is_auto or not others:
            return rivals, ()
        return rivals, (f"rivals that do not learn {asked} losses: {join_words(others)}",)
    for rival in plan.rivals:
        check_baseline(rival, loss, weighted=weighted)
    return plan.rivals, ()


def _methods(plan: ComparisonPlan) -> dict[str, Method]:
    """By name, in the order of the table."""
    methods: dict[str, Method] = {str(fit.risk): fit for fit in plan.fits}
    methods |= {str(rival): rival for rival in plan.rivals or ()}
    return methods if plan.corruption is None else methods | {ORACLE: ORACLE}


def _kind(method: Method) -> str:
    if isinstance(method, FitOptions):
        return "risk"
    return "rival" if isinstance(method, Baseline) else ORACLE


def _encode(
    raw: RawDesign, columns: DesignOptions, left_out: Flags
) -> tuple[Design, Design | None]:
    part = copy_part(raw, np.arange(len(left_out)))
    return encode_design(part, columns, hold_out=(lambda _: left_out) if left_out.any() else None)


def _evaluate_on(test: Design | None, plan: ComparisonPlan) -> Evaluate:
    """By the rows that a split left out."""
    assert test is not None  # noqa: S101

    def evaluate(model: Model) -> Evaluated:
        scored, reported = score_design(model, test), reported_errors(model, plan.errors)
        rows = (scored.losses, test.targets, scored.predictions)
        P, weights = scored.probabilities, test.weights
        figures = evaluate_rows(reported, *rows, plan.risks, P, weights)
        if test.groups is None:
            return figures, None
        tally = GroupTally(reported, test.weighting.kind)
        tally.add(*rows, P, weights)
        return figures, tally.finish(test.groups, plan.within, intervals=True)

    return evaluate


class _SplitTrials:
    """One split: the training rows, corrupted if asked for, and the evaluation of a model."""

    def __init__(self, train: Design, evaluate: Evaluate, plan: ComparisonPlan, seed: int) -> None:
        self._evaluate, self._plan, self._seed = evaluate, plan, seed
        self._clean = train
        self._planted: Planted | None = None
        if plan.corruption is not None:
            n_classes = len(train.encoding.target.classes) or None
            self._planted = corrupt(
                train.rows, train.y, n_classes, plan.corruption, seed,
                intercept=train.encoding.intercept,
            )  # fmt: skip
            train = _with_rows(train, self._planted.rows, self._planted.y)
        self._train = train
        self._features: Features = make_features(train, plan.fits[0])
        self._like = fit_design(train, plan.fits[0], features=self._features).model

    def run_trial(self, method: Method) -> Trial:
        """Fit and evaluate one method."""
        began = perf_counter()
        model, scores = self._fit(method)
        seconds = perf_counter() - began
        figures, by_group = self._evaluate(model)
        if self._planted is None:
            return Trial(figures, seconds, by_group=by_group)
        mask = self._planted.mask
        found = top_fraction(scores, mask), average_precision(scores, mask)
        return Trial(figures, seconds, *found, by_group)

    def _fit(self, method: Method) -> tuple[Model, Array]:
        """The model, and outlier scores of its training rows."""
        if isinstance(method, FitOptions):
            model = fit_design(self._train, method, features=self._features).model
            return model, score_design(model, self._train).losses
        if isinstance(method, Baseline):
            return self._fit_baseline(method)
        assert self._planted is not None  # noqa: S101
        options = self._plan.fits[0].of_the_mean()
        model = fit_design(self._clean.take(np.flatnonzero(~self._planted.mask)), options).model
        return model, score_design(model, self._train).losses

    def _fit_baseline(self, rival: Baseline) -> tuple[Model, Array]:
        """A baseline on the same features: the first fit's model with other coefficients."""
        plan, train, like = self._plan, self._train, self._like
        loss = like.row_loss.scaled(like.target.scale)
        fit = fit_baseline(
            rival, self._features.phi, train.y, loss, like.l2, eps=plan.eps, seed=self._seed,
            exposure=train.exposure, masses=train.masses,
        )  # fmt: skip
        return replace(like, coefficients=self._features.coefficients(fit.W)), fit.scores


def top_fraction(scores: Array, mask: Flags) -> float:
    """Of the m planted rows, the fraction among the m largest scores; ties by row."""
    n_planted = int(np.count_nonzero(mask))
    top = np.argsort(-scores, kind="stable")[:n_planted]
    return float(np.mean(mask[top]))


def average_precision(scores: Array, mask: Flags) -> float:
    """Mean over the planted rows of the precision among all rows that score at least as high."""
    order = np.argsort(-scores, kind="stable")
    hits, ranked = np.cumsum(mask[order]), scores[order]
    # Rows of equal score count together.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    precision, recall = hits[last] / (last + 1.0), hits[last] / hits[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _with_rows(design: Design, rows: Rows, y: Targets) -> Design:
    """The design with corrupted rows; targets in units of the file follow y."""
    return replace(design, rows=rows, y=y, targets=design.encoding.target.in_units(y))
