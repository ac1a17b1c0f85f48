"""Objectives of problems in 150 digits, and a minimiser that uses nothing else.

Of lrisk only the numbers of a problem are used. Letters as in its solvers: X (n, d) rows, W (d, k),
Z = X W margins, l losses, sigma weights of the sorted losses, lam row weights, nu a smoothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any

import numpy as np

DIGITS, MANY_DIGITS = 150, 1000
# Without traps: what leaves the range of exponents is infinite, or zero.
CONTEXT = Context(prec=DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
ZERO, ONE, HALF = Decimal(0), Decimal(1), Decimal("0.5")
# Below this size series replace differences that would cancel.
SMALL, NEAR, TERMS = Decimal("1e-25"), Decimal("0.01"), 50
# Where the mean of a count is e^300 times the count, its loss goes on along its tangent.
STEEPEST = Decimal(300)
# An optimum is known when it is bracketed to this fraction.
KNOWN = Decimal("1e-20")
# A step ends where this fraction of the derivative along it is left; trials until then.
FLATTER, MAX_TRIALS = Decimal("0.3"), 20
# A smoothed problem is solved when steps promise this fraction of what other row weights may gain.
# The next has LESS of the smoothing where this one took so few steps, and at least so much.
SOLVED, LESS, EASY, LEAST_NU = Decimal("0.01"), Decimal("0.2"), 3, Decimal("1e-7")
# Pivots are left out below this fraction of the diagonal.
LEAST_PIVOT = Decimal("1e-140")


def log1p(x: Decimal) -> Decimal:
    """log(1 + x) for x >= 0."""
    return x - HALF * x * x + x * x * x / 3 if x < SMALL else (1 + x).ln()


def exponential_excess(t: Decimal) -> Decimal:
    """exp(t) - 1 - t."""
    if abs(t) > NEAR:
        return t.exp() - 1 - t
    total, term = ZERO, HALF * t * t
    for k in range(3, 3 + TERMS):
        total, term = total + term, term * t / k
    return total


def log_mean_over_count(z: Decimal, y: Any) -> tuple[Decimal, Decimal, Decimal]:
    """t = log(m / y), or log(m) where y is 0, at most 300; what is beyond; and y, or 1."""
    count, exposure = Decimal(y[0].item()), Decimal(y[1].item())
    scale = count or ONE
    t = z + (exposure / scale).ln()
    return min(t, STEEPEST), max(t - STEEPEST, ZERO), scale


def exact_loss(loss: Any, z: Sequence[Decimal], y: Any) -> Decimal:
    """The loss of a row with margins z; y: what stands for its target."""
    name = loss.name.partition(":")[0]
    if name == "poisson":
        t, beyond, scale = log_mean_over_count(z[0], y)
        excess = exponential_excess(t) if y[0] > 0 else t.exp()
        return scale * excess + beyond * exact_derivatives(loss, z, y)[0]
    target = y.item()
    if name == "squared":
        return (Decimal(target) - z[0]) ** 2 * HALF
    if name == "huber":
        error, delta = abs(Decimal(target) - z[0]), Decimal(loss.parameter)
        return error**2 * HALF if error <= delta else delta * (error - delta * HALF)
    if name == "quantile":
        error, level = Decimal(target) - z[0], Decimal(loss.parameter)
        return max(level * error, (level - ONE) * error)
    if len(z) == 1:
        wrong = z[0] if target == 0 else -z[0]
        return max(wrong, ZERO) + log1p((-abs(wrong)).exp())
    top = max(range(len(z)), key=lambda c: z[c])
    rest = sum(((z[c] - z[top]).exp() for c in range(len(z)) if c != top), ZERO)
    return log1p(rest) + (z[top] - z[target])


def exact_derivatives(loss: Any, z: Sequence[Decimal], y: Any) -> list[Decimal]:
    """Its derivatives in the margins."""
    name = loss.name.partition(":")[0]
    if name == "poisson":
        t, _, scale = log_mean_over_count(z[0], y)
        if y[0] == 0:
            return [t.exp()]
        return [scale * (exponential_excess(t) + t)]
    target = y.item()
    if name in ("squared", "huber"):
        error, delta = z[0] - Decimal(target), Decimal(loss.parameter)
        return [error if name == "squared" else max(-delta, min(delta, error))]
    if name == "quantile":
        level, below = Decimal(loss.parameter), Decimal(target) < z[0]
        return [ONE - level if below else -level]
    shares = probabilities(z)
    if len(z) == 1:
        return [shares[1] if target == 0 else -shares[0]]
    others = sum((p for c, p in enumerate(shares) if c != target), ZERO)
    return [-others if c == target else p for c, p in enumerate(shares)]


def exact_curvature(loss: Any, z: Sequence[Decimal], y: Any) -> np.ndarray:
    """Its second derivatives. (k, k)."""
    name = loss.name.partition(":")[0]
    if name == "poisson":
        t, beyond, scale = log_mean_over_count(z[0], y)
        return np.array([[ZERO if beyond else scale * t.exp()]], dtype=object)
    if name in ("squared", "huber"):
        inside = name == "squared" or abs(z[0] - Decimal(y.item())) <= Decimal(loss.parameter)
        return np.array([[ONE if inside else ZERO]], dtype=object)
    p = np.array(probabilities(z), dtype=object)
    if len(z) == 1:
        return np.array([[p[0] * p[1]]], dtype=object)
    return np.diag(p) - np.outer(p, p)


def probabilities(z: Sequence[Decimal]) -> list[Decimal]:
    """Of the classes, with one margin for two of them."""
    margins = [ZERO, z[0]] if len(z) == 1 else z
    top = max(margins)
    powers = [(c - top).exp() for c in margins]
    total = sum(powers, ZERO)
    return [power / total for power in powers]


def decimals(numbers: np.ndarray) -> np.ndarray:
    """The same numbers, to as many digits as the context has."""
    made = [CONTEXT.create_decimal_from_float(float(each)) for each in numbers.ravel()]
    return np.array(made, dtype=object).reshape(numbers.shape)


@dataclass(frozen=True, slots=True)
class Iterate:
    """What is known at W for a centre of the row weights and a smoothing.

    blocks: of rows that the projection tied together. phi: the smoothed objective.
    """

    W: np.ndarray
    Z: np.ndarray
    centre: np.ndarray
    nu: Decimal
    losses: np.ndarray
    slopes: np.ndarray
    lam: np.ndarray
    blocks: list[np.ndarray]
    phi: Decimal
    gradient: np.ndarray


class ExactProblem:
    """The numbers of a problem of lrisk as they are in memory; to be used within CONTEXT."""

    def __init__(self, problem: Any) -> None:
        self.loss, self.y, self.shape = problem.loss, problem.y, problem.shape
        self.X = decimals(problem.rows.dense_rows(slice(None)))
        self.sigma, self.mu = decimals(problem.sigma), Decimal(problem.mu)
        self.even = np.full(len(self.X), ONE / len(self.X), dtype=object)

    def objective(self, W: np.ndarray) -> Decimal:
        """F(W)."""
        return self._risk(self._losses(self.X @ W)) + self._penalty(W)

    def smoothed(self, W: np.ndarray, nu: Decimal) -> Decimal:
        """F with the risk smoothed by L2 in place of the risk.

        With more digits: losses may be many orders of magnitude larger than nu.
        """
        with localcontext(prec=MANY_DIGITS):
            return self._at(W, self.even, nu).phi

    def minimise(self, start: np.ndarray, max_steps: int = 60) -> tuple[Decimal, Decimal]:
        """An objective that is attained, and a lower bound, near the optimum of a rising risk.

        Newton steps on the smoothed risk, centred at the last row weights, with less and less
        smoothing; from `start`, or from zero where that is better.
        """
        at = self._start(start)
        least, best, low = LEAST_NU * at.nu, self._objective(at), ZERO
        n_steps = 0
        for _ in range(max_steps):
            low = max(low, self._lower_bound(at))
            new, decrement = self._step(at)
            best = min(best, self._objective(new))
            low = max(low, self._lower_bound(new))
            n_steps += 1
            if best - low <= KNOWN * best:
                break
            other_weights = best - new.lam @ new.losses - self._penalty(new.W)
            if new is at or decrement <= SOLVED * other_weights:
                nu = at.nu * (LESS if n_steps <= EASY else ONE)
                new, n_steps = self._at(new.W, new.lam, max(nu, least)), 0
            at = new
        return best, low

    def _start(self, start: np.ndarray) -> Iterate:
        zero = np.full(self.shape, ZERO, dtype=object)
        W = start if self.objective(start) < self.objective(zero) else zero
        losses, n = self._losses(self.X @ W), len(self.X)
        spread = sum(abs(losses - sum(losses, ZERO) / n), ZERO) or sum(losses, ZERO) or ONE
        rise = (self.sigma[-1] - self.sigma[0]) or ONE
        return self._at(W, self.even, spread / n / rise)

    def _objective(self, at: Iterate) -> Decimal:
        return self._risk(at.losses) + self._penalty(at.W)

    def _losses(self, Z: np.ndarray) -> np.ndarray:
        pairs = zip(Z, self.y, strict=True)
        return np.array([exact_loss(self.loss, z, y) for z, y in pairs], dtype=object)

    def _risk(self, losses: np.ndarray) -> Decimal:
        return np.sort(losses) @ self.sigma

    def _penalty(self, W: np.ndarray) -> Decimal:
        return HALF * self.mu * np.sum(W * W)

    def _at(self, W: np.ndarray, centre: np.ndarray, nu: Decimal) -> Iterate:
        Z = self.X @ W
        losses, pairs = self._losses(Z), zip(Z, self.y, strict=True)
        slopes = np.array([exact_derivatives(self.loss, z, y) for z, y in pairs], dtype=object)
        lam, blocks = project(centre + losses / nu, self.sigma)
        away = lam - centre
        phi = lam @ losses - HALF * nu * (away @ away) + self._penalty(W)
        gradient = self.X.T @ (lam[:, None] * slopes) + self.mu * W
        return Iterate(W, Z, centre, nu, losses, slopes, lam, blocks, phi, gradient)

    def _lower_bound(self, at: Iterate) -> Decimal:
        value = at.lam @ at.losses + self._penalty(at.W)
        return value - np.sum(at.gradient * at.gradient) / (2 * self.mu)

    def _step(self, at: Iterate) -> tuple[Iterate, Decimal]:
        """A Newton step with a line search, and what it promised; the same iterate if it fails.

        Regula falsi (Illinois) on the derivative along the step, which rises.
        """
        P = -solve(self._curvature(at), at.gradient.ravel()).reshape(at.W.shape)
        slope = np.sum(at.gradient * P)
        found, low, high, at_low, at_high, t = at, ZERO, None, slope, ZERO, ONE
        for _ in range(MAX_TRIALS if slope < 0 else 0):
            new = self._at(at.W + t * P, at.centre, at.nu)
            end = np.sum(new.gradient * P)
            found = new if new.phi < found.phi else found
            if abs(end) <= FLATTER * -slope or (end < 0 and high is None):
                break
            if end < 0:
                low, at_low, at_high = t, end, HALF * at_high
            else:
                high, at_high, at_low = t, end, HALF * at_low
            fraction = at_low / (at_low - at_high)
            t = low + min(max(fraction, Decimal("0.02")), Decimal("0.98")) * (high - low)
        return found, -slope

    def _curvature(self, at: Iterate) -> np.ndarray:
        """Of phi: that of the rows, the penalty, and what tied rows add. (d k, d k)."""
        d, k = self.shape
        H = np.full((d * k, d * k), ZERO, dtype=object)
        for x, z, y, weight in zip(self.X, at.Z, self.y, at.lam, strict=True):
            if weight:
                H += np.kron(np.outer(x, x) * weight, exact_curvature(self.loss, z, y))
        for rows in at.blocks:
            G = (self.X[rows][:, :, None] * at.slopes[rows][:, None, :]).reshape(len(rows), -1)
            G = G - np.sum(G, axis=0) / len(rows)
            H += G.T @ G / at.nu
        H[np.diag_indices(d * k)] += self.mu
        return H


def project(z: np.ndarray, sigma: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The point of P(sigma) nearest to z, and the blocks of rows that were tied for it."""
    order = np.argsort(z, kind="stable")
    ends: list[tuple[Decimal, list[int]]] = []
    for at, row in enumerate(order):
        total, rows = z[row] - sigma[at], [int(row)]
        while ends and ends[-1][0] * len(rows) >= total * len(ends[-1][1]):
            before, others = ends.pop()
            total, rows = before + total, others + rows
        ends.append((total, rows))
    lam = np.empty(len(z), dtype=object)
    for total, rows in ends:
        lam[rows] = z[rows] - total / len(rows)
    return lam, [np.array(rows) for _, rows in ends if len(rows) > 1]


def solve(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    """H^-1 g by an LDL' factor; pivots that rounding made useless are left out."""
    H, n = H.copy(), len(g)
    original = np.diag(H).copy()
    x = g.copy()
    for j in range(n):
        if H[j, j] <= LEAST_PIVOT * original[j]:
            H[j, j] = Decimal("Infinity")
        column = H[j + 1 :, j] / H[j, j]
        H[j + 1 :, j + 1 :] -= np.outer(column, H[j, j + 1 :])
        x[j + 1 :] -= column * x[j]
        H[j + 1 :, j] = column
    x = x / np.diag(H)
    for j in range(n - 1, -1, -1):
        x[j] -= H[j + 1 :, j] @ x[j + 1 :] if j + 1 < n else ZERO
    return x
