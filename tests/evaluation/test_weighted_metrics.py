"""Every metric of weighted rows is that of the rows repeated, and scikit-learn's with weights."""

import numpy as np
import pytest
from sklearn import metrics as oracle

from lrisk_cli.design.target import NumberTarget
from lrisk_cli.evaluation.class_errors import ClassTally
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.metrics import Reported, evaluate_rows, parse_risks
from lrisk_cli.evaluation.quantiles import quantile_ranks
from lrisk_cli.evaluation.registry import ERROR_NEEDS, metrics_of
from lrisk_cli.evaluation.streams import CHUNK
from lrisk_cli.names import EVALUATED_RISKS, TargetScale, Task

N = 400
RISKS = parse_risks([*EVALUATED_RISKS, "subquantile:0.7", "lower-extremile:3"])


def weights_of(n: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(1, 5, n).astype(np.float64)


def numbers(n: int = N, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    targets = rng.poisson(3.0, n).astype(np.float64) + 1.0
    predictions = targets * np.exp(0.4 * rng.standard_normal(n))
    return {"targets": targets, "predictions": predictions}


def classes(k: int, n: int = N, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, k, n)
    scores = np.round(rng.standard_normal((n, k)) + 1.5 * np.eye(k)[targets], 1)
    probabilities = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return {
        "targets": targets,
        "predictions": probabilities.argmax(axis=1),
        "probabilities": probabilities,
    }


def sources() -> list[tuple[Reported, dict[str, np.ndarray]]]:
    """What has each kind of metric: whose losses are half squares, others, logarithms, classes."""
    plain = numbers()
    squares = 0.5 * (plain["predictions"] - plain["targets"]) ** 2
    ratio = plain["targets"] / plain["predictions"]
    deviance = plain["predictions"] - plain["targets"] + plain["targets"] * np.log(ratio)
    logs = {name: np.log(values) for name, values in plain.items()}
    of_logs = 0.5 * (logs["predictions"] - logs["targets"]) ** 2
    target = NumberTarget("y", on=TargetScale.LOG)
    known = metrics_of(ERROR_NEEDS)
    of_numbers = [name for name, each in known.items() if each.needs is Needs.NUMBERS]
    log_names = [name for name in known if name.startswith("log_") and name != "log_loss"]
    found = [
        (Reported(Task.REGRESSION, of_numbers), plain | {"losses": squares}),
        (
            Reported(Task.REGRESSION, [*of_numbers, "mean_deviance", "d2"], half_squared=False),
            plain | {"losses": deviance},
        ),
        (
            Reported(Task.REGRESSION, ["pinball", "below", "median_error"], half_squared=False),
            plain | {"losses": deviance},
        ),
        (
            Reported(Task.REGRESSION, [*of_numbers, *log_names], target=target),
            logs | {"losses": of_logs},
        ),
    ]
    for k in (2, 3):
        rows = classes(k)
        losses = -np.log(rows["probabilities"][np.arange(N), rows["targets"]])
        names = [
            name for name, each in known.items()
            if each.needs is Needs.CLASSES or (each.needs is Needs.SCORES and k == 2)
        ]  # fmt: skip
        names += ["recall:b", "precision:a", "f1:b"]
        reported = Reported(Task.CLASSIFICATION, names, classes="abc"[:k])
        found.append((reported, rows | {"losses": losses}))
    return found


SOURCES = sources()
IDS = ["squares", "counts", "quantiles", "logarithms", "two", "three"]


def test_every_error_metric_is_among_the_sources():
    named = {name for reported, _ in SOURCES for name in reported.metrics}
    assert set(metrics_of(ERROR_NEEDS)) <= named


@pytest.mark.parametrize(("reported", "rows"), SOURCES, ids=IDS)
def test_a_row_of_weight_three_counts_as_three_rows(reported, rows):
    weights = weights_of(N)
    copies = np.repeat(np.arange(N), weights.astype(int))
    weighed = evaluate_rows(reported, spectra=RISKS, weights=weights, **rows)
    repeated = evaluate_rows(
        reported, spectra=RISKS, **{name: values[copies] for name, values in rows.items()}
    )
    assert list(weighed) == list(repeated)
    for name, value in repeated.items():
        assert weighed[name] == pytest.approx(value, rel=1e-10, abs=1e-12), name


@pytest.mark.parametrize(("reported", "rows"), SOURCES, ids=IDS)
def test_the_unit_of_weights_does_not_matter(reported, rows):
    weights = np.random.default_rng(4).exponential(size=N)
    once = evaluate_rows(reported, spectra=RISKS, weights=weights, **rows)
    scaled = evaluate_rows(reported, spectra=RISKS, weights=1e3 * weights, **rows)
    assert scaled == pytest.approx(once, rel=1e-10, abs=1e-12)


def test_numbers_agree_with_scikit_learn():
    reported, rows = SOURCES[1]
    weights = np.random.default_rng(5).exponential(size=N)
    found = evaluate_rows(reported, spectra=(), weights=weights, **rows)
    pair = rows["targets"], rows["predictions"]
    how = {"sample_weight": weights}
    assert found["rmse"] == pytest.approx(oracle.root_mean_squared_error(*pair, **how))
    assert found["mae"] == pytest.approx(oracle.mean_absolute_error(*pair, **how))
    assert found["r2"] == pytest.approx(oracle.r2_score(*pair, **how))
    assert found["mape"] == pytest.approx(oracle.mean_absolute_percentage_error(*pair, **how))
    assert found["mean_deviance"] == pytest.approx(oracle.mean_poisson_deviance(*pair, **how))
    assert found["d2"] == pytest.approx(oracle.d2_tweedie_score(*pair, power=1, **how))


@pytest.mark.parametrize("k", [2, 3])
def test_classes_agree_with_scikit_learn(k):
    reported, rows = SOURCES[2 + k]
    weights = np.random.default_rng(6).exponential(size=N)
    found = evaluate_rows(reported, spectra=(), weights=weights, **rows)
    pair, P = (rows["targets"], rows["predictions"]), rows["probabilities"]
    how = {"sample_weight": weights}
    average = {"average": "binary" if k == 2 else "macro", **how}
    assert found["accuracy"] == pytest.approx(oracle.accuracy_score(*pair, **how))
    assert found["balanced_accuracy"] == pytest.approx(oracle.balanced_accuracy_score(*pair, **how))
    assert found["precision"] == pytest.approx(oracle.precision_score(*pair, **average))
    assert found["recall"] == pytest.approx(oracle.recall_score(*pair, **average))
    assert found["f1"] == pytest.approx(oracle.f1_score(*pair, **average))
    assert found["log_loss"] == pytest.approx(oracle.log_loss(rows["targets"], P, **how))
    if k == 2:
        scores = rows["targets"], P[:, 1]
        assert found["brier"] == pytest.approx(oracle.brier_score_loss(*scores, **how))
        assert found["roc_auc"] == pytest.approx(oracle.roc_auc_score(*scores, **how))
        expected = oracle.average_precision_score(*scores, **how)
        assert found["average_precision"] == pytest.approx(expected)


def test_counts_of_weighted_classes_do_not_depend_on_batches():
    n = CHUNK + 100
    rows, weights = classes(3, n), np.random.default_rng(7).exponential(size=n)
    found = []
    for cuts in ([], [17, 4000, CHUNK + 1]):
        tally = ClassTally(3, weighted=True)
        columns = [rows["targets"], rows["predictions"], rows["probabilities"], weights]
        for batch in zip(*(np.split(column, cuts) for column in columns), strict=True):
            tally.add(*batch)
        found.append((tally.pairs.tolist(), tally.errors.brier, tally.errors.calibration_error))
    assert found[0] == found[1]
    expected = oracle.confusion_matrix(rows["targets"], rows["predictions"], sample_weight=weights)
    np.testing.assert_allclose(found[0][0], expected)


def test_quantiles_are_those_of_copies():
    losses, weights = np.sort(np.random.default_rng(8).exponential(size=50)), weights_of(50)
    copies, levels = np.repeat(losses, weights.astype(int)), np.linspace(0.01, 1.0, 100)
    found = losses[quantile_ranks(50, levels, weights) - 1]
    assert found.tolist() == copies[quantile_ranks(len(copies), levels) - 1].tolist()
