"""What do several risks in one command cost beside one command each?

Bound: the whole command at most 0.6x the separate ones, the minimisations alone 1x.

Data: generated, and california_housing.parquet and power_plant.csv where they are available.

Ten superquantiles from 0.5 to 0.99. `command`: the whole program, from the file to ten models,
beside ten runs of it. `solver`: the minimisations alone, each from the last one's result, beside
cold ones on the same rows. Times are those of the processor, medians of runs that take turns.
"""

import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks.common.data import REAL_DATA
from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import LRISK, compare
from benchmarks.speed.newton import regression
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Missing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.tables.table import open_table

FIT = [*LRISK, "fit", "--quiet", "--force", "--missing", "drop"]
RISKS = [f"superquantile:{q:.3g}" for q in np.linspace(0.5, 0.99, 10)]
LIMITS = Limits(tol=1e-6)
# Of the time that separate fits take.
BOUNDS = {"command": 0.6, "solver": 1.0}


def tables(folder: Path) -> Iterator[tuple[str, Path, str]]:
    """Name, file and target."""
    X, y = regression(20_000, 50)
    columns = {f"x{j}": column for j, column in enumerate(X.T)} | {"y": y}
    pyarrow.csv.write_csv(pa.table(columns), folder / "rows.csv")
    yield "20000x50 isotropic, CSV", folder / "rows.csv", "y"
    for name, file, target in (
        ("california housing, Parquet", "california_housing.parquet", "median_house_value"),
        ("power plant, CSV", "power_plant.csv", "electrical_output"),
    ):
        if (REAL_DATA / file).is_file():
            yield name, REAL_DATA / file, target


def children_seconds() -> float:
    """Processor time of all child processes so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def command_seconds(path: Path, target: str, folder: Path, repeats: int) -> dict[str, float]:
    def fit(risks: list[str], output: str) -> None:
        flags = [flag for risk in risks for flag in ("--risk", risk)]
        command = [*FIT, str(path), "--target", target, *flags, "-o", str(folder / output)]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    def separate() -> None:
        for risk in RISKS:
            fit([risk], "{risk}.json")

    runs = {"separate": separate, "path": lambda: fit(RISKS, "{risk}.json")}
    return compare(runs, repeats, children_seconds)


def solve_all(problems: list[Problem], *, warm: bool) -> float:
    """Minimise one after the other; the passes it took."""
    W, passes = None, 0.0
    for problem in problems:
        found = solve(problem, SolverOptions(), LIMITS, start=W if warm else None)
        if not found.converged:
            raise SystemExit(f"{problem.spectrum}: {found.status}")
        W, passes = found.W, passes + found.passes
    return passes


def rows(name: str, path: Path, target: str, folder: Path, repeats: int) -> Iterator[dict]:
    options = DesignOptions(target=target, missing=Missing.DROP)
    design, _ = build_design(open_table([str(path)]), options)
    loss, n = make_loss("squared"), design.rows.shape[0]
    problems = [make_problem(design.rows, design.y, loss, parse_risk(r), 1.0 / n) for r in RISKS]
    runs = {
        "separate": lambda: solve_all(problems, warm=False),
        "path": lambda: solve_all(problems, warm=True),
    }
    solver_seconds = compare(runs, 5 * repeats, time.process_time)
    for what, seconds, passes in (
        ("command", command_seconds(path, target, folder, repeats), None),
        ("solver", solver_seconds, {key: run() for key, run in runs.items()}),
    ):
        ratio = seconds["path"] / seconds["separate"]
        yield {
            "problem": name,
            "what": what,
            "separate ms": 1e3 * seconds["separate"],
            "path ms": 1e3 * seconds["path"],
            "separate passes": passes and passes["separate"],
            "path passes": passes and passes["path"],
            "ratio": ratio,
            "at most": BOUNDS[what],
            "reached": ratio <= BOUNDS[what],
        }


def main() -> None:
    parser = make_parser(__doc__, "time everything once")
    options = parser.parse_args()
    benchmark = start("speed/path", options)
    repeats = 1 if options.quick else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = [row for table in tables(folder) for row in rows(*table, folder, repeats)]
    benchmark.finish(found)


if __name__ == "__main__":
    main()
