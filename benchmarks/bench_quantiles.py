"""`lrisk quantile-report` on a million rows and two models: time, memory, and the size of its page.

Bounds: the whole report at most 1.5x the time of scoring the rows by both models in one pass; at
most 16 bytes a row; a page of at most 2 MB.
"""

import argparse
import multiprocessing
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from bench_program import LRISK, run
from record import compare, record

from lrisk_cli.evaluation.loss_comparison import columns_read, compare_models, load_models
from lrisk_cli.evaluation.quantiles import CURVE
from lrisk_cli.models.scoring import RowTally, score_together
from lrisk_cli.progress import silent
from lrisk_cli.tables.table import open_table

GROUP_ROWS = 100_000


def write_rows(path: Path, n: int, d: int) -> None:
    """Gaussian features, a linear target with heavy tails; row groups of one length for any n."""
    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(d)), "y"]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, n, GROUP_ROWS):
            X = rng.standard_normal((min(GROUP_ROWS, n - start), d))
            y = X @ (np.arange(d) / d) + rng.standard_t(3, len(X))
            columns = [*X.T, y]
            writer.write_table(pa.table(dict(zip(names, columns, strict=True)), schema=schema))


def fit_models(folder: Path, table: Path) -> list[str]:
    """The mean, which is the baseline, and a tail-aware model."""
    paths = []
    for risk in ("mean", "superquantile:0.9"):
        path = str(folder / f"{risk.partition(':')[0]}.json")
        flags = ["--target", "y", "--risk", risk, "-o", path, "--quiet"]
        subprocess.run([*LRISK, "fit", str(table), *flags], check=True, stdout=subprocess.DEVNULL)
        paths.append(path)
    return paths


def time_rows(table: Path, paths: list[str], repeats: int) -> list[dict[str, object]]:
    models = load_models(paths, None, None)
    expected = columns_read(models)

    def score(chosen: dict) -> None:
        rows = open_table([str(table)], expected=expected)
        for _ in score_together(chosen, rows, None, RowTally(), silent):
            pass

    def report() -> None:
        rows = open_table([str(table)], expected=expected)
        compare_models(models, rows, None, CURVE, silent)

    def score_apart() -> None:
        for path, model in models.items():
            score({path: model})

    seconds = compare(
        {"report": report, "together": lambda: score(models), "apart": score_apart}, repeats
    )
    n_rows = pq.read_metadata(table).num_rows
    shown = ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())
    return [
        {
            "what": f"quantile-report, {n_rows} rows, 2 models",
            "value": seconds["report"] / seconds[name],
            "unit": unit,
            "at most": 1.5,
            "reached": seconds["report"] <= 1.5 * seconds[name],
            "detail": shown,
        }
        for name, unit in (
            ("together", "x scoring both in one pass"),
            ("apart", "x scoring one after the other"),
        )
    ]


def memory_row(short: Path, long: Path, paths: list[str]) -> dict[str, object]:
    flags = ["--baseline", paths[0], "--model", paths[1], "--json"]
    # The least of a few runs: how many pages a process touches besides is left to chance.
    peaks = [
        min(run([*LRISK, "quantile-report", str(table), *flags])[0] for _ in range(4))
        for table in (short, long)
    ]
    sizes = [pq.read_metadata(table).num_rows for table in (short, long)]
    per_row = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
    return {
        "what": f"quantile-report, from {sizes[0]} to {sizes[1]} rows, 2 models",
        "value": per_row,
        "unit": "bytes a row",
        "at most": 16.0,
        # The losses alone are 16; a megabyte more or less is what such a measurement can tell.
        "reached": per_row <= 16.5,
        "detail": f"{peaks[0] / 2**20:.0f} MiB, then {peaks[1] / 2**20:.0f} MiB",
    }


def page_rows(folder: Path, table: Path, paths: list[str]) -> list[dict[str, object]]:
    found = []
    for command in (
        ["quantile-report", str(table), "--baseline", paths[0], "--model", paths[1]],
        ["evaluate", paths[1], str(table)],
    ):
        page = folder / f"{command[0]}.html"
        run([*LRISK, *command, "--html", str(page), "--quiet"])
        size = page.stat().st_size / 1e6
        found.append(
            {
                "what": f"page of {command[0]}, {pq.read_metadata(table).num_rows} rows",
                "value": size,
                "unit": "MB",
                "at most": 2.0,
                "reached": size <= 2.0,
                "detail": "",
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats")
    quick = parser.parse_args().quick
    n = 200_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = {size: folder / f"{size}.parquet" for size in (GROUP_ROWS, n, 3 * n)}
        for size, path in tables.items():
            # A process of its own: a child's peak begins at what its parent holds.
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                pool.apply(write_rows, (path, size, 20))
        paths = fit_models(folder, tables[GROUP_ROWS])
        rows = [memory_row(tables[n], tables[3 * n], paths)]
        rows += page_rows(folder, tables[n], paths)
        rows += time_rows(tables[n], paths, 3 if quick else 7)
    record("quantiles", rows)


if __name__ == "__main__":
    main()
