"""How fast are tables read into a design, beside pyarrow reading the same files?

Bound: CPU time at most 1.2x pyarrow for numbers in CSV, 1.5x in Parquet; 1.3x for ten columns of
categories in CSV, 1.5x in Parquet, beside pyarrow reading them as dictionaries; 3x for 500 columns
of numbers in CSV.

Data: generated.

Each run has a process of its own, so that none finds memory warmed up by another. A design also
holds the numbers once more than pyarrow does: standardised, or one column for each category.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start

LIMITS = {
    "numbers.csv": 1.2,
    "numbers.parquet": 1.5,
    "texts.csv": 1.3,
    "texts.parquet": 1.5,
    "wide.csv": 3.0,
}
N_WIDE = 500
WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")

ARROW = """
import sys, time
import pyarrow.csv, pyarrow.parquet
path = sys.argv[1]
as_codes = pyarrow.csv.ConvertOptions(auto_dict_encode=True)
texts = [f"c{at}" for at in range(10)] if "texts" in path else []
start = time.process_time()
if path.endswith("csv"):
    table = pyarrow.csv.read_csv(path, convert_options=as_codes)
else:
    table = pyarrow.parquet.read_table(path, read_dictionary=texts)
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


def write_tables(folder: Path, n_rows: int) -> None:
    """Twenty columns of numbers; ten of texts and one of numbers; 500 of numbers, fewer rows."""
    rng = np.random.default_rng(0)
    numbers = {f"x{at}": np.round(rng.standard_normal(n_rows), 6) for at in range(19)}
    y = np.round(rng.standard_normal(n_rows), 6)
    words = np.array(WORDS)
    texts = {f"c{at}": words[rng.integers(0, 10, n_rows)] for at in range(10)}
    for name, columns in (("numbers", numbers), ("texts", texts)):
        table = pa.table({**columns, "y": y})
        pacsv.write_csv(table, folder / f"{name}.csv")
        pq.write_table(table, folder / f"{name}.parquet")
    wide = np.round(rng.standard_normal((N_WIDE, n_rows // 10)), 6)
    names = [*(f"x{at}" for at in range(1, N_WIDE)), "y"]
    pacsv.write_csv(pa.table(list(wide), names), folder / "wide.csv")


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


def main() -> None:
    parser = make_parser(__doc__, "a tenth of the rows, fewer repeats")
    options = parser.parse_args()
    benchmark = start("speed/reading", options)
    scale, repeats = (10, 5) if options.quick else (1, 9)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, 1_000_000 // scale)
        rows = [time_reading(folder, case, repeats) for case in LIMITS]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
