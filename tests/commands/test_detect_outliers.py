"""`lrisk detect-outliers`, run in scratch folders: the ranking, the document, the refusals."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from helpers.house_prices import N_ROWS, add_house_files, house_columns, price_losses, spoil
from helpers.problems import plain_risk
from helpers.program import (
    PROGRAM,
    document,
    lrisk,
    read_csv,
    refusal,
    unmeasured,
    without_places,
    write_csv,
)
from lrisk_cli.evaluation import rankings
from lrisk_cli.evaluation.rankings import largest_first

COLUMNS = ["--features", "area,color,rooms"]
PRICE = ["--target", "price", *COLUMNS]
WRONG = {3: ("price", 99_999.0), 40: ("price", -50_000.0), 77: ("price", 70_000.0)}
HEADS = [
    *("rank", "row", "line", "id", "loss", "score", "is_outlier", "kind", "reason"),
    *("reason_1", "contribution_1", "reason_2", "contribution_2", "reason_3", "contribution_3"),
]


def bad_houses() -> dict[str, np.ndarray]:
    """The houses, three of them with a wrong cell."""
    columns = house_columns()
    for row, (name, value) in WRONG.items():
        columns[name][row] = value
    return columns


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """houses.csv, its models, and bad.csv."""
    write_csv(tmp_path / "bad.csv", bad_houses())
    return add_house_files(tmp_path)


def detect(folder: Path, table: str, *arguments: str, code: int = 0) -> dict:
    """What `lrisk detect-outliers TABLE ... --json` prints."""
    return document(lrisk(folder, "detect-outliers", table, *arguments, "--json"), code)


def ranking(folder: Path, name: str = "r.csv") -> list[dict[str, str]]:
    return read_csv((folder / name).read_text())


# The ranking


def test_planted_errors_come_first_and_their_columns_are_named(folder):
    result = detect(folder, "bad.csv", *PRICE, "--id", "house", "--contamination", "0.01")
    assert {row["row"]: row["contributions"][0]["column"] for row in result["outliers"][:3]} == {
        row: name for row, (name, _) in WRONG.items()
    }
    assert [row["id"] for row in result["outliers"][:3]] == [
        f"h{row['row']:03d}" for row in result["outliers"][:3]
    ]
    assert [row["is_outlier"] for row in result["outliers"]] == [True] * 3 + [False] * 7
    assert (result["n_outliers"], result["outlier_fraction"]) == (3, 0.01)
    assert (result["contamination"], result["estimated"]) == (0.01, False)


def test_the_file_holds_every_row_by_falling_score(folder):
    run = lrisk(folder, "detect-outliers", "bad.csv", *PRICE, "--id", "house", "-o", "r.csv",
                "--contamination", "0.1", "--save-model", "m.json")  # fmt: skip
    assert run.returncode == 0, run.stderr
    rows = ranking(folder)
    assert list(rows[0]) == HEADS
    assert [int(row["rank"]) for row in rows] == list(range(1, N_ROWS + 1))
    assert sorted(int(row["row"]) for row in rows) == list(range(N_ROWS))
    assert all(row["id"] == f"h{int(row['row']):03d}" for row in rows)
    scores = [float(row["score"]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    flags = [row["is_outlier"] == "1" for row in rows]
    assert flags == [True] * 30 + [False] * 270
    # Outliers have reasons, and so would have the top rows; others have none.
    assert [bool(row["reason"]) for row in rows] == flags
    assert [bool(row["reason_1"]) for row in rows] == flags
    losses = lrisk(folder, "evaluate", "m.json", "bad.csv", "--losses", "l.csv")
    assert losses.returncode == 0, losses.stderr
    by_row = {row["row"]: row["loss"] for row in ranking(folder, "l.csv")}
    assert {row["row"]: row["loss"] for row in rows} == by_row


def test_rows_printed_have_reasons_though_they_are_no_outliers(folder):
    flags = ["--contamination", "0.01", "--top", "12", "-o", "r.csv"]
    result = detect(folder, "bad.csv", *PRICE, *flags)
    assert len(result["outliers"]) == 12
    assert all(row["reason"] for row in result["outliers"])
    rows = ranking(folder)
    assert [row["reason"] for row in rows[:12]] == [row["reason"] for row in result["outliers"]]
    assert not any(row["reason"] for row in rows[12:])


def test_parts_in_the_file_are_those_of_the_document(folder):
    result = detect(folder, "bad.csv", *PRICE, "-o", "r.csv")
    for row, line in zip(result["outliers"], ranking(folder), strict=False):
        told = [(part["column"], part["contribution"]) for part in row["contributions"]]
        named = [(line[f"reason_{k}"], line[f"contribution_{k}"]) for k in (1, 2, 3)]
        assert told == [(name, float(part)) for name, part in named if name]
        assert float(line["loss"]) == row["loss"]


def test_csv_and_parquet_hold_the_same(folder):
    pyarrow.parquet.write_table(pa.table(bad_houses()), folder / "bad.parquet")
    written = {}
    for table in ("bad.csv", "bad.parquet"):
        for name in ("r.csv", "r.parquet"):
            flags = ["--id", "house", "-o", name, "--force", "--quiet"]
            run = lrisk(folder, "detect-outliers", table, *PRICE, *flags)
            assert run.returncode == 0, run.stderr
            written[table, name] = (folder / name).read_bytes()
    places = [
        without_places(written[name, "r.csv"].decode()) for name in ("bad.csv", "bad.parquet")
    ]
    assert places[0] == places[1]
    typed = pyarrow.parquet.read_table(folder / "r.parquet")
    assert typed.column_names == [name for name in HEADS if name != "line"]
    text = pyarrow.csv.read_csv(
        folder / "r.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    for name in ("rank", "row", "loss", "score", "is_outlier", "kind", "reason", "reason_1"):
        # Text tables cannot tell an empty text from none.
        assert [each or None for each in typed[name].to_pylist()] == [
            each or None for each in text[name].to_pylist()
        ], name


def test_the_same_command_writes_the_same_bytes(folder):
    contents = []
    for _ in range(2):
        flags = ["-o", "r.csv", "--save-model", "m.json", "--html", "p.html", "--force"]
        run = lrisk(folder, "detect-outliers", "bad.csv", *PRICE, *flags)
        assert run.returncode == 0, run.stderr
        names = ("r.csv", "m.json", "p.html")
        contents.append((run.stdout, *((folder / name).read_bytes() for name in names)))
    assert contents[0] == contents[1]


@pytest.mark.parametrize("target", ["sold", "kind"])
def test_a_flipped_class_is_found(folder, target):
    model = json.loads((folder / f"{target}.json").read_text())
    columns = house_columns()
    row = int(np.argmax(columns["area"]))  # as sure a case as there is
    spoil(folder, target, row, model["classes"][0])
    result = detect(folder, "spoiled.csv", "--target", target, *COLUMNS, "--top", "2")
    first = result["outliers"][0]
    assert first["row"] == row
    assert first["reason"].startswith(f"{target} {model['classes'][0]} where ")
    assert first["score"] > result["outliers"][1]["score"]
    assert result["kind"] == "classification"


def test_a_kernel_model_gives_reasons_too(folder):
    result = detect(folder, "bad.csv", *PRICE, "--kernel", "rbf", "--rank", "50")
    first = {row["row"]: row for row in result["outliers"]}
    assert {3, 40} <= set(first)
    assert first[3]["contributions"][0]["column"] == "price"
    assert first[3]["reason"].startswith("price 99,999 where ")
    flags = ["--kernel", "rbf", "--rank", "50", "--save-model", "k.json"]
    assert (
        "features     Gaussian kernel"
        in lrisk(folder, "detect-outliers", "bad.csv", *PRICE, *flags).stdout
    )
    again = detect(folder, "bad.csv", "--model", "k.json")
    assert {3, 40} <= {row["row"] for row in again["outliers"] if row["is_outlier"]}


def test_ids_of_any_type_are_told(folder):
    columns = {name: bad_houses()[name] for name in ("area", "rooms", "price")}
    days = pa.array(np.arange(N_ROWS).astype("datetime64[D]"), mask=np.arange(N_ROWS) == 40)
    pyarrow.parquet.write_table(pa.table(columns | {"day": days}), folder / "days.parquet")
    result = detect(folder, "days.parquet", "--target", "price", "--id", "day")
    ids = {row["row"]: row["id"] for row in result["outliers"]}
    assert (ids[3], ids[40]) == ("1970-01-04", None)


# Ties


def test_equal_losses_rank_in_row_order(folder):
    write_csv(folder / "ties.csv", {"x": np.tile([1.0, 2.0], 20), "y": np.tile([1.0, 3.0], 20)})
    run = lrisk(folder, "detect-outliers", "ties.csv", "--target", "y", "--task", "regression",
                "--contamination", "0.1", "-o", "r.csv")  # fmt: skip
    assert run.returncode == 0, run.stderr
    rows = ranking(folder)
    for value in {row["loss"] for row in rows}:
        places = [int(row["row"]) for row in rows if row["loss"] == value]
        assert places == sorted(places)
    # No more than asked for, and rows that tie are evaluated alike.
    evaluated = {row["loss"]: row["is_outlier"] for row in rows}
    assert all(evaluated[row["loss"]] == row["is_outlier"] for row in rows)
    assert sum(row["is_outlier"] == "1" for row in rows) <= 4


@pytest.mark.parametrize("chunk", [1, 2, 3, 100])
@pytest.mark.parametrize("n_first", [1, 3, 7, 100])
def test_the_largest_losses_are_found_without_a_full_sort(monkeypatch, n_first, chunk):
    monkeypatch.setattr(rankings, "_CHUNK", chunk)
    losses = np.array([2.0, 5.0, 5.0, 1.0, 2.0, 2.0, 0.0])
    expected = sorted(range(7), key=lambda i: -losses[i])[:n_first]
    assert largest_first(losses, n_first).tolist() == expected


# By a model


def test_a_model_ranks_new_rows_by_its_own_losses(folder):
    result = detect(folder, "houses.csv", "--model", "price.json", "-o", "r.csv")
    losses = price_losses(folder)
    rows = ranking(folder)
    np.testing.assert_allclose([float(row["loss"]) for row in rows], np.sort(losses)[::-1])
    assert [int(row["row"]) for row in rows] == np.argsort(-losses, kind="stable").tolist()
    assert (result["model"], result["fitted"], result["target"]) == ("price.json", False, "price")


def test_a_wrong_feature_is_named_in_the_units_of_the_file(folder):
    spoil(folder, "area", 77, 90_000.0)
    first, *_ = detect(folder, "spoiled.csv", "--model", "price.json")["outliers"]
    assert (first["row"], first["contributions"][0]["column"]) == (77, "area")
    assert "area 90,000 (usual 98.93, " in first["reason"]
    assert "deviations away) adds 1" in first["reason"]


def test_with_and_without_a_file_a_model_says_the_same(folder):
    flags = ["--model", "price.json", "--id", "house", "--top", "25"]
    plain = detect(folder, "bad.csv", *flags)
    filed = detect(folder, "bad.csv", *flags, "-o", "r.csv")
    assert plain["outliers"] == filed["outliers"]
    assert plain["outliers"][0]["id"] == f"h{plain['outliers'][0]['row']:03d}"


def test_a_saved_fit_ranks_its_own_rows_as_it_did(folder):
    one = detect(folder, "bad.csv", *PRICE, "--save-model", "m.json", "-o", "one.csv")
    two = detect(folder, "bad.csv", "--model", "m.json", "-o", "two.csv")
    tables = [ranking(folder, name) for name in ("one.csv", "two.csv")]
    losses = [{row["row"]: row["loss"] for row in table} for table in tables]
    assert losses[0] == losses[1]
    # The fit judges columns and leverage too; the model has the losses alone, in the same unit, and
    # leaves the tails of the noise (Student's t with 3 degrees of freedom) where they are.
    errors = [{int(row["row"]) for row in table if row["kind"] == "error"} for table in tables]
    assert set(WRONG) <= errors[0]
    assert set(WRONG) == errors[1]
    assert one["scale"] == pytest.approx(two["scale"])
    assert (one["model"], one["fitted"]) == ("m.json", True)


def test_how_rows_are_split_over_files_does_not_matter(folder):
    table = pa.table(bad_houses())
    for k, start in enumerate((0, 41, 200)):
        stop = (41, 200, 300)[k]
        pyarrow.csv.write_csv(table.slice(start, stop - start), folder / f"part{k}.csv")
    flags = ["--model", "price.json", "--id", "house"]
    whole = detect(folder, "bad.csv", *flags)
    parts = detect(folder, "part0.csv", "part1.csv", "part2.csv", *flags)
    for row in whole["outliers"]:
        part = sum(row["row"] >= start for start in (41, 200))
        row["file"], row["line"] = f"part{part}.csv", row["row"] - (0, 41, 200)[part] + 2
    assert parts["outliers"] == whole["outliers"]


def test_dropped_rows_keep_the_numbers_of_the_others(folder):
    columns = {name: column.tolist() for name, column in bad_houses().items()}
    columns["area"][0] = columns["area"][1] = columns["color"][30] = None
    write_csv(folder / "holes.csv", columns)
    for how in (PRICE, ["--model", "price.json"]):
        gate = ["--missing", "drop", "--fail-on", "missing_fraction>0.009"]
        result = detect(folder, "holes.csv", *how, *gate, "-o", "r.csv", "--force", code=1)
        assert {row["row"] for row in result["outliers"][:3]} == set(WRONG)
        assert len(ranking(folder)) == result["rows"]["used"] == N_ROWS - 3
        assert result["gates"][0]["value"] == 0.01
    filled = detect(folder, "holes.csv", *PRICE, "--missing", "impute")
    assert filled["rows"]["used"] == N_ROWS
    assert filled["metrics"]["missing_fraction"] == 0.01


MEASURE = """
import sys
from lrisk_cli.cli import run
def kilobytes(field):
    lines = open('/proc/self/status').read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))
