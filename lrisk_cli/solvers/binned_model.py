"""Study a sweep: bounds, the model of the objective, and where it is least.

Letters as in binned_bounds.py; a slope of the weights is da/dl, at which they rise with the losses.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.binned_bounds import (
    Errors,
    Ranks,
    Reach,
    lower_bound,
    most_of_bins,
    rank_bins,
    slopes_of,
    upper_bound,
)
from lrisk_cli.solvers.binned_plan import Quantiles, Ramps
from lrisk_cli.solvers.binned_sums import Plan, Seen, assemble, heads
from lrisk_cli.solvers.binned_weights import (
    Weights,
    are_allowed,
    shared_bins,
    smooth_weights,
)
from lrisk_cli.solvers.binned_zone import (
    Quadratic,
    Zone,
    make_zone,
    minimise_model,
    weighted_parts,
)
from lrisk_cli.solvers.linear_systems import solve_lifted
from lrisk_cli.types import Array, Index

# Bins are merged to about so many before slopes of their weights are taken.
SLOPES = 256
# The model may take the zone's losses so far, in widths of the zone, before it is of no use.
TRUSTED = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What stays the same in all sweeps. level: of the jump of a superquantile, else None."""

    loss: Loss
    spectrum: Spectrum
    mu: float
    n: int
    errors: Errors
    reach: Reach

    @property
    def cap(self) -> float | None:
        """The largest weight of a row, of a superquantile."""
        kept = self.spectrum.kept(self.n)
        return None if kept is None else 1.0 / kept

    @property
    def level(self) -> float:
        """Where the density of a superquantile jumps."""
        kept = self.spectrum.kept(self.n)
        return 0.0 if kept is None else 1.0 - kept / self.n


@dataclass(frozen=True, slots=True, eq=False)
class Studied:
    """objective: F(W) from above. bound: from below, -inf for none. new: where to look next.

    slope: of the objective along the step there. missed: the threshold is not in the zone.
    ahead: losses expected of the zone's rows at `new`. smoothed: the step is of even weights.
    merit: what should fall from step to step. value: of the weights at W, penalty included.
    """

    objective: float
    bound: float
    new: Array
    slope: float
    ranks: Ranks
    missed: bool = False
    ahead: Array | None = None
    smoothed: bool = False
    merit: float = np.inf
    value: float = np.inf
    ramps: Ramps = ()


