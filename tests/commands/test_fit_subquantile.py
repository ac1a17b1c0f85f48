"""A subquantile is minimised itself: compared with least trimmed squares in plain NumPy."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, lrisk, read_csv

SAMPLE = Path(__file__).parents[2] / "sample_data" / "contaminated.csv"
HEATING = (str(SAMPLE), "--target", "heating_kwh_day", "--exclude", "id,planted", "--quiet")


def lts_objectives(X: np.ndarray, y: np.ndarray, kept: int, mu: float, starts: int) -> list[float]:
    """FAST-LTS with a penalty: where concentration steps from random subsets of d + 1 rows end.

    The objective is the mean of the `kept` least (y - Xw)^2 / 2, plus mu/2 ||w||^2.
    """
    rng, ends = np.random.default_rng(0), []
    for _ in range(starts):
        rows, least = rng.choice(len(y), X.shape[1] + 1, replace=False), np.inf
        while True:
            A, b = X[rows], y[rows]
            w = np.linalg.solve(A.T @ A / len(b) + mu * np.eye(X.shape[1]), A.T @ b / len(b))
            losses = 0.5 * (y - X @ w) ** 2
            rows = np.argsort(losses, kind="stable")[:kept]
            objective = losses[rows].mean() + 0.5 * mu * w @ w
            if objective >= least * (1.0 - 1e-12):
                break
            least = objective
        ends.append(least)
    return ends


def problem_of(path: Path) -> tuple[dict, np.ndarray, np.ndarray]:
    """A saved model of the sample, and the numbers that it was fitted to."""
    model = json.loads(path.read_text())
    encoding, rows = model["encoding"], read_csv(SAMPLE.read_text())
    columns = [
        (np.array([float(row[entry["name"]]) for row in rows]) - entry["mean"]) / entry["scale"]
        for entry in encoding["features"]
    ]
    y = np.array([float(row[model["target"]]) for row in rows])
    y = (y - encoding["target_mean"]) / encoding["target_scale"]
    return model, np.column_stack([*columns, np.ones(len(y))]), y


def test_each_fraction_has_its_own_minimiser_as_low_as_least_trimmed_squares(tmp_path):
    objectives = {}
    for p in (0.6, 0.8, 0.9, 0.95):
        path = tmp_path / f"{p}.json"
        run = lrisk(tmp_path, "fit", *HEATING, "--risk", f"subquantile:{p}", "-o", str(path))
        assert run.returncode == 0, run.stderr
        model, X, y = problem_of(path)
        kept, mu, w = round(p * len(y)), model["l2"], np.array(model["coefficients"])
        errors = np.sort(0.5 * (y - X @ w) ** 2)
        objectives[p] = model["fit"]["objective"]
        assert objectives[p] == pytest.approx(errors[:kept].mean() + 0.5 * mu * w @ w, rel=1e-9)
        assert objectives[p] <= 1.01 * min(lts_objectives(X, y, kept, mu, 100))
    assert sorted(objectives.values()) == list(objectives.values())
    # 48 of the 600 rows are planted; a subquantile of 0.95 drops 30 rows and so keeps 18 of them.
    assert 5.0 * objectives[0.9] < objectives[0.95] < 0.1553


def test_compare_fits_the_same_models_as_fit(tmp_path):
    halves = [tmp_path / "learn.csv", tmp_path / "test.csv"]
    header, *lines = SAMPLE.read_text().splitlines()
    for path, some in zip(halves, (lines[::2], lines[1::2]), strict=True):
        path.write_text("\n".join([header, *some]) + "\n")
    task = ("learn.csv", *HEATING[1:], "--test", "test.csv", "--json")
    how = ("--solver", "subgradient", "--momentum", "0.5", "--tol", "1e-3", "--max-passes", "300")
    for options in ((), how, ("--smoothing", "softplus", "--nu", "0.01")):
        risk = ("--risk", "subquantile:0.8", "--scaling", "mad", *options)
        compared = document(lrisk(tmp_path, "compare", *task, *risk, "--rival", "none"))
        fitted = document(lrisk(tmp_path, "fit", *task, *risk))
        (method,) = compared["methods"]
        assert method["figures"]["rmse"] == pytest.approx(fitted["holdout"]["rmse"], rel=1e-9)
