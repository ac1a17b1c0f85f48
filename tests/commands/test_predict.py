"""Scoring new rows with the real program: `lrisk predict`, holes in tables, bad files."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from helpers.house_prices import (
    N_ROWS,
    add_house_files,
    house_columns,
    price_losses,
    spoil,
    write_model,
)
from helpers.program import PROGRAM, document, lrisk, read_csv, refusal, write_csv
from lrisk_cli.names import Missing

# Predict


def test_predict_prints_what_it_would_write_and_needs_no_target(tmp_path):
    folder = add_house_files(tmp_path)
    columns = house_columns()
    write_csv(folder / "new.csv", {name: columns[name] for name in ("rooms", "color", "area")})
    printed = lrisk(folder, "predict", "price.json", "new.csv")
    assert printed.returncode == 0, printed.stderr
    written = lrisk(folder, "predict", "price.json", "houses.csv", "-o", "predictions.csv")
    assert (written.returncode, written.stdout) == (0, "")
    assert printed.stdout == (folder / "predictions.csv").read_text()
    rows = read_csv(printed.stdout)
    assert list(rows[0]) == ["row", "line", "prediction"]
    predictions = np.array([float(row["prediction"]) for row in rows])
    assert 0.5 * (predictions - columns["price"]) ** 2 == pytest.approx(price_losses(folder))


def test_predict_tells_a_program_what_became_of_the_rows(tmp_path):
    folder = add_house_files(tmp_path)
    spoil(folder, "area", 3, None)
    words = ["predict", "price.json", "spoiled.csv", "--missing", "drop", "--quiet", "--json"]
    result = document(lrisk(folder, *words, "-o", "p.csv"))
    assert result["rows"]["read"] == N_ROWS
    assert result["rows"]["used"] == N_ROWS - 1 == len(read_csv((folder / "p.csv").read_text()))
    assert result["rows"]["reasons"] == {"missing area": 1}
    assert "--json needs -o FILE" in refusal(lrisk(folder, *words), 2)


@pytest.mark.parametrize("target", ["kind", "sold"])
def test_predict_gives_each_class_its_probability(tmp_path, target):
    folder = add_house_files(tmp_path)
    run = lrisk(folder, "predict", f"{target}.json", "houses.csv", "--id", "house")
    rows = read_csv(run.stdout)
    classes = sorted(set(house_columns()[target]))
    names = [f"probability:{label}" for label in classes]
    assert list(rows[0]) == ["row", "line", "id", "prediction", *names]
    assert rows[7]["id"] == "h007"
    chances = np.array([[float(row[name]) for name in names] for row in rows])
    assert chances.sum(axis=1) == pytest.approx(1.0)
    likeliest = np.array(classes)[chances.argmax(axis=1)]
    assert [row["prediction"] for row in rows] == likeliest.tolist()


def test_a_row_is_predicted_the_same_wherever_it_stands(tmp_path):
    folder = add_house_files(tmp_path)
    whole = read_csv(lrisk(folder, "predict", "kind.json", "houses.csv", "--id", "house").stdout)
    lines = (folder / "houses.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join([lines[0], lines[250], lines[4], lines[77]]))
    few = read_csv(lrisk(folder, "predict", "kind.json", "few.csv", "--id", "house").stdout)
    place = {"row": "", "line": ""}
    by_id = {row["id"]: row | place for row in whole}
    assert [row | place for row in few] == [by_id[row["id"]] for row in few]
    assert [(row["row"], row["line"]) for row in few] == [("0", "2"), ("1", "3"), ("2", "4")]


def test_a_reader_that_leaves_early_is_no_error(tmp_path):
    folder = add_house_files(tmp_path)
    # Standard output is a pipe whose reading end is closed before the program writes.
    with subprocess.Popen(
        [*PROGRAM, "predict", "price.json", "houses.csv", "--quiet"],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as program:  # fmt: skip
        program.stdout.close()
        assert program.stderr.read() == ""
        assert program.wait(60) == 0


@pytest.mark.parametrize("arguments", [["--help"], ["show", "price.json"], ["predict"]])
def test_a_full_disk_is_a_sentence(tmp_path, arguments):
    folder = add_house_files(tmp_path)
    if not Path("/dev/full").exists():
        pytest.skip("NO /dev/full ON THIS SYSTEM")
    if arguments == ["predict"]:
        arguments = ["predict", "price.json", "houses.csv", "--quiet"]
    with open("/dev/full", "w") as full:
        run = lrisk(folder, *arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert run.returncode == 2
    (line,) = run.stderr.splitlines()
    assert line.startswith("lrisk: error: standard output: No space left")


# Missing cells and unseen categories


def test_missing_cells_follow_the_policy(tmp_path):
    folder = add_house_files(tmp_path)
    spoil(folder, "area", 12, None)
    sentence = refusal(lrisk(folder, "evaluate", "price.json", "spoiled.csv"), 3)
    assert "spoiled.csv, column 'area', row 12" in sentence
    run = lrisk(folder, "evaluate", "price.json", "spoiled.csv", "--missing", "drop", "--json",
                "--fail-on", "missing_fraction>0.003")  # fmt: skip
    rows = document(run, 1)["rows"]
    assert (rows["read"], rows["used"], rows["dropped"]) == (N_ROWS, N_ROWS - 1, 1)
    assert sum(rows["reasons"].values()) == 1
    run = lrisk(folder, "predict", "price.json", "spoiled.csv", "--missing", "drop")
    assert [row["row"] for row in read_csv(run.stdout)][11:13] == ["11", "13"]
    assert "1 dropped (1 missing area)" in run.stderr
    sentence = refusal(
        lrisk(folder, "predict", "price.json", "spoiled.csv", "--missing", "impute"), 2
    )
    assert "learnt no values to fill in" in sentence


def test_missing_cells_are_filled_by_a_model_that_learnt_how(tmp_path):
    folder = add_house_files(tmp_path)
    write_model(folder, "filling.json", "price", Missing.IMPUTE)
    spoil(folder, "area", 12, None)
    rows = read_csv(lrisk(folder, "predict", "filling.json", "spoiled.csv").stdout)
    median = float(np.median(house_columns()["area"]))
    spoil(folder, "area", 12, median)
    assert read_csv(lrisk(folder, "predict", "filling.json", "spoiled.csv").stdout) == rows


def test_unseen_categories_follow_the_policy(tmp_path):
    folder = add_house_files(tmp_path)
    spoil(folder, "color", 12, "pink")
    sentence = refusal(lrisk(folder, "predict", "price.json", "spoiled.csv"), 3)
    assert "spoiled.csv, column 'color', row 12: 'pink'" in sentence
    run = lrisk(folder, "evaluate", "price.json", "spoiled.csv", "--unseen", "other", "--json",
                "--fail-on", "unseen_fraction>0.003")  # fmt: skip
    assert document(run, 1)["rows"]["used"] == N_ROWS


def test_a_table_without_a_usable_row_is_refused(tmp_path):
    folder = add_house_files(tmp_path)
    columns = {name: [None] for name in ("area", "color", "rooms", "price")}
    write_csv(folder / "empty.csv", columns | {"house": ["x"]})
    run = lrisk(folder, "evaluate", "price.json", "empty.csv", "--missing", "drop")
    assert "no row is left to evaluate; all 1 were dropped" in refusal(run, 3)
    run = lrisk(folder, "predict", "price.json", "empty.csv", "--missing", "drop")
    assert "no row is left to score" in refusal(run, 3)


def test_a_column_that_the_model_needs_is_named_with_its_nearest_neighbour(tmp_path):
    folder = add_house_files(tmp_path)
    columns = house_columns()
    columns["araa"] = columns.pop("area")
    write_csv(folder / "renamed.csv", columns)
    for command in ("evaluate", "predict"):
        sentence = refusal(lrisk(folder, command, "price.json", "renamed.csv"), 3)
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
def test_a_bad_table_is_refused_with_its_name(tmp_path, command, data, finding):
    folder = add_house_files(tmp_path)
    (folder / "nothing.csv").write_text("")
    (folder / "header.csv").write_text("area,color,rooms,price\n")
    assert finding in refusal(lrisk(folder, command, "price.json", data), 3)


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
def test_a_bad_model_is_refused_with_exit_4(tmp_path, command, name, finding):
    folder = add_house_files(tmp_path)
    good = (folder / "price.json").read_text()
    newer = good.replace('"format_version": 1', '"format_version": 2')
    (folder / "newer.json").write_text(newer)
    (folder / "damaged.json").write_text(good.replace('"task": "regression"', '"task": 7'))
    data = [] if command == "show" else ["houses.csv"]
    sentence = refusal(lrisk(folder, command, name, *data), 4)
    assert f"{name}: " in sentence
    assert finding in sentence


@pytest.mark.parametrize(("command", "flag"), [("evaluate", "--losses"), ("predict", "-o")])
def test_outputs_are_checked_before_the_work(tmp_path, command, flag):
    folder = add_house_files(tmp_path)
    (folder / "kept.csv").write_text("precious")
    begin = [command, "price.json", "houses.csv", flag]
    assert "kept.csv: exists; pass --force" in refusal(lrisk(folder, *begin, "kept.csv"), 2)
    assert (folder / "kept.csv").read_text() == "precious"
    assert "is not a folder" in refusal(lrisk(folder, *begin, "kept.csv/out.csv"), 2)
    assert "out.xls" in refusal(lrisk(folder, *begin, "out.xls"), 2)
    forced = lrisk(folder, *begin, "./houses.csv", "--force")
    assert "./houses.csv: is also an input; give the output a path" in refusal(forced, 2)
    before = sorted(path.name for path in folder.iterdir())
    # The table is bad, but the output is what must be refused: it was looked at first.
    assert "exists" in refusal(
        lrisk(folder, command, "price.json", "absent.csv", flag, "kept.csv"), 2
    )
    assert sorted(path.name for path in folder.iterdir()) == before
    run = lrisk(folder, *begin, "kept.csv", "--force")
    assert run.returncode == 0, run.stderr
    assert read_csv((folder / "kept.csv").read_text())[0]["row"] == "0"


def test_a_failed_command_writes_nothing(tmp_path):
    folder = add_house_files(tmp_path)
    spoil(folder, "color", N_ROWS - 1, "pink")
    before = sorted(path.name for path in folder.iterdir())
    refusal(lrisk(folder, "predict", "price.json", "spoiled.csv", "-o", "out.csv"), 3)
    refusal(lrisk(folder, "evaluate", "price.json", "spoiled.csv", "--losses", "out.csv"), 3)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_model_of_marked_holes_counts_and_scores_them_in_every_command(tmp_path):
    folder = add_house_files(tmp_path)
    columns = {key: column.tolist() for key, column in house_columns().items()}
    for row in range(0, N_ROWS, 10):
        columns["area"][row] = None
        columns["price"][row] += 400.0
    columns["color"][5] = None
    write_csv(folder / "holes.csv", columns)
    columns["area"][3] = None
    write_csv(folder / "more.csv", columns)
    flags = ["--target", "price", "--features", "area,color,rooms", "--missing", "impute"]
    run = lrisk(folder, "fit", "holes.csv", *flags, "--risk", "mean", "-o", "marked.json")
    assert "31 cells filled in (30 area, 1 color)" in run.stdout
    assert "30 area, 1 color" in lrisk(folder, "show", "marked.json").stdout
    result = document(lrisk(folder, "evaluate", "marked.json", "holes.csv", "--json"))
    assert result["rows"]["filled"] == {"area": 30, "color": 1}
    # A hole costs 400, which only its indicator can tell.
    assert result["metrics"]["rmse"] < 100.0
    shown = lrisk(folder, "show", "marked.json").stdout
    assert "area=(missing)" in shown
    ranked = lrisk(folder, "detect-outliers", "more.csv", "--model", "marked.json", "--json")
    found = document(ranked)
    assert found["rows"]["filled"] == {"area": 31, "color": 1}
    hidden = found["outliers"][0]
    assert hidden["row"] == 3
    assert "area (missing) (usual " in hidden["reason"]