small, big, model = sys.argv[1:]
flags = ['--model', model, '--quiet', '--json']
run(['detect-outliers', small, *flags])
base = kilobytes('VmHWM')
run(['detect-outliers', big, *flags])
print(kilobytes('VmHWM') - base, file=sys.stderr)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux to measure memory")
def test_rows_that_stream_by_take_little_memory(folder):
    rng, n_rows = np.random.default_rng(0), 1_500_000
    x = rng.random(n_rows)
    table = pa.table({"x": x, "y": 2.0 * x + 0.1 * rng.standard_normal(n_rows)})
    pyarrow.parquet.write_table(table, folder / "big.parquet", row_group_size=50_000)
    pyarrow.parquet.write_table(table.slice(0, 100_000), folder / "small.parquet")
    fit = lrisk(folder, "fit", "small.parquet", "--target", "y", "-o", "y.json")
    assert fit.returncode == 0, fit.stderr
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, "small.parquet", "big.parquet", "y.json"],
        capture_output=True, text=True, cwd=folder, env=unmeasured(),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    # The border is found on copies of the losses, and a reader holds a few batches.
    assert int(run.stderr.split()[-1]) * 1024 <= 40 * n_rows


# Without a target


def test_without_a_target_rows_far_from_every_centre_come_first(folder):
    columns = bad_houses()
    columns["rooms"] = columns["rooms"].astype(float)
    columns["rooms"][9], columns["area"][77] = 500.0, 90_000.0
    write_csv(folder / "odd.csv", columns)
    flags = ["--features", "area,rooms,color", "--top", "2", "-o", "r.csv", "--id", "house"]
    result = detect(folder, "odd.csv", *flags, "--save-model", "c.json")
    first = {row["row"]: row for row in result["outliers"]}
    assert set(first) == {9, 77}
    assert first[9]["contributions"][0]["column"] == "rooms"
    assert first[9]["reason"].startswith("rooms 500 where the other columns suggest ")
    assert (result["kind"], result["target"]) == ("clusters", None)
    assert list(ranking(folder)[0]) == HEADS
    again = detect(folder, "odd.csv", "--model", "c.json", "--top", "2", "--id", "house")
    assert {row["row"] for row in again["outliers"]} == {9, 77}
    assert all(row["is_outlier"] for row in again["outliers"])


