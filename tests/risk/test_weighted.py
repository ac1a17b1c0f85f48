"""Rows with masses against copies of rows, all orders and all sets of rows."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.names import SmoothingName
from lrisk_cli.native.medians import weighted_median
from lrisk_cli.risk.row_weights import Projection, RowWeighter, Smoothing
from lrisk_cli.risk.spectrum import FAMILIES, Spectrum, parse_risk
from lrisk_cli.risk.weighted import (
    WeightedProjection,
    WeightedRowWeighter,
    make_masses,
    repair_masses,
    unit_weights,
)

RISING = [
    "mean",
    "superquantile:0.5",
    "superquantile:0.83",
    "extremile:2",
    "extremile:7.5",
    "esrm:3",
]
RISKS = [*RISING, "subquantile:0.7", "lower-extremile:3"]
SMOOTHED = [
    ("superquantile:0.6", SmoothingName.L2), ("extremile:3", SmoothingName.L2),
    ("superquantile:0.6", SmoothingName.ENTROPY), ("esrm:2", SmoothingName.ENTROPY),
    ("subquantile:0.7", SmoothingName.SOFTPLUS),
]  # fmt: skip
ROWS = st.integers(2, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.25, 3.0, 7.0]), min_size=n, max_size=n),
        st.lists(st.integers(1, 6), min_size=n, max_size=n),
        st.integers(0, 1),
    )
)


def rows_of(drawn: tuple[list[float], list[int], int]) -> tuple[np.ndarray, np.ndarray]:
    """Losses, some of them equal, and how often each occurs."""
    losses, counts, spread = drawn
    shift = spread * np.random.default_rng(len(losses)).uniform(0.0, 1.0, len(losses))
    return np.array(losses) + shift, np.array(counts)


def summed(lam: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weights of all copies of each row."""
    return np.add.reduceat(lam, np.cumsum(counts) - counts)


def heaviest(spectrum: Spectrum, mass: float, total: float) -> float:
    """What the spectrum gives to the heaviest mass, by its definition."""
    if spectrum.flat:
        return mass / total
    t, p = min(mass / total, 1.0), float(spectrum.parameter or 0.0)
    return {
        "superquantile": min(t / (1.0 - p), 1.0),
        "extremile": 1.0 - (1.0 - t) ** p,
        "esrm": np.expm1(-p * t) / np.expm1(-p),
        "subquantile": min(t / p, 1.0),
        "lower-extremile": 1.0 - (1.0 - t) ** p,
    }[spectrum.name]


@pytest.mark.parametrize("risk", RISKS)
@given(drawn=ROWS)
def test_a_row_with_a_mass_is_so_many_copies_of_it(
    risk: str, drawn: tuple[list[float], list[int], int]
) -> None:
    losses, counts = rows_of(drawn)
    spectrum = parse_risk(risk)
    copies = np.repeat(losses, counts)
    expected = RowWeighter(spectrum, spectrum.weights(len(copies))).weigh(copies)
    found = WeightedRowWeighter(spectrum, make_masses(counts)).weigh(losses)
    assert found.value == pytest.approx(expected.value, rel=1e-12, abs=1e-14)
    np.testing.assert_allclose(found.lam, summed(expected.lam, counts), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("risk", "name"), SMOOTHED)
