"""Problems of many rows for methods that only sweep them, and runs of the binned method."""

from typing import NamedTuple

import numpy as np

from helpers.problems import plain_risk
from lrisk_cli.engines.memory import MemoryEngine
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.native.threads import one_thread
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.binned import BinnedRun, Minimised
from lrisk_cli.solvers.binned_beside import MeanFit
from lrisk_cli.solvers.binned_start import Sample, start_from
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits, Solution

KINDS = ("plain", "scales", "tails", "rounded", "logistic", "rare", "classes", "noise", "constant",
         "no classes")  # fmt: skip


class Many(NamedTuple):
    """X, y and the loss. seed: of the sample."""

    X: np.ndarray
    y: np.ndarray
    loss: Loss
    risk: str
    mu: float


def many_rows(kind: str, risk: str, *, n: int = 30_000, d: int = 6, seed: int = 0) -> Many:
    """Rows of a kind: columns of very unlike scales, heavy tails, ties, classes of any sort."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    w = rng.standard_normal(d) / np.sqrt(d)
    X = np.round(2.0 * X) / 2.0 if kind == "rounded" else X
    noise = rng.standard_t(2.5, n) if kind == "tails" else rng.standard_normal(n)
    y = X @ w + 0.5 * noise
    y = np.round(y) if kind == "rounded" else y
    X = X * np.geomspace(1.0, 1e-4, d) if kind == "scales" else X
    loss = make_loss("squared", 0)
    slopes = {"logistic": (4.0, 0.0), "rare": (3.0, -4.0), "noise": (0.0, 0.0)}
    if kind in slopes or kind == "constant":
        slope, offset = slopes.get(kind, (0.0, -1.0))
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-slope * (X @ w) - offset))).astype(np.int32)
        loss = make_loss("logistic", 2)
    elif kind in ("classes", "no classes"):
        signal = (3.0 if kind == "classes" else 0.0) * X @ rng.standard_normal((d, 4))
        y = np.argmax(signal + rng.gumbel(size=(n, 4)), axis=1).astype(np.int32)
        loss = make_loss("logistic", 4)
    else:
        y = (y - y.mean()) / y.std()
    X = np.ascontiguousarray(np.column_stack([X, np.ones(n)]))
    return Many(X, loss.targets(y), loss, risk, 1.0 / n)


class Swept(NamedTuple):
    """What a run found, its passes with one for the statistics, and the fit of the mean."""

    found: Minimised
    passes: int
    mean: MeanFit


def sweep(many: Many, *, tol: float = 1e-6, sample: int = 6000, most: float = 20.0) -> Swept:
    """Run the binned method on rows in memory, from a sample of them."""
    rows, spectrum = DenseRows(many.X), parse_risk(many.risk)
    some = np.random.default_rng(1).permutation(len(many.y))[:sample]
    with one_thread(), np.errstate(all="ignore"):
        drawn = Sample(rows.take(some), many.y[some], many.loss, spectrum, many.mu, len(many.y))
        limits = Limits(tol=tol, max_passes=most)
        start = start_from(drawn, limits, MemoryEngine)
        engine = MemoryEngine(rows, many.y)
        engine.passes = 1
        near = make_problem(drawn.rows, drawn.y, many.loss, parse_risk("mean"), many.mu)
        mean = MeanFit(many.loss, many.mu, solve(near, SolverOptions(), Limits()).W, 1e-6)
        run = BinnedRun(engine, many.loss, spectrum, many.mu, limits, mean=mean)
        return Swept(run.run(start), engine.passes, mean)


def solved(many: Many, tol: float = 1e-9) -> Solution:
    """The same problem in memory, with its own certificate."""
    problem = make_problem(DenseRows(many.X), many.y, many.loss, parse_risk(many.risk), many.mu)
    return solve(problem, SolverOptions(), Limits(tol=tol, max_passes=3000.0))


def objective(many: Many, W: np.ndarray) -> float:
    """F(W) by sorting all losses."""
    losses = many.loss.values(np.ascontiguousarray(many.X @ W), many.y)
    return plain_risk(losses, many.risk) + 0.5 * many.mu * float(np.sum(W * W))
