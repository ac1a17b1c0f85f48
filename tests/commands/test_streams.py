"""Streams that are closed, full or left by their reader change neither exit codes nor files.

What is printed gives no command to a CI runner.
"""

import csv
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.house_prices import add_house_files
from lrisk_cli.cli import run
from lrisk_cli.commands.streams import secure_streams

LRISK = f"{sys.executable} -m lrisk_cli"
EVALUATE = f"{LRISK} evaluate price.json houses.csv"
FAILS = "--fail-on 'rmse>0'"
FULL = Path("/dev/full")


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """The script in a shell whose own streams are open."""
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (f"{LRISK} predict price.json houses.csv", 0),
        (f"{EVALUATE} --json", 0),
        (f"{EVALUATE} {FAILS}", 1),
        (f"{LRISK} --help", 0),
        (f"{LRISK} predict price.json absent.csv", 3),
    ],
)
def test_a_closed_stream_does_not_change_the_exit_code(tmp_path, closed, command, code):
    folder = add_house_files(tmp_path)
    assert shell(folder, f"{command} {closed}").returncode == code


def test_files_do_not_get_what_belongs_to_closed_streams(tmp_path):
    """The first file that is opened would have the number of the stream."""
    folder = add_house_files(tmp_path)
    command = f"{LRISK} predict price.json houses.csv -o"
    assert shell(folder, f"{command} open.csv").returncode == 0
    assert shell(folder, f"{command} closed.csv <&- >&- 2>&-").returncode == 0
    assert (folder / "closed.csv").read_bytes() == (folder / "open.csv").read_bytes()


@pytest.mark.skipif(not FULL.exists(), reason="the system has no device that is full")
def test_talk_that_finds_no_room_is_lost_and_results_that_find_none_are_an_error(tmp_path):
    folder = add_house_files(tmp_path)
    assert shell(folder, f"{EVALUATE} {FAILS} 2>/dev/full").returncode == 1
    assert shell(folder, f"{LRISK} predict price.json absent.csv 2>/dev/full").returncode == 3
    full = shell(folder, f"{EVALUATE} --quiet >/dev/full")
    assert full.returncode == 2
    assert full.stderr.startswith("lrisk: error: standard output: No space left")


def test_a_reader_that_leaves_hides_no_failed_gate_and_stops_no_file(tmp_path):
    folder = add_house_files(tmp_path)
    left = "2> >(true) > >(true); code=$?; wait; exit $code"
    run = shell(folder, f"{EVALUATE} {FAILS} --junit gates.xml --github {left}")
    assert run.returncode == 1
    assert (folder / "gates.xml").exists()
    run = shell(folder, f"set -o pipefail; {LRISK} predict price.json houses.csv | head -1")
    assert run.returncode == 0
    assert run.stdout.startswith("row,")


