"""Gates of the commands that fit, cluster and score: on figures, on rows, on warnings."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.program import document, refusal, run_here, write_csv
from lrisk_cli.cli import run

FIT = ("fit", "line.csv", "--target", "y", "--quiet")
COMPARE = ("compare", "line.csv", "--target", "y", "--cv", "2", "--rival", "erm", "--quiet")
CLUSTER = ("cluster", "line.csv", "-k", "2", "--quiet")
PREDICT = ("predict", "line.json", "line.csv", "--quiet", "-o", "out.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """y is near 2 x; kind says its sign; few.csv is short and wide; one cell of holes.csv lacks."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=120)
    y = 2 * x + 0.1 * rng.normal(size=120)
    write_csv(tmp_path / "line.csv", {"x": x, "y": y})
    write_csv(tmp_path / "kinds.csv", {"x": x, "kind": np.where(y + x > 0.2, "up", "down")})
    write_csv(tmp_path / "few.csv", {f"x{j}": rng.normal(size=20) for j in range(8)})
    lines = (tmp_path / "line.csv").read_text().splitlines()
    (tmp_path / "holes.csv").write_text("\n".join([lines[0], ",1.0", *lines[1:4]]) + "\n")
    monkeypatch.chdir(tmp_path)
    assert run([*FIT, "-o", "line.json"]) == 0
    return tmp_path


@pytest.mark.parametrize("command", [FIT, COMPARE, CLUSTER, PREDICT], ids=lambda each: each[0])
def test_a_gate_on_the_rows_fails_or_warns_and_passes(command, folder, capsys):
    failed = run_here(capsys, *command, "--fail-on", "n_rows<121", "--json")
    (gate,) = document(failed, 1)["gates"]
    assert (gate["metric"], gate["value"], gate["failed"]) == ("n_rows", 120, True)
    warned = run_here(capsys, *command, "--warn-on", "n_rows<121", "--force")
    assert warned.returncode == 0
    assert "lrisk: warning: n_rows is 120, and --warn-on n_rows<121 holds" in warned.stderr
    passed = run_here(capsys, *command, "--fail-on", "n_rows<120", "--force")
    assert (passed.returncode, passed.stderr) == (0, "")


@pytest.mark.parametrize("command", [FIT, COMPARE, CLUSTER, PREDICT], ids=lambda each: each[0])
def test_warnings_can_fail_every_command(command, folder, capsys):
    (folder / "copy.csv").write_bytes((folder / "line.csv").read_bytes())
    at = command.index("line.csv")
    twice = (*command[:at], "copy.csv", *command[at:])
    for gate in ("warnings>0", "warnings:same_file==1"):
        failed = run_here(
            capsys, *twice, "--fail-on", gate, "--junit", "gates.xml", "--github", "--force"
        )
        assert failed.returncode == 1
        assert "[same_file]" in failed.stderr
        assert f"title=lrisk {command[0]}%3A gate failed::{gate.partition('>')[0][:8]}" in (
            failed.stderr
        )
    suite = ElementTree.parse(folder / "gates.xml").getroot()
    assert suite.get("failures") == "1"
    assert [each.get("name") for each in suite.iter("property")] == ["warning:same_file"]
    assert run([*command, "--fail-on", "warnings>0", "--force"]) == 0


@pytest.mark.parametrize("command", [FIT, COMPARE, CLUSTER, PREDICT], ids=lambda each: each[0])
def test_no_gates_leave_the_document_as_it_was(command, folder, capsys):
    assert "gates" not in document(run_here(capsys, *command, "--json"))


def test_gates_of_a_fit_are_about_the_rows_to_test_on(folder, capsys):
    gates = ("--fail-on", "rmse>0.5", "--fail-on", "superquantile:0.7>0", "--json")
    found = document(run_here(capsys, *FIT, *gates), 1)
    assert [each["value"] for each in found["gates"]] == [
        found["training"]["rmse"], found["training"]["superquantile:0.7"],
    ]  # fmt: skip
    found = document(run_here(capsys, *FIT, *gates, "--holdout", "0.25"), 1)
    assert [each["value"] for each in found["gates"]] == [
        found["holdout"]["rmse"], found["holdout"]["superquantile:0.7"],
    ]  # fmt: skip
    assert [each["failed"] for each in found["gates"]] == [False, True]
    assert document(run_here(capsys, *FIT, "--fail-on", "gap>1e-6", "--json"))["gates"]


