"""`lrisk quantile-report`, run for real: against numpy on the losses that `evaluate` writes."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

from helpers.house_prices import N_ROWS, add_house_files, house_columns
from helpers.program import document, lrisk, read_csv, refusal, write_csv
from lrisk_cli.evaluation.splits import hold_out

COLUMNS = ["--features", "area,color,rooms"]
LEVELS = [0.5, 0.75, 0.9, 0.95, 0.99, 1.0]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """houses.csv, models of the price by the mean and by the tail, and of what was sold."""
    folder = add_house_files(tmp_path_factory.mktemp("houses"))
    for name, risk in (("mean", "mean"), ("tail", "superquantile:0.9"), ("both", "extremile:2")):
        flags = ["--target", "price", *COLUMNS, "--risk", risk, "-o", f"{name}.json"]
        assert lrisk(folder, "fit", "houses.csv", *flags).returncode == 0
    flags = ["--target", "rooms", "--features", "area", "--task", "classification"]
    assert lrisk(folder, "fit", "houses.csv", *flags, "-o", "rooms.json").returncode == 0
    flags = ["--target", "rooms", "--features", "area", "-o", "rooms_number.json"]
    assert lrisk(folder, "fit", "houses.csv", *flags).returncode == 0
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    return tmp_path


KNOWN: dict[bytes, np.ndarray] = {}


def losses_of(folder: Path, model: str) -> np.ndarray:
    """What `evaluate` says about each house; a model is asked once."""
    contents = (folder / model).read_bytes()
    if contents not in KNOWN:
        flags = ["--losses", "losses.csv", "--force"]
        assert lrisk(folder, "evaluate", model, "houses.csv", *flags).returncode == 0
        rows = read_csv((folder / "losses.csv").read_text())
        KNOWN[contents] = np.array([float(row["loss"]) for row in rows])
    return KNOWN[contents]


def quantiles(losses: np.ndarray, levels: list[float]) -> np.ndarray:
    return np.quantile(losses, np.array(levels) - 1e-12, method="inverted_cdf")


def report(folder: Path, *flags: str, code: int = 0) -> dict:
    return document(lrisk(folder, "quantile-report", "houses.csv", *flags, "--json"), code)


TWO = ["--model", "tail.json", "--model", "both.json", "--baseline", "mean.json"]
ONE = ["--model", "tail.json", "--baseline", "mean.json"]


def test_quantiles_and_differences_are_those_of_the_losses(folder):
    found = report(folder, *TWO)
    mean = losses_of(folder, "mean.json")
    assert found["command"] == "quantile-report"
    assert found["quantiles"] == LEVELS
    assert found["baseline"]["model"] == "mean.json"
    assert found["baseline"]["loss_quantiles"] == pytest.approx(quantiles(mean, LEVELS))
    assert [entry["model"] for entry in found["models"]] == ["tail.json", "both.json"]
    for entry in found["models"]:
        own = losses_of(folder, entry["model"])
        apart = quantiles(mean, LEVELS) - quantiles(own, LEVELS)
        assert entry["loss_quantiles"] == pytest.approx(quantiles(own, LEVELS))
        assert entry["difference"] == pytest.approx(apart, abs=1e-12)
        assert entry["normalised_difference"] == pytest.approx(apart / mean.mean(), abs=1e-12)
        assert entry["average_lost"] == pytest.approx(own.mean() - mean.mean())
        worst = [np.sort(each)[-N_ROWS // 10 :].mean() for each in (mean, own)]
        assert entry["tail_gained"] == pytest.approx(worst[0] - worst[1])
    assert found["rows"] == {"read": N_ROWS, "used": N_ROWS, "dropped": 0, "reasons": {}}


@pytest.mark.parametrize("levels", ["0.5", "0.9,0.07,1,0.9", "0.001,0.123456789"])
def test_every_array_is_as_long_as_the_quantiles_and_in_their_order(folder, levels):
    found = report(folder, *TWO, "--quantiles", levels)
    asked = [float(level) for level in levels.split(",")]
    assert found["quantiles"] == asked
    for entry in (found["baseline"], *found["models"]):
        for name in ("loss_quantiles", "loss_intervals"):
            assert len(entry[name]) == len(asked)
        losses = losses_of(folder, entry["model"])
        assert entry["loss_quantiles"] == pytest.approx(quantiles(losses, asked))
    for entry in found["models"]:
        for name in ("difference", "difference_intervals", "normalised_difference"):
            assert len(entry[name]) == len(asked)


def test_a_model_beside_a_copy_of_itself_differs_nowhere(folder):
    shutil.copy(folder / "mean.json", folder / "copy.json")
    found = report(folder, "--model", "copy.json", "--baseline", "mean.json")
    (entry,) = found["models"]
    assert entry["difference"] == [0.0] * len(LEVELS)
    assert (entry["crossings"], entry["better_from"]) == ([], None)
    run = lrisk(
        folder, "quantile-report", "houses.csv", "--model", "copy.json", "--baseline", "mean.json"
    )
    assert run.returncode == 0
    assert "unchanged" in run.stdout


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        (["difference:0.5<-1e9"], 0),
        (["difference:0.5<1e9"], 1),
        (["difference:.123>1e9", "normalised_difference:1<-1e9"], 0),
        (["tail_gained<0"], 0),
        (["average_lost>0"], 1),
        (["n_rows<300"], 0),
        (["n_rows<=300"], 1),
    ],
)
def test_gates_decide_the_exit_code(folder, conditions, code):
    flags = [word for condition in conditions for word in ("--fail-on", condition)]
    found = report(folder, *TWO, *flags, code=code)
    assert any(gate["failed"] for gate in found["gates"]) == bool(code)
    about_rows = sum(condition.startswith("n_rows") for condition in conditions)
    assert len(found["gates"]) == 2 * (len(conditions) - about_rows) + about_rows
    shown = lrisk(folder, "quantile-report", "houses.csv", *TWO, *flags)
    assert shown.returncode == code
    assert ("FAILED" in shown.stdout) == bool(code)


def test_a_gate_meets_the_difference_at_any_level(folder):
    found = report(folder, *ONE, "--fail-on", "difference:0.37<-1e9")
    mean, tail = (losses_of(folder, name) for name in ("mean.json", "tail.json"))
    expected = quantiles(mean, [0.37])[0] - quantiles(tail, [0.37])[0]
    (gate,) = found["gates"]
    assert (gate["model"], gate["metric"]) == ("tail.json", "difference:0.37")
    assert gate["value"] == pytest.approx(expected, abs=1e-12)


def test_groups_are_reported_with_their_share_of_the_tail(folder):
    found = report(folder, *ONE, "--by", "color")
    colors = house_columns()["color"]
    mean, tail = (losses_of(folder, name) for name in ("mean.json", "tail.json"))
    assert found["by"] == ["color"]
    assert {group["group"]["color"] for group in found["groups"]} == {"blue", "green", "red"}
    for group in found["groups"]:
        mask = colors == group["group"]["color"]
        assert group["rows"] == mask.sum()
        assert group["row_share"] == pytest.approx(mask.mean())
        assert group["baseline"]["loss_quantiles"] == pytest.approx(quantiles(mean[mask], LEVELS))
        (entry,) = group["models"]
        apart = quantiles(mean[mask], LEVELS) - quantiles(tail[mask], LEVELS)
        assert entry["difference"] == pytest.approx(apart, abs=1e-12)
        in_tail = mean > quantiles(mean, [0.9])[0]
        share = (in_tail & mask).sum() / in_tail.sum()
        assert group["baseline"]["tail_share"] == pytest.approx(share)
    shown = lrisk(folder, "quantile-report", "houses.csv", *ONE, "--by", "color").stdout
    assert "by color" in shown


def test_groups_of_numbers_are_spelled_as_in_the_file(folder):
    found = report(folder, *ONE, "--by", "rooms")
    assert {group["group"]["rooms"] for group in found["groups"]} == {str(k) for k in range(1, 9)}


def test_the_worst_group_the_gap_and_one_group_can_be_gated(folder):
    conditions = ["worst:tail_gained<-1e9", "gap:difference:0.8>1e-9"]
    conditions += ["group[color=red,sold=yes]:average_lost>1e9"]
    flags = [flag for each in conditions for flag in ("--fail-on", each)]
    found = report(folder, *ONE, "--by", "color,sold", *flags, code=1)
    groups = found["groups"]
    assert {tuple(each["group"]) for each in groups} == {("color", "sold")}
    own = [each["metrics"]["tail.json"] for each in groups]
    assert all(each["uncertain"] == (each["rows"] < 100) for each in groups)
    spread = found["group_spread"]["tail.json"]
    gained = [each["tail_gained"] for each in own]
    assert spread["tail_gained"]["worst"] == groups[int(np.argmin(gained))]["group"]
    assert spread["tail_gained"]["gap"] == pytest.approx(max(gained) - min(gained))
    worst, gap, one = found["gates"]
    assert (worst["value"], worst["failed"]) == (pytest.approx(min(gained)), False)
    differences = [each["difference:0.8"] for each in own]
    assert gap["value"] == pytest.approx(max(differences) - min(differences))
    assert gap["failed"]
    (red,) = [each for each in groups if each["group"] == {"color": "red", "sold": "yes"}]
    assert one["value"] == red["metrics"]["tail.json"]["average_lost"]


def test_gates_on_groups_need_columns_and_groups_that_exist(folder):
    gate = ["--fail-on", "worst:tail_gained<0"]
    assert "--by" in refusal(lrisk(folder, "quantile-report", "houses.csv", *ONE, *gate), 2)
    gate = ["--by", "color", "--fail-on", "group[color=rad]:tail_gained<0"]
    run = lrisk(folder, "quantile-report", "houses.csv", *ONE, *gate)
    assert "did you mean red?" in refusal(run, 2)


@pytest.mark.parametrize("fitted", [False, True])
def test_rows_of_weight_3_are_reported_as_three_rows(folder, fitted):
    lines = (folder / "houses.csv").read_text().splitlines()
    counts = np.random.default_rng(4).integers(0, 4, len(lines) - 1).tolist()
    weighted = [f"{line},{w}" for line, w in zip(lines, ["w", *counts], strict=True)]
    (folder / "weighted.csv").write_text("\n".join(weighted) + "\n")
    copies = [line for line, w in zip(lines[1:], counts, strict=True) for _ in range(w)]
    (folder / "copies.csv").write_text("\n".join([lines[0], *copies]) + "\n")
    flags = [*ONE, "--by", "color", "--json"]
    if fitted:
        # Splits divide rows, so the fits differ; figures of the rows tested are weighted.
        flags = ["--target", "price", *COLUMNS, "--risk", "extremile:2", "--by", "color", "--json"]
        run = lrisk(folder, "quantile-report", "weighted.csv", *flags, "--weight", "w")
        assert document(run)["weight"]["column"] == "w"
        return
    one = document(lrisk(folder, "quantile-report", "weighted.csv", *flags, "--weight", "w"))
    other = document(lrisk(folder, "quantile-report", "copies.csv", *flags))
    assert one["weight"]["sum"] == sum(counts)
    for key in ("baseline", "models"):
        assert close(one[key], other[key])
    for mine, theirs in zip(one["groups"], other["groups"], strict=True):
        for key in ("group", "row_share", "uncertain", "metrics", "intervals", "models"):
            assert close(mine[key], theirs[key]), key


def close(one: object, other: object) -> bool:
    """Whether documents agree up to rounding."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(close, one, other))
    return one == (pytest.approx(other, rel=1e-9) if isinstance(one, float) else other)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "json"])
