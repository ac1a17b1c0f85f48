"""Warnings through the program: each code where its condition holds, and where it does not."""

import json
from xml.etree import ElementTree

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from scipy.optimize import minimize

from helpers.docs import markdown_table
from helpers.program import document, lrisk, refusal, run_here
from lrisk_cli.evaluation.constant_model import class_entropy
from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.warning_rules import milder_risk
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.warnings import COUNT, WARNINGS, CodedWarning, count_warnings


def write(path, columns):
    """A CSV file of columns."""
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(lines) + "\n")


def codes(run, code=0):
    """The codes of the document; the lines on standard error say the same."""
    found = document(run, code)["warnings"]
    lines = [line for line in run.stderr.splitlines() if line.startswith("lrisk: warning: ")]
    assert lines == [f"lrisk: warning: {each['text']} [{each['code']}]" for each in found]
    return [each["code"] for each in found]


@pytest.fixture
def folder(tmp_path):
    """y is near 2 x; odd.csv has the opposite slope; few.csv is short and wide."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    noise = 0.1 * rng.normal(size=300)
    write(tmp_path / "line.csv", {"x": x, "y": 2 * x + noise})
    write(tmp_path / "odd.csv", {"x": x, "y": -2 * x + noise})
    wide = {f"x{j}": rng.normal(size=30) for j in range(8)}
    write(tmp_path / "few.csv", {**wide, "y": sum(wide.values())})
    run = lrisk(tmp_path, "fit", "line.csv", "--target", "y", "-o", "line.json", "--json")
    assert codes(run) == []
    return tmp_path


def test_the_manual_lists_exactly_the_codes():
    table = markdown_table("docs/warnings.md", "code")
    assert table == [[f"`{code}`", condition] for code, condition in WARNINGS.items()]


def test_a_code_that_is_not_in_the_table_is_a_bug():
    with pytest.raises(KeyError):
        CodedWarning("none_such", "")


def test_counts_are_of_all_warnings_and_of_each_code():
    two = [CodedWarning("few_rows", "a"), CodedWarning("few_rows", "b")]
    counts = count_warnings(two)
    assert (counts[COUNT], counts["warnings:few_rows"], counts["warnings:r2_below_zero"]) == (
        2, 2, 0,
    )  # fmt: skip


def test_r2_below_zero(folder):
    odd = lrisk(folder, "evaluate", "line.json", "odd.csv", "--json")
    assert codes(odd) == ["r2_below_zero"]
    fitted = lrisk(folder, "fit", "line.csv", "--target", "y", "--test", "odd.csv", "--json")
    (warning,) = document(fitted)["warnings"]
    assert warning["code"] == "r2_below_zero"
    assert "on the test rows" in warning["text"]


def test_few_rows_and_none_to_test_on(folder):
    fit = ("fit", "few.csv", "--target", "y", "--json")
    assert codes(lrisk(folder, *fit)) == ["few_rows"]
    assert "few_rows" not in codes(lrisk(folder, *fit, "--holdout", "0.2"))
    assert "few_rows" not in codes(lrisk(folder, *fit, "--l2", "1,10", "--cv", "3"))
    assert "few_rows" not in codes(lrisk(folder, *fit, "--features", "x0,x1"))


def test_a_path_of_risks_says_of_which_it_warns(folder):
    more = ("--risk", "extremile:2", "--json")
    run = lrisk(folder, "fit", "few.csv", "--target", "y", "--risk", "mean", *more)
    found = document(run)
    assert [each["text"].partition(": ")[0] for each in found["warnings"]] == [
        "mean", "extremile:2",
    ]  # fmt: skip
    assert [each["code"] for each in found["fits"][0]["warnings"]] == ["few_rows"]


def test_gates_count_warnings(folder):
    evaluate = ("evaluate", "line.json", "odd.csv", "--json")
    for gate in ("warnings>0", "warnings:r2_below_zero>0"):
        run = lrisk(folder, *evaluate, "--fail-on", gate)
        assert codes(run, 1) == ["r2_below_zero"]
        assert document(run, 1)["gates"][0]["value"] == 1
    assert lrisk(folder, *evaluate, "--fail-on", "warnings:few_rows>0").returncode == 0
    line = refusal(lrisk(folder, *evaluate, "--fail-on", "warnings:few_row>0"), 2)
    assert "did you mean few_rows?" in line


@pytest.mark.parametrize("command", ["detect-outliers", "quantile-report"])
def test_every_command_with_gates_can_ask_for_warnings(command, folder):
    run = lrisk(folder, command, "line.csv", "--target", "y", "--fail-on", "warnings>0", "--json")
    assert codes(run) == []


def test_warnings_are_on_the_page_and_properties_of_the_junit_file(folder):
    run = lrisk(
        folder, "evaluate", "line.json", "odd.csv", "--fail-on", "warnings>5", "--quiet",
        "--junit", "gates.xml", "--html", "page.html", "--github",
    )  # fmt: skip
    assert run.returncode == 0
    assert "lrisk: warning: r2 is -" in run.stderr
    assert "::warning file=odd.csv,title=lrisk evaluate%3A warning::r2 is -" in run.stderr
    (found,) = ElementTree.parse(folder / "gates.xml").iter("property")
    assert found.get("name") == "warning:r2_below_zero"
    assert found.get("value").startswith("r2 is -")
    assert "[r2_below_zero]" in (folder / "page.html").read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "line.csv", "--target", "y", "--cv", "2"),
        ("cluster", "line.csv", "-k", "2"),
        ("predict", "line.json", "line.csv", "-o", "out.csv"),
        ("show", "line.json"),
        ("fit", "line.csv", "--target", "y", "--dry-run"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_every_document_has_a_list_of_warnings(arguments, folder):
    run = lrisk(folder, *arguments, "--json")
    assert json.loads(run.stdout)["warnings"] == []


def test_constant_predictions_and_no_gain(folder):
    rng = np.random.default_rng(0)
    coins = {"x": rng.normal(size=400), "y": rng.permutation(np.repeat(["a", "b"], [190, 210]))}
    write(folder / "coins.csv", coins)
    fit = ("fit", "coins.csv", "--target", "y", "--json", "--risk")
    run = lrisk(folder, *fit, "superquantile:0.9", "-o", "coins.json")
    assert {"constant_predictions", "no_gain"} <= set(codes(run))
    assert "choose a milder risk such as extremile:2" in run.stderr
    run = lrisk(folder, "evaluate", "coins.json", "coins.csv", "--json")
    assert "constant_predictions" in codes(run)
    run = lrisk(folder, *fit, "mean", "--l2", "1e6")
    assert {"constant_predictions", "no_gain"} <= set(codes(run))
    assert "milder" not in run.stderr
    assert "lower --l2" in run.stderr
    for risk in ("mean", "superquantile:0.9"):
        fine = lrisk(folder, "fit", "line.csv", "--target", "y", "--risk", risk, "--json")
        assert codes(fine) == []


def test_below_majority(folder):
    x = np.linspace(-1, 1, 200)
    write(folder / "right.csv", {"x": x, "y": np.where(x > 0.3, "up", "down")})
    write(folder / "wrong.csv", {"x": x, "y": np.where(x > 0.3, "down", "up")})
    fit = ("fit", "right.csv", "--target", "y", "--risk", "mean", "-o", "right.json", "--json")
    assert codes(lrisk(folder, *fit)) == []
    run = lrisk(folder, "evaluate", "right.json", "wrong.csv", "--json")
    assert codes(run) == ["below_majority", "miscalibrated"]


def test_rows_learned_from_are_known_in_any_order_and_format(folder):
    lines = (folder / "line.csv").read_text().splitlines()
    (folder / "turned.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    (folder / "less.csv").write_text("\n".join(lines[:-1]) + "\n")
    table = pyarrow.csv.read_csv(folder / "line.csv")
    pyarrow.parquet.write_table(table, folder / "line.parquet")
    for name in ("line.csv", "turned.csv", "line.parquet"):
        run = lrisk(folder, "evaluate", "line.json", name, "--json")
        assert codes(run) == ["training_rows"], name
    assert codes(lrisk(folder, "evaluate", "line.json", "less.csv", "--json")) == []
    detect = ("detect-outliers", "turned.csv", "--model", "line.json", "--json")
    assert codes(lrisk(folder, *detect)) == ["training_rows"]
    fit = ("fit", "line.csv", "--target", "y", "--json")
    assert codes(lrisk(folder, *fit, "--test", "turned.csv")) == ["training_rows"]
    assert codes(lrisk(folder, *fit, "--risk", "mean", "-o", "mean.json")) == []
    report = ("quantile-report", "turned.csv", "--model", "line.json", "--baseline", "mean.json")
    assert codes(lrisk(folder, *report, "--json")) == ["training_rows", "training_rows"]


def test_the_whole_table_of_a_hold_out_holds_rows_learned_from(folder):
    fit = ("fit", "line.csv", "--target", "y", "--holdout", "0.3", "-o", "part.json", "--json")
    assert codes(lrisk(folder, *fit)) == []
    run = lrisk(folder, "evaluate", "part.json", "line.csv", "--json")
    assert codes(run) == ["training_rows"]
    assert "and those held out" in run.stderr


def test_models_without_digests_still_load(folder):
    model = json.loads((folder / "line.json").read_text())
    del model["fit"]["training_rows"], model["fit"]["held_out_rows"]
    (folder / "old.json").write_text(json.dumps(model))
    assert codes(lrisk(folder, "evaluate", "old.json", "line.csv", "--json")) == []


def test_the_same_file_given_twice(folder):
    (folder / "copy.csv").write_bytes((folder / "line.csv").read_bytes())
    (folder / "link.csv").symlink_to("line.csv")
    fit = ("fit", "line.csv", "--target", "y", "--json")
    for name in ("line.csv", "copy.csv", "link.csv"):
        assert codes(lrisk(folder, *fit[:2], name, *fit[2:])) == ["same_file"]
    assert "same_file" in codes(lrisk(folder, *fit, "--test", "copy.csv"))
    assert codes(lrisk(folder, *fit[:2], "odd.csv", *fit[2:], "--risk", "mean")) != ["same_file"]
    compare = ("compare", "line.csv", "--target", "y", "--test", "copy.csv", "--json")
    assert codes(lrisk(folder, *compare)) == ["same_file"]
    for command in (("cluster", "-k", "2"), ("detect-outliers",)):
        run = lrisk(folder, *command, "line.csv", "link.csv", "--json")
        assert codes(run) == ["same_file"]
    predict = ("predict", "line.json", "line.csv", "copy.csv", "-o", "out.csv", "--json")
    assert codes(lrisk(folder, *predict)) == ["same_file"]


@pytest.mark.parametrize("risk", ["mean", "extremile:2", "superquantile:0.5", "esrm:2"])
def test_the_least_risk_of_constant_probabilities_is_the_optimum(risk):
    counts, spectrum = np.array([40, 5, 25]), parse_risk(risk)

    def value(logits):
        losses = np.log(np.sum(np.exp(logits))) - logits
        return float(np.sort(np.repeat(losses, counts)) @ spectrum.weights(70))

    found = [
        minimize(value, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12})
        for start in np.random.default_rng(0).normal(size=(5, 3))
    ]
    assert class_entropy(counts, spectrum) == pytest.approx(min(f.fun for f in found), rel=1e-5)


@pytest.mark.parametrize(
    ("risk", "milder"),
    [("mean", None), ("extremile:2", "mean"), ("superquantile:0.9", "extremile:2"),
     ("extremile:1.5", "mean"), ("superquantile:0.1", "mean")],
)  # fmt: skip
def test_a_milder_risk_is_milder(risk, milder):
    assert milder_risk(parse_risk(risk)) == milder


def test_miscalibrated_probabilities_of_a_rare_class(folder):
    """A harsh risk gives the rare class more probability than it has; the mean does not."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=3000)
    kind = np.where(rng.random(3000) < 1.0 / (1.0 + np.exp(4.0 - x)), "yes", "no")
    write(folder / "rare.csv", {"x": x, "kind": kind})
    fit = ("fit", "rare.csv", "--target", "kind", "--json", "--force")
    run = lrisk(folder, *fit, "--risk", "extremile:2", "-o", "rare.json")
    (text,) = [
        each["text"] for each in document(run)["warnings"] if each["code"] == "miscalibrated"
    ]
    predicted = lrisk(folder, "predict", "rare.json", "rare.csv").stdout.splitlines()
    at = predicted[0].split(",").index("probability:yes")
    mean = np.mean([float(line.split(",")[at]) for line in predicted[1:]])
    fraction = np.mean(kind == "yes")
    assert mean > 1.1 * fraction
    assert f"{mean:.3g} on average" in text
    assert f"'yes', which is {fraction:.3g} of them" in text
    evaluated = lrisk(folder, "evaluate", "rare.json", "rare.csv", "--json")
    assert {"training_rows", "miscalibrated"} <= set(codes(evaluated))
    assert "miscalibrated" not in codes(lrisk(folder, *fit, "--risk", "mean"))