def test_the_number_of_centres_is_said_and_can_be_chosen(folder):
    for flags, words in (
        ([], "1 normal cluster with a scatter of its own on 2 features"),
        (["-k", "1"], "1 normal cluster with a scatter of its own on 2 features"),
        (["-k", "3"], "2 normal clusters with scatters of their own on 2 features"),
    ):
        run = lrisk(folder, "detect-outliers", "houses.csv", "--features", "area,price", *flags)
        assert run.stdout.startswith(f"model        {words}"), run.stderr
    # The third has few rows.
    assert "estimated by a mixture of 3 normal clusters and noise" in run.stdout


# Gates and words


def test_a_gate_on_the_share_of_outliers_fails(folder):
    gates = ["--fail-on", "outlier_fraction>0.05", "--fail-on", "superquantile:0.9>1e12"]
    flags = ["--contamination", "0.1", *gates, "-o", "r.csv"]
    result = detect(folder, "bad.csv", *PRICE, *flags, code=1)
    assert [gate["failed"] for gate in result["gates"]] == [True, False]
    assert result["gates"][0]["value"] == 0.1
    losses = np.array([float(row["loss"]) for row in ranking(folder)])
    expected = plain_risk(losses, "superquantile:0.9")
    assert result["metrics"]["superquantile:0.9"] == pytest.approx(expected)
    assert result["metrics"]["max"] == losses.max()


