"""Figures of groups are those of their rows alone, and intervals those of resampled rows."""

import numpy as np
import pytest

from lrisk_cli.design.groups import RowGroups
from lrisk_cli.evaluation.group_figures import FEW_ROWS, GroupTally
from lrisk_cli.evaluation.influence import ScoredGroup, error_interval, risk_interval, wilson
from lrisk_cli.evaluation.metrics import (
    Reported,
    bootstrap_intervals,
    evaluate_rows,
    parse_risks,
)
from lrisk_cli.names import Task, WeightKind
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.risk.value import spectral_risk

RISKS = parse_risks(["superquantile:0.9", "extremile:2", "superquantile:0.5", "esrm:3"])
NAMES = (("a", "x"), ("a", "y"), ("b", "x"), ("b", "(missing)"))


def draw(task: Task, n_rows: int, seed: int = 0):
    """Losses, targets, predictions and probabilities; what is reported of them."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.standard_normal(n_rows)
    if task is Task.REGRESSION:
        y = z + rng.standard_t(6, n_rows)
        return (0.5 * (y - z) ** 2, y, z, None), Reported(task)
    p = 1.0 / (1.0 + np.exp(-z))
    y = (rng.random(n_rows) < p).astype(np.int32)
    P = np.stack([1.0 - p, p], axis=1)
    losses = -np.log(P[np.arange(n_rows), y])
    reported = Reported(task, classes=("no", "yes"), asked=("roc_auc",))
    return (losses, y, (p > 0.4).astype(np.int32), P), reported


@pytest.mark.parametrize("task", [Task.REGRESSION, Task.CLASSIFICATION])
def test_each_group_has_the_figures_of_its_rows_alone(task):
    rows, reported = draw(task, 500)
    codes = np.random.default_rng(1).choice(4, 500, p=[0.5, 0.3, 0.2, 0.0]).astype(np.int32)
    tally = GroupTally(reported)
    for part in (slice(0, 123), slice(123, 500)):
        tally.add(*(None if each is None else each[part] for each in rows))
    found = tally.finish(RowGroups(("one", "two"), NAMES, codes), RISKS, intervals=True)
    assert [each.name for each in found.groups] == list(NAMES[:3])
    for code, each in enumerate(found.groups):
        own = [None if column is None else column[codes == code] for column in rows]
        losses, targets, predictions, P = own
        alone = evaluate_rows(reported, losses, targets, predictions, RISKS, P)
        assert each.figures == alone
        assert each.rows == np.count_nonzero(codes == code)
        assert each.uncertain == (each.rows < FEW_ROWS)
        for name, (low, high) in each.intervals.items():
            assert low <= alone[name] <= high


@pytest.mark.parametrize("risk", ["mean", "superquantile:0.5", "superquantile:0.9", "extremile:2"])
def test_intervals_of_risks_are_about_those_of_the_bootstrap(risk):
    losses = np.sort(np.random.default_rng(2).exponential(size=4000))
    spectrum = parse_risk(risk)
    low, high = risk_interval(losses, spectrum, spectral_risk(losses, spectrum))
    ends = bootstrap_intervals(losses, [spectrum])[risk]
    width = ends[1] - ends[0]
    assert (low, high) == pytest.approx(ends, abs=0.12 * width)


def test_the_influence_on_the_mean_is_the_loss_itself():
    losses = np.sort(np.random.default_rng(3).exponential(size=50))
    low, high = risk_interval(losses, Spectrum("mean"), losses.mean())
    half = 1.959963984540054 * losses.std(ddof=1) / np.sqrt(50)
    assert (low, high) == pytest.approx((losses.mean() - half, losses.mean() + half))


@pytest.mark.parametrize("task", [Task.REGRESSION, Task.CLASSIFICATION])
def test_intervals_of_errors_are_about_those_of_resampled_rows(task):
    """Against a plain bootstrap of the metrics themselves."""
    rows, reported = draw(task, 1500, seed=4)
    losses, targets, predictions, P = rows
    value = evaluate_rows(reported, losses, targets, predictions, (), P)
    rng, resampled = np.random.default_rng(5), {name: [] for name in value}
    for _ in range(250):
        at = rng.integers(0, 1500, 1500)
        part = [None if each is None else each[at] for each in rows]
        again = evaluate_rows(reported, part[0], part[1], part[2], (), part[3])
        for name, figure in again.items():
            resampled[name].append(figure)
    group, checked = ScoredGroup(losses, targets, predictions, P), 0
    for name, figure in value.items():
        ends = error_interval(name, group, figure)
        if ends is None:
            continue
        deviation, checked = np.std(resampled[name]), checked + 1
        assert ends[1] - ends[0] == pytest.approx(2 * 1.96 * deviation, rel=0.25), name
        assert ends[0] <= figure <= ends[1]
    assert checked >= 5


def test_fractions_of_few_rows_have_wilsons_interval():
    # Published: 0 of 10 and 81 of 263 (Newcombe 1998, method 3).
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)


def test_one_row_has_figures_and_no_intervals():
    tally = GroupTally(Reported(Task.REGRESSION))
    tally.add(np.array([0.5, 2.0]), np.array([1.0, 2.0]), np.array([0.0, 0.0]), None)
    groups = RowGroups(("g",), (("a",), ("b",)), np.array([0, 1], np.int32))
    found = tally.finish(groups, RISKS, intervals=True)
    assert [each.intervals for each in found.groups] == [{}, {}]
    assert found.groups[1].figures["mean"] == 2.0


@pytest.mark.parametrize("task", [Task.REGRESSION, Task.CLASSIFICATION])
def test_a_row_of_weight_3_has_the_figures_and_intervals_of_three_rows(task):
    rows, reported = draw(task, 400, seed=6)
    rng = np.random.default_rng(7)
    weights = rng.integers(1, 5, 400).astype(np.float64)
    codes = rng.integers(0, 3, 400).astype(np.int32)

    def grouped(some, masses):
        tally = GroupTally(reported)
        tally.add(*(None if each is None else each[some] for each in rows), masses)
        return tally.finish(RowGroups(("one", "two"), NAMES, codes[some]), RISKS, intervals=True)

    copies = np.repeat(np.arange(400), weights.astype(int))
    weighted, repeated = grouped(slice(None), weights), grouped(copies, None)
    for one, other in zip(weighted.groups, repeated.groups, strict=True):
        assert one.total == one.effective == other.rows
        assert one.uncertain == other.uncertain
        assert one.figures == pytest.approx(other.figures, rel=1e-10)
        assert one.intervals.keys() == other.intervals.keys()
        assert len(one.intervals) > 8
        for name, ends in one.intervals.items():
            assert ends == pytest.approx(other.intervals[name], rel=1e-9, abs=1e-12), name


@pytest.mark.parametrize("task", [Task.REGRESSION, Task.CLASSIFICATION])
def test_intervals_of_importances_are_about_those_of_resampled_rows(task):
    """Rows are drawn with their weights; the figures are ratios of weighted sums."""
    rows, reported = draw(task, 1500, seed=8)
    rng, resampled = np.random.default_rng(9), {}
    weights = rng.exponential(size=1500) + 0.1
    kind = WeightKind.IMPORTANCE
    tally = GroupTally(reported, kind)
    tally.add(*rows, weights)
    codes = np.zeros(1500, np.int32)
    (found,) = tally.finish(RowGroups(("g",), (("a",),), codes), RISKS, intervals=True).groups
    assert found.effective == pytest.approx(weights.sum() ** 2 / np.square(weights).sum())
    for _ in range(250):
        at = rng.integers(0, 1500, 1500)
        part = [None if each is None else each[at] for each in rows]
        again = evaluate_rows(
            reported, part[0], part[1], part[2], RISKS, part[3], weights=weights[at]
        )
        for name, figure in again.items():
            resampled.setdefault(name, []).append(figure)
    for name, (low, high) in found.intervals.items():
        assert high - low == pytest.approx(2 * 1.96 * np.std(resampled[name]), rel=0.25), name
        assert low <= found.figures[name] <= high
