"""Gates of the commands: warnings, figures of an earlier run, JUnit files, GitHub annotations."""

import json
import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from helpers.house_prices import add_house_files, house_columns, price_losses
from helpers.program import document, lrisk, refusal, write_csv

EVALUATE = ["evaluate", "price.json", "houses.csv"]
DETECT = ["detect-outliers", "houses.csv", "--model", "price.json", "--target", "price"]
QUANTILES = ["quantile-report", "houses.csv", "--baseline", "price.json", "--model", "other.json"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Houses, models of their prices, and another one of these that is a little worse."""
    add_house_files(tmp_path)
    contents = json.loads((tmp_path / "price.json").read_text())
    contents["coefficients"][-1] += 0.01
    (tmp_path / "other.json").write_text(json.dumps(contents))
    return tmp_path


def store(folder: Path, arguments: list[str], **changes: float | None) -> dict:
    """A result of the command as stored.json, some of its metrics multiplied or dropped."""
    result = document(lrisk(folder, *arguments, "--json"))
    for name, factor in changes.items():
        if factor is None:
            del result["metrics"][name]
        else:
            result["metrics"][name] *= factor
    (folder / "stored.json").write_text(json.dumps(result))
    return result


def warnings(text: str) -> list[str]:
    """The warnings among what was said."""
    lines = text.splitlines()
    return [x.removeprefix("lrisk: warning: ") for x in lines if x.startswith("lrisk: warning: ")]


# Warnings


@pytest.mark.parametrize(
    ("command", "metric"),
    [(EVALUATE, "rmse"), (DETECT, "outlier_fraction"), (QUANTILES, "average_lost")],
)
def test_a_warning_is_said_and_does_not_fail(folder, command, metric):
    run = lrisk(folder, *command, "--warn-on", f"{metric}>-1", "--warn-on", f"{metric}>1e9")
    assert run.returncode == 0, run.stderr
    (warning,) = warnings(run.stderr)
    assert re.search(rf"{metric} is \S+, and --warn-on {metric}>-1 holds", warning)
    assert "warned" in run.stdout
    assert "FAILED" not in run.stdout
    result = document(lrisk(folder, *command, "--warn-on", f"{metric}>-1", "--json"))
    assert [(gate["failed"], gate["warned"]) for gate in result["gates"]] == [(False, True)]


def test_a_warning_does_not_hide_a_failure(folder):
    run = lrisk(folder, *EVALUATE, "--warn-on", "rmse>0", "--fail-on", "mae>0")
    assert run.returncode == 1
    assert len(warnings(run.stderr)) == 1


def test_a_wrong_condition_names_the_option_it_stands_in(folder):
    assert "--warn-on 'rmse'" in refusal(lrisk(folder, *EVALUATE, "--warn-on", "rmse"), 2)


# Figures of an earlier run


@pytest.mark.parametrize(
    ("changes", "share", "code"),
    [
        ({}, "0%", 0),
        ({"rmse": 1 / 1.09}, "10%", 0),
        ({"rmse": 1 / 1.11}, "10%", 1),
        ({"rmse": 1 / 1.11}, "0.12", 0),
        ({"rmse": 3.0}, "0%", 0),
        ({"r2": 1.12}, "10%", 1),
        ({"r2": 0.5}, "0%", 0),
        ({"max": 0.5}, "99%", 1),
        ({"max": 0.5}, "101%", 0),
    ],
)
def test_a_figure_may_be_worse_by_so_much_and_no_more(folder, changes, share, code):
    store(folder, EVALUATE, **changes)
    flags = ["--baseline-metrics", "stored.json", "--max-worsening", share]
    result = document(lrisk(folder, *EVALUATE, "--json", *flags), code)
    failed = [gate["metric"] for gate in result["gates"] if gate["failed"]]
    assert failed == (list(changes) if code else [])


def test_ten_percent_is_what_holds_when_nobody_says(folder):
    store(folder, EVALUATE, rmse=1 / 1.11)
    assert lrisk(folder, *EVALUATE, "--baseline-metrics", "stored.json").returncode == 1
    store(folder, EVALUATE, rmse=1 / 1.09)
    run = lrisk(folder, *EVALUATE, "--baseline-metrics", "stored.json")
    assert (run.returncode, warnings(run.stderr)) == (0, [])


def test_figures_that_one_run_lacks_are_named(folder):
    store(folder, [*EVALUATE, "--risk", "extremile:3"], mae=None)
    flags = ["--risk", "extremile:4", "--baseline-metrics", "stored.json"]
    run = lrisk(folder, *EVALUATE, *flags)
    assert run.returncode == 0
    assert warnings(run.stderr) == [
        "extremile:4 is not in stored.json, so it is not compared",
        "mae is not in stored.json, so it is not compared",
        "extremile:3 is in stored.json, but not among these figures",
    ]


def test_more_outliers_than_stored_fail(folder):
    store(folder, [*DETECT, "--contamination", "0.1"])
    flags = ["--baseline-metrics", "stored.json", "--json"]
    result = document(lrisk(folder, *DETECT, "--contamination", "0.2", *flags), 1)
    failed = [gate["metric"] for gate in result["gates"] if gate["failed"]]
    assert failed == ["outlier_fraction"]
    assert lrisk(folder, *DETECT, "--contamination", "0.05", *flags).returncode == 0


def test_a_quantile_report_is_compared_model_by_model(folder):
    result = document(lrisk(folder, *QUANTILES, "--json"))
    (folder / "stored.json").write_text(json.dumps(result))
    flags = ["--baseline-metrics", "stored.json", "--max-worsening", "0%", "--json"]
    again = document(lrisk(folder, *QUANTILES, *flags))
    names = {gate["metric"] for gate in again["gates"]}
    assert {"tail_gained", "average_lost", "difference:0.95", "normalised_difference:0.5"} <= names
    assert {gate["model"] for gate in again["gates"]} == {"other.json"}
    result["models"][0]["average_lost"] -= 1.0
    result["models"][0]["difference"][0] += 1.0
    (folder / "stored.json").write_text(json.dumps(result))
    worse = document(lrisk(folder, *QUANTILES, *flags), 1)
    failed = [gate["metric"] for gate in worse["gates"] if gate["failed"]]
    assert failed == ["average_lost", "difference:0.5"]


def test_clusters_are_compared_too(folder):
    assert lrisk(folder, "cluster", "houses.csv", "-k", "2", "-o", "k.json").returncode == 0
    command = ["evaluate", "k.json", "houses.csv"]
    store(folder, command, mean=0.5)
    run = lrisk(folder, *command, "--baseline-metrics", "stored.json", "--github")
    assert run.returncode == 1
    assert "::error file=houses.csv,title=lrisk evaluate%3A gate failed::mean is " in run.stderr
    assert run.stderr.count("::notice ") == 10


@pytest.mark.parametrize(
    ("contents", "code", "finding"),
    [
        (None, 3, "cannot be read (No such file or directory)"),
        ("no JSON", 3, "holds no result of lrisk"),
        ("[" * 100_000, 3, "holds no result of lrisk"),
        ("[]", 3, "holds no result of lrisk"),
        ('{"command": "fit"}', 2, "holds a result of lrisk fit"),
        ('{"command": "evaluate", "metrics": {"rmse": "low"}}', 3, "holds no figures"),
        ('{"command": "evaluate", "metrics": {"rmse": NaN, "mae": true}}', 3, "holds no figures"),
        ('{"command": "evaluate", "metrics": {"rmse": 1' + "0" * 400 + "}}", 3, "no figures"),
        ('{"command": "evaluate", "metrics": [1]}', 3, "holds no figures"),
    ],
)
def test_a_file_that_holds_no_figures_is_refused(folder, contents, code, finding):
    if contents is not None:
        (folder / "stored.json").write_text(contents)
    run = lrisk(folder, *EVALUATE, "--baseline-metrics", "stored.json")
    sentence = refusal(run, code)
    assert finding in sentence
    assert "store one with: lrisk evaluate ... --json > stored.json" in sentence


@pytest.mark.parametrize(
    ("flags", "finding"),
    [
        (["--max-worsening", "5%"], "add --baseline-metrics FILE"),
        (["--baseline-metrics", "price.json", "--max-worsening", "-5%"], "got '-5%'"),
        (["--baseline-metrics", "price.json", "--max-worsening", "5%%"], "got '5%%'"),
        (["--baseline-metrics", "price.json", "--max-worsening", "nan"], "got 'nan'"),
        (["--junit", "out.xml"], "--junit reports gates, and there are none"),
        (["--junit", "price.json", "--fail-on", "rmse>1"], "price.json: exists; pass --force"),
        (["--junit", "houses.csv", "--fail-on", "rmse>1", "--force"], "is also an input"),
    ],
)
def test_options_of_gates_that_cannot_be_meant_are_refused(folder, flags, finding):
    assert finding in refusal(lrisk(folder, *EVALUATE, *flags), 2)


def test_the_stored_file_is_not_replaced_by_a_report(folder):
    store(folder, EVALUATE)
    flags = ["--baseline-metrics", "stored.json", "--junit", "stored.json", "--force"]
    assert "is also an input" in refusal(lrisk(folder, *EVALUATE, *flags), 2)


# JUnit


def test_each_gate_is_a_case_of_the_junit_file(folder):
    store(folder, EVALUATE, max=0.1, mae=None)
    flags = ["--fail-on", "rmse>0", "--fail-on", "r2<0", "--warn-on", "mae>0"]
    flags += ["--baseline-metrics", "stored.json", "--junit", "gates.xml"]
    run = lrisk(folder, *EVALUATE, *flags)
    assert run.returncode == 1
    suite = ET.parse(folder / "gates.xml").getroot().find("testsuite")
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    assert len(cases) == len(suite) == int(suite.get("tests"))
    assert suite.get("name") == "lrisk evaluate houses.csv"
    assert (suite.get("failures"), suite.get("skipped")) == ("2", "1")
    found = {name: case.find("failure") for name, case in cases.items()}
    failures = {name: x.get("message") for name, x in found.items() if x is not None}
    assert len(failures) == 2
    assert re.fullmatch(r"rmse is \S+, and --fail-on rmse>0 holds", failures["rmse>0"])
    (worse,) = (message for name, message in failures.items() if name.startswith("max>"))
    assert re.fullmatch(
        r"max is \S+, more than 10 % worse than the \S+ in stored.json: at most \S+ is allowed",
        worse,
    )
    assert "--warn-on mae>0 holds" in cases["mae>0"].find("system-out").text
    assert cases["mae"].find("skipped") is not None
    assert len(cases["r2<0"]) == 0


def test_names_of_models_and_files_cannot_break_the_junit_file(folder):
    odd = 'a<b>&"c"\n.json'
    (folder / odd).write_bytes((folder / "other.json").read_bytes())
    table = "x]]>'.csv"
    (folder / table).write_bytes((folder / "houses.csv").read_bytes())
    command = ["quantile-report", table, "--baseline", "price.json", "--model", odd]
    flags = ["--fail-on", "average_lost>-1", "--junit", "gates.xml"]
    assert lrisk(folder, *command, *flags).returncode == 1
    suite = ET.parse(folder / "gates.xml").getroot().find("testsuite")
    assert table in suite.get("name")
    assert 'a<b>&"c"' in suite[0].get("name")


# GitHub


def test_failed_gates_and_the_worst_rows_are_annotated(folder):
    flags = ["--github", "--fail-on", "rmse>0", "--warn-on", "mae>0", "--id", "house", "--json"]
    plain = lrisk(folder, *EVALUATE, *flags[1:])
    run = lrisk(folder, *EVALUATE, *flags)
    assert (run.returncode, run.stdout) == (1, plain.stdout)
    lines = [line for line in run.stderr.splitlines() if line.startswith("::")]
    kinds = [line.split()[0] for line in lines]
    assert kinds == ["::error", "::warning", *["::notice"] * 10]
    place = "file=houses.csv,title=lrisk evaluate%3A"
    assert lines[0].startswith(f"::error {place} gate failed::rmse is ")
    losses = price_losses(folder)
    worst = losses.argsort()[::-1][:9]
    told = re.compile(r",line=(\d+),.*::row (\d+), line (\d+) \((h\d+)\): loss (\S+); price is")
    shown = [told.search(line).groups() for line in lines[2:11]]
    assert shown == [
        (str(k + 2), str(k), str(k + 2), f"h{k:03d}", f"{losses[k]:.6g}") for k in worst
    ]
    assert lines[-1].endswith("::300 rows evaluated; the 9 with the largest losses are told")


def test_outliers_are_annotated_with_their_reasons(folder):
    run = lrisk(folder, *DETECT, "--github", "--contamination", "0.1")
    lines = [line for line in run.stderr.splitlines() if line.startswith("::")]
    assert [line.split()[0] for line in lines] == ["::notice"] * 10
    assert re.search(r"::row \d+, line \d+: score \S+; .*price", lines[0])
    assert "30 rows (10 %25) have a score above" in lines[-1]


def test_data_cannot_write_annotations_of_its_own(folder):
    columns = house_columns()
    columns["house"] = columns["house"].astype(object)
    columns["house"][:] = "x\n::error::owned%0A,:\r<b>|@you"
    write_csv(folder / "evil,a:b.csv", columns)
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    (folder / "summary.md").write_text("before\n")
    command = ["evaluate", "price.json", "evil,a:b.csv", "--id", "house", "--github"]
    run = lrisk(folder, *command, "--fail-on", "rmse>0", env=environment)
    lines = [line for line in run.stderr.splitlines() if not line.startswith("lrisk evaluate")]
    assert len(lines) == 11
    assert all(re.match(r"::(error|notice) file=evil%2Ca%3Ab\.csv,", line) for line in lines)
    assert "owned%250A" in lines[1]
    summary = (folder / "summary.md").read_text()
    assert summary.startswith("before\n### lrisk evaluate evil,a\\:b\\.csv\\: 1 of 1 gates failed")
    assert "&lt;b&gt;\\|\\@you" in summary
    assert "<b>" not in summary


def test_the_summary_of_a_step_is_appended_to(folder):
    environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    for _ in range(2):
        assert lrisk(folder, *EVALUATE, "--github", env=environment).returncode == 0
    summary = (folder / "summary.md").read_text()
    assert summary.count("### lrisk evaluate houses\\.csv\\: no gates") == 2
    assert summary.count("\n9. row ") == 2


def test_a_figure_of_another_command_is_named_as_such(tmp_path):
    folder = add_house_files(tmp_path)
    for metric, command in {
        "outlier_fraction": "detect-outliers and clusters",
        "difference:0.9": "quantile-report",
    }.items():
        run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--fail-on", f"{metric}>0")
        name = metric.partition(":")[0]
        assert f"{name} is a metric of lrisk {command}, which is not evaluated" in refusal(run, 2)


def test_a_summary_that_cannot_be_written_is_named(tmp_path):
    folder = add_house_files(tmp_path)
    place = str(tmp_path / "absent/summary.md")
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--github", "--quiet",
                env={**os.environ, "GITHUB_STEP_SUMMARY": place})  # fmt: skip
    assert run.returncode == 2
    said = f"lrisk: error: GITHUB_STEP_SUMMARY: {place}: cannot be written (No such file"
    assert run.stderr.splitlines()[-1].startswith(said)
