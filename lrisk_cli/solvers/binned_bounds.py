"""From the sums of a sweep: what the objective is at most, and what no W can go below.

Letters: n_k, s_k, m_k, M_k rows, sum, least and greatest loss of bin k, a_k weight of each of its
rows, u half a unit in the last place of 1.

Upper bound. Among losses in [m_k, M_k] with the sum s_k the risk is convex, so it is largest at an
extreme point, where the p_k = (s_k - n_k m_k) / (M_k - m_k) top ones are M_k and the others m_k.
The spectrum's mass T_k(p) on the top p ranks of a bin is concave, so p may be a fraction too:
    R <= sum_k [m_k mass_k + (M_k - m_k) T_k(p_k)] + risk of the zone's rows.
Lower bound. Weights that are alike within a bin average permutations of sigma, so they lie in
P(sigma), and by weak duality for every V
    F* >= min_V lam.l(V) + mu/2 ||V||^2 >= value(W) - fall,
with g the gradient at W, H at most the curvature there, and fall = g' H^-1 g / 2 where losses are
quadratic. Where the third derivative along v is at most S = max_i |x_i.v| times the second,
    f(W + v) >= f(W) + g.v + |v|_H^2 (e^-S + S - 1) / S^2,   S <= R |v|_H,
so that the fall is [r + (1 - r) log(1 - r)] / R^2, r = R |g|_(H^-1) < 1.

Rounding. Margins are off by at most e = (roundings of a dot product) u max_i |x_i|.|W|, which
moves a weighted sum of losses by at most e sum a |g| and, as (a + e)^2 >= (1 - t) a^2 - e^2 / t,
a quadratic by a fraction t of it and e^2 / 2t. Losses, weights and sums have relative errors of
some u each. Gradients are off by at most (roundings of a sum) u max |x| sum a |g|, and a Gram
matrix by as many u times its trace, which is taken from mu.
"""

from dataclasses import dataclass
from math import fsum, log1p, sqrt

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.native.cholesky import cho_factor_lifted
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.binned_sums import Seen
from lrisk_cli.solvers.linear_systems import solve_lifted
from lrisk_cli.solvers.rounding import UNIT
from lrisk_cli.types import Array, Index

# Roundings of a mass of a spectrum (of each unit of its parameter), and of the sums over bins.
MASS_ROUNDINGS = 64.0
# More roundings than a sum of a part and of the tree of parts has.
SUMMED = 1 << 17
# t of the docstring; relative error allowed to a solution of a linear system.
SHARE, SOLVED = 1e-9, 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """The bins of a sweep among n rows. mass: what sigma gives to each; heavier: rows above it."""

    seen: Seen
    lows: Array
    mass: Array
    heavier: Array
    n: int

    @property
    def rank(self) -> Array:
        """Rows below each bin, and at last all. (K + 1,)."""
        return np.append(0.0, np.cumsum(self.seen.count))

    @property
    def means(self) -> Array:
        """The mean loss of each bin; of an empty one, where it begins. (K,)."""
        some = np.maximum(self.seen.count, 1.0)
        return self.lows + self.seen.above / some

    def weighted(self, a: Array) -> float:
        """sum_k a_k s_k, to a few roundings: what bins begin with and what is above it apart."""
        used = a > 0.0
        count, above, lows = self.seen.count[used], self.seen.above[used], self.lows[used]
        return fsum((a[used] * count * lows).tolist()) + fsum((a[used] * above).tolist())


def rank_bins(seen: Seen, lows: Array, spectrum: Spectrum, n: int) -> Ranks:
    """What sigma gives to the bins, without cancellation."""
    heavier = np.append(np.cumsum(seen.count[::-1])[::-1][1:], 0.0)
    return Ranks(seen, lows, spectrum.of_rows(seen.count, heavier, float(n)), heavier, n)


def most_of_bins(ranks: Ranks, bins: Index, spectrum: Spectrum) -> float:
    """The upper bound on what some bins add to the risk."""
    seen = ranks.seen
    low, width = seen.low[bins], seen.high[bins] - seen.low[bins]
    count, heavier = seen.count[bins], ranks.heavier[bins]
    # s_k - n_k m_k, both counted from where the bin begins.
    over = seen.above[bins] - count * (low - ranks.lows[bins])
    # Rounding may make it too small: a row more is never too few.
    over += (
        4.0
        * UNIT
        * np.minimum(count + 64.0, SUMMED)
        * np.maximum(seen.above[bins], count * UNIT * low)
    )
    top = np.clip(over / np.where(width > 0.0, width, 1.0), 0.0, count)
    tops = spectrum.of_rows(top, heavier, float(ranks.n))
    return fsum((low * ranks.mass[bins]).tolist()) + fsum((width * tops).tolist())


