"""`lrisk fit`, run for real: what it finds, proves, writes and prints, against outside oracles."""

import csv
import itertools
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from helpers.house_prices import N_ROWS, add_house_files, house_columns
from helpers.program import PROGRAM, document, lrisk, read_csv, refusal, write_csv

FEATURES = ["--features", "area,color,rooms"]
AS_IN_FILE = ["--standardize", "none", "--no-intercept"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """A scratch folder with houses.csv; numbers.csv holds its numbers, near unit size."""
    add_house_files(tmp_path)
    columns = house_columns()
    numbers = {
        "area": columns["area"] / 100.0,
        "rooms": columns["rooms"] / 4.0,
        "price": columns["price"] / 100.0,
    }
    write_csv(tmp_path / "numbers.csv", numbers)
    return tmp_path


def fit(folder: Path, data: str, target: str, *flags: str) -> tuple[dict, dict]:
    """What `fit --json` printed, and the model that it wrote to model.json."""
    run = lrisk(folder, "fit", data, "--target", target, *flags, "--json", "-o", "model.json")
    return document(run), json.loads((folder / "model.json").read_text())


def spectrum(risk: str, n: int) -> np.ndarray:
    """The weights of a rising risk: differences of the integral of its density."""
    name, _, text = risk.partition(":")
    t, parameter = np.arange(n + 1) / n, float(text or 0.0)
    integrals = {
        "mean": lambda: t,
        "superquantile": lambda: np.maximum(t - parameter, 0.0) / (1.0 - parameter),
        "extremile": lambda: t**parameter,
        "esrm": lambda: np.expm1(parameter * t) / np.expm1(parameter),
    }
    return np.diff(integrals[name]())


def standardised(features: tuple[str, ...] = ("area", "color", "rooms")) -> np.ndarray:
    """The features of the houses as they enter the problem, the intercept last."""
    columns = house_columns()
    parts = []
    for name in features:
        values = columns[name]
        if name == "color":
            parts += [values == color for color in np.unique(values)]
        else:
            parts.append((values - values.mean()) / values.std())
    return np.column_stack([*parts, np.ones(N_ROWS)]).astype(float)


# What it finds: known solvers of the plain average


def test_the_mean_of_squared_losses_is_ridge_regression(folder):
    X, price = standardised(), house_columns()["price"]
    y = (price - price.mean()) / price.std()
    flags = [*FEATURES, "--risk", "mean", "--l2", "0.05", "--tol", "1e-12"]
    _, model = fit(folder, "houses.csv", "price", *flags)
    oracle = Ridge(alpha=0.05 * N_ROWS, fit_intercept=False, tol=1e-12).fit(X, y)
    assert model["coefficients"] == pytest.approx(oracle.coef_.tolist(), abs=1e-6)


@pytest.mark.parametrize("target", ["sold", "kind"])
def test_the_mean_of_logistic_losses_is_logistic_regression(folder, target):
    X, labels = standardised(), house_columns()[target]
    flags = [*FEATURES, "--risk", "mean", "--l2", "0.05", "--tol", "1e-10"]
    _, model = fit(folder, "houses.csv", target, *flags)
    oracle = LogisticRegression(C=1.0 / (0.05 * N_ROWS), fit_intercept=False, tol=1e-10)
    oracle.fit(X, labels)
    assert model["classes"] == oracle.classes_.tolist()
    assert np.array(model["coefficients"]) == pytest.approx(oracle.coef_.T.squeeze(), abs=1e-4)
    run = lrisk(folder, "predict", "model.json", "houses.csv", "--quiet")
    rows = read_csv(run.stdout)
    found = [[float(row[f"probability:{label}"]) for label in oracle.classes_] for row in rows]
    assert np.array(found) == pytest.approx(oracle.predict_proba(X), abs=1e-4)
    assert [row["prediction"] for row in rows] == oracle.predict(X).tolist()


def test_published_minima_of_smoothed_risks_are_reached(folder, real_data):
    with (real_data / "reference_optima.csv").open() as file:
        published = [row for row in csv.DictReader(file) if "yacht" in row["train_file"]]
    assert len(published) >= 3
    for row in published:
        n, level = float(row["n"]), row["spectrum_parameter"].partition("=")[2]
        flags = ["--risk", f"{row['spectrum']}:{level}", "--l2", repr(1.0 / n), "--force"]
        flags += [*AS_IN_FILE, "--smoothing", "l2", "--nu", repr(n), "--tol", "1e-9"]
        result, _ = fit(folder, str(real_data / row["train_file"]), "y", *flags)
        minimum = float(row["published_minimum"])
        assert result["fit"]["smoothed_objective"] == pytest.approx(minimum, rel=2e-9)


# What it proves


@pytest.mark.parametrize("risk", ["mean", "superquantile:0.7", "extremile:2.5", "esrm:1.5"])
def test_the_objective_is_the_formula_on_the_numbers_of_the_file(folder, risk):
    flags = ["--risk", risk, "--l2", "0.01", *AS_IN_FILE]
    result, model = fit(folder, "numbers.csv", "price", *flags)
    columns, w = house_columns(), np.array(model["coefficients"])
    X = np.column_stack([columns["area"] / 100.0, columns["rooms"] / 4.0])
    sigma = spectrum(risk, N_ROWS)

    def objective(w: np.ndarray) -> float:
        losses = np.sort(0.5 * (columns["price"] / 100.0 - X @ w) ** 2)
        return float(sigma @ losses + 0.005 * (w @ w))

    record = result["fit"]
    assert record["objective_scale"] == "file"
    assert record["objective"] == pytest.approx(objective(w), rel=1e-9)
    assert record["absolute_gap"] == pytest.approx(record["objective"] - record["lower_bound"])
    gained = objective(np.zeros(2)) - record["objective"]
    assert record["gap"] == pytest.approx(record["absolute_gap"] / gained, rel=1e-6)
    steps = np.random.default_rng(0).standard_normal((200, 2)) * np.geomspace(1e-4, 1, 200)[:, None]
    assert record["lower_bound"] <= min(objective(w + step) for step in steps)


def test_no_lower_bound_exceeds_what_another_method_attains(folder):
    common = ["--risk", "superquantile:0.5", "--l2", "0.01", "--max-passes", "200", "--force"]
    ways = {
        "lsvrg": ["--solver", "lsvrg"],
        "uniform": [
            "--solver",
            "lsvrg",
            "--sampling",
            "uniform",
            "--epoch-length",
            "50",
            "--seed",
            "3",
        ],
        "sgd": ["--solver", "sgd", "--batch-size", "32"],
        "srda": ["--solver", "srda"],
        "subgradient": ["--solver", "subgradient"],
        "l2": ["--solver", "lsvrg", "--smoothing", "l2"],
        "entropy": ["--solver", "lsvrg", "--smoothing", "entropy", "--nu", "1e-4"],
    }
    records = {
        name: fit(folder, "houses.csv", "price", *FEATURES, *common, *flags)[0]["fit"]
        for name, flags in ways.items()
    }
    for one, other in itertools.permutations(records.values(), 2):
        assert one["lower_bound"] <= other["objective"] * (1.0 + 1e-12)
    best = min(record["objective"] for record in records.values())
    assert all(record["objective"] < 1.05 * best for record in records.values())
    assert records["lsvrg"]["gap"] < 1e-4
    assert records["entropy"]["smoothed_objective"] <= records["entropy"]["objective"]


def test_a_run_that_must_converge_and_did_not_exits_5_with_its_results(folder):
    flags = ["--target", "price", *FEATURES, "--max-passes", "3", "--require-convergence"]
    outputs = ["-o", "model.json", "--losses", "losses.csv", "--trace", "trace.csv"]
    run = lrisk(folder, "fit", "houses.csv", *flags, *outputs, "--json")
    result = document(run, 5)
    assert run.stderr.splitlines()[-1] == (
        f"lrisk: error: {result['fit']['status']}; allow more passes or a larger --tol "
        "(--require-convergence)"
    )
    assert json.loads((folder / "model.json").read_text())["fit"] == result["fit"]
    assert len(read_csv((folder / "losses.csv").read_text())) == N_ROWS
    assert lrisk(folder, "show", "model.json").returncode == 0


def test_a_fit_that_learned_nothing_says_so(folder):
    rng = np.random.default_rng(0)
    write_csv(folder / "coins.csv", {"x": rng.standard_normal(400), "y": rng.integers(0, 2, 400)})
    flags = ["--target", "y", "--max-passes", "50"]
    run = lrisk(folder, "fit", "coins.csv", *flags)
    assert "% below that of a constant prediction: " in run.stderr
    assert "choose a milder risk such as " in run.stderr
    run = lrisk(folder, "fit", "houses.csv", "--target", "sold", *FEATURES, "--risk", "mean")
    assert "constant prediction" not in run.stderr


# What it writes


def test_the_losses_file_holds_predictions_losses_weights_and_ranks(folder):
    flags = [*FEATURES, "--risk", "extremile:2", "--id", "house", "--losses", "losses.csv"]
    _, model = fit(folder, "houses.csv", "price", *flags)
    columns, goal = house_columns(), model["encoding"]
    predictions = standardised() @ model["coefficients"] * goal["target_scale"]
    predictions += goal["target_mean"]
    losses = 0.5 * (columns["price"] - predictions) ** 2
    order = np.argsort(losses)
    weights = np.empty(N_ROWS)
    weights[order] = spectrum("extremile:2", N_ROWS)
    ranks = np.empty(N_ROWS, int)
    ranks[order[::-1]] = np.arange(1, N_ROWS + 1)
    written = read_csv((folder / "losses.csv").read_text())
    assert list(written[0]) == [
        *("row", "line", "id", "target", "prediction", "loss", "weight", "rank")
    ]
    assert [row["id"] for row in written] == columns["house"].tolist()
    assert [int(row["row"]) for row in written] == list(range(N_ROWS))
    assert [int(row["rank"]) for row in written] == ranks.tolist()
    found = {name: [float(row[name]) for row in written] for name in ("target", "prediction")}
    found |= {name: [float(row[name]) for row in written] for name in ("loss", "weight")}
    assert found["target"] == columns["price"].tolist()
    assert found["prediction"] == pytest.approx(predictions)
    assert found["loss"] == pytest.approx(losses, abs=1e-9)
    assert found["weight"] == pytest.approx(weights)


@pytest.mark.parametrize("target", ["price", "kind"])
def test_scoring_the_training_rows_again_changes_no_digit(folder, target):
    flags = [*FEATURES, "--losses", "losses.csv", "--max-passes", "40"]
    result, _ = fit(folder, "houses.csv", target, *flags)
    evaluated = document(lrisk(folder, "evaluate", "model.json", "houses.csv", "--json"))
    assert evaluated["metrics"] == result["training"]
    run = lrisk(folder, "predict", "model.json", "houses.csv", "--quiet")
    fitted = read_csv((folder / "losses.csv").read_text())
    again = read_csv(run.stdout)
    assert [row["prediction"] for row in again] == [row["prediction"] for row in fitted]


def test_the_trace_tells_the_course_of_the_run(folder):
    flags = [*FEATURES, "--max-passes", "60", "--trace", "trace.csv"]
    result, _ = fit(folder, "houses.csv", "price", *flags)
    trace = read_csv((folder / "trace.csv").read_text())
    assert list(trace[0]) == [
        "pass", "seconds", "objective", "lower_bound", "gap", "rank_changes",
        "epochs", "gradient_evaluations",
    ]  # fmt: skip
    for name in ("pass", "seconds"):
        course = [float(row[name]) for row in trace]
        assert course == sorted(course)
    bounds = [float(row["lower_bound"]) for row in trace if row["lower_bound"]]
    assert bounds == sorted(bounds)
    assert bounds[-1] <= result["fit"]["lower_bound"]
    best = min(float(row["objective"]) for row in trace)
    assert best == pytest.approx(result["fit"]["objective"], rel=1e-12)


def test_the_portable_kernels_find_the_same_model(folder):
    flags = [*FEATURES, "--target", "price", "--risk", "extremile:2", "--tol", "1e-10"]
    found = []
    for k, setting in enumerate(["", "1"]):
        run = lrisk(folder, "fit", "houses.csv", *flags, "-o", f"model{k}.json",
                    env={**os.environ, "LRISK_PORTABLE": setting})  # fmt: skip
        assert run.returncode == 0, run.stderr
        found.append(json.loads((folder / f"model{k}.json").read_text()))
    assert found[0]["coefficients"] == pytest.approx(found[1]["coefficients"], rel=1e-6)
    assert found[0]["fit"]["objective"] == pytest.approx(found[1]["fit"]["objective"], rel=1e-9)
    assert found[0]["fit"]["fingerprint"] == found[1]["fit"]["fingerprint"]


# Rows to test on, rows with holes


def test_rows_held_out_are_judged_as_evaluate_judges_them(folder):
    flags = [*FEATURES, "--max-passes", "40", "--holdout", "0.25", "--losses", "losses.csv"]
    result, _ = fit(folder, "houses.csv", "price", *flags)
    used = {int(row["row"]) for row in read_csv((folder / "losses.csv").read_text())}
    kept_out = [row for row in range(N_ROWS) if row not in used]
    assert result["rows"] == {
        "read": N_ROWS, "used": 225, "dropped": 0, "reasons": {}, "held_out": 75
    }  # fmt: skip
    assert len(kept_out) == 75
    columns = house_columns()
    for name, rows in (("train.csv", sorted(used)), ("test.csv", kept_out)):
        write_csv(folder / name, {key: column[rows] for key, column in columns.items()})
    evaluated = document(lrisk(folder, "evaluate", "model.json", "test.csv", "--json"))
    assert evaluated["metrics"] == pytest.approx(result["holdout"], rel=1e-12)
    # The same rows in two files: nothing may have been learned from those held out.
    flags = [*FEATURES, "--max-passes", "40", "--test", "test.csv", "--force"]
    apart, _ = fit(folder, "train.csv", "price", *flags)
    assert apart["holdout"] == pytest.approx(result["holdout"], rel=1e-9)
    assert apart["fit"]["objective"] == pytest.approx(result["fit"]["objective"], rel=1e-12)


def test_holes_are_refused_dropped_or_filled(folder):
    columns = {name: column.tolist() for name, column in house_columns().items()}
    full = house_columns()
    for row in (3, 50, 51):
        columns["area"][row] = None
    columns["color"][70] = None
    write_csv(folder / "holes.csv", columns)
    flags = ["--target", "price", *FEATURES, "-o", "model.json"]
    sentence = refusal(lrisk(folder, "fit", "holes.csv", *flags), 3)
    assert "holes.csv, column 'area', row 3: the cell is missing; pass --missing drop" in sentence
    assert not (folder / "model.json").exists()

    common = [*FEATURES, "--risk", "mean", "--tol", "1e-9", "--force"]
    kept = np.delete(np.arange(N_ROWS), [3, 50, 51, 70])
    write_csv(folder / "dropped.csv", {name: column[kept] for name, column in full.items()})
    result, dropped = fit(folder, "holes.csv", "price", *common, "--missing", "drop")
    assert result["rows"]["reasons"] == {"missing area": 3, "missing color": 1}
    _, oracle = fit(folder, "dropped.csv", "price", *common)
    assert dropped["coefficients"] == oracle["coefficients"]

    result, filled = fit(folder, "holes.csv", "price", *common, "--missing", "impute")
    assert (result["rows"]["used"], result["rows"]["dropped"]) == (N_ROWS, 0)
    assert result["rows"]["filled"] == {"area": 3, "color": 1}
    assert filled["fit"]["cells_filled"] == {"area": 3, "color": 1}
    no_area, no_color = np.zeros((2, N_ROWS))
    no_area[[3, 50, 51]] = no_color[70] = 1.0
    area = np.where(no_area, np.median(full["area"][no_area == 0]), full["area"])
    colors, counts = np.unique(full["color"][no_color == 0], return_counts=True)
    color = np.where(no_color, colors[np.argmax(counts)], full["color"])
    scaled = [(x - x.mean()) / x.std() for x in (area, full["rooms"], full["price"])]
    hot = (color[:, None] == colors).T
    X = np.array([scaled[0], no_area, *hot, no_color, scaled[1], np.ones(N_ROWS)]).T
    oracle = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ scaled[2])
    assert filled["coefficients"] == pytest.approx(oracle, rel=1e-4)


