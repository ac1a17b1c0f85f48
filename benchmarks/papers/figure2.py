"""How far do LSVRG, SGD and SRDA get in 64 passes, as in Figure 2 of the spectral-risk paper?

Bound: none; suboptimalities beside those of the paper's LSVRG.

Data: the folder `lerm_splits` of the real tables.

Four sets x four risks, mu = 1/n, no intercept, numbers as they are. The paper's setting: epochs of
N = n uniform steps, batches of 64, the step of the paper's grid with the least mean final
objective over seeds 1 to 5 (a diverged run counts as infinite). Beside it what lrisk chooses by
itself. Suboptimality is (F(w) - F*) / (F(0) - F*), F* from minima computed to at least 1e-12
(6e-8 for the superquantile). Passes are counted as lrisk counts them: steps / n, and one for each
evaluation of all rows, so an epoch of n steps is two passes.
"""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow.parquet as pq

from benchmarks.common.data import REAL_DATA, is_missing
from benchmarks.common.record import make_parser, results_path, start
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Sampling, SolverName
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits, Solution

DATA = REAL_DATA / "lerm_splits"
SETS = ("simulated", "yacht", "energy", "concrete")
GRID = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)
SEEDS = (1, 2, 3, 4, 5)
PASSES = 64


@dataclass(frozen=True, slots=True)
class SolverRun:
    """Runs of one method on one problem: the step, the seconds of a run, curves by seed.

    curves: for each seed the passes and the suboptimality at the end of each epoch.
    """

    method: str
    step: float | None
    seconds: float
    curves: tuple[tuple[np.ndarray, np.ndarray], ...]

    @property
    def final(self) -> float:
        """Mean suboptimality at the end."""
        return float(np.mean([values[-1] for _, values in self.curves]))


def read_minima() -> dict[tuple[str, str], tuple[float, float]]:
    """(set, risk) -> attained value and lower bound."""
    minima = {}
    with open(DATA / "reference_optima_unsmoothed.csv") as file:
        for row in csv.DictReader(file):
            parameter = row["spectrum_parameter"].partition("=")[2]
            risk = f"{row['spectrum']}:{parameter}" if parameter else row["spectrum"]
            name = Path(row["train_file"]).stem.removesuffix("_train")
            minima[name, risk] = (float(row["objective_attained"]), float(row["lower_bound"]))
    return minima


def read_rows(name: str, part: str = "train") -> tuple[np.ndarray, np.ndarray]:
    """The features and the target of a part of a set."""
    table = np.column_stack(pq.read_table(DATA / f"{name}_{part}.parquet").columns)
    return np.ascontiguousarray(table[:, :-1]), table[:, -1].copy()


def read_problem(
    name: str, risk: str, penalty: float = 1.0, smoothing: Smoothing | None = None
) -> Problem:
    """The squared losses of a set with mu = penalty / n."""
    X, y = read_rows(name)
    loss, spectrum = make_loss("squared"), parse_risk(risk)
    return make_problem(DenseRows(X), y, loss, spectrum, penalty / len(X), smoothing)


def paper_options(solver: SolverName, n_rows: int) -> Callable[[float | None, int], SolverOptions]:
    """The paper's setting of a method, but for its step and its seed."""
    if solver is SolverName.LSVRG:
        return lambda step, seed: SolverOptions(
            solver, step, epoch_length=n_rows, sampling=Sampling.UNIFORM, seed=seed
        )
    return lambda step, seed: SolverOptions(solver, step, batch_size=64, seed=seed)


def own_options(step: float | None, seed: int) -> SolverOptions:
    """What lrisk chooses: epochs of n/2 weighted steps, halved like the step after a stall."""
    return SolverOptions(SolverName.LSVRG, step, seed=seed)


def run(problem: Problem, options: SolverOptions, tol: float = 0.0) -> Solution:
    return solve(problem, options, Limits(tol=tol, max_passes=PASSES))


def objectives(solution: Solution) -> np.ndarray:
    """F at the end of each epoch."""
    return np.array([epoch.objective for epoch in solution.epochs])


