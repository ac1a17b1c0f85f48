"""How close is the memory estimate of `lrisk fit --dry-run` to what the fit takes?

Bound: within 25 % of the measured peak.

Data: generated.

Each fit has a process of its own, whose peak the system reports. Tables are wide, tall, of
categories, of text and of Parquet; fits are of numbers, classes, kernels, folds, with their files.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start

LIMIT = 0.25
PEAK = """
import sys
from lrisk_cli.cli import run
code = run(sys.argv[1:])
lines = open("/proc/self/status").read().splitlines()
print(*(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A table, and the options of a fit. words: how many kinds each column of texts has."""

    name: str
    n_rows: int
    n_numbers: int
    suffix: str = "parquet"
    words: tuple[int, ...] = ()
    n_classes: int = 0
    options: tuple[str, ...] = ()


CASES = (
    Case("tall", 2_000_000, 4),
    Case("tall, mean", 2_000_000, 4, options=("--risk", "mean")),
    Case("tall, CSV", 2_000_000, 4, "csv"),
    Case("tall, files", 1_000_000, 4, options=("--losses", "l.csv", "--html", "h.html")),
    Case("square", 500_000, 20),
    Case("square, CSV", 500_000, 20, "csv"),
    Case("square, holes", 500_000, 20, options=("--missing", "impute")),
    Case("wide", 20_000, 1000),
    Case("wide, CSV", 20_000, 1000, "csv"),
    Case("categories", 300_000, 4, words=(10, 30, 100)),
    Case("categories, CSV", 300_000, 4, "csv", words=(10, 30, 100)),
    Case("two classes", 500_000, 20, n_classes=2),
    Case("names of rows", 500_000, 4, words=(200,), options=("--id", "c0")),
    Case("five classes", 200_000, 20, n_classes=5),
    Case("subquantile", 300_000, 20, options=("--risk", "subquantile:0.9")),
    Case("subquantile, classes", 100_000, 20, n_classes=2, options=("--risk", "subquantile:0.9")),
    Case("folds", 300_000, 20, options=("--cv", "3", "--l2", "0.1,1")),
    Case("hold-out", 500_000, 20, options=("--holdout", "0.2")),
    Case("Gaussian", 50_000, 8, options=("--kernel", "rbf", "--rank", "300")),
    Case("Gaussian, exact", 3000, 8, options=("--kernel", "rbf")),
    Case("cosines", 100_000, 8, options=("--kernel", "rbf", "--feature-map", "fourier")),
)


def write_table(path: Path, case: Case, n_rows: int) -> None:
    """Numbers, words of so many kinds, and a target that follows from the first number."""
    rng = np.random.default_rng(0)
    columns = {f"x{at}": np.round(rng.standard_normal(n_rows), 6) for at in range(case.n_numbers)}
    y = columns["x0"] + rng.standard_normal(n_rows)
    for at, n_words in enumerate(case.words):
        words = np.array([f"word{k:04d}" for k in range(n_words)])
        columns[f"c{at}"] = words[rng.integers(0, n_words, n_rows)]
    if case.n_classes:
        ends = np.quantile(y, np.arange(1, case.n_classes) / case.n_classes)
        columns["y"] = np.array([f"class{k}" for k in range(case.n_classes)])[
            np.searchsorted(ends, y)
        ]
    else:
        columns["y"] = np.round(y, 6)
    write: Callable[..., None] = pacsv.write_csv if path.suffix == ".csv" else pq.write_table
    write(pa.table(columns), path)


def measure(folder: Path, case: Case, scale: int) -> dict[str, object]:
    """The memory that was told, and the memory that it took."""
    path = folder / f"t.{case.suffix}"
    write_table(path, case, case.n_rows // scale)
    command = ["fit", path.name, "--target", "y", *case.options, "--json", "--quiet"]
    command += ["--max-passes", "60", "-o", "m.json", "--force"]
    told = subprocess.run(
        [sys.executable, "-m", "lrisk_cli", *command, "--dry-run"],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    taken = subprocess.run(
        [sys.executable, "-c", PEAK, *command],
        cwd=folder, capture_output=True, text=True, check=True,
    )  # fmt: skip
    path.unlink()
    predicted = json.loads(told.stdout)["peak_memory_bytes"] / 1e6
    measured = float(taken.stderr.split()[-1]) * 1024.0 / 1e6
    ratio = predicted / measured
    return {
        "case": case.name,
        "rows": case.n_rows // scale,
        "told MB": predicted,
        "taken MB": measured,
        "told / taken": ratio,
        "within": abs(ratio - 1.0) <= LIMIT,
    }


def main() -> None:
    parser = make_parser(__doc__, "a tenth of the rows")
    options = parser.parse_args()
    benchmark = start("memory/estimates", options)
    with tempfile.TemporaryDirectory() as name:
        rows = [measure(Path(name), case, 10 if options.quick else 1) for case in CASES]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
