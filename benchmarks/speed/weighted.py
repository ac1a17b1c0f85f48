"""What do row weights cost in a fit?

Bound: CPU time of a whole `lrisk fit --weight` at most 1.1x that without weights.

Data: generated.

Parquet with a column of whole weights from 1 to 4, which the fit without weights does not read; one
thread; the commands take turns, and medians of their processor time are compared.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start
from benchmarks.common.tables import write_apart
from benchmarks.common.timing import LRISK, measure_processes

SHAPES = ((20_000, 50), (1_000_000, 20))
RISKS = ("mean", "extremile:2", "superquantile:0.9")
BOUND = 1.1


def write_weighted(path: Path, n: int, d: int) -> None:
    """Gaussian features, a linear target with heavy-tailed noise, and weights w."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_t(3, n)
    columns = {f"x{j}": X[:, j] for j in range(d)} | {"y": y}
    weights = rng.integers(1, 5, n).astype(np.float64)
    pq.write_table(pa.table(columns | {"w": weights}), path, row_group_size=n)


def main() -> None:
    """Each shape with each risk."""
    parser = make_parser(__doc__, "20000 rows, three turns")
    options = parser.parse_args()
    benchmark = start("speed/weighted", options, whole=not options.quick)
    shapes, repeats = (SHAPES[:1], 3) if options.quick else (SHAPES, 7)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for n, d in shapes:
            table = Path(name) / f"{n}.parquet"
            write_apart(write_weighted, table, n, d)
            for risk in RISKS:
                fit = [
                    *LRISK, "fit", str(table), "--target", "y", "--exclude", "w", "--risk", risk,
                    "--threads", "1", "--quiet",
                ]  # fmt: skip
                usages = measure_processes(
                    {"plain": fit, "weighted": [*fit, "--weight", "w"]}, repeats
                )
                seconds = {
                    key: float(np.median([each.cpu_seconds for each in found]))
                    for key, found in usages.items()
                }
                ratio = seconds["weighted"] / seconds["plain"]
                rows.append({
                    "rows": n, "columns": d, "risk": risk,
                    "plain s": seconds["plain"], "weighted s": seconds["weighted"],
                    "ratio": ratio, "at most": BOUND, "reached": ratio <= BOUND,
                })  # fmt: skip
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