def test_the_figures_are_written_in_every_format(folder, suffix):
    flags = [*TWO, "--by", "color", "-o", f"out.{suffix}"]
    found = report(folder, *flags)
    if suffix == "json":
        assert json.loads((folder / "out.json").read_text()) == found
        return
    if suffix == "parquet":
        rows = pyarrow.parquet.read_table(folder / "out.parquet").to_pylist()
    else:
        text = (folder / f"out.{suffix}").read_text().replace("\t", ",")
        rows = read_csv(text)
    assert len(rows) == len(LEVELS) * 2 * 4
    assert list(rows[0])[:3] == ["group", "model", "quantile"]
    whole = [row for row in rows if row["group"] == "(all)" and row["model"] == "tail.json"]
    written = [float(row["difference"]) for row in whole]
    assert written == found["models"][0]["difference"]
    assert [float(row["quantile"]) for row in whole] == LEVELS
    # The largest loss of a sample says nothing certain about larger ones.
    assert whole[-1]["difference_low"] in (None, "")


def test_people_get_a_table_and_a_chart(folder):
    run = lrisk(folder, "quantile-report", "houses.csv", *ONE)
    assert run.returncode == 0
    assert "tail.json against mean.json: " in run.stdout
    shown = {line.split()[0]: line.split() for line in run.stdout.splitlines() if line.strip()}
    found = report(folder, *ONE)
    assert float(shown["0.9"][1]) == pytest.approx(found["baseline"]["loss_quantiles"][2], rel=1e-5)
    assert float(shown["0.9"][3]) == pytest.approx(found["models"][0]["difference"][2], rel=1e-5)
    assert "█" in run.stdout
    assert shown["p"][1:] == ["0.5", "0.75", "0.9", "0.95", "0.99", "1"]
    assert all(line == line.rstrip() for line in run.stdout.splitlines())
    narrow = os.environ | {"PYTHONIOENCODING": "ascii"}
    plain = lrisk(folder, "quantile-report", "houses.csv", *ONE, env=narrow)
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout.isascii()


