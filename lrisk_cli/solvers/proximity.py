"""Row weights that are large where losses are, and near a centre: what proximal steps smooth by.

Letters: l (n,) losses, lam (n,) row weights, nu the smoothing. Of groups of rows as in
`risk/groups.py`: a (G,) weights of the groups, q (n,) weights within them, lam = a q.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.native.kernels import core
from lrisk_cli.risk.density import density_of
from lrisk_cli.risk.groups import GroupedRisk
from lrisk_cli.risk.row_weights import Projection, Tied, TiedGroups
from lrisk_cli.risk.weighted import WeightedProjection
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

# The deviation of the losses counts as at least this fraction of the objective at zero.
LEAST_SPREAD = 1e-3
NONE = np.empty(0, dtype=np.intp)


class Proximity(Protocol):
    """Weighs the losses of the same rows near a centre, which moves."""

    @property
    def centre(self) -> Array:
        """The row weights that cost nothing. (n,)."""

    @property
    def spread(self) -> float:
        """How far weights are apart: nu is in units of losses over it."""

    def move(self, lam: Array) -> None:
        """Make these weights the centre."""

    def first_smoothing(self, losses: Array, at_zero: float, factor: float) -> float:
        """nu to begin with: factor times the mean absolute deviation of the losses over `spread`.

        at_zero: the objective there, which is the deviation where losses are not finite.
        """

    def __call__(self, losses: Array, nu: float) -> tuple[Array, Tied, float]:
        """The weights, what they leave free to move, and what their distance costs."""


def make_proximity(problem: Problem) -> Proximity:
    """For the risk of the problem, of rows or of groups."""
    return RowProximity(problem) if problem.grouped is None else GroupProximity(problem.grouped)


class RowProximity:
    """lam = the projection of the centre + m l/nu on P(sigma), which attains

    max over lam in P(sigma) of  lam.l - nu/2 sum (lam_i - c_i)^2 / m_i,   m = 1 without masses.
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._project = None if problem.flat else problem.projection()
        self._centre = problem.even

    @property
    def centre(self) -> Array:
        return self._centre

    @property
    def spread(self) -> float:
        return float(self._problem.sigma[-1] - self._problem.sigma[0])

    def move(self, lam: Array) -> None:
        self._centre = lam

    def first_smoothing(self, losses: Array, at_zero: float, factor: float) -> float:
        mean = self._problem.mean
        deviation = _deviation(mean(np.abs(losses - mean(losses))), at_zero)
        return factor * deviation / self.spread

    def __call__(self, losses: Array, nu: float) -> tuple[Array, Tied, float]:
        problem, centre = self._problem, self._centre
        if self._project is None:
            return problem.even, Tied(NONE, NONE), 0.0
        lam, tied = self._project(centre + problem.times_masses(losses / nu))
        return lam, tied, 0.5 * nu * problem.distance(lam - centre)


