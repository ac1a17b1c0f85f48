"""The program, run in a scratch folder."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

PROGRAM = [sys.executable, "-m", "lrisk_cli"]


def lrisk(folder: Path, *arguments: str, **settings) -> subprocess.CompletedProcess[str]:
    """Run `lrisk ARGUMENTS` in the folder."""
    settings = {"capture_output": True, "text": True, "cwd": folder, "timeout": 60} | settings
    return subprocess.run([*PROGRAM, *arguments], **settings)


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


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))
