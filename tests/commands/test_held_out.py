"""`evaluate --held-out` judges exactly the rows that the fit held out."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, lrisk, refusal, write_csv

FIT = ["fit", "t.csv", "--target", "y", "--holdout", "0.3", "-o", "m.json", "--json"]


@pytest.fixture
def folder(tmp_path) -> Path:
    rng = np.random.default_rng(5)
    x, day = rng.normal(size=80), rng.permutation(20).repeat(4)
    y = 2.0 * x + rng.standard_t(3, size=80)
    write_csv(tmp_path / "t.csv", {"x": x, "day": day, "shop": [f"s{k % 9}" for k in range(80)],
                                   "y": y})  # fmt: skip
    return tmp_path


def fit_and_evaluate(folder: Path, *flags: str) -> tuple[dict, dict]:
    fitted = document(lrisk(folder, *FIT, *flags))
    evaluate = ["evaluate", "m.json", "t.csv", "--held-out", "--losses", "l.csv", "--json"]
    return fitted, document(lrisk(folder, *evaluate, "--force"))


@pytest.mark.parametrize(
    "flags",
    [(), ("--cv-groups", "shop"), ("--cv-time", "day"), ("--seed", "7", "--exclude", "shop")],
)
def test_the_figures_are_those_that_the_fit_reported(folder, flags):
    fitted, found = fit_and_evaluate(folder, *flags)
    held_out = fitted["rows"]["held_out"]
    assert found["rows"]["used"] == held_out > 0
    assert found["rows"]["learned_from"] == 80 - held_out
    for name, value in found["metrics"].items():
        assert value == pytest.approx(fitted["holdout"][name], rel=1e-12)
    assert not [each for each in found["warnings"] if each["code"] == "training_rows"]


def test_the_losses_file_has_the_rows_held_out_and_the_fit_file_the_others(folder):
    fit_and_evaluate(folder, "--losses", "train.csv")
    held_out, learned = (
        {int(row["row"]) for row in csv.DictReader((folder / name).read_text().splitlines())}
        for name in ("l.csv", "train.csv")
    )
    assert held_out | learned == set(range(80))
    assert not held_out & learned


def test_dropped_rows_do_not_shift_the_others(folder):
    lines = (folder / "t.csv").read_text().splitlines()
    for at in (3, 17, 40):
        lines[at] = "," + lines[at].partition(",")[2]
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    fitted, found = fit_and_evaluate(folder, "--missing", "drop")
    assert found["rows"]["dropped"] == 3
    assert found["metrics"]["mean"] == pytest.approx(fitted["holdout"]["mean"], rel=1e-12)


def test_another_table_is_refused(folder):
    document(lrisk(folder, *FIT))
    header, *rows = (folder / "t.csv").read_text().splitlines()
    (folder / "fewer.csv").write_text("\n".join([header, *rows[:-1]]) + "\n")
    (folder / "other.csv").write_text("\n".join([header, *rows[::-1]]) + "\n")
    fewer = refusal(lrisk(folder, "evaluate", "m.json", "fewer.csv", "--held-out"), 3)
    assert "has 79 usable rows, and the fit held out 24 of 80; name the table" in fewer
    other = refusal(lrisk(folder, "evaluate", "m.json", "other.csv", "--held-out"), 3)
    assert "these are not the rows that the fit held out" in other


def test_a_table_with_other_groups_is_refused(folder):
    document(lrisk(folder, *FIT, "--cv-groups", "shop"))
    text = (folder / "t.csv").read_text().replace('"s1"', '"s2"')
    (folder / "other.csv").write_text(text)
    other = refusal(lrisk(folder, "evaluate", "m.json", "other.csv", "--held-out"), 3)
    assert "these are not the rows that the fit held out" in other


def test_a_model_that_held_out_nothing_is_refused(folder):
    document(lrisk(folder, "fit", "t.csv", "--target", "y", "-o", "m.json", "--json"))
    text = refusal(lrisk(folder, "evaluate", "m.json", "t.csv", "--held-out"), 2)
    assert "--held-out: m.json records no rows held out; fit it with --holdout 0.2" in text


def test_another_policy_for_missing_cells_is_refused(folder):
    document(lrisk(folder, *FIT))
    text = refusal(
        lrisk(folder, "evaluate", "m.json", "t.csv", "--held-out", "--missing", "drop"), 2
    )
    assert "--missing drop has no meaning with --held-out" in text


def test_clusters_hold_out_nothing(folder):
    assert lrisk(folder, "cluster", "t.csv", "--clusters", "2", "-o", "c.json").returncode == 0
    assert "clusters" in refusal(lrisk(folder, "evaluate", "c.json", "t.csv", "--held-out"), 2)
    assert json.loads((folder / "c.json").read_text())["kind"] != "linear"