def test_answers_do_not_depend_on_the_form_of_the_table(folder):
    flags = [*TWO, "--by", "color", "--json"]
    one = lrisk(folder, "quantile-report", "houses.csv", *flags).stdout
    columns = house_columns()
    for start in range(0, N_ROWS, 100):
        part = {name: values[start : start + 100] for name, values in columns.items()}
        write_csv(folder / f"part{start:03d}.csv", part)
    assert lrisk(folder, "quantile-report", "part*.csv", *flags).stdout == one
    with (folder / "houses.csv").open() as stdin:
        assert lrisk(folder, "quantile-report", "-", *flags, stdin=stdin).stdout == one


def test_rows_that_one_model_cannot_use_are_left_out_for_all(folder):
    columns = {name: values.tolist() for name, values in house_columns().items()}
    columns["rooms"][3] = None
    columns["area"][4] = None
    write_csv(folder / "holes.csv", columns)
    flags = ["--target", "price", "--features", "area", "--missing", "drop", "-o", "area.json"]
    assert lrisk(folder, "fit", "houses.csv", *flags).returncode == 0
    run = lrisk(
        folder, "quantile-report", "holes.csv", "--model", "tail.json", "--baseline", "area.json",
        "--missing", "drop", "--json",
    )  # fmt: skip
    rows = document(run)["rows"]
    assert (rows["read"], rows["used"], rows["dropped"]) == (N_ROWS, N_ROWS - 2, 2)
    assert rows["reasons"] == {"missing area": 1, "not usable by tail.json": 1}


