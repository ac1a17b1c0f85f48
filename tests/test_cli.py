"""The program itself, run in scratch folders: what it prints, writes and answers."""

import csv
import fcntl
import io
import json
import os
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from lrisk_cli.cli import COMMANDS, CommandLoader
from lrisk_cli.design import DesignOptions, build_design
from lrisk_cli.model import Model, load_model, save_model
from lrisk_cli.modelfile import FitRecord
from lrisk_cli.names import Missing
from lrisk_cli.risk import rank_rows, row_weights, spectral_risk
from lrisk_cli.spectra import parse_risk
from lrisk_cli.tables import open_table

PROGRAM = [sys.executable, "-m", "lrisk_cli"]
N_ROWS = 300


def lrisk(folder: Path, *arguments: str, **settings) -> subprocess.CompletedProcess[str]:
    """Run `lrisk ARGUMENTS` in the folder."""
    settings = {"capture_output": True, "text": True, "cwd": folder, "timeout": 60} | settings
    return subprocess.run([*PROGRAM, *arguments], **settings)


def document(run: subprocess.CompletedProcess[str], code: int = 0) -> dict:
    """The JSON document on standard output."""
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)


def refusal(run: subprocess.CompletedProcess[str], code: int) -> str:
    """The sentence of a command that ended with this code, and nothing else was said."""
    assert run.returncode == code, run.stderr
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert line.startswith("lrisk: error: ")
    return line


def write_csv(path: Path, columns: dict[str, object]) -> None:
    pyarrow.csv.write_csv(pa.table(columns), path)


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def house_columns() -> dict[str, np.ndarray]:
    """Prices of houses, far from standardised."""
    rng = np.random.default_rng(0)
    area = 100.0 + 30.0 * rng.standard_normal(N_ROWS)
    color = rng.choice(["blue", "green", "red"], N_ROWS)
    noise = rng.standard_t(3, N_ROWS)
    return {
        "house": np.array([f"h{i:03d}" for i in range(N_ROWS)]),
        "area": area,
        "color": color,
        "rooms": rng.integers(1, 9, N_ROWS),
        "price": 50.0 + 2.0 * area + 10.0 * (color == "red") + 5.0 * noise,
        "kind": np.array(["flat", "house", "villa"])[np.digitize(area + 10.0 * noise, [90, 120])],
        "sold": np.where(area + 20.0 * noise > 100.0, "yes", "no"),
    }


def write_model(folder: Path, name: str, target: str, missing: Missing = Missing.ERROR) -> Model:
    """A ridge regression, or some classifier, of houses.csv; fitted without lrisk's solvers."""
    exclude = tuple({"house", "price", "kind", "sold"} - {target})
    options = DesignOptions(target=target, exclude=exclude, missing=missing)
    design, _ = build_design(open_table([str(folder / "houses.csv")]), options)
    X, classes = design.X, design.encoding.target.classes
    if classes:
        hits = design.y[:, None] == np.arange(len(classes))
        goals = 4.0 * (hits if len(classes) > 2 else hits[:, 1:]) - 2.0
    else:
        goals = design.y[:, None]
    W = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ goals)
    record = FitRecord(
        solver="lsvrg", status="the gap is below the tolerance", passes=12.0, objective=0.5,
        lower_bound=0.4999, absolute_gap=1e-4, gap=2.5e-4, objective_scale="standardised",
        smoothing="none", nu=None, smoothed_objective=None, smoothed_gap=None, step=0.1,
        seed=0, rows_read=N_ROWS, rows_used=N_ROWS, rows_dropped=0,
        drop_reasons={}, fingerprint=design.fingerprint,
    )  # fmt: skip
    model = Model(
        design.encoding,
        "logistic" if classes else "squared",
        "superquantile:0.9",
        1.0 / N_ROWS,
        np.ascontiguousarray(W),
        record,
    )
    save_model(folder / name, model)
    return load_model(folder / name)


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> Path:
    """A folder with houses.csv and three models of it."""
    folder = tmp_path_factory.mktemp("made")
    write_csv(folder / "houses.csv", house_columns())
    write_model(folder, "price.json", "price")
    write_model(folder, "kind.json", "kind")
    write_model(folder, "sold.json", "sold")
    return folder


