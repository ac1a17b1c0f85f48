"""What happens seldom, in the real program: mixed files, many models, nothing left to evaluate."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.house_prices import N_ROWS, add_house_files, house_columns, price_losses
from helpers.program import document, lrisk, read_csv, refusal, write_csv

EVALUATE = ["evaluate", "price.json"]


@pytest.fixture
def folder(tmp_path) -> Path:
    """Houses, models of their prices, and two of these that are worse, the second more so."""
    add_house_files(tmp_path)
    for name, shift in (("worse.json", 0.2), ("worst.json", 0.6)):
        contents = json.loads((tmp_path / "price.json").read_text())
        contents["coefficients"][-1] += shift
        (tmp_path / name).write_text(json.dumps(contents))
    return tmp_path


def clusters(folder: Path) -> str:
    flags = ["--features", "area,rooms", "-o", "clusters.json"]
    run = lrisk(folder, "cluster", "houses.csv", "-k", "2", *flags)
    assert run.returncode == 0, run.stderr
    return "clusters.json"


# Files


def test_ids_of_files_that_disagree_on_their_type_stay_in_order(folder):
    columns = house_columns()
    for k, (start, kind) in enumerate([(0, pa.int32()), (100, pa.int64()), (200, pa.float64())]):
        some = {name: values[start : start + 100] for name, values in columns.items()}
        some["number"] = pa.array(range(start, start + 100), kind)
        pq.write_table(pa.table(some), folder / f"part{k}.parquet")
    flags = ["--id", "number", "--losses", "losses.csv"]
    run = lrisk(folder, *EVALUATE, "part*.parquet", *flags)
    assert run.returncode == 0, run.stderr
    rows = read_csv((folder / "losses.csv").read_text())
    assert [float(row["id"]) for row in rows] == list(range(N_ROWS))
    losses = [float(row["loss"]) for row in rows]
    assert losses == pytest.approx(price_losses(folder))


def test_a_column_that_only_a_later_file_has_is_refused(folder):
    (folder / "a.csv").write_text("x,y\n1,2\n")
    (folder / "b.csv").write_text("x,y,z\n1,2,3\n")
    sentence = refusal(lrisk(folder, "fit", "a.csv", "b.csv", "--target", "y"), 3)
    assert "b.csv: column 'z' is not in a.csv; columns must agree" in sentence


def test_a_folder_that_is_named_like_a_column_is_refused(folder):
    (folder / "t" / "x=1").mkdir(parents=True)
    (folder / "t" / "x=1" / "f.csv").write_text("x,y\n1,2\n")
    sentence = refusal(lrisk(folder, "fit", "t", "--target", "y"), 3)
    assert "column 'x' is also the name of a folder (x=...); rename one of them" in sentence


@pytest.mark.parametrize("first", ["a.csv", "b.csv"])
def test_a_file_of_a_header_only_adds_no_rows_wherever_it_stands(folder, first):
    """So a table may be split in any way; but all files must not be empty."""
    (folder / "empty.csv").write_text("x,y\n")
    rows = "".join(f"{k},{k * k % 7}\n" for k in range(20))
    (folder / first).write_text(f"x,y\n{rows}")
    names = sorted([first, "empty.csv"], reverse=first == "b.csv")
    for order in (names, names[::-1]):
        result = document(lrisk(folder, "fit", *order, "--target", "y", "--json"))
        assert result["rows"]["read"] == 20
    assert "a header but no rows" in refusal(lrisk(folder, "fit", "empty.csv", "--target", "y"), 3)


# Nothing left


@pytest.mark.parametrize("model", ["price.json", "clusters.json"])
def test_when_every_row_is_dropped_there_is_nothing_to_judge(folder, model):
    clusters(folder)
    columns = house_columns()
    columns["area"] = np.full(N_ROWS, np.nan)
    write_csv(folder / "holes.csv", columns)
    for command in (
        ["evaluate", model, "holes.csv"],
        ["detect-outliers", "holes.csv", "--model", model],
    ):
        sentence = refusal(lrisk(folder, *command, "--missing", "drop", "--quiet"), 3)
        assert f"holes.csv: no row is left to evaluate; all {N_ROWS} were dropped" in sentence


def test_clusters_have_no_target(folder):
    command = ["detect-outliers", "houses.csv", "--model", clusters(folder), "--target", "price"]
    assert "holds clusters, which have none; leave it out" in refusal(lrisk(folder, *command), 2)


def test_rows_without_a_label_are_counted_and_not_judged_by_it(folder):
    columns = {key: values.tolist() for key, values in house_columns().items()}
    columns["sold"][:7] = [None] * 7
    write_csv(folder / "some.csv", columns)
    flags = ["--label", "sold", "--html", "page.html"]
    run = lrisk(folder, "evaluate", clusters(folder), "some.csv", *flags)
    assert run.returncode == 0, run.stderr
    told = "7 rows have no label and are not evaluated by it"
    assert told in run.stdout
    assert told in (folder / "page.html").read_text()


# Several models


def tail_mean(losses: np.ndarray) -> float:
    return float(np.sort(losses)[-len(losses) // 10 :].mean())


def losses_of(folder: Path, model: str) -> np.ndarray:
    run = lrisk(folder, "evaluate", model, "houses.csv", "--losses", "l.csv", "--force")
    assert run.returncode == 0, run.stderr
    return np.array([float(row["loss"]) for row in read_csv((folder / "l.csv").read_text())])


def test_a_page_of_several_models_names_the_best_and_shows_the_gates(folder):
    models = {name: losses_of(folder, name) for name in ("worst.json", "worse.json", "price.json")}
    best = min(["worse.json", "price.json"], key=lambda name: tail_mean(models[name]))
    named = ["--baseline", "worst.json", "--model", "worse.json", "--model", "price.json"]
    flags = ["--fail-on", "average_lost>1e9", "--warn-on", "average_lost>-1e9"]
    run = lrisk(folder, "quantile-report", "houses.csv", *named, *flags, "--html", "page.html")
    assert run.returncode == 0, run.stderr
    text = re.sub(r"<[^>]+>|\s+", " ", (folder / "page.html").read_text())
    assert f"The worst tenth is smallest with {best}:" in text
    largest = {name: losses.max() for name, losses in models.items()}
    n_better = sum(largest[name] < largest["worst.json"] for name in ("worse.json", "price.json"))
    assert f"{n_better} of 2 models lose less than worst.json at the largest losses" in text
    assert "The mean of the worst tenth of the losses: worse.json" in text
    assert text.count("average_lost") >= 4


def test_groups_beyond_a_dozen_are_counted(folder):
    columns = house_columns()
    columns["block"] = np.array([f"b{k % 20:02d}" for k in range(N_ROWS)])
    write_csv(folder / "blocks.csv", columns)
    named = ["--baseline", "worse.json", "--model", "price.json", "--by", "block"]
    run = lrisk(folder, "quantile-report", "blocks.csv", *named)
    assert run.returncode == 0, run.stderr
    assert len(set(re.findall(r"^b\d\d\b", run.stdout, flags=re.MULTILINE))) == 12
    assert "and 8 more groups" in run.stdout


def test_github_is_given_nine_gates_and_their_number(folder):
    gates = [word for k in range(12) for word in ("--fail-on", f"rmse>{-k}")]
    run = lrisk(folder, *EVALUATE, "houses.csv", *gates, "--github", "--quiet")
    assert run.returncode == 1
    errors = [line for line in run.stderr.splitlines() if line.startswith("::error")]
    assert len(errors) == 10
    assert errors[-1].endswith("12 gates failed; 9 are shown")


def test_models_of_different_classes_cannot_be_compared(folder):
    columns = house_columns()
    columns["sold"] = np.where(columns["sold"] == "yes", "yes", "never")
    write_csv(folder / "other.csv", columns)
    for name in ("houses", "other"):
        flags = ["--target", "sold", "--features", "area", "-o", f"{name}.json"]
        assert lrisk(folder, "fit", f"{name}.csv", *flags).returncode == 0
    named = ["--baseline", "houses.json", "--model", "other.json"]
    sentence = refusal(lrisk(folder, "quantile-report", "houses.csv", *named), 2)
    assert "know different classes of 'sold'" in sentence


# Options


@pytest.mark.parametrize(("word", "on"), [("yes", True), ("TRUE", True), ("0", False)])
def test_a_variable_turns_a_switch_on_or_off(folder, word, on):
    environment = {**os.environ, "LRISK_EVALUATE_JSON": word}
    run = lrisk(folder, *EVALUATE, "houses.csv", env=environment)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("{") == on


def test_config_lists_what_a_list_holds(folder):
    (folder / "lrisk.toml").write_text('[fit]\nrisk = ["mean", "extremile:2"]\n')
    run = lrisk(folder, "config", "fit")
    assert run.returncode == 0, run.stderr
    (line,) = [line for line in run.stdout.splitlines() if "mean, extremile:2" in line]
    assert line.split()[0] == "risk"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fit", "--target", "price", "--smoothing", "l2", "--nu", "0"], "--nu must be greater"),
        (["cluster", "-k", "2", "--label", "sold", "--inlier-labels", ","], "names no label"),
        (
            ["fit", "--target", "price", "--solver", "sgd", "--step", "fast"],
            "--step takes a number",
        ),
        (["fit", "--target", "price", "--features", "price"], "price"),
    ],
)
def test_an_option_that_means_nothing_is_refused(folder, arguments, words):
    command, *flags = arguments
    assert words in refusal(lrisk(folder, command, "houses.csv", *flags), 2)