def test_letters_that_a_terminal_lacks_are_spelled_out(tmp_path):
    folder = add_house_files(tmp_path)
    table = (folder / "houses.csv").read_text("utf-8").replace("area", "fläche", 1)
    (folder / "houses.csv").write_text(table, "utf-8")
    script = f"{LRISK} fit houses.csv --target price --quiet --exclude house,sold -o m.json"
    assert shell(folder, script).returncode == 0
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = subprocess.run(
        [sys.executable, "-m", "lrisk_cli", "show", "m.json"],
        cwd=folder, env=environment, capture_output=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert b"fl\\xe4che" in run.stdout


# Lines that a CI runner takes for commands

STOP = "::stop-commands::x"
SET = "##vso[task.setvariable variable=PATH]x"
ERROR = "##[error]x"
NAMES = [STOP, f"  {STOP}", SET, ERROR, "##teamcity[x]", "a\n::error::x", "\x1b[31m::x", "####[x]"]
# Where actions/runner and azure-pipelines-agent find commands: after spaces, and anywhere.
COMMAND = re.compile(r"^\s*::|##\w*\[", re.MULTILINE)
HOSTILE = {
    "fit": ("fit", "t.csv", "--target", "y"),
    "fit by risks": ("fit", "t.csv", "--target", "y", "--risk", "mean", "--risk", "esrm:1"),
    "fit --dry-run": ("fit", "t.csv", "--target", "y", "--dry-run"),
    "fit to a path": ("fit", "t.csv", "--target", "y", "-o", "::x\n::y\x1b##[z].json", "--force"),
    "fit of a target": ("fit", "t.csv", "--target", STOP),
    "show": ("show", "m.json"),
    "show clusters": ("show", "c.json"),
    "cluster": ("cluster", "t.csv", "--clusters", "2", "--exclude", "group,y"),
    "evaluate": ("evaluate", "m.json", "t.csv"),
    "evaluate clusters": ("evaluate", "c.json", "t.csv", "--label", "group"),
    "quantiles": ("quantile-report", "t.csv", "--model", "m.json", "--baseline", "::n.json",
                  "--by", "group"),
    "outliers": ("detect-outliers", "t.csv", "--model", "m.json", "--id", "id", "--top", "9"),
    "compare": ("compare", "t.csv", "--target", "y", "--rival", "none", "--risk", "mean"),
    "predict": ("predict", "m.json", "t.csv", "-o", "::x\n::y\x1b##[z].csv", "--force"),
    "settings": ("config", "fit", "--config", "::x\n##[y].toml"),
}  # fmt: skip
REFUSED = [
    (3, ["fit", "t.csv", "--target", f"{ERROR}\n{STOP}", "--verbose"]),
    (3, ["fit", f"{ERROR}\n{STOP}", "--target", "y", "--verbose"]),
    (2, ["fit", "t.csv", f"--{ERROR}\n{STOP}"]),
    (2, [f"{STOP}\n{SET}"]),
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Path:
    """Names of columns, groups and rows that mean something to a runner; models of them."""
    folder, rng = tmp_path_factory.mktemp("hostile"), np.random.default_rng(0)
    columns = {name: rng.standard_normal(60) for name in (*NAMES, "y")}
    groups = [NAMES[k % len(NAMES)] for k in range(60)]
    with open(folder / "t.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "group", *columns])
        cells = zip(groups, groups, *(each.tolist() for each in columns.values()), strict=True)
        out.writerows(cells)
    (folder / "::x\n##[y].toml").write_text("[fit]\ntarget = '##[error]'\n")
    table = str(folder / "t.csv")
    for name in ("m.json", "::n.json"):
        place = str(folder / name)
        assert run(["fit", table, "--target", "y", "--exclude", "id", "-o", place]) == 0
    flags = ["--clusters", "2", "--exclude", "id,group,y", "-o", str(folder / "c.json")]
    assert run(["cluster", table, *flags]) == 0
    return folder


@pytest.fixture
def said(hostile, monkeypatch, capfd) -> Callable[..., str]:
    """What a command prints on the streams of the program."""

    def say(*arguments: str, expected: int = 0) -> str:
        for name in ("stdout", "stderr"):
            monkeypatch.setattr(sys, name, getattr(sys, name))
        secure_streams()
        code = run([*arguments])
        sys.stdout.flush()
        sys.stderr.flush()
        out, err = capfd.readouterr()
        assert code == expected, err
        return out + err

    monkeypatch.chdir(hostile)
    return say


@pytest.mark.parametrize("arguments", HOSTILE.values(), ids=HOSTILE)
def test_no_name_or_cell_gives_a_runner_a_command(said, arguments):
    text = said(*arguments)
    assert text
    assert COMMAND.findall(text) == []
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(("code", "arguments"), REFUSED)
def test_no_refusal_gives_a_runner_a_command(said, code, arguments):
    text = said(*arguments, expected=code)
    assert COMMAND.findall(text) == []
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("name", ["show", "cluster", "quantiles", "outliers", "settings"])
def test_documents_hold_the_names_and_give_a_runner_no_command(said, name):
    quiet = [] if name in ("show", "settings") else ["--quiet"]
    text = said(*HOSTILE[name], "--json", *quiet)
    assert COMMAND.findall(text) == []
    document, _ = json.JSONDecoder().raw_decode(text)
    assert ERROR.removesuffix("x") in str(document)


def test_a_name_that_means_nothing_to_a_runner_is_printed_as_it_is(capfd, monkeypatch):
    monkeypatch.setattr(sys, "stdout", sys.stdout)
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    secure_streams()
    lines = ["a::b", "# c", ": :", "x ##", "[##]", "", "  :d"]
    print("\n".join(lines))
    print("a", end="")
    print("::b", "\n", "::c")
    sys.stdout.flush()
    assert capfd.readouterr().out == "\n".join([*lines, "a::b ", " \\::c", ""])