@pytest.fixture
def scratch(made, tmp_path) -> Path:
    """A fresh folder with the same files, for commands that write."""
    for path in made.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def price_losses(folder: Path) -> np.ndarray:
    """Half squared errors by hand, from the model's own file."""
    contents = json.loads((folder / "price.json").read_text())
    columns, W = house_columns(), contents["coefficients"]
    goal = contents["encoding"]
    total, at = np.full(N_ROWS, W[-1]), 0
    for feature in goal["features"]:
        values = columns[feature["name"]]
        if feature["kind"] == "number":
            total += W[at] * (values - feature["mean"]) / feature["scale"]
            at += 1
        else:
            for category in feature["categories"]:
                total += W[at] * (values == category)
                at += 1
    predictions = goal["target_mean"] + goal["target_scale"] * total
    return 0.5 * (columns["price"] - predictions) ** 2


# Help and usage


def test_help_lists_the_commands_with_the_first_line_of_their_help(tmp_path):
    run = lrisk(tmp_path, "--help")
    assert run.returncode == 0
    assert run.stderr == ""
    for name, summary in COMMANDS.items():
        assert f"  {name}" in run.stdout
        assert summary in run.stdout
        command = CommandLoader(name="lrisk").get_command(None, name)
        assert command.help.splitlines()[0] == summary


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("evaluate", ["--risk", "--fail-on", "--losses", "--intervals", "--json", "--force"]),
        ("predict", ["-o", "--output", "--id", "--missing", "--unseen", "--quiet"]),
        ("show", ["--json"]),
        ("schema", []),
        ("fit", ["--target", "--risk", "--solver", "--tol", "--holdout", "--require-convergence"]),
    ],
)
def test_each_command_lists_its_options(tmp_path, command, options):
    run = lrisk(tmp_path, command, "--help")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"Usage: lrisk {command}")
    assert [option for option in options if option not in run.stdout] == []


def test_the_version_is_printed(tmp_path):
    run = lrisk(tmp_path, "--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, "lrisk 0.1.0\n", "")


def test_no_command_is_a_usage_error_that_shows_the_help(tmp_path):
    run = lrisk(tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "evaluate" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["evalute"], "did you mean 'evaluate'"),
        (["evaluate"], "missing argument 'MODEL'"),
        (["evaluate", "m.json"], "missing argument 'DATA'"),
        (["show", "m.json", "--colour"], "no such option: --colour"),
        (["evaluate", "m.json", "d.csv", "--missing", "guess"], "'guess' is not one of"),
        (["evaluate", "m.json", "d.csv", "--seed", "one"], "'--seed': "),
    ],
)
def test_a_wrong_command_line_is_answered_with_a_sentence(tmp_path, arguments, finding):
    sentence = refusal(lrisk(tmp_path, *arguments), 2)
    assert finding.lower() in sentence.lower()
    assert sentence.endswith("--help")


# Evaluate


def test_evaluate_reports_risks_and_errors_in_units_of_the_file(made):
    run = lrisk(made, "evaluate", "price.json", "houses.csv", "--json")
    result = document(run)
    losses, price = price_losses(made), house_columns()["price"]
    assert result["command"] == "evaluate"
    assert result["model"] == "price.json"
    assert result["rows"] == {"read": N_ROWS, "used": N_ROWS, "dropped": 0, "reasons": {}}
    metrics = result["metrics"]
    for risk in ("superquantile:0.5", "superquantile:0.9", "superquantile:0.99", "extremile:2"):
        assert metrics[risk] == pytest.approx(spectral_risk(losses, parse_risk(risk)))
    assert metrics["mean"] == pytest.approx(losses.mean())
    assert metrics["max"] == pytest.approx(losses.max())
    assert metrics["rmse"] == pytest.approx(np.sqrt(2.0 * losses.mean()))
    assert metrics["mae"] == pytest.approx(np.sqrt(2.0 * losses).mean())
    assert metrics["r2"] == pytest.approx(1.0 - 2.0 * losses.mean() / price.var())
    assert "intervals" not in result
    assert result["gates"] == []


