"""How fast does `lrisk columns` report on a table, beside pyarrow reading the same file?

Bound: CPU time at most 2x pyarrow for a million rows of twenty columns, in CSV and in Parquet.

Data: generated.

The tables of `speed/reading` (twenty columns of numbers; ten of texts and one of numbers), and one
of both kinds with an identifier. Each run has a process of its own; both take turns.
"""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start
from benchmarks.speed.reading import ARROW, seconds, write_tables

LIMIT = 2.0
CASES = ("numbers.csv", "numbers.parquet", "mixed.csv", "mixed.parquet", "texts.csv")
OURS = """
import sys, time
import pyarrow.csv, pyarrow.parquet
from lrisk_cli.api.columns import make_job, run
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.profiles.options import ExpectationFiles, ShownColumns
from lrisk_cli.progress import silent
from lrisk_cli.tables.options import Data
data = Data(data=(sys.argv[1],))
job = make_job(data, ShownColumns(), ExpectationFiles(), Gates(), html=None)
start = time.process_time()
run(job, silent, force=False)
print(time.process_time() - start)
"""


def write_mixed(folder: Path, n_rows: int) -> None:
    """Fourteen columns of measurements, three of whole numbers, two of texts, an identifier."""
    rng = np.random.default_rng(1)
    columns = {f"x{at}": np.round(rng.standard_normal(n_rows), 6) for at in range(14)}
    columns |= {f"n{at}": rng.integers(0, 1000 * 10**at, n_rows) for at in range(3)}
    columns["color"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, n_rows)]
    columns["city"] = np.array([f"city{k}" for k in range(500)])[rng.integers(0, 500, n_rows)]
    columns["id"] = np.array([f"id{k}" for k in range(n_rows)])
    table = pa.table(columns)
    pacsv.write_csv(table, folder / "mixed.csv")
    pq.write_table(table, folder / "mixed.parquet")


def time_case(folder: Path, name: str, repeats: int) -> dict[str, object]:
    """Processor seconds of the best run of both, who take turns."""
    arrow, ours = [], []
    for _ in range(repeats):
        arrow.append(seconds(ARROW, folder / name)[0])
        ours.append(seconds(OURS, folder / name)[0])
    ratio = min(ours) / min(arrow)
    return {
        "case": name,
        "pyarrow cpu s": min(arrow),
        "columns cpu s": min(ours),
        "ratio": ratio,
        "limit": LIMIT,
        "within": ratio <= LIMIT,
    }


def main() -> None:
    parser = make_parser(__doc__, "a tenth of the rows, fewer repeats")
    options = parser.parse_args()
    benchmark = start("speed/columns", options)
    scale, repeats = (10, 3) if options.quick else (1, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, 1_000_000 // scale)
        write_mixed(folder, 1_000_000 // scale)
        rows = [time_case(folder, case, repeats) for case in CASES]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
