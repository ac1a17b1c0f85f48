"""Risks and rivals on the same rows: fit each on one part of a table, judge it on the other.

With planted corruption the part to learn from is spoilt, the part to judge by is not, and two more
things are known: the fit on the clean rows alone (the oracle), and how well a method's scores find
the planted rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from lrisk_cli.baselines.registry import Rival, check_rival, fit_rival
from lrisk_cli.design.design import (
    Design,
    DesignOptions,
    RawDesign,
    RowCounts,
    copy_part,
    encode_design,
    find_task,
)
from lrisk_cli.errors import DataError
from lrisk_cli.evaluation.corruption import Corruption, Planted, corrupt
from lrisk_cli.evaluation.metrics import Figures, judge_rows
from lrisk_cli.features.features import Features
from lrisk_cli.models.fitting import FitOptions, fit_design, make_features, score_design
from lrisk_cli.models.model import Model
from lrisk_cli.names import EVALUATED_RISKS, Task, Unseen
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Flags, Targets

ORACLE = "oracle"
Method = FitOptions | Rival | str
Judge = Callable[[Model], Figures]


@dataclass(frozen=True, slots=True)
class Contest:
    """Who takes part, and under which conditions.

    fits: one for each risk, alike but for it. eps: the share of bad rows that rivals are told.
    """

    fits: tuple[FitOptions, ...]
    rivals: tuple[Rival, ...]
    corruption: Corruption | None
    eps: float
    seed: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One method on one split. figures: of the rows it has not seen.

    found: share of the planted rows among as many rows of the largest scores; precision: average
    precision of the scores. Both None where nothing was planted.
    """

    figures: Figures
    seconds: float
    found: float | None = None
    precision: float | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A method over all splits."""

    method: str
    kind: str
    trials: tuple[Trial, ...]

    def values(self, name: str) -> list[float]:
        """A figure, `seconds`, `found` or `precision` of each split where it is defined."""
        values = [
            getattr(trial, name)
            if name in ("seconds", "found", "precision")
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
        return float(np.std(values, ddof=1)) if len(values) > 1 else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All methods in the order asked for, and on which rows they were tried."""

    task: Task
    counts: RowCounts
    contest: Contest
    standings: tuple[Standing, ...]
    n_splits: int
    judged_on: str
    notes: tuple[str, ...]

    @property
    def corruption(self) -> str | None:
        """What was planted, as it was asked for."""
        return None if self.contest.corruption is None else str(self.contest.corruption)

    @property
    def spoilt(self) -> str:
        """What was planted, in words; nothing where nothing was."""
        planted = self.contest.corruption
        if planted is None:
            return ""
        return (
            f"{100.0 * planted.fraction:g} % of the rows to learn from ({planted.kind}), none of "
            f"those judged by; {ORACLE} learns from the other rows"
        )


def compare(
    raw: RawDesign,
    columns: DesignOptions,
    contest: Contest,
    splits: Sequence[Flags],
    judged_on: str,
    judge: Judge | None = None,
    report: Report = silent,
) -> Comparison:
    """Fit every method on the rows that a split leaves, and judge it on those that it takes out.

    splits: True for the usable rows to judge by, (n,) each; judged_on: the same in words. judge:
    rows of another table instead, so that no split takes any out.
    """
    task, notes = find_task(raw, columns.task)
    for rival in contest.rivals:
        check_rival(rival, task)
    columns = replace(columns, task=task, unseen=Unseen.OTHER)
    methods = _methods(contest)
    trials: dict[str, list[Trial]] = {name: [] for name in methods}
    failures: dict[str, list[int]] = {}
    for at, left_out in enumerate(splits):
        train, test = _encode(raw, columns, left_out)
        field = _Field(train, judge or _judge_by(test), contest, contest.seed + at)
        for name, method in methods.items():
            try:
                trials[name].append(field.try_out(method))
            except DataError as error:
                failures.setdefault(f"{name}: {error}", []).append(at)
            report(Progress("compare", sum(map(len, trials.values())), len(splits) * len(methods)))
    standings = tuple(
        Standing(name, _kind(method), tuple(trials[name]))
        for name, method in methods.items()
        if trials[name]
    )
    usable = raw.usable
    failed = (f"{why} ({len(at)} of {len(splits)} splits)" for why, at in failures.items())
    notes = (*notes, *usable.notes, *failed)
    return Comparison(task, usable.counts, contest, standings, len(splits), judged_on, notes)