def test_evaluate_reports_accuracy_and_log_loss_of_classes(made):
    metrics = document(lrisk(made, "evaluate", "kind.json", "houses.csv", "--json"))["metrics"]
    rows = read_csv(lrisk(made, "predict", "kind.json", "houses.csv").stdout)
    kinds = house_columns()["kind"]
    chances = [float(row[f"probability:{kind}"]) for row, kind in zip(rows, kinds, strict=True)]
    right = [row["prediction"] == kind for row, kind in zip(rows, kinds, strict=True)]
    assert metrics["log_loss"] == pytest.approx(-np.log(chances).mean())
    assert metrics["mean"] == metrics["log_loss"]
    assert metrics["accuracy"] == pytest.approx(np.mean(right))
    assert "rmse" not in metrics


def test_evaluate_takes_the_risks_asked_for_falling_ones_too(made):
    arguments = ["--risk", "cvar:.75", "--risk", "subquantile:0.5", "--risk", "lower-extremile:2"]
    run = lrisk(made, "evaluate", "price.json", "houses.csv", "--json", *arguments)
    metrics, losses = document(run)["metrics"], price_losses(made)
    names = ["mean", "superquantile:0.75", "subquantile:0.5", "lower-extremile:2", "max"]
    assert list(metrics)[:5] == names
    for name in names[1:4]:
        assert metrics[name] == pytest.approx(spectral_risk(losses, parse_risk(name)))


def test_evaluate_prints_for_people_without_escape_codes(made):
    run = lrisk(made, "evaluate", "price.json", "houses.csv", "--intervals")
    assert run.returncode == 0
    assert "superquantile:0.99" in run.stdout
    assert "95 % interval" in run.stdout
    assert f"{N_ROWS} read, {N_ROWS} used, none dropped" in run.stdout
    assert "\x1b" not in run.stdout + run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_quiet_says_nothing_beside_the_result(made):
    loud = lrisk(made, "evaluate", "price.json", "houses.csv")
    quiet = lrisk(made, "evaluate", "price.json", "houses.csv", "--quiet")
    assert quiet.stdout == loud.stdout
    assert quiet.stderr == ""


def test_intervals_hold_the_risks_and_repeat_with_the_seed(made):
    arguments = ["evaluate", "price.json", "houses.csv", "--json", "--intervals", "--seed"]
    first = document(lrisk(made, *arguments, "3"))
    assert first == document(lrisk(made, *arguments, "3"))
    assert first["intervals"] != document(lrisk(made, *arguments, "4"))["intervals"]
    for name, (low, high) in first["intervals"].items():
        assert low < first["metrics"][name] < high


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["rmse>1000"], 0),
        (["rmse>0.001"], 1),
        (["rmse>1000", "mean > 0"], 1),
        (["cvar:0.95<=0", "n_rows<300", "unseen_fraction>0", "missing_fraction>0"], 0),
        (["n_rows<=300"], 1),
        (["gap>1e-3"], 0),
        (["gap>1e-4"], 1),
        (["max>=0"], 1),
    ],
)
def test_gates_decide_the_exit_code_and_nothing_else(made, conditions, code):
    flags = [word for condition in conditions for word in ("--fail-on", condition)]
    plain = document(lrisk(made, "evaluate", "price.json", "houses.csv", "--json"))
    result = document(lrisk(made, "evaluate", "price.json", "houses.csv", "--json", *flags), code)
    assert plain["metrics"].items() <= result["metrics"].items()
    assert any(gate["failed"] for gate in result["gates"]) == bool(code)
    assert len(result["gates"]) == len(conditions)
    shown = lrisk(made, "evaluate", "price.json", "houses.csv", *flags)
    assert shown.returncode == code
    assert ("FAILED" in shown.stdout) == bool(code)
    assert "rmse" in shown.stdout


