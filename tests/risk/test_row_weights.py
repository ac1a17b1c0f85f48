"""Risks and weights: the properties that make a spectral risk, and smoothing against its bounds."""

from itertools import permutations
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from lrisk_cli.names import SmoothingName
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.row_weights import RowWeighter, Smoothing, rank_rows, row_weights
from lrisk_cli.risk.spectrum import Spectrum, parse_risk

SPECTRA = [
    "mean", "superquantile:0.5", "superquantile:0.9", "extremile:2", "esrm:1",
    "subquantile:0.7", "lower-extremile:3",
]  # fmt: skip
RISING = SPECTRA[:5]
LOSSES = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1e6))
TIED = arrays(np.float64, st.integers(1, 40), elements=st.sampled_from([0.0, 1.0, 2.5]))


def spectral_risk(losses: np.ndarray, spectrum: Spectrum) -> float:
    return RowWeighter(spectrum, spectrum.weights(len(losses))).weigh(losses).value


@pytest.mark.parametrize("name", SPECTRA)
@given(losses=LOSSES | TIED)
def test_risk_lies_between_the_least_and_the_largest_loss(name: str, losses: np.ndarray) -> None:
    value = spectral_risk(losses, parse_risk(name))
    slack = 1e-12 * (1.0 + losses.max())
    assert losses.min() - slack <= value <= losses.max() + slack


@pytest.mark.parametrize("name", SPECTRA)
@given(losses=LOSSES | TIED, seed=st.integers(0, 99))
def test_row_order_does_not_matter(name: str, losses: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(losses))
    spectrum = parse_risk(name)
    assert spectral_risk(losses[order], spectrum) == spectral_risk(losses, spectrum)
    assert (row_weights(losses[order], spectrum) == row_weights(losses, spectrum)[order]).all()


@pytest.mark.parametrize("name", SPECTRA)
@given(losses=LOSSES, scale=st.floats(0.01, 100), shift=st.floats(0, 100))
def test_risk_follows_scale_and_shift(
    name: str, losses: np.ndarray, scale: float, shift: float
) -> None:
    spectrum = parse_risk(name)
    moved = spectral_risk(scale * losses + shift, spectrum)
    expected = scale * spectral_risk(losses, spectrum) + shift
    assert moved == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(losses=LOSSES)
def test_rising_risks_are_at_least_the_mean_and_falling_ones_at_most(losses: np.ndarray) -> None:
    for name in SPECTRA:
        spectrum = parse_risk(name)
        difference = spectral_risk(losses, spectrum) - losses.mean()
        slack = 1e-9 * (1.0 + losses.max())
        assert difference >= -slack if spectrum.rising else difference <= slack


@pytest.mark.parametrize("name", SPECTRA)
def test_risk_is_the_extreme_over_all_permutations(name: str) -> None:
    spectrum = parse_risk(name)
    losses = np.array([0.3, 2.0, 0.3, 1.1, 0.0])
    sigma = spectrum.weights(5)
    values = [float(sigma[list(p)] @ losses) for p in permutations(range(5))]
    extreme = max(values) if spectrum.rising else min(values)
    assert spectral_risk(losses, spectrum) == pytest.approx(extreme, rel=1e-14)


def test_equal_losses_share_their_weight() -> None:
    lam = row_weights(np.array([1.0, 3.0, 3.0, 0.0]), parse_risk("superquantile:0.75"))
    assert lam.tolist() == [0.0, 0.5, 0.5, 0.0]


def test_rank_one_is_the_largest_loss_and_ties_keep_row_order() -> None:
    assert rank_rows(np.array([1.0, 5.0, 5.0, 0.0])).tolist() == [3, 1, 2, 4]


# Kullback-Leibler and chi-square divergence of the spectrum from the uniform one.
DIVERGENCES = {
    "superquantile:0.5": (-log(0.5), 0.5 / 0.5),
    "superquantile:0.37": (-log(0.63), 0.37 / 0.63),
    "extremile:2": (log(2.0) + 1.0 / 2.0 - 1.0, 1.0 / 3.0),
}


@pytest.mark.parametrize("smoothing", [SmoothingName.L2, SmoothingName.ENTROPY])
@pytest.mark.parametrize("name", DIVERGENCES)
@given(
    losses=arrays(np.float64, st.integers(2, 30), elements=st.floats(0, 50)), nu=st.floats(0.01, 10)
)
def test_smoothed_risk_is_within_its_bound(
    name: str, smoothing: SmoothingName, losses: np.ndarray, nu: float
) -> None:
    spectrum = parse_risk(name)
    smooth = Smoothing(smoothing, nu)
    sigma = spectrum.weights(len(losses))
    found = RowWeighter(spectrum, sigma, smooth).weigh(losses)
    slack = 1e-10 * (1.0 + losses.max())
    assert -slack <= found.value - found.smoothed <= smooth.penalty(sigma) + slack
    kl, chi2 = DIVERGENCES[name]
    divergence = kl if smoothing is SmoothingName.ENTROPY else chi2 / (2 * len(losses))
    assert smooth.penalty(sigma) <= nu * divergence * (1 + 1e-9) + slack


