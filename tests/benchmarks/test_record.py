"""Results are recorded from a clean tree only, and refused before anything is measured."""

import argparse
import json
import subprocess

import pytest

from benchmarks.common import record
from benchmarks.common.record import make_parser, start

ROWS = [
    {"what": "sort", "ratio": 0.5, "reached": True},
    {"what": "x", "ratio": 2.0, "reached": False},
]
OPTIONS = argparse.Namespace(no_record=False, quick=False)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository with one commit, which `record` takes for its own."""

    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True
        )

    git("init", "-q")
    (tmp_path / "code.py").write_text("x = 1\n")
    git("add", ".")
    git("commit", "-qm", "first")
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "RESULTS", tmp_path / "benchmarks" / "results")
    return tmp_path


def read_result(repository, name):
    return json.loads((repository / "benchmarks" / "results" / f"{name}.json").read_text())


def test_a_clean_tree_records_commit_and_machine_but_no_path(repository, capsys):
    start("speed/a", OPTIONS).finish(ROWS)
    result = read_result(repository, "speed/a")
    head = ["git", "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(head, cwd=repository, capture_output=True, text=True).stdout.strip()
    assert result["commit"] == commit
    assert result["rows"] == ROWS
    assert result["command"] == "python -m benchmarks.speed.a"
    assert str(repository) not in json.dumps(result)
    assert "1 of 2 bounds hold" in capsys.readouterr().out


def test_results_of_one_benchmark_do_not_stop_the_next(repository):
    start("speed/a", OPTIONS).finish(ROWS)
    start("speed/b", OPTIONS).finish(ROWS)
    assert read_result(repository, "speed/b")["rows"] == ROWS


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_a_changed_or_new_file_is_refused_before_measuring(repository, name):
    (repository / name).write_text("x = 2\n")
    with pytest.raises(SystemExit, match=rf"uncommitted changes in {name}: .* pass --no-record"):
        start("speed/a", OPTIONS)


@pytest.mark.parametrize(
    ("options", "whole"),
    [
        (argparse.Namespace(no_record=True), True),
        (argparse.Namespace(no_record=False, quick=True), True),
        (OPTIONS, False),
    ],
)
def test_a_run_that_only_looks_prints_and_records_nothing(repository, capsys, options, whole):
    (repository / "code.py").write_text("x = 2\n")
    benchmark = start("speed/a", options, whole=whole)
    assert not benchmark.recorded
    benchmark.finish(ROWS)
    assert "sort" in capsys.readouterr().out
    assert not (repository / "benchmarks").exists()


def test_a_tree_that_changes_while_measuring_is_not_recorded(repository):
    benchmark = start("speed/a", OPTIONS)
    (repository / "code.py").write_text("x = 2\n")
    with pytest.raises(SystemExit, match=r"uncommitted changes in code\.py"):
        benchmark.finish(ROWS)
    assert not (repository / "benchmarks").exists()


def test_without_a_repository_there_is_no_commit_to_record(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"no commit to record: .*; pass --no-record"):
        start("speed/a", OPTIONS)


def test_every_benchmark_can_be_told_to_record_nothing():
    options = make_parser("What?", "less").parse_args(["--no-record", "--quick"])
    assert options.no_record
    assert options.quick
    assert not hasattr(make_parser("What?").parse_args([]), "quick")
