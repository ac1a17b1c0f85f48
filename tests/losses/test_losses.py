"""Losses: values, slopes and curvatures against finite differences and plain formulas."""

from dataclasses import fields
from decimal import Decimal
from types import ModuleType

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from helpers.losses import (
    EVERY_LOSS,
    draw_targets,
    exact_derivatives,
    exact_loss,
    id_of,
    use_sixty_digits,
)
from helpers.problems import kernel_builds
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Task
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

use_sixty_digits()
# Half a unit in the last place of 1; exp and log1p may be off by two, as rounding.py says.
UNIT = 2.0**-53
BINARY, MANY = make_loss("logistic", 2), make_loss("logistic", 4)
each_loss = pytest.mark.parametrize("loss", EVERY_LOSS, ids=id_of)


def _rows(loss: Loss, n: int = 40, scale: float = 2.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    Z = scale * rng.standard_normal((n, loss.n_outputs))
    return Z, draw_targets(loss, rng.standard_normal((n, max(loss.n_outputs, 2))), rng)


@each_loss
def test_derivatives_are_those_of_the_values(loss: Loss) -> None:
    Z, y = _rows(loss)
    slopes, h = loss.derivatives(Z, y), 1e-6
    for c in range(loss.n_outputs):
        step = np.zeros_like(Z)
        step[:, c] = h
        numeric = (loss.values(Z + step, y) - loss.values(Z - step, y)) / (2 * h)
        np.testing.assert_allclose(slopes[:, c], numeric, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", [each for each in EVERY_LOSS if each.n_outputs == 1], ids=id_of)
def test_the_curvature_is_the_derivative_of_the_derivative(loss: Loss) -> None:
    Z, y = _rows(loss)
    h = 1e-6
    numeric = (loss.derivatives(Z + h, y) - loss.derivatives(Z - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(Z, y), numeric[:, 0], rtol=1e-7, atol=1e-8)


def test_the_curvature_of_several_margins_is_the_trace_of_their_matrix() -> None:
    Z, y = _rows(MANY)
    traces = [np.trace(np.diag(p) - np.outer(p, p)) for p in softmax(Z, axis=1)]
    np.testing.assert_allclose(MANY.curvature(Z, y), traces, rtol=1e-12)


@each_loss
def test_values_and_derivatives_are_the_values_and_the_derivatives(loss: Loss) -> None:
    Z, y = _rows(loss)
    values, derivatives = loss.values_and_derivatives(Z, y)
    assert (values == loss.values(Z, y)).all()
    assert (derivatives == loss.derivatives(Z, y)).all()


@each_loss
def test_smoothness_bounds_the_curvature_or_there_is_no_bound(loss: Loss) -> None:
    Z, y = _rows(loss, n=200)
    if loss.n_outputs == 1:
        largest = loss.curvature(Z, y).max()
    else:
        P = loss.probabilities(Z)
        matrices = np.array([np.diag(p) - np.outer(p, p) for p in P])
        largest = np.linalg.eigvalsh(matrices).max()
    assert largest <= loss.smoothness * (1 + 1e-12)
    expected = loss.row_smoothness(y)
    assert expected.shape == (200,)
    assert np.isfinite(expected).all()


@each_loss
@pytest.mark.parametrize("scale", [1e-12, 1e-4, 1.0, 30.0])
def test_values_and_derivatives_are_as_exact_as_the_loss_states(loss: Loss, scale: float) -> None:
    """Near a perfect fit too, where plain formulas cancel."""
    Z, y = _rows(loss, scale=scale)
    if loss.takes_exposure:
        some = y[:, 0] > 0
        Z[some, 0] += np.log(y[some, 0] / y[some, 1])
    elif loss.task is Task.REGRESSION:
        Z[:, 0] += y
    values, derivatives = loss.values_and_derivatives(Z, y)
    wide_values, wide_derivatives = loss.wide(Z.astype(np.longdouble), y)
    moved = loss.margin_errors(Z, y)
    own = loss.roundings
    for i, row in enumerate(Z):
        z = [Decimal(number) for number in row.tolist()]
        exact = float(exact_loss(loss, z, y[i]))
        slopes = np.array([float(each) for each in exact_derivatives(loss, z, y[i])])
        off = 0.0 if moved is None else moved[i] * abs(slopes[0]) + moved[i] ** 2 * UNIT
        assert abs(values[i] - exact) <= UNIT * (own.value * exact + own.absolute + 1.01 * off)
        assert abs(float(wide_values[i]) - exact) <= 2 * UNIT * exact + off * UNIT / 100
        bend = (
            0.0 if moved is None else 1.01 * moved[i] * loss.curvature(Z[i : i + 1], y[i : i + 1])
        )
        within = UNIT * (own.derivative * np.abs(slopes).max() + bend)
        assert (np.abs(derivatives[i] - slopes) <= within).all()
        assert (np.abs(wide_derivatives[i].astype(float) - slopes) <= within).all()


@each_loss
def test_losses_are_not_negative_and_convex(loss: Loss) -> None:
    Z, y = _rows(loss, n=300, scale=5.0)
    other = np.random.default_rng(1).standard_normal(Z.shape)
    ends = loss.values(Z, y) + loss.values(other, y)
    assert (loss.values(Z, y) >= 0.0).all()
    assert (loss.values(0.5 * (Z + other), y) <= 0.5 * ends * (1 + 1e-12)).all()


@each_loss
def test_the_loss_of_a_scaled_target_is_the_scaled_loss(loss: Loss) -> None:
    if not loss.scales_targets or loss.task is not Task.REGRESSION:
        assert loss.scaled(3.0) == loss
        return
    Z, y = _rows(loss)
    scaled = loss.scaled(4.0).values(Z / 4.0, y / 4.0)
    factor = 4.0 if loss.kinked else 16.0
    np.testing.assert_allclose(scaled, loss.values(Z, y) / factor, rtol=1e-13)


@each_loss
def test_sizes_are_those_of_errors_and_rise_with_the_loss(loss: Loss) -> None:
    losses = np.array([0.0, 1e-9, 0.1, 0.24, 0.25, 1.0, 50.0])
    sizes = loss.sizes(losses)
    assert (sizes is None) == (loss.task is Task.CLASSIFICATION)
    if sizes is not None:
        assert sizes[0] == 0.0
        assert (np.diff(sizes) > 0.0).all()
        assert sizes is not losses


@each_loss
def test_predictions_are_on_the_scale_of_the_mean(loss: Loss) -> None:
    Z, _ = _rows(loss)
    exposure = np.full(len(Z), 2.0)
    found = loss.predict(Z, exposure if loss.takes_exposure else None)
    if loss.log_link:
        np.testing.assert_allclose(found, 2.0 * np.exp(Z[:, 0]))
        np.testing.assert_allclose(loss.predict(Z), np.exp(Z[:, 0]))
    elif loss.task is Task.REGRESSION:
        assert (found == Z[:, 0]).all()
    else:
        assert (found == np.argmax(loss.probabilities(Z), axis=1)).all()


@each_loss
def test_a_loss_that_states_no_roundings_proves_nothing(loss: Loss) -> None:
    class Silent(type(loss)):
        __slots__ = ()
        roundings = None

    silent = Silent(*(getattr(loss, each.name) for each in fields(loss)))
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = draw_targets(loss, X @ np.ones((2, max(loss.n_outputs, 2))), np.random.default_rng(1))
    found = solve(
        make_problem(DenseRows(X), y, silent, parse_risk("mean"), 0.1), SolverOptions(), Limits()
    )
    assert not found.converged
    assert found.certificate.lower_bound == 0.0
    assert "rounding errors of this loss are not known" in found.status


def test_logistic_values_and_probabilities_match_scipy() -> None:
    binary, many = BINARY, MANY
    Z, y = _rows(binary)
    np.testing.assert_allclose(binary.values(Z, y), -np.log(expit(np.where(y, 1, -1) * Z[:, 0])))
    np.testing.assert_allclose(binary.probabilities(Z)[:, 1], expit(Z[:, 0]))
    Z, y = _rows(many)
    np.testing.assert_allclose(many.values(Z, y), -log_softmax(Z, axis=1)[np.arange(len(y)), y])
    np.testing.assert_allclose(many.probabilities(Z), softmax(Z, axis=1))


@pytest.mark.parametrize("z", [0.0, 30.0, -30.0, 800.0, -800.0, 1e300, -1e300])
def test_extreme_margins_do_not_overflow(z: float) -> None:
    binary, many = BINARY, MANY
    for label in (0, 1):
        value = binary.values(np.array([[z]]), np.array([float(label)]))[0]
        assert value == pytest.approx(np.logaddexp(0, z) - label * z, rel=1e-12)
        assert abs(binary.derivatives(np.array([[z]]), np.array([float(label)]))[0, 0]) <= 1.0
    Z = np.array([[z, 0.0, -z, 1.0]])
    assert np.isfinite(many.values(Z, np.array([0], dtype=np.int32))).all()
    assert many.probabilities(Z).sum() == pytest.approx(1.0)


def test_small_probabilities_keep_their_digits() -> None:
    first, second = BINARY.probabilities(np.array([[50.0]]))[0]
    assert first == pytest.approx(np.exp(-50.0), rel=1e-12)
    assert second == 1.0


each_build = pytest.mark.parametrize("core", kernel_builds(), ids=lambda core: core.__name__)
LONG_IS_WIDE = np.finfo(np.longdouble).eps < UNIT / 100


def multinomial_pass(
    core: ModuleType, Z: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    losses, slopes = np.empty(len(Z)), np.empty_like(Z)
    core.multinomial_pass(Z, labels.astype(np.int32), losses, slopes)
    return losses, slopes


def worst(found: np.ndarray, exact: np.ndarray) -> float:
    """The largest relative error, in units."""
    return float(np.max(np.abs((found - exact) / exact))) / UNIT


@each_build
@pytest.mark.skipif(not LONG_IS_WIDE, reason="LONG DOUBLES ARE DOUBLES HERE: no oracle")
def test_exponentials_and_logarithms_are_good_to_a_unit_in_the_last_place(
    core: ModuleType,
) -> None:
    rng = np.random.default_rng(0)
    t = np.concatenate([rng.uniform(0, top, 100_000) for top in (1.0, 40.0, 600.0)])
    t = np.concatenate([t, 10.0 ** rng.uniform(-20, 0, 10_000)])
    Z = np.stack([np.zeros_like(t), -t], axis=1)
    exact = np.exp(-t.astype(np.longdouble))
    first = np.zeros(len(t))
    losses, slopes = multinomial_pass(core, Z, first)
    # exp and log1p, two units each.
    assert worst(losses, np.log1p(exact)) <= 4.0
    # exp, a sum, a quotient, a product.
    assert worst(slopes[:, 1], exact / (1 + exact)) <= 5.0
    assert (slopes[:, 0] == -slopes[:, 1]).all()
    P, far = np.empty_like(Z), t > 40.0
    core.softmax_rows(Z, P)
    assert worst(P[far, 1], exact[far]) <= 2.0
    # The other label: the loss is t more, and t - log(1 + e^-t) is rounded once.
    losses, _ = multinomial_pass(core, Z, first + 1)
    assert worst(losses, np.log1p(exact) + t) <= 5.0


@each_build
@pytest.mark.skipif(not LONG_IS_WIDE, reason="LONG DOUBLES ARE DOUBLES HERE: no oracle")
@pytest.mark.parametrize("k", [3, 6, 8, 9, 60, 301])
def test_many_classes_add_no_more_than_the_roundings_of_their_sums(
    core: ModuleType, k: int
) -> None:
    rng = np.random.default_rng(k)
    Z, labels = 4.0 * rng.standard_normal((333, k)), rng.integers(0, k, 333)
    rows = np.arange(len(Z))
    losses, slopes = multinomial_pass(core, Z, labels)
    wide, top = Z.astype(np.longdouble), np.argmax(Z, axis=1)
    powers = np.exp(wide - wide[rows, top][:, None])
    exact = powers / powers.sum(axis=1)[:, None]
    powers[rows, top] = 0.0
    exact_losses = np.log1p(powers.sum(axis=1)) + (wide[rows, top] - wide[rows, labels])
    exact[rows, labels] = 0.0
    exact[rows, labels] = -exact.sum(axis=1)
    # The arguments of exp are rounded differences of margins: each is off by its size in units.
    spread = float(np.ptp(Z, axis=1).max())
    assert worst(losses, exact_losses) <= 8 + k + spread
    assert worst(slopes, exact) <= 8 + 2 * k + spread


@each_build
@pytest.mark.parametrize("k", [2, 3, 5, 8, 11])
def test_the_loss_of_a_row_does_not_depend_on_its_neighbours(core: ModuleType, k: int) -> None:
    rng = np.random.default_rng(k)
    Z, labels = rng.standard_normal((131, k)), rng.integers(0, k, 131)
    losses, slopes = multinomial_pass(core, Z, labels)
    P = np.empty_like(Z)
    core.softmax_rows(Z, P)
    for i in range(len(Z)):
        one = slice(i, i + 1)
        loss, slope = multinomial_pass(core, Z[one], labels[one])
        p = np.empty((1, k))
        core.softmax_rows(Z[one], p)
        assert loss[0] == losses[i]
        assert (slope[0] == slopes[i]).all()
        assert (p[0] == P[i]).all()


@each_build
def test_margins_that_are_no_numbers_give_losses_that_are_none(core: ModuleType) -> None:
    labels = np.zeros(1)
    for row in ([np.nan, 0.0, 0.0], [0.0, np.nan, 1.0], [0.0, np.inf, 1.0], [-np.inf, 0.0, 0.0]):
        losses, _ = multinomial_pass(core, np.array([row]), labels)
        assert not np.isfinite(losses[0])
    losses, slopes = multinomial_pass(core, np.array([[0.0, -np.inf, -1e308]]), labels)
    assert losses[0] == 0.0
    assert (slopes == 0.0).all()
