"""Learning from corrupted rows: Tables 1-3 of the subquantile paper, and fits beside the oracle's.

Protocol where the paper is silent: 80 % of the rows to learn from, standardised by their means and
deviations, then exactly eps n of them corrupted; l2 = 1/n, gamma = 1/d, an intercept; seeds 0..19
draw split and corruption. `lrisk` is `fit --risk subquantile:1-eps` with its defaults; rivals are
told eps. RMSE is in deviations of the target. The oracle is the mean fit to the clean rows (the
paper's genie). Needs the folder of real data.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from record import record

from lrisk_cli.comparison import ORACLE, Comparison, Contest, Standing, compare
from lrisk_cli.contamination import find_border
from lrisk_cli.corruption import Corruption
from lrisk_cli.design import DesignOptions, RawDesign, build_design, read_design
from lrisk_cli.features import FeatureOptions
from lrisk_cli.fitting import FitOptions
from lrisk_cli.losses import make_loss
from lrisk_cli.majority import find_majority
from lrisk_cli.names import KernelName, Missing, Task
from lrisk_cli.rivals.registry import parse_rival
from lrisk_cli.spectra import Spectrum
from lrisk_cli.splits import hold_out
from lrisk_cli.tables import open_table

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = {
    "wine": "wine_quality_red.csv", "boston": "boston_housing.csv", "energy": "energy_cooling.csv",
    "yacht": "yacht.csv", "concrete": "concrete.csv", "drug": "drug_qsar/*.parquet",
    "heart": "heart_cleveland.csv", "breast": "breast_cancer_wdbc.csv",
}  # fmt: skip
CLASSES = ("heart", "breast")
TEST_SHARE = 0.2


@dataclass(frozen=True)
class Column:
    """A column of one of the tables; what it prints for Subquantile and for the best of all."""

    table: int
    data: str
    corruption: str
    kernel: KernelName
    printed: float
    printed_best: float


RBF, LINEAR = KernelName.RBF, KernelName.LINEAR
COLUMNS = (
    Column(1, "concrete", "label:0.2", RBF, 0.519, 0.519),
    Column(1, "concrete", "label:0.4", RBF, 0.547, 0.547),
    Column(1, "wine", "label:0.2", RBF, 0.808, 0.808),
    Column(1, "wine", "label:0.4", RBF, 0.827, 0.827),
    Column(1, "boston", "label:0.2", RBF, 0.468, 0.468),
    Column(1, "boston", "label:0.4", RBF, 0.458, 0.458),
    Column(1, "drug", "label:0.2", RBF, 1.280, 1.172),
    Column(1, "drug", "label:0.4", RBF, 1.372, 1.215),
    Column(2, "boston", "label:0.2", LINEAR, 0.503, 0.503),
    Column(2, "boston", "label+feature:0.2", LINEAR, 0.560, 0.560),
    Column(2, "wine", "label:0.2", LINEAR, 0.813, 0.813),
    Column(2, "wine", "label+feature:0.2", LINEAR, 0.821, 0.821),
    Column(2, "concrete", "label:0.2", LINEAR, 0.757, 0.684),
    Column(2, "concrete", "label+feature:0.2", LINEAR, 0.630, 0.630),
    Column(2, "drug", "label:0.2", LINEAR, 1.244, 1.185),
    Column(2, "drug", "label+feature:0.2", LINEAR, 2.413, 1.147),
    Column(3, "heart", "flip:0.2", RBF, 0.846, 0.846),
    Column(3, "heart", "flip:0.4", RBF, 0.597, 0.625),
    Column(3, "heart", "label+feature:0.2", RBF, 0.830, 0.830),
    Column(3, "heart", "label+feature:0.4", RBF, 0.516, 0.677),
    Column(3, "breast", "flip:0.2", RBF, 0.956, 0.956),
    Column(3, "breast", "flip:0.4", RBF, 0.785, 0.793),
    Column(3, "breast", "label+feature:0.2", RBF, 0.955, 0.972),
    Column(3, "breast", "label+feature:0.4", RBF, 0.823, 0.973),
)
RIVALS = {
    1: ("erm", "term", "sever"),
    2: ("erm", "ransac", "crr", "stir", "sever", "term", "huber", "trimmed-ml"),
    3: ("svm", "sever", "term"),
}
# Test RMSE over the oracle's, by corruption: the bound, and the sets that have one of their own.
LINEAR_BOUNDS = {
    "label+feature:0.2": (1.01, {}),
    "label+feature:0.4": (1.01, {}),
    "label:0.2": (1.05, {"concrete": 1.10}),
    "label:0.4": (1.07, {"yacht": 1.12, "concrete": 1.05}),
}
MISJUDGED = 1.10
PRECISION = {"0.2": 0.98, "0.4": 0.97}


def read(name: str) -> tuple[RawDesign, DesignOptions, float]:
    """The rows of a set, how they are encoded, and the deviation of the target."""
    file, task = FILES[name], Task.CLASSIFICATION if name in CLASSES else Task.REGRESSION
    paths = sorted(str(path) for path in DATA.glob(file))
    table = open_table(paths)
    options = DesignOptions(target=table.columns[-1].name, task=task, missing=Missing.DROP)
    raw = read_design(table, options)
    cells = raw.gathered.rows.target
    deviation = 1.0 if task is Task.CLASSIFICATION else float(np.std(np.asarray(cells)))
    return raw, options, deviation


def contest(
    name: str, corruption: str, risks: Sequence[str], rivals: Sequence[str], kernel: KernelName,
    n_seeds: int,
) -> tuple[Comparison, float]:  # fmt: skip
    """All methods on the splits of all seeds."""
    raw, options, deviation = read(name)
    n_rows = len(raw.gathered.rows.rows)
    kind, _, share = corruption.partition(":")
    d = len(raw.features)
    features = FeatureOptions(kernel, gamma=None if kernel is LINEAR else 1.0 / d)
    fits = tuple(FitOptions(_risk(risk), features=features) for risk in risks)
    field = Contest(
        fits, tuple(parse_rival(rival) for rival in rivals), Corruption(kind, float(share)),
        float(share), 0,
    )  # fmt: skip
    splits = [hold_out(n_rows, TEST_SHARE, seed) for seed in range(n_seeds)]
    return compare(raw, options, field, splits, "held out"), deviation


def _risk(text: str) -> Spectrum:
    name, _, share = text.partition(":")
    return Spectrum(name, float(share))


def figures(standing: Standing, metric: str, scale: float) -> dict[str, float]:
    values = np.array(standing.values(metric)) / scale
    return {"mean": float(values.mean()), "deviation": float(values.std(ddof=1))}


def paper_table(column: Column, n_seeds: int) -> dict[str, object]:
    """One column: every method, ours against the best of them and against the paper's figure."""
    eps = float(column.corruption.partition(":")[2])
    risk = f"subquantile:{1.0 - eps:g}"
    found, scale = contest(
        column.data, column.corruption, [risk], RIVALS[column.table], column.kernel, n_seeds
    )
    metric = "accuracy" if column.data in CLASSES else "rmse"
    sign = -1.0 if metric == "accuracy" else 1.0
    scale = 1.0 if metric == "accuracy" else scale
    methods = {each.method: figures(each, metric, scale) for each in found.standings}
    ours, oracle = methods[risk], methods[ORACLE]
    rivals = {name: each for name, each in methods.items() if name not in (risk, ORACLE)}
    best = min(rivals, key=lambda name: sign * rivals[name]["mean"])
    behind = sign * (ours["mean"] - rivals[best]["mean"])
    return {
        "table": column.table, "data": column.data, "corruption": column.corruption,
        "kernel": str(column.kernel), "metric": metric, "lrisk": ours, "oracle": oracle,
        "rivals": rivals, "best_rival": best, "paper_subquantile": column.printed,
        "paper_best": column.printed_best,
        "within_a_deviation_of_the_best": bool(behind <= max(ours["deviation"], 1e-12)),
        "as_good_as_printed": bool(sign * (ours["mean"] - column.printed) <= 5e-4),
        "oracle_as_good_as_printed": bool(sign * (oracle["mean"] - column.printed) <= 5e-4),
    }  # fmt: skip


