"""`lrisk fit --robust`: what it records, and what it refuses."""

import json
import shutil
from pathlib import Path

import pytest

from helpers.program import document, lrisk, refusal

SAMPLE = Path(__file__).parents[2] / "sample_data" / "contaminated.csv"
HEATING = ("--target", "heating_kwh_day", "--exclude", "planted,id")


@pytest.fixture
def folder(tmp_path):
    shutil.copy(SAMPLE, tmp_path)
    return tmp_path


def test_the_model_records_the_robust_fit_and_no_bound(folder):
    words = ("fit", "contaminated.csv", *HEATING, "--robust", "-o", "m.json", "--json")
    found = document(lrisk(folder, *words))
    model = json.loads((folder / "m.json").read_text())
    robust = model["robust"]
    assert robust["method"] == "MM"
    assert robust["fraction"] == pytest.approx(48 / 600, abs=0.005)
    # The noise of the correct readings, known from the script that makes the sample.
    assert 5.0 < robust["scale"] < 9.0
    assert (model["fit"]["lower_bound"], model["fit"]["gap"]) == (None, None)
    assert found["reference"] is not None
    shown = lrisk(folder, "show", "m.json").stdout
    assert "losses bounded beyond errors of 4.685 x" in shown
    assert "a robust objective is not convex" in shown


def test_a_robust_fit_excludes_what_it_does_not_use(folder):
    words = ("fit", "contaminated.csv", *HEATING, "--robust")
    assert "leave out --risk mean or it" in refusal(lrisk(folder, *words, "--risk", "mean"), 2)
    assert "--solver newton" in refusal(lrisk(folder, *words, "--solver", "newton"), 2)
    few = (folder / "contaminated.csv").read_text().splitlines()[:12]
    (folder / "few.csv").write_text("\n".join(few) + "\n")
    sentence = refusal(lrisk(folder, "fit", "few.csv", *HEATING, "--robust", "--quiet"), 3)
    assert "11 rows are too few for a robust fit" in sentence
