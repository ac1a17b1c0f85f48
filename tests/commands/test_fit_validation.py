"""Folds of groups and of time, repeats, the rule of one standard error, out-of-fold rows."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, lrisk, refusal, write_csv
from lrisk_cli.evaluation.selection import Candidate, CrossValidation, Scheme
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.risk.spectrum import parse_risk


@pytest.fixture
def folder(tmp_path) -> Path:
    rng = np.random.default_rng(3)
    x, day = rng.normal(size=90), rng.permutation(30).repeat(3)
    y = 2.0 * x + rng.normal(size=90)
    shop = [f"s{k % 11}" for k in range(90)]
    kind = ["yes" if value > 1.0 else "no" for value in y]
    columns = {"x": x, "day": day, "shop": shop, "kind": kind, "y": y}
    write_csv(tmp_path / "t.csv", columns)
    return tmp_path


def read(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_groups_stay_together_and_are_no_feature(folder):
    flags = ["--target", "y", "--exclude", "kind,shop", "--cv-groups", "shop", "--cv", "3"]
    run = lrisk(folder, "fit", "t.csv", *flags, "--holdout", "0.2", "--oof", "o.csv", "--json",
                "-o", "m.json")  # fmt: skip
    found, model = document(run), json.loads((folder / "m.json").read_text())
    assert [feature["name"] for feature in model["encoding"]["features"]] == ["x", "day"]
    assert (found["cross_validation"]["kind"], found["cross_validation"]["column"]) == (
        "groups", "shop",
    )  # fmt: skip
    assert model["cross_validation"] == found["cross_validation"]
    shops = [row["shop"] for row in read(folder / "t.csv")]
    folds_of: dict[str, set[str]] = {}
    for row in read(folder / "o.csv"):
        folds_of.setdefault(shops[int(row["row"])], set()).add(row["fold"])
    assert all(len(folds) == 1 for folds in folds_of.values())
    assert len(folds_of) < 11
    assert model["holdout"]["kind"] == "groups"
    assert model["holdout"]["rows"] == 90 - len(read(folder / "o.csv"))


def test_a_column_that_divides_the_rows_is_a_feature_if_named_as_one(folder):
    flags = ["--target", "y", "--features", "x,day", "--cv-time", "day", "--cv", "3"]
    document(lrisk(folder, "fit", "t.csv", *flags, "--json", "-o", "m.json"))
    model = json.loads((folder / "m.json").read_text())
    assert [feature["name"] for feature in model["encoding"]["features"]] == ["x", "day"]


def test_the_past_predicts_the_future(folder):
    flags = ["--target", "y", "--features", "x", "--cv-time", "day", "--cv", "4", "--risk", "mean"]
    found = document(lrisk(folder, "fit", "t.csv", *flags, "--oof", "o.csv", "--json"))
    assert found["cross_validation"]["kind"] == "time"
    table, rows = read(folder / "t.csv"), read(folder / "o.csv")
    days = np.array([float(table[int(row["row"])]["day"]) for row in rows])
    fold = np.array([int(row["fold"]) for row in rows])
    for k in range(1, 4):
        assert days[fold < k].max() < days[fold == k].min()
    assert min(days) >= 5.0


def test_out_of_fold_rows_give_the_figure_of_the_choice(folder):
    flags = ["--target", "kind", "--features", "x", "--risk", "mean", "--cv", "3", "--l2", "0.01,1"]
    run = lrisk(folder, "fit", "t.csv", *flags, "--cv-repeats", "2", "--oof", "o.csv", "--json")
    found = document(run)["cross_validation"]
    assert (found["kind"], found["repeats"]) == ("stratified", 2)
    chosen = next(each for each in found["candidates"] if each["l2"] == found["chosen"]["l2"])
    assert len(chosen["fold_values"]) == 6
    rows = read(folder / "o.csv")
    assert [int(row["row"]) for row in rows] == list(range(90))
    for fold in range(3):
        of_fold = [row for row in rows if int(row["fold"]) == fold]
        losses = [float(row["loss"]) for row in of_fold]
        assert np.mean(losses) == pytest.approx(chosen["fold_values"][fold], rel=1e-12)
        for row in of_fold:
            chance = float(row[f"probability:{row['target']}"])
            assert float(row["loss"]) == pytest.approx(-np.log(chance), rel=1e-9)


def test_the_chosen_figure_says_that_it_chose_unless_rows_are_held_out(folder):
    flags = ["fit", "t.csv", "--target", "y", "--features", "x", "--cv", "3", "--l2", "0.01,1"]
    found = document(lrisk(folder, *flags, "--json"))
    assert found["cross_validation"]["chosen"]["optimistic"]
    assert any("is what chose it" in note for note in found["notes"])
    found = document(lrisk(folder, *flags, "--holdout", "0.2", "--json"))
    assert not any("is what chose it" in note for note in found["notes"])


def candidate(risk: str, l2: float, *values: float) -> Candidate:
    return Candidate(FitOptions(parse_risk(risk), l2=l2), l2, values, 0)


def test_one_standard_error_chooses_the_largest_penalty_then_the_mildest_risk():
    candidates = (
        candidate("mean", 0.1, 1.0, 1.2),
        candidate("superquantile:0.9", 1.0, 1.05, 1.15),
        candidate("extremile:2", 1.0, 1.1, 1.2),
        candidate("mean", 10.0, 1.3, 1.4),
    )
    best = CrossValidation(Scheme(2, 0, "rmse"), candidates)
    assert best.chosen is candidates[1]
    # The standard error of the best is 0.05, so 1.15 is as good and the fourth is not.
    assert CrossValidation(Scheme(2, 0, "rmse", one_se=True), candidates).chosen is candidates[2]


def test_repeats_do_not_shrink_the_standard_error():
    once, twice = candidate("mean", 1.0, 1.0, 2.0), candidate("mean", 1.0, 1.0, 2.0, 1.0, 2.0)
    twice = Candidate(twice.options, 1.0, twice.fold_values, 0, repeats=2)
    assert twice.standard_error == pytest.approx(np.std([1, 2, 1, 2], ddof=1) / np.sqrt(2))
    assert once.standard_error == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--cv-groups", "shop"], "--cv-groups has no meaning without folds"),
        (["--oof", "o.csv"], "--oof has no meaning without folds"),
        (["--one-se"], "--one-se has no meaning without folds"),
        (["--cv", "3", "--cv-time", "shop"], "'shop' holds no dates and no numbers"),
        (["--cv", "3", "--cv-time", "day", "--cv-groups", "shop"], "pass one of them"),
        (["--cv", "3", "--cv-time", "day", "--cv-repeats", "2"], "--cv-repeats has no meaning"),
    ],
)
def test_options_that_make_no_sense_are_refused(folder, flags, sentence):
    assert sentence in refusal(lrisk(folder, "fit", "t.csv", "--target", "y", *flags), 2)
