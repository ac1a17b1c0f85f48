"""How much memory does a fit on a million rows take?

Bound: above a fit on a hundred rows at most 1.5x the design matrix, or the features of a kernel,
plus 100 bytes per row.

Data: generated.
"""

import json
import tempfile
from pathlib import Path

from benchmarks.common.record import make_parser, start
from benchmarks.common.tables import write_apart, write_regression
from benchmarks.common.timing import LRISK, run_process


def memory_row(
    folder: Path, n: int, d: int, flags: list[str], rank: int | None = None
) -> dict[str, object]:
    """Memory of a fit. rank: landmarks of a kernel; the design matrix is then that of features."""
    small, large = folder / "small.parquet", folder / "large.parquet"
    for path, n_rows in ((small, 100), (large, n)):
        write_apart(write_regression, path, n_rows, d)
    fit = [*LRISK, "fit", "--target", "y", *flags, "--max-passes", "10", "--json"]
    base = run_process([*fit, str(small)]).peak_bytes
    usage = run_process([*fit, *(["--rank", str(rank)] if rank else []), str(large)])
    peak, seconds = usage.peak_bytes, json.loads(usage.printed)["timings"]
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


def main() -> None:
    parser = make_parser(__doc__, "newton only")
    options = parser.parse_args()
    benchmark = start("memory/fit", options)
    solvers = ("newton",) if options.quick else ("newton", "lsvrg", "sgd")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = [memory_row(folder, 1_000_000, 20, ["--solver", solver]) for solver in solvers]
        kernel = ["--kernel", "rbf", "--risk", "extremile:2"]
        rows.append(memory_row(folder, 100_000, 10, kernel, 500))
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
