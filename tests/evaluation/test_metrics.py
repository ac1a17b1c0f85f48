"""Figures agree with scikit-learn and with definitions, however the rows were batched."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.metrics import (
    Tally,
    bootstrap_intervals,
    parse_risks,
    risk_figures,
)
from lrisk_cli.evaluation.registry import metric_name
from lrisk_cli.names import EVALUATED_RISKS, Task
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.risk.value import sort_losses, spectral_risk


def regression_rows(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Losses, targets and predictions, far from 0 so that sums cancel if taken carelessly."""
    rng = np.random.default_rng(seed)
    targets = 1e4 + rng.standard_normal(n_rows)
    predictions = targets + 0.5 * rng.standard_t(3, n_rows)
    return 0.5 * (targets - predictions) ** 2, targets, predictions


def tally_in_batches(task: Task, columns: tuple[np.ndarray, ...], cuts: list[int]) -> Tally:
    """The rows, taken in the batches that the cuts make."""
    tally = Tally(task)
    for batch in zip(*(np.split(column, cuts) for column in columns), strict=True):
        tally.add(*batch)
    return tally


def test_regression_figures_agree_with_scikit_learn():
    losses, targets, predictions = regression_rows(2000)
    tally = tally_in_batches(Task.REGRESSION, (losses, targets, predictions), [])
    assert np.array_equal(tally.losses, losses)
    figures = tally.figures(np.sort(losses))
    assert list(figures) == ["rmse", "mae", "r2"]
    assert figures["rmse"] == pytest.approx(oracle.root_mean_squared_error(targets, predictions))
    assert figures["mae"] == pytest.approx(oracle.mean_absolute_error(targets, predictions))
    assert figures["r2"] == pytest.approx(oracle.r2_score(targets, predictions), rel=1e-9)


def test_classification_figures_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(3), 500)
    targets = rng.integers(0, 3, 500).astype(np.int32)
    predictions = np.argmax(probabilities, axis=1).astype(np.int32)
    losses = -np.log(probabilities[np.arange(500), targets])
    tally = tally_in_batches(Task.CLASSIFICATION, (losses, targets, predictions), [100])
    figures = tally.figures(np.sort(losses))
    assert figures["accuracy"] == oracle.accuracy_score(targets, predictions)
    assert figures["log_loss"] == pytest.approx(oracle.log_loss(targets, probabilities))


@given(st.lists(st.integers(0, 150_000), max_size=6))
def test_figures_do_not_depend_on_the_batches(cuts):
    columns = regression_rows(150_000)
    ascending = np.sort(columns[0])
    whole = tally_in_batches(Task.REGRESSION, columns, [])
    parts = tally_in_batches(Task.REGRESSION, columns, sorted(cuts))
    assert np.array_equal(parts.losses, whole.losses)
    assert parts.figures(ascending) == whole.figures(ascending)


@given(st.lists(st.integers(0, 150_000), max_size=6))
def test_errors_of_another_loss_come_from_targets_and_predictions(cuts):
    _, targets, predictions = columns = regression_rows(150_000)
    losses = np.log1p(columns[0])
    names = ["mae", "r2", "rmse"]

    def figures(cuts: list[int]) -> dict[str, float | None]:
        tally = Tally(Task.REGRESSION, names, half_squared=False)
        for batch in zip(*(np.split(c, cuts) for c in (losses, *columns[1:])), strict=True):
            tally.add(*batch)
        return tally.figures(np.sort(losses))

    found = figures(sorted(cuts))
    assert found == figures([])
    assert list(found) == names
    assert found["rmse"] == pytest.approx(oracle.root_mean_squared_error(targets, predictions))
    assert found["mae"] == pytest.approx(oracle.mean_absolute_error(targets, predictions))
    assert found["r2"] == pytest.approx(oracle.r2_score(targets, predictions), rel=1e-9)


def test_r2_of_a_constant_target_is_not_defined():
    tally = Tally(Task.REGRESSION)
    tally.add(np.array([0.5, 2.0]), np.array([3.0, 3.0]), np.array([4.0, 5.0]))
    assert tally.figures(np.array([0.5, 2.0]))["r2"] is None


@pytest.mark.parametrize("risk", [*EVALUATED_RISKS, "subquantile:0.8", "lower-extremile:3"])
def test_risks_of_sorted_losses_are_those_of_the_losses(risk):
    losses, _, _ = regression_rows(999)
    spectrum = parse_risk(risk)
    exact = fsum(np.sort(losses) * spectrum.weights(len(losses)))
    assert spectral_risk(np.sort(losses), spectrum) == exact


