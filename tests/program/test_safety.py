"""Kills, signals, full disks, closed pipes and hostile names: nothing is torn, lost or littered."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from helpers.house_prices import add_house_files, house_columns
from helpers.program import PROGRAM, lrisk, read_csv, started, unmeasured, write_csv

ROOT = Path(__file__).parents[2]
# The ways in which a command writes: text, Parquet, JSON, a table in parts.
WRITERS = [
    ["evaluate", "price.json", "houses.csv", "--losses", "{place}/out.csv"],
    ["evaluate", "price.json", "houses.csv", "--losses", "{place}/out.parquet"],
    ["fit", "houses.csv", "--target", "price", "--exclude", "house", "-o", "{place}/out.json"],
    ["fit", "houses.csv", "--target", "price", "--losses", "{place}/out.csv"],
    ["detect-outliers", "houses.csv", "--model", "price.json", "-o", "{place}/out.csv"],
    ["detect-outliers", "houses.csv", "--model", "price.json", "-o", "{place}/out.parquet"],
]


def at(place: str, arguments: list[str]) -> list[str]:
    return [word.replace("{place}", place) for word in arguments]


def snapshot(folder: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_kill_tears_or_loses_a_file():
    """`make torture` kills twenty times as often."""
    script = [sys.executable, ROOT / "tests/torture.py", "--kills", "25", "--seed", "1"]
    environment = {**unmeasured(), "PYTHONPATH": str(ROOT)}
    run = subprocess.run(script, capture_output=True, text=True, env=environment, timeout=120)
    assert run.returncode == 0, run.stderr
    n_killed, n_writing = map(int, re.search(r"(\d+) killed, (\d+) in", run.stdout).groups())
    assert n_killed >= 15
    assert n_writing >= 5


# Disks


def limit_files() -> None:
    """No file may grow beyond 2 KB."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))