# Pipes


def test_a_table_may_come_through_a_pipe_and_a_model_may_leave_through_one(folder):
    flags = ["--target", "price", *FEATURES, "--max-passes", "20", "--quiet"]
    assert lrisk(folder, "fit", "houses.csv", *flags, "-o", "model.json").returncode == 0
    expected = (folder / "model.json").read_bytes()
    with (folder / "houses.csv").open() as file:
        run = lrisk(folder, "fit", "-", *flags, "-o", "piped.json", stdin=file)
    assert run.returncode == 0, run.stderr
    assert (folder / "piped.json").read_bytes() == expected
    os.mkfifo(folder / "fifo")
    with subprocess.Popen(["cp", "houses.csv", "fifo"], cwd=folder) as writer:
        run = lrisk(folder, "fit", "fifo", *flags, "-o", "/dev/stdout", timeout=60)
        assert run.returncode == 0, run.stderr
        assert writer.wait(10) == 0
    assert run.stdout.startswith(expected.decode())


def test_a_reader_that_leaves_early_is_no_error(folder):
    arguments = ["fit", "houses.csv", "--target", "price", *FEATURES, "--max-passes", "5"]
    with subprocess.Popen(
        [*PROGRAM, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        program.stdout.close()
        assert program.wait(60) == 0
        (line,) = program.stderr.read().decode().splitlines()
    assert line.startswith("lrisk fit: ")


# The default risk


def risk_notes(folder, *flags: str) -> list[str]:
    command = ["fit", "houses.csv", "--target", "price", "--features", "area", "--json"]
    found = document(lrisk(folder, *command, *flags))["notes"]
    return [note for note in found if note.startswith("risk: ")]


def test_a_default_risk_is_noted_once_and_a_named_one_is_not(tmp_path):
    folder = add_house_files(tmp_path)
    (note,) = risk_notes(folder, "--l2", "0.01,0.1", "--cv", "2")
    assert note == (
        "risk: extremile:2, the default since 0.2.0; "
        "pass --risk superquantile:0.9 for the former one"
    )
    assert risk_notes(folder, "--risk", "extremile:2") == []
    (folder / "lrisk.toml").write_text('[fit]\nrisk = ["extremile:2"]\n')
    assert risk_notes(folder) == []


def test_the_default_risk_separates_classes_of_a_rare_kind(tmp_path):
    # The worst tenth alone is best served by one half for every row.
    rng = np.random.default_rng(0)
    x = rng.standard_normal(2000)
    kinds = np.where(x + rng.logistic(size=2000) > 2.0, "yes", "no")
    write_csv(tmp_path / "rare.csv", {"x": x, "kind": kinds})
    run = lrisk(tmp_path, "fit", "rare.csv", "--target", "kind", "--json", "-o", "m.json")
    assert document(run)["risk"] == "extremile:2"
    (tmp_path / "new.csv").write_text("x\n-3\n3\n")
    rows = lrisk(tmp_path, "predict", "m.json", "new.csv").stdout.splitlines()
    assert [row.split(",")[2] for row in rows[1:]] == ["no", "yes"]
