"""The whole process: `lrisk fit FILE.csv --target y --risk R` on 800x10 rows, beside `--risk mean`.

Processes take turns. Wall time is the median, which a busy machine raises; processor time, that of
all threads, is told beside it. Bound: at most 1.3x the time of the mean.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from record import record

RISKS = (
    "mean", "superquantile:0.5", "superquantile:0.9", "superquantile:0.99", "extremile:2",
    "esrm:1", "esrm:5",
)  # fmt: skip
BOUND = 1.3


def write_csv(path: Path, n: int, d: int) -> None:
    """Gaussian features and a linear target with heavy-tailed noise, all digits written."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_t(3, n)
    rows = np.column_stack([X, y]).tolist()
    names = [f"x{j}" for j in range(d)]
    lines = [",".join([*names, "y"]), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def run(command: Sequence[str]) -> tuple[float, float]:
    """Seconds on the clock and of the processor until a process has ended."""
    # As an installed program: its modules are compiled once.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed with status {status}")
    return seconds, usage.ru_utime + usage.ru_stime


def measure(commands: dict[str, list[str]], repeats: int) -> dict[str, np.ndarray]:
    """Both times of each command, (repeats, 2), after one run that is not counted."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for command in commands.values():
        run(command)
    for _ in range(repeats):
        for name, command in commands.items():
            times[name].append(run(command))
    return {name: np.array(found) for name, found in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repeats")
    repeats = 5 if parser.parse_args().quick else 15
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_csv(path, 800, 10)
        lrisk = [sys.executable, "-m", "lrisk_cli"]
        fit = [*lrisk, "fit", str(path), "--target", "y", "--quiet"]
        commands = {f"fit --risk {risk}": [*fit, "--risk", risk] for risk in RISKS}
        commands["fit --help"] = [*lrisk, "fit", "--help"]
        loading = "import numpy, pyarrow.compute, pyarrow.csv, typer"
        commands["python, its packages loaded"] = [sys.executable, "-c", loading]
        times = measure(commands, repeats)
    mean = times["fit --risk mean"]
    rows = []
    for name, found in times.items():
        ms, cpu_ms = 1e3 * np.median(found, axis=0)
        # Of the same round: a busy moment meets both.
        ratio, cpu_ratio = np.median(found / mean, axis=0)
        is_fit = "--risk" in name
        rows.append(
            {
                "process": name,
                "ms": float(ms),
                "cpu ms": float(cpu_ms),
                "ratio to mean": float(ratio),
                "cpu ratio": float(cpu_ratio),
                "at most": BOUND if is_fit else None,
                "reached": bool(ratio <= BOUND) if is_fit else None,
            }
        )
    record("process", rows)


if __name__ == "__main__":
    main()
