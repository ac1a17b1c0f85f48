"""Choosing by cross-validation: the figures of a loop by hand, on rows that no fit has seen."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from helpers.house_prices import N_ROWS, add_house_files, house_columns
from helpers.problems import plain_risk
from helpers.program import document, lrisk, refusal, write_csv
from lrisk_cli.evaluation.selection import Candidate, CrossValidation, Scheme
from lrisk_cli.evaluation.splits import folds, hold_out, number_groups, stratified_folds
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.risk.spectrum import parse_risk

FEATURES = ["--features", "area,color,rooms"]
PENALTIES = [0.001, 0.01, 0.1]
GRID = ["--l2", ",".join(map(str, PENALTIES))]


@pytest.fixture
def folder(tmp_path) -> Path:
    return add_house_files(tmp_path)


def choose(folder: Path, target: str, *flags: str, data: str = "houses.csv") -> dict:
    """What `fit --cv --json` prints."""
    command = ["fit", data, "--target", target, *FEATURES, *flags, "--json"]
    return document(lrisk(folder, *command))


def encoded(rows: np.ndarray, train: np.ndarray) -> np.ndarray:
    """The features of some rows, standardised by what `train` shows, the intercept last."""
    columns, parts = house_columns(), []
    for name in ("area", "color", "rooms"):
        values, known = columns[name][rows], columns[name][train]
        if name == "color":
            parts += [values == color for color in np.unique(known)]
        else:
            parts.append((values - known.mean()) / known.std())
    return np.column_stack([*parts, np.ones(len(rows))]).astype(float)


def ridge_losses(train: np.ndarray, test: np.ndarray, mu: float) -> np.ndarray:
    """Half squared errors, in units of the file, of ridge regression without the test rows."""
    price = house_columns()["price"]
    mean, scale = price[train].mean(), price[train].std()
    oracle = Ridge(alpha=mu * len(train), fit_intercept=False, tol=1e-12)
    oracle.fit(encoded(train, train), (price[train] - mean) / scale)
    return 0.5 * (price[test] - mean - scale * oracle.predict(encoded(test, train))) ** 2


def split(k: int, n_folds: int, seed: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows to evaluate, of fold k."""
    fold = folds(len(rows), n_folds, seed)
    return rows[fold != k], rows[fold == k]


ALL = np.arange(N_ROWS)
METRICS = {
    "mean": np.mean,
    "superquantile:0.9": lambda losses: plain_risk(losses, "superquantile:0.9"),
    "max": np.max,
    "rmse": lambda losses: np.sqrt(np.mean(2.0 * losses)),
    "mae": lambda losses: np.mean(np.sqrt(2.0 * losses)),
}


@pytest.mark.parametrize("metric", METRICS)
def test_the_figures_are_those_of_a_loop_over_ridge_regressions(folder, metric):
    flags = ["--risk", "mean", *GRID, "--cv", "4", "--seed", "3", "--select-by", metric]
    found = choose(folder, "price", *flags, "--tol", "1e-12")["cross_validation"]
    values = np.array(
        [
            [METRICS[metric](ridge_losses(*split(k, 4, 3, ALL), mu)) for k in range(4)]
            for mu in PENALTIES
        ]
    )
    assert (found["folds"], found["seed"], found["select_by"]) == (4, 3, metric)
    assert found["larger_is_better"] is False
    for candidate, mu, expected in zip(found["candidates"], PENALTIES, values, strict=True):
        assert (candidate["risk"], candidate["l2"]) == ("mean", mu)
        assert candidate["fold_values"] == pytest.approx(expected.tolist(), rel=1e-6)
        assert candidate["value"] == pytest.approx(expected.mean(), rel=1e-6)
        error = expected.std(ddof=1) / 2.0
        assert candidate["standard_error"] == pytest.approx(error, rel=1e-4)
        assert candidate["fits_not_converged"] == 0
    best = PENALTIES[int(np.argmin(values.mean(axis=1)))]
    assert (found["chosen"]["risk"], found["chosen"]["l2"]) == ("mean", best)


