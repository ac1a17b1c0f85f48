"""L-BFGS: minimise a smooth convex function of many unknowns by its gradients.

Letters: x the unknowns, g the gradient, p a direction, t a length along it; s and y the
differences of two successive x and g, from which the curvature is learned.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from lrisk_cli.types import Array

T = TypeVar("T")
Pair = tuple[Array, Array, float]
Precondition = Callable[[Array], Array]

MEMORY = 20
# A step must lower the function by this share of what the slope at its start promised,
DECREASE = 1e-4
# and the slope at its end must be at most this share of that at its start.
FLATTER = 0.9
# Lengths that are tried before a direction is given up.
MAX_TRIALS = 40
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Spot(Generic[T]):
    """A function's value and gradient at x, and what its caller wants to keep with them."""

    x: Array
    value: float
    gradient: Array
    kept: T


def descend(
    evaluate: Callable[[Array], Spot[T]],
    spot: Spot[T],
    done: Callable[[Spot[T], float], bool],
    precondition: Precondition | None = None,
) -> Spot[T]:
    """Steps from a spot until one is `done`, or rounding hides what is left.

    done is told the spot and by how much the function may still fall there, by the curvature
    learned so far. precondition multiplies by a guess of the inverse second derivative.
    """
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    while True:
        p = -_times_inverse(spot.gradient, pairs, precondition)
        slope = float(np.vdot(spot.gradient, p))
        known = bool(pairs) or precondition is not None
        if done(spot, -0.5 * slope if known else np.inf) or not slope < 0.0:
            return spot
        # Of an unknown curvature no more is assumed than that the first step may have length 1.
        first = 1.0 if known else min(1.0, 1.0 / np.sqrt(-slope))
        new = _step(evaluate, spot, p, slope, first)
        if new is None and not pairs:
            return spot
        if new is None:
            pairs.clear()
            continue
        s, y = new.x - spot.x, new.gradient - spot.gradient
        sy = float(np.vdot(s, y))
        if sy > EPS * float(np.vdot(y, y)):
            pairs.append((s, y, sy))
        spot = new


def _step(
    evaluate: Callable[[Array], Spot[T]], spot: Spot[T], p: Array, slope: float, first: float
) -> Spot[T] | None:
    """The spot at a good length along p, if there is one."""

    def there(t: float) -> tuple[Spot[T], float, float]:
        new = evaluate(spot.x + t * p)
        return new, new.value, float(np.vdot(new.gradient, p))

    return line_search(there, spot.value, slope, first, FLATTER)


def _times_inverse(g: Array, pairs: deque[Pair], precondition: Precondition | None) -> Array:
    """The inverse second derivative, as the pairs tell it, times g."""
    q, shares = g.copy(), []
    for s, y, sy in reversed(pairs):
        share = float(np.vdot(s, q)) / sy
        q -= share * y
        shares.append(share)
    if precondition is not None:
        q = precondition(q)
    elif pairs:
        _, y, sy = pairs[-1]
        q *= sy / float(np.vdot(y, y))
    for (s, y, sy), share in zip(pairs, reversed(shares), strict=True):
        q += (share - float(np.vdot(y, q)) / sy) * s
    return q


def line_search(
    there: Callable[[float], tuple[T, float, float]],
    value: float,
    slope: float,
    first: float,
    flatter: float,
) -> T | None:
    """What is found at a length t where a convex function has fallen and become flatter.

    there(t) gives what is found, the function's value and its slope at t; value and slope are
    those at 0, flatter the share of the slope that may remain. Regula falsi (Illinois) on the
    slope, which rises. None where rounding spoils every t.
    """
    t, low, at_low, high, at_high = first, 0.0, slope, np.inf, np.inf
    rounding = 4.0 * EPS * abs(value)
    for _ in range(MAX_TRIALS):
        found, new, end = there(t)
        fallen = new <= value + DECREASE * t * slope + rounding
        if fallen and abs(end) <= flatter * -slope:
            return found
        if fallen and end < 0.0:
            low, at_low, at_high = t, end, 0.5 * at_high
        else:
            high, at_high, at_low = t, end, 0.5 * at_low
        if high == np.inf:
            t *= 4.0
        else:
            known = np.isfinite(at_high) and at_high > 0.0
            share = at_low / (at_low - at_high) if known else 0.5
            t = low + min(max(share, 0.05), 0.95) * (high - low)
    return None
