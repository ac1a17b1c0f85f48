"""The progress bar: on a terminal, after a moment, on standard error, and gone in the end."""

import os
import pty
import re
import subprocess
from pathlib import Path

import pytest

from helpers.house_prices import add_house_files
from helpers.problems import small_problem
from helpers.program import PROGRAM
from lrisk_cli.progress import Progress
from lrisk_cli.reports.progress import describe
from lrisk_cli.solvers.solution import Limits, SolverRun

# It goes on until its time is up, with a stage that tells how far it is.
LONG = ["fit", "houses.csv", "--target", "price", "--exclude", "house", "--solver", "sgd"]
LONG += ["--tol", "0", "--max-passes", "1e9", "--time-limit", "2.5"]
CLEAR_LINE = "\x1b[2K"


def on_terminal(folder: Path, *arguments: str) -> tuple[str, str]:
    """Standard output through a pipe, and what a terminal got on standard error."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(
        [*PROGRAM, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs
    ) as program:
        os.close(theirs)
        shown = b""
        # The terminal of a program that has ended cannot be read.
        while chunk := read_some(ours):
            shown += chunk
        printed = program.stdout.read().decode()
        assert program.wait(30) == 0, shown
    os.close(ours)
    return printed, shown.decode()


def read_some(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


def test_a_long_fit_draws_how_far_it_is_and_wipes_it_out(tmp_path):
    printed, shown = on_terminal(add_house_files(tmp_path), *LONG)
    drawn = re.findall(r"solve [^\n]*?([\d,.]+) passes \(", shown)
    passes = [float(count.replace(",", "")) for count in drawn]
    assert len(passes) >= 2
    assert passes == sorted(passes)
    assert passes[-1] > passes[0]
    # What is wiped out last is not followed by another bar.
    assert "solve" not in shown[shown.rindex(CLEAR_LINE) :]
    assert printed.startswith("result ")
    assert "\x1b" not in printed


@pytest.mark.parametrize("flag", ["--no-progress", "--quiet"])
def test_no_bar_is_drawn_where_none_is_wanted(tmp_path, flag):
    printed, shown = on_terminal(add_house_files(tmp_path), *LONG, flag)
    assert printed.startswith("result ")
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == (flag != "--quiet")


def test_half_of_the_bar_is_the_root_of_the_tolerance():
    told: list[Progress] = []
    run = SolverRun(small_problem(risk="mean"), Limits(tol=1e-6), told.append)
    run.begin(1.0, 1.0)
    run.note(1.0)
    run.offer(run.W, 0.5, 0.5)
    for gap in (1e-3, 1e-6, 1e-9):
        run.bound = 0.5 - 0.5 * gap
        run.note(0.5)
    assert told[0].fraction is None
    assert [event.fraction for event in told[1:]] == pytest.approx([0.5, 1.0, 1.0])
    assert describe(told[1]) == "solve 0 passes (gap 1.0e-03, tol=1e-06)"
    assert describe(told[0]) == "solve 0 passes (objective 1)"


def test_a_bar_without_a_tolerance_to_reach_has_no_end():
    told: list[Progress] = []
    run = SolverRun(small_problem(risk="mean"), Limits(tol=0.0), told.append)
    run.begin(1.0, 1.0)
    run.bound = 0.5
    run.note(1.0)
    assert (told[0].fraction, told[0].total) == (None, None)
