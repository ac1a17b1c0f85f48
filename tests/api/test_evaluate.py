"""Evaluation as a call: what it returns, and what it keeps in memory."""

from functools import partial

import pytest

from helpers.house_prices import N_ROWS, add_house_files
from lrisk_cli.api import evaluate
from lrisk_cli.cli import run
from lrisk_cli.errors import DataError
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.progress import silent
from lrisk_cli.tables.inputs import make_inputs
from lrisk_cli.tables.table import open_table


def job(folder, limit=None, losses=None) -> evaluate.Job:
    return evaluate.Job(
        model=str(folder / "price.json"),
        data=make_inputs([str(folder / "houses.csv")], None, ".", None, limit),
        risks=(),
        make_checks=lambda _: Checks("evaluate", (), None, None, False),
        losses=None if losses is None else str(folder / losses),
        id_column=None,
        seed=None,
        label=None,
        inliers=(),
        page=None,
        missing=None,
        unseen=None,
    )


def test_a_call_returns_what_the_command_prints(tmp_path):
    folder = add_house_files(tmp_path)
    found = evaluate.run(job(folder), silent, force=False)
    assert isinstance(found, evaluate.Evaluation)
    assert found.counts.used == N_ROWS
    assert {"mean", "max", "rmse"} <= set(found.figures)
    assert found.paths == (str(folder / "houses.csv"),)


def test_the_memory_limit_counts_what_is_kept_of_the_rows(tmp_path, monkeypatch):
    folder = add_house_files(tmp_path)
    monkeypatch.setattr(evaluate, "open_table", partial(open_table, batch_rows=5))
    # A batch of 5 rows and 5 columns fits, and the losses of all rows, but not their file.
    limit = f"{5 * 5 * 8 + N_ROWS * 8}B"
    evaluate.run(job(folder, limit), silent, force=False)
    with pytest.raises(DataError, match="kept of the rows before it"):
        evaluate.run(job(folder, limit, "losses.csv"), silent, force=False)
    assert not (folder / "losses.csv").exists()


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_a_model_judges_the_table_that_it_was_fitted_to(tmp_path, monkeypatch, capsys, missing):
    """Categories that only dropped rows have were never learned, and are not missed."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k},{'ab'[k % 2]},{k % 5}" for k in range(40)]
    rows[7] = "7,only here,"
    if missing == "drop":
        rows[9] = ",here too,3"
    (tmp_path / "t.csv").write_text("\n".join(["x,color,y", *rows, ""]))
    flags = ["--missing", missing, "--quiet"]
    assert run(["fit", "t.csv", "--target", "y", *flags, "-o", "m.json"]) == 0
    commands = [
        ["evaluate", "m.json", "t.csv", "--quiet"],
        ["detect-outliers", "t.csv", "--model", "m.json", "--quiet"],
        ["fit", "t.csv", "--target", "y", "--test", "t.csv", *flags],
    ]
    for command in commands:
        assert run(command) == 0, capsys.readouterr().err
    (tmp_path / "new.csv").write_text("x,color,y\n1,only here,2\n")
    assert run(["evaluate", "m.json", "new.csv"]) == 3