def test_risks_that_can_be_counted_by_hand():
    ascending = np.arange(1.0, 11.0)
    figures = risk_figures(ascending, parse_risks(["superquantile:0.8", "subquantile:0.5"]))
    assert figures == pytest.approx(
        {"mean": 5.5, "superquantile:0.8": 9.5, "subquantile:0.5": 3.0, "max": 10.0}
    )
    assert list(figures) == ["mean", "superquantile:0.8", "subquantile:0.5", "max"]


def test_losses_are_sorted_in_place_and_overflow_is_noticed():
    losses = np.array([3.0, 1.0, 2.0])
    assert sort_losses(losses) is losses
    assert losses.tolist() == [1.0, 2.0, 3.0]
    for bad in (np.inf, np.nan):
        with pytest.raises(DataError, match="too large"):
            sort_losses(np.array([1.0, bad, 0.0]))
    with pytest.raises(DataError, match="no rows are left"):
        sort_losses(np.empty(0))


def resample_by_sorting(losses: np.ndarray, risk: str, n_resamples: int, seed: int) -> np.ndarray:
    """The plain bootstrap: draw rows, sort them, weigh them."""
    generator = np.random.Generator(np.random.PCG64(seed))
    n = len(losses)
    sigma = parse_risk(risk).weights(n)
    draws = (
        np.sort(losses)[generator.integers(0, n, n, dtype=np.int32)] for _ in range(n_resamples)
    )
    return np.array([np.sort(draw) @ sigma for draw in draws])


@pytest.mark.parametrize("risk", ["mean", "superquantile:0.9", "extremile:2", "subquantile:0.7"])
def test_intervals_are_those_of_the_plain_bootstrap(risk):
    losses, _, _ = regression_rows(300)
    spectrum = parse_risk(risk)
    (ends,) = bootstrap_intervals(np.sort(losses), [spectrum], seed=7).values()
    plain = resample_by_sorting(losses, risk, 1000, seed=7)
    assert ends == pytest.approx(np.quantile(plain, [0.025, 0.975]), rel=1e-9)


def test_intervals_of_the_mean_are_as_wide_as_theory_says():
    rng = np.random.default_rng(3)
    losses = np.sort(rng.exponential(size=4000))
    ((low, high),) = bootstrap_intervals(losses, parse_risks(["mean"])).values()
    expected = 2 * 1.96 * losses.std() / np.sqrt(len(losses))
    assert high - low == pytest.approx(expected, rel=0.1)
    assert low < losses.mean() < high


def test_intervals_depend_on_the_seed_alone():
    ascending = np.sort(regression_rows(100)[0])
    spectra = parse_risks([])
    first = bootstrap_intervals(ascending, spectra, seed=1)
    assert list(first) == list(EVALUATED_RISKS)
    assert first == bootstrap_intervals(ascending, spectra, seed=1)
    assert first != bootstrap_intervals(ascending, spectra, seed=2)
    # A risk's interval does not change because others were asked for too.
    assert bootstrap_intervals(ascending, spectra[2:3], seed=1).items() <= first.items()


def test_a_single_row_has_intervals_without_width():
    assert bootstrap_intervals(np.array([2.0]), parse_risks(["mean"])) == {"mean": (2.0, 2.0)}


def test_risks_are_asked_for_once_and_max_needs_no_asking():
    assert [str(s) for s in parse_risks([])] == list(EVALUATED_RISKS)
    assert [str(s) for s in parse_risks(["cvar:.9", "superquantile:0.9", "max"])] == [
        "superquantile:0.9"
    ]


@pytest.mark.parametrize(
    ("text", "task", "name"),
    [
        ("CVaR:0.90", Task.REGRESSION, "superquantile:0.9"),
        ("mean", Task.CLASSIFICATION, "mean"),
        ("RMSE", Task.REGRESSION, "rmse"),
        ("accuracy", Task.CLASSIFICATION, "accuracy"),
        ("n_rows", Task.REGRESSION, "n_rows"),
        ("max", Task.REGRESSION, "max"),
    ],
)
def test_metrics_are_known_by_one_spelling(text, task, name):
    assert metric_name(text, task) == name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("accuracy", "accuracy is a metric of classification"),
        ("rsme", "did you mean rmse?"),
        ("superquantle:0.9", "did you mean superquantile"),
        ("superquantile:1.2", r"must be in \[0, 1\); got 1.2"),
        ("zzz", "known metrics: rmse, "),
    ],
)
def test_a_metric_without_a_figure_is_refused(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        metric_name(text, Task.REGRESSION)
