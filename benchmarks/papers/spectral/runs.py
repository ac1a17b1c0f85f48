"""Runs of the solvers in the spectral-risk paper's setting, counted in its epochs.

mu = 1/n, no intercept, numbers as they are. LSVRG: epochs of N = n uniform steps (1000 on emotion,
100 on iWildCam); SGD and SRDA: batches of 64; the step of the paper's grid with the least mean
final objective over seeds 1 to 5 (a diverged run counts as infinite); 64 epochs, in each of which
as many rows are drawn as there are, or, on emotion and iWildCam, as many gradients evaluated.
Suboptimality is (F(w) - F*) / (F(0) - F*), F* proved to a gap of 1e-10 of what is gained.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time

import numpy as np
import pyarrow.parquet as pq

from benchmarks.common.data import REAL_DATA
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Sampling, SolverName
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.loop import DIVERGED, Method
from lrisk_cli.solvers.lsvrg import Lsvrg
from lrisk_cli.solvers.options import PAPER_GRID
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.sgd import Sgd
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.srda import Srda
from lrisk_cli.solvers.work import Counts
from lrisk_cli.types import Array

DATA = REAL_DATA / "lerm_splits"
REGRESSION = ("simulated", "yacht", "energy", "concrete")
CLASSES = {"emotion": 6, "iwildcam": 60}
# Steps between sorts where the paper has not n (Sec. 4.2).
EPOCH_LENGTHS = {"emotion": 1000, "iwildcam": 100}
# What stands for the training rows of a set that has none here.
PARTS = {"iwildcam": "validation"}
LEAST = 1e-13
BATCH = 64
# No limit on passes shall end a run.
NEVER = 1e12


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is measured: the paper's setting, or a glance at it."""

    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    grid: tuple[float, ...] = PAPER_GRID
    epochs: int = 64
    minimum: float = 1e-10


FULL = Effort()
QUICK = Effort((1, 2), (3e-4, 1e-3, 1e-2, 1e-1), 64)


@dataclass(frozen=True, slots=True)
class SolverRun:
    """Runs of one method on one problem: the step and, by seed, suboptimality after each epoch.

    epochs, gradients (evaluations of one row, in n): (m,); values: (seeds, m). seconds: CPU time
    of the steps of a run, without evaluations.
    """

    method: str
    step: float | None
    epochs: Array
    gradients: Array
    values: Array
    seconds: float

    @property
    def middle(self) -> Array:
        """The median of the seeds. (m,)."""
        return np.asarray(np.maximum(np.median(self.values, axis=0), LEAST))

    @property
    def ends(self) -> Array:
        """The end of each seed. (seeds,)."""
        return np.maximum(self.values[:, -1], LEAST)

    @property
    def last(self) -> float:
        """The median of the ends."""
        return float(np.median(self.ends))

    def around(self, share: float, width: float = 0.1) -> float:
        """Geometric mean of the median near a share of the epochs, from `width` before it on."""
        at = self.epochs / self.epochs[-1]
        near = (at <= share) & (at >= share - width)
        return float(np.exp(np.mean(np.log(self.middle[near]))))

    @property
    def late_fall(self) -> float:
        """By what factor the median falls from three quarters of the epochs to the end."""
        return self.around(0.75) / self.around(1.0)

    @property
    def half_fall(self) -> float:
        """By what factor the median falls from half of the epochs to the end."""
        half = int(np.searchsorted(self.epochs, 0.5 * self.epochs[-1]))
        return float(self.middle[half] / self.middle[-1])


def read_rows(name: str, part: str) -> tuple[Array, Array]:
    """The features and the target of a part of a set."""
    table = np.column_stack(pq.read_table(DATA / f"{name}_{part}.parquet").columns)
    return np.ascontiguousarray(table[:, :-1], np.float64), table[:, -1].astype(np.float64)


def read_parts(name: str) -> tuple[Array, Array, Array, Array]:
    """Rows to learn from and to test on; those of classes are standardised by the former."""
    X, y = read_rows(name, PARTS.get(name, "train"))
    X_test, y_test = read_rows(name, "test")
    if name in CLASSES:
        mean, scale = X.mean(axis=0), X.std(axis=0)
        X, X_test = (np.ascontiguousarray((each - mean) / scale) for each in (X, X_test))
    return X, y, X_test, y_test


def read_problem(
    name: str, risk: str, penalty: float = 1.0, smoothing: Smoothing | None = None
) -> Problem:
    """The losses of a set with mu = penalty / n."""
    X, y, _, _ = read_parts(name)
    n_classes = CLASSES.get(name)
    loss = make_loss("logistic", n_classes) if n_classes else make_loss("squared")
    y = y.astype(np.int32) if n_classes else y
    return make_problem(DenseRows(X), y, loss, parse_risk(risk), penalty / len(X), smoothing)


def judge_on(name: str) -> Callable[[Array], Array]:
    """Test losses from coefficients."""
    _, _, X, y = read_parts(name)
    n_classes = CLASSES.get(name)
    loss = make_loss("logistic", n_classes) if n_classes else make_loss("squared")
    targets = loss.targets(y.astype(np.int32) if n_classes else y)
    return lambda W: loss.values(np.ascontiguousarray(X @ W), targets)