# Fits made on the spot


def test_fits_on_a_split_are_judged_on_the_rows_held_out(folder):
    flags = ["--target", "price", *COLUMNS, "--risk", "superquantile:0.9"]
    split = ["--holdout", "0.25", "--seed", "3"]
    found = report(folder, *flags, *split, "--repeats", "1")
    held_out = hold_out(N_ROWS, 0.25, 3)
    by_risk = {}
    for risk in ("mean", "superquantile:0.9"):
        fit = ["--target", "price", *COLUMNS, "--risk", risk, *split, "-o", "m.json", "--force"]
        assert lrisk(folder, "fit", "houses.csv", *fit).returncode == 0
        by_risk[risk] = losses_of(folder, "m.json")[held_out]
    assert found["baseline"]["model"] == "mean"
    assert found["baseline"]["loss_quantiles"] == pytest.approx(quantiles(by_risk["mean"], LEVELS))
    (entry,) = found["models"]
    assert entry["model"] == "superquantile:0.9"
    expected = quantiles(by_risk["superquantile:0.9"], LEVELS)
    assert entry["loss_quantiles"] == pytest.approx(expected)
    assert entry["gap"] <= 1e-6
    assert found["splits"] == {
        "holdout": 0.25, "seed": 3, "repeats": 1, "train": 225, "test": 75,
    }  # fmt: skip


