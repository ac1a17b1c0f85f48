"""Figures agree with scikit-learn and with definitions, however the rows were batched."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as oracle
from sklearn.calibration import calibration_curve

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.metrics import (
    Reported,
    Tally,
    bootstrap_intervals,
    parse_risks,
    risk_figures,
)
from lrisk_cli.evaluation.registry import metric_name
from lrisk_cli.losses.registry import make_loss
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
    classes = () if task is Task.REGRESSION else ("a", "b", "c")[: columns[3].shape[1]]
    names = () if task is Task.REGRESSION else make_loss("logistic", len(classes)).metrics
    tally = Tally(Reported(task, names, classes=classes))
    for batch in zip(*(np.split(column, cuts) for column in columns), strict=True):
        tally.add(*batch)
    return tally


def test_regression_figures_agree_with_scikit_learn():
    losses, targets, predictions = regression_rows(2000)
    tally = tally_in_batches(Task.REGRESSION, (losses, targets, predictions), [])
    assert np.array_equal(tally.losses, losses)
    figures = tally.figures(np.sort(losses))
    assert list(figures) == ["rmse", "mae", "median_error", "r2", "bias", "mape"]
    assert figures["rmse"] == pytest.approx(oracle.root_mean_squared_error(targets, predictions))
    assert figures["mae"] == pytest.approx(oracle.mean_absolute_error(targets, predictions))
    assert figures["r2"] == pytest.approx(oracle.r2_score(targets, predictions), rel=1e-9)
    median = oracle.median_absolute_error(targets, predictions)
    assert figures["median_error"] == pytest.approx(median)
    assert figures["bias"] == pytest.approx(np.mean(predictions - targets))
    mape = oracle.mean_absolute_percentage_error(targets, predictions)
    assert figures["mape"] == pytest.approx(mape)


@pytest.mark.parametrize(("shift", "expected"), [(1e-9, 1e-9), (1e-13, 0.0), (0.0, 0.0)])
def test_a_bias_below_the_rounding_of_the_targets_is_zero(shift, expected):
    targets = np.linspace(100.0, 900.0, 101)
    predictions = targets + np.where(np.arange(101) % 2, 0.5, -0.5 * 50 / 51) + shift
    tally = Tally(Reported(Task.REGRESSION))
    tally.add(0.5 * (targets - predictions) ** 2, targets, predictions)
    bias = tally.figures(np.sort(tally.losses))["bias"]
    assert bias == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("half_squared", [True, False])
@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_medians_of_few_rows(n_rows, half_squared):
    losses, targets, predictions = regression_rows(n_rows)
    tally = Tally(Reported(Task.REGRESSION, half_squared=half_squared))
    tally.add(losses, targets, predictions)
    median = oracle.median_absolute_error(targets, predictions)
    assert tally.figures(np.sort(losses))["median_error"] == pytest.approx(median)


@pytest.mark.parametrize("target", [0.0, -0.0, 5e-324])
def test_relative_errors_of_a_zero_target_are_not_defined(target):
    tally = Tally(Reported(Task.REGRESSION))
    tally.add(np.array([0.5, 0.5]), np.array([3.0, target]), np.array([4.0, 1.0]))
    assert tally.figures(np.array([0.5, 0.5]))["mape"] is None


def class_rows(n_classes: int, n_rows: int = 500, seed: int = 1) -> tuple[np.ndarray, ...]:
    """Losses, targets, predictions and probabilities; many of these are equal."""
    rng = np.random.default_rng(seed)
    probabilities = np.round(rng.dirichlet(np.ones(n_classes), n_rows) * 16) + 0.25
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    draws = [rng.choice(n_classes, p=p**0.5 / np.sum(p**0.5)) for p in probabilities]
    targets = np.array(draws, dtype=np.int32)
    predictions = np.argmax(probabilities, axis=1).astype(np.int32)
    losses = -np.log(probabilities[np.arange(n_rows), targets])
    return losses, targets, predictions, probabilities


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_figures_agree_with_scikit_learn(n_classes):
    losses, targets, predictions, probabilities = columns = class_rows(n_classes)
    figures = tally_in_batches(Task.CLASSIFICATION, columns, [100]).figures(np.sort(losses))
    average = "binary" if n_classes == 2 else "macro"
    expected = {
        "accuracy": oracle.accuracy_score(targets, predictions),
        "majority_accuracy": np.bincount(targets).max() / len(targets),
        "balanced_accuracy": oracle.balanced_accuracy_score(targets, predictions),
        "precision": oracle.precision_score(targets, predictions, average=average),
        "recall": oracle.recall_score(targets, predictions, average=average),
        "f1": oracle.f1_score(targets, predictions, average=average),
        "log_loss": oracle.log_loss(targets, probabilities),
        "brier": _brier(targets, probabilities),
        "calibration_error": _calibration(targets, probabilities),
    }
    if n_classes == 2:
        expected["roc_auc"] = oracle.roc_auc_score(targets, probabilities[:, 1])
        expected["average_precision"] = oracle.average_precision_score(targets, probabilities[:, 1])
    assert list(figures) == list(expected)
    assert figures == pytest.approx(expected)


def _brier(targets: np.ndarray, probabilities: np.ndarray) -> float:
    """scikit-learn's for two classes, the definition for more."""
    if probabilities.shape[1] == 2:
        return oracle.brier_score_loss(targets, probabilities[:, 1])
    return float(np.mean(np.sum((probabilities - np.eye(3)[targets]) ** 2, axis=1)))