@pytest.mark.parametrize(
    ("condition", "finding"),
    [
        ("accuracy<0.9", "accuracy is a metric of classification"),
        ("rmze>1", "did you mean rmse?"),
        ("rmse", "is not a condition"),
        ("superquantile:1.2>1", "superquantile level must be in [0, 1); got 1.2"),
    ],
)
def test_a_gate_that_cannot_be_judged_is_a_usage_error(made, condition, finding):
    run = lrisk(made, "evaluate", "price.json", "houses.csv", "--fail-on", condition)
    assert finding in refusal(run, 2)


def test_losses_file_ranks_and_weighs_every_row(scratch):
    arguments = ["price.json", "houses.csv", "--losses", "losses.csv", "--id", "house"]
    run = lrisk(scratch, "evaluate", *arguments)
    assert run.returncode == 0, run.stderr
    rows = read_csv((scratch / "losses.csv").read_text())
    assert list(rows[0]) == ["row", "id", "target", "prediction", "loss", "weight", "rank"]
    columns, losses = house_columns(), price_losses(scratch)
    assert [int(row["row"]) for row in rows] == list(range(N_ROWS))
    assert [row["id"] for row in rows] == columns["house"].tolist()
    assert [float(row["target"]) for row in rows] == columns["price"].tolist()
    written = np.array([float(row["loss"]) for row in rows])
    assert written == pytest.approx(losses)
    weights = [float(row["weight"]) for row in rows]
    assert weights == row_weights(written, parse_risk("superquantile:0.9")).tolist()
    assert [int(row["rank"]) for row in rows] == rank_rows(written).tolist()
    assert sum(weights) == pytest.approx(1.0)


def test_losses_of_classes_name_them(scratch):
    run = lrisk(scratch, "evaluate", "sold.json", "houses.csv", "--losses", "losses.parquet")
    assert run.returncode == 0, run.stderr
    rows = pyarrow.parquet.read_table(scratch / "losses.parquet").to_pylist()
    assert list(rows[0]) == ["row", "target", "prediction", "loss", "weight", "rank"]
    assert [row["target"] for row in rows] == house_columns()["sold"].tolist()
    assert {row["prediction"] for row in rows} == {"no", "yes"}


def test_figures_do_not_depend_on_the_form_of_the_table(scratch):
    table = pa.table(house_columns())
    pyarrow.parquet.write_table(table.select(table.column_names[::-1]), scratch / "turned.parquet")
    for start in range(0, N_ROWS, 60):
        write_csv(scratch / f"part{start:03d}.csv", table.slice(start, 60).to_pydict())
    forms = [["houses.csv"], ["turned.parquet"], ["part*.csv"], ["-"]]
    results = []
    for k, form in enumerate(forms):
        flags = ["--json", "--intervals", "--losses", f"losses{k}.csv"]
        with (scratch / "houses.csv").open() as stdin:
            run = lrisk(scratch, "evaluate", "price.json", *form, *flags, stdin=stdin)
        results.append(document(run))
    assert all(result == results[0] for result in results[1:])
    written = [(scratch / f"losses{k}.csv").read_bytes() for k in range(len(forms))]
    assert all(losses == written[0] for losses in written[1:])


# Predict


def test_predict_prints_what_it_would_write_and_needs_no_target(scratch):
    columns = house_columns()
    write_csv(scratch / "new.csv", {name: columns[name] for name in ("rooms", "color", "area")})
    printed = lrisk(scratch, "predict", "price.json", "new.csv")
    assert printed.returncode == 0, printed.stderr
    written = lrisk(scratch, "predict", "price.json", "houses.csv", "-o", "predictions.csv")
    assert (written.returncode, written.stdout) == (0, "")
    assert printed.stdout == (scratch / "predictions.csv").read_text()
    rows = read_csv(printed.stdout)
    assert list(rows[0]) == ["row", "prediction"]
    predictions = np.array([float(row["prediction"]) for row in rows])
    assert 0.5 * (predictions - columns["price"]) ** 2 == pytest.approx(price_losses(scratch))