def _methods(contest: Contest) -> dict[str, Method]:
    """By name, in the order of the table."""
    methods: dict[str, Method] = {str(fit.risk): fit for fit in contest.fits}
    methods |= {str(rival): rival for rival in contest.rivals}
    return methods if contest.corruption is None else methods | {ORACLE: ORACLE}


def _kind(method: Method) -> str:
    if isinstance(method, FitOptions):
        return "risk"
    return "rival" if isinstance(method, Rival) else ORACLE


def _encode(
    raw: RawDesign, columns: DesignOptions, left_out: Flags
) -> tuple[Design, Design | None]:
    part = copy_part(raw, np.arange(len(left_out)))
    return encode_design(part, columns, hold_out=(lambda _: left_out) if left_out.any() else None)


def _judge_by(test: Design | None) -> Judge:
    """By the rows that a split left out."""
    assert test is not None  # noqa: S101

    def judge(model: Model) -> Figures:
        scored = score_design(model, test)
        return judge_rows(
            model.task, scored.losses, test.targets, scored.predictions, judged_risks(),
            model.row_loss.metrics, half_squared=model.row_loss.quadratic,
        )  # fmt: skip

    return judge


class _Field:
    """One split: the rows to learn from, spoilt if asked, and what judges."""

    def __init__(self, train: Design, judge: Judge, contest: Contest, seed: int) -> None:
        self._judge, self._contest, self._seed = judge, contest, seed
        self._clean = train
        self._planted: Planted | None = None
        if contest.corruption is not None:
            n_classes = len(train.encoding.target.classes) or None
            self._planted = corrupt(
                train.rows, train.y, n_classes, contest.corruption, seed,
                intercept=train.encoding.intercept,
            )  # fmt: skip
            train = _with_rows(train, self._planted.rows, self._planted.y)
        self._train = train
        self._features: Features = make_features(train, contest.fits[0])
        self._like = fit_design(train, contest.fits[0], features=self._features).model

    def try_out(self, method: Method) -> Trial:
        """Fit and judge one method."""
        began = perf_counter()
        model, scores = self._fit(method)
        seconds = perf_counter() - began
        figures = self._judge(model)
        if self._planted is None:
            return Trial(figures, seconds)
        mask = self._planted.mask
        return Trial(figures, seconds, top_share(scores, mask), average_precision(scores, mask))

    def _fit(self, method: Method) -> tuple[Model, Array]:
        """The model, and scores of the rows it learned from that are larger for odd ones."""
        if isinstance(method, FitOptions):
            model = fit_design(self._train, method, features=self._features).model
            return model, score_design(model, self._train).losses
        if isinstance(method, Rival):
            return self._fit_rival(method)
        assert self._planted is not None  # noqa: S101
        good = np.flatnonzero(~self._planted.mask)
        clean = replace(self._clean, rows=self._clean.rows.take(good), y=self._clean.y[good])
        options = replace(self._contest.fits[0], risk=Spectrum("mean"))
        model = fit_design(clean, options).model
        return model, score_design(model, self._train).losses

    def _fit_rival(self, rival: Rival) -> tuple[Model, Array]:
        """A rival on the same features: the first fit's model with other coefficients."""
        contest, train, like = self._contest, self._train, self._like
        fit = fit_rival(
            rival, self._features.phi, train.y, like.row_loss, like.l2, eps=contest.eps,
            seed=self._seed,
        )  # fmt: skip
        return replace(like, coefficients=self._features.coefficients(fit.W)), fit.scores


def top_share(scores: Array, mask: Flags) -> float:
    """Of the m planted rows, the share among the m largest scores; ties by row."""
    n_planted = int(np.count_nonzero(mask))
    top = np.argsort(-scores, kind="stable")[:n_planted]
    return float(np.mean(mask[top]))


def average_precision(scores: Array, mask: Flags) -> float:
    """Mean over the planted rows of the precision among all rows that score at least as high."""
    order = np.argsort(-scores, kind="stable")
    hits, ranked = np.cumsum(mask[order]), scores[order]
    # Rows of one score stand or fall together.
    last = np.append(np.flatnonzero(np.diff(ranked)), len(ranked) - 1)
    precision, recall = hits[last] / (last + 1.0), hits[last] / hits[-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def judged_risks() -> tuple[Spectrum, ...]:
    """The risks of the losses that every method is judged by."""
    return tuple(parse_risk(text) for text in EVALUATED_RISKS)


def _with_rows(design: Design, rows: Rows, y: Targets) -> Design:
    """The design with spoilt rows; targets in units of the file follow y."""
    target = design.encoding.target
    units = np.asarray(target.mean + target.scale * y, dtype=np.float64)
    return replace(design, rows=rows, y=y, targets=y if target.classes else units)
