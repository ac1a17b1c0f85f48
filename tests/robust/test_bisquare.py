"""The M-scale and the scale that leverage corrects solve their equations and are consistent."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import norm

from lrisk_cli.robust.bisquare import (
    FIT_TUNING,
    SCALE_TUNING,
    design_scale,
    m_scale,
    rho,
    weight,
)

RNG = np.random.default_rng(1)


def exact_rho(t: float, c: float) -> float:
    return 1.0 if abs(t) >= c else 3.0 * (t / c) ** 2 - 3.0 * (t / c) ** 4 + (t / c) ** 6


@pytest.mark.parametrize("n_columns", [0, 7])
def test_the_m_scale_solves_its_equation(n_columns: int) -> None:
    errors = RNG.standard_t(2, 60)

    def off(scale: float) -> float:
        total = sum(exact_rho(e / scale, SCALE_TUNING) for e in errors)
        return total / (60 - n_columns) - 0.5

    assert m_scale(errors, n_columns) == pytest.approx(brentq(off, 1e-3, 1e3), rel=1e-8)


def test_the_m_scale_of_normal_errors_is_their_deviation_and_breaks_down_at_half() -> None:
    errors = 3.0 * RNG.standard_normal(40_000)
    assert m_scale(errors) == pytest.approx(3.0, rel=0.02)
    errors[:19_000] = 1e9
    assert m_scale(errors) < 200.0
    assert m_scale(np.append(np.zeros(60), np.ones(40))) == 0.0


def test_the_weight_is_the_slope_of_rho() -> None:
    at = np.array([0.1, 1.0, 3.0, 4.6, 5.0])
    slopes = (rho(at + 1e-6, FIT_TUNING) - rho(at - 1e-6, FIT_TUNING)) / 2e-6
    expected = 6.0 / FIT_TUNING**2 * at * weight(at, FIT_TUNING)
    np.testing.assert_allclose(slopes, expected, atol=1e-8)


def test_without_leverage_the_design_scale_solves_its_equation() -> None:
    """sum w(t) (t^2 - kappa) = 0 with kappa = E w e^2 / E w by quadrature."""
    errors = RNG.standard_normal(200)
    moments = [
        quad(
            lambda e, k=k: (1.0 - (e / FIT_TUNING) ** 2) ** 2 * e**k * norm.pdf(e),
            -FIT_TUNING,
            FIT_TUNING,
        )[0]
        for k in (0, 2)
    ]
    kappa = moments[1] / moments[0]
    found = design_scale(errors, np.zeros(200), np.ones(200), 1.0)
    t = errors / found
    assert abs(float(weight(t, FIT_TUNING) @ (t**2 - kappa))) < 1e-3


def test_the_design_scale_makes_up_for_fitted_columns() -> None:
    ratios, plain = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows, y = rng.standard_normal((60, 20)), rng.standard_normal(60)
        beta = np.linalg.lstsq(rows, y, rcond=None)[0]
        errors = y - rows @ beta
        own = np.einsum("ij,ij->i", rows @ np.linalg.inv(rows.T @ rows), rows)
        ratios.append(design_scale(errors, own, np.ones(60), float(errors.std())))
        plain.append(float(errors.std()))
    assert np.mean(plain) < 0.85
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.06)
