"""Spectra: exact bin masses, monotone, sum 1, and sentences for wrong parameters."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from helpers.docs import markdown_table
from lrisk_cli.errors import UsageError
from lrisk_cli.names import RISK_ALIASES, RISKS
from lrisk_cli.risk import spectrum as spectra
from lrisk_cli.risk.spectrum import FAMILIES, Spectrum, parse_risk

EXAMPLES = {
    "superquantile": [0.0, 0.29, 0.5, 0.9, 0.999],
    "extremile": [1.0, 1.5, 2.0, 7.0],
    "esrm": [1e-12, 0.5, 1.0, 30.0, 800.0],
    "subquantile": [0.01, 0.75, 1.0],
    "lower-extremile": [1.0, 2.0, 5.0],
}
CASES = [(name, value) for name, values in EXAMPLES.items() for value in values]
DENSITIES = {
    "superquantile": lambda t, q: (t >= q) / (1 - q),
    "extremile": lambda t, r: r * t ** (r - 1),
    "esrm": lambda t, rho: rho * np.exp(rho * (t - 1)) / -np.expm1(-rho),
    "subquantile": lambda t, p: (t <= p) / p,
    "lower-extremile": lambda t, r: r * (1 - t) ** (r - 1),
}


def test_every_family_has_examples_and_a_density() -> None:
    assert set(EXAMPLES) == set(FAMILIES) == set(DENSITIES)


def test_every_risk_has_words_a_formula_and_its_parameter() -> None:
    assert list(RISKS) == ["mean", *FAMILIES]
    assert RISKS["mean"].parameter is None
    for name in FAMILIES:
        parameter = RISKS[name].parameter
        assert parameter is not None
        assert parse_risk(f"{name}:{parameter.example}") == Spectrum(name, parameter.example)


def test_the_readme_lists_exactly_the_risks_their_parameters_and_their_words() -> None:
    rows = markdown_table("README.md", "risk")
    assert len(rows) == len(RISKS)
    for (spelling, parameter, meaning), (name, risk) in zip(rows, RISKS.items(), strict=True):
        symbol = "" if risk.parameter is None else f":{risk.parameter.symbol}"
        aliases = [alias for alias, of in RISK_ALIASES.items() if of == name]
        spelled = ", also ".join(f"`{each}{symbol}`" for each in (name, *aliases))
        expected = "none" if risk.parameter is None else str(risk.parameter)
        assert (spelling, parameter, meaning) == (spelled, expected, risk.summary)


@pytest.mark.parametrize("name", FAMILIES)
@given(data=st.data())
def test_a_spelled_risk_reads_back_as_itself(name: str, data: st.DataObject) -> None:
    parameter = RISKS[name].parameter
    assert parameter is not None
    value = data.draw(st.floats(0, 1e6, exclude_min=True).filter(parameter.accepts))
    risk = Spectrum(name, value)
    assert parse_risk(str(risk)) == risk


@pytest.mark.parametrize(
    ("parameter", "text"),
    [(0.9, "0.9"), (0.9999999, "0.9999999"), (1e-12, "1e-12"), (0.1 + 0.2, "0.30000000000000004")],
)
def test_a_parameter_is_spelled_with_the_digits_it_needs(parameter: float, text: str) -> None:
    assert str(Spectrum("superquantile", parameter)) == f"superquantile:{text}"


@pytest.mark.parametrize(("name", "parameter"), CASES)
@pytest.mark.parametrize("n", [1, 2, 7, 100, 100_003])
def test_weights_are_monotone_and_sum_to_one(name: str, parameter: float, n: int) -> None:
    spectrum = Spectrum(name, parameter)
    sigma = spectrum.weights(n)
    steps = np.diff(sigma)
    assert (steps >= 0).all() if spectrum.rising else (steps <= 0).all()
    assert (sigma >= 0).all()
    assert abs(sigma.sum() - 1.0) < 1e-13


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_weights_are_the_bin_masses_of_the_density(name: str, parameter: float) -> None:
    n = 9
    masses = [
        integrate.quad(
            DENSITIES[name], i / n, (i + 1) / n, args=(parameter,), points=_kinks(name, parameter),
            epsabs=1e-12,
        )[0]
        for i in range(n)
    ]  # fmt: skip
    np.testing.assert_allclose(Spectrum(name, parameter).weights(n), masses, atol=2e-9)


def _kinks(name: str, parameter: float) -> list[float] | None:
    return [parameter] if name in ("superquantile", "subquantile") else None


@pytest.mark.parametrize(("n", "q"), [(100, "0.29"), (1000, "0.07"), (10, "0.3"), (7, "0.5")])
def test_superquantile_weights_are_exact_rationals(n: int, q: str) -> None:
    level = Fraction(q)
    exact = [
        min(max(Fraction(i + 1) - n * level, Fraction(0)), Fraction(1)) / (n * (1 - level))
        for i in range(n)
    ]
    sigma = parse_risk(f"superquantile:{q}").weights(n)
    np.testing.assert_allclose(sigma, [float(x) for x in exact], rtol=1e-14, atol=0)
    assert (sigma[np.array([x == 0 for x in exact])] == 0.0).all()


@pytest.mark.parametrize("text", ["superquantile:0", "extremile:1", "subquantile:1"])
def test_neutral_parameters_are_the_mean(text: str) -> None:
    assert parse_risk(text).flat
    assert (parse_risk(text).weights(13) == 1.0 / 13).all()


@given(st.floats(1.0, 50.0), st.integers(2, 3000))
def test_lower_extremile_mirrors_the_extremile(r: float, n: int) -> None:
    upper, lower = Spectrum("extremile", r).weights(n), Spectrum("lower-extremile", r).weights(n)
    np.testing.assert_allclose(lower, upper[::-1], rtol=1e-12)


@given(st.floats(0.0, 0.99), st.integers(1, 400))
def test_the_cap_is_the_largest_superquantile_weight(q: float, n: int) -> None:
    spectrum = Spectrum("superquantile", q)
    cap = spectrum.cap(n)
    if cap is not None:
        assert spectrum.weights(n).max() == pytest.approx(cap, rel=1e-12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("superquantile:1.2", "superquantile level must be in [0, 1); got 1.2"),
        ("superquantile:nan", "superquantile level must be in [0, 1); got nan"),
        ("extremile:0.5", "extremile power must be at least 1; got 0.5"),
        ("esrm:0", "esrm rate must be greater than 0; got 0"),
        ("subquantile:0", "subquantile fraction must be in (0, 1]; got 0"),
        ("esrm:inf", "esrm rate must be greater than 0; got inf"),
        ("superquantile", "superquantile needs its level, for example superquantile:0.9"),
        (
            "superquantile:high",
            "superquantile level must be a number, for example superquantile:0.9; got 'high'",
        ),
        ("superquantile:90", "superquantile level must be in [0, 1); got 90; write 90% or 0.9"),
        ("superquantil:0.9", "unknown risk 'superquantil:0.9'; did you mean superquantile?"),
        ("mean:2", "mean takes no parameter; got 'mean:2', write mean"),
    ],
)
def test_wrong_risks_are_answered_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_risk(text)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("max", "superquantile:0.999 is near: the mean of the worst 0.1 % of the losses"),
        ("quantile:0.95", "superquantile:0.95 is the mean of these and never smaller"),
        ("quantile:95%", "superquantile:0.95 is the mean of these"),
        ("quantile", "superquantile:0.9 is the mean of these"),
        ("expectile:0.9", "extremile:6.58, the extremile of order 0.9, is near"),
        ("expectile:0.1", "extremile:2, the expected worst of 2 draws, is near"),
        ("median", "subquantile:0.5 is near"),
    ],
)
def test_risks_that_are_known_elsewhere_are_answered_with_what_is_near(text, answer) -> None:
    with pytest.raises(UsageError, match=f"unknown risk '{text}'; ") as error:
        parse_risk(text)
    assert answer in str(error.value)


def test_the_answers_about_near_risks_are_true() -> None:
    # All the weight of up to 1,000 rows is on the last one; half the mass of U^(R-1) is above 0.9.
    assert parse_risk("superquantile:0.999").weights(1000)[-1] == pytest.approx(1.0)
    weights = parse_risk("extremile:6.58").weights(100_000)
    assert weights[90_000:].sum() == pytest.approx(0.5, abs=1e-3)


def test_risks_are_spelled_as_the_contract_says() -> None:
    assert str(parse_risk("cvar:0.90")) == "superquantile:0.9"
    assert str(parse_risk("mean")) == "mean"
    assert str(parse_risk(" ESRM:1e0 ")) == "esrm:1"


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_pieces_of_a_spectrum_are_its_weights(monkeypatch, name: str, parameter: float) -> None:
    spectrum = Spectrum(name, parameter)
    whole = spectrum.weights(1000)
    ((start, only),) = spectrum.pieces(1000)
    assert start == 0
    assert only.tolist() == whole.tolist()
    monkeypatch.setattr(spectra, "_PIECE", 64)
    joined = np.zeros(1000)
    for start, piece in spectrum.pieces(1000):
        assert len(piece) <= 64
        joined[start : start + len(piece)] = piece
    np.testing.assert_allclose(joined, whole, rtol=1e-13, atol=0.0)
    steps = np.diff(joined)
    assert (steps >= 0.0).all() or (steps <= 0.0).all()


@pytest.mark.parametrize("name", ["superquantile", "subquantile"])
@pytest.mark.parametrize("level", [0.001, 0.3, 0.5, 0.95, 0.9999])
def test_only_pieces_of_zeros_are_left_out(monkeypatch, name: str, level: float) -> None:
    monkeypatch.setattr(spectra, "_PIECE", 64)
    spectrum = Spectrum(name, level)
    for n in (1, 63, 64, 65, 1000):
        joined = np.zeros(n)
        for start, piece in spectrum.pieces(n):
            joined[start : start + len(piece)] = piece
        np.testing.assert_allclose(joined, spectrum.weights(n), rtol=1e-13, atol=0.0)
    fraction = 1.0 - level if name == "superquantile" else level
    assert len(list(spectrum.pieces(6400))) <= 100 * fraction + 2