class _Sweep:
    """The sums at W as matrices and vectors."""

    def __init__(self, at: Setting, W: Array, plan: Plan, seen: Seen) -> None:
        self.at, self.W, self.plan, self.seen = at, W, plan, seen
        self.ranks = rank_bins(seen, plan.lows, at.spectrum, at.n)
        self.k = at.loss.n_outputs
        self.penalty = 0.5 * at.mu * float(np.sum(W * W))
        self.live: Index = np.flatnonzero(seen.count[plan.live :] > 0.0) + plan.live
        self.G = seen.G.reshape(len(seen.G), W.size)

    def weights(self) -> Array:
        """Of a row of each bin, as its losses are ranked; 0 of empty bins. (K,)."""
        return self.ranks.mass / np.maximum(self.seen.count, 1.0)

    def gradient(self, a: Array) -> Array:
        """sum_k a_k G_k of the live bins, flat."""
        total: Array = a[self.plan.live :] @ self.G
        return total

    def curvatures(self, a: Array) -> tuple[Array, Array]:
        """sum l'' x x' by the least and by the mean weight of each group of bins."""
        least, mean = np.zeros((2, len(self.plan.groups)))
        group = heads(self.plan.groups, self.live)
        size = self.seen.bend if self.k == 1 else self.seen.count[self.plan.live :]
        for j in range(len(self.plan.groups)):
            own = self.live[group == j]
            if len(own):
                sizes = size[own - self.plan.live]
                total = float(sizes.sum())
                least[j] = a[own].min()
                mean[j] = a[own] @ sizes / total if total > 0.0 else a[own].mean()
        return tuple(assemble(np.tensordot(v, self.seen.grams, 1), self.k) for v in (least, mean))  # type: ignore[return-value]

    def bends(self, blocks: Index, slopes: Array) -> Array:
        """sum over blocks of slope x sum (u - mean u)(u - mean u)', u the gradients of rows.

        blocks: first live bins of runs of these; slopes: one of each. The squares of single rows
        are known by groups of bins only, which is near enough for a step.
        """
        live, first = self.live, self.plan.live
        at = np.searchsorted(live, blocks)
        sums = np.add.reduceat(self.G[live - first], at)
        count = np.add.reduceat(self.seen.count[live], at)
        per_bin = np.repeat(slopes, np.diff(np.append(at, len(live))))
        group = heads(self.plan.groups, live)
        coefs = np.zeros(len(self.plan.groups))
        size = self.seen.bend if self.k == 1 else self.seen.count[first:]
        squares = self.seen.square if self.k == 1 else self.seen.count[first:]
        for j in range(len(coefs)):
            own = group == j
            if own.any():
                total = float(size[live[own] - first].sum())
                coefs[j] = per_bin[own] @ squares[live[own] - first] / total if total > 0.0 else 0.0
        parts = self.seen.grams if self.k == 1 else self.seen.ties
        assert parts is not None  # noqa: S101  (asked for where weights have slopes)
        H = assemble(np.tensordot(coefs, parts, 1), self.k)
        product: Array = (sums * (slopes / count)[:, None]).T @ sums
        return H - product

    def bound(self, value: float, slopes: float, grad: Array, H: Array) -> float:
        """The lower bound of weights with this value, gradient and least curvature."""
        return lower_bound(
            value + self.penalty, slopes, grad, H, self.at.mu, self.at.errors, self.at.reach
        )


def study_smooth(at: Setting, W: Array, plan: Plan, seen: Seen) -> Studied:
    """A spectrum without jumps: weights as ranked, and a Newton step that knows how they change."""
    sweep = _Sweep(at, W, plan, seen)
    a, ranks = sweep.weights(), sweep.ranks
    objective = _objective(sweep, None)
    least, mean = sweep.curvatures(a)
    grad = sweep.gradient(a) + at.mu * W.ravel()
    bound = sweep.bound(ranks.weighted(a), slopes_of(at.loss, ranks, a), grad, least)
    step = _newton(mean, _rank_slopes(sweep, a), at.mu, grad)
    new = W - step.reshape(W.shape)
    return Studied(objective, bound, new, -float(grad @ step), ranks, merit=objective)


def _newton(curvature: Array, bends: Array, mu: float, grad: Array) -> Array:
    """The Newton step; without the slopes of the weights where rounding makes them useless."""
    rest = curvature + mu * np.eye(len(grad))
    try:
        return solve_lifted(rest + bends, grad[:, None])[:, 0]
    except np.linalg.LinAlgError:
        return solve_lifted(rest, grad[:, None])[:, 0]