def test_people_read_what_is_expected_and_where_the_rest_is(folder):
    run = lrisk(folder, "detect-outliers", "bad.csv", *PRICE, "--contamination", "0.01",
                "--fail-on", "n_rows<1000")  # fmt: skip
    assert run.returncode == 1
    assert "outliers     3 rows (1 %) have a score above " in run.stdout
    assert "price 99,999 where " in run.stdout
    assert "n_rows  FAILED  300  at least 1000" in run.stdout
    assert "pass -o RANKING.csv to keep the ranking of all rows" in run.stdout
    narrow = lrisk(folder, "detect-outliers", "bad.csv", *PRICE, "--quiet",
                   env={**os.environ, "COLUMNS": "70"})  # fmt: skip
    table = narrow.stdout.split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 70


def test_rows_can_come_through_a_pipe_and_go_through_one(folder):
    text = (folder / "bad.csv").read_text()
    piped = lrisk(folder, "detect-outliers", "-", *PRICE, "--json", input=text)
    named = lrisk(folder, "detect-outliers", "bad.csv", *PRICE, "--json")
    assert document(piped)["outliers"] == document(named)["outliers"]
    streamed = lrisk(folder, "detect-outliers", "-", "--model", "price.json", "--json", input=text)
    assert (
        document(streamed)["outliers"]
        == detect(folder, "bad.csv", "--model", "price.json")["outliers"]
    )
    command = " ".join([*PROGRAM, "detect-outliers", "bad.csv", *PRICE, "--top 300", "| head -1"])
    run = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert run.stdout.startswith("model ")
    assert "error" not in run.stderr


