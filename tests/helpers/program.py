"""The program, run in a scratch folder."""

import atexit
import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from helpers.fork_server import Ask, fork_server

PROGRAM = [sys.executable, "-m", "lrisk_cli"]
_SERVERS = ExitStack()


def lrisk(folder: Path, *arguments: str, **settings) -> subprocess.CompletedProcess[str]:
    """Run `lrisk ARGUMENTS` in the folder.

    In a process of its own where that is set up in some way, otherwise in a fork of one that has
    loaded everything, which takes a twentieth of the time.
    """
    if not settings:
        code, printed, messages = _fork(folder, arguments)
        return subprocess.CompletedProcess([*PROGRAM, *arguments], code, printed, messages)
    settings = {"capture_output": True, "text": True, "cwd": folder, "timeout": 60} | settings
    return subprocess.run([*PROGRAM, *arguments], **settings)


def _fork(folder: Path, arguments: Sequence[str]) -> tuple[int, str, str]:
    """The command in a fork, with this environment as it is now."""
    ask, started_with = _server()
    now = dict(os.environ)
    changed = {name: now.get(name) for name in now.keys() | started_with.keys()
               if now.get(name) != started_with.get(name)}  # fmt: skip
    return ask(folder, [str(each) for each in arguments], **changed)


@cache
def _server() -> tuple[Ask, dict[str, str]]:
    """One for all tests of this process, and the environment that it was started in."""
    atexit.register(_SERVERS.close)
    return _SERVERS.enter_context(fork_server(seconds=120)), dict(os.environ)


class Ran(NamedTuple):
    """What became of a command, as `subprocess` calls it."""

    returncode: int
    stdout: str
    stderr: str


def run_here(capsys: Any, *arguments: object) -> Ran:
    """`lrisk ARGUMENTS` in this process and folder: a new one takes half a second to start.

    The options of the command line hold afterwards as they did before.
    """
    from lrisk_cli.cli import run

    capsys.readouterr()
    code = run([str(each) for each in arguments])
    return Ran(code, *capsys.readouterr())


def unmeasured() -> dict[str, str]:
    """The environment, but for what has a program measure which lines it reaches.

    For a program whose own time, memory or files are the question, or that is killed.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


@contextmanager
def started(command: list[str], folder: Path, **settings) -> Iterator[subprocess.Popen]:
    """A program to send signals to, which ends at the latest with the block.

    It is not measured: a signal that finds it measuring would wait for that for ever.
    """
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **settings}
    with subprocess.Popen(command, cwd=folder, env=unmeasured(), **settings) as process:
        try:
            yield process
        finally:
            process.kill()


def document(run: subprocess.CompletedProcess[str], code: int = 0) -> dict:
    """The JSON document on standard output."""
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)


def refusal(run: subprocess.CompletedProcess[str], code: int) -> str:
    """The sentence of a command that ended with this code, and nothing else was said."""
    assert run.returncode == code, run.stderr
    assert run.stdout == ""
    (line,) = run.stderr.splitlines()
    assert line.startswith("lrisk: error: ")
    return line


def write_csv(path: Path, columns: dict[str, object]) -> None:
    pyarrow.csv.write_csv(pa.table(columns), path)


def without_places(text: str) -> list[list[str]]:
    """The cells of a result but the files and lines of its rows, which the form of a table sets."""
    rows = list(csv.reader(io.StringIO(text)))
    kept = [k for k, name in enumerate(rows[0] if rows else []) if name not in ("file", "line")]
    return [[row[k] for k in kept] for row in rows]


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))
