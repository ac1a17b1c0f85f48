"""Read tables of a million rows into a design, beside pyarrow reading the same files.

Each run has a process of its own, so that none finds memory warmed up by another, and counts its
processor seconds, which a busy machine does not stretch. A design also holds the numbers once
more than pyarrow does: standardised, or one column for each category.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from record import record

LIMITS = {"numbers.csv": 1.5, "numbers.parquet": 2.0, "texts.csv": 3.0, "texts.parquet": 3.0}
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")

ARROW = """
import sys, time
import pyarrow.csv, pyarrow.parquet
path = sys.argv[1]
start = time.process_time()
table = (pyarrow.csv.read_csv if path.endswith("csv") else pyarrow.parquet.read_table)(path)
print(time.process_time() - start)
"""
OURS = """
import sys, time
import pyarrow.csv, pyarrow.parquet
from lrisk_cli.design.design import DesignOptions, encode_design, read_design
from lrisk_cli.tables.table import open_table
start = time.process_time()
options = DesignOptions(target="y")
raw = read_design(open_table([sys.argv[1]]), options)
read = time.process_time()
design = encode_design(raw, options)
print(read - start, time.process_time() - start)
"""
PEAK = """
import sys
from lrisk_cli.cli import run
def kilobytes():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
small, big, *command = sys.argv[1:]
run([part.replace("{}", small) for part in command])
base = kilobytes()
run([part.replace("{}", big) for part in command])
print(kilobytes() - base, file=sys.stderr)
"""


def write_tables(folder: Path, n_rows: int) -> None:
    """Twenty columns of numbers, and ten of texts beside one of numbers."""
    rng = np.random.default_rng(0)
    numbers = {f"x{at}": np.round(rng.standard_normal(n_rows), 6) for at in range(19)}
    y = np.round(rng.standard_normal(n_rows), 6)
    words = np.array(WORDS)
    texts = {f"c{at}": words[rng.integers(0, 10, n_rows)] for at in range(10)}
    for name, columns in (("numbers", numbers), ("texts", texts)):
        table = pa.table({**columns, "y": y})
        pacsv.write_csv(table, folder / f"{name}.csv")
        pq.write_table(table, folder / f"{name}.parquet")


def seconds(program: str, path: Path) -> list[float]:
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def time_reading(folder: Path, name: str, repeats: int) -> dict[str, object]:
    """Processor seconds of the best run of both, who take turns.

    New memory costs up to ten times as much in one run as in another, as the machine's host has it
    at hand or not; that only ever adds.
    """
    arrow, read, design = [], [], []
    for _ in range(repeats):
        arrow.append(seconds(ARROW, folder / name)[0])
        ours = seconds(OURS, folder / name)
        read.append(ours[0])
        design.append(ours[1])
    base, ratio = min(arrow), min(design) / min(arrow)
    return {
        "case": name,
        "pyarrow cpu s": base,
        "read cpu s": min(read),
        "design cpu s": min(design),
        "ratio": ratio,
        "limit": LIMITS[name],
        "within": ratio <= LIMITS[name],
    }


def write_rows(path: Path, n_rows: int) -> None:
    """A table of two numbers and a target, written in pieces."""
    schema = pa.schema([("a", pa.float64()), ("b", pa.float64()), ("y", pa.float64())])
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, 1_000_000):
            columns = rng.standard_normal((3, min(1_000_000, n_rows - start)))
            writer.write_table(pa.table(dict(zip("aby", columns, strict=True)), schema=schema))


def measure_memory(folder: Path, small: int, big: int) -> list[dict[str, object]]:
    """Bytes for each more row that commands take to judge a table by a model."""
    for name, n_rows in (("small", small), ("big", big)):
        write_rows(folder / f"{name}.parquet", n_rows)
    program = [sys.executable, "-m", "lrisk_cli"]
    fit = ["fit", "small.parquet", "--target", "y", "-o", "m.json", "--quiet"]
    subprocess.run([*program, *fit], cwd=folder, check=True, capture_output=True)
    commands = {
        "evaluate": ["evaluate", "m.json", "{}"],
        "detect-outliers": ["detect-outliers", "{}", "--model", "m.json"],
    }
    rows: list[dict[str, object]] = []
    for name, command in commands.items():
        paths = ["small.parquet", "big.parquet"]
        arguments = [sys.executable, "-c", PEAK, *paths, *command, "--quiet", "--json"]
        done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=True)
        json.loads(done.stdout[: done.stdout.index("\n}") + 2])
        per_row = 1024.0 * float(done.stderr.split()[-1]) / (big - small)
        rows.append(
            {
                "case": f"{name}, {big:.0e} rows against {small:.0e}",
                "bytes a row": per_row,
                "limit": 16.0,
                "within": per_row <= 16.0,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, once")
    args = parser.parse_args()
    scale, repeats = (10, 1) if args.quick else (1, 9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, 1_000_000 // scale)
        rows = [time_reading(folder, case, repeats) for case in LIMITS]
        memory = measure_memory(folder, 1_000_000 // scale, 10_000_000 // scale)
    keys = list(dict.fromkeys(key for row in (*rows, *memory) for key in row))
    record("reading", [{key: row.get(key) for key in keys} for row in (*rows, *memory)])


if __name__ == "__main__":
    main()
