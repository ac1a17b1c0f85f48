"""`lrisk evaluate`, run in scratch folders: figures in units of the file, gates, losses."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn import metrics as oracle

from helpers.house_prices import N_ROWS, add_house_files, house_columns, price_losses
from helpers.problems import plain_risk
from helpers.program import document, lrisk, read_csv, refusal, without_places, write_csv
from lrisk_cli.risk.row_weights import rank_rows, row_weights
from lrisk_cli.risk.spectrum import parse_risk

CLASSES = [">50K" if (7 * k) % 10 + k / 12 > 7.5 else "<=50K" for k in range(60)]


def write_classes(folder) -> None:
    """Two classes whose names hold comparisons."""
    x = [float((7 * k) % 10) for k in range(60)]
    write_csv(folder / "two.csv", {"x": x, "y": CLASSES})


# Evaluate


def test_evaluate_reports_risks_and_errors_in_units_of_the_file(tmp_path):
    folder = add_house_files(tmp_path)
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--json")
    result = document(run)
    losses, price = price_losses(folder), house_columns()["price"]
    assert result["command"] == "evaluate"
    assert result["model"] == "price.json"
    assert result["rows"] == {"read": N_ROWS, "used": N_ROWS, "dropped": 0, "reasons": {}}
    metrics = result["metrics"]
    for risk in ("superquantile:0.5", "superquantile:0.9", "superquantile:0.99", "extremile:2"):
        assert metrics[risk] == pytest.approx(plain_risk(losses, risk))
    assert metrics["mean"] == pytest.approx(losses.mean())
    assert metrics["max"] == pytest.approx(losses.max())
    assert metrics["rmse"] == pytest.approx(np.sqrt(2.0 * losses.mean()))
    assert metrics["mae"] == pytest.approx(np.sqrt(2.0 * losses).mean())
    assert metrics["r2"] == pytest.approx(1.0 - 2.0 * losses.mean() / price.var())
    assert "intervals" not in result
    assert result["gates"] == []


def test_evaluate_reports_accuracy_and_log_loss_of_classes(tmp_path):
    folder = add_house_files(tmp_path)
    metrics = document(lrisk(folder, "evaluate", "kind.json", "houses.csv", "--json"))["metrics"]
    rows = read_csv(lrisk(folder, "predict", "kind.json", "houses.csv").stdout)
    kinds = house_columns()["kind"]
    chances = [float(row[f"probability:{kind}"]) for row, kind in zip(rows, kinds, strict=True)]
    right = [row["prediction"] == kind for row, kind in zip(rows, kinds, strict=True)]
    assert metrics["log_loss"] == pytest.approx(-np.log(chances).mean())
    assert metrics["mean"] == metrics["log_loss"]
    assert metrics["accuracy"] == pytest.approx(np.mean(right))
    assert "rmse" not in metrics


def test_evaluate_takes_the_risks_asked_for_falling_ones_too(tmp_path):
    folder = add_house_files(tmp_path)
    arguments = ["--risk", "cvar:.75", "--risk", "subquantile:0.5", "--risk", "lower-extremile:2"]
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--json", *arguments)
    metrics, losses = document(run)["metrics"], price_losses(folder)
    names = ["mean", "superquantile:0.75", "subquantile:0.5", "lower-extremile:2", "max"]
    assert list(metrics)[:5] == names
    for name in names[1:4]:
        assert metrics[name] == pytest.approx(plain_risk(losses, name))


def test_evaluate_prints_for_people_without_escape_codes(tmp_path):
    folder = add_house_files(tmp_path)
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--intervals")
    assert run.returncode == 0
    assert "superquantile:0.99" in run.stdout
    assert "95 % interval" in run.stdout
    assert f"{N_ROWS} read, {N_ROWS} used, none dropped" in run.stdout
    assert "\x1b" not in run.stdout + run.stderr
    assert len(run.stderr.splitlines()) == 1


def test_quiet_says_nothing_beside_the_result(tmp_path):
    folder = add_house_files(tmp_path)
    loud = lrisk(folder, "evaluate", "price.json", "houses.csv")
    quiet = lrisk(folder, "evaluate", "price.json", "houses.csv", "--quiet")
    assert quiet.stdout == loud.stdout
    assert quiet.stderr == ""


def test_intervals_hold_the_risks_and_repeat_with_the_seed(tmp_path):
    folder = add_house_files(tmp_path)
    arguments = ["evaluate", "price.json", "houses.csv", "--json", "--intervals", "--seed"]
    first = document(lrisk(folder, *arguments, "3"))
    assert first == document(lrisk(folder, *arguments, "3"))
    assert first["intervals"] != document(lrisk(folder, *arguments, "4"))["intervals"]
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
def test_gates_decide_the_exit_code_and_nothing_else(tmp_path, conditions, code):
    folder = add_house_files(tmp_path)
    flags = [word for condition in conditions for word in ("--fail-on", condition)]
    plain = document(lrisk(folder, "evaluate", "price.json", "houses.csv", "--json"))
    result = document(lrisk(folder, "evaluate", "price.json", "houses.csv", "--json", *flags), code)
    assert plain["metrics"].items() <= result["metrics"].items()
    assert any(gate["failed"] for gate in result["gates"]) == bool(code)
    assert len(result["gates"]) == len(conditions)
    shown = lrisk(folder, "evaluate", "price.json", "houses.csv", *flags)
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
def test_a_gate_that_cannot_be_judged_is_a_usage_error(tmp_path, condition, finding):
    folder = add_house_files(tmp_path)
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--fail-on", condition)
    assert finding in refusal(run, 2)


def test_losses_file_ranks_and_weighs_every_row(tmp_path):
    folder = add_house_files(tmp_path)
    arguments = ["price.json", "houses.csv", "--losses", "losses.csv", "--id", "house"]
    run = lrisk(folder, "evaluate", *arguments)
    assert run.returncode == 0, run.stderr
    rows = read_csv((folder / "losses.csv").read_text())
    assert list(rows[0]) == ["row", "line", "id", "target", "prediction", "loss", "weight", "rank"]
    columns, losses = house_columns(), price_losses(folder)
    assert [int(row["row"]) for row in rows] == list(range(N_ROWS))
    assert [row["id"] for row in rows] == columns["house"].tolist()
    assert [float(row["target"]) for row in rows] == columns["price"].tolist()
    written = np.array([float(row["loss"]) for row in rows])
    assert written == pytest.approx(losses)
    weights = [float(row["weight"]) for row in rows]
    assert weights == row_weights(written, parse_risk("superquantile:0.9")).tolist()
    assert [int(row["rank"]) for row in rows] == rank_rows(written).tolist()
    assert sum(weights) == pytest.approx(1.0)


def test_losses_of_classes_name_them(tmp_path):
    folder = add_house_files(tmp_path)
    run = lrisk(folder, "evaluate", "sold.json", "houses.csv", "--losses", "losses.parquet")
    assert run.returncode == 0, run.stderr
    rows = pyarrow.parquet.read_table(folder / "losses.parquet").to_pylist()
    assert list(rows[0]) == ["row", "line", "target", "prediction", "loss", "weight", "rank"]
    assert [row["target"] for row in rows] == house_columns()["sold"].tolist()
    assert {row["prediction"] for row in rows} == {"no", "yes"}


def test_figures_do_not_depend_on_the_form_of_the_table(tmp_path):
    folder = add_house_files(tmp_path)
    table = pa.table(house_columns())
    pyarrow.parquet.write_table(table.select(table.column_names[::-1]), folder / "turned.parquet")
    for start in range(0, N_ROWS, 60):
        write_csv(folder / f"part{start:03d}.csv", table.slice(start, 60).to_pydict())
    forms = [["houses.csv"], ["turned.parquet"], ["part*.csv"], ["-"]]
    results = []
    for k, form in enumerate(forms):
        flags = ["--json", "--intervals", "--losses", f"losses{k}.csv"]
        with (folder / "houses.csv").open() as stdin:
            run = lrisk(folder, "evaluate", "price.json", *form, *flags, stdin=stdin)
        results.append(document(run))
    assert all(result == results[0] for result in results[1:])
    written = [without_places((folder / f"losses{k}.csv").read_text()) for k in range(len(forms))]
    assert all(losses == written[0] for losses in written[1:])


@pytest.mark.parametrize("column", ["area", "color", "price"])
@pytest.mark.parametrize("command", ["evaluate", "predict"])
def test_a_column_of_the_model_cannot_name_the_rows(tmp_path, command, column):
    run = lrisk(add_house_files(tmp_path), command, "price.json", "houses.csv", "--id", column)
    assert f"--id: '{column}' is read for the model already" in refusal(run, 2)


# Classes


def test_a_threshold_moves_the_decision_between_two_classes(tmp_path):
    write_classes(tmp_path)
    fit = ["fit", "two.csv", "--target", "y", "--risk", "mean", "-o", "two.json"]
    assert lrisk(tmp_path, *fit).returncode == 0
    rows = read_csv(lrisk(tmp_path, "predict", "two.json", "two.csv").stdout)
    chances = np.array([float(row["probability:>50K"]) for row in rows])
    true = np.array([label == ">50K" for label in CLASSES])
    for threshold in (0.2, 0.7):
        command = ["evaluate", "two.json", "two.csv", "--threshold", str(threshold)]
        found = document(lrisk(tmp_path, *command, "--json", "--fail-on", "recall:>50K<0"))
        predicted = chances >= threshold
        assert found["threshold"] == threshold
        assert found["confusion"] == {
            "classes": ["<=50K", ">50K"],
            "counts": oracle.confusion_matrix(true, predicted).tolist(),
        }
        metrics = found["metrics"]
        assert metrics["accuracy"] == pytest.approx(np.mean(true == predicted))
        assert metrics["recall"] == metrics["recall:>50K"]
        assert metrics["recall"] == pytest.approx(oracle.recall_score(true, predicted))
        assert metrics["roc_auc"] == pytest.approx(oracle.roc_auc_score(true, chances))
        shown = lrisk(tmp_path, *command).stdout
        assert f">50K where its probability is at least {threshold}" in shown
        assert "true \\ predicted" in shown


@pytest.mark.parametrize(
    ("model", "threshold", "words"),
    [
        ("price.json", "0.5", "decides between two classes, and price.json has none"),
        ("kind.json", "0.5", "decides between two classes, and kind.json has 3"),
        ("two.json", "1", "--threshold 1 must be between 0 and 1"),
    ],
)
def test_a_threshold_that_decides_nothing_is_refused(tmp_path, model, threshold, words):
    folder = add_house_files(tmp_path)
    write_classes(tmp_path)
    lrisk(tmp_path, "fit", "two.csv", "--target", "y", "--risk", "mean", "-o", "two.json")
    run = lrisk(folder, "evaluate", model, "houses.csv", "--threshold", threshold)
    assert words in refusal(run, 2)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("recall:>50k", "'>50k' is no class of the model; did you mean >50K?"),
        ("rmse", "rmse is a metric of regression"),
    ],
)
def test_gates_on_metrics_that_a_classifier_lacks_are_refused(tmp_path, metric, words):
    write_classes(tmp_path)
    lrisk(tmp_path, "fit", "two.csv", "--target", "y", "--risk", "mean", "-o", "two.json")
    run = lrisk(tmp_path, "evaluate", "two.json", "two.csv", "--fail-on", f"{metric}<0.5")
    assert words in refusal(run, 2)


def test_metrics_of_a_class_choose_between_candidates(tmp_path):
    write_classes(tmp_path)
    fit = ["fit", "two.csv", "--target", "y", "--l2", "0.001,1", "--risk", "mean", "--cv", "3"]
    for metric in ("roc_auc", "recall:>50K", "brier"):
        found = document(lrisk(tmp_path, *fit, "--select-by", metric, "--json"))
        assert found["cross_validation"]["select_by"] == metric
    run = lrisk(tmp_path, *fit, "--select-by", "recall:50K")
    assert "'50K' is no class of the model" in refusal(run, 2)
