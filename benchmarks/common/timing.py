"""Measure functions and whole processes that take turns, so that a busy moment meets them all."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

LRISK = [sys.executable, "-m", "lrisk_cli"]
ONE_THREAD = MappingProxyType({f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")})


def compare(
    runs: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each run; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return {name: float(np.median(times)) for name, times in seconds.items()}


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process took: seconds on the clock and of the processor, and its peak memory."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    printed: str


def run_process(
    command: Sequence[str],
    folder: Path | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Usage:
    """Run a command to its end; end with a sentence if it fails. settings: of its environment."""
    # As an installed program: its modules are compiled once.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            command, stdout=output, stderr=messages, cwd=folder, env={**environment, **settings}
        )
        # Waiting for this one child gives its own usage, not that of all children so far.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        output.seek(0)
        messages.seek(0)
        if process.returncode:
            said = messages.read().decode(errors="replace").strip()
            raise SystemExit(f"{' '.join(command)} exited with {process.returncode}: {said}")
        printed = output.read().decode()
    return Usage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, printed)


def measure_processes(
    commands: Mapping[str, Sequence[str]], repeats: int, folder: Path | None = None
) -> dict[str, list[Usage]]:
    """The usages of each command in turns, after one run of each that is not counted."""
    for command in commands.values():
        run_process(command, folder)
    found: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            found[name].append(run_process(command, folder))
    return found