# Bad input


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--contamination", "0.5"], 2, "less than 0.5"),
        (["--contamination", "0"], 2, "greater than 0"),
        (["--contamination", "nan"], 2, "got 'nan'"),
        (["--contamination", "some"], 2, "takes auto or a fraction"),
        (["--top", "0"], 2, "--top"),
        (["-k", "3"], 2, "-k is for tables without a --target"),
        (["--fail-on", "rmse>1"], 2, "rmse is a metric of regression"),
        (["--fail-on", "outliers"], 2, "is not a condition"),
        (["--l2", "0"], 2, "--l2 must be greater than 0"),
        (["--model", "price.json"], 2, "--features is for a fit, and --model names one"),
        (["--exclude", "no"], 3, "no column 'no'"),
        (["--id", "no"], 3, "no column 'no'"),
        (["-o", "r.txt"], 2, "unknown kind of table"),
        (["--save-model", "bad.csv", "--force"], 2, "is also an input"),
        (["-o", "x.csv", "--html", "x.csv"], 2, "named for two outputs"),
        (["-o", "houses.csv"], 2, "exists; pass --force"),
        (["--degree", "2"], 2, "degree"),
    ],
)
def test_a_wrong_option_is_answered_with_a_sentence(folder, arguments, code, words):
    before = sorted(path.name for path in folder.iterdir())
    said = refusal(lrisk(folder, "detect-outliers", "bad.csv", *PRICE, *arguments), code)
    assert words in said
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["bad.csv", "--kernel", "rbf"], 2, "--kernel is for a fit of a --target"),
        (["bad.csv", "--features", "color"], 3, "no feature holds numbers"),
        (["bad.csv", "-k", "0"], 2, "-k takes a number of clusters"),
        (["bad.csv", "-k", "400", "--features", "area"], 3, "fewer than 400 clusters"),
        (["bad.csv", "--target", "no"], 3, "no column 'no'"),
        (["none.csv", "--target", "y"], 3, "none.csv"),
        (["bad.csv", "--model", "bad.csv"], 4, "bad.csv"),
        (["bad.csv", "--model", "price.json", "--target", "kind"], 2, "predicts 'price'"),
        (["bad.csv", "--model", "price.json", "--save-model", "m.json"], 2, "--save-model"),
        (["bad.csv", "--model", "price.json", "-k", "2"], 2, "-k is for a fit"),
        (["bad.csv", "--model", "none.json"], 4, "none.json"),
        (["empty.csv", "--target", "y"], 3, "no rows"),
        (["empty.csv", "--model", "price.json"], 3, "no rows"),
        (["huge.csv", "--model", "price.json"], 3, "too large"),
    ],
)
def test_a_wrong_table_or_model_is_answered_with_a_sentence(folder, arguments, code, words):
    (folder / "empty.csv").write_text("x,y\n")
    spoil(folder, "price", 5, 1e300)
    (folder / "spoiled.csv").rename(folder / "huge.csv")
    run = lrisk(folder, "detect-outliers", *arguments, "-o", "r.csv")
    assert words in refusal(run, code)
    assert not (folder / "r.csv").exists()


