"""The rows of the zone as they are: their weights under a superquantile, and the model's minimum.

Letters: m rows with multiplicities c, lam their weights in [0, cap] with c.lam = mass; the rest of
the objective is a quadratic function of W.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.binned_sums import Kept, assemble, grams
from lrisk_cli.solvers.linear_systems import solve_lifted
from lrisk_cli.types import Array, Flags, Targets

ROUNDS, NEWTON_STEPS, SECANT_STEPS = 80, 30, 10
# After at most so many Newton steps the smoothing is multiplied by this, after more of them by 2.
COARSER = ((2, 0.1), (4, 0.3), (8, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class Quadratic:
    """value + slope.v + 1/2 v' H v with v = W - W0, flat. H: without the penalty."""

    W0: Array
    value: float
    slope: Array
    H: Array


@dataclass(frozen=True, slots=True, eq=False)
class Zone:
    """Rows that hold the mass `mass` of the weights, each at most `cap`."""

    rows: DenseRows
    y: Targets
    times: Array
    mass: float
    cap: float

    @property
    def size(self) -> int:
        """How many rows are kept."""
        return len(self.y)

    def project(self, v: Array) -> tuple[Array, Flags]:
        """The nearest allowed weights to v, clip(v - tau, 0, cap), and which are within."""
        total = float(self.times.sum())
        mass = min(self.mass, total * self.cap)
        ends = np.concatenate([v - self.cap, v])
        slopes = np.concatenate([-self.times, self.times])
        order = np.argsort(ends)
        ends, steps = ends[order], np.cumsum(slopes[order])
        # f(tau) = sum c clip(v - tau, 0, cap) is cap times the total before the first end.
        f = total * self.cap + np.append(0.0, np.cumsum(steps[:-1] * np.diff(ends)))
        at = int(np.clip(np.searchsorted(-f, -mass, side="left"), 1, len(f) - 1))
        drop = f[at - 1] - f[at]
        share = (f[at - 1] - mass) / drop if drop > 0.0 else 0.0
        tau = ends[at - 1] + min(max(share, 0.0), 1.0) * (ends[at] - ends[at - 1])
        raw = v - tau
        return np.clip(raw, 0.0, self.cap), (raw > 0.0) & (raw < self.cap)

    def allowed(self, lam: Array) -> Array:
        """Weights near lam that are allowed to rounding: in [0, cap] with c.lam at most mass."""
        lam = np.clip(lam, 0.0, self.cap)
        total = float(self.times @ lam)
        return lam * (self.mass / total) if total > self.mass else lam

    def risk(self, losses: Array) -> float:
        """The most that allowed weights make of these losses."""
        order = np.argsort(-losses)
        held = np.cumsum(self.times[order])
        own = np.clip(self.mass / self.cap - (held - self.times[order]), 0.0, self.times[order])
        return self.cap * float(own @ losses[order])


def make_zone(kept: Kept, mass: float, cap: float) -> Zone:
    """The zone of some rows."""
    return Zone(DenseRows(np.ascontiguousarray(kept.cells)), kept.y, kept.times, mass, cap)


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Where the model is least, and the weights of the zone's rows there."""

    W: Array
    lam: Array


class _State:
    """The zone's rows at some W."""

    def __init__(self, zone: Zone, loss: Loss, W: Array, Z: Array) -> None:
        self.W, self.Z = W, Z
        self.losses, self.g = loss.values_and_derivatives(Z, zone.y)


def minimise_model(
    zone: Zone, quadratic: Quadratic, loss: Loss, mu: float, W: Array, enough: float
) -> Found:
    """Least quadratic + risk of the zone's rows + mu/2 ||W||^2, from W, to within `enough`."""
    if zone.size == 0:
        H = quadratic.H + mu * np.eye(W.size)
        slope = quadratic.slope + mu * quadratic.W0.ravel()
        step = solve_lifted(H, slope[:, None])
        return Found(quadratic.W0 - step.reshape(W.shape), np.zeros(0))
    return _Minimiser(zone, quadratic, loss, mu, W).run(enough)