def linear_fits(name: str, corruption: str, n_seeds: int) -> list[dict[str, object]]:
    """Linear subquantiles, the share known and misjudged, over the oracle split by split."""
    eps = float(corruption.partition(":")[2])
    risks = [f"subquantile:{1.0 - share:g}" for share in (eps, eps + 0.05, eps - 0.05)]
    found, _ = contest(name, corruption, risks, (), LINEAR, n_seeds)
    by_name = {each.method: each for each in found.standings}
    oracle = np.array(by_name[ORACLE].values("rmse"))
    bound, own = LINEAR_BOUNDS[corruption]
    rows = []
    for risk in risks:
        ratios = np.array(by_name[risk].values("rmse")) / oracle
        precision = np.array(by_name[risk].values("precision"))
        precision = precision / np.array(by_name[ORACLE].values("precision"))
        most = own.get(name, bound) if risk == risks[0] else MISJUDGED
        rows.append({
            "data": name, "corruption": corruption, "risk": risk, "bound": most,
            "rmse_over_oracle": float(ratios.mean()), "worst_seed": float(ratios.max()),
            "reached": bool(ratios.mean() <= most),
            "precision_over_oracle": float(precision.mean()),
            "precision_bound": PRECISION[f"{eps:g}"],
            "precision_reached": bool(precision.mean() >= PRECISION[f"{eps:g}"]),
        })  # fmt: skip
    return rows


