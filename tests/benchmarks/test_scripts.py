"""Every benchmark starts, says what it asks, and is listed in benchmarks/README.md."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import choose
from benchmarks.common.scripts import ON_DEMAND, QUICK, find_scripts

ROOT = Path(__file__).parents[2]
SCRIPTS = find_scripts()
RESULTS = sorted((ROOT / "benchmarks" / "results").rglob("*.json"))


def readme_rows() -> list[list[str]]:
    """The cells of the README's table of scripts, without its head."""
    text = (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if re.match(r"\| `(speed|memory|reliability|papers)/", line)
    ]
    return [[cells[0].strip("`"), *cells[1:]] for cells in rows]


def test_the_readme_lists_exactly_the_scripts_in_their_own_words():
    shown = [(name, question, bound, data) for name, question, bound, _, _, data in readme_rows()]
    expected = [(each.name, each.question, each.bound, each.data) for each in SCRIPTS]
    assert shown == expected


def test_the_readme_marks_the_quick_scripts():
    marked = [name for name, _, _, _, quick, _ in readme_rows() if quick]
    assert sorted(marked) == sorted(QUICK)


def test_the_readme_gives_every_script_its_minutes():
    for name, _, _, minutes, quick, _ in readme_rows():
        assert re.fullmatch(r"~?\d+", minutes), name
        assert re.fullmatch(r"(\d+ s)?", quick), name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_asks_a_question_and_states_bound_and_data(script):
    assert script.question.endswith("?")
    assert script.bound.endswith(".")
    assert script.data.endswith(".")


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_imports_and_starts(script, monkeypatch, capsys):
    # Some set it when they are imported; undone at the end of the test.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    name = script.module
    if (ROOT / "benchmarks" / script.name / "__main__.py").is_file():
        name += ".__main__"
    module = importlib.import_module(name)
    monkeypatch.setattr(sys, "argv", [script.name, "--help"])
    with pytest.raises(SystemExit) as end:
        module.main()
    assert end.value.code == 0
    help_text = capsys.readouterr().out
    assert "--no-record" in help_text
    assert ("--quick" in help_text) or script.name not in QUICK


def test_all_scripts_run_by_default_except_those_that_need_arguments():
    names = {script.name for script in SCRIPTS}
    assert {each.name for each in choose(SCRIPTS, [], quick=False)} == names - set(ON_DEMAND)


def test_groups_and_scripts_can_be_chosen_by_name():
    chosen = [each.name for each in choose(SCRIPTS, ["memory", "speed/sort"], quick=False)]
    memory = [each.name for each in SCRIPTS if each.name.startswith("memory/")]
    assert chosen == ["speed/sort", *memory]
    with pytest.raises(SystemExit, match="no benchmark is called nonsense"):
        choose(SCRIPTS, ["nonsense"], quick=False)


def test_a_script_runs_as_a_module():
    command = [sys.executable, "-m", "benchmarks.speed.sort", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "numpy.argsort" in done.stdout


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recorded_result_belongs_to_a_script_and_names_no_machine_path(path):
    result = json.loads(path.read_text("utf-8"))
    assert result["benchmark"] in {script.name for script in SCRIPTS}
    assert result["benchmark"] == f"{path.parent.name}/{path.stem}"
    assert set(result["machine"]) == {"processor", "cores", "python", "numpy"}
    assert not re.search(r'["\s](/|~/|[A-Z]:\\)\w', path.read_text("utf-8"))
