"""Does guarding the tail pay on rows that were held out, and does the default ever learn nothing?

Bound: extremile:2, the default, never predicts (nearly) the same for every row.

Data: sample_data, and the real tables where they are available.

Each table is divided thirty times into four fifths to learn from and a fifth to test on (seeds 0 to
29; five times where there are more than 50,000 rows). Changes are those of the losses of held-out
rows beside the ordinary fit to the same rows, in percent; `wins` counts divisions in which the
worst tenth improved. Where rows lack cells, they are left out.
"""

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks.common.data import REAL_DATA
from benchmarks.common.record import ROOT, make_parser, start
from lrisk_cli import cli

RISKS = ("extremile:2", "superquantile:0.9")
DEFAULT = "extremile:2"
DIVISIONS, DIVISIONS_LARGE, LARGE = 30, 5, 50_000
SAMPLES = (
    ("concrete.csv", "compressive_strength"),
    ("wine_quality_red.csv", "quality"),
    ("breast_cancer.csv", "diagnosis"),
)
REAL = (
    ("california_housing.parquet", "median_house_value"),
    ("kin8nm.parquet", "y"),
    ("power_plant.csv", "electrical_output"),
    ("boston_housing.csv", "medv"),
    ("energy_heating.csv", "heating_load"),
    ("yacht.csv", "residuary_resistance"),
    ("heart_cleveland.csv", "disease"),
    ("adult/train.parquet", "income"),
    ("acs_employment_ma.parquet", "employed"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """One division: relative changes of held-out losses, and whether predictions are constant."""

    mean: float
    worst_tenth: float
    constant: bool


def tables(*, quick: bool) -> Iterator[tuple[str, Path, str]]:
    """Name, file and target."""
    for name, target in SAMPLES:
        yield name, ROOT / "sample_data" / name, target
    for name, target in () if quick else REAL:
        if (REAL_DATA / name).is_file():
            yield name, REAL_DATA / name, target
        else:
            print(f"SKIPPED: {name} of the real tables is not beside the repository")


def count_rows(path: Path) -> int:
    if path.suffix == ".parquet":
        return int(pq.read_metadata(path).num_rows)
    with path.open("rb") as file:
        return sum(1 for _ in file) - 1


def fit(path: Path, target: str, risk: str, seed: int, folder: Path) -> Change:
    """`lrisk fit` in this process."""
    command = [
        "fit", str(path), "--target", target, "--risk", risk, "--holdout", "20%",
        "--missing", "drop", "--unseen", "other", "--seed", str(seed), "--json", "--quiet",
        "--force", "-o", str(folder / "model.json"),
    ]  # fmt: skip
    printed, said = io.StringIO(), io.StringIO()
    with redirect_stdout(printed), redirect_stderr(said):
        code = cli.run(command)
    if code:
        raise SystemExit(f"lrisk {' '.join(command)} ended with {code}: {said.getvalue()}")
    document = json.loads(printed.getvalue())
    own, ordinary = document["holdout"], document["reference"]["holdout"]
    return Change(
        own["mean"] / ordinary["mean"] - 1,
        own["superquantile:0.9"] / ordinary["superquantile:0.9"] - 1,
        any(each["code"] == "constant_predictions" for each in document["warnings"]),
    )


def main() -> None:
    """Every table with both risks."""
    parser = make_parser(__doc__, "the sample tables, three divisions")
    options = parser.parse_args()
    benchmark = start("reliability/held_out_tail", options, whole=not options.quick)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, target in tables(quick=options.quick):
            n_rows = count_rows(path)
            divisions = DIVISIONS_LARGE if n_rows > LARGE else DIVISIONS
            for risk in RISKS:
                seeds = range(3 if options.quick else divisions)
                changes = [fit(path, target, risk, seed, Path(folder)) for seed in seeds]
                mean = 100 * float(np.mean([each.mean for each in changes]))
                worst = 100 * float(np.mean([each.worst_tenth for each in changes]))
                constant = sum(each.constant for each in changes)
                rows.append({
                    "table": name, "rows": n_rows, "risk": risk, "divisions": len(changes),
                    "mean %": mean, "worst tenth %": worst,
                    "wins": sum(each.worst_tenth < 0 for each in changes),
                    "constant": constant,
                    "within": constant == 0 if risk == DEFAULT else None,
                })  # fmt: skip
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