def best_step(
    problem: Problem,
    make: Callable[[float | None, int], SolverOptions],
    seeds: Sequence[int] = SEEDS,
    tol: float = 0.0,
) -> float:
    """The paper's rule: least mean final objective, infinite if any run diverges."""
    means = []
    for step in GRID:
        runs = [run(problem, make(step, seed), tol) for seed in seeds]
        diverged = any(one.halvings for one in runs)
        means.append(np.inf if diverged else np.mean([objectives(one)[-1] for one in runs]))
    return GRID[int(np.argmin(means))]


def follow(
    label: str,
    problem: Problem,
    make: Callable[[float | None, int], SolverOptions],
    step: float | None,
    minimum: float,
    seeds: Sequence[int] = SEEDS,
    tol: float = 0.0,
) -> SolverRun:
    """Run all seeds with one step; the own setting is judged by the best point it returns."""
    at_zero = problem.at(np.zeros(problem.shape), problem.row_weighter()).objective
    curves, began = [], perf_counter()
    for seed in seeds:
        found = run(problem, make(step, seed), tol)
        values = objectives(found)
        if step is None:
            values = np.minimum.accumulate(values)
        passes = np.array([epoch.passes for epoch in found.epochs])
        curves.append((passes, (values - minimum) / (at_zero - minimum)))
    seconds = (perf_counter() - began) / len(seeds)
    return SolverRun(label, step, seconds, tuple(curves))


def courses(problem: Problem, minimum: float) -> list[SolverRun]:
    """The three methods in the paper's setting, and lsvrg in lrisk's own."""
    found = []
    for solver in (SolverName.LSVRG, SolverName.SGD, SolverName.SRDA):
        make = paper_options(solver, problem.n_rows)
        step = best_step(problem, make)
        found.append(follow(f"{solver} (paper)", problem, make, step, minimum))
    found.append(follow("lsvrg (lrisk's choice)", problem, own_options, None, minimum))
    return found


def draw(panels: dict[tuple[str, str], Sequence[SolverRun]], risks: Sequence[str]) -> None:
    """One panel for each set and risk, suboptimality against passes, seeds faint, median bold."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    colours = {"lsvrg (paper)": "C0", "sgd (paper)": "C1", "srda (paper)": "C2"}
    figure, axes = plt.subplots(len(SETS), len(risks), figsize=(13, 11), sharex=True)
    for (name, risk), found in panels.items():
        axis = axes[SETS.index(name), risks.index(risk)]
        for course in found:
            colour = colours.get(course.method, "black")
            shortest = min(len(passes) for passes, _ in course.curves)
            middle = np.median([np.maximum(v[:shortest], 1e-13) for _, v in course.curves], axis=0)
            axis.semilogy(course.curves[0][0][:shortest], middle, color=colour, label=course.method)
        axis.grid(alpha=0.3)
        if name == SETS[0]:
            axis.set_title(risk)
        if risk == risks[0]:
            axis.set_ylabel(f"{name}\nsuboptimality")
        if name == SETS[-1]:
            axis.set_xlabel("passes over the rows")
    axes[0, 0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(results_path("papers/figure2", "png"), dpi=80)


def main() -> None:
    parser = make_parser(__doc__, "one set only")
    options = parser.parse_args()
    benchmark = start("papers/figure2", options)
    if is_missing("lerm_splits"):
        return
    minima = read_minima()
    risks = ("mean", "superquantile:0.5", "extremile:2", "esrm:1")
    rows, panels = [], {}
    for name in SETS[:1] if options.quick else SETS:
        for risk in risks:
            found = courses(read_problem(name, risk), minima[name, risk][0])
            panels[name, risk] = found
            paper = found[0].final
            rows += [
                {
                    "set": name,
                    "risk": risk,
                    "method": course.method,
                    "step": course.step,
                    "suboptimality": course.final,
                    "of paper's lsvrg": course.final / paper,
                    "ms a run": 1e3 * course.seconds,
                }
                for course in found
            ]
    benchmark.finish(rows)
    if benchmark.recorded:
        draw(panels, risks)


if __name__ == "__main__":
    main()
