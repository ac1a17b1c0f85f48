"""Weights of rows against brute force over permutations, SciPy and exact fractions, both builds.

A lam maximises a concave h over the permutahedron P(sigma) when it lies in P(sigma) and no
permutation of sigma is better to first order: h'(lam) . (permuted sigma - lam) <= 0.
"""

from fractions import Fraction
from itertools import permutations
from types import ModuleType

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression
from scipy.special import logsumexp, softmax

from helpers.problems import kernel_builds

BUILDS = kernel_builds()
IDS = [build.__name__.rsplit(".", 1)[1] for build in BUILDS]
each_build = pytest.mark.parametrize("core", BUILDS, ids=IDS)
each_nu = pytest.mark.parametrize("nu", [1e-6, 1e-3, 0.1, 1.0, 30.0, 1e5])


def extremile(n: int, r: float = 2.0) -> np.ndarray:
    sigma = np.diff((np.arange(n + 1) / n) ** r)
    return np.sort(sigma) / sigma.sum()


def superquantile(n: int, q: float) -> np.ndarray:
    tail = n * (1.0 - q)
    return np.clip(tail - np.arange(n)[::-1], 0.0, 1.0) / tail


SPECTRA = {
    "extremile": extremile,
    "steep": lambda n: extremile(n, 40.0),
    "half": lambda n: superquantile(n, 0.5),
    "fraction": lambda n: superquantile(n, 0.37),
    "mean": lambda n: np.full(n, 1.0 / n),
    "largest": lambda n: np.eye(n)[-1],
}
each_spectrum = pytest.mark.parametrize("spectrum", SPECTRA)
spectra = st.sampled_from(sorted(SPECTRA))
# Whole and half numbers bring ties, the rest everything else.
loss_lists = st.lists(
    st.one_of(st.integers(0, 6).map(lambda k: k / 2.0), st.floats(0.0, 10.0)),
    min_size=1,
    max_size=60,
).map(sorted)


def pav_l2(core: ModuleType, losses: np.ndarray, sigma: np.ndarray, nu: float) -> np.ndarray:
    lam, starts = np.full(len(losses), np.nan), np.empty(len(losses), dtype=np.int32)
    n_blocks = core.pav_l2(losses, sigma, nu, lam, starts)
    assert_blocks(lam, sigma, starts[:n_blocks])
    return lam


def pav_entropy(core: ModuleType, losses: np.ndarray, sigma: np.ndarray, nu: float) -> np.ndarray:
    n = len(losses)
    lam, starts = np.full(n, np.nan), np.empty(n, dtype=np.int32)
    n_blocks = core.pav_entropy(losses, sigma, nu, lam, starts, np.empty(n))
    assert_blocks(lam, sigma, starts[:n_blocks])
    return lam


def capped(core: ModuleType, z: np.ndarray, cap: float) -> np.ndarray:
    lam = np.full(len(z), np.nan)
    core.capped_simplex(z, cap, lam, np.empty(len(z)))
    return lam


def assert_blocks(lam: np.ndarray, sigma: np.ndarray, starts: np.ndarray) -> None:
    """Blocks cover the rows, and each shares out exactly the sigma of its own rows."""
    assert starts[0] == 0
    assert np.all(np.diff(starts) > 0)
    np.testing.assert_allclose(
        np.add.reduceat(lam, starts), np.add.reduceat(sigma, starts), rtol=1e-14, atol=1e-16
    )


def assert_in_permutahedron(lam: np.ndarray, sigma: np.ndarray) -> None:
    """lam >= 0, the total is 1, the k least of lam never fall below the k least of sigma."""
    least, floor = (np.cumsum(np.sort(w), dtype=np.longdouble) for w in (lam, sigma))
    assert np.all(lam >= 0.0)
    assert abs(least[-1] - 1.0) <= 4e-15
    assert np.all(least >= floor - 4e-15)


def best_permutation_gain(slope: np.ndarray, lam: np.ndarray, sigma: np.ndarray) -> float:
    return max(float(slope @ (np.array(p) - lam)) for p in permutations(sigma))


