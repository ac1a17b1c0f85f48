"""Doubts about columns of text: numbers that stay text, categories that look misspelt."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, lrisk, run_here
from lrisk_cli.design.doubts import spelling_doubt
from lrisk_cli.tables.cells import Texts


def texts(**counts: int) -> Texts:
    values = [name.replace("_", " ") for name in counts]
    return Texts(np.repeat(np.arange(len(values)), list(counts.values())).astype(np.int32), values)


def test_a_rare_category_close_to_a_frequent_one_is_named():
    assert spelling_doubt("city", texts(Berlin=1218, Belrin=4, Hamburg=800)) == (
        "column 'city': the same with another spelling? 'Belrin' (4 rows) beside 'Berlin' (1,218); "
        "correct them if they are"
    )


def test_categories_that_differ_in_capitals_and_spaces_are_named_however_frequent():
    found = spelling_doubt("city", texts(New_York=50, new_york=60, NEW__YORK=1, Boston=50))
    assert "'New York' (50 rows) beside 'new york' (60)" in found
    assert "'NEW  YORK' (1 row) beside 'new york' (60)" in found
    assert found.endswith("correct them, or pass merge_case")


def test_other_categories_are_not_doubted():
    assert spelling_doubt("size", texts(S=5, M=500, L=400, XL=3)) == ""
    assert spelling_doubt("city", texts(Essen=100, Dessau=90, Bonn=80)) == ""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    with open("shop.csv", "w", encoding="utf-8") as file:
        file.write("city,price,y\n")
        for k in range(300):
            city = ["Berlin", "Bonn", "BERLIN"][k % 3] if k != 7 else "Belrin"
            file.write(f"{city},{'$€'[k % 2]}{k % 30},{rng.normal():.3f}\n")


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("command", ["fit", "cluster", "detect-outliers", "compare"])
def test_commands_that_learn_warn(command, capsys):
    target = ["--target", "y"] if command != "cluster" else ["--exclude", "price", "-k", "2"]
    extra = ["--risk", "mean"] if command in ("fit", "compare") else []
    run = run_here(capsys, command, "shop.csv", *target, *extra, "--json", "--quiet")
    found = {each["code"]: each["text"] for each in document(run)["warnings"]}
    assert "'Berlin' (100 rows) beside 'BERLIN' (100)" in found["near_categories"]
    if command != "cluster":
        assert "'price' looks like numbers ('$0'), but '€1' is written" in found["numbers_as_text"]
        assert "pass --dtype price=number" in found["numbers_as_text"]


@pytest.mark.usefixtures("shop")
def test_merged_categories_are_recorded_and_merged_at_scoring(capsys):
    fit = ["fit", "shop.csv", "--target", "y", "--exclude", "price", "--risk", "mean", "--quiet"]
    run = run_here(capsys, *fit, "--merge-case", "-o", "m.json", "--json")
    assert run.returncode == 0, run.stderr
    encoding = json.loads(Path("m.json").read_text())["encoding"]
    assert encoding["written"] == {"city": {"merged": True}}
    assert encoding["features"][0]["categories"] == ["belrin", "berlin", "bonn"]
    Path("one.csv").write_text("city,y\nbeRLin ,1\nBonn,2\n")
    run = run_here(capsys, "evaluate", "m.json", "one.csv", "--json", "--quiet")
    assert run.returncode == 0, run.stderr


def test_an_option_that_makes_text_of_numbers_is_named(tmp_path):
    (tmp_path / "t.csv").write_text("price\n" + "\n".join(f'"{k},250"' for k in range(1, 40)))
    done = lrisk(tmp_path, "columns", "t.csv", "--thousands", "none", "--decimal", ".", "--json")
    (column,) = document(done)["columns"]
    assert "looks like numbers ('1,250'), but is read as text" in column["doubts"][0]
    assert column["doubts"][0].endswith("leave out --thousands none")