@pytest.mark.parametrize("arguments", WRITERS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_file_that_cannot_grow_leaves_the_old_one_and_no_debris(tmp_path, arguments):
    folder = add_house_files(tmp_path)
    (folder / "place").mkdir()
    arguments = at("place", arguments)
    (folder / arguments[-1]).write_bytes(b"precious")
    before = snapshot(folder)
    flags = ["--force", "--quiet"]
    run = lrisk(folder, *arguments, *flags, preexec_fn=limit_files, env=unmeasured())
    assert run.returncode == 2, run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith(f"lrisk: error: {arguments[-1]}: cannot be")
    assert "File too large" in line
    assert snapshot(folder) == before


@pytest.fixture
def small_disk(tmp_path) -> Path:
    """A file system of 8 KB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("NO RIGHT TO MOUNT A SMALL DISK")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("arguments", WRITERS, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_full_disk_leaves_the_old_file_and_no_debris(tmp_path, small_disk, arguments):
    folder = add_house_files(tmp_path)
    (small_disk / "filler").write_bytes(b"x" * 4000)
    arguments = at("small", arguments)
    (folder / arguments[-1]).write_bytes(b"precious")
    before = snapshot(folder)
    run = lrisk(folder, *arguments, "--force", "--quiet")
    assert run.returncode == 2, run.stderr
    (line,) = run.stderr.splitlines()
    assert "No space left on device" in line
    assert snapshot(folder) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "price.json", "houses.csv"],
        ["evaluate", "price.json", "houses.csv", "--json"],
        ["show", "price.json"],
        ["schema"],
        ["config"],
        ["man"],
    ],
    ids=lambda words: words[0],
)
def test_a_full_standard_output_is_an_error(tmp_path, arguments):
    folder = add_house_files(tmp_path)
    with open("/dev/full", "wb") as full:
        run = lrisk(folder, *arguments, capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert run.returncode == 2
    assert run.stderr.splitlines()[-1].startswith("lrisk: error: ")
    assert "No space left on device" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_device_that_is_full_is_an_error(tmp_path):
    run = lrisk(
        add_house_files(tmp_path), "fit", "houses.csv", "--target", "price", "-o", "/dev/full"
    )
    assert run.returncode == 2
    assert "/dev/full: cannot be written (No space left on device)" in run.stderr


def test_a_folder_that_may_not_be_written_is_refused_before_any_work(tmp_path):
    folder = add_house_files(tmp_path)
    # Nobody, not even a super-user, creates files among the processes.
    for arguments in WRITERS:
        run = lrisk(folder, *at("/proc", arguments), "--quiet")
        assert run.returncode == 2, run.stderr
        assert f"{at('/proc', arguments)[-1]}: " in run.stderr
        assert "writ" in run.stderr


# Pipes and signals


@pytest.mark.parametrize(
    "arguments", [["predict", "price.json", "long.csv"], ["show", "price.json"]], ids=" ".join
)
def test_a_reader_that_leaves_early_is_no_error(tmp_path, arguments):
    folder = add_house_files(tmp_path)
    write_csv(folder / "long.csv", {k: np.tile(v, 30) for k, v in house_columns().items()})
    with subprocess.Popen(
        [*PROGRAM, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        program.stdout.close()
        said = program.stderr.read().decode()
        assert program.wait(20) == 0
    assert "Traceback" not in said
    assert "Broken pipe" not in said


SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


def temporary_files(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".lrisk-")]


@pytest.fixture(scope="module")
def long_table(tmp_path_factory) -> Path:
    """Enough rows that a file of them takes a while to write."""
    path = tmp_path_factory.mktemp("long") / "long.csv"
    columns = {name: np.tile(column, 400) for name, column in house_columns().items()}
    pyarrow.csv.write_csv(pa.table(columns), path)
    return path


@pytest.mark.parametrize(("number", "code"), SIGNALS)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_signal_while_a_file_is_written_leaves_the_old_one(
    tmp_path, long_table, number, code, suffix
):
    folder = add_house_files(tmp_path)
    output = folder / f"out{suffix}"
    output.write_bytes(b"precious")
    arguments = ["detect-outliers", str(long_table), "--model", "price.json", "-o", output.name]
    command = [*PROGRAM, *arguments, "--force"]
    with started(command, folder, stdout=subprocess.DEVNULL) as program:
        while not temporary_files(folder):
            assert program.poll() is None, "it ended before the file was seen in the making"
            time.sleep(0.001)
        program.send_signal(number)
        sent = time.monotonic()
        assert program.wait(20) == code
        assert time.monotonic() - sent < 2.0
        assert "Traceback" not in program.stderr.read().decode()
    assert output.read_bytes() == b"precious"
    assert temporary_files(folder) == []


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_signal_at_any_moment_ends_the_program_without_a_traceback(tmp_path, number, code):
    """Death by the signal itself, while the program loads, is the same code to a shell."""
    folder = add_house_files(tmp_path)
    before = snapshot(folder)
    # Only the interpreter's own start is left out, which answers an interruption in its own way.
    ready = "import sys; sys.argv = ['lrisk', *sys.argv[1:]]; print(flush=True)\n"
    program = [sys.executable, "-c", f"{ready}from lrisk_cli.__main__ import main; main()"]
    arguments = ["fit", "houses.csv", "--target", "price", "--exclude", "house", "-o", "out.json"]
    arguments += ["--tol", "0", "--max-passes", "1e12", "--solver", "sgd"]
    for k in range(8):
        with started([*program, *arguments], folder) as process:
            process.stdout.readline()
            time.sleep(0.02 + 0.1 * k)
            process.send_signal(number)
            sent = time.monotonic()
            assert process.wait(20) in (code, -number)
            assert time.monotonic() - sent < 2.0
            assert b"Traceback" not in process.stderr.read()
    assert snapshot(folder) == before


def test_a_signal_that_a_destructor_swallows_ends_the_program_all_the_same():
    script = (
        "import os, signal, time\n"
        "from lrisk_cli import cli\n"
        "class Last:\n"
        "    def __del__(self): os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.05)\n"
        "def endless(arguments):\n"
        "    Last()\n"
        "    until = time.monotonic() + 60.0\n"
        "    while time.monotonic() < until: pass\n"
        "cli._run_command = endless\n"
        "raise SystemExit(cli.run(['fit']))\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT)
    assert (run.returncode, run.stdout) == (143, "")
    assert run.stderr == "lrisk: terminated before the work began\n"


def test_interruptions_that_the_caller_ignores_stay_ignored():
    check = (
        "import signal; from lrisk_cli import cli; cli.main = lambda: cli.run(['--version']);"
        "from lrisk_cli.__main__ import main; main();"
        "print(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)"
    )
    for handler in (signal.SIG_IGN, signal.SIG_DFL):
        run = subprocess.run(
            [sys.executable, "-c", check], capture_output=True, text=True, cwd=ROOT,
            preexec_fn=lambda handler=handler: signal.signal(signal.SIGINT, handler),
        )  # fmt: skip
        assert run.stdout.splitlines()[-1] == str(handler is signal.SIG_IGN), run.stderr


# Hostile data and code that could obey it


def test_formulas_are_defused_on_demand(tmp_path):
    folder = add_house_files(tmp_path)
    columns = house_columns()
    columns["house"] = np.array([f"=cmd|' /C calc'!A{k}" for k in range(len(columns["house"]))])
    write_csv(folder / "evil.csv", columns)
    for command, flag in (("predict", "-o"), ("evaluate", "--losses")):
        arguments = [command, "price.json", "evil.csv", "--id", "house", flag]
        assert lrisk(folder, *arguments, f"{command}.csv", "--spreadsheet-safe").returncode == 0
        rows = read_csv((folder / f"{command}.csv").read_text("utf-8-sig"))
        assert {row["id"][:5] for row in rows} == {"'=cmd"}
        assert min(float(row["row"]) for row in rows) == 0
        assert lrisk(folder, *arguments, f"plain-{command}.csv").returncode == 0
        rows = read_csv((folder / f"plain-{command}.csv").read_text())
        assert {row["id"][:4] for row in rows} == {"=cmd"}


def test_no_file_is_named_by_the_data(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    add_house_files(folder)
    columns = house_columns()
    for name in ("house", "color", "kind"):
        columns[name] = np.array([f"../{value}" for value in columns[name]])
    columns["../up"] = columns.pop("rooms")
    write_csv(folder / "evil.csv", columns)
    before = set(tmp_path.rglob("*"))
    flags = ["--id", "house", "--quiet"]
    for arguments in (
        ["fit", "evil.csv", "--target", "kind", "-o", "a.json", "--losses", "a.csv", *flags],
        ["fit", "evil.csv", "--target", "../up", "-o", "d.json", "--html", "d.html", *flags],
        ["predict", "a.json", "evil.csv", "-o", "e.csv", *flags],
        ["evaluate", "a.json", "evil.csv", "--losses", "f.parquet", "--junit", "f.xml", *flags,
         "--fail-on", "mean>1e9"],
        ["cluster", "evil.csv", "-k", "2", "--label", "kind", "--assignments", "g.csv", *flags],
        ["detect-outliers", "evil.csv", "--target", "price", "-o", "b.csv", *flags],
        ["quantile-report", "evil.csv", "--target", "price", "--by", "color", "-o", "c.csv"],
    ):  # fmt: skip
        run = lrisk(folder, *arguments)
        assert run.returncode == 0, run.stderr
    made = {path.relative_to(folder).as_posix() for path in set(tmp_path.rglob("*")) - before}
    expected = "a.json a.csv b.csv c.csv d.json d.html e.csv f.parquet f.xml g.csv"
    assert made == set(expected.split())


def test_a_model_cannot_name_code(tmp_path):
    folder = add_house_files(tmp_path)
    contents = json.loads((folder / "price.json").read_text())
    contents["feature_map"] = {"kernel": "os.system", "landmarks": [["touch owned"]]}
    (folder / "evil.json").write_text(json.dumps(contents))
    assert lrisk(folder, "predict", "evil.json", "houses.csv").returncode == 4
    assert not (folder / "owned").exists()