@pytest.mark.parametrize("target", ["kind", "sold"])
def test_predict_gives_each_class_its_probability(made, target):
    run = lrisk(made, "predict", f"{target}.json", "houses.csv", "--id", "house")
    rows = read_csv(run.stdout)
    classes = sorted(set(house_columns()[target]))
    names = [f"probability:{label}" for label in classes]
    assert list(rows[0]) == ["row", "id", "prediction", *names]
    assert rows[7]["id"] == "h007"
    chances = np.array([[float(row[name]) for name in names] for row in rows])
    assert chances.sum(axis=1) == pytest.approx(1.0)
    likeliest = np.array(classes)[chances.argmax(axis=1)]
    assert [row["prediction"] for row in rows] == likeliest.tolist()


def test_a_row_is_predicted_the_same_wherever_it_stands(scratch):
    whole = read_csv(lrisk(scratch, "predict", "kind.json", "houses.csv", "--id", "house").stdout)
    lines = (scratch / "houses.csv").read_text().splitlines()
    (scratch / "few.csv").write_text("\n".join([lines[0], lines[250], lines[4], lines[77]]))
    few = read_csv(lrisk(scratch, "predict", "kind.json", "few.csv", "--id", "house").stdout)
    by_id = {row["id"]: {**row, "row": ""} for row in whole}
    assert [{**row, "row": ""} for row in few] == [by_id[row["id"]] for row in few]
    assert [row["row"] for row in few] == ["0", "1", "2"]


