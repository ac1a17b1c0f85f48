"""The start of a binned run: the optimum of a uniform sample, and how far it may be off.

Letters: m rows in the sample of n, D unknowns, q the level where a superquantile jumps.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.names import SmoothingName
from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.binned import loss_bins
from lrisk_cli.risk.density import density_of
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.rows import Rows
from lrisk_cli.rows.sweeps import Engine
from lrisk_cli.solvers.binned import BinnedRun, Minimised, Start
from lrisk_cli.solvers.binned_plan import MOST_ZONE, quantiles_of
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.types import Array, Targets

# A first sample is this fraction of the sample: how much W moves from one to the other tells how
# much it will move from the sample to all rows.
FIRST, FEWEST = 16, 4096
# Standard deviations of the sample's quantile, and times the expected movement, that a zone covers.
SAFE, MOVES = 4.5, 2.0
# What the sample's optimum may miss of the gain, times D / (m (1 - q)): it is off by more itself.
OF_NOISE, LEAST_TOL, MOST_PASSES = 0.05, 1e-2, 300.0
# Rows of the sample that a metric of lengths is made of.
METRIC_ROWS = 20_000
# A gap at the sample's optimum that is so many times its noise is one of the weights, not of W.
UNPROVED, LEAST_UNPROVED = 100.0, 1e-3
# The first smoothing: weights share losses that differ by about this fraction of F(0).
WIDE = 0.3
# How many smoothings are tried on the sample, each finer, and sweeps with each.
MOST_SMOOTHINGS, FINER, SWEEPS = 24, 4.0, 12
# Rows of the sample with which smoothings are tried, before all of it is used.
FEW = 32_768

EngineOf = Callable[[Rows, Targets], Engine]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """A uniform sample of n rows, in a random order, and what is minimised."""

    rows: Rows
    y: Targets
    loss: Loss
    spectrum: Spectrum
    mu: float
    n: int

    @property
    def size(self) -> int:
        """Rows of the sample."""
        return self.rows.shape[0]

    @property
    def unknowns(self) -> int:
        """Coefficients."""
        return self.rows.shape[1] * self.loss.n_outputs

    def first(self, size: int) -> "Sample":
        """A smaller sample."""
        if size >= self.size:
            return self
        return replace(self, rows=self.rows.take(slice(0, size)), y=self.y[:size])

    def losses(self, W: Array) -> Array:
        """Losses of its rows. (m,)."""
        return self.loss.values(self.rows.margins(W), self.y)

    def tol(self, limits: Limits) -> float:
        """The gap that its noise calls for."""
        steepest = density_of(self.spectrum).largest / self.size
        return min(max(limits.tol, OF_NOISE * self.unknowns * steepest), LEAST_TOL)

    def optimum(self, limits: Limits, start: Array | None, report: Report) -> Array:
        """The optimum, as exactly as its noise calls for."""
        problem = make_problem(self.rows, self.y, self.loss, self.spectrum, self.mu)
        near = replace(limits, tol=self.tol(limits), max_passes=MOST_PASSES).begun()
        return solve(problem, SolverOptions(), near, report, start).W


def start_from(
    sample: Sample, limits: Limits, engine_of: EngineOf, report: Report = silent
) -> Start:
    """Minimise on the sample. engine_of: makes an engine of rows and targets in memory."""
    few = sample.first(max(FEWEST, sample.size // FIRST, 2 * sample.unknowns))
    before = None if few is sample else few.optimum(limits, None, report)
    W = sample.optimum(limits, before, report)
    losses = sample.losses(W)
    start = Start(W, quantiles_of(losses), 0.0, _metric(sample), *_gained(sample, W, losses))
    kept = sample.spectrum.kept(float(sample.n))
    if kept is None:
        if sample.spectrum.flat or not _is_tied(sample, start, limits, engine_of):
            return start
        return _smoothed(start, sample, limits, engine_of)
    level = 1.0 - kept / sample.n
    start = replace(start, doubt=_doubt(sample, start, losses, level, before, few.size))
    if _is_crowded(sample, start, losses, level):
        return _smoothed(start, sample, limits, engine_of)
    return start


def _metric(sample: Sample) -> Array | None:
    """X' X / m + mu I of some rows; none where losses are quadratic."""
    if sample.loss.quadratic:
        return None
    m, d = min(sample.size, METRIC_ROWS), sample.rows.shape[1]
    return sample.rows.gram(np.ones(m), slice(0, m)) / m + sample.mu * np.eye(d)


def _gained(sample: Sample, W: Array, losses: Array) -> tuple[float, float]:
    """F(0) of the sample, and what it gains at W."""
    zero = loss_bins(sample.losses(np.zeros_like(W))).risk(sample.spectrum)
    here = loss_bins(losses).risk(sample.spectrum) + 0.5 * sample.mu * float(np.sum(W * W))
    return zero, max(zero - here, 1e-6 * zero)


