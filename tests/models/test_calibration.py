"""Calibrated margins against scikit-learn, SciPy and what calibration promises."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

from helpers.models import classes_of, make_model
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.models import calibration
from lrisk_cli.models.calibration import (
    calibrated_margins,
    fit_isotonic,
    fit_platt,
    learn_calibration,
    log_odds_of_classes,
)
from lrisk_cli.models.calibration_record import CalibrationCurve, CalibrationRecord
from lrisk_cli.models.model import build_model, encode_model
from lrisk_cli.models.model_file import decode_file
from lrisk_cli.names import CalibrationName

PLATT, ISOTONIC = CalibrationName.PLATT, CalibrationName.ISOTONIC


def rare(n: int = 4000, bias: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """Margins that are too large by a bias and a factor, and the classes."""
    rng = np.random.default_rng(5)
    z = rng.normal(-4.0, 1.5, n)
    return (1.6 * z + bias)[:, None], np.asarray(rng.random(n) < expit(z), np.int32)


def many(n: int = 3000, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(6)
    Z = rng.normal(size=(n, k)) * 2.0 + np.array([0.0, -1.0, -3.0, 1.0])[:k]
    codes = np.array([rng.choice(k, p=p) for p in softmax(0.5 * Z - 0.3, axis=1)], np.int32)
    return Z, codes


def probabilities(record: CalibrationRecord, Z: np.ndarray, k: int) -> np.ndarray:
    return make_loss("logistic", k).probabilities(calibrated_margins(record, Z))


def test_platt_is_the_sigmoid_of_scikit_learn():
    Z, codes = rare()
    slope, (intercept,) = fit_platt(Z, codes, 2)
    oracle = _SigmoidCalibration().fit(Z[:, 0], codes)
    np.testing.assert_allclose([slope, intercept], [-oracle.a_, -oracle.b_], rtol=1e-4)
    record = learn_calibration(PLATT, Z, codes, 2, 5)
    grid = np.linspace(-20.0, 20.0, 50)
    np.testing.assert_allclose(
        probabilities(record, grid[:, None], 2)[:, 1], oracle.predict(grid), rtol=1e-4
    )


@pytest.mark.parametrize("k", [2, 4])
def test_platt_minimises_the_cross_entropy_with_its_targets(k):
    """The oracle is SciPy, from another start and with nothing said of derivatives."""
    Z, codes = rare(1500) if k == 2 else many(1500)
    slope, intercepts = fit_platt(Z, codes, k)
    counts = np.bincount(codes, minlength=k)
    T = np.array([[1.0 / (counts[c] + 2) / (k - 1)] * k for c in codes])
    T[np.arange(len(codes)), codes] = (counts[codes] + 1) / (counts[codes] + 2)
    full = np.column_stack([np.zeros(len(Z)), Z]) if k == 2 else Z
    b = np.array([0.0, *intercepts]) if k == 2 else np.array(intercepts)

    def cross_entropy(theta):
        logs = log_softmax(theta[0] * full + np.append(0.0, theta[1:]), axis=1)
        return -np.mean(np.sum(T * logs, axis=1))

    mine = np.append(slope, (b - b[0])[1:])
    best = minimize(cross_entropy, np.full(k, 0.3), method="BFGS", options={"gtol": 1e-9})
    assert cross_entropy(mine) <= best.fun + 1e-12
    np.testing.assert_allclose(mine, best.x, rtol=1e-3, atol=1e-3)
    # The derivative in each intercept: mean probabilities are those of the targets.
    record = learn_calibration(PLATT, Z, codes, k, 5)
    np.testing.assert_allclose(probabilities(record, Z, k).mean(axis=0), T.mean(axis=0), rtol=1e-9)


@pytest.mark.parametrize("k", [2, 4])
def test_platt_takes_few_passes_over_many_rows(monkeypatch, k):
    """Rounding of the sums must not keep the line search busy."""
    Z, codes = rare(100_000) if k == 2 else many(20_000)
    passes, derivatives = [], calibration._derivatives

    def counted(*arguments):
        passes.append(1)
        return derivatives(*arguments)

    monkeypatch.setattr(calibration, "_derivatives", counted)
    fit_platt(Z, codes, k)
    assert len(passes) <= 15


def test_isotonic_is_the_regression_of_scikit_learn():
    Z, codes = rare()
    Z = np.round(Z, 2)  # rows with equal scores
    curve = fit_isotonic(Z[:, 0], codes == 1)
    n = len(Z)
    oracle = IsotonicRegression(y_min=1 / (n + 2), y_max=(n + 1) / (n + 2), out_of_bounds="clip")
    oracle.fit(Z[:, 0], codes)
    grid = np.linspace(-20.0, 20.0, 3001)
    record = learn_calibration(ISOTONIC, Z, codes, 2, 5)
    assert record.curves == (curve,)
    np.testing.assert_allclose(
        probabilities(record, grid[:, None], 2)[:, 1], oracle.predict(grid), rtol=1e-9
    )


def test_isotonic_of_many_classes_is_one_against_the_rest_normalised():
    Z, codes = many()
    record = learn_calibration(ISOTONIC, Z, codes, 4, 5)
    n, found = len(Z), probabilities(record, Z, 4)
    P = softmax(Z, axis=1)
    each = np.column_stack(
        [
            IsotonicRegression(y_min=1 / (n + 2), y_max=(n + 1) / (n + 2), out_of_bounds="clip")
            .fit(np.log(P[:, c] / (1.0 - P[:, c])), codes == c)
            .predict(np.log(P[:, c] / (1.0 - P[:, c])))
            for c in range(4)
        ]
    )
    np.testing.assert_allclose(found, each / each.sum(axis=1)[:, None], rtol=1e-6)


def test_log_odds_of_a_class_keep_their_digits():
    Z = np.array([[800.0, 0.0, 0.0], [0.0, 40.0, 0.0], [1e6, 0.0, 1.0], [0.0, 0.0, 0.0]])
    odds = log_odds_of_classes(Z)
    assert odds[0, 0] > 700.0
    np.testing.assert_allclose(odds[1, 1], 40.0 - np.log(2.0))
    np.testing.assert_allclose(odds[1, 0], -40.0, rtol=1e-12)
    np.testing.assert_allclose(odds[3], -np.log(2.0))
    assert np.isfinite(odds).all()


@pytest.mark.parametrize("method", CalibrationName)
def test_calibration_corrects_the_mean_and_keeps_the_order(method):
    Z, codes = rare()
    before = expit(Z[:, 0]).mean()
    record = learn_calibration(method, Z, codes, 2, 5)
    after = probabilities(record, Z, 2)[:, 1]
    assert before > 1.5 * codes.mean()
    assert abs(after.mean() - codes.mean()) < 1e-3
    assert np.all(np.diff(after[np.argsort(Z[:, 0])]) >= 0.0)


@pytest.mark.parametrize("method", CalibrationName)
@pytest.mark.parametrize("k", [2, 3])
def test_no_loss_is_infinite_where_scores_separate_the_classes(method, k):
    codes = np.repeat(np.arange(k, dtype=np.int32), 20)
    Z = np.eye(k)[codes] * 1e4 + np.linspace(0.0, 1.0, len(codes))[:, None]
    Z = Z[:, 1:] - Z[:, :1] if k == 2 else Z
    record = learn_calibration(method, Z, codes, k, 5)
    loss, extreme = make_loss("logistic", k), np.concatenate([Z, -Z])
    for code in range(k):
        targets = loss.targets(np.full(len(extreme), code))
        losses = loss.values(calibrated_margins(record, np.ascontiguousarray(extreme)), targets)
        assert np.isfinite(losses).all()
        assert losses.min() >= 0.0
    if method is ISOTONIC:
        assert probabilities(record, Z, k).min() >= 1.0 / (len(codes) + 2.0) / k


@pytest.mark.parametrize("method", CalibrationName)
def test_scores_in_reverse_give_a_constant(method):
    Z, codes = rare()
    record = learn_calibration(method, -Z, codes, 2, 5)
    after = probabilities(record, Z, 2)[:, 1]
    assert np.ptp(after) < 0.05
    assert abs(after.mean() - codes.mean()) < 2e-3


@pytest.mark.parametrize("method", CalibrationName)
def test_equal_scores_give_the_fraction_of_the_class(method):
    codes = np.repeat(np.array([0, 1], np.int32), [30, 10])
    record = learn_calibration(method, np.full((40, 1), 2.5), codes, 2, 5)
    assert abs(probabilities(record, np.full((1, 1), 2.5), 2)[0, 1] - 0.25) < 0.03


@pytest.mark.parametrize("method", CalibrationName)
@pytest.mark.parametrize("k", [2, 3])
def test_a_calibrated_model_is_the_same_after_its_file(method, k):
    Z, codes = rare(300) if k == 2 else many(300, 3)
    record = learn_calibration(method, Z, codes, k, 5)
    model = make_model(classes_of(k), 1 if k == 2 else k, calibration=record)
    data = encode_model(model)
    again = build_model(decode_file(data, "m.json"))
    assert again.calibration == record
    assert encode_model(again) == data
    assert b"calibration" not in encode_model(model.uncalibrated)
    other = make_model(classes_of(5 - k), 3 if k == 2 else 1, calibration=record)
    with pytest.raises(ValueError, match=f"does not fit {5 - k} classes"):
        build_model(decode_file(encode_model(other), "m.json"))


CURVE = CalibrationCurve(scores=(0.0, 1.0), probabilities=(0.1, 0.2))
GOOD = CalibrationRecord(method="isotonic", folds=5, rows=10, curves=(CURVE,))


@pytest.mark.parametrize(
    ("bad", "finding"),
    [
        (replace_struct, finding)
        for replace_struct, finding in [
            ({"curves": (CURVE, CURVE)}, "does not fit 2 classes"),
            ({"curves": ()}, "does not fit 2 classes"),
            ({"slope": 1.0}, "has a slope and is not platt"),
            ({"method": "platt"}, "has none and is"),
            ({"method": "platt", "slope": 1.0}, "does not fit 2 classes"),
            ({"curves": (CalibrationCurve(scores=(1.0, 1.0), probabilities=(0.1, 0.2)),)}, "rise"),
            ({"curves": (CalibrationCurve(scores=(1.0,), probabilities=(0.1, 0.2)),)}, "rise"),
            ({"curves": (CalibrationCurve(scores=(), probabilities=()),)}, "rise"),
        ]
    ],
)
def test_a_calibration_that_cannot_be_is_damage(bad, finding):
    from msgspec.structs import replace as changed

    GOOD.check(2)
    with pytest.raises(ValueError, match=finding):
        changed(GOOD, **bad).check(2)
    with pytest.raises(ValueError, match="a number are calibrated"):
        GOOD.check(0)


def test_margins_of_the_fit_are_those_without_its_calibration():
    from lrisk_cli.rows.dense import DenseRows

    Z, codes = rare(300)
    model = make_model(classes_of(2))
    X = DenseRows(np.random.default_rng(0).normal(size=(9, model.encoding.n_columns)))
    record = learn_calibration(PLATT, Z, codes, 2, 5)
    after = replace(model, calibration=record)
    raw = model.margins(X)
    np.testing.assert_array_equal(after.uncalibrated.margins(X), raw)
    np.testing.assert_array_equal(after.margins(X), calibrated_margins(record, raw))