@each_build
@each_nu
@each_spectrum
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_no_permutation_beats_the_l2_weights(
    core: ModuleType, spectrum: str, nu: float, n: int
) -> None:
    rng, sigma = np.random.default_rng(n), SPECTRA[spectrum](n)
    for losses in (np.sort(rng.random(n)), np.sort(rng.integers(0, 3, n) * 1.0)):
        lam = pav_l2(core, losses, sigma, nu)
        assert_in_permutahedron(lam, sigma)
        slope = losses / nu - lam
        assert best_permutation_gain(slope, lam, sigma) <= 1e-15 * (1.0 + np.abs(slope).max())


@each_build
@pytest.mark.parametrize("nu", [3e-3, 0.1, 1.0, 30.0, 1e5])
@each_spectrum
@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_no_permutation_beats_the_entropy_weights(
    core: ModuleType, spectrum: str, nu: float, n: int
) -> None:
    rng, sigma = np.random.default_rng(n), SPECTRA[spectrum](n)
    for losses in (np.sort(rng.random(n)), np.sort(rng.integers(0, 3, n) / 2.0)):
        lam = pav_entropy(core, losses, sigma, nu)
        assert_in_permutahedron(lam, sigma)
        slope = losses / nu - np.log(n * lam) - 1.0
        assert best_permutation_gain(slope, lam, sigma) <= 2e-15 * (1.0 + np.abs(slope).max())


@each_build
@given(losses=loss_lists, spectrum=spectra, exponent=st.integers(-3, 4))
def test_l2_weights_are_what_isotonic_regression_leaves(
    core: ModuleType, losses: list[float], spectrum: str, exponent: int
) -> None:
    z, sigma = np.array(losses) / 10.0**exponent, SPECTRA[spectrum](len(losses))
    lam = pav_l2(core, np.array(losses), sigma, 10.0**exponent)
    expected = z - isotonic_regression(z - sigma).x
    np.testing.assert_allclose(lam, expected, rtol=0, atol=1e-14 * (1.0 + z[-1]))
    assert_in_permutahedron(lam, sigma)


def exact_l2(losses: np.ndarray, sigma: np.ndarray, nu: float) -> np.ndarray:
    """PAV in fractions: blocks of [first, end, sum of z, sum of sigma]."""
    z = [Fraction(float(loss)) / Fraction(nu) for loss in losses]
    blocks: list[list] = []
    for i, (value, weight) in enumerate(zip(z, sigma, strict=True)):
        blocks.append([i, i + 1, value, Fraction(float(weight))])
        while len(blocks) > 1 and level(blocks[-2]) >= level(blocks[-1]):
            _, end, *sums = blocks.pop()
            blocks[-1] = [blocks[-1][0], end, blocks[-1][2] + sums[0], blocks[-1][3] + sums[1]]
    lam = [z[i] - level(block) for block in blocks for i in range(block[0], block[1])]
    return np.array([float(weight) for weight in lam])


def level(block: list) -> Fraction:
    first, end, z, sigma = block
    return (z - sigma) / (end - first)


@each_build
@each_nu
@each_spectrum
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_l2_weights_keep_their_digits_however_small_nu_is(
    core: ModuleType, spectrum: str, nu: float, offset: float
) -> None:
    """Losses whose neighbours differ by a few roundings, or by about nu sigma."""
    rng, n = np.random.default_rng(7), 60
    sigma = SPECTRA[spectrum](n)
    for spread in (1e-14, nu / n, 1.0):
        losses = np.sort(offset + spread * rng.random(n))
        lam = pav_l2(core, losses, sigma, nu)
        np.testing.assert_allclose(lam, exact_l2(losses, sigma, nu), rtol=0, atol=2e-16)


@each_build
@each_spectrum
def test_l2_projection_does_not_move_what_lies_in_the_permutahedron(
    core: ModuleType, spectrum: str
) -> None:
    rng, n = np.random.default_rng(8), 40
    sigma = SPECTRA[spectrum](n)
    inside = np.sort(np.mean([rng.permutation(sigma) for _ in range(5)], axis=0))
    np.testing.assert_allclose(pav_l2(core, inside, sigma, 1.0), inside, rtol=0, atol=1e-16)


@each_build
@given(losses=loss_lists, spectrum=spectra, nu=st.sampled_from([0.01, 1.0, 100.0]))
def test_falling_weights_mirror_rising_ones(
    core: ModuleType, losses: list[float], spectrum: str, nu: float
) -> None:
    array, sigma = np.array(losses), SPECTRA[spectrum](len(losses))
    falling = pav_l2(core, array, sigma[::-1].copy(), nu)
    mirrored = pav_l2(core, -array[::-1], sigma, nu)[::-1]
    np.testing.assert_allclose(falling, mirrored, rtol=0, atol=1e-15)


