"""The whole program: peak memory of a fit on a million rows, and the time of `lrisk --help`.

Bounds: memory above that of a fit on a hundred rows at most 1.5x the design matrix, or the features
of a kernel, plus 100 bytes a row; `lrisk --help` at most 2.5x the time of `python -c "import
typer"`.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from record import compare, record

LRISK = [sys.executable, "-m", "lrisk_cli"]


def write_rows(path: Path, n: int, d: int) -> None:
    """Gaussian features and a linear target with heavy-tailed noise, in one row group."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_t(3, n)
    names = [f"x{j}" for j in range(d)]
    columns = {name: X[:, j] for j, name in enumerate(names)} | {"y": y}
    pq.write_table(pa.table(columns), path, row_group_size=n)


def run(command: list[str]) -> tuple[int, str]:
    """Peak memory of a process in bytes, and what it printed."""
    # Waiting for this one child tells its own peak, not that of all children so far.
    with tempfile.TemporaryFile() as printed:
        process = subprocess.Popen(command, stdout=printed, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        printed.seek(0)
        if status:
            raise SystemExit(f"{' '.join(command[2:])} failed with status {status}")
        return usage.ru_maxrss * 1024, printed.read().decode()


def memory_row(
    folder: Path, n: int, d: int, flags: list[str], rank: int | None = None
) -> dict[str, object]:
    """Memory of a fit. rank: landmarks of a kernel; the design matrix is then that of features."""
    small, large = folder / "small.parquet", folder / "large.parquet"
    for path, n_rows in ((small, 100), (large, n)):
        # A process of its own: a child's peak begins at what its parent holds.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            pool.apply(write_rows, (path, n_rows, d))
    fit = [*LRISK, "fit", "--target", "y", *flags, "--max-passes", "10", "--json"]
    base, _ = run([*fit, str(small)])
    peak, printed = run([*fit, *(["--rank", str(rank)] if rank else []), str(large)])
    seconds = json.loads(printed)["timings"]
    design = 8 * n * ((rank or d) + 1)
    allowed = 1.5 * design + 100 * n
    return {
        "what": f"fit {' '.join(flags)} --max-passes 10, {n}x{d} Parquet"
        + f", {rank} landmarks" * bool(rank),
        "value": (peak - base) / 2**20,
        "unit": "MiB above a fit of 100 rows",
        "at most": allowed / 2**20,
        "reached": peak - base <= allowed,
        "detail": f"base {base / 2**20:.0f} MiB, design {design / 2**20:.0f} MiB; "
        + ", ".join(f"{stage} {value:.2f}" for stage, value in seconds.items()),
    }


def help_row(repeats: int) -> dict[str, object]:
    def call(*command: str) -> None:
        subprocess.run([sys.executable, *command], stdout=subprocess.DEVNULL, check=True)

    seconds = compare(
        {
            "help": lambda: call("-m", "lrisk_cli", "--help"),
            "typer": lambda: call("-c", "import typer"),
        },
        repeats,
    )
    return {
        "what": "lrisk --help",
        "value": seconds["help"] / seconds["typer"],
        "unit": "x import typer",
        "at most": 2.5,
        "reached": seconds["help"] <= 2.5 * seconds["typer"],
        "detail": f"{1e3 * seconds['help']:.0f} ms against {1e3 * seconds['typer']:.0f} ms",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats")
    quick = parser.parse_args().quick
    n = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            memory_row(Path(folder), n, 20, ["--solver", solver])
            for solver in ("newton", "lsvrg", "sgd")
        ]
        landmarks = ["--kernel", "rbf", "--risk", "extremile:2"]
        rows.append(memory_row(Path(folder), n // 10, 10, landmarks, 50 if quick else 500))
    rows.append(help_row(5 if quick else 21))
    record("program", rows)


if __name__ == "__main__":
    main()
