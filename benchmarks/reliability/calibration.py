"""What do calibration and prediction intervals change on rows that no fit has seen?

Bound: calibrated mean probabilities within a tenth and two standard errors of the fraction of the
class; split conformal intervals cover at least their level, less 2.6 standard errors.

Data: generated, and adult, concrete and heart of the real tables.

Probabilities: a class with 1.2 % of the rows, generated and in adult (whose rows of the class are
thinned), by the mean and by extremile:2, before and after --calibrate. Intervals: 90 %, by split
and cv conformal prediction, over random splits of small tables into halves.
"""

import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.common.data import REAL_DATA, is_missing
from benchmarks.common.record import make_parser, start
from lrisk_cli.cli import run

RARE = 0.012
LEVEL = 0.9
FIGURES = ("mean", "superquantile:0.9", "brier", "calibration_error", "roc_auc")
METHODS = {"split": ("--conformal", "split", "--holdout", "0.3"), "cv": ("--conformal", "cv")}
# Table -> the flags of its fit.
SMALL = {
    "generated": ("--target", "y"),
    "concrete": ("--target", "compressive_strength"),
    "heart_cleveland": ("--target", "disease", "--missing", "impute"),
}


def lrisk(*arguments: str) -> dict:
    """The document of a command, which runs in this process."""
    out, messages = io.TextIOWrapper(io.BytesIO()), io.StringIO()
    with redirect_stdout(out), redirect_stderr(messages):
        code = run([*arguments, "--json", "--quiet"])
    if code:
        raise SystemExit(f"lrisk {' '.join(arguments)} ended with {code}: {messages.getvalue()}")
    out.seek(0)
    return json.loads(out.read())


def make_rare(n: int, rng: np.random.Generator) -> pa.Table:
    """A class with about 1.2 % of the rows; logistic in the features, so that the mean is right."""
    X = rng.normal(size=(n, 4))
    odds = X @ [1.2, -0.8, 0.5, 0.0] - 5.55
    labels = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "yes", "no")
    return pa.table({f"x{j}": X[:, j] for j in range(4)} | {"target": labels})


def thin_adult(part: str, rng: np.random.Generator) -> pa.Table:
    """Rows of adult, of which the richer are thinned to 1.2 %."""
    table = pq.read_table(REAL_DATA / "adult" / f"{part}.parquet").rename_columns(
        {"income": "target"}
    )
    rich = np.flatnonzero(pc.equal(table["target"], ">50K"))
    others = np.flatnonzero(pc.not_equal(table["target"], ">50K"))
    few = rng.choice(rich, round(RARE / (1.0 - RARE) * len(others)), replace=False)
    return table.take(np.sort(np.concatenate([others, few])))


def rare_tables(seed: int) -> Iterator[tuple[str, pa.Table, pa.Table]]:
    """Rows to learn from and to test on."""
    rng = np.random.default_rng(seed)
    yield "generated", make_rare(40_000, rng), make_rare(40_000, rng)
    if not is_missing("adult"):
        yield "adult, thinned", thin_adult("train", rng), thin_adult("test", rng)


def fit_rare(risk: str, calibrate: str) -> dict[str, float]:
    """Figures of one fit on the test rows."""
    flags = [] if calibrate == "none" else ["--calibrate", calibrate]
    lrisk("fit", "train.parquet", "--target", "target", "--risk", risk, "--missing", "impute",
          "--unseen", "other", "--no-reference", "-o", "m.json", "--force", *flags)  # fmt: skip
    figures = lrisk("evaluate", "m.json", "test.parquet")["metrics"]
    lrisk("predict", "m.json", "test.parquet", "-o", "p.parquet", "--force")
    p = pq.read_table("p.parquet").columns[-1].to_numpy()
    found = {name: figures[name] for name in FIGURES}
    return found | {"mean_probability": p.mean(), "variance": np.sum(p * (1.0 - p)) / len(p) ** 2}