def _calibration(targets: np.ndarray, probabilities: np.ndarray) -> float:
    """The definition, bin by bin."""
    if probabilities.shape[1] == 2:
        p, hits = probabilities[:, 1], targets == 1
    else:
        p, hits = probabilities.max(axis=1), probabilities.argmax(axis=1) == targets
    error = 0.0
    for k in range(10):
        rows = (p >= k / 10) & ((p < (k + 1) / 10) | (k == 9))
        if rows.any():
            error += rows.mean() * abs(hits[rows].mean() - p[rows].mean())
    return error


CLASS_COLUMNS = tuple(np.tile(each, (300, 1) if each.ndim == 2 else 300) for each in class_rows(2))


def test_bins_agree_with_the_calibration_curve_of_scikit_learn():
    losses, targets, predictions, probabilities = class_rows(2)
    # Bins are closed on the other side there.
    probabilities = np.add(probabilities, [-1e-6, 1e-6])
    tally = tally_in_batches(Task.CLASSIFICATION, (losses, targets, predictions, probabilities), [])
    bins = tally.classes.errors.bins
    fractions, means = calibration_curve(targets, probabilities[:, 1], n_bins=10)
    assert bins.hits[bins.n > 0] == pytest.approx(fractions)
    assert bins.p[bins.n > 0] == pytest.approx(means)


def test_the_roc_curve_lies_on_that_of_scikit_learn():
    tally = tally_in_batches(Task.CLASSIFICATION, class_rows(2), [])
    _, targets, _, probabilities = class_rows(2)
    false, true = tally.classes.errors.roc_curve()
    expected = oracle.roc_curve(targets, probabilities[:, 1], drop_intermediate=False)[:2]
    points = {(round(x, 9), round(y, 9)) for x, y in zip(*expected, strict=True)}
    assert {(round(x, 9), round(y, 9)) for x, y in zip(false, true, strict=True)} <= points
    assert (false[0], true[0], false[-1], true[-1]) == (0.0, 0.0, 1.0, 1.0)
    area = oracle.auc(false, true)
    assert area == pytest.approx(oracle.roc_auc_score(targets, probabilities[:, 1]), abs=0.01)


@pytest.mark.parametrize("present", [0, 1])
def test_of_a_class_that_is_absent_nothing_is_claimed(present):
    losses, _, _, probabilities = class_rows(2, 20)
    targets = np.full(20, present, np.int32)
    columns = losses, targets, targets, probabilities
    tally = tally_in_batches(Task.CLASSIFICATION, columns, [])
    figures = tally.figures(np.sort(losses))
    assert figures["roc_auc"] is None
    assert tally.classes.errors.roc_curve() is None
    assert figures["average_precision"] == (None if present == 0 else 1.0)
    assert figures["recall"] == figures["precision"] == figures["f1"] == (present or None)
    assert figures["balanced_accuracy"] == figures["majority_accuracy"] == 1.0


def test_a_class_that_is_never_predicted_counts_as_zero_in_means():
    losses, targets, _, probabilities = class_rows(3)
    predictions = np.where(targets == 2, 0, targets).astype(np.int32)
    reported = Reported(
        Task.CLASSIFICATION, ("precision", "recall", "f1"), classes=("a", "b", "c", "d"),
        asked=("precision:c", "recall:c", "f1:c", "recall:a", "f1:d"),
    )  # fmt: skip
    tally = Tally(reported)
    tally.add(losses, targets, predictions, np.column_stack([probabilities, np.zeros(500)]))
    figures = tally.figures(np.sort(losses))
    for name in ("precision", "recall", "f1"):
        score = getattr(oracle, f"{name}_score")
        expected = score(targets, predictions, average="macro", zero_division=0.0)
        assert figures[name] == pytest.approx(expected)
    found = [figures[name] for name in reported.asked]
    assert found == [None, 0.0, 0.0, 1.0, None]


def test_pairs_of_classes_are_the_confusion_matrix():
    columns = class_rows(3)
    tally = tally_in_batches(Task.CLASSIFICATION, columns, [7, 300])
    assert np.array_equal(tally.classes.pairs, oracle.confusion_matrix(columns[1], columns[2]))


@given(st.lists(st.integers(0, 150_000), max_size=6))
def test_class_figures_do_not_depend_on_the_batches(cuts):
    columns = CLASS_COLUMNS
    ascending = np.sort(columns[0])
    whole = tally_in_batches(Task.CLASSIFICATION, columns, [])
    parts = tally_in_batches(Task.CLASSIFICATION, columns, sorted(cuts))
    assert parts.figures(ascending) == whole.figures(ascending)


def test_deviance_explained_agrees_with_scikit_learn():
    rng = np.random.default_rng(4)
    targets = rng.poisson(2.0, 400).astype(float)
    predictions = 2.0 * np.exp(0.2 * rng.standard_normal(400))
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(targets > 0, targets * np.log(targets / predictions), 0.0)
    losses = predictions - targets + logs
    tally = Tally(Reported(Task.REGRESSION, ("mean_deviance", "d2"), half_squared=False))
    tally.add(losses, targets, predictions)
    figures = tally.figures(np.sort(losses))
    deviance = oracle.mean_poisson_deviance(targets, predictions)
    assert figures["mean_deviance"] == pytest.approx(deviance)
    assert figures["d2"] == pytest.approx(oracle.d2_tweedie_score(targets, predictions, power=1))


@pytest.mark.parametrize("count", [0.0, 3.0])
def test_deviance_explained_of_equal_counts_is_not_defined(count):
    tally = Tally(Reported(Task.REGRESSION, ("d2",), half_squared=False))
    tally.add(np.array([0.5, 0.5]), np.array([count, count]), np.array([1.0, 2.0]))
    assert tally.figures(np.array([0.5, 0.5]))["d2"] is None


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
        tally = Tally(Reported(Task.REGRESSION, names, half_squared=False))
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
    tally = Tally(Reported(Task.REGRESSION))
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