@given(drawn=ROWS, nu=st.sampled_from([1e-3, 0.3, 5.0, 200.0]))
def test_smoothing_is_that_of_copies(
    risk: str, name: SmoothingName, drawn: tuple[list[float], list[int], int], nu: float
) -> None:
    losses, counts = rows_of(drawn)
    spectrum, smoothing = parse_risk(risk), Smoothing(name, nu)
    copies = np.repeat(losses, counts)
    expected = RowWeighter(spectrum, spectrum.weights(len(copies)), smoothing).weigh(copies)
    found = WeightedRowWeighter(spectrum, make_masses(counts), smoothing).weigh(losses)
    assert found.smoothed == pytest.approx(expected.smoothed, rel=1e-9, abs=1e-11)
    np.testing.assert_allclose(found.lam, summed(expected.lam, counts), rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("risk", RISING[1:])
@given(drawn=ROWS, scale=st.sampled_from([1e-3, 0.1, 10.0]))
def test_projection_is_that_of_copies(
    risk: str, drawn: tuple[list[float], list[int], int], scale: float
) -> None:
    losses, counts = rows_of(drawn)
    spectrum, n = parse_risk(risk), int(counts.sum())
    density = 1.0 / n + scale * losses / n
    expected, tied = Projection(spectrum, spectrum.weights(n))(np.repeat(density, counts))
    found, blocks = WeightedProjection(spectrum, make_masses(counts))(counts * density)
    np.testing.assert_allclose(found, summed(expected, counts), rtol=1e-9, atol=1e-13)
    assert blocks.masses is not None
    assert blocks.masses.tolist() == counts[blocks.rows].tolist()
    assert set(blocks.rows) <= set(np.repeat(np.arange(len(counts)), counts)[tied.rows])


@pytest.mark.parametrize("risk", RISKS)
def test_the_risk_is_the_extreme_over_all_orders(risk: str) -> None:
    """For masses that are not whole numbers."""
    spectrum = parse_risk(risk)
    losses, m = np.array([0.3, 2.0, 1.1, 0.0, 1.4]), np.array([0.4, 2.7, 1.1, 0.05, 3.3])
    values = []
    for order in permutations(range(5)):
        ends = np.cumsum(m[list(order)])
        heights = [0.0, *(heaviest(spectrum, end, float(m.sum())) for end in ends)]
        values.append(float(np.diff(heights) @ losses[list(order)]))
    extreme = max(values) if spectrum.rising else min(values)
    found = WeightedRowWeighter(spectrum, make_masses(m)).weigh(losses)
    assert found.value == pytest.approx(extreme, rel=1e-13)
    doubled = WeightedRowWeighter(spectrum, make_masses(0.013 * m)).weigh(losses)
    np.testing.assert_allclose(doubled.lam, found.lam, rtol=1e-12)


@pytest.mark.parametrize("risk", RISING)
@given(seed=st.integers(0, 10**6))
def test_repaired_weights_are_allowed_for_every_set_of_rows(risk: str, seed: int) -> None:
    rng, spectrum = np.random.default_rng(seed), parse_risk(risk)
    n = int(rng.integers(2, 8))
    masses = make_masses(rng.lognormal(0.0, 1.5, n))
    lam, excess = repair_masses(rng.exponential(1.0, n) - 0.1, spectrum, masses)
    assert lam.sum() == pytest.approx(1.0, rel=1e-14)
    assert excess < 1e-13
    for size in range(1, n):
        for rows in map(list, combinations(range(n), size)):
            most = heaviest(spectrum, float(masses.values[rows].sum()), masses.total)
            assert lam[rows].sum() <= most * (1.0 + excess + 1e-13)


@pytest.mark.parametrize("risk", RISING)
@given(seed=st.integers(0, 10**6))
def test_allowed_weights_are_left_alone(risk: str, seed: int) -> None:
    rng, spectrum = np.random.default_rng(seed), parse_risk(risk)
    masses = make_masses(rng.lognormal(0.0, 1.5, 12))
    row_weighter = WeightedRowWeighter(spectrum, masses)
    lam = 0.5 * sum(row_weighter.weigh(rng.exponential(1.0, 12)).lam for _ in range(2))
    repaired, _ = repair_masses(lam, spectrum, masses)
    np.testing.assert_allclose(repaired, lam, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", FAMILIES)
def test_masses_of_one_give_the_bins_of_the_spectrum(name: str) -> None:
    spectrum, n = Spectrum(name, 0.61 if "quantile" in name else 3.7), 50
    heavier = np.arange(n)[::-1] if spectrum.rising else np.arange(n)
    found = spectrum.weights_of(np.ones(n), heavier.astype(np.float64), float(n))
    np.testing.assert_allclose(found, spectrum.weights(n), rtol=1e-11, atol=1e-16)
    ends = unit_weights(spectrum, float(n))
    np.testing.assert_allclose(ends, spectrum.weights(n)[[0, -1]], rtol=1e-11, atol=1e-16)


@given(drawn=ROWS)
def test_weighted_median_is_that_of_copies(drawn: tuple[list[float], list[int], int]) -> None:
    values, counts = rows_of(drawn)
    expected = float(np.median(np.repeat(values, counts)))
    assert weighted_median(values, counts.astype(np.float64)) == pytest.approx(expected, rel=1e-15)
    assert weighted_median(values, 0.1 * counts) == pytest.approx(expected, rel=1e-15)
