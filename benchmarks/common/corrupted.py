"""Real tables with planted outliers, for the benchmarks of robust fits.

Protocol where the subquantile paper is silent: 80 % of the rows to learn from, standardised by
their means and deviations, then exactly eps n of them corrupted; l2 = 1/n, gamma = 1/d, an
intercept; seeds 0..19 draw split and corruption. `lrisk` is the robust fit of `detect-outliers`,
which is not told eps. Rivals are told eps. The oracle is the mean fit to the clean rows (the
paper's genie).
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.common.data import REAL_DATA
from lrisk_cli.baselines.registry import parse_baseline
from lrisk_cli.design.design import DesignOptions, RawDesign, read_design
from lrisk_cli.evaluation.comparison import Comparison, ComparisonPlan, compare
from lrisk_cli.evaluation.corruption import parse_corruption
from lrisk_cli.evaluation.splits import hold_out
from lrisk_cli.features.features import FeatureOptions
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.names import KernelName, Missing, Task
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.tables.table import Table, open_table

FILES = {
    "wine": "wine_quality_red.csv", "boston": "boston_housing.csv", "energy": "energy_cooling.csv",
    "yacht": "yacht.csv", "concrete": "concrete.csv", "drug": "drug_qsar/*.parquet",
    "heart": "heart_cleveland.csv", "breast": "breast_cancer_wdbc.csv",
}  # fmt: skip
CLASSES = ("heart", "breast")
TEST_SHARE = 0.2


def open_set(name: str) -> tuple[Table, DesignOptions]:
    """A set by its name; its last column is the target."""
    table = open_table(sorted(str(path) for path in REAL_DATA.glob(FILES[name])))
    task = Task.CLASSIFICATION if name in CLASSES else Task.REGRESSION
    target = table.columns[-1].name
    return table, DesignOptions(target=target, task=task, missing=Missing.DROP)


def target_deviation(raw: RawDesign) -> float:
    """What errors are divided by."""
    return float(np.std(np.asarray(raw.usable.rows.target)))


def compare_methods(
    name: str,
    corruption: str | None,
    risks: Sequence[str],
    rivals: Sequence[str],
    kernel: KernelName,
    seeds: Sequence[int],
) -> tuple[Comparison, float]:
    """All methods on the splits of all seeds, and the deviation of the target (1 for classes)."""
    table, options = open_set(name)
    raw = read_design(table, options)
    gamma = None if kernel is KernelName.LINEAR else 1.0 / len(raw.features)
    features = FeatureOptions(kernel, gamma=gamma)
    planted = None if corruption is None else parse_corruption(corruption)
    plan = ComparisonPlan(
        tuple(FitOptions(parse_risk(risk), features=features, robust=True) for risk in risks),
        tuple(parse_baseline(rival) for rival in rivals),
        planted,
        0.0 if planted is None else planted.fraction,
        seeds[0],
    )
    n_rows = len(raw.usable.rows.rows)
    splits = [hold_out(n_rows, TEST_SHARE, seed) for seed in seeds]
    scale = 1.0 if name in CLASSES else target_deviation(raw)
    return compare(raw, options, plan, splits, "held out"), scale
