"""Evaluation as a call: what it returns, and what it keeps in memory."""

from functools import partial

import pytest

from helpers.house_prices import N_ROWS, add_house_files
from lrisk_cli.api import evaluate
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
