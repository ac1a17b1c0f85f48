"""Streams that are closed, full or left by their reader change neither exit codes nor files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.house_prices import add_house_files

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