def _rank_slopes(sweep: _Sweep, a: Array) -> Array:
    """How the gradient changes as rows change their ranks."""
    live, seen = sweep.live, sweep.seen
    if len(live) < 3:
        return np.zeros((sweep.G.shape[1],) * 2)
    starts = live[:: max(1, len(live) // SLOPES)]
    firsts = [live[group] for group in _group_starts(sweep)]
    starts = np.unique(np.concatenate([starts, firsts]))
    at = np.searchsorted(live, starts)
    count = np.add.reduceat(seen.count[live], at)
    mean = np.add.reduceat(sweep.ranks.means[live] * seen.count[live], at) / count
    weight = np.add.reduceat(a[live] * seen.count[live], at) / count
    if len(at) < 3:
        return np.zeros((sweep.G.shape[1],) * 2)
    floor = 1e-12 * float(mean[-1]) + 1e-300
    slopes = np.maximum(np.gradient(weight), 0.0) / np.maximum(np.gradient(mean), floor)
    return sweep.bends(starts, slopes)


def _group_starts(sweep: _Sweep) -> list[int]:
    """Places among the live bins where another group begins."""
    group = heads(sweep.plan.groups, sweep.live)
    return [0, *(np.flatnonzero(np.diff(group)) + 1).tolist()]


def study_smoothed(at: Setting, W: Array, plan: Plan, seen: Seen, nu: float) -> Studied:
    """Weights smoothed by nu, which ties share: for rows that tie, and for every spectrum."""
    sweep = _Sweep(at, W, plan, seen)
    ranks = sweep.ranks
    found: Weights = smooth_weights(ranks, nu)
    a = found.a
    objective = _objective(sweep, None)
    least, mean = sweep.curvatures(a)
    grad = sweep.gradient(a) + at.mu * W.ravel()
    slopes = slopes_of(at.loss, ranks, a)
    bound = sweep.bound(ranks.weighted(a), slopes, grad, least)
    better = _cancelled(sweep, found, grad)
    if better is not None:
        least = sweep.curvatures(better)[0]
        left = sweep.gradient(better) + at.mu * W.ravel()
        again = sweep.bound(ranks.weighted(better), slopes_of(at.loss, ranks, better), left, least)
        bound = max(bound, again)
    step = _newton(mean, sweep.bends(found.blocks, found.slopes), at.mu, grad)
    value = ranks.weighted(a) + sweep.penalty
    return Studied(
        objective, bound, W - step.reshape(W.shape), -float(grad @ step), ranks,
        merit=value - nu * found.penalty, value=value, ramps=found.ramps,
    )  # fmt: skip


def _cancelled(sweep: _Sweep, found: Weights, grad: Array) -> Array | None:
    """Weights moved a little, so that the gradient is 0: the least change of those shared.

    None where the moved weights are none of the spectrum.
    """
    seen = sweep.seen
    bins, room = shared_bins(found, sweep.live, seen.count)
    if len(bins) <= len(grad) + 1:
        return None
    count = seen.count[bins]
    A = np.vstack([count, sweep.G[bins - sweep.plan.live].T])
    # Moves are in proportion to the room that a weight has, as far as that is possible.
    roots = np.sqrt(room / count)
    moved = np.linalg.lstsq(A * roots, np.append(0.0, -grad), rcond=None)[0] * roots
    a = found.a.copy()
    a[bins] += moved
    return a if are_allowed(a, seen.count, sweep.at.spectrum) else None


def study_zone(at: Setting, W: Array, plan: Plan, seen: Seen, enough: float) -> Studied:
    """A superquantile: rows above the zone by a quadratic, those of the zone as they are."""
    sweep, z = _Sweep(at, W, plan, seen), plan.zone
    ranks, kept, cap = sweep.ranks, seen.kept, at.cap
    assert cap is not None  # noqa: S101  (of superquantiles only)
    below = float(ranks.mass[:z].sum())
    if kept is None or below > 0.0 or not len(kept.y):
        # The threshold is elsewhere, or the zone holds too many rows: only look again.
        value = _objective(sweep, None)
        return Studied(value, -np.inf, W, 0.0, ranks, missed=True, merit=value)
    zone = make_zone(kept, float(ranks.mass[z]), cap)
    Z = zone.rows.margins(W)
    losses, g = at.loss.values_and_derivatives(Z, zone.y)
    objective = _objective(sweep, zone.risk(losses))
    a = sweep.weights()
    a[: z + 1] = 0.0
    value = ranks.weighted(a)
    least, mean = sweep.curvatures(a)
    flat = sweep.gradient(a)
    quadratic = Quadratic(W, value, flat, mean)
    found = minimise_model(zone, quadratic, at.loss, at.mu, W, enough)
    lam = zone.allowed(found.lam)
    weights = zone.times * lam
    grad = flat + zone.rows.combine(weights[:, None] * g).ravel() + at.mu * W.ravel()
    H = least + assemble(weighted_parts(zone, at.loss, weights, Z), sweep.k)
    slopes = slopes_of(at.loss, ranks, a) + 1.001 * float(weights @ np.abs(g).sum(axis=1))
    bound = sweep.bound(value + float(weights @ losses), slopes, grad, H)
    new, smoothed = _trusted(at, zone, W, found.W, losses, (Z, g), quadratic)
    ahead = at.loss.values(zone.rows.margins(new), zone.y)
    slope = float(grad @ (new - W).ravel())
    return Studied(
        objective, bound, new, slope, ranks, ahead=ahead, smoothed=smoothed, merit=objective
    )


def _trusted(
    at: Setting, zone: Zone, W: Array, new: Array, losses: Array, here: tuple[Array, Array],
    quadratic: Quadratic,
) -> tuple[Array, bool]:  # fmt: skip
    """The model's minimum, if the zone's rows stay near it; else a step with even weights there.

    The weights then rise evenly over the ranks of the zone around the threshold, as if the density
    of losses went on outside.
    """
    low, high = np.quantile(losses, [0.02, 0.98])
    moved = at.loss.values(zone.rows.margins(new), zone.y) - losses
    if float(np.std(moved)) <= TRUSTED * (high - low):
        return new, False
    Z, g = here
    order = np.argsort(losses, kind="stable")
    held = np.cumsum(zone.times[order]) - 0.5 * zone.times[order]
    total = float(zone.times.sum())
    middle = total - zone.mass / zone.cap
    half = max(min(middle, total - middle), 1.0)
    lam = np.empty(zone.size)
    lam[order] = zone.cap * np.clip((held - middle) / (2.0 * half) + 0.5, 0.0, 1.0)
    ramp = np.flatnonzero((lam > 0.0) & (lam < zone.cap))
    if len(ramp) < 2:
        return W, True
    c = zone.times[ramp]
    U = (zone.rows.dense_rows(ramp)[:, :, None] * g[ramp][:, None, :]).reshape(len(ramp), -1)
    U -= (c @ U) / c.sum()
    slope = zone.cap / max(float(np.ptp(losses[ramp])), 1e-300)
    weights = zone.times * lam
    H = quadratic.H + assemble(weighted_parts(zone, at.loss, weights, Z), at.loss.n_outputs)
    H += slope * (U * c[:, None]).T @ U + at.mu * np.eye(W.size)
    grad = quadratic.slope + zone.rows.combine(weights[:, None] * g).ravel() + at.mu * W.ravel()
    return W - solve_lifted(H, grad[:, None]).reshape(W.shape), True


def _objective(sweep: _Sweep, of_zone: float | None) -> float:
    """F(W) from above. of_zone: the exact risk of the zone's rows, where these are known."""
    at, ranks = sweep.at, sweep.ranks
    full = sweep.seen.count > 0.0
    if of_zone is not None:
        full[sweep.plan.zone] = False
    bins = np.flatnonzero(full)
    value = most_of_bins(ranks, bins, at.spectrum) + (of_zone or 0.0) + sweep.penalty
    return upper_bound(value, slopes_of(at.loss, ranks, sweep.weights()), at.errors)


def expected_quantiles(studied: Studied, plan: Plan, kept_rank: float) -> Quantiles:
    """The quantiles of the losses expected at the next W."""
    ranks = studied.ranks
    seen, n = ranks.seen, ranks.n
    full = np.flatnonzero(seen.count > 0.0)
    if plan.zone >= 0 and studied.ahead is not None:
        full = full[full != plan.zone]
    ends, top = ranks.rank[full + 1], seen.high[full]
    if plan.zone >= 0 and studied.ahead is not None and seen.kept is not None:
        order = np.argsort(studied.ahead, kind="stable")
        ahead, times = studied.ahead[order], seen.kept.times[order]
        mean = float(times @ ahead) / float(times.sum())
        shift = mean - float(ranks.means[plan.zone])
        at = int(np.searchsorted(full, plan.zone))
        ends = np.concatenate([ends[:at], kept_rank + np.cumsum(times), ends[at:]])
        top = np.concatenate([top[:at] + shift, ahead, top[at:] + shift])
    start = float(seen.low[seen.count > 0.0].min())
    q = np.maximum.accumulate(np.append(start, top))
    return Quantiles(np.append(0.0, ends / n), q)
