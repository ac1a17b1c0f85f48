"""What does the ordinary fit beside a fit cost?

Bound: CPU time of a whole `lrisk fit` at most 1.15x that with --no-reference for numbers, 1.3x for
classes.

Data: generated.

A million rows and twenty features in Parquet, one thread; the commands take turns, and medians of
their processor time are compared.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start
from benchmarks.common.tables import write_apart, write_regression
from benchmarks.common.timing import LRISK, measure_processes

N_ROWS, N_COLUMNS = 1_000_000, 20
RISKS = ("extremile:2", "superquantile:0.9")
NUMBERS, CLASSES = "numbers", "two classes"
BOUNDS = {NUMBERS: 1.15, CLASSES: 1.3}


def write_classes(path: Path, n: int, d: int) -> None:
    """Gaussian features and the two classes of a logistic model."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    Z = X @ rng.standard_normal(d) * 2.0 / np.sqrt(d)
    y = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-Z)), "yes", "no")
    table = pa.table({f"x{j}": X[:, j] for j in range(d)} | {"y": y})
    pq.write_table(table, path, row_group_size=n)


def main() -> None:
    """Each kind of target with two risks."""
    parser = make_parser(__doc__, "a tenth of the rows, three turns")
    options = parser.parse_args()
    benchmark = start("speed/reference", options, whole=not options.quick)
    n_rows, repeats = (N_ROWS // 10, 3) if options.quick else (N_ROWS, 7)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, write in ((NUMBERS, write_regression), (CLASSES, write_classes)):
            table = folder / f"{kind.partition(' ')[0]}.parquet"
            write_apart(write, table, n_rows, N_COLUMNS)
            for risk in RISKS:
                fit = [
                    *LRISK, "fit", str(table), "--target", "y", "--risk", risk,
                    "--threads", "1", "--quiet",
                ]  # fmt: skip
                usages = measure_processes(
                    {"with": fit, "without": [*fit, "--no-reference"]}, repeats
                )
                seconds = {
                    key: float(np.median([each.cpu_seconds for each in found]))
                    for key, found in usages.items()
                }
                ratio = seconds["with"] / seconds["without"]
                rows.append({
                    "target": kind, "risk": risk, "rows": n_rows,
                    "with s": seconds["with"], "without s": seconds["without"],
                    "ratio": ratio, "at most": BOUNDS[kind], "reached": ratio <= BOUNDS[kind],
                })  # fmt: skip
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
