"""How do test errors grow with the fraction of wrong rows, and what is momentum worth?

Bound: none; Figure 2 of the subquantile paper and a breakdown plot.

Data: wine, boston, energy, yacht and concrete of the real tables.

The picture has a panel for each set, eps from 0 to 0.49, label noise, linear fits, means of the
seeds. The results are those figures, and the subgradient method (the paper's Figure 2) on Boston
and concrete, Gaussian kernel, subquantile:0.8, label:0.2: steps to the objective that plain descent
ends with. Protocol: see benchmarks/common/corrupted.py.
"""

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from benchmarks.common.corrupted import compare_methods, open_set
from benchmarks.common.data import is_missing
from benchmarks.common.record import make_parser, results_path, start
from lrisk_cli.design.design import build_design
from lrisk_cli.evaluation.comparison import ORACLE
from lrisk_cli.evaluation.corruption import corrupt, parse_corruption
from lrisk_cli.features.features import FeatureOptions, build_features
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import KernelName, SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

SETS = ("wine", "boston", "energy", "yacht", "concrete")
FRACTIONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.49)
RIVALS = ("erm", "huber", "term", "sever", "ransac", "crr", "stir", "trimmed-ml")
MOMENTA = {
    "plain": {},
    "momentum 0.9": {"momentum": 0.9},
    "nesterov 0.9": {"momentum": 0.9, "nesterov": True},
}
N_STEPS = 1500

Row = dict[str, object]


def breakdown(name: str, eps: float, seeds: range) -> list[Row]:
    """Every method at one fraction of wrong rows."""
    risk = f"subquantile:{1.0 - eps:g}"
    found, scale = compare_methods(
        name, f"label:{eps:g}" if eps else None, [risk], RIVALS, KernelName.LINEAR, seeds
    )
    return [
        {
            "what": "breakdown",
            "data": name,
            "eps": eps,
            "method": "lrisk" if each.method == risk else each.method,
            "rmse": float(np.mean(each.values("rmse"))) / scale,
            "steps": None,
        }
        for each in found.results
    ]


def descent(name: str) -> list[Row]:
    """Steps that each kind of momentum takes to where plain descent ends."""
    design, _ = build_design(*open_set(name))
    spoilt = corrupt(design.rows, design.y, None, parse_corruption("label:0.2"), 0)
    d = design.rows.shape[1] - 1
    features = build_features(
        spoilt.rows, FeatureOptions(KernelName.RBF, gamma=1.0 / d), constant=True
    )
    problem = make_problem(
        features.phi, spoilt.y, make_loss("squared"), parse_risk("subquantile:0.8"),
        1.0 / len(spoilt.y), None, features.outer,
    )  # fmt: skip
    runs = {}
    for kind, how in MOMENTA.items():
        options = SolverOptions(SolverName.SUBGRADIENT, **how)
        runs[kind] = solve(problem, options, Limits(tol=0.0, max_passes=N_STEPS))
    target = runs["plain"].objective
    rows = []
    for kind, run in runs.items():
        objectives = np.minimum.accumulate([epoch.objective for epoch in run.epochs])
        reached = np.flatnonzero(objectives <= target * (1.0 + 1e-9))
        rows.append({
            "what": "steps to the end of plain descent", "data": name, "eps": 0.2, "method": kind,
            "rmse": None, "steps": int(reached[0]) if len(reached) else None,
        })  # fmt: skip
    return rows


def draw(rows: list[Row], path: Path) -> None:
    """A panel for each set, a line for each method."""
    figure, panels = plt.subplots(1, len(SETS), figsize=(4 * len(SETS), 4), sharex=True)
    for panel, name in zip(panels, SETS, strict=True):
        for method in ("lrisk", *RIVALS, ORACLE):
            line = [row for row in rows if row["data"] == name and row["method"] == method]
            strong = {"lrisk": {"linewidth": 3, "color": "black"}}.get(method, {})
            dashed = {"linestyle": "--", "color": "grey"} if method == ORACLE else {}
            panel.plot(
                [row["eps"] for row in line], [row["rmse"] for row in line], label=method,
                **strong, **dashed,
            )  # fmt: skip
        panel.set(title=name, xlabel="fraction of wrong rows", ylim=(0.2, 3.0))
    panels[0].set_ylabel("test RMSE, standard deviations of the target")
    panels[-1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=80)


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    benchmark = start("papers/breakdown", options)
    if is_missing():
        return
    seeds = range(options.seeds)
    rows = [row for name in SETS for eps in FRACTIONS for row in breakdown(name, eps, seeds)]
    if benchmark.recorded:
        draw(rows, results_path("papers/breakdown", "png"))
    benchmark.finish([*rows, *descent("boston"), *descent("concrete")])


if __name__ == "__main__":
    main()