def estimated_share(name: str, corruption: str, n_seeds: int) -> dict[str, object]:
    """The share that `--contamination auto` estimates, beside the planted one."""
    from lrisk_cli.corruption import corrupt, parse_corruption
    from lrisk_cli.threads import one_thread

    planted = parse_corruption(corruption)
    raw_options = read(name)[1]
    table = open_table([str(path) for path in sorted(DATA.glob(FILES[name]))])
    n_classes = 2 if name in CLASSES else None
    loss = make_loss("logistic", 2) if n_classes else make_loss("squared", 0)
    ratios = []
    for seed in range(n_seeds):
        design, _ = build_design(table, raw_options)
        spoilt = corrupt(design.X, design.y, n_classes, planted, seed)
        with one_thread():
            found = find_majority(spoilt.X, spoilt.y, loss, constant=True)
        ratios.append(found.fraction / float(spoilt.mask.mean()))
    return {
        "data": name, "corruption": corruption, "share_over_planted": float(np.mean(ratios)),
        "least": min(ratios), "most": max(ratios),
        "reached": bool(0.8 <= np.mean(ratios) <= 1.2),
    }  # fmt: skip


def clean_rows(n_seeds: int) -> dict[str, object]:
    """Share of normal rows flagged where nothing is wrong, n = 1000, by regression of 5 columns."""
    flagged = []
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.standard_normal((1000, 5)), np.ones(1000)])
        errors = rng.standard_normal(1000)
        found = find_majority(
            X, X @ np.arange(6.0) + errors, make_loss("squared", 0), constant=True
        )
        border = find_border(0.5 * errors**2, "squared", None)
        flagged.append((float(np.mean(found.weights < 0.5)), border.fraction))
    most = float(np.max(flagged))
    return {"flagged_at_most": most, "bound": 0.01, "reached": most <= 0.01}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", choices=("tables", "linear", "shares"), default=None)
    asked = parser.parse_args()
    results: dict[str, object] = {"seeds": asked.seeds}
    if asked.only in (None, "linear"):
        results["linear"] = linear = [
            row
            for name in ("wine", "boston", "energy", "yacht", "concrete")
            for corruption in LINEAR_BOUNDS
            for row in linear_fits(name, corruption, asked.seeds)
        ]
        for row in linear:
            print({key: row[key] for key in row if key != "bound"}, flush=True)
    if asked.only in (None, "shares"):
        results["clean"] = clean_rows(asked.seeds)
        print(results["clean"], flush=True)
        results["shares"] = shares = [
            estimated_share(name, f"{kind}:{eps:g}", asked.seeds)
            for name in ("wine", "boston", "energy", "yacht", "concrete", *CLASSES)
            for kind in (("flip",) if name in CLASSES else ("label", "label+feature"))
            for eps in (0.05, 0.2, 0.4)
        ]
        for row in shares:
            print(row, flush=True)
    if asked.only in (None, "tables"):
        results["tables"] = tables = []
        for column in COLUMNS:
            tables.append(paper_table(column, asked.seeds))
            print(tables[-1], flush=True)
    if asked.only is None:
        record("robust", results)


if __name__ == "__main__":
    main()
