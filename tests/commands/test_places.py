"""Where results go: `-` is standard output, and folders that are missing are made."""

import json
import os

import pytest

from helpers.house_prices import add_house_files
from helpers.program import lrisk, read_csv
from lrisk_cli.cli import run

FIT = ["fit", "houses.csv", "--target", "price", "--exclude", "house"]
EVALUATE = ["evaluate", "price.json", "houses.csv"]


@pytest.fixture(name="folder")
def house_files(tmp_path, monkeypatch):
    folder = add_house_files(tmp_path)
    (folder / "other.json").write_bytes((folder / "price.json").read_bytes())
    monkeypatch.chdir(folder)
    return folder


def ran(capsys, *arguments: str, code: int = 0) -> tuple[str, str]:
    """Standard output and standard error of a command in this process."""
    assert run(arguments) == code
    done = capsys.readouterr()
    return done.out, done.err


def test_a_model_for_standard_output_stands_alone_there(folder, capsys):
    out, err = ran(capsys, *FIT, "--quiet", "-o", "-")
    ran(capsys, *FIT, "--quiet", "-o", "file.json")
    model, saved = json.loads(out), json.loads((folder / "file.json").read_text())
    assert model.keys() == saved.keys()
    assert model["coefficients"] == saved["coefficients"]
    assert err.startswith("result ")
    assert err.splitlines()[-1] == "saved to standard output"
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ([*FIT, "--losses", "-"], "row,"),
        ([*FIT, "--trace", "-"], "pass,"),
        ([*FIT, "--cv", "3", "--oof", "-"], "row,"),
        ([*EVALUATE, "--losses", "-"], "row,"),
        ([*EVALUATE, "--html", "-"], "<!DOCTYPE html>"),
        ([*EVALUATE, "--fail-on", "mae<0", "--junit", "-"], "<?xml "),
        (["predict", "price.json", "houses.csv", "-o", "-"], "row,"),
        (["cluster", "houses.csv", "-k", "2", "--exclude", "house", "-o", "-"], "{"),
        (["cluster", "houses.csv", "-k", "2", "--exclude", "house", "--assignments", "-"], "row,"),
        (["detect-outliers", "houses.csv", "--target", "price", "-o", "-"], "rank,"),
        (["detect-outliers", "houses.csv", "--target", "price", "--save-model", "-"], "{"),
        (["quantile-report", "houses.csv", "--model", "price.json", "--baseline", "other.json",
          "-o", "-"], "model,"),
    ],
    ids=lambda value: " ".join([value[0], value[-2]]) if isinstance(value, list) else None,
)  # fmt: skip
def test_every_output_can_go_to_standard_output(folder, capsys, arguments, first):
    before = sorted(os.listdir(folder))
    out, err = ran(capsys, *arguments)
    assert out.lower().startswith(first.lower())
    assert err.startswith("lrisk ")
    assert sorted(os.listdir(folder)) == before


def test_rows_on_standard_output_are_those_of_the_file(folder, capsys):
    out, _ = ran(capsys, *EVALUATE, "--losses", "-")
    ran(capsys, *EVALUATE, "--losses", "losses.csv")
    assert out == (folder / "losses.csv").read_text()
    assert read_csv(out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([*FIT, "-o", "-", "--json"], "--json and -o - both write to standard output"),
        ([*EVALUATE, "--losses", "-", "--json"], "--json and --losses - both write to"),
        ([*FIT, "-o", "-", "--losses", "-"], "standard output: is named for two outputs"),
        (["predict", "price.json", "houses.csv", "--fail-on", "n_rows<1", "--junit", "-"],
         "standard output: is named for two outputs"),
        ([*FIT, "--risk", "mean,extremile:2", "-o", "-"], "-o -: each risk writes a file of its"),
    ],
)  # fmt: skip
def test_standard_output_takes_one_result(folder, capsys, arguments, words):
    out, err = ran(capsys, *arguments, code=2)
    assert out == ""
    assert words in err


def test_a_name_that_starts_like_a_command_of_a_runner_starts_none(folder, capsys):
    """The report is on standard error here, and its lines are made harmless there too."""
    text = (folder / "houses.csv").read_text()
    (folder / "odd.csv").write_text(text.replace("price", "::error::price", 1))
    _, err = ran(capsys, "fit", "odd.csv", "--target", "::error::price", "--exclude", "house",
                 "-o", "-", "--quiet")  # fmt: skip
    assert "::error::price" in err
    assert not any(line.lstrip().startswith("::") for line in err.splitlines())


def test_standard_input_and_output_may_both_be_named_by_a_dash(folder):
    with (folder / "houses.csv").open() as file:
        out = lrisk(folder, "predict", "price.json", "-", "-o", "-", stdin=file).stdout
    assert out.startswith("row,line,prediction\n")


def test_missing_folders_are_made_for_every_output(folder, capsys):
    outputs = ["-o", "a/b/m.json", "--losses", "a/c/l.csv", "--html", "d/page.html"]
    ran(capsys, *FIT, *outputs)
    assert all((folder / path).is_file() for path in outputs[1::2])
    ran(capsys, "predict", "a/b/m.json", "houses.csv", "-o", "e/p.parquet")
    assert (folder / "e" / "p.parquet").is_file()


def test_no_folder_is_made_for_a_command_that_fails(folder, capsys):
    ran(capsys, "fit", "houses.csv", "--target", "absent", "-o", "a/m.json", code=3)
    assert not (folder / "a").exists()
