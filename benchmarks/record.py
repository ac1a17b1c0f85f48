"""Time kernels beside their peers, and keep the figures with the machine and the commit."""

import datetime
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
Row = Mapping[str, object]


def compare(
    runs: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median seconds of each run. They take turns, so that a busy moment meets them all."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            seconds[name].append(clock() - start)
    return {name: float(np.median(times)) for name, times in seconds.items()}


def cpu_model() -> str:
    """The processor's own name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def git(*arguments: str) -> str:
    """What a git command answers in this repository; nothing where it cannot."""
    command = ["git", "-C", str(HERE), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def spell(value: object) -> str:
    """A cell of the printed table: figures to three digits, no for False, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "NO"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def print_table(rows: Sequence[Row]) -> None:
    """Rows of the same keys, one line each: text to the left, figures to the right."""
    names = list(rows[0])
    cells = [names, *([spell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    left = [isinstance(rows[0][name], str) for name in names]
    for line in cells:
        padded = (
            cell.ljust(width) if is_text else cell.rjust(width)
            for cell, width, is_text in zip(line, widths, left, strict=True)
        )
        print("  ".join(padded).rstrip())


def record(name: str, rows: Sequence[Row], command: str = "") -> None:
    """Print rows, and keep them in results/<name>.json. No host names and no paths go there.

    command: what repeats them, where it is not one of `make bench`.
    """
    print_table(rows)
    commit = git("describe", "--always", "--dirty", "--exclude=*") or None
    document = {
        "benchmark": name,
        "command": command or f"make bench, or python benchmarks/bench_{name}.py",
        "date": datetime.date.today().isoformat(),
        "commit": commit,
        "machine": {
            "processor": cpu_model(),
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "numpy": np.__version__,
        },
        "rows": list(rows),
    }
    results = HERE / "results"
    results.mkdir(exist_ok=True)
    (results / f"{name}.json").write_text(json.dumps(document, indent=2) + "\n", "utf-8")