def _doubt(
    sample: Sample, start: Start, losses: Array, q: float, before: Array | None, small: int
) -> float:
    """Levels by which the threshold of all rows may be off that of the sample.

    before: the optimum of its first rows, `small` of them.
    """
    m, n, known = sample.size, sample.n, start.quantiles
    if m >= n:
        return 0.0
    doubt = SAFE * float(np.sqrt(q * (1.0 - q) / m)) + 2.0 * sample.unknowns / m
    near = np.flatnonzero(np.abs(np.interp(losses, known.q, known.t) - q) < 0.1 * (1.0 - q))
    if before is not None and len(near):
        rows, y = sample.rows.take(near), sample.y[near]
        away = losses[near] - sample.loss.values(rows.margins(before), y)
        ratio = (1.0 / m - 1.0 / n) / (1.0 / small - 1.0 / m)
        step = MOVES * float(np.sqrt(np.mean(away**2) * ratio))
        cut = float(known.at(q))
        ends = np.interp([cut - step, cut + step], known.q, known.t)
        doubt = max(doubt, float(np.abs(ends - q).max()))
    return min(doubt, MOST_ZONE / (2.0 * n))


def _is_crowded(sample: Sample, start: Start, losses: Array, q: float) -> bool:
    """Whether far more rows than a zone has tie with the threshold."""
    half = max(start.doubt, 1e-12)
    low, high = start.quantiles.at(np.array([max(q - half, 0.0), min(q + half, 1.0)]))
    share = float(np.mean((losses >= low * (1.0 - 1e-9)) & (losses <= high * (1.0 + 1e-9))))
    return share > 4.0 * max(2.0 * half, 20.0 / sample.size)


def _is_tied(sample: Sample, start: Start, limits: Limits, engine_of: EngineOf) -> bool:
    """Whether the weights of the losses as ranked prove nothing at the optimum of the sample.

    Then rows tie, as at W = 0, and share weights.
    """
    engine = engine_of(sample.rows, sample.y)
    once = replace(limits, max_passes=1.0).begun()
    run = BinnedRun(engine, sample.loss, sample.spectrum, sample.mu, once)
    noise = max(UNPROVED * sample.tol(limits), LEAST_UNPROVED)
    return run.run(start).certificate.gap > noise


def _smoothed(start: Start, sample: Sample, limits: Limits, engine_of: EngineOf) -> Start:
    """Minimise on the sample with smoothed weights, as finely smoothed as the gap calls for."""
    few = sample.first(FEW)
    m, small = sample.size, few.size
    nu = WIDE * start.at_zero * small
    smoothing = Smoothing(SmoothingName.L2, nu)
    problem = make_problem(few.rows, few.y, few.loss, few.spectrum, few.mu, smoothing)
    near = replace(limits, tol=1e-4, max_passes=100.0).begun()
    W = solve(problem, SolverOptions(), near, silent, start.W).W
    engine, before, drift = engine_of(few.rows, few.y), None, np.zeros_like(W)
    run, found = _steps(start, few, W, nu, engine, limits)
    for _ in range(MOST_SMOOTHINGS):
        if found.converged:
            break
        # W is nearly linear in nu where ties are shared ever more finely.
        here: Array = found.smoothed
        W = here if before is None else here + (here - before) / FINER
        if before is not None:
            drift = (before - here) / (nu * (FINER - 1.0))
        before, nu = here, nu / FINER
        run, found = _steps(start, few, W, nu, engine, limits)
    if small < m:
        nu *= m / small
        whole = engine_of(sample.rows, sample.y)
        run, found = _steps(start, sample, found.smoothed, nu, whole, limits)
    return replace(
        start, W=found.smoothed, quantiles=found.quantiles, nu=nu * sample.n / m, ramps=found.ramps,
        gained=run.gained, drift=drift * small / sample.n,
    )  # fmt: skip


def _steps(
    start: Start, sample: Sample, W: Array, nu: float, engine: Engine, limits: Limits
) -> tuple[BinnedRun, Minimised]:
    """Newton steps with one smoothing."""
    losses = sample.losses(W)
    low, high = np.quantile(losses, [0.02, 0.98])
    some = replace(limits, tol=0.3 * limits.tol, max_passes=float(engine.passes + SWEEPS))
    run = BinnedRun(engine, sample.loss, sample.spectrum, sample.mu, some.begun(), finer=False)
    ramps = ((float(low), float(high)),)
    at = replace(start, W=W, quantiles=quantiles_of(losses), nu=nu, ramps=ramps)
    found = run.run(at)
    return run, found if found.ramps else replace(found, ramps=ramps)
