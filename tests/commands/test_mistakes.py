"""Mistakes that are easily made, and the sentence that helps; in one process, each in no time."""

import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, refusal, run_here
from lrisk_cli.cli import run

N = 120


def write(name, columns, separator=","):
    """A table of texts as they are to stand in the file."""
    rows = zip(*columns.values(), strict=True)
    lines = [separator.join(columns), *(separator.join(map(str, row)) for row in rows)]
    with open(name, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


@pytest.fixture
def x(tmp_path, monkeypatch):
    """The column x of plain.csv, in whose folder everything happens; y is near 200 + 20 x."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=N)
    write("plain.csv", {"x": x, "z": rng.normal(size=N), "y": numbers(x)})
    return x


def numbers(x):
    return 200.0 + 20.0 * x + 0.1 * np.sin(50.0 * x)


def dates(form):
    """Twenty days, six times."""
    first = datetime.date(2024, 1, 1)
    days = [first + datetime.timedelta(days=3 * (k % 20)) for k in range(N)]
    return [day.strftime(form) for day in days]


def fit(capsys, *arguments):
    return run_here(capsys, "fit", *arguments, "--target", "y", "--quiet")


# Targets that are no classes


@pytest.mark.parametrize(
    "spell",
    [
        "${:.2f}".format, "$ {:.2f}".format, "{:.2f} €".format, "USD {:.2f}".format,
        "kr.{:.2f}".format, "{:.2f}%".format, "+{:.2f}".format,
        lambda v: f'"{v:.2f}"'.replace(".", ","),
        lambda v: f"1 {v:06.2f}",
        lambda v: f'"1,{v:06.2f}"',
    ],
)  # fmt: skip
def test_numbers_as_people_write_them_are_numbers(spell, x, capsys):
    write("text.csv", {"x": x, "y": [spell(value) for value in numbers(x)]})
    run = fit(capsys, "text.csv", "--json", "--risk", "mean")
    assert run.returncode == 0, run.stderr
    found = document(run)
    assert found["task"] == "regression"
    assert found["training"]["r2"] > 0.99


@pytest.mark.parametrize(
    ("spell", "says"),
    [
        ("{:.1f}k".format, "numbers that are written as text"),
        ("{:.1f} kg".format, "numbers that are written as text"),
        (lambda v: f"{'$€'[int(v) % 2]}{v:.1f}", "is written in another way, but is read as text"),
        (lambda v: f"{int(v) // 60:02d}:{int(10 * v) % 60:02d}", "too many to be classes"),
    ],
)
def test_numbers_written_as_text_are_not_taken_for_classes(spell, says, x, capsys):
    write("text.csv", {"x": x, "y": [spell(value) for value in numbers(x)]})
    line = refusal(fit(capsys, "text.csv"), 3)
    assert says in line
    assert "text.csv, column 'y': " in line
    assert "--task classification if they are names of classes" in line


def test_numbers_written_as_text_are_classes_if_they_are_said_to_be(x, capsys):
    write(
        "text.csv", {"x": x, "y": [f"{'$€'[k % 2]}{v % 3:.0f}" for k, v in enumerate(numbers(x))]}
    )
    assert fit(capsys, "text.csv").returncode == 3
    assert fit(capsys, "text.csv", "--task", "classification").returncode == 0


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%d %b %Y", "%b %d, %Y", "%Y/%m/%d"])
def test_dates_as_people_write_them_are_dates(form, x, capsys):
    write("text.csv", {"x": x, "y": [f'"{day}"' for day in dates(form)]})
    run = fit(capsys, "text.csv", "--json")
    assert document(run)["task"] == "regression"


@pytest.mark.parametrize(
    "classes", [["1-5", "6-10", ">10"], ["v1.2.3", "v1.3.0"], ["A12", "B7"], ["5 kg", "10 kg"],
                ["1 star", "2 stars", "3 stars"], ["2024-Q1", "2024-Q2"], ["a,b", "c"]],
)  # fmt: skip
def test_names_of_classes_with_digits_are_classes(classes, x, capsys):
    write("text.csv", {"x": x, "y": [f'"{classes[k % len(classes)]}"' for k in range(N)]})
    found = fit(capsys, "text.csv")
    if classes[0] == "5 kg":
        assert found.returncode == 0
    assert "task: classification, because 'y' holds text" in found.stdout


def test_as_many_texts_as_rows_are_no_classes_but_a_few_rows_may_have_a_class_each(x, capsys):
    write("ids.csv", {"x": x, "y": [f"id{k}" for k in range(N)]})
    assert "holds 120 different texts in 120 rows" in refusal(fit(capsys, "ids.csv"), 3)
    write("few.csv", {"x": x[:20], "y": [f"id{k}" for k in range(20)]})
    assert fit(capsys, "few.csv").returncode == 0
    write("five.csv", {"x": x, "y": [f"id{k // 5}" for k in range(N)]})
    assert fit(capsys, "five.csv").returncode == 0


def test_a_decimal_comma_is_read_when_it_is_said(x, capsys):
    spelled = [f'"{value:.3f}"'.replace(".", ",") for value in numbers(x)]
    write("comma.csv", {"x": spelled, "y": spelled})
    found = document(fit(capsys, "comma.csv", "--decimal", ",", "--json"))
    assert found["task"] == "regression"


def test_classes_that_differ_only_in_spaces_are_one(x, capsys):
    words = [["yes", " yes", "no ", "no"][2 * int(v > 0) + k % 2] for k, v in enumerate(x)]
    write("spaces.csv", {"x": x, "y": words})
    clean = {"x": x, "y": [word.strip() for word in words]}
    write("clean.csv", clean)
    found = document(fit(capsys, "spaces.csv", "--json", "-o", "spaces.json"))
    same = document(fit(capsys, "clean.csv", "--json"))
    assert same["training"] == found["training"]
    figures = [
        document(run_here(capsys, "evaluate", "spaces.json", name, "--json", "--quiet"))["metrics"]
        for name in ("spaces.csv", "clean.csv")
    ]
    assert figures[0] == figures[1]


def test_a_class_of_spaces_stays_what_it_is_if_spaces_are_kept(x, capsys):
    write("blank.csv", {"x": x, "y": [['" "', "a", '" a"'][k % 3] for k in range(N)]})
    kept = ["--keep-spaces", "-o", "blank.json"]
    found = document(fit(capsys, "blank.csv", "--json", *kept))
    classes = json.loads(Path("blank.json").read_text())["classes"]
    assert classes == [" ", " a", "a"]
    run = run_here(capsys, "evaluate", "blank.json", "blank.csv", "--json", "--quiet")
    assert document(run)["metrics"]["accuracy"] == found["training"]["accuracy"]
    assert found["rows"]["used"] == N


# Options, names, risks


@pytest.mark.parametrize(
    ("arguments", "features"),
    [
        (["--exclude", "x", "--exclude", " alcohol %"], ["p,H"]),
        (["--exclude", 'x,"p,H"," alcohol %"', "--missing", "error"], None),
        (["--exclude", "p,H"], ["x", " alcohol %"]),
        (["--features", '"p,H"', "--features", "x"], ["p,H", "x"]),
        (["--exclude", "*alc*"], ["x", "p,H"]),
    ],
)
def test_lists_count_each_time_and_columns_have_any_name(arguments, features, x, capsys):
    write("names.csv", {"x": x, '" alcohol %"': x**2, '"p,H"': x**3, "y": numbers(x)})
    found = fit(capsys, "names.csv", *arguments, "-o", "names.json")
    if features is None:
        assert "no features are left" in refusal(found, 2)
        return
    assert found.returncode == 0, found.stderr
    model = json.loads(Path("names.json").read_text())
    assert [each["name"] for each in model["encoding"]["features"]] == features


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "x"], "--target takes one value and is given twice, 'x' and 'y'"),
        (["--l2", "1", "--seed", "1", "--seed", "2"], "--seed takes one value and is given twice"),
        (["--risk", "quantile:0.9"], "superquantile:0.9 is the mean of these"),
        (["--risk", "expectile:0.9"], "extremile:6.58, the extremile of order 0.9, is near"),
        (["--risk", "max"], "superquantile:0.999 is near"),
        (["--exclude", "alcohol"], "no column 'alcohol'"),
        (["--holdout", "20"], "got 20; write 20% or 0.2"),
    ],
)
def test_a_wrong_option_is_answered_with_what_is_near(arguments, says, x, capsys):
    run_ = fit(capsys, "plain.csv", *arguments)
    assert says in refusal(run_, 3 if "--exclude" in arguments else 2)


def test_a_percentage_is_a_fraction(x, capsys):
    found = document(fit(capsys, "plain.csv", "--holdout", "20%", "--json"))
    assert found["rows"]["held_out"] == N // 5


def test_a_missing_target_is_not_told_to_be_imputed(x, capsys):
    values = [*numbers(x)[:-1], ""]
    write("holes.csv", {"x": x, "y": values})
    line = refusal(fit(capsys, "holes.csv"), 3)
    assert "a target cannot be filled in, so pass --missing drop" in line
    assert "impute" not in line
    write("holes.csv", {"x": [*x[:-1], ""], "y": numbers(x)})
    assert "pass --missing drop or --missing impute" in refusal(fit(capsys, "holes.csv"), 3)


# Files


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["evaluate", "plain.csv", "m.json"], 4, "the two seem to be swapped"),
        (["predict", "plain.csv", "m.json"], 4, "the two seem to be swapped"),
        (["detect-outliers", "m.json", "--model", "plain.csv"], 4, "the two seem to be swapped"),
        (["evaluate", "plain.csv", "plain.csv"], 4, "plain.csv: not a model file; models are"),
        (["evaluate", "m.json", "m.json"], 3, "m.json: a model of lrisk, not a table"),
        (["fit", "m.json", "--target", "y"], 3, "m.json: a model of lrisk, not a table"),
        (["fit", "indented.json", "--target", "y"], 3, "a model of lrisk, not a table"),
        (["fit", "https://example.org/t.csv", "--target", "y"], 3, "does not read from https://"),
        (["fit", "sqlite:///t.db", "--target", "y"], 3, "only from file://, s3://"),
        (["fit", "nothing", "--target", "y"], 3, "the folder holds no tables (looked for .csv"),
    ],
)
def test_a_file_in_the_wrong_place_is_told_apart(arguments, code, says, x, tmp_path, capsys):
    assert run(["fit", "plain.csv", "--target", "y", "--quiet", "-o", "m.json"]) == 0
    model = json.loads((tmp_path / "m.json").read_text())
    (tmp_path / "indented.json").write_text(json.dumps(model, indent=2))
    (tmp_path / "nothing").mkdir()
    assert says in refusal(run_here(capsys, *arguments, "--quiet"), code)


@pytest.mark.parametrize(
    "contents",
    [
        b"SQLite format 3\x00" + bytes(range(256)), b"\x80\x04\x95" + bytes(range(256)),
        b"<stata_dta><header>\xff", b"<!DOCTYPE html>\n<html><body>404</body></html>\n",
        b'[{"x": 1, "y": 2}, {"x": 2, "y": 3}]', b"Sales of 2024\n# by me\nx,z,y\n1,2,3\n4,5,6\n",
        "x,c,y\n1,Zürich,2\n2,Genève,3\n".encode("latin-1"), b"sep=;\nx;y\n1;2\n2;3\n",
    ],
    ids=["sqlite", "pickle", "stata", "html", "json", "title", "latin-1", "sep"],
)  # fmt: skip
def test_what_is_no_table_never_becomes_a_model(contents, x, tmp_path, capsys):
    (tmp_path / "other.csv").write_bytes(contents)
    found = fit(capsys, "other.csv", "-o", "other.json")
    if contents.startswith(b"sep=") and found.returncode == 0:
        return
    assert "other.csv" in refusal(found, 3)


# Advice


def test_pictures_are_not_asked_whether_they_are_codes(x, capsys):
    rng = np.random.default_rng(1)
    write("pixels.csv", {f"p{k}": rng.choice(4, N, p=[0.45, 0.05, 0.05, 0.45]) for k in range(16)})
    cluster = ("cluster", "pixels.csv", "-k", "2", "--quiet", "--json", "--starts", "1")
    (note,) = document(run_here(capsys, *cluster))["notes"]
    assert "codes of categories?" in note
    pictures = ("--image-shape", "4x4", "--html", "page.html")
    assert document(run_here(capsys, *cluster, *pictures))["notes"] == []


def test_no_risk_is_called_milder_than_the_mean(x, capsys):
    rng = np.random.default_rng(3)
    write("noise.csv", {"x": x, "y": rng.normal(size=N)})
    for risk, advice in [("mean", "add columns"), ("extremile:2", "such as mean"),
                         ("superquantile:0.9", "such as extremile:2")]:  # fmt: skip
        found = fit(capsys, "noise.csv", "--risk", risk, "--l2", "1e5", "--json")
        texts = [each["text"] for each in document(found)["warnings"] if each["code"] == "no_gain"]
        assert [advice in text for text in texts] == [True]
        assert ("milder" in texts[0]) == (risk != "mean")


def test_the_same_file_twice_is_a_warning(x, capsys):
    found = document(fit(capsys, "plain.csv", "plain.csv", "--json"))
    assert "same_file" in [each["code"] for each in found["warnings"]]
    assert found["rows"]["read"] == 2 * N


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], ["risk"]),
        (["--risk", "mean"], []),
        (["--cv", "2", "--l2", "1,2"], ["risk"]),
        (["--cv", "2", "--risk", "mean,extremile:2"], ["choice"]),
        (["--cv", "2", "--risk", "mean,extremile:2", "--select-by", "rmse"], []),
        (["--cv", "2", "--risk", "mean", "--l2", "1,2"], []),
    ],
)
def test_a_changed_default_is_said_once_where_it_is_relied_on(arguments, said, x, capsys):
    notes = document(fit(capsys, "plain.csv", *arguments, "--json"))["notes"]
    changed = [note for note in notes if "the default since 0.2.0" in note]
    assert [note.partition(":")[0] for note in changed] == said
