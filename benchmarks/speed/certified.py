"""How long does a certified fit of a real table to a gap of 1e-9 take?

Bound: every fit converges within its time limit; known minima lie within the proved bounds.

Data: sixteen real tables, and the splits with known minima.

Each table is read from its file, encoded and fitted with the default options by every rising risk;
a gap that was proved is kept even where it is larger. The splits with known minima are fitted on
the numbers of their files and compared.
"""

import csv
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from benchmarks.common.data import REAL_DATA, is_missing
from benchmarks.common.record import make_parser, start
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.models.fitting import FitOptions, fit_design
from lrisk_cli.names import Missing, SmoothingName, Standardize, Task
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.tables.table import open_table

RISKS = (
    "mean", "superquantile:0.5", "superquantile:0.9", "superquantile:0.99", "extremile:2",
    "esrm:1", "esrm:5",
)  # fmt: skip
TOL = 1e-9
# Minima computed by others have twelve decimals.
DIGITS = 1e-12


@dataclass(frozen=True, slots=True)
class Set:
    """A table and how it is fitted. large: left out by --quick."""

    name: str
    file: str
    target: str
    task: Task = Task.AUTO
    missing: Missing = Missing.ERROR
    large: bool = False


SETS = (
    Set("yacht", "yacht.csv", "residuary_resistance"),
    Set("energy, cooling", "energy_cooling.csv", "cooling_load"),
    Set("energy, heating", "energy_heating.csv", "heating_load"),
    Set("concrete", "concrete.csv", "compressive_strength"),
    Set("wine", "wine_quality_red.csv", "quality", Task.REGRESSION),
    Set("kin8nm", "kin8nm.parquet", "y"),
    Set("power plant", "power_plant.csv", "electrical_output"),
    Set("california", "california_housing.parquet", "median_house_value"),
    Set("drug", "drug_qsar/train.parquet", "y"),
    Set("heart", "heart_cleveland.csv", "disease", Task.CLASSIFICATION, Missing.IMPUTE),
    Set("breast cancer", "breast_cancer_wdbc.csv", "malignant", Task.CLASSIFICATION),
    Set("adult", "adult/train.parquet", "income", missing=Missing.IMPUTE, large=True),
    Set("acs", "acs_employment_ma.parquet", "employed", Task.CLASSIFICATION, large=True),
    Set("wine, classes", "wine_quality_red.csv", "quality", Task.CLASSIFICATION),
    Set("emotion", "lerm_splits/emotion_train.parquet", "y", Task.CLASSIFICATION, large=True),
    Set(
        "iWildCam", "lerm_splits/iwildcam_validation.parquet", "y", Task.CLASSIFICATION, large=True
    ),
)


def fit(name: str, risk: str, file: str, columns: DesignOptions, options: FitOptions) -> dict:
    """Read, encode and fit a table; what came of it, and how long it took."""
    start = perf_counter()
    design, _ = build_design(open_table([str(REAL_DATA / file)]), columns)
    ready, ready_cpu = perf_counter(), process_time()
    fitted = fit_design(design, options)
    solved, solved_cpu = perf_counter(), process_time()
    found = fitted.solution
    proved = found.smoothed or found.certificate
    return {
        "table": name,
        "risk": risk,
        "rows": design.rows.shape[0],
        "columns": design.rows.shape[1],
        "classes": len(design.encoding.target.classes),
        "solver": fitted.model.fit.solver,
        "objective": proved.objective,
        "lower bound": proved.lower_bound,
        "gap": proved.gap,
        "converged": found.converged,
        "passes": found.passes,
        "solve s": solved - ready,
        "solve cpu s": solved_cpu - ready_cpu,
        "total s": solved - start,
        "known minimum": None,
        "agrees": None,
        "why not": None if found.converged else found.status,
    }