def log_domain_entropy(losses: np.ndarray, sigma: np.ndarray, nu: float) -> np.ndarray:
    """PAV on block values LSE(l/nu) - LSE(log sigma), summed afresh at every comparison."""
    z = losses / nu
    with np.errstate(divide="ignore"):
        log_sigma = np.log(sigma)

    def value(block: slice) -> float:
        mass = -np.inf if np.all(sigma[block] == 0.0) else logsumexp(log_sigma[block])
        return logsumexp(z[block]) - mass

    blocks: list[slice] = []
    for i in range(len(z)):
        blocks.append(slice(i, i + 1))
        while len(blocks) > 1 and value(blocks[-2]) >= value(blocks[-1]):
            end = blocks.pop().stop
            blocks[-1] = slice(blocks[-1].start, end)
    return np.concatenate([sigma[b].sum() * softmax(z[b]) for b in blocks])


@each_build
@given(losses=loss_lists, spectrum=spectra, exponent=st.integers(-3, 4))
def test_entropy_weights_agree_with_the_log_domain(
    core: ModuleType, losses: list[float], spectrum: str, exponent: int
) -> None:
    array, sigma = np.array(losses), SPECTRA[spectrum](len(losses))
    lam = pav_entropy(core, array, sigma, 10.0**exponent)
    expected = log_domain_entropy(array, sigma, 10.0**exponent)
    np.testing.assert_allclose(lam, expected, rtol=1e-13 + 5e-16 * array[-1] / 10.0**exponent)
    assert_in_permutahedron(lam, sigma)


@each_build
@pytest.mark.parametrize("nu", [1e-300, 1e-9, 1e-3, 1.0, 1e9])
def test_all_weight_on_the_largest_makes_entropy_a_softmax(core: ModuleType, nu: float) -> None:
    losses = np.sort(np.random.default_rng(9).random(500))
    lam = pav_entropy(core, losses, np.eye(500)[-1], nu)
    expected = softmax((losses - losses[-1]) / nu)
    np.testing.assert_allclose(lam, expected, rtol=1e-13, atol=1e-300)


@each_build
@each_spectrum
def test_little_smoothing_gives_sorted_weights_and_much_gives_equal_ones(
    core: ModuleType, spectrum: str
) -> None:
    n = 300
    losses, sigma = np.sort(np.random.default_rng(10).random(n)), SPECTRA[spectrum](n)
    for smooth in (pav_l2, pav_entropy):
        np.testing.assert_allclose(smooth(core, losses, sigma, 1e-12), sigma, atol=1e-15)
        np.testing.assert_allclose(smooth(core, losses, sigma, 1e12), 1.0 / n, atol=1e-10)


@each_build
@given(losses=loss_lists, spectrum=spectra, nu=st.sampled_from([1e-9, 0.01, 1.0]))
def test_equal_losses_get_equal_weights(
    core: ModuleType, losses: list[float], spectrum: str, nu: float
) -> None:
    array, sigma = np.array(losses), SPECTRA[spectrum](len(losses))
    tied = array[1:] == array[:-1]
    for smooth in (pav_l2, pav_entropy):
        lam = smooth(core, array, sigma, nu)
        np.testing.assert_array_equal(lam[1:][tied], lam[:-1][tied])


@each_build
@pytest.mark.parametrize("n", [1000, 200_000])
@pytest.mark.parametrize("nu", [1e-3, 1.0, 1e3])
def test_weights_of_many_rows_lie_in_the_permutahedron(core: ModuleType, n: int, nu: float) -> None:
    losses = np.sort(np.random.default_rng(11).standard_normal(n) ** 2)
    for sigma in (extremile(n), superquantile(n, 0.9)):
        for lam in (pav_l2(core, losses, sigma, nu * n), pav_entropy(core, losses, sigma, nu)):
            assert_in_permutahedron(lam, sigma)
            assert np.all(np.diff(lam) >= 0.0)