@dataclass(frozen=True, slots=True)
class Errors:
    """Rounding at W. margin: e; sums: roundings of a sum of rows; longest: norm of max |x_j|."""

    loss: Loss
    spectrum: Spectrum
    margin: float
    sums: float
    longest: float

    def relative(self) -> float:
        """Relative error of a weighted sum of losses."""
        own = self.loss.roundings
        value = np.inf if own is None else own.value
        return UNIT * (value + MASS_ROUNDINGS * max(1.0, self.spectrum.parameter or 0.0))

    def absolute(self, slopes: float) -> float:
        """What comes besides. slopes: sum a |g|."""
        own = self.loss.roundings
        return UNIT * (0.0 if own is None else own.absolute) + self.margin * slopes

    def gradient(self, slopes: float) -> float:
        """By how much a weighted sum of gradients may be off. slopes: sum a |g|."""
        own = self.loss.roundings
        derivative = np.inf if own is None else own.derivative
        return UNIT * (self.sums + derivative + 8.0) * self.longest * slopes


def slopes_of(loss: Loss, ranks: Ranks, a: Array) -> float:
    """A bound on sum a |g| by the losses: |g| = sqrt(2 l) where quadratic, else at most 1 or 2."""
    count = ranks.seen.count
    if not loss.quadratic:
        return float(a @ count) * min(2.0, float(loss.n_outputs)) * 1.001
    return float(a @ (count * np.sqrt(2.0 * np.maximum(ranks.means, 0.0)))) * 1.001


def upper_bound(value: float, slopes: float, errors: Errors) -> float:
    """An objective as it may be, given as it was computed."""
    return value * (1.0 + errors.relative()) + errors.absolute(slopes)


def lower_bound(
    value: float, slopes: float, grad: Array, H: Array, mu: float, errors: Errors, reach: "Reach"
) -> float:
    """The bound from value and gradient (flat, penalties included) at W. H: without the penalty."""
    size = len(H)
    trace = float(np.trace(H))
    left = mu - 4.0 * UNIT * errors.sums * trace
    if not left > 0.0 or not np.isfinite(value):
        return -np.inf
    A = H + left * np.eye(size)
    try:
        square = _inverse_square(A, grad, left)
    except np.linalg.LinAlgError:
        return -np.inf
    length = sqrt(square) + errors.gradient(slopes) / sqrt(left)
    value -= abs(value) * errors.relative() + errors.absolute(slopes)
    value -= 0.5 * errors.margin**2 / SHARE
    return value - reach.fall(length, A) * (1.0 + SOLVED) / (1.0 - SHARE)


def _inverse_square(A: Array, grad: Array, least: float) -> float:
    """At least grad' A^-1 grad: for any y it is 2 g.y - y.Ay + r.A^-1 r, r = g - A y."""
    y = solve_lifted(A, grad[:, None])[:, 0]
    r = grad - A @ y
    noise = (
        UNIT
        * (len(grad) + 8.0)
        * float(np.abs(grad) @ np.abs(y) + np.abs(y) @ np.abs(A) @ np.abs(y))
    )
    return max(float(grad @ y + r @ y), 0.0) + float(r @ r) / least + noise


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """What bounds the third derivative. M: a metric, None: there is none; reach: max x' M^-1 x."""

    k: int
    M: Array | None = None
    reach: float = 0.0

    def fall(self, length: float, A: Array) -> float:
        """How far below W the minimum can be; infinite where the gradient is too long."""
        if self.M is None:
            return 0.5 * length**2
        k = self.k
        M = self.M if k == 1 else np.kron(self.M, 2.0 * (np.eye(k) - 1.0 / k))
        L = cho_factor_lifted(A)
        half = np.linalg.solve(L, np.linalg.solve(L, M).T)
        R = sqrt(1.001 * self.reach * max(float(np.linalg.eigvalsh(half)[-1]), 0.0))
        r = R * length
        if r >= 1.0:
            return np.inf
        if r < 1e-4:
            return 0.5 * length**2 * (1.0 + r)
        return (r + (1.0 - r) * log1p(-r)) / R**2
