"""Figures of each group of rows, the worst of them, and how far they are apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from lrisk_cli.design.groups import GroupCollector, RowGroups
from lrisk_cli.design.weights import total_weight
from lrisk_cli.evaluation.influence import ScoredGroup, error_interval, risk_interval
from lrisk_cli.evaluation.metric import Better
from lrisk_cli.evaluation.metrics import Figures, Intervals, Reported, Tally, tally_figures
from lrisk_cli.evaluation.registry import better_of
from lrisk_cli.evaluation.streams import Column
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.names import WeightKind
from lrisk_cli.risk.groups import GroupRisk
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array, Targets

# The worst tenth of fewer rows is fewer than ten: figures of such a group are called uncertain.
FEW_ROWS = 100


@dataclass(frozen=True, slots=True, eq=False)
class GroupFigures:
    """One group. name: its cell of each column; rows: how many; intervals: where asked for.

    total: how much the rows count for, their number where all count alike; effective: how many
    equal rows they are as good as.
    """

    name: tuple[str, ...]
    rows: int
    figures: Figures
    intervals: Intervals
    total: float
    effective: float

    @property
    def uncertain(self) -> bool:
        """Whether there are so few rows that chance may decide."""
        return self.effective < FEW_ROWS


@dataclass(frozen=True, slots=True)
class Gap:
    """How far the groups are apart in a metric. None where it is not defined of any."""

    worst: GroupFigures
    best: GroupFigures
    size: float


@dataclass(frozen=True, slots=True, eq=False)
class ByGroup:
    """All groups that have rows, in the order of their names. columns: what their names are of."""

    columns: tuple[str, ...]
    groups: tuple[GroupFigures, ...]

    @property
    def metrics(self) -> list[str]:
        """The figures that every group has."""
        return list(self.groups[0].figures)

    def spread(self, metric: str) -> Gap | None:
        """The worst and the best group, and their distance; of a bias, that of the sizes.

        Of equal groups the first by name. Which is worse follows from the metric; where neither
        end is, the larger figure counts as the worse.
        """
        better = better_of(metric)
        found = [(each, each.figures.get(metric)) for each in self.groups]
        known = [(each, value) for each, value in found if value is not None]
        if not known:
            return None

        def badness(value: float) -> float:
            return value if better is Better.NEITHER else better.badness(value)

        worst = max(known, key=lambda pair: badness(pair[1]))
        best = min(known, key=lambda pair: badness(pair[1]))
        return Gap(worst[0], best[0], badness(worst[1]) - badness(best[1]))

    def worst_first(self, metric: str) -> list[GroupFigures]:
        """The groups by falling badness; those where the metric is not defined last."""
        better = better_of(metric)

        def key(each: GroupFigures) -> tuple[bool, float]:
            value = each.figures.get(metric)
            return value is None, 0.0 if value is None else -better.badness(value)

        return sorted(self.groups, key=key)

    def risk(self, risk: GroupRisk) -> float | None:
        """A risk of groups, from the risks of the rows within them."""
        values = [each.figures.get(str(risk.within)) for each in self.groups]
        known = [value for value in values if value is not None and isfinite(value)]
        if len(known) < len(values):
            return None
        if risk.over is None:
            return max(known)
        order = sorted(range(len(known)), key=known.__getitem__)
        counts = np.array([self.groups[at].total for at in order], dtype=np.float64)
        heavier = counts.sum() - np.cumsum(counts)
        weights = risk.over.weights_of(counts, heavier, float(counts.sum()))
        return float(weights @ np.array(known)[order])


def mean_of_groups(found: Sequence[ByGroup]) -> ByGroup:
    """Over several sets of rows: means of the figures where they are defined, without intervals.

    rows, total, effective: of all sets together.
    """
    if len(found) == 1:
        return found[0]
    by_name: dict[tuple[str, ...], list[GroupFigures]] = {}
    for by_group in found:
        for group in by_group.groups:
            by_name.setdefault(group.name, []).append(group)
    return ByGroup(found[0].columns, tuple(_mean(by_name[name]) for name in sorted(by_name)))


def _mean(parts: Sequence[GroupFigures]) -> GroupFigures:
    figures: Figures = {}
    for name in parts[0].figures:
        known = [value for part in parts if (value := part.figures.get(name)) is not None]
        figures[name] = float(np.mean(known)) if known else None
    rows, total = sum(part.rows for part in parts), sum(part.total for part in parts)
    effective = sum(part.effective for part in parts)
    return GroupFigures(parts[0].name, rows, figures, {}, total, effective)


class GroupTally:
    """Keeps scored rows with their groups until all are known.

    8 bytes a row for the loss, the target, the prediction, the weight if any and each class but the
    first. kind: of the weights.
    """

    def __init__(self, reported: Reported, kind: WeightKind = WeightKind.FREQUENCY) -> None:
        self._reported, self._kind = reported, kind
        self._losses, self._targets, self._predictions = Column(), Column(), Column()
        self._probabilities: list[Column] = []
        self._weights: Column | None = None

    def add(
        self,
        losses: Array,
        targets: Targets,
        predictions: Targets,
        probabilities: Array | None,
        weights: Array | None = None,
    ) -> None:
        """Take one batch, as a tally does."""
        if weights is not None:
            self._weights = self._weights or Column()
            self._weights.add(weights)
        self._losses.add(losses)
        self._targets.add(np.asarray(targets, dtype=np.float64))
        self._predictions.add(np.asarray(predictions, dtype=np.float64))
        if probabilities is not None:
            if not self._probabilities:
                self._probabilities = [Column() for _ in range(probabilities.shape[1])]
            for column, values in zip(self._probabilities, probabilities.T, strict=True):
                column.add(values)

    def finish(self, groups: RowGroups, spectra: Sequence[Spectrum], *, intervals: bool) -> ByGroup:
        """The figures of each group of these rows."""
        order, bounds = sort_groups(groups)
        columns = [self._losses.values[order], self._targets.values, self._predictions.values]
        columns[1:] = [column[order] for column in columns[1:]]
        P = np.empty((len(order), len(self._probabilities)))
        for of_class, kept in zip(P.T, self._probabilities, strict=True):
            of_class[:] = kept.values[order]
        weights = None if self._weights is None else self._weights.values[order]
        found: dict[int, GroupFigures] = {}
        # By size: groups of one size share the weights of their spectra.
        for code in np.argsort(np.diff(bounds), kind="stable").tolist():
            start, end = bounds[code], bounds[code + 1]
            if start == end:
                continue
            losses, targets, predictions = (column[start:end] for column in columns)
            probabilities = P[start:end] if P.shape[1] else None
            of_rows = None if weights is None else weights[start:end]
            rows = ScoredGroup(losses, targets, predictions, probabilities, of_rows, self._kind)
            found[code] = self._group(groups.names[code], rows, spectra, intervals=intervals)
        return ByGroup(groups.columns, tuple(found[code] for code in sorted(found)))

    def _group(
        self,
        name: tuple[str, ...],
        rows: ScoredGroup,
        spectra: Sequence[Spectrum],
        *,
        intervals: bool,
    ) -> GroupFigures:
        weighted, coded = rows.weights is not None, bool(self._reported.classes)
        tally = Tally(self._reported, weighted=weighted, means=False)
        targets, predictions = rows.targets, rows.predictions
        if coded:
            targets, predictions = targets.astype(np.int32), predictions.astype(np.int32)
        tally.add(rows.losses, targets, predictions, rows.probabilities, rows.weights)
        figures = tally_figures(tally, spectra)
        ends = self._intervals(tally, rows, figures, spectra) if intervals else {}
        n_rows = len(rows.losses)
        total = n_rows if rows.weights is None else total_weight(rows.weights)
        return GroupFigures(name, n_rows, figures, ends, total, rows.count())

    def _intervals(
        self, sorted_tally: Tally, rows: ScoredGroup, figures: Figures, spectra: Sequence[Spectrum]
    ) -> Intervals:
        """Of the figures that have one."""
        by_risk = {str(spectrum): spectrum for spectrum in (Spectrum("mean"), *spectra)}
        target, ends = self._reported.target, {}
        if target is not None:
            restored = target.restore(rows.targets), target.restore(rows.predictions)
            rows = replace(rows, targets=restored[0], predictions=restored[1])
        ascending, masses = sorted_tally.losses, sorted_tally.weights
        for metric, value in figures.items():
            spectrum = by_risk.get(metric)
            found = (
                error_interval(metric, rows, value)
                if spectrum is None
                else risk_interval(ascending, spectrum, float(value or 0.0), masses, rows.kind)
            )
            if found is not None:
                ends[metric] = found
        return ends


class GroupedRows:
    """Scored rows of a table and their groups, batch by batch."""

    def __init__(self, columns: Sequence[str], reported: Reported, kind: WeightKind) -> None:
        self.columns = tuple(columns)
        self._collector, self._tally = GroupCollector(columns), GroupTally(reported, kind)

    def add(self, scored: ScoredBatch) -> None:
        """Take one batch."""
        self._collector.add(scored.batch, scored.kept)
        losses, targets = scored.known_losses, scored.known_targets
        weights = scored.encoded.weights
        self._tally.add(losses, targets, scored.predictions, scored.probabilities, weights)

    def finish(self, spectra: Sequence[Spectrum], *, intervals: bool) -> ByGroup:
        """The figures of each group."""
        return self._tally.finish(self._collector.finish(), spectra, intervals=intervals)


def sort_groups(groups: RowGroups) -> tuple[np.ndarray, np.ndarray]:
    """The rows group after group, in reading order within, and where each group begins."""
    n_groups = len(groups.names)
    small = np.int16 if n_groups < 1 << 15 else np.int32
    order = np.argsort(groups.codes.astype(small), kind="stable")
    counts = np.bincount(groups.codes, minlength=n_groups)
    return order, np.concatenate(([0], np.cumsum(counts)))


def spell_name(name: Sequence[str]) -> str:
    """A group as people read it."""
    return ", ".join(name)