def test_several_splits_are_averaged(folder):
    flags = ["--target", "price", *COLUMNS, "--risk", "extremile:2", "--by", "color"]
    splits = [report(folder, *flags, "--repeats", "1", "--seed", str(k)) for k in (5, 6)]
    both = report(folder, *flags, "--repeats", "2", "--seed", "5")
    each = [split["models"][0]["difference"] for split in splits]
    assert both["models"][0]["difference"] == pytest.approx(np.mean(each, axis=0), abs=1e-12)
    means = [split["baseline"]["mean_loss"] for split in splits]
    assert both["baseline"]["mean_loss"] == pytest.approx(np.mean(means))
    ratio = np.mean(each, axis=0) / np.mean(means)
    assert both["models"][0]["normalised_difference"] == pytest.approx(ratio, abs=1e-12)
    assert sum(group["row_share"] for group in both["groups"]) == pytest.approx(1.0)


def test_classes_are_compared_by_their_probabilities(folder):
    flags = ["--target", "sold", "--features", "area,rooms", "--risk", "extremile:3"]
    found = report(folder, *flags, "--repeats", "2")
    assert found["models"][0]["model"] == "extremile:3"
    assert found["baseline"]["mean_loss"] < np.log(2.0)


# Refusals: a sentence, a code, nothing written