def probability_rows(n_seeds: int) -> Iterator[dict[str, object]]:
    """Means over the seeds."""
    results: dict[tuple[str, str, str], list[dict[str, float]]] = {}
    for seed in range(n_seeds):
        for name, train, test in rare_tables(seed):
            pq.write_table(train, "train.parquet")
            pq.write_table(test, "test.parquet")
            rare = pc.value_counts(test["target"]).field("counts").to_numpy().min()
            for risk in ("mean", "extremile:2"):
                for calibrate in ("none", "platt", "isotonic"):
                    found = fit_rare(risk, calibrate) | {"fraction": rare / len(test)}
                    results.setdefault((name, risk, calibrate), []).append(found)
    for (name, risk, calibrate), each in results.items():
        mean = {key: float(np.mean([found[key] for found in each])) for key in each[0]}
        error = np.sqrt(mean.pop("variance") / len(each))
        off = abs(mean["mean_probability"] - mean["fraction"])
        verdict = None if calibrate == "none" else off <= 0.1 * mean["fraction"] + 2.0 * error
        yield {"data": name, "risk": risk, "calibrate": calibrate, **mean, "within": verdict}


def small_table(name: str, rng: np.random.Generator) -> pa.Table | None:
    """Its rows in random order; None where it is not available."""
    if name == "generated":
        X = rng.normal(size=(600, 4))
        y = X @ [1.0, 0.5, 0.0, -1.0] + (1.0 + np.abs(X[:, 0])) * rng.exponential(size=600)
        return pa.table({f"x{j}": X[:, j] for j in range(4)} | {"y": y})
    if is_missing(f"{name}.csv"):
        return None
    table = pacsv.read_csv(REAL_DATA / f"{name}.csv")
    return table.take(rng.permutation(len(table)))


def interval_rows(n_splits: int) -> Iterator[dict[str, object]]:
    """Coverage of the half that was not learned from, over the splits."""
    for name, flags in SMALL.items():
        found: dict[str, list[tuple[float, float]]] = {method: [] for method in METHODS}
        for seed in range(n_splits):
            table = small_table(name, np.random.default_rng(seed))
            if table is None:
                break
            half = len(table) // 2
            pq.write_table(table.slice(0, half), "train.parquet")
            pq.write_table(table.slice(half), "test.parquet")
            for method, how in METHODS.items():
                lrisk("fit", "train.parquet", *flags, *how, "--risk", "extremile:2", "--seed",
                      str(seed), "--no-reference", "-o", "m.json", "--force")  # fmt: skip
                figures = lrisk("evaluate", "m.json", "test.parquet", "--interval", str(LEVEL))[
                    "metrics"
                ]
                found[method].append((figures["coverage"], figures["mean_width"]))
        for method, pairs in found.items():
            if pairs:
                yield coverage_row(name, method, np.array(pairs))


def coverage_row(name: str, method: str, pairs: np.ndarray) -> dict[str, object]:
    """The mean coverage; the bound is proved for split conformal intervals only."""
    coverage, width = pairs.mean(axis=0)
    error = pairs[:, 0].std(ddof=1) / np.sqrt(len(pairs))
    reached = bool(coverage >= LEVEL - 2.6 * error) if method == "split" else None
    return {
        "data": name, "conformal": method, "splits": len(pairs), "level": LEVEL,
        "coverage": float(coverage), "standard_error": float(error), "mean_width": float(width),
        "reached": reached,
    }  # fmt: skip


def main() -> None:
    options = make_parser(__doc__, quick="one seed and ten splits").parse_args()
    benchmark = start("reliability/calibration", options)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        rows = list(probability_rows(1 if options.quick else 5))
        rows += interval_rows(10 if options.quick else 200)
    names = dict.fromkeys(name for row in rows for name in row)
    benchmark.finish([{name: row.get(name) for name in names} for row in rows])


if __name__ == "__main__":
    main()
