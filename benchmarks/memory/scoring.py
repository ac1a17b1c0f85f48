"""How much memory do evaluate, detect-outliers and quantile-report take per row?

Bound: at most 16 bytes per row.

Data: generated.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start
from benchmarks.common.tables import GROUP_ROWS, fit_models, write_apart, write_grouped
from benchmarks.common.timing import LRISK, run_process

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


def write_rows(path: Path, n_rows: int) -> None:
    """A table of two numbers and a target, written in pieces."""
    schema = pa.schema([("a", pa.float64()), ("b", pa.float64()), ("y", pa.float64())])
    rng = np.random.default_rng(1)
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n_rows, 1_000_000):
            columns = rng.standard_normal((3, min(1_000_000, n_rows - start)))
            writer.write_table(pa.table(dict(zip("aby", columns, strict=True)), schema=schema))


def command_rows(folder: Path, small: int, big: int) -> list[dict[str, object]]:
    """Bytes per additional row that `evaluate` and `detect-outliers` take."""
    for name, n_rows in (("small", small), ("big", big)):
        write_rows(folder / f"{name}.parquet", n_rows)
    fit = ["fit", "small.parquet", "--target", "y", "-o", "m.json", "--quiet"]
    run_process([*LRISK, *fit], folder)
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


def report_row(short: Path, long: Path, models: list[str]) -> dict[str, object]:
    """Bytes per additional row that `quantile-report` takes."""
    flags = ["--baseline", models[0], "--model", models[1], "--json"]

    def peak(table: Path) -> int:
        return run_process([*LRISK, "quantile-report", str(table), *flags]).peak_bytes

    # The least of a few runs: the number of pages a process touches varies.
    peaks = [min(peak(table) for _ in range(4)) for table in (short, long)]
    sizes = [pq.read_metadata(table).num_rows for table in (short, long)]
    per_row = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
    return {
        "case": f"quantile-report of 2 models, {sizes[1]:.0e} rows against {sizes[0]:.0e}",
        "bytes a row": per_row,
        "limit": 16.0,
        # The losses alone are 16; the measurement is good to about a megabyte.
        "within": per_row <= 16.5,
    }


def main() -> None:
    options = make_parser(__doc__, "half of the rows").parse_args()
    benchmark = start("memory/scoring", options)
    n = 500_000 if options.quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = [folder / f"{size}.parquet" for size in (GROUP_ROWS, n, 3 * n)]
        for path in dict.fromkeys(tables):
            write_apart(write_grouped, path, int(path.stem), 20)
        models = fit_models(folder, tables[0])
        # First, while this process is small: the peak of a child begins at what its parent holds.
        report = report_row(tables[1], tables[2], models)
        rows = [*command_rows(folder, n, 10 * n), report]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
