"""Divergences of spectra, compared with numerical integrals of their densities."""

import numpy as np
import pytest
from scipy.integrate import quad

from lrisk_cli.names import RISKS
from lrisk_cli.risk.density import density_of
from lrisk_cli.risk.spectrum import parse_risk

DENSITIES = {
    "superquantile:0.7": (lambda t: (t >= 0.7) / 0.3, [0.7]),
    "extremile:2.5": (lambda t: 2.5 * t**1.5, None),
    "esrm:2": (lambda t: 2 * np.exp(2 * (t - 1)) / (1 - np.exp(-2)), None),
    "esrm:0.0005": (lambda t: 0.0005 * np.exp(0.0005 * (t - 1)) / -np.expm1(-0.0005), None),
    "subquantile:0.6": (lambda t: (t <= 0.6) / 0.6, [0.6]),
    "lower-extremile:3": (lambda t: 3 * (1 - t) ** 2, None),
    "mean": (lambda t: 1.0 + 0.0 * t, None),
}


@pytest.mark.parametrize("text", DENSITIES)
def test_the_facts_are_the_integrals_and_suprema_of_the_density(text):
    s, points = DENSITIES[text]
    found = density_of(parse_risk(text))

    def integral(f):
        return quad(f, 0.0, 1.0, points=points, epsabs=1e-13)[0]

    kl = integral(lambda t: s(t) * np.log(s(t)) if s(t) > 0.0 else 0.0)
    assert found.kl == pytest.approx(kl, abs=1e-11)
    assert found.chi2 == pytest.approx(integral(lambda t: (s(t) - 1.0) ** 2), abs=1e-11)
    grid = np.linspace(0.0, 1.0, 100_001)
    values = np.array([float(s(t)) for t in grid])
    assert found.largest == pytest.approx(values.max())
    assert found.distance == pytest.approx(np.abs(values - 1.0).max(), abs=1e-12)


def test_every_risk_has_a_density():
    for name, choice in RISKS.items():
        text = name if choice.parameter is None else f"{name}:{choice.parameter.example:g}"
        assert density_of(parse_risk(text)).largest >= 1.0