def test_classes_are_chosen_by_accuracy_or_log_loss(folder):
    labels = house_columns()["sold"]
    expected: dict[str, list[list[float]]] = {"accuracy": [], "log_loss": []}
    for mu in PENALTIES:
        scores: dict[str, list[float]] = {"accuracy": [], "log_loss": []}
        for k in range(3):
            fold = stratified_folds(number_groups(labels), 3, 0)
            train, test = ALL[fold != k], ALL[fold == k]
            oracle = LogisticRegression(C=1.0 / (mu * len(train)), fit_intercept=False, tol=1e-10)
            oracle.fit(encoded(train, train), labels[train])
            chances = oracle.predict_log_proba(encoded(test, train))
            truth = np.searchsorted(oracle.classes_, labels[test])
            scores["accuracy"].append(np.mean(np.argmax(chances, axis=1) == truth))
            scores["log_loss"].append(-np.mean(chances[np.arange(len(test)), truth]))
        for name, values in scores.items():
            expected[name].append(values)
    for metric, larger in (("accuracy", True), ("log_loss", False)):
        flags = ["--risk", "mean", *GRID, "--cv", "3", "--select-by", metric]
        found = choose(folder, "sold", *flags)["cross_validation"]
        values = [candidate["fold_values"] for candidate in found["candidates"]]
        assert np.array(values) == pytest.approx(np.array(expected[metric]), rel=1e-3)
        assert found["larger_is_better"] is larger
        means = [candidate["value"] for candidate in found["candidates"]]
        assert found["chosen"]["value"] == (max(means) if larger else min(means))


def test_the_best_is_fitted_to_all_rows_as_if_it_had_been_asked_for(folder):
    risks = ["--risk", "mean", "--risk", "superquantile:0.9"]
    found = choose(folder, "price", *risks, *GRID, "--cv", "5", "-o", "best.json")
    assert found["cross_validation"]["select_by"] == "extremile:2"
    assert len(found["cross_validation"]["candidates"]) == 6
    chosen = found["cross_validation"]["chosen"]
    assert (found["risk"], found["l2"]) == (chosen["risk"], chosen["l2"])
    choose(folder, "price", "--risk", chosen["risk"], "--l2", str(chosen["l2"]), "-o", "one.json")
    best, one = (json.loads((folder / name).read_text()) for name in ("best.json", "one.json"))
    assert best.pop("cross_validation") == found["cross_validation"]
    assert best == one


def test_one_risk_is_chosen_by_itself_and_the_usual_penalty_is_one_over_rows(folder):
    found = choose(folder, "price", "--risk", "extremile:2", "--cv", "5")
    cross = found["cross_validation"]
    assert cross["select_by"] == "extremile:2"
    (only,) = cross["candidates"]
    assert only["l2"] == found["l2"] == pytest.approx(1.0 / N_ROWS)


def test_rows_held_out_take_no_part_in_the_choice(folder):
    flags = ["--risk", "mean", *GRID, "--cv", "3", "--holdout", "0.25", "--seed", "7"]
    found = choose(folder, "price", *flags, "--tol", "1e-12")
    kept = hold_out(N_ROWS, 0.25, 7)
    rest = np.flatnonzero(~kept)
    for candidate, mu in zip(found["cross_validation"]["candidates"], PENALTIES, strict=True):
        expected = [np.mean(ridge_losses(*split(k, 3, 7, rest), mu)) for k in range(3)]
        assert candidate["fold_values"] == pytest.approx(expected, rel=1e-6)
    columns = house_columns()
    columns["price"][kept] *= 10.0
    columns["area"][kept] = 1.0
    columns["color"][kept] = "blue"
    write_csv(folder / "spoiled.csv", columns)
    again = choose(folder, "price", *flags, "--tol", "1e-12", data="spoiled.csv")
    assert again["cross_validation"] == found["cross_validation"]
    assert again["holdout"] != found["holdout"]


def test_the_choice_repeats_and_depends_on_the_seed(folder):
    flags = ["--risk", "superquantile:0.8", *GRID, "--cv", "3"]
    found = [choose(folder, "price", *flags, "--seed", s)["cross_validation"] for s in "001"]
    assert found[0] == found[1]
    assert found[0]["candidates"] != found[2]["candidates"]


