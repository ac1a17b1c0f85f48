"""Fits of streamed tables: what memory finds, the same bytes however rows are stored."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from helpers.program import lrisk, run_here
from lrisk_cli.engines import blocks, sampling
from lrisk_cli.engines.blocks import Unchanged
from lrisk_cli.errors import DataError
from lrisk_cli.tables.table import open_table

N_ROWS = 30_000


def make_rows(n: int = N_ROWS) -> pa.Table:
    """Numbers with missing cells, categories, a target of numbers and one of classes."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((2, n))
    city = rng.choice(["rome", "oslo", "lima", "bonn"], n, p=[0.5, 0.3, 0.15, 0.05])
    area = np.array([f"z{code}" for code in rng.integers(0, 30, n)])
    y = 2.0 * a - b + (city == "rome") + 0.3 * rng.standard_t(3, n)
    k = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * y)), "yes", "no")
    missing = np.arange(n) % 97 == 5
    return pa.table(
        {
            "a": pa.array(a, mask=missing), "b": b, "city": city, "area": area, "y": y,
            "k": k, "c": np.where(rng.random(n) < 0.5, "x", "y"),
        }
    )  # fmt: skip


ROWS = make_rows()


@pytest.fixture
def small(monkeypatch):
    """Samples and parts so small that the rows are many."""
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 4000)
    monkeypatch.setattr(sampling, "FEWEST_ROWS", 4000)
    monkeypatch.setattr(blocks, "PART_ROWS", 4096)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the rows as Parquet, in it."""
    pa.parquet.write_table(ROWS, tmp_path / "t.parquet")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(capsys, *arguments: str, code: int = 0) -> dict:
    """The document of a fit."""
    run = run_here(capsys, "fit", *arguments, "--quiet", "--json")
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)


TASKS = {
    "numbers": ("--target", "y", "--exclude", "k,c", "--missing", "drop"),
    "filled": ("--target", "y", "--exclude", "k,c", "--missing", "impute"),
    "classes": ("--target", "k", "--exclude", "y,c", "--missing", "drop"),
    "unexplained": ("--target", "c", "--exclude", "y,k", "--missing", "drop"),
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("risk", ["superquantile:0.9", "extremile:2"])
@pytest.mark.usefixtures("small", "folder")
def test_a_streamed_fit_finds_what_memory_finds(capsys, task, risk):
    command = ("t.parquet", *TASKS[task], "--risk", risk)
    stream = fit(capsys, *command, "--engine", "stream", "-o", "s.json")
    memory = fit(capsys, *command, "--engine", "memory", "-o", "m.json")
    ours, theirs = stream["fit"], memory["fit"]
    assert (ours["engine"], theirs["engine"]) == ("stream", "memory")
    assert ours["gap"] <= 1e-6
    assert ours["passes"] <= 8
    assert ours["lower_bound"] <= theirs["objective"]
    assert theirs["lower_bound"] <= ours["objective"]
    for name in ("rows_read", "rows_used", "drop_reasons", "cells_filled", "fingerprint"):
        assert ours[name] == theirs[name]
    if task != "filled":  # the medians are those of the sample
        texts = (Path(name).read_text() for name in ("s.json", "m.json"))
        encodings = [json.loads(text)["encoding"] for text in texts]
        for one, other in zip(*(each["features"] for each in encodings), strict=True):
            assert one | {"mean": 0, "scale": 0} == other | {"mean": 0, "scale": 0}
            assert one["mean"] == pytest.approx(other["mean"], abs=1e-14)
            assert one["scale"] == pytest.approx(other["scale"], rel=1e-14)
    for figures in ("training", "reference"):
        own, known = stream[figures], memory[figures]
        if figures == "reference":
            own, known = own["training"], known["training"]
            if task != "filled":
                assert own["mean"] == pytest.approx(known["mean"], rel=2e-6)
        for name in ("mean", "superquantile:0.9", "extremile:2", "rmse", "log_loss", "roc_auc"):
            if name in known and task != "unexplained":
                tolerance = 0.01 if task == "filled" else 1e-3
                assert own[name] == pytest.approx(known[name], rel=tolerance)


@pytest.mark.usefixtures("small")
def test_the_same_rows_give_the_same_bytes_however_they_are_stored(folder, capsys):
    table = ROWS.select(["a", "b", "city", "y"]).drop_null()
    pa.parquet.write_table(table, "one.parquet", row_group_size=777)
    pa.csv.write_csv(table, "one.csv")
    for at, (start, stop) in enumerate([(0, 10), (10, 9000), (9000, len(table))]):
        pa.parquet.write_table(table.slice(start, stop - start), f"part{at}.parquet")
    models = []
    for name, data in {
        "groups": ["one.parquet"], "text": ["one.csv"], "threads": ["one.parquet"],
        "files": [f"part{at}.parquet" for at in range(3)],
    }.items():  # fmt: skip
        more = ["--threads", "3"] if name == "threads" else []
        fit(capsys, *data, "--target", "y", "--engine", "stream", "-o", f"{name}.json", *more)
        models.append((folder / f"{name}.json").read_bytes())
    assert len(set(models)) == 1


@pytest.mark.usefixtures("small", "folder")
def test_auto_streams_what_does_not_fit_and_says_so(capsys):
    command = ("t.parquet", "--target", "y", "--exclude", "k,c", "--missing", "drop")
    assert fit(capsys, *command)["fit"]["engine"] == "memory"
    limited = fit(capsys, *command, "--memory-limit", "300KB")
    assert limited["fit"]["engine"] == "stream"
    why = next(note for note in limited["notes"] if note.startswith("engine: stream, since"))
    assert "more than --memory-limit 300 KB" in why
    refused = run_here(capsys, "fit", *command, "--memory-limit", "300KB", "--cv", "3")
    assert refused.returncode == 3
    assert "it cannot be streamed: --cv needs all rows in memory" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--cv", "3"), "--cv needs all rows in memory; leave it out, or pass --engine memory"),
        (("--holdout", "0.2"), "--holdout needs all rows in memory"),
        (("--risk", "subquantile:0.9"), "--risk subquantile:0.9 cannot be streamed, only risks of"),
        (("--robust",), "--robust needs all rows in memory"),
        (("--loss", "huber:1.5"), "--loss huber:1.5 cannot be streamed, squared and logistic can"),
        (("--kernel", "rbf"), "--kernel needs all rows in memory, linear features do not"),
        (("--weight", "b"), "--weight needs all rows in memory"),
        (("--dates", "parts"), "--dates parts needs all rows in memory"),
        (("--scaling", "mad"), "--scaling mad needs all rows in memory"),
        (("--solver", "lbfgs"), "--solver lbfgs needs all rows in memory; leave it to auto"),
        (("--losses", "l.csv"), "--losses needs all rows in memory"),
        (("--html", "p.html"), "--html needs all rows in memory"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_streamed_is_refused_with_a_sentence(capsys, arguments, sentence):
    run = run_here(capsys, "fit", "t.parquet", "--target", "y", "--engine", "stream", *arguments)
    assert run.returncode == 2
    assert sentence in run.stderr


@pytest.mark.usefixtures("small", "folder")
def test_gates_and_tables_to_test_on_work_with_a_streamed_fit(capsys):
    pa.parquet.write_table(ROWS.slice(0, 2000), "test.parquet")
    command = ("t.parquet", *TASKS["classes"], "--engine", "stream", "--test", "test.parquet")
    found = fit(capsys, *command, "--fail-on", "roc_auc<0.99", code=1)
    assert found["holdout"]["accuracy"] == pytest.approx(found["training"]["accuracy"], abs=0.05)
    refused = run_here(capsys, "fit", *command, "--fail-on", "rmse>1")
    assert refused.returncode == 2


@pytest.mark.usefixtures("small", "folder")
def test_several_risks_share_the_first_pass_and_the_ordinary_fit(capsys):
    command = ("t.parquet", *TASKS["numbers"], "--engine", "stream")
    found = fit(capsys, *command, "--risk", "esrm:1", "--risk", "superquantile:0.5")
    one, two = found["fits"]
    assert one["reference"] == two["reference"]
    assert max(one["fit"]["gap"], two["fit"]["gap"]) <= 1e-6


@pytest.mark.usefixtures("small", "folder")
def test_rows_of_few_different_contents_are_counted_and_solved_in_memory(capsys):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (2, 60_000)).astype(float)
    y = np.round(x.sum(axis=0) + rng.standard_normal(60_000))
    pa.parquet.write_table(pa.table({"u": x[0], "v": x[1], "y": y}), "few.parquet")
    command = ("few.parquet", "--target", "y", "--task", "regression", "--risk", "extremile:2")
    sampling.SAMPLE_ROWS = 25_000
    stream, memory = (fit(capsys, *command, "--engine", each) for each in ("stream", "memory"))
    assert "different contents" in stream["fit"]["solver_reason"]
    assert stream["fit"]["passes"] == 3
    assert stream["fit"]["objective"] == pytest.approx(memory["fit"]["objective"], rel=1e-6)
    assert stream["fit"]["gap"] <= 1e-6


@pytest.mark.usefixtures("small")
def test_a_model_of_a_streamed_fit_knows_the_rows_that_it_learned_from(folder, capsys):
    command = ("t.parquet", *TASKS["numbers"], "--engine", "stream", "-o", "m.json")
    fit(capsys, *command)
    run = run_here(capsys, "evaluate", "m.json", "t.parquet", "--quiet")
    assert run.returncode == 0
    assert "[training_rows]" in run.stderr


def test_a_file_that_changes_between_passes_is_noticed(folder):
    table = open_table(["t.parquet"])
    unchanged = Unchanged(table)
    unchanged.check()
    stamp = os.stat("t.parquet").st_mtime_ns
    os.utime("t.parquet", ns=(stamp + 10**9, stamp + 10**9))
    with pytest.raises(DataError, match=r"t.parquet: the file has changed since the first pass"):
        unchanged.check()
    (folder / "t.parquet").unlink()
    with pytest.raises(DataError, match=r"t.parquet: the file is gone since the first pass"):
        unchanged.check()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x,y\n1,2\n,3\n4,5\n", "column 'x', row 1: the cell is missing; pass --missing drop"),
        ("x,y\n1,2\n2,2\n", "column 'y': is constant (2), nothing to learn"),
        ("x,y\n1,no\n2,no\n", "one class only"),
        ("x,y\n1,2\n", "1 of 1 rows can be used"),
    ],
)
def test_tables_of_which_nothing_can_be_learned_are_refused(tmp_path, text, sentence):
    (tmp_path / "t.csv").write_text(text)
    run = lrisk(tmp_path, "fit", "t.csv", "--target", "y", "--engine", "stream")
    assert run.returncode == 3
    assert sentence in run.stderr
    assert "Traceback" not in run.stderr
