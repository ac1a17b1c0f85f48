"""Warnings through the program: each code where its condition holds, and where it does not."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from helpers.docs import markdown_table
from helpers.program import document, lrisk, refusal
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