def simplex_values(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {
        "gaussian": rng.standard_normal(n),
        "narrow": 1e-5 * rng.standard_normal(n),
        "far away": 1e9 + rng.standard_normal(n),
        "ties": rng.integers(0, 4, n) * 0.25,
        "constant": np.full(n, -7.5),
        "sorted": np.sort(rng.standard_normal(n)),
        "valley": np.abs(np.arange(n) - n / 2.0),
        "geometric": 1.01 ** np.arange(n)[::-1].clip(max=2000),
        "heavy tails": rng.standard_cauchy(n) ** 3,
    }


@each_build
@pytest.mark.parametrize("q", [0.0, 0.01, 0.29, 0.5, 0.9, 0.995])
@pytest.mark.parametrize("family", simplex_values(np.random.default_rng(0), 2))
@pytest.mark.parametrize("n", [1, 2, 7, 100, 2000])
def test_capped_simplex_projects_on_the_permutahedron_of_the_superquantile(
    core: ModuleType, n: int, family: str, q: float
) -> None:
    z = simplex_values(np.random.default_rng(n), n)[family]
    cap, sigma = 1.0 / (n * (1.0 - q)), superquantile(n, q)
    lam = capped(core, z, cap)
    expected = np.empty(n)
    order = np.argsort(z, kind="stable")
    expected[order] = pav_l2(core, z[order], sigma, 1.0)
    np.testing.assert_allclose(lam, expected, rtol=0, atol=2e-15)
    assert np.all((lam >= 0.0) & (lam <= max(cap, 1.0 / n)))
    assert abs(lam.sum() - 1.0) <= 4e-15


@each_build
@given(z=st.lists(st.floats(-5, 5), min_size=1, max_size=50), share=st.floats(0.0, 1.0))
def test_capped_simplex_gives_its_threshold(core: ModuleType, z: list[float], share: float) -> None:
    array = np.array(z)
    n = len(array)
    cap = (1.0 + share * (n - 1)) / n
    assume(n * cap > 1.0 + 1e-9)
    lam = np.empty(n)
    tau = core.capped_simplex(array, cap, lam, np.empty(n))
    np.testing.assert_allclose(lam, np.clip(array - tau, 0.0, cap), rtol=0, atol=3e-15)
    assert abs(lam.sum() - 1.0) <= 4e-15


@each_build
@pytest.mark.parametrize("cap", [0.0, -1.0, np.nan])
def test_a_cap_that_leaves_nothing_is_refused(core: ModuleType, cap: float) -> None:
    with pytest.raises(ValueError, match="a cap above 0"):
        capped(core, np.ones(3), cap)


@each_build
@given(losses=loss_lists, spectrum=spectra, seed=st.integers(0, 99))
def test_sorted_weights_attain_the_risk_and_follow_their_rows(
    core: ModuleType, losses: list[float], spectrum: str, seed: int
) -> None:
    rows = np.random.default_rng(seed).permutation(len(losses))
    ascending, sigma = np.array(losses), SPECTRA[spectrum](len(losses))
    first, second = np.empty(len(losses)), np.empty(len(losses))
    core.sorted_weights(ascending, np.arange(len(losses), dtype=np.int32), sigma, first)
    shuffled = ascending[rows]
    order = np.argsort(shuffled, kind="stable").astype(np.int32)
    core.sorted_weights(shuffled, order, sigma, second)
    np.testing.assert_array_equal(second, first[rows])
    assert_in_permutahedron(second, sigma)
    assert second @ shuffled == pytest.approx(sigma @ ascending, rel=1e-14, abs=1e-300)
    for loss in set(losses):
        assert len(set(second[shuffled == loss])) == 1


@pytest.mark.skipif(len(BUILDS) < 2, reason="one build only")
@each_spectrum
@pytest.mark.parametrize("nu", [1e-3, 0.1, 10.0])
def test_both_builds_agree_to_rounding(spectrum: str, nu: float) -> None:
    n = 5000
    rng, sigma = np.random.default_rng(12), SPECTRA[spectrum](n)
    losses = rng.standard_normal(n) ** 2
    for kernel in (
        lambda core: pav_l2(core, np.sort(losses), sigma, nu * n),
        lambda core: pav_entropy(core, np.sort(losses), sigma, nu),
        lambda core: capped(core, losses / (nu * n), 4.0 / n),
    ):
        np.testing.assert_allclose(kernel(BUILDS[0]), kernel(BUILDS[1]), rtol=1e-12, atol=1e-18)
