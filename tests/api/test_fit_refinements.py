"""Calibration and intervals from fit to evaluate, in this process, against scikit-learn."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from helpers.program import write_csv
from lrisk_cli.cli import run
from lrisk_cli.evaluation.splits import stratified_folds

N = 600
FIT = ("fit", "t.csv", "--target", "kind", "--exclude", "y,n,three,day", "--force", "--json")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 3))
    signal = X @ [1.0, -0.7, 0.3]
    kind = np.where(rng.random(N) < 1.0 / (1.0 + np.exp(2.0 - signal)), "yes", "no")
    three = np.array(["a", "b", "c"])[np.digitize(signal + rng.normal(size=N), [-0.5, 1.0])]
    columns = {f"x{j}": X[:, j] for j in range(3)}
    columns |= {"kind": kind, "three": three, "day": np.arange(N)}
    columns |= {"y": signal + rng.exponential(size=N), "n": rng.poisson(np.exp(0.5 * signal + 1))}
    path = tmp_path_factory.mktemp("refinements")
    write_csv(path / "t.csv", columns)
    return path


@pytest.fixture
def ask(folder, monkeypatch, capsys):
    """Runs a command that succeeds; gives its document, or what it printed."""
    monkeypatch.chdir(folder)

    def answer(*arguments: str, code: int = 0):
        quiet = [] if arguments[0] == "show" else ["--quiet"]
        assert run([*arguments, *quiet]) == code, capsys.readouterr().err
        said = capsys.readouterr()
        if code:
            return said.err.strip()
        return json.loads(said.out) if "--json" in arguments else said.out

    return answer


def read(path: str) -> dict[str, np.ndarray]:
    with open(path) as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


@pytest.mark.parametrize(("method", "name"), [("platt", "sigmoid"), ("isotonic", "isotonic")])
def test_calibrated_probabilities_are_those_of_scikit_learn_on_the_same_folds(ask, method, name):
    """CalibratedClassifierCV with one model of all rows; its isotonic may reach 0 and 1."""
    ask(*FIT, "--risk", "mean", "--tol", "1e-9", "--calibrate", method, "-o", "m.json")
    ask("predict", "m.json", "t.csv", "-o", "p.csv", "--force")
    found = read("p.csv")["probability:yes"].astype(float)
    table = read("t.csv")
    X = np.column_stack([table[f"x{j}"].astype(float) for j in range(3)])
    y = (table["kind"] == "yes").astype(np.int32)
    codes = (y != y[0]).astype(np.int32)  # folds number the classes by their first rows
    fold = stratified_folds(codes, 5, 0)
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(5)]
    # The penalty includes the intercept.
    constant = FunctionTransformer(lambda Z: np.column_stack([Z, np.ones(len(Z))]))
    plain = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000, fit_intercept=False)
    model = make_pipeline(StandardScaler(), constant, plain)
    oracle = CalibratedClassifierCV(model, method=name, cv=splits, ensemble=False).fit(X, y)
    expected = oracle.predict_proba(X)[:, 1]
    if method == "platt":
        np.testing.assert_allclose(found, expected, rtol=1e-4)
    else:
        expected = np.clip(expected, 1 / (N + 2), (N + 1) / (N + 2))
        # A row may cross the end of a block by the tolerance of either solver.
        assert np.mean(np.abs(found - expected) > 1e-4) < 0.02


@pytest.mark.parametrize("method", ["platt", "isotonic"])
@pytest.mark.parametrize("target", ["kind", "three"])
def test_every_command_repeats_the_calibration(ask, method, target):
    others = [name for name in ("kind", "y", "n", "three", "day") if name != target]
    fit = ask("fit", "t.csv", "--target", target, "--exclude", ",".join(others), "--risk",
              "extremile:3", "--calibrate", method, "--losses", "l.csv", "-o", "m.json",
              "--json", "--force")  # fmt: skip
    assert fit["calibration"]["method"] == method
    assert (fit["calibration"]["folds"], fit["calibration"]["rows"]) == (5, N)
    # What was certified is the fit before it.
    plain = ask("fit", "t.csv", "--target", target, "--exclude", ",".join(others), "--risk",
                "extremile:3", "-o", "plain.json", "--json", "--force")  # fmt: skip
    assert fit["fit"]["objective"] == plain["fit"]["objective"]
    assert "calibration" not in plain
    figures = ask("evaluate", "m.json", "t.csv", "--json")["metrics"]
    assert figures == fit["training"]
    ask("predict", "m.json", "t.csv", "-o", "p.csv", "--force")
    p, truth = read("p.csv"), read("t.csv")[target]
    of_true = np.array([float(p[f"probability:{c}"][i]) for i, c in enumerate(truth)])
    np.testing.assert_allclose(np.mean(-np.log(of_true)), figures["mean"], rtol=1e-10)
    losses = read("l.csv")
    rows = losses["row"].astype(int)
    np.testing.assert_allclose(losses["loss"].astype(float), -np.log(of_true[rows]), rtol=1e-9)
    likeliest = [
        max(np.unique(truth), key=lambda c: float(p[f"probability:{c}"][i])) for i in range(N)
    ]
    assert p["prediction"].tolist() == likeliest
    report = ask("quantile-report", "t.csv", "--baseline", "plain.json", "--model", "m.json",
                 "--quantiles", "1", "--json")  # fmt: skip
    np.testing.assert_allclose(report["models"][0]["loss_quantiles"][0], figures["max"])
    outliers = ask("detect-outliers", "t.csv", "--model", "m.json", "--json")
    np.testing.assert_allclose(outliers["outliers"][0]["loss"], figures["max"])
    assert f"calibration  {method}, by 5 folds of {N} rows" in ask("show", "m.json")


def test_calibration_removes_the_bias_of_a_tail_risk(ask):
    flags = (*FIT, "--risk", "superquantile:0.7", "-o", "m.json")
    before, after = ask(*flags), ask(*flags, "--calibrate", "platt")
    (text,) = [each["text"] for each in before["warnings"] if each["code"] == "miscalibrated"]
    assert "fit with --calibrate platt, or compare with --risk mean" in text
    assert "miscalibrated" not in [each["code"] for each in after["warnings"]]
    for name in ("mean", "brier", "calibration_error"):
        assert after["training"][name] < before["training"][name]
    assert after["training"]["roc_auc"] == before["training"]["roc_auc"]
    assert after["reference"] == before["reference"]


def test_the_folds_of_cv_calibrate_and_the_choice_stays(ask):
    flags = (*FIT, "--cv", "3", "--l2", "0.001,0.1", "--holdout", "0.2")
    plain = ask(*flags, "-o", "plain.json", "--oof", "plain.csv")
    found = ask(*flags, "--calibrate", "platt", "-o", "m.json", "--oof", "o.csv")
    assert found["cross_validation"] == plain["cross_validation"]
    assert found["calibration"]["folds"] == 3
    assert found["calibration"]["rows"] == found["rows"]["used"] == 480
    assert Path("o.csv").read_text() == Path("plain.csv").read_text()


def test_the_same_seed_gives_the_same_bytes_and_each_risk_its_own_map(ask):
    flags = (*FIT, "--calibrate", "isotonic", "--conformal", "cv", "--risk", "mean,extremile:2")
    os.makedirs("one", exist_ok=True)
    os.makedirs("two", exist_ok=True)
    ask(*flags, "-o", "one/")
    ask(*flags, "-o", "two/", "--threads", "2")
    maps = []
    for name in ("mean", "extremile-2"):
        assert Path(f"one/{name}.json").read_bytes() == Path(f"two/{name}.json").read_bytes()
        maps.append(json.loads(Path(f"one/{name}.json").read_text())["calibration"])
    assert maps[0]["curves"] != maps[1]["curves"]


@pytest.mark.parametrize("how", [("--conformal", "split", "--holdout", "30%"),
                                 ("--conformal", "cv", "--holdout", "30%")])  # fmt: skip
@pytest.mark.parametrize("target", ["y", "n", "kind"])
def test_intervals_from_the_fit_to_the_gate(ask, how, target):
    others = [name for name in ("kind", "y", "n", "three", "day") if name != target]
    loss = ("--loss", "poisson") if target == "n" else ()
    fit = ask("fit", "t.csv", "--target", target, "--exclude", ",".join(others), *loss, *how,
              "--risk", "mean", "-o", "m.json", "--json", "--force")  # fmt: skip
    assert fit["conformal"]["rows"] == (180 if how[1] == "split" else 420)
    (at_90,) = [each for each in fit["conformal"]["coverage"] if each["level"] == 0.9]
    assert abs(at_90["coverage"] - 0.9) < 0.06 + 0.1 * (target == "kind")
    evaluated = ask("evaluate", "m.json", "t.csv", "--held-out", "--interval", "90%", "--json",
                    "--fail-on", "coverage<0.8", "--fail-on", "mean_width>9")  # fmt: skip
    assert abs(evaluated["metrics"]["coverage"] - 0.9) < 0.06 + 0.1 * (target == "kind")
    assert evaluated["interval"] == 0.9
    noted = any("learned from these rows" in note for note in evaluated.get("notes", []))
    assert noted is (how[1] == "split")
    assert [gate["failed"] for gate in evaluated["gates"]] == [False, False]
    ask("predict", "m.json", "t.csv", "--interval", "0.9", "-o", "p.csv", "--force")
    p, truth = read("p.csv"), read("t.csv")[target]
    if target == "kind":
        inside = np.array([p[f"in_set:{c}"][i] == "1" for i, c in enumerate(truth)])
        sizes = p["in_set:no"].astype(int) + p["in_set:yes"].astype(int)
    else:
        lower, upper, y = (each.astype(float) for each in (p["lower"], p["upper"], truth))
        assert np.all(lower <= upper)
        inside, sizes = (lower <= y) & (y <= upper), upper - lower
    figures = ask("evaluate", "m.json", "t.csv", "--interval", "0.9", "--json")["metrics"]
    assert figures["coverage"] == np.mean(inside)
    np.testing.assert_allclose(figures["mean_width"], np.mean(sizes))
    shown = ask("evaluate", "m.json", "t.csv", "--interval", "0.9")
    assert "level        90 %: coverage and mean_width are of these" in shown


def test_sets_are_learned_from_calibrated_probabilities_of_the_chosen_candidate(ask):
    found = ask(*FIT, "--cv", "3", "--l2", "10,0.001", "--calibrate", "platt", "--conformal", "cv",
                "--oof", "o.csv", "-o", "m.json")  # fmt: skip
    out, (b,) = read("o.csv"), found["calibration"]["intercepts"]
    p = out["probability:yes"].astype(float)
    odds = found["calibration"]["slope"] * np.log(p / (1.0 - p)) + b
    signs = np.where(out["target"] == "yes", 1.0, -1.0)
    scores = np.sort(1.0 / (1.0 + np.exp(-signs * odds)))
    record = json.loads(Path("m.json").read_text())["conformal"]
    np.testing.assert_allclose(record["scores"], scores[np.array(record["ranks"]) - 1], rtol=1e-6)


def test_folds_in_the_order_of_time_leave_the_first_rows_out(ask):
    found = ask("fit", "t.csv", "--target", "y", "--exclude", "kind,n,three", "--cv-time", "day",
                "--conformal", "cv", "--json")  # fmt: skip
    assert found["conformal"]["rows"] == 500


REFUSED = {
    ("fit", "t.csv", "--target", "y", "--calibrate", "platt"):
        "--calibrate platt is for probabilities of classes, and the target 'y' is a number",
    ("fit", "t.csv", "--target", "y", "--conformal", "split"):
        "--conformal split learns from rows held out; add --holdout 0.2",
    ("fit", "t.csv", "--target", "y", "--cv-groups", "day"): "without folds to choose by",
    ("predict", "plain.json", "t.csv", "--interval", "0.9"): "has no conformity scores; fit it",
    ("evaluate", "plain.json", "t.csv", "--interval", "0.9"): "has no conformity scores; fit it",
    ("evaluate", "plain.json", "t.csv", "--fail-on", "coverage<0.9"): "add --interval 0.9",
}  # fmt: skip


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_what_cannot_be_is_refused_with_a_sentence(ask, arguments):
    ask(*FIT, "-o", "plain.json")
    assert REFUSED[arguments] in ask(*arguments, code=2)
