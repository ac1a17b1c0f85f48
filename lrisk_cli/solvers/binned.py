"""Minimise over rows that are only swept: a few full passes, and a proof.

A sweep sorts the losses at W into bins and brings back small sums (binned_sums.py). They enclose
the objective and bound the optimum from below (binned_bounds.py), and they make a model whose
minimum is the next W (binned_model.py). The start is the optimum of a uniform sample, in memory.

A superquantile jumps: the rows around its threshold, the zone, are kept and enter the model as
they are. Where very many rows tie there, as at W = 0 for classes that the columns do not explain,
weights cannot depend on the losses alone; they are smoothed then, and ties share them by the
direction in which W moves.
"""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.sweeps import Engine
from lrisk_cli.solvers.binned_beside import Beside, MakeBeside, MeanFit, Observe
from lrisk_cli.solvers.binned_bounds import Errors, Reach
from lrisk_cli.solvers.binned_model import (
    Setting,
    Studied,
    expected_quantiles,
    study_smooth,
    study_smoothed,
    study_zone,
)
from lrisk_cli.solvers.binned_plan import (
    MOST_ZONE,
    ZONE_ROWS,
    Quantiles,
    Ramps,
    lay_ramps,
    lay_smooth,
    lay_zone,
    most_kept,
)
from lrisk_cli.solvers.binned_sums import Look, Plan, Seen, look, n_pairs
from lrisk_cli.solvers.certificate import Certificate, certify
from lrisk_cli.solvers.rounding import UNIT
from lrisk_cli.solvers.solution import GAVE_OUT, Epoch, Limits
from lrisk_cli.types import Array