@pytest.mark.parametrize("smoothing", [SmoothingName.L2, SmoothingName.ENTROPY])
@pytest.mark.parametrize("name", ["superquantile:0.5", "extremile:2"])
def test_smoothed_weights_are_the_argmax(name: str, smoothing: SmoothingName) -> None:
    """Against a general solver over all mixtures of the permutations of sigma."""
    losses = np.array([0.1, 0.8, 0.75, 0.3])
    spectrum, smooth = parse_risk(name), Smoothing(smoothing, 0.7)
    sigma = spectrum.weights(4)
    corners = np.array([sigma[list(p)] for p in permutations(range(4))])

    def negative(mixture: np.ndarray) -> float:
        lam = mixture @ corners
        return -float(lam @ losses - smooth.penalty(lam))

    start = np.full(len(corners), 1.0 / len(corners))
    best = optimize.minimize(
        negative, start, method="SLSQP", bounds=[(0, 1)] * len(corners),
        constraints={"type": "eq", "fun": lambda m: m.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    found = RowWeighter(spectrum, sigma, smooth).weigh(losses)
    assert found.smoothed >= -best.fun - 1e-9
    np.testing.assert_allclose(found.lam, best.x @ corners, atol=2e-4)


def test_a_weigher_answers_the_same_whatever_it_saw_before() -> None:
    rng = np.random.default_rng(0)
    spectrum = parse_risk("extremile:2")
    sigma = spectrum.weights(500)
    used = RowWeighter(spectrum, sigma)
    for _ in range(5):
        losses = rng.standard_normal(500) ** 2
        fresh = RowWeighter(spectrum, sigma).weigh(losses)
        again = used.weigh(losses)
        assert again.value == fresh.value
        assert (again.lam == fresh.lam).all()


@given(losses=LOSSES | TIED, q=st.floats(0.01, 0.99))
def test_the_superquantile_needs_no_order(losses: np.ndarray, q: float) -> None:
    spectrum = parse_risk(f"superquantile:{q}")
    sigma = spectrum.weights(len(losses))
    found = RowWeighter(spectrum, sigma).weigh(losses)
    order, sorted_lam = np.argsort(losses, kind="stable").astype(np.int32), np.empty(len(losses))
    core.sorted_weights(losses, order, sigma, sorted_lam)
    np.testing.assert_allclose(found.lam, sorted_lam, rtol=1e-11, atol=1e-15)
    assert found.value == pytest.approx(float(sigma @ losses[order]), rel=1e-12)
    tracked = RowWeighter(spectrum, sigma, track_ranks=True).weigh(losses)
    assert (tracked.lam == found.lam).all()


def test_rank_changes_count_rows_that_moved() -> None:
    spectrum = parse_risk("extremile:2")
    row_weighter = RowWeighter(spectrum, spectrum.weights(4))
    assert row_weighter.weigh(np.array([1.0, 2.0, 3.0, 4.0])).rank_changes is None
    assert row_weighter.weigh(np.array([1.0, 3.0, 2.0, 4.0])).rank_changes == 2


@pytest.mark.parametrize("level", [0.01, 0.33, 0.5, 0.75, 0.999, 1.0])
@given(losses=LOSSES | TIED)
def test_the_subquantile_weighs_by_a_threshold_as_by_a_sort(
    level: float, losses: np.ndarray
) -> None:
    spectrum = Spectrum("subquantile", level)
    sigma = spectrum.weights(len(losses))
    expected = np.empty(len(losses))
    core.sorted_weights(losses, np.argsort(losses).astype(np.int32), sigma, expected)
    lam = RowWeighter(spectrum, sigma).weigh(losses).lam
    np.testing.assert_allclose(lam, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("smoothing", [SmoothingName.L2, SmoothingName.ENTROPY])
@pytest.mark.parametrize("risk", ["superquantile:0.9", "extremile:2"])
def test_a_smoothing_beyond_all_losses_gives_their_mean(
    smoothing: SmoothingName, risk: str
) -> None:
    losses, spectrum = np.array([3.0, 1.0, 0.25, 0.5, 2.0, 1.5, 7.0]), parse_risk(risk)
    nu = Smoothing(smoothing, 1e131)
    weighed = RowWeighter(spectrum, spectrum.weights(len(losses)), nu).weigh(losses)
    assert weighed.smoothed == pytest.approx(losses.mean(), rel=1e-15)
