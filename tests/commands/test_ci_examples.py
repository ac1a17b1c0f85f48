"""The cron, pre-commit, GitHub and GitLab examples of docs/ci.md, run in a shell."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from helpers.program import lrisk

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/ci.md").read_text("utf-8")
SAMPLE = ROOT / "sample_data/contaminated.csv"
FIT = ["--target", "heating_kwh_day", "--exclude", "id,planted", "--risk", "subquantile:0.9"]


def block(heading: str) -> str:
    """The first block of code below a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.search(r"```\w+\n(.*?)```", section, flags=re.DOTALL).group(1)


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """In a shell that stops at the first failure, as CI does."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: value for key, value in os.environ.items() if not key.startswith("LRISK_")}
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**kept, "PATH": programs, "PYTHONPATH": str(ROOT), **variables},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A model of the sample and its figures, made once."""
    folder = tmp_path_factory.mktemp("made")
    fit = lrisk(folder, "fit", str(SAMPLE), *FIT, "-o", "model.json")
    assert fit.returncode == 0, fit.stderr
    evaluated = lrisk(folder, "evaluate", "model.json", str(SAMPLE), "--json")
    (folder / "good.json").write_text(evaluated.stdout)
    return folder


@pytest.fixture
def folder(made, tmp_path) -> Path:
    """A repository as the examples have it."""
    for path in made.iterdir():
        shutil.copy(path, tmp_path)
    (tmp_path / "data").mkdir()
    shutil.copy(SAMPLE, tmp_path / "data/houses.csv")
    return tmp_path


def write_right_rows(path: Path) -> None:
    """The rows of the sample without a planted error: not exactly those that were learned from."""
    header, *rows = SAMPLE.read_text().splitlines()
    at = header.split(",").index("planted")
    right = [row for row in rows if row.split(",")[at] in ("0", "")]
    assert 500 < len(right) < len(rows)
    path.write_text("\n".join([header, *right]) + "\n")


def spoil(path: Path) -> None:
    """Every second target times ten."""
    lines = path.read_text().splitlines()
    at = lines[0].split(",").index("heating_kwh_day")
    for k in range(1, len(lines), 2):
        cells = lines[k].split(",")
        cells[at] = str(10.0 * float(cells[at]))
        lines[k] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")


def test_cron_is_silent_until_something_is_wrong(folder):
    line = block("Cron").strip()
    assert "%" not in line, "cron takes a percent sign for the end of the line"
    command = line.split(maxsplit=5)[5].replace("/srv/heating", str(folder))
    write_right_rows(folder / "today.csv")
    quiet = run(command, folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    spoil(folder / "today.csv")
    assert "FAILED" in run(command, folder).stdout


def test_pre_commit_runs_the_entry_on_the_files_it_names(folder):
    text = block("pre-commit")
    entry = re.search(r"entry: (.*)", text).group(1)
    pattern = re.search(r"files: (.*)", text).group(1)
    assert re.search(pattern, "data/houses.csv")
    # Without a shell, as pre-commit does.
    arguments = [*entry.split()[1:], "data/houses.csv"]
    assert lrisk(folder, *arguments).returncode == 0
    assert lrisk(folder, *arguments[:-2], "outlier_fraction>0.01", arguments[-1]).returncode == 1


def github_scripts() -> list[str]:
    """The `run: |` blocks of the workflow."""
    found = re.findall(r"^ *run: \|\n((?: {10}.*\n)+)", block("GitHub Actions"), re.MULTILINE)
    return [textwrap.dedent(text) for text in found]


def test_the_workflow_passes_good_data_and_annotates_bad(folder):
    evaluate, detect = github_scripts()
    summary = folder / "summary.md"
    for script in (evaluate, detect):
        good = run(script, folder, GITHUB_STEP_SUMMARY=str(summary))
        assert good.returncode == 0, good.stderr
        assert "::error" not in good.stderr
        assert "::notice file=data/houses.csv," in good.stderr
    assert summary.read_text().count("### lrisk") == 2
    (folder / "gates.xml").unlink()
    spoil(folder / "data/houses.csv")
    bad = run(evaluate, folder)
    assert bad.returncode == 1
    assert "::error file=data/houses.csv," in bad.stderr


def test_the_gitlab_job_leaves_the_reports_that_it_names(folder):
    text = block("GitLab")
    script = re.findall(r"^ {4}- (.*)$", text, re.MULTILINE)
    assert script[0].startswith("pip install")
    result = run("\n".join(script[1:]), folder)
    assert result.returncode == 0, result.stderr
    for name in re.search(r"junit: \[(.*)\]", text).group(1).split(", "):
        assert ET.parse(folder / name).getroot().tag == "testsuites"


def test_the_settings_shown_are_known(folder):
    (folder / "lrisk.toml").write_text(block("Settings"))
    result = run("lrisk config evaluate --json", folder)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)["options"]["evaluate"]
    assert told["missing"] == {"value": "drop", "from": "lrisk.toml [evaluate]"}
    assert len(told["fail-on"]["value"]) == 2