def test_a_difference_within_chance_is_no_miscalibration():
    """Seven rows of ten, of probability 0.6 each: more than a tenth, within 2 standard errors."""
    few, many = MeanProbabilities(2), MeanProbabilities(2)
    targets = np.array([1] * 7 + [0] * 3, np.int32)
    probabilities = np.tile([0.4, 0.6], (10, 1))
    few.add(targets, probabilities)
    for _ in range(100):
        many.add(targets, probabilities)
    assert few.off() == []
    assert [each.code for each in many.off()] == [0, 1]
    assert many.off()[0].ratio == pytest.approx(1.0 / 3.0)


def test_reports_on_several_models_say_of_which_they_warn(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    coins = {"x": x, "y": rng.permutation(np.repeat(["a", "b"], [190, 210]))}
    write(folder / "coins.csv", coins)
    harsh = ("--risk", "superquantile:0.9", "--json", "--quiet")
    report = ("quantile-report", "coins.csv", "--target", "y", "--repeats", "2", *harsh)
    found = document(run_here(capsys, *report))["warnings"]
    said = {(each["code"], each["text"].partition(": ")[0]) for each in found}
    assert ("constant_predictions", "superquantile:0.9") in said
    assert ("no_gain", "superquantile:0.9") in said
    compare = ("compare", "coins.csv", "--target", "y", "--cv", "2", "--rival", "erm", *harsh)
    found = document(run_here(capsys, *compare))["warnings"]
    said = {(each["code"], each["text"].partition(": ")[0]) for each in found}
    assert said == {("below_majority", "superquantile:0.9")}
    numbers = (
        "compare",
        "line.csv",
        "--target",
        "y",
        "--test",
        "odd.csv",
        "--rival",
        "erm",
        *harsh,
    )
    found = document(run_here(capsys, *numbers))["warnings"]
    assert [each["code"] for each in found] == ["r2_below_zero"]
    for arguments in (("compare", "line.csv", "--target", "y", "--cv", "2"),
                      ("quantile-report", "line.csv", "--target", "y")):  # fmt: skip
        assert document(run_here(capsys, *arguments, *harsh))["warnings"] == []
