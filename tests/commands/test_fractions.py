"""Fractions may be given in percent, wherever they are given."""

import pytest

from helpers.program import document, lrisk, refusal

FIT = ("fit", "t.csv", "--target", "y", "--quiet", "--json")


@pytest.fixture
def folder(tmp_path):
    rows = [f"{i % 7},{i * i % 11},{i % 7 + i % 3}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    return tmp_path


def held_out(folder, *flags: str, **settings) -> dict:
    result = document(lrisk(folder, *FIT, *flags, **settings))
    return {**result, "timings": None}


def test_a_percentage_is_its_fraction(folder):
    plain = held_out(folder, "--holdout", "0.2", "--risk", "superquantile:0.9")
    assert held_out(folder, "--holdout", "20%", "--risk", "superquantile:90%") == plain
    (folder / "lrisk.toml").write_text('[fit]\nholdout = "20 %"\nrisk = "superquantile:0.9"\n')
    assert held_out(folder) == plain


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        ((*FIT, "--holdout", "20"), "--holdout must be a fraction between 0 and 1; got 20; write "
         "20% or 0.2"),
        ((*FIT, "--holdout", "120%"), "--holdout must be a fraction between 0 and 1; got 1.2"),
        (("compare", "t.csv", "--target", "y", "--contamination", "10"), "write 10% or 0.1"),
        (("compare", "t.csv", "--target", "y", "--corrupt", "label:20"), "write 20% or 0.2"),
        (("detect-outliers", "t.csv", "--contamination", "5"), "got '5'; write 5% or 0.05"),
        (("quantile-report", "t.csv", "--target", "y", "--quantiles", "90"), "write 90% or 0.9"),
    ],
)  # fmt: skip
def test_a_percentage_without_its_sign_is_refused_with_both_spellings(folder, words, finding):
    assert finding in refusal(lrisk(folder, *words), 2)


def test_every_fraction_takes_percent(folder):
    words = ("compare", "t.csv", "--target", "y", "--rival", "none", "--risk", "mean", "--quiet")
    flags = ("--holdout", "25%", "--contamination", "10%", "--corrupt", "label:20%")
    assert lrisk(folder, *words, *flags).returncode == 0
    assert lrisk(folder, "detect-outliers", "t.csv", "--contamination", "5%").returncode == 0