def test_gates_of_several_risks_name_the_risk(folder, capsys):
    risks = ("--risk", "mean", "--risk", "extremile:2")
    run_ = run_here(
        capsys, *FIT, *risks, "--fail-on", "rmse>0", "--fail-on", "n_rows<1", "--html", "pages/"
    )
    assert run_.returncode == 1
    heads, *lines = [line.split() for line in run_.stdout.splitlines()[-4:]]
    assert heads == ["gate", "result", "is", "allowed", "model"]
    assert [(line[0], *line[3:]) for line in lines] == [
        ("rmse", "at", "most", "0", "mean"), ("rmse", "at", "most", "0", "extremile:2"),
        ("n_rows", "at", "least", "1"),
    ]  # fmt: skip
    for name in ("mean", "extremile-2"):
        page = (folder / "pages" / f"{name}.html").read_text()
        assert page.count("at most 0<") == 1
        assert page.count("at least 1<") == 1


def test_a_gate_on_one_class(folder, capsys):
    kinds = ("kinds.csv", "--target", "kind", "--fail-on", "recall:up<2", "--json")
    found = document(run_here(capsys, "fit", *kinds, "--quiet"), 1)
    assert found["gates"][0]["value"] == found["training"]["recall:up"]
    found = document(run_here(capsys, "compare", *kinds, "--quiet", "--cv", "2"), 1)
    assert found["gates"][0]["value"] == found["methods"][0]["figures"]["recall:up"]
    assert {each["model"] for each in found["gates"]} == {
        each["method"] for each in found["methods"] if each["kind"] == "risk"
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fit", "kinds.csv", "--target", "kind", "--fail-on", "r2<0"), "r2 is a metric of regres"),
        (("fit", "kinds.csv", "--target", "kind", "--fail-on", "recall:no<1"), "'no' is no class"),
        (("fit", "line.csv", "--target", "y", "--fail-on", "missing_fraction>0"), "lrisk evaluate"),
        (("compare", "line.csv", "--target", "y", "--fail-on", "gap>0"), "gap is a metric of"),
        (("compare", "line.csv", "--target", "y", "--fail-on", "f1<0"), "f1 is a metric of"),
        (("cluster", "line.csv", "-k", "2", "--fail-on", "accuracy<1"), "accuracy is a metric of"),
        (("predict", "line.json", "line.csv", "--fail-on", "rmse>0"), "rmse is a metric of"),
        (("fit", "line.csv", "--target", "y", "--junit", "x.xml"), "--junit reports gates"),
        (("fit", "line.csv", "--target", "y", "--fail-on", "mae>0", "--junit", "line.csv"),
         "line.csv: exists"),
        (("cluster", "line.csv", "-k", "2", "-o", "x", "--fail-on", "max>0", "--junit", "x"),
         "named for two outputs"),
    ],
)  # fmt: skip
def test_gates_that_cannot_be_are_refused_before_any_work(arguments, says, folder, capsys):
    before = sorted(folder.iterdir())
    assert says in refusal(run_here(capsys, *arguments), 2)
    assert sorted(folder.iterdir()) == before


def test_a_failed_gate_of_predict_is_said_beside_the_predictions(folder, capsys):
    drop = ("predict", "line.json", "holes.csv", "--missing", "drop")
    run_ = run_here(capsys, *drop, "--quiet", "--fail-on", "missing_fraction>0.2")
    assert run_.returncode == 1
    assert run_.stdout.startswith("row,line,prediction\n")
    assert run_.stderr == (
        "lrisk: gate failed: missing_fraction is 0.25, and --fail-on missing_fraction>0.2 holds\n"
    )


def test_a_gate_that_fails_keeps_the_model_and_gives_way_to_convergence(folder, capsys):
    often = ("--fail-on", "rmse>0", "--max-passes", "1", "--tol", "1e-14")
    failed = run_here(capsys, *FIT, *often, "--risk", "superquantile:0.9", "-o", "kept.json")
    assert failed.returncode == 1
    assert json.loads((folder / "kept.json").read_text())["format"] == "lrisk-model"
    strict = run_here(capsys, *FIT, *often, "--risk", "superquantile:0.9", "--require-convergence")
    assert strict.returncode == 5
    assert re.search(r"^rmse +FAILED +\S+ +at most 0$", strict.stdout, re.MULTILINE)


def test_clusters_with_labels_have_gates_on_them(folder, capsys):
    gates = ("--fail-on", "purity<0.5", "--warn-on", "superquantile:0.5>0", "--html", "page.html")
    run_ = run_here(
        capsys, "cluster", "kinds.csv", "-k", "2", "--label", "kind", *gates, "--json", "--quiet"
    )
    found = document(run_)
    assert [each["metric"] for each in found["gates"]] == ["purity", "superquantile:0.5"]
    assert "at least 0.5<" in (folder / "page.html").read_text()