def test_a_fold_is_judged_as_evaluate_judges_it(folder):
    """Also where the metric is not the risk, and starts come from other candidates."""
    risks = ["--risk", "esrm:2", "--risk", "superquantile:0.9"]
    flags = [*risks, "--cv", "3", "--l2", "0.1,0.01", "--select-by", "mae", "--tol", "1e-10"]
    candidates = choose(folder, "price", *flags)["cross_validation"]["candidates"]
    train, test = split(1, 3, 0, ALL)
    for name, rows in (("train.csv", train), ("test.csv", test)):
        write_csv(folder / name, {key: column[rows] for key, column in house_columns().items()})
    for candidate in candidates:
        single = ["--risk", candidate["risk"], "--l2", str(candidate["l2"]), "--tol", "1e-10"]
        apart = choose(folder, "price", *single, "--test", "test.csv", data="train.csv")
        assert candidate["fold_values"][1] == pytest.approx(apart["holdout"]["mae"], rel=1e-4)


# How it chooses


def candidate(risk: str, l2: float, *values: float) -> Candidate:
    return Candidate(FitOptions(parse_risk(risk), l2=l2), l2, values, 0)


def chosen(metric: str, *candidates: Candidate) -> tuple[str, float]:
    best = CrossValidation(Scheme(2, 0, metric), candidates).chosen
    return str(best.options.risk), best.l2


def test_of_equal_figures_the_larger_penalty_wins_then_the_first_risk():
    equal = [candidate("mean", mu, 2.0, 1.0) for mu in (0.1, 10.0, 1.0)]
    assert chosen("rmse", *equal) == ("mean", 10.0)
    assert chosen("accuracy", *equal) == ("mean", 10.0)
    other = candidate("esrm:1", 10.0, 1.0, 2.0)
    assert chosen("rmse", *equal, other) == ("mean", 10.0)
    assert chosen("rmse", other, *equal) == ("esrm:1", 10.0)


def test_accuracy_and_r2_are_best_when_large_and_all_others_when_small():
    low, high = candidate("mean", 1.0, 0.1, 0.2), candidate("esrm:1", 1.0, 0.2, 0.3)
    for metric in ("accuracy", "r2"):
        assert chosen(metric, low, high) == ("esrm:1", 1.0)
    for metric in ("rmse", "mae", "log_loss", "max", "mean", "superquantile:0.9"):
        assert chosen(metric, low, high) == ("mean", 1.0)


def test_a_penalty_at_the_end_of_the_list_is_pointed_out():
    rising = [candidate("mean", mu, mu, mu) for mu in (0.1, 1.0, 10.0)]
    assert CrossValidation(Scheme(2, 0, "rmse"), tuple(rising)).notes == (
        "l2 0.1 is the smallest tried; a smaller one may do better",
    )
    assert CrossValidation(Scheme(2, 0, "r2"), tuple(rising)).notes == (
        "l2 10 is the largest tried; a larger one may do better",
    )
    middle = [replace(each, fold_values=(each.l2 == 1.0,) * 2) for each in rising]
    assert CrossValidation(Scheme(2, 0, "r2"), tuple(middle)).notes == ()
    assert CrossValidation(Scheme(2, 0, "r2"), (rising[0],)).notes == ()


def test_the_terminal_shows_all_candidates_and_which_was_chosen(folder):
    command = ["fit", "houses.csv", "--target", "price", *FEATURES, *GRID, "--cv", "3"]
    lines = lrisk(folder, *command, "-o", "m.json").stdout.splitlines()
    assert lines[0] == (
        "cross-validation: 3 folds (seed 0); mean of extremile:2 on the fold left out, "
        "smaller is better"
    )
    assert lines[1].split() == ["risk", "l2", "extremile:2", "standard", "error"]
    assert [float(line.split()[1]) for line in lines[2:5]] == PENALTIES
    (line,) = [line for line in lines if line.endswith("chosen")]
    assert json.loads((folder / "m.json").read_text())["l2"] == float(line.split()[1])
    assert lines[-1] == "saved to m.json"