def test_a_model_needs_its_target_among_the_columns(folder):
    columns = house_columns()
    del columns["price"]
    write_csv(folder / "without.csv", columns)
    run = lrisk(folder, "detect-outliers", "without.csv", "--model", "price.json")
    assert "no column 'price'" in refusal(run, 3)


# The page


def test_the_page_shows_threshold_rows_and_reasons(folder):
    flags = ["--html", "p.html", "--fail-on", "outlier_fraction>0.5", "--id", "house"]
    run = lrisk(folder, "detect-outliers", "bad.csv", *PRICE, *flags)
    assert run.returncode == 0, run.stderr
    text = (folder / "p.html").read_text("utf-8")
    for words in ("threshold", "price 99,999 where ", "h003", "outlier_fraction&gt;0.5"):
        assert words in text


def test_misspelt_categories_are_found_without_a_target(folder):
    columns = house_columns()
    columns["color"] = columns["color"].astype(object)
    columns["color"][[5, 60]] = ["gren", "bleu"]
    write_csv(folder / "typos.csv", columns)
    result = detect(folder, "typos.csv", *COLUMNS, "--top", "2")
    assert {row["row"]: row["kind"] for row in result["outliers"]} == {5: "cell", 60: "cell"}
    assert all("looks misspelt" in row["reason"] for row in result["outliers"])
