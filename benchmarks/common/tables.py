"""Generated tables, written to files, and models fitted to them."""

import multiprocessing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.common.timing import LRISK, run_process

GROUP_ROWS = 100_000


def write_regression(path: Path, n: int, d: int) -> None:
    """Gaussian features and a linear target with heavy-tailed noise; Parquet in one row group."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_t(3, n)
    names = [f"x{j}" for j in range(d)]
    table = pa.table({name: X[:, j] for j, name in enumerate(names)} | {"y": y})
    if path.suffix == ".csv":
        pacsv.write_csv(table, path)
    else:
        pq.write_table(table, path, row_group_size=n)


def write_grouped(path: Path, n: int, d: int) -> None:
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


def write_apart(write: Callable[[Path, int, int], None], path: Path, n: int, d: int) -> None:
    """Write in a process of its own: the peak of a child begins at what its parent holds."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.apply(write, (path, n, d))


def fit_models(folder: Path, table: Path) -> list[str]:
    """The mean, which is the baseline, and a tail-aware model."""
    paths = []
    for risk in ("mean", "superquantile:0.9"):
        path = str(folder / f"{risk.partition(':')[0]}.json")
        flags = ["--target", "y", "--risk", risk, "-o", path, "--quiet"]
        run_process([*LRISK, "fit", str(table), *flags])
        paths.append(path)
    return paths