# What may be odd about a fold, and what is refused


def awkward(folder: Path, **changes: object) -> None:
    """odd.csv: twelve rows, some columns as given."""
    rng = np.random.default_rng(0)
    columns = {"x": rng.standard_normal(12), "y": rng.standard_normal(12), **changes}
    write_csv(folder / "odd.csv", {name: np.array(values) for name, values in columns.items()})


def test_what_a_fold_lacks_is_said(tmp_path):
    once = [0.0] * 11 + [1.0]
    kinds = ["a", "b"] * 5 + ["a", "d"]
    awkward(tmp_path, once=once, color=["red"] * 6 + ["green"] * 5 + ["blue"], y=kinds)
    command = ["fit", "odd.csv", "--target", "y", "--risk", "mean", "--cv", "3", "--json"]
    found = document(lrisk(tmp_path, *command))
    notes = [note for note in found["notes"] if note.startswith("cross-validation")]
    assert notes == [
        "cross-validation: in 1 of 3 folds column 'once' is constant in the rows to learn from",
        "cross-validation: in 1 of 3 folds no row to learn from is of class 'd'",
        "cross-validation: in 1 of 3 folds rows are evaluated whose category of 'color' was not "
        "learned",
    ]
    assert all(np.isfinite(found["cross_validation"]["candidates"][0]["fold_values"]))


def test_fits_that_proved_too_little_are_counted(folder):
    flags = ["--cv", "2", "--max-passes", "3"]
    found = choose(folder, "price", *flags)
    assert "cross-validation: 2 fits did not reach --tol" in found["notes"]
    assert found["cross_validation"]["candidates"][0]["fits_not_converged"] == 2


@pytest.mark.parametrize(
    ("changes", "flags", "words"),
    [
        ({}, ["--cv", "13"], "12 rows cannot fill 13 folds; ask for fewer folds"),
        ({"y": [1.0] * 11 + [2.0]}, ["--task", "regression"],
         "is constant (1), nothing to learn; choose another target (the rows that fold"),
        ({"y": ["a"] * 11 + ["b"]}, [], "one class only ('a') among the rows to learn from"),
        ({"y": [1.0, 2.0, 3.0] * 4}, ["--cv", "12", "--select-by", "r2"],
         "--select-by r2 is not defined on the targets of a fold"),
    ],
)  # fmt: skip
def test_folds_that_cannot_be_fitted_are_refused(tmp_path, changes, flags, words):
    awkward(tmp_path, **changes)
    command = ["fit", "odd.csv", "--target", "y", "--risk", "mean"]
    flags = flags if "--cv" in flags else [*flags, "--cv", "3"]
    assert words in refusal(lrisk(tmp_path, *command, *flags), 3)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (GRID, "--l2: several penalties need --cv to choose one of them; add --cv 5"),
        (["--l2", "0.1,x", "--cv", "3"], "--l2 takes a number greater than 0, or several"),
        (["--l2", "0.1,", "--cv", "3"], "--l2 takes a number greater than 0, or several"),
        (["--l2", "0.1,0.10", "--cv", "3"], "--l2 0.1 is named twice; name it once"),
        (["--l2", "0.1,0", "--cv", "3"], "--l2 must be greater than 0"),
        (["--cv", "1"], "invalid value for '--cv'"),
        (["--select-by", "mae"], "--select-by has no meaning without folds to choose by"),
        (["--cv", "3", "--select-by", "acuracy"], "unknown metric 'acuracy'; did you mean acc"),
        (["--cv", "3", "--select-by", "gap"], "--select-by gap does not evaluate predictions"),
        (["--cv", "3", "--task", "regression", "--select-by", "accuracy"],
         "accuracy is a metric of classification"),
        (["--cv", "3", "--risk", "mean", "--risk", "esrm:1", "-o", "."], "-o .: is a folder"),
    ],
)  # fmt: skip
def test_impossible_choices_are_refused_before_any_reading(tmp_path, flags, words):
    assert words in refusal(lrisk(tmp_path, "fit", "absent.csv", "--target", "y", *flags), 2)