def test_a_reader_that_leaves_early_is_no_error(made):
    # Standard output is a pipe whose reading end is closed before the program writes.
    with subprocess.Popen(
        [*PROGRAM, "predict", "price.json", "houses.csv", "--quiet"],
        cwd=made, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(60) == 0


# Missing cells and unseen categories


def spoil(folder: Path, name: str, row: int, value: object) -> None:
    """houses.csv with one cell changed, as spoiled.csv."""
    columns = {key: column.tolist() for key, column in house_columns().items()}
    columns[name][row] = value
    write_csv(folder / "spoiled.csv", columns)


def test_missing_cells_follow_the_policy(scratch):
    spoil(scratch, "area", 12, None)
    sentence = refusal(lrisk(scratch, "evaluate", "price.json", "spoiled.csv"), 3)
    assert "spoiled.csv, column 'area', row 12" in sentence
    run = lrisk(scratch, "evaluate", "price.json", "spoiled.csv", "--missing", "drop", "--json",
                "--fail-on", "missing_fraction>0.003")  # fmt: skip
    rows = document(run, 1)["rows"]
    assert (rows["read"], rows["used"], rows["dropped"]) == (N_ROWS, N_ROWS - 1, 1)
    assert sum(rows["reasons"].values()) == 1
    run = lrisk(scratch, "predict", "price.json", "spoiled.csv", "--missing", "drop")
    assert [row["row"] for row in read_csv(run.stdout)][11:13] == ["11", "13"]
    assert "1 dropped (1 missing area)" in run.stderr
    sentence = refusal(
        lrisk(scratch, "predict", "price.json", "spoiled.csv", "--missing", "impute"), 2
    )
    assert "learnt no values to fill in" in sentence


def test_missing_cells_are_filled_by_a_model_that_learnt_how(scratch):
    write_model(scratch, "filling.json", "price", Missing.IMPUTE)
    spoil(scratch, "area", 12, None)
    rows = read_csv(lrisk(scratch, "predict", "filling.json", "spoiled.csv").stdout)
    median = float(np.median(house_columns()["area"]))
    spoil(scratch, "area", 12, median)
    assert read_csv(lrisk(scratch, "predict", "filling.json", "spoiled.csv").stdout) == rows


def test_unseen_categories_follow_the_policy(scratch):
    spoil(scratch, "color", 12, "pink")
    sentence = refusal(lrisk(scratch, "predict", "price.json", "spoiled.csv"), 3)
    assert "spoiled.csv, column 'color', row 12: 'pink'" in sentence
    run = lrisk(scratch, "evaluate", "price.json", "spoiled.csv", "--unseen", "other", "--json",
                "--fail-on", "unseen_fraction>0.003")  # fmt: skip
    assert document(run, 1)["rows"]["used"] == N_ROWS


def test_a_table_without_a_usable_row_is_refused(scratch):
    columns = {name: [None] for name in ("area", "color", "rooms", "price")}
    write_csv(scratch / "empty.csv", columns | {"house": ["x"]})
    run = lrisk(scratch, "evaluate", "price.json", "empty.csv", "--missing", "drop")
    assert "no row is left to judge; all 1 were dropped" in refusal(run, 3)
    run = lrisk(scratch, "predict", "price.json", "empty.csv", "--missing", "drop")
    assert "no row is left to score" in refusal(run, 3)


def test_a_column_that_the_model_needs_is_named_with_its_nearest_neighbour(scratch):
    columns = house_columns()
    columns["araa"] = columns.pop("area")
    write_csv(scratch / "renamed.csv", columns)
    for command in ("evaluate", "predict"):
        sentence = refusal(lrisk(scratch, command, "price.json", "renamed.csv"), 3)
        assert "renamed.csv: no column 'area'; did you mean 'araa'?" in sentence


# Bad files


@pytest.mark.parametrize("command", ["evaluate", "predict"])
@pytest.mark.parametrize(
    ("data", "finding"),
    [
        ("absent.csv", "absent.csv: no such file"),
        ("nothing.csv", "nothing.csv"),
        ("header.csv", "header.csv"),
        ("no*.xyz", "no file matches"),
    ],
)
def test_a_bad_table_is_refused_with_its_name(scratch, command, data, finding):
    (scratch / "nothing.csv").write_text("")
    (scratch / "header.csv").write_text("area,color,rooms,price\n")
    assert finding in refusal(lrisk(scratch, command, "price.json", data), 3)


@pytest.mark.parametrize(
    ("name", "finding"),
    [
        ("absent.json", "no such model file"),
        ("houses.csv", "not a model file"),
        ("newer.json", "newer"),
        ("damaged.json", "damaged"),
    ],
)
@pytest.mark.parametrize("command", ["evaluate", "predict", "show"])
def test_a_bad_model_is_refused_with_exit_4(scratch, command, name, finding):
    good = (scratch / "price.json").read_text()
    newer = good.replace('"format_version": 1', '"format_version": 2')
    (scratch / "newer.json").write_text(newer)
    (scratch / "damaged.json").write_text(good.replace('"task": "regression"', '"task": 7'))
    data = [] if command == "show" else ["houses.csv"]
    sentence = refusal(lrisk(scratch, command, name, *data), 4)
    assert f"{name}: " in sentence
    assert finding in sentence


@pytest.mark.parametrize(("command", "flag"), [("evaluate", "--losses"), ("predict", "-o")])
def test_outputs_are_checked_before_the_work(scratch, command, flag):
    (scratch / "kept.csv").write_text("precious")
    begin = [command, "price.json", "houses.csv", flag]
    assert "kept.csv: exists; pass --force" in refusal(lrisk(scratch, *begin, "kept.csv"), 2)
    assert (scratch / "kept.csv").read_text() == "precious"
    assert "absent" in refusal(lrisk(scratch, *begin, "absent/out.csv"), 2)
    assert "out.xls" in refusal(lrisk(scratch, *begin, "out.xls"), 2)
    before = sorted(path.name for path in scratch.iterdir())
    # The table is bad, but the output is what must be refused: it was looked at first.
    assert "exists" in refusal(
        lrisk(scratch, command, "price.json", "absent.csv", flag, "kept.csv"), 2
    )
    assert sorted(path.name for path in scratch.iterdir()) == before
    run = lrisk(scratch, *begin, "kept.csv", "--force")
    assert run.returncode == 0, run.stderr
    assert read_csv((scratch / "kept.csv").read_text())[0]["row"] == "0"


def test_a_failed_command_writes_nothing(scratch):
    spoil(scratch, "color", N_ROWS - 1, "pink")
    before = sorted(path.name for path in scratch.iterdir())
    refusal(lrisk(scratch, "predict", "price.json", "spoiled.csv", "-o", "out.csv"), 3)
    refusal(lrisk(scratch, "evaluate", "price.json", "spoiled.csv", "--losses", "out.csv"), 3)
    assert sorted(path.name for path in scratch.iterdir()) == before


# Show and schema


def test_show_prints_coefficients_in_units_of_the_file_largest_effect_first(made):
    run = lrisk(made, "show", "price.json")
    assert run.returncode == 0
    assert run.stderr == ""
    shown = document(lrisk(made, "show", "price.json", "--json"))
    effects = [entry["effect"] for entry in shown["coefficients"]]
    assert effects == sorted(effects, reverse=True)
    by_column = {entry["column"]: entry["coefficient"] for entry in shown["coefficients"]}
    columns = house_columns()
    predictions = shown["intercept"] + by_column["area"] * columns["area"]
    predictions += by_column["rooms"] * columns["rooms"]
    for color in ("blue", "green", "red"):
        predictions += by_column[f"color={color}"] * (columns["color"] == color)
    assert 0.5 * (predictions - columns["price"]) ** 2 == pytest.approx(price_losses(made))
    lines = run.stdout.splitlines()
    places = [
        next(k for k, line in enumerate(lines) if line.startswith(name)) for name in by_column
    ]
    assert places == sorted(places)
    assert f"{by_column['area']:.6g}" in lines[places[0]]
    assert "superquantile:0.9" in run.stdout
    assert "proved: no model of this form gains more than 0.025 %" in run.stdout


def test_show_gives_a_column_of_coefficients_to_each_class(made):
    shown = document(lrisk(made, "show", "kind.json", "--json"))
    assert list(shown["intercept"]) == ["flat", "house", "villa"]
    assert list(shown["coefficients"][0]["coefficient"]) == ["flat", "house", "villa"]
    assert "log-odds of yes" in lrisk(made, "show", "sold.json").stdout


def test_schema_describes_the_model_file(made):
    schema = document(lrisk(made, "schema"))
    contents = json.loads((made / "price.json").read_text())
    assert list(schema["$defs"]["ModelFile"]["properties"]) == list(contents)


# Interruptions and internal errors


def wait_until_taken(pipe: io.IOBase, data: bytes) -> None:
    """Give the program these bytes; return when it has taken them and waits for more."""
    os.write(pipe.fileno(), data)
    deadline = time.monotonic() + 30.0
    while fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) != bytes(4):
        assert time.monotonic() < deadline, "the program does not read its standard input"
        time.sleep(0.05)
    time.sleep(0.2)


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
def test_a_signal_ends_the_work_and_leaves_nothing_behind(scratch, number, code, word):
    before = sorted(path.name for path in scratch.iterdir())
    program = subprocess.Popen(
        [*PROGRAM, "evaluate", "price.json", "-", "--losses", "out.csv"],
        cwd=scratch, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    with program:
        wait_until_taken(program.stdin, b"area,color\n" * 10)
        program.send_signal(number)
        assert program.wait(10) == code
        (line,) = program.stderr.read().decode().splitlines()
    assert line.startswith(f"lrisk: {word} ")
    assert "evaluate" in line
    assert sorted(path.name for path in scratch.iterdir()) == before


def broken_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`lrisk ARGUMENTS` in a world where reading a model hits a bug."""
    program = (
        "import sys, lrisk_cli.model\n"
        "from lrisk_cli.cli import run\n"
        "def load_model(path): raise KeyError('mu\\nnu')\n"
        "lrisk_cli.model.load_model = load_model\n"
        f"sys.exit(run({list(arguments)!r}))\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_a_bug_is_one_line_and_exit_70():
    run = broken_run("show", "m.json")
    assert (run.returncode, run.stdout) == (70, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("lrisk: internal error: KeyError: ")


def test_verbose_shows_where_the_bug_is():
    run = broken_run("show", "m.json", "--verbose")
    assert run.returncode == 70
    assert "Traceback" in run.stderr
    assert "in load_model" in run.stderr