class _Minimiser:
    """Proximal points on lam: each smooths the risk around the last weights; Newton finds it."""

    def __init__(self, zone: Zone, quadratic: Quadratic, loss: Loss, mu: float, W: Array) -> None:
        self.zone, self.quadratic, self.loss, self.mu = zone, quadratic, loss, mu
        self.H0 = quadratic.H + mu * np.eye(W.size)
        self.now = _State(zone, loss, W, zone.rows.margins(W))
        self.centre = np.full(zone.size, zone.mass / zone.times.sum())
        losses, c = self.now.losses, zone.times
        self.middle = float(np.median(losses))
        spread = float(np.average(np.abs(losses - np.average(losses, weights=c)), weights=c))
        self.nu = 0.44 * max(spread, 1e-9 * float(losses.max()), 1e-300) / zone.cap
        self.value, self.bound = np.inf, -np.inf
        self.best = Found(W, zone.allowed(self.centre))

    def run(self, enough: float) -> Found:
        """Until the gap of the model is at most `enough`."""
        least = 1e-8 * self.nu
        for _ in range(ROUNDS):
            steps = self._point(enough)
            if self.value - self.bound <= enough:
                break
            self.centre = self._project(self.now)[0]
            factor = next((factor for most, factor in COARSER if steps <= most), 2.0)
            self.nu = max(factor * self.nu, least)
        return self.best

    def _point(self, enough: float) -> int:
        """Newton steps to one proximal point; how many."""
        for step in range(1, NEWTON_STEPS + 1):
            lam, within = self._project(self.now)
            grad, H, newton = self._look(lam)
            if self.value - self.bound <= enough:
                return step
            if np.count_nonzero(within) > 1:
                ties = _ties(self.zone, self.now.g, within) / self.nu
                newton = solve_lifted(H + ties, grad[:, None])[:, 0]
            fall = -float(grad @ newton)
            self.now, overshot = self._search(-newton.reshape(self.now.W.shape), fall)
            small = -fall < 0.1 * (self.value - self.bound) and not overshot
            if -fall <= 1e-15 * abs(self.value) or small:
                return step
        return NEWTON_STEPS

    def _project(self, at: _State) -> tuple[Array, Flags]:
        return self.zone.project(self.centre + (at.losses - self.middle) / self.nu)

    def _look(self, lam: Array) -> tuple[Array, Array, Array]:
        """Gradient, second derivative and Newton step for these weights; keep the best."""
        now, c = self.now, self.zone.times
        value, slope = self._rest(now.W)
        grad = slope + self.zone.rows.combine((c * lam)[:, None] * now.g).ravel()
        parts = weighted_parts(self.zone, self.loss, c * lam, now.Z)
        H = self.H0 + assemble(parts, self.loss.n_outputs)
        newton = solve_lifted(H, grad[:, None])[:, 0]
        primal = value + self.zone.risk(now.losses)
        low = value + float((c * lam) @ now.losses) - 0.5 * float(grad @ newton)
        if low > self.bound:
            self.bound, self.best = low, Found(self.best.W, lam)
        if primal < self.value:
            self.value, self.best = primal, Found(now.W, self.best.lam)
        return grad, H, newton

    def _rest(self, W: Array) -> tuple[float, Array]:
        """Value and slope of all but the zone's rows."""
        quad = self.quadratic
        v = (W - quad.W0).ravel()
        Hv = quad.H @ v
        value = quad.value + float(quad.slope @ v) + 0.5 * float(v @ Hv)
        value += 0.5 * self.mu * float(np.sum(W * W))
        return value, quad.slope + Hv + self.mu * W.ravel()

    def _search(self, p: Array, fall: float) -> tuple[_State, bool]:
        """A step along p where the slope of the smoothed model is small; whether 1 was too far."""
        now, zone = self.now, self.zone
        moves = zone.rows.margins(p)

        def there(s: float) -> tuple[_State, float]:
            new = _State(zone, self.loss, now.W + s * p, now.Z + s * moves)
            lam = self._project(new)[0]
            along = float((zone.times * lam) @ (new.g * moves).sum(axis=1))
            return new, along + float(self._rest(new.W)[1] @ p.ravel())

        new, slope = there(1.0)
        if not slope > 0.1 * -fall:
            return new, False
        low, at_low, high, at_high = 0.0, fall, 1.0, slope
        for _ in range(SECANT_STEPS):
            s = (low * at_high - high * at_low) / (at_high - at_low)
            s = min(max(s, low + 0.05 * (high - low)), high - 0.05 * (high - low))
            new, slope = there(s)
            if abs(slope) <= 0.2 * -fall:
                break
            if slope > 0.0:
                high, at_high, at_low = s, slope, 0.5 * at_low
            else:
                low, at_low, at_high = s, slope, 0.5 * at_high
        return new, True


def weighted_parts(zone: Zone, loss: Loss, weights: Array, Z: Array) -> Array:
    """The parts of sum weights l'' x x' over the zone's rows."""
    if loss.n_outputs == 1:
        return zone.rows.gram(weights * loss.curvature(Z, zone.y))[None]
    roots = np.sqrt(weights)[:, None]
    return grams(loss, DenseRows(zone.rows.dense_rows(slice(0, len(weights))) * roots), Z, zone.y)


def _ties(zone: Zone, g: Array, within: Flags) -> Array:
    """sum c (u - mean)(u - mean)' of the gradients u = x g of some rows. (size, size)."""
    few, c = zone.rows.dense_rows(np.flatnonzero(within)), zone.times[within]
    U = (few[:, :, None] * g[within][:, None, :]).reshape(len(c), -1)
    U -= (c @ U) / c.sum()
    U *= np.sqrt(c)[:, None]
    product: Array = U.T @ U
    return product