def minimum_of(problem: Problem, tol: float = 1e-10) -> Solution:
    """The best point, proved to a gap of tol of what is gained."""
    return solve(problem, SolverOptions(), Limits(tol=tol, max_passes=20_000))


@dataclass(frozen=True, slots=True)
class Setting:
    """A method of the paper but for its step: steps between sorts are `length` n (LSVRG).

    by_gradients: as many gradients are evaluated as in epochs of the other methods, not as many
    steps taken.
    """

    solver: SolverName
    length: float = 1.0
    sampling: Sampling = Sampling.UNIFORM
    checkpoints: float = 0.0
    by_gradients: bool = False

    def method(self, problem: Problem, seed: int) -> Method:
        """The method with a seed."""
        if self.solver is SolverName.SGD:
            return Sgd(problem, seed, BATCH)
        if self.solver is SolverName.SRDA:
            return Srda(problem, seed, BATCH)
        n = problem.n_rows
        return Lsvrg(problem, seed, round(self.length * n), self.checkpoints / n, self.sampling)

    def spent(self, counts: Counts, n_rows: int) -> float:
        """Of the budget, in epochs."""
        return counts.gradient_evaluations / n_rows if self.by_gradients else counts.epochs


LSVRG = Setting(SolverName.LSVRG)
SGD, SRDA = Setting(SolverName.SGD), Setting(SolverName.SRDA)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One run. epochs, gradients, objectives: after each sort or sweep. All (m,)."""

    epochs: Array
    gradients: Array
    objectives: Array
    seconds: float


def travel(
    problem: Problem,
    setting: Setting,
    step: float,
    seed: int,
    n_epochs: int,
    see: Callable[[Array], None] = lambda _: None,
) -> Trajectory | None:
    """As the paper runs it: nothing is proved, kept or undone. None where it diverges.

    seconds: of the steps; for LSVRG with the sorts, which belong to the method. see: gets the
    losses of each evaluation. Objectives are those of the risk itself.
    """
    method, weigher = setting.method(problem, seed), problem.row_weighter()
    point, took = problem.at(np.zeros(problem.shape), weigher), 0.0
    method.restart(point.W)
    ceiling = DIVERGED * point.objective
    counts, objectives, seconds = Counts(), [point.objective], 0.0
    done = [(0.0, 0)]
    while setting.spent(counts, problem.n_rows) < n_epochs - 1e-9:
        see(point.losses)
        began = process_time()
        W, work = method.advance(point, step)
        middle = process_time()
        point = problem.at(W, weigher)
        took = process_time() - middle
        sorts = took if setting.solver is SolverName.LSVRG else 0.0
        seconds += middle - began + sorts
        counts += work.counts
        done.append((counts.epochs, counts.gradient_evaluations))
        objectives.append(point.objective)
        if not point.objective <= ceiling:
            return None
    see(point.losses)
    epochs, gradients = np.array(done, np.float64).T
    return Trajectory(epochs, gradients, np.array(objectives), seconds)


def follow(
    method: str,
    problem: Problem,
    setting: Setting,
    minimum: float,
    effort: Effort,
) -> SolverRun:
    """All seeds with the best step of the grid, by the paper's rule."""
    best: tuple[float, float | None, list[Trajectory]] = (np.inf, None, [])
    for step in effort.grid:
        runs = []
        for seed in effort.seeds:
            found = travel(problem, setting, step, seed, effort.epochs)
            if found is None:
                break
            runs.append(found)
        else:
            mean = float(np.mean([each.objectives[-1] for each in runs]))
            if mean < best[0]:
                best = (mean, step, runs)
    runs = best[2]
    if not runs:
        return SolverRun(method, None, np.arange(2.0), np.arange(2.0), np.full((1, 2), 2.0), np.inf)
    at_zero = runs[0].objectives[0]
    values = (np.array([each.objectives for each in runs]) - minimum) / (at_zero - minimum)
    seconds = float(np.median([each.seconds for each in runs]))
    gradients = runs[0].gradients / problem.n_rows
    return SolverRun(method, best[1], runs[0].epochs, gradients, values, seconds)


def own(problem: Problem, minimum: float, effort: Effort) -> SolverRun:
    """What lrisk chooses: n/2 steps by weight, step and length shortened after a stall."""
    runs = []
    for seed in effort.seeds:
        options = SolverOptions(SolverName.LSVRG, seed=seed, max_epochs=float(effort.epochs))
        runs.append(solve(problem, options, Limits(tol=minimum_tol(effort), max_passes=NEVER)))
    at_zero, epochs = runs[0].epochs[0].objective, np.arange(effort.epochs + 1.0)
    values = []
    for each in runs:
        best = np.minimum.accumulate([epoch.objective for epoch in each.epochs])
        at = np.array([epoch.counts.epochs for epoch in each.epochs])
        values.append(np.interp(epochs, at, (best - minimum) / (at_zero - minimum)))
    return SolverRun("lsvrg (lrisk)", None, epochs, epochs, np.array(values), float("nan"))


def minimum_tol(effort: Effort) -> float:
    """The gap at which lrisk's own runs may stop: below what a figure shows."""
    return 10.0 * effort.minimum