def fit_set(one: Set, risk: str, time_limit: float) -> dict:
    """One risk on one table with the default options."""
    columns = DesignOptions(target=one.target, task=one.task, missing=one.missing)
    limits = Limits(tol=TOL, max_passes=1e6, time_limit=time_limit)
    options = FitOptions(parse_risk(risk), limits=limits)
    return fit(one.name, risk, one.file, columns, options)


def references() -> Iterator[tuple[str, str, bool, float]]:
    """File, risk, whether smoothed, and minimum of the problems whose minimum is known."""
    for path, smoothed, column in (
        ("reference_optima.csv", True, "recomputed_minimum"),
        ("lerm_splits/reference_optima_unsmoothed.csv", False, "objective_attained"),
    ):
        with (REAL_DATA / path).open() as file:
            for row in csv.DictReader(file):
                level = row["spectrum_parameter"].partition("=")[2]
                risk = ":".join(filter(None, [row["spectrum"], level]))
                yield row["train_file"], risk, smoothed, float(row[column])


def compare_with(file: str, risk: str, smoothed: bool, minimum: float, time_limit: float) -> dict:
    """Fit the numbers of the file: the bound may not exceed the known minimum, nor may the
    objective by more than the gap that was asked for.

    Smoothed: max over lam of lam.l - n/2 ||lam - 1/n||^2, that is --smoothing l2 --nu n.
    """
    task = Task.CLASSIFICATION if "diabetes" in file else Task.REGRESSION
    columns = DesignOptions(target="y", task=task, standardize=Standardize.NONE, intercept=False)
    options = FitOptions(
        parse_risk(risk),
        smoothing=SmoothingName.L2 if smoothed else SmoothingName.NONE,
        nu=open_table([str(REAL_DATA / file)]).n_rows if smoothed else None,
        limits=Limits(tol=TOL, max_passes=2000.0, time_limit=time_limit),
    )
    named = f"{risk}, smoothed" if smoothed else risk
    found = fit(Path(file).stem, named, file, columns, options)
    bound, objective = found["lower bound"], found["objective"]
    allowed = TOL * (objective - bound) / found["gap"]
    agrees = bound <= minimum + DIGITS and objective <= minimum + allowed + DIGITS
    return {**found, "known minimum": minimum, "agrees": bool(agrees)}


def markdown(rows: Sequence[dict]) -> Iterator[str]:
    """Processor seconds to the proof, a line for each table; the gap where it is too large."""
    yield "| table | rows x columns (classes) | " + " | ".join(RISKS) + " |"
    yield "| --- " * (2 + len(RISKS)) + "|"
    for name in dict.fromkeys(row["table"] for row in rows):
        own = {row["risk"]: row for row in rows if row["table"] == name}
        first = own[RISKS[0]]
        classes = f" ({first['classes']})" if first["classes"] else ""
        cells = [
            f"{row['solve cpu s']:.2g}" + ("" if row["converged"] else f" (gap {row['gap']:.0e})")
            for row in (own[risk] for risk in RISKS)
        ]
        yield f"| {name} | {first['rows']}x{first['columns']}{classes} | {' | '.join(cells)} |"


def main() -> None:
    parser = make_parser(__doc__, "small tables only")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each fit")
    parser.add_argument("--only", metavar="TABLE", help="one table; nothing is recorded")
    options = parser.parse_args()
    benchmark = start("speed/certified", options, whole=options.only is None)
    if is_missing():
        return
    rows: list[dict] = []
    for one in SETS:
        if options.only in (None, one.name) and not (options.quick and one.large):
            for risk in RISKS:
                rows.append(fit_set(one, risk, options.time_limit))
                if not rows[-1]["converged"]:
                    print(f"{one.name}, {risk}: {rows[-1]['why not']}", flush=True)
    print(*markdown(rows), sep="\n")
    if options.only is None:
        rows += [compare_with(*known, options.time_limit) for known in references()]
        benchmark.finish(rows)


if __name__ == "__main__":
    main()
