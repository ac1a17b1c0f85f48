"""Errors as a mixture of a core around zero, one group apart, and errors anywhere."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Array

ROUNDS = 25
# The first guess: rows beyond so many scales are not of the core. No component vanishes.
OUTSIDE, LEAST_ANYWHERE = 2.5, 0.005
# A group stands apart where its centre is so many scales of the core and of its own from zero, and
# it has so many rows.
APART, OWN_APART, FEWEST = 3.3, 2.5, 5
TINY = 1e-300
ROOT_TWO_PI = float(np.sqrt(2.0 * np.pi))


@dataclass(frozen=True, slots=True)
class CoreAndGroup:
    """Density of an error e: a N(0, s^2) + b N(m, t^2) + c / spread, with a + b + c = 1.

    surprise: minus the mean log-likelihood; apart: whether the group is one of its own.
    """

    scale: float
    share: float
    centre: float
    width: float
    group: float
    spread: float
    surprise: float
    apart: bool

    def in_group(self, errors: Array) -> Array:
        """Probability that a row belongs to the group; 1 beyond its centre. (n,)."""
        core = self.share * _normal(errors, 0.0, self.scale)
        group = self.group * _normal(errors, self.centre, self.width)
        found: Array = group / np.maximum(core + group, TINY)
        found[errors * np.sign(self.centre) >= abs(self.centre)] = 1.0
        return found


def fit_core(errors: Array, scale: float, spread: float) -> CoreAndGroup:
    """Expectation maximisation from the rows within 2.5 scales. errors: (n,).

    spread: the length of the range where an error may be.
    """
    n = len(errors)
    far = errors[np.abs(errors) > OUTSIDE * scale]
    s, m, t, b, c = scale, 0.0, spread, 1e-3, 1e-2
    if len(far) > 1:
        side = far[far > 0.0] if 2 * int((far > 0.0).sum()) >= len(far) else far[far < 0.0]
        m = float(np.median(side))
        t = max(1.4826 * float(np.median(np.abs(side - m))), s)
        b = 0.9 * len(side) / n
        c = max(len(far) / n - b, 2.0 * LEAST_ANYWHERE)
    a = 1.0 - b - c
    for _ in range(ROUNDS):
        core, group = a * _normal(errors, 0.0, s), b * _normal(errors, m, t)
        total = core + group + c / spread + TINY
        core /= total
        group /= total
        n_core, n_group = float(core.sum()), float(group.sum())
        s = max(float(np.sqrt(core @ np.square(errors) / max(n_core, 1.0))), 1e-3 * scale)
        if n_group > 1e-6:
            m = float(group @ errors) / n_group
            t = max(float(np.sqrt(group @ np.square(errors - m) / n_group)), 0.5 * s)
        a, b = n_core / n, n_group / n
        c = max(1.0 - a - b, LEAST_ANYWHERE)
    apart = abs(m) > max(APART * s, OWN_APART * t) and b * n >= FEWEST
    return CoreAndGroup(s, a, m, t, b, spread, float(-np.log(total).mean()), apart)


def _normal(errors: Array, centre: float, width: float) -> Array:
    found: Array = np.exp(-0.5 * np.square((errors - centre) / width)) / (width * ROOT_TWO_PI)
    return found
