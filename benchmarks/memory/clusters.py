"""How much memory does `lrisk cluster` take on a million rows?

Bound: above that on a hundred rows at most 1.5x the data.

Data: generated.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common.clusters import row
from benchmarks.common.record import make_parser, start

# Runs a command and prints its own peak: that of the process includes what its parent held.
LRISK = """
import sys
from lrisk_cli.cli import run
code = run(sys.argv[1:])
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1], file=sys.stderr)
sys.exit(code)
"""


def write_rows(path: Path, n: int) -> None:
    """Ten overlapping clusters in ten columns."""
    rng = np.random.default_rng(0)
    X = 2.0 * rng.standard_normal((10, 10))[rng.integers(0, 10, n)] + rng.standard_normal((n, 10))
    columns = {f"x{j}": X[:, j] for j in range(10)}
    pq.write_table(pa.table(columns), path, row_group_size=n)


def run(path: Path, *options: str) -> tuple[int, float]:
    """Peak memory of `lrisk cluster` in bytes, and its seconds."""
    command = [sys.executable, "-c", LRISK, "cluster", str(path), *options, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return 1024 * int(done.stderr.split()[-1]), json.loads(done.stdout)["timings"]["total_s"]


def memory_rows(n: int) -> Iterator[dict[str, object]]:
    """Peak memory of the command above that on a hundred rows."""
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.parquet", Path(folder) / "large.parquet"
        write_rows(small, 100)
        write_rows(large, n)
        for risk in ("mean", "subquantile:0.75", "lower-extremile:2"):
            options = ["-k", "10", "--risk", risk, "--starts", "2", "--max-iterations", "20"]
            base, _ = run(small, *options)
            peak, seconds = run(large, *options)
            ratio = (peak - base) / (8 * 10 * n)
            yield row(
                f"{n}x10 Parquet, 10 clusters: {risk}",
                ratio,
                "x the data, above 100 rows",
                "at most 1.5",
                ratio <= 1.5,
                f"base {base / 2**20:.0f} MiB, peak {peak / 2**20:.0f} MiB, total {seconds:.1f} s",
            )


def main() -> None:
    options = make_parser(__doc__, "a tenth of the rows").parse_args()
    benchmark = start("memory/clusters", options)
    benchmark.finish([*memory_rows(100_000 if options.quick else 1_000_000)])


if __name__ == "__main__":
    main()