class GroupProximity:
    """With the centre (b, c) of (a, q), a ratio r of two smoothings, m_i the mass of a row over
    that of its group, and M_g = p_g, or 1/G where the worst group counts alone, a and q attain

        max over a, q of  sum_g a_g (q_g.l_g - nu/2 sum (q_i - c_i)^2 / m_i)
                          - r nu/2 sum_g (a_g - b_g)^2 / M_g,

    a smooth convex function of W where losses are convex, since a >= 0. At the centre it has the
    value and the gradient of sum_g b_g c_g.l_g: a fixed point minimises the risk itself.
    """

    def __init__(self, of: GroupedRisk) -> None:
        groups, within, over = of.groups, of.risk.within, of.risk.over
        self._groups, self._within, self._even = groups, within, groups.even
        self._b, self._c = groups.fractions, groups.even
        self._rows: list[Projection | WeightedProjection] = []
        if not within.flat:
            for rows, masses in zip(groups.parts, groups.within, strict=True):
                self._rows.append(
                    Projection(within, within.weights(len(rows)))
                    if masses is None
                    else WeightedProjection(within, masses)
                )
        n_groups = groups.n_groups
        self._over = None if over is None else WeightedProjection(over, groups.masses)
        self._masses = self._b if over is not None else np.full(n_groups, 1.0 / n_groups)
        self._spread_of_groups = n_groups if over is None else density_of(over).largest
        self.ratio = self.spread / self._spread_of_groups

    @property
    def centre(self) -> Array:
        return self._groups.spread(self._b) * self._c

    @property
    def spread(self) -> float:
        return density_of(self._within).largest if self._rows else self._spread_of_groups

    def move(self, lam: Array) -> None:
        groups = self._groups
        a = groups.totals(lam)
        of_rows = groups.spread(a)
        # A group without weight keeps the centre it had.
        some = of_rows > 0.0
        q = self._c.copy()
        q[some] = lam[some] / of_rows[some]
        self._b, self._c = a / a.sum(), q

    def first_smoothing(self, losses: Array, at_zero: float, factor: float) -> float:
        groups = self._groups
        risks = groups.sums(groups.even, losses)
        mean = float(self._masses @ risks) / float(self._masses.sum())
        deviation = float(self._masses @ np.abs(risks - mean)) / float(self._masses.sum())
        between = factor * _deviation(deviation, at_zero) / self._spread_of_groups
        if not self._rows:
            return between
        away = float(np.mean(np.abs(losses - groups.spread(risks))))
        nu = factor * _deviation(away, at_zero) / self.spread
        self.ratio = between / nu
        return nu

    def __call__(self, losses: Array, nu: float) -> tuple[Array, Tied, float]:
        groups = self._groups
        q, tied, distances = self._weigh_rows(losses, nu)
        risks, between = groups.sums(q, losses) - 0.5 * nu * distances, self.ratio * nu
        a, pooled = self._weigh_groups(self._b + self._masses * (risks / between))
        cost = 0.5 * between * float(((a - self._b) ** 2 / self._masses).sum())
        return (
            groups.spread(a) * q,
            self._join(a, q, tied, pooled),
            cost + 0.5 * nu * float(a @ distances),
        )

    def _weigh_rows(self, losses: Array, nu: float) -> tuple[Array, list[Tied], Array]:
        """q; the rows of each group that are tied; sum (q - c)^2 / m of each group."""
        groups = self._groups
        distances = np.zeros(groups.n_groups)
        if not self._rows:
            return self._even, [], distances
        q, tied = np.empty(len(losses)), []
        for g, (rows, project) in enumerate(zip(groups.parts, self._rows, strict=True)):
            m, c = self._even[rows], self._c[rows]
            q[rows], pooled = project(c + m * (losses[rows] / nu))
            distances[g] = float(((q[rows] - c) ** 2 / m).sum())
            tied.append(Tied(rows[pooled.rows], pooled.sizes))
        return q, tied, distances

    def _weigh_groups(self, z: Array) -> tuple[Array, Tied]:
        if self._over is not None:
            return self._over(z)
        a, scratch = np.empty((2, len(z)))
        core.capped_simplex(z, 1.0, a, scratch)
        free = np.flatnonzero((a > 0.0) & (a < 1.0))
        return a, Tied(free, np.array([len(free)] if len(free) else [], dtype=np.intp))

    def _join(self, a: Array, q: Array, tied: list[Tied], pooled: Tied) -> Tied:
        """What is tied, with the factors that second derivatives take: a_g m_i, and M_g / r."""
        between = None
        if len(pooled.rows):
            parts = [self._groups.parts[g] for g in pooled.rows]
            rows, counts = np.concatenate(parts), np.array([len(part) for part in parts])
            masses = self._masses[pooled.rows] / self.ratio
            between = TiedGroups(pooled.rows, pooled.sizes, masses, rows, counts, q[rows])
        some = [each for each, weight in zip(tied, a, strict=True) if weight > 0.0] if tied else []
        rows = _joined([each.rows for each in some])
        masses = a[self._groups.codes[rows]] * self._even[rows]
        return Tied(rows, _joined([each.sizes for each in some]), masses, between)


def _joined(parts: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    return np.concatenate(parts) if parts else NONE


def _deviation(found: float, at_zero: float) -> float:
    """What to scale the first smoothing by, where the deviation may be zero or not finite."""
    return max(found if np.isfinite(found) else at_zero, LEAST_SPREAD * at_zero)