# Fraction of what the gap may be that bins may cost, and the model's minimum.
OF_BINS, OF_MODEL = 0.2, 0.02
# Smaller fractions of the objective are rounding.
FLOOR, ROUNDED = 1e-13, 4e-15
# Sweeps without a tenth of the gap gone, after which weights are smoothed, and then none follows.
STALLED, GIVEN_UP = 3, 8
# A smoothing that is too coarse is divided by this.
FINER = 4.0
# A step that promises less than this fraction of the gap asked for ends those with one smoothing.
SETTLED = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where to begin: W, the quantiles expected there and how many levels they may be off.

    metric: X' X / m + mu I of the sample, for losses with a third derivative. nu: of smoothed
    weights, where the sample calls for them; ramps: losses that share weights then; drift: by how
    much W changes with nu. at_zero, gained: of the sample, for planning.
    """

    W: Array
    quantiles: Quantiles
    doubt: float
    metric: Array | None
    at_zero: float
    gained: float
    nu: float | None = None
    ramps: Ramps = ()
    drift: Array | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Minimised:
    """What a run found. seen: what was observed at W.

    quantiles: of losses where the run was at its end; smoothed: the best W with smoothed
    weights; ramps: losses that share them there.
    """

    W: Array
    certificate: Certificate
    status: str
    converged: bool
    epochs: tuple[Epoch, ...]
    seen: Any
    quantiles: Quantiles
    smoothed: Array
    ramps: Ramps


class BinnedRun:
    """A run on an engine: state between sweeps."""

    def __init__(
        self,
        engine: Engine,
        loss: Loss,
        spectrum: Spectrum,
        mu: float,
        limits: Limits,
        report: Report = silent,
        *,
        observe: Observe | None = None,
        mean: MeanFit | None = None,
        finer: bool = True,
    ) -> None:
        self.engine, self.loss, self.spectrum, self.mu = engine, loss, spectrum, mu
        self.limits, self._report, self._observe, self._mean = limits, report, observe, mean
        self._finer = finer
        self._began = perf_counter()
        self.best, self.bound, self.W = np.inf, -np.inf, np.zeros(0)
        self.at_zero: float | None = None
        self._zero: float | None = None
        self._seen: Any = None
        self._seen_at_zero: Any = None
        self._epochs: list[Epoch] = []
        self._reach: float | None = None
        self._merit, self._smoothed = np.inf, np.zeros(0)
        self._ramps: Ramps = ()
        self._longest = 0.0
        self._sizes: Array | None = None

    @property
    def gained(self) -> float:
        """What gaps are relative to, as in a certificate."""
        at_zero = self._expected[0] if self.at_zero is None else self.at_zero
        if not np.isfinite(self.best):
            return max(self._expected[1], 1e-6 * at_zero)
        return max(at_zero - self.best, 1e-6 * at_zero, 1e-300)

    @property
    def gap(self) -> float:
        """The gap proved so far."""
        return (self.best - self.bound) / self.gained

    def run(self, start: Start) -> Minimised:
        """Sweep until the gap is proved or nothing more is to be had."""
        self._expected = start.at_zero, start.gained
        self._metric, self.nu = start.metric, start.nu
        W, plan = start.W, self._first_plan(start)
        quantiles, last = start.quantiles, None
        gaps: list[float] = []
        while True:
            seen = self._sweep(W, plan)
            at = self._setting(W)
            studied = self._study(at, W, plan, seen)
            self._keep(at, W, studied, seen)
            if studied.merit < self._merit:
                self._merit, self._smoothed, self._ramps = studied.merit, W, studied.ramps
            quantiles = expected_quantiles(
                studied, plan, float(studied.ranks.rank[max(plan.zone, 0)])
            )
            gaps.append(self.gap)
            done = self._status(gaps)
            if done is None and not self._finer and self._settled(studied):
                done = "stopped with this smoothing"
            if done is not None:
                break
            last, W = self._next(last, W, studied)
            if self.nu is None and plan.zone >= 0 and _stalled(gaps, STALLED):
                self.nu = self._first_nu()
            elif self._finer and self._settled(studied) and self._is_coarse(studied):
                assert self.nu is not None  # noqa: S101  (weights were smoothed)
                if start.drift is not None:
                    W = W - (1.0 - 1.0 / FINER) * self.nu * start.drift
                self.nu /= FINER
                last, self._merit = None, np.inf
            plan = self._plan(at, W, quantiles, studied, plan)
        certificate = certify(self.best, self.bound, float(self.at_zero or 0.0))
        converged = certificate.gap <= self.limits.tol
        return Minimised(
            self.W,
            certificate,
            done,
            converged,
            tuple(self._epochs),
            self._seen,
            quantiles,
            self._smoothed,
            self._ramps,
        )

    def _sweep(self, W: Array, plan: Plan) -> Seen:
        mean = None if self._mean is None or self._mean.done else self._mean
        first = self._reach is None
        beside = MakeBeside(
            self.loss, self._observe, self.at_zero is None,
            None if mean is None else mean.W, mean is not None and mean.curved,
        )  # fmt: skip
        ties = self.nu is not None or plan.zone < 0
        inverse = None
        if self._metric is not None:
            inverse = np.asarray(np.linalg.inv(self._metric), np.float64)
        seen: Seen = self.engine.sweep(
            look, Look(self.loss, W, plan, ties, inverse if first else None, first, beside)
        )
        if first:
            self._reach = seen.reach
            self._sizes = seen.largest
        found: Beside = seen.beside
        if found.zero is not None:
            self.at_zero = found.zero.risk(self.spectrum)
            self._zero = found.zero.risk(self.spectrum, above=True)
            self._seen_at_zero = found.at_zero
        if mean is not None and found.mean is not None:
            mean.take(found.mean, float(self.at_zero or 0.0))
        return seen

    def _setting(self, W: Array) -> Setting:
        assert self._sizes is not None  # noqa: S101  (of a sweep)
        assert self._reach is not None  # noqa: S101  (of a sweep)
        d, k = W.shape
        moved = float(self._sizes @ np.abs(W).max(axis=1))
        errors = Errors(
            self.loss, self.spectrum,
            margin=UNIT * (d + 16.0) * moved,
            sums=float(1 << 17),
            longest=float(np.linalg.norm(self._sizes)),
        )  # fmt: skip
        reach = Reach(k, self._metric, self._reach)
        return Setting(self.loss, self.spectrum, self.mu, self.engine.n_rows, errors, reach)

    def _study(self, at: Setting, W: Array, plan: Plan, seen: Seen) -> Studied:
        if self.nu is not None and plan.zone < 0:
            return study_smoothed(at, W, plan, seen, self.nu)
        if plan.zone < 0:
            return study_smooth(at, W, plan, seen)
        enough = OF_MODEL * self.limits.tol * self.gained
        return study_zone(at, W, plan, seen, max(enough, FLOOR * self._expected[0]))

    def _keep(self, at: Setting, W: Array, studied: Studied, seen: Seen) -> None:
        """Remember the best point and the best bound, and write down how far it is."""
        if studied.objective < self.best or not self.W.size:
            self.best, self.W, self._seen = studied.objective, W, seen.beside.here
        if self._zero is not None and self._zero * (1.0 + at.errors.relative()) < self.best:
            self.best, self.W = self._zero * (1.0 + at.errors.relative()), np.zeros_like(W)
            self._seen = self._seen_at_zero
        self.bound = max(self.bound, studied.bound, 0.0)
        passes = self.engine.passes
        self._epochs.append(
            Epoch(
                float(passes), perf_counter() - self._began, self.best, self.bound, self.gap, None
            )
        )
        self._report(Progress("passes", passes, None))

    def _status(self, gaps: list[float]) -> str | None:
        """Why the run ends, in words; None if it goes on."""
        limits = self.limits
        if self.gap <= limits.tol:
            return f"converged: the gap is at most {limits.tol:g}"
        if not np.isfinite(self.best):
            return "stopped because the losses are too large for numbers"
        if self.engine.passes >= limits.max_passes:
            return f"stopped after {self.engine.passes} passes"
        if perf_counter() >= limits.deadline:
            return f"stopped after {limits.time_limit:g} seconds"
        if self.nu is not None and _stalled(gaps, GIVEN_UP):
            return GAVE_OUT
        if self.nu is None and self.spectrum.cap(2) is None and _stalled(gaps, GIVEN_UP):
            self.nu = self._first_nu()
        return None

    def _next(
        self, last: tuple[Array, Array, float, float] | None, W: Array, studied: Studied
    ) -> tuple[tuple[Array, Array, float, float] | None, Array]:
        """The step to take: that of the model, or back along the last one if that was too far."""
        noise = max(1e-3 * OF_BINS * self.limits.tol * self.gained, ROUNDED * abs(studied.merit))
        if studied.missed:
            return last, W
        if last is None or studied.merit <= last[2] + noise:
            return (W, studied.new - W, studied.merit, studied.slope), studied.new
        before, p, merit, slope = last
        share = 0.5
        if slope < 0.0:
            share = float(np.clip(-slope / (2.0 * (studied.merit - merit - slope)), 0.1, 0.5))
        return (before, share * p, merit, share * slope), before + share * p

    def _settled(self, studied: Studied) -> bool:
        """Whether hardly more is to be had with this smoothing."""
        return -studied.slope <= SETTLED * self.limits.tol * self.gained

    def _is_coarse(self, studied: Studied) -> bool:
        """Whether smoothing costs too much of the gap."""
        if not studied.ramps:
            return False
        return self.best - studied.value > 0.5 * self.limits.tol * self.gained

    def _wanted(self) -> float:
        return OF_BINS * self.limits.tol * self.gained

    def _first_plan(self, start: Start) -> Plan:
        size, pairs = start.W.size, n_pairs(self.loss.n_outputs)
        if self.nu is not None:
            return lay_ramps(start.quantiles, start.ramps, self.spectrum, size, pairs)
        n = self.engine.n_rows
        kept = self.spectrum.kept(n)
        if kept is None:
            return lay_smooth(start.quantiles, self.spectrum, n, self._wanted(), size, pairs)
        level, half = 1.0 - kept / n, max(start.doubt, self._half(size, start.W.shape[0]))
        return lay_zone(start.quantiles, (level - half, level + half), start.W.shape[0])

    def _half(self, size: int, d: int) -> float:
        """Half the zone, in levels, once the threshold is known well."""
        rows = min(max(0.5 * ZONE_ROWS, 20.0 * size), 0.25 * most_kept(d))
        return rows / self.engine.n_rows

    def _plan(self, at: Setting, W: Array, known: Quantiles, studied: Studied, plan: Plan) -> Plan:
        d, k = W.shape
        size, pairs, n = d * k, n_pairs(k), at.n
        if self.nu is not None:
            ramps = studied.ramps or (self._around(known, at),)
            return lay_ramps(known, ramps, self.spectrum, size, pairs)
        if at.cap is None:
            return lay_smooth(known, self.spectrum, n, self._wanted(), size, pairs)
        half, ranks = self._half(size, d), studied.ranks
        rank = ranks.rank
        threshold = at.level * n
        if studied.missed:
            where = int(np.clip(np.searchsorted(rank, threshold) - 1, 0, len(rank) - 2))
            half = max(half, 0.6 * float(rank[where + 1] - rank[where]) / n)
        elif studied.smoothed:
            half = max(half, 0.5 * float(rank[plan.zone + 1] - rank[plan.zone]) / n)
        half = min(half, 0.5 * min(MOST_ZONE, most_kept(d)) / n)
        return lay_zone(known, (at.level - half, at.level + half), d)

    def _around(self, known: Quantiles, at: Setting) -> tuple[float, float]:
        """Losses around the threshold, from which to smooth."""
        level = at.level or 0.5
        low, high = known.at(np.array([max(0.0, level - 0.02), min(1.0, level + 0.02)]))
        return float(low), float(high)

    def _first_nu(self) -> float:
        """A smoothing that costs about the gap that is left."""
        from lrisk_cli.risk.density import density_of

        chi2 = max(density_of(self.spectrum).chi2, 1e-3)
        left = max(self.best - self.bound, self.limits.tol * self.gained)
        return 0.1 * left * 2.0 * self.engine.n_rows / chi2


def _stalled(gaps: list[float], sweeps: int) -> bool:
    """Whether so many sweeps have not brought the gap to a tenth."""
    return len(gaps) > sweeps and not gaps[-1] <= 0.1 * gaps[-1 - sweeps]
