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
# A step must lower the function by this fraction of what the derivative at its start predicts,
DECREASE = 1e-4
# and the derivative at its end must be at most this fraction of that at its start.
FLATTER = 0.9
# Lengths that are tried before a direction is given up.
MAX_TRIALS = 40
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class EvaluatedPoint(Generic[T]):
    """A function's value and gradient at x, and what its caller wants to keep with them."""

    x: Array
    value: float
    gradient: Array
    kept: T


def descend(
    evaluate: Callable[[Array], EvaluatedPoint[T]],
    point: EvaluatedPoint[T],
    done: Callable[[EvaluatedPoint[T], float], bool],
    precondition: Precondition | None = None,
) -> EvaluatedPoint[T]:
    """Take steps from a point until one is `done`, or rounding hides further progress.

    done receives the point and how far the function may still fall, estimated from the curvature.
    precondition multiplies by a guess of the inverse second derivative.
    """
    pairs: deque[Pair] = deque(maxlen=MEMORY)
    while True:
        p = -_times_inverse(point.gradient, pairs, precondition)
        slope = float(np.vdot(point.gradient, p))
        known = bool(pairs) or precondition is not None
        if done(point, -0.5 * slope if known else np.inf) or not slope < 0.0:
            return point
        # Without a curvature estimate the first step has length at most 1.
        first = 1.0 if known else min(1.0, 1.0 / np.sqrt(-slope))
        new = _step(evaluate, point, p, slope, first)
        if new is None and not pairs:
            return point
        if new is None:
            pairs.clear()
            continue
        s, y = new.x - point.x, new.gradient - point.gradient
        sy = float(np.vdot(s, y))
        if sy > EPS * float(np.vdot(y, y)):
            pairs.append((s, y, sy))
        point = new


def _step(
    evaluate: Callable[[Array], EvaluatedPoint[T]],
    point: EvaluatedPoint[T],
    p: Array,
    slope: float,
    first: float,
) -> EvaluatedPoint[T] | None:
    """The point at a suitable step length along p, if there is one."""

    def there(t: float) -> tuple[EvaluatedPoint[T], float, float]:
        new = evaluate(point.x + t * p)
        return new, new.value, float(np.vdot(new.gradient, p))

    return line_search(there, point.value, slope, first, FLATTER)


def _times_inverse(g: Array, pairs: deque[Pair], precondition: Precondition | None) -> Array:
    """The inverse Hessian estimated from the pairs, times g."""
    q, alphas = g.copy(), []
    for s, y, sy in reversed(pairs):
        alpha = float(np.vdot(s, q)) / sy
        q -= alpha * y
        alphas.append(alpha)
    if precondition is not None:
        q = precondition(q)
    elif pairs:
        _, y, sy = pairs[-1]
        q *= sy / float(np.vdot(y, y))
    for (s, y, sy), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - float(np.vdot(y, q)) / sy) * s
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
    those at 0, flatter the fraction of the slope that may remain. Regula falsi (Illinois) on the
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
            fraction = at_low / (at_low - at_high) if known else 0.5
            t = low + min(max(fraction, 0.05), 0.95) * (high - low)
    return None
