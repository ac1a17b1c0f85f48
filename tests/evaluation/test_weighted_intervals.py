"""Intervals of risks of weighted rows: those of copies, and of theory, and their coverage."""

import numpy as np
import pytest

from lrisk_cli.evaluation.metrics import bootstrap_intervals, parse_risks
from lrisk_cli.evaluation.weighted_intervals import importance_intervals, unit_intervals

SPECTRA = parse_risks(["mean", "superquantile:0.7", "extremile:2", "subquantile:0.8"])


def test_intervals_of_units_are_those_of_copies():
    rng = np.random.default_rng(0)
    losses, weights = np.sort(rng.exponential(size=300)), rng.integers(1, 4, 300).astype(float)
    found = unit_intervals(losses, weights, SPECTRA, 1)
    copies = bootstrap_intervals(np.repeat(losses, weights.astype(int)), SPECTRA, 2)
    for name, (low, high) in copies.items():
        assert found[name] == pytest.approx((low, high), abs=0.1 * (high - low))


def test_equal_importances_give_the_intervals_of_the_bootstrap():
    losses = np.sort(np.random.default_rng(1).exponential(size=2000))
    found = importance_intervals(losses, np.full(2000, 7.0), SPECTRA)
    for name, (low, high) in bootstrap_intervals(losses, SPECTRA, 2).items():
        assert found[name] == pytest.approx((low, high), abs=0.1 * (high - low))


def test_importances_do_not_depend_on_their_unit():
    rng = np.random.default_rng(2)
    losses, weights = np.sort(rng.exponential(size=100)), rng.exponential(size=100)
    once = importance_intervals(losses, weights, SPECTRA)
    for name, ends in importance_intervals(losses, 1e-9 * weights, SPECTRA).items():
        assert once[name] == pytest.approx(ends, rel=1e-10)


def test_intervals_of_importances_cover_the_risk_of_the_population():
    """Rows drawn too often, weighted by the inverse of how often."""
    rng, inside, n_tables = np.random.default_rng(3), 0, 300
    (spectrum,) = parse_risks(["superquantile:0.5"])
    truth = 1.0 + np.log(2.0)
    for _ in range(n_tables):
        losses = np.sort(rng.gamma(2.0, size=400))
        ends = importance_intervals(losses, 1.0 / losses, [spectrum])
        inside += ends[str(spectrum)][0] <= truth <= ends[str(spectrum)][1]
    assert 0.9 < inside / n_tables < 0.99
