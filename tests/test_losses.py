"""Losses: values, slopes and curvatures against finite differences and plain formulas."""

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from lrisk_cli.losses import Loss, make_loss

LOSSES = [make_loss("squared"), make_loss("logistic", 2), make_loss("logistic", 4)]
NAMES = ["squared", "binary", "multinomial"]


def _rows(loss: Loss, n: int = 40, scale: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    Z = scale * rng.standard_normal((n, loss.n_outputs))
    n_classes = max(loss.n_outputs, 2)
    y = rng.standard_normal(n) if loss.name == "squared" else rng.integers(0, n_classes, n)
    return Z, loss.targets(y)


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_slopes_are_the_derivatives_of_the_values(loss: Loss) -> None:
    Z, y = _rows(loss)
    slopes, h = loss.slopes(Z, y), 1e-6
    for c in range(loss.n_outputs):
        step = np.zeros_like(Z)
        step[:, c] = h
        numeric = (loss.values(Z + step, y) - loss.values(Z - step, y)) / (2 * h)
        np.testing.assert_allclose(slopes[:, c], numeric, atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES[:2], ids=NAMES[:2])
def test_the_curvature_is_the_derivative_of_the_slope(loss: Loss) -> None:
    Z, y = _rows(loss)
    h = 1e-6
    numeric = (loss.slopes(Z + h, y) - loss.slopes(Z - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(Z), numeric[:, 0], atol=1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=NAMES)
def test_smoothness_bounds_the_curvature(loss: Loss) -> None:
    Z, _ = _rows(loss, n=200)
    if loss.n_outputs == 1:
        largest = loss.curvature(Z).max()
    else:
        P = loss.probabilities(Z)
        matrices = np.array([np.diag(p) - np.outer(p, p) for p in P])
        largest = np.linalg.eigvalsh(matrices).max()
    assert largest <= loss.smoothness * (1 + 1e-12)


def test_logistic_values_and_probabilities_match_scipy() -> None:
    binary, many = LOSSES[1], LOSSES[2]
    Z, y = _rows(binary)
    np.testing.assert_allclose(binary.values(Z, y), -np.log(expit(np.where(y, 1, -1) * Z[:, 0])))
    np.testing.assert_allclose(binary.probabilities(Z)[:, 1], expit(Z[:, 0]))
    Z, y = _rows(many)
    np.testing.assert_allclose(many.values(Z, y), -log_softmax(Z, axis=1)[np.arange(len(y)), y])
    np.testing.assert_allclose(many.probabilities(Z), softmax(Z, axis=1))


@pytest.mark.parametrize("z", [0.0, 30.0, -30.0, 800.0, -800.0, 1e300, -1e300])
def test_extreme_margins_do_not_overflow(z: float) -> None:
    binary, many = LOSSES[1], LOSSES[2]
    for label in (0, 1):
        value = binary.values(np.array([[z]]), np.array([float(label)]))[0]
        assert value == pytest.approx(np.logaddexp(0, z) - label * z, rel=1e-12)
        assert abs(binary.slopes(np.array([[z]]), np.array([float(label)]))[0, 0]) <= 1.0
    Z = np.array([[z, 0.0, -z, 1.0]])
    assert np.isfinite(many.values(Z, np.array([0], dtype=np.int32))).all()
    assert many.probabilities(Z).sum() == pytest.approx(1.0)


def test_small_probabilities_keep_their_digits() -> None:
    first, second = LOSSES[1].probabilities(np.array([[50.0]]))[0]
    assert first == pytest.approx(np.exp(-50.0), rel=1e-12)
    assert second == 1.0
