"""Robust fits through the real program: planted rows are found, clean ones left alone."""

import csv
import json
import shutil
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pytest

from helpers.program import document, lrisk
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.robust.inlier_weights import find_inlier_weights
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.trimmed import WORK

SAMPLE = Path(__file__).parents[2] / "sample_data" / "contaminated.csv"
HEATING = ("contaminated.csv", "--target", "heating_kwh_day", "--exclude", "planted,id")


@pytest.fixture
def folder(tmp_path):
    shutil.copy(SAMPLE, tmp_path)
    return tmp_path


def planted(folder) -> set[int]:
    with (folder / "contaminated.csv").open() as file:
        return {at for at, row in enumerate(csv.DictReader(file)) if row["planted"] == "1"}


def write(folder, name: str, X: np.ndarray, y: np.ndarray) -> str:
    rows = np.column_stack([X, y])
    header = ",".join([*(f"x{k}" for k in range(X.shape[1])), "y"])
    np.savetxt(folder / name, rows, delimiter=",", header=header, comments="", fmt="%.10g")
    return name


def test_the_planted_rows_of_the_shipped_sample_are_flagged_all_and_only(folder):
    run = lrisk(folder, "detect-outliers", *HEATING, "-o", "r.csv", "--json", "--top", "48")
    found = document(run)
    with (folder / "r.csv").open() as file:
        flagged = {int(row["row"]) for row in csv.DictReader(file) if row["is_outlier"] == "1"}
    assert flagged == planted(folder)
    assert found["contamination"] == pytest.approx(48 / 600, rel=0.2)
    assert {each["row"] for each in found["outliers"]} == flagged


def test_of_clean_normal_rows_at_most_one_in_a_hundred_is_flagged(tmp_path):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((1500, 4))
    name = write(tmp_path, "clean.csv", X, X @ [1.0, 2.0, -1.0, 0.0] + rng.standard_normal(1500))
    found = document(lrisk(tmp_path, "detect-outliers", name, "--target", "y", "--json"))
    assert found["outlier_fraction"] <= 0.01


@pytest.mark.parametrize(
    ("share", "kernel"), [(0.3, ()), (0.1, ("--kernel", "rbf", "--rank", "60"))]
)
def test_the_share_is_estimated_and_the_fit_does_not_depend_on_the_one_given(
    tmp_path, share, kernel
):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((800, 3))
    truth = X @ [2.0, -1.0, 0.5]
    y = truth + 0.3 * rng.standard_normal(800)
    wrong = rng.permutation(800)[: round(share * 800)]
    y[wrong] = rng.normal(9.0, 6.0, len(wrong))
    name = write(tmp_path, "rows.csv", X, y)
    predictions = []
    for given in ("auto", str(share - 0.05)):
        lrisk(
            tmp_path, "detect-outliers", name, "--target", "y", "--contamination", given,
            *kernel, "--save-model", "m.json", "--force",
        )  # fmt: skip
        model = json.loads((tmp_path / "m.json").read_text())
        assert model["fit"]["lower_bound"] is None
        assert model["robust"]["fraction"] == pytest.approx(share, abs=0.05)
        assert model["robust"]["scale"] == pytest.approx(0.3, abs=0.15)
        run = lrisk(tmp_path, "predict", "m.json", name)
        rows = csv.DictReader(run.stdout.splitlines())
        predictions.append([float(row["prediction"]) for row in rows])
    np.testing.assert_allclose(predictions[0], predictions[1], atol=1e-6)
    assert np.median(np.abs(np.array(predictions[0]) - truth)) < 0.1


def test_starts_are_compared_on_a_sample_where_fits_are_dear():
    rng = np.random.default_rng(9)
    n, d = 3000, 300
    assert n * d**2 > WORK
    X = rng.standard_normal((n, d))
    y = X[:, 0] + 0.1 * rng.standard_normal(n)
    y[:600] = 30.0
    problem = make_problem(
        DenseRows(X), y, make_loss("squared"), parse_risk("subquantile:0.8"), 1.0 / n
    )
    inliers = np.ones(n)
    inliers[:600] = 0.0
    found = solve(problem, SolverOptions(), Limits(), inliers=inliers)
    assert "of 3 starts on a sample of " in found.status
    assert [each.name for each in found.starts] == ["majority"]
    assert abs(found.W[0, 0] - 1.0) < 0.02


def test_rows_are_judged_alike_whatever_their_order():
    rng = np.random.default_rng(11)
    X = np.column_stack([rng.standard_normal((500, 3)), np.ones(500)])
    y = X @ [1.0, 1.0, 0.0, 0.0] + 0.2 * rng.standard_normal(500)
    y[:100] += 12.0
    order = rng.permutation(500)
    plain = find_inlier_weights(DenseRows(X), y, make_loss("squared"), constant=True).weights
    shuffled = find_inlier_weights(
        DenseRows(X[order]), y[order], make_loss("squared"), constant=True
    ).weights
    np.testing.assert_allclose(shuffled, plain[order], atol=1e-6)


def test_a_time_limit_holds_for_the_judgement_of_labels():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((3000, 150))
    y = np.argmax(X[:, :3] + rng.gumbel(size=(3000, 3)), axis=1).astype(np.int32)
    loss, risk = make_loss("logistic", 3), parse_risk("subquantile:0.8")
    problem = make_problem(DenseRows(X), y, loss, risk, 1e-6)
    began, worked = perf_counter(), process_time()
    inliers = find_inlier_weights(DenseRows(X), y, loss, constant=False, until=began)
    limits = Limits(tol=1e-12, time_limit=0.2, until=began + 0.2)
    found = solve(problem, SolverOptions(), limits, inliers=inliers.weights)
    assert "stopped after 0.2 s (time_limit)" in found.status
    assert process_time() - worked < 10.0


def test_classes_that_columns_do_not_tell_apart_are_not_called_outliers_without_a_doubt(tmp_path):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((2000, 2))
    labels = ((X[:, 0] > 0.0) ^ (rng.random(2000) < 0.3)).astype(float)
    path = write(tmp_path, "vague.csv", X, labels)
    words = ("detect-outliers", path, "--target", "y", "--task", "classification", "--json")
    found = document(lrisk(tmp_path, *words))
    assert found["contamination"] > 0.2
    assert any("may not tell the classes apart" in note for note in found["notes"])
    told = document(lrisk(tmp_path, *words, "--contamination", "0.01"))
    assert not any("may not tell the classes apart" in note for note in told["notes"])