@pytest.mark.parametrize(
    ("flags", "code", "finding"),
    [
        ([], 2, "nothing to compare; name models with --model and --baseline, or a --target"),
        (["--model", "tail.json"], 2, "--model needs a --baseline"),
        (["--baseline", "tail.json"], 2, "--baseline needs a --model"),
        ([*ONE, "--target", "price"], 2, "--target is for fits made on the spot"),
        ([*ONE, "--repeats", "2"], 2, "--repeats is for fits made on the spot"),
        (["--model", "mean.json", "--baseline", "mean.json"], 2, "mean.json: is named twice"),
        (["--model", "sold.json", "--baseline", "mean.json"], 2,
         "sold.json predicts 'sold' and mean.json 'price'"),
        (["--model", "rooms.json", "--baseline", "rooms_number.json"], 2,
         "rooms.json is a model for classification and rooms_number.json one for regression"),
        (["--model", "absent.json", "--baseline", "mean.json"], 4, "absent.json: no such model"),
        ([*ONE, "--by", "colour"], 3, "no column 'colour'; did you mean 'color'"),
        ([*ONE, "--quantiles", "0.5,2"], 2, "a level is greater than 0 and at most 1; got '2'"),
        ([*ONE, "--fail-on", "rmse>1"], 2, "rmse is a metric of regression"),
        ([*ONE, "--fail-on", "difference:0<1"], 2, "difference level must be in (0, 1]; got 0"),
        ([*ONE, "--fail-on", "difference"], 2, "is not a condition"),
        ([*ONE, "-o", "out.xlsx"], 2, "unknown kind of table '.xlsx'"),
        ([*ONE, "-o", "out.csv", "--html", "out.csv"], 2, "named for two outputs"),
        ([*ONE, "--html", "houses.csv", "--force"], 2, "houses.csv: is also an input"),
        ([*ONE, "--html", "mean.json", "--force"], 2, "mean.json: is also an input"),
        ([*ONE, "--html", "tail.json"], 2, "tail.json: exists; pass --force"),
        (["--target", "price", "--holdout", "0"], 2, "must be a fraction between 0 and 1; got 0"),
        (["--target", "price", "--holdout", "1"], 2, "must be a fraction between 0 and 1; got 1"),
        (["--target", "price", "--risk", "mean"], 2, "the mean is the baseline already"),
        (["--target", "price", "--risk", "superquantile:0"], 2, "the mean is the baseline already"),
        (["--target", "price", "--risk", "cvar:2"], 2, "superquantile level must be in [0, 1)"),
        (["--target", "cost"], 3, "houses.csv: no column 'cost'"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(folder, flags, code, finding):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    run = lrisk(folder, "quantile-report", "houses.csv", *flags)
    assert finding in refusal(run, code)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("n_rows", "flags", "finding"),
    [
        (1, ONE, "one.csv: 1 row is left to evaluate; quantiles need two at least"),
        (1, ["--target", "price", *COLUMNS], "two are needed"),
    ],
)
def test_a_single_row_is_refused(folder, n_rows, flags, finding):
    columns = {name: values[:n_rows] for name, values in house_columns().items()}
    write_csv(folder / "one.csv", columns)
    run = lrisk(folder, "quantile-report", "one.csv", *flags, "--html", "page.html", "-o", "o.csv")
    assert finding in refusal(run, 3)
    assert not (folder / "page.html").exists()
    assert not (folder / "o.csv").exists()


def test_the_page_of_rows_that_are_too_few_for_bands_is_drawn_without_warnings(folder):
    columns = {name: values[:8] for name, values in house_columns().items()}
    write_csv(folder / "few.csv", columns)
    flags = ["--target", "price", "--features", "area", "--repeats", "1", "--html", "page.html"]
    run = lrisk(folder, "quantile-report", "few.csv", *flags, "--risk", "superquantile:0.5")
    assert run.returncode == 0
    assert "RuntimeWarning" not in run.stderr
    assert (folder / "page.html").exists()


def test_a_table_without_the_columns_of_a_model_is_refused(folder):
    columns = {name: values for name, values in house_columns().items() if name != "area"}
    write_csv(folder / "bare.csv", columns)
    run = lrisk(folder, "quantile-report", "bare.csv", *ONE)
    assert "bare.csv: no column 'area'" in refusal(run, 3)


def test_models_that_read_a_column_in_two_ways_are_refused(folder):
    flags = ["--target", "price", "--features", "rooms", "-o", "text.json"]
    assert lrisk(folder, "fit", "houses.csv", *flags, "--dtype", "rooms=string").returncode == 0
    run = lrisk(
        folder, "quantile-report", "houses.csv", "--model", "text.json", "--baseline", "mean.json"
    )
    finding = "column 'rooms' is a number to mean.json and a category to text.json"
    assert finding in refusal(run, 2)


def test_a_model_whose_name_is_not_utf8_is_spelled_in_a_table(folder):
    odd = os.fsdecode(b"caf\xe9.json")
    shutil.copy(folder / "tail.json", folder / odd)
    flags = ("--baseline", "mean.json", "--model", odd, "-o", "q.csv", "--quiet")
    assert lrisk(folder, "quantile-report", "houses.csv", *flags).returncode == 0
    assert {row["model"] for row in read_csv((folder / "q.csv").read_text())} == {r"caf\udce9.json"}
