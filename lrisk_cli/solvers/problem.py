"""What is minimised: F(W) = sum_i sigma_i l_(i)(W) + mu/2 ||W||^2, its values and derivatives.

Letters: X (n, d) the rows, W (d, k) weights, Z = X W (n, k) margins, l (n,) losses,
lam (n,) row weights, mu the penalty, m (n,) masses of the rows where they count for unlike much.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.losses.base import Loss
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.density import density_of
from lrisk_cli.risk.groups import GroupedRisk, GroupRisk, Groups, Risk
from lrisk_cli.risk.row_weights import (
    Projection,
    RowWeighter,
    Smoothing,
    Tied,
    Weigher,
    row_weights,
)
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.weighted import (
    Masses,
    WeightedProjection,
    WeightedRowWeighter,
    make_masses,
    unit_weights,
)
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Targets

# Where a smaller fraction of the rows than this has weight, copies of these are quicker than all.
SPARSE = 0.3


@dataclass(frozen=True, slots=True)
class Point:
    """Everything that one pass over the rows tells about W.

    objective is F(W); smoothed is F with the smoothed risk in place of the risk.
    """

    W: Array
    margins: Array
    losses: Array
    lam: Array
    objective: float
    smoothed: float
    rank_changes: int | None


@dataclass(frozen=True, slots=True)
class Problem:
    """Minimise the spectral risk of the losses of X W against y, plus mu/2 ||W||^2.

    outer: X X' where it is known already, (n, n); then weighted fits of few rows cost less.
    sigma: the weights of the sorted losses, (n,). masses: where rows have any; sigma has then the
    least and the largest weight of a unit of mass, (2,). grouped: a risk of groups and the groups;
    spectrum is then that within them, and sigma as with masses.
    """

    rows: Rows
    y: Targets
    loss: Loss
    spectrum: Spectrum
    sigma: Array
    mu: float
    smoothing: Smoothing | None
    outer: Array | None = None
    masses: Masses | None = None
    grouped: GroupedRisk | None = None

    @property
    def n_rows(self) -> int:
        return self.rows.shape[0]

    @property
    def total(self) -> float:
        """How many rows there are, or their mass."""
        return self.n_rows if self.masses is None else self.masses.total

    @property
    def even(self) -> Array:
        """The weights of the mean: 1/n, or m / M. (n,)."""
        n = self.n_rows
        return np.full(n, 1.0 / n) if self.masses is None else self.masses.even

    def mean(self, values: Array) -> float:
        """The mean over the rows, by their masses. values: (n,)."""
        if self.masses is None:
            return float(np.mean(values))
        return float(core.compensated_dot(self.masses.even, values))

    @property
    def steepest(self) -> float:
        """A bound on the weight of a row, or of a unit of mass wherever it is."""
        if self.grouped is not None:
            return self.grouped.steepest
        if self.masses is None:
            return float(self.sigma.max())
        return density_of(self.spectrum).largest / self.masses.total

    def times_masses(self, values: Array) -> Array:
        """The values of the rows times their masses. (n,)."""
        return values if self.masses is None else self.masses.values * values

    def distance(self, away: Array) -> float:
        """The sum of squares of a difference of row weights, each over the mass of the row."""
        if self.masses is None:
            return float(away @ away)
        return float((away / self.masses.values) @ away)

    @property
    def flat(self) -> bool:
        """Whether all rows weigh alike: the mean, or a risk that rounding cannot tell from it."""
        return bool(self.sigma[0] == self.sigma[-1])

    @property
    def falling(self) -> bool:
        """Whether larger losses get less weight: F is not convex, and no bound on it is known."""
        return bool(self.sigma[0] > self.sigma[-1])

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of W."""
        return self.rows.shape[1], self.loss.n_outputs

    def row_weighter(self, *, track_ranks: bool = False) -> Weigher:
        """A new Weigher for this problem's rows; track_ranks: count how many ranks change."""
        if self.grouped is not None:
            return self.grouped.weigher()
        if self.masses is None:
            return RowWeighter(self.spectrum, self.sigma, self.smoothing, track_ranks=track_ranks)
        return WeightedRowWeighter(
            self.spectrum, self.masses, self.smoothing, track_ranks=track_ranks
        )

    def weigh_losses(self, losses: Array) -> Array:
        """The weights that the risk, not smoothed, gives to rows with these losses. (n,)."""
        if self.grouped is not None:
            return self.grouped.weigher().weigh(losses).lam
        if self.masses is None:
            return row_weights(losses, self.spectrum)
        return WeightedRowWeighter(self.spectrum, self.masses).weigh(losses).lam

    def projection(self) -> Callable[[Array], tuple[Array, Tied]]:
        """Projects row weights onto those that the spectrum allows."""
        if self.masses is None:
            return Projection(self.spectrum, self.sigma)
        return WeightedProjection(self.spectrum, self.masses)

    def margins(self, W: Array) -> Array:
        """Z = X W. (n, k)."""
        return self.rows.margins(W)

    def penalty(self, W: Array) -> float:
        """mu/2 ||W||^2."""
        flat = W.ravel()
        return 0.5 * self.mu * float(core.compensated_dot(flat, flat))

    def at(self, W: Array, row_weighter: Weigher) -> Point:
        """Evaluate W: one pass over the rows."""
        Z = self.margins(W) if W.any() else np.zeros((self.n_rows, W.shape[1]))
        losses = self.loss.values(Z, self.y)
        if not np.isfinite(losses).all():
            lam = self.even
            return Point(W, Z, losses, lam, np.inf, np.inf, None)
        weighed = row_weighter.weigh(losses)
        penalty = self.penalty(W)
        return Point(
            W, Z, losses, weighed.lam, weighed.value + penalty, weighed.smoothed + penalty,
            weighed.rank_changes,
        )  # fmt: skip

    def gradient(self, W: Array, Z: Array, lam: Array) -> Array:
        """sum_i lam_i grad l_i(W) + mu W. (d, k)."""
        return self.pull(self.loss.derivatives(Z, self.y), lam) + self.mu * W

    def pull(self, derivatives: Array, lam: Array) -> Array:
        """sum_i lam_i grad l_i from the derivatives of the losses by the margins. (d, k)."""
        if self.loss.n_outputs > 1:
            rows = np.flatnonzero(lam)
            if len(rows) < SPARSE * self.n_rows:
                return self.rows.combine(derivatives[rows] * lam[rows, None], rows)
        return self.combine(derivatives * lam[:, None])

    def combine(self, coefs: Array) -> Array:
        """X' coefs. (d, k)."""
        return self.rows.combine(coefs)

    def weighted_value(self, W: Array, Z: Array, lam: Array) -> float:
        """sum_i lam_i l_i(W) + mu/2 ||W||^2."""
        losses = self.loss.values(Z, self.y)
        return float(core.compensated_dot(lam, losses)) + self.penalty(W)

    def gram(self, weights: Array) -> Array:
        """X' diag(weights) X, rows without weight left out. (d, d)."""
        return self.rows.gram(weights)

    def row_products(self, rows: NDArray[np.intp]) -> Array:
        """X_S X_S' for the rows S. (s, s)."""
        if self.outer is not None:
            return self.outer.take(rows, axis=0).take(rows, axis=1)
        return self.rows.row_products(rows)

    def hessian(self, Z: Array, lam: Array) -> Array:
        """Second derivative of the lam-weighted problem, W read row by row. (d k, d k)."""
        d, k = self.shape
        one = k == 1
        H = (
            self.gram(lam * self.loss.curvature(Z, self.y))
            if one
            else self._softmax_curvature(Z, lam)
        )
        H[np.diag_indices(d * k)] += self.mu
        return H

    def _softmax_curvature(self, Z: Array, lam: Array) -> Array:
        """sum_i lam_i (diag(p_i) - p_i p_i') x x_i x_i', p_i the probabilities of row i."""
        P = self.loss.probabilities(Z)
        assert P is not None  # noqa: S101  (a softmax)
        return self.laplacian(lambda c, e: lam * P[:, c] * P[:, e])

    def laplacian(self, weights: Callable[[int, int], Array]) -> Array:
        """sum_i L_i x x_i x_i', L_i symmetric (k, k) with rows that add up to nothing. (d k, d k).

        weights(c, e): (n,), minus the entry c, e of every L_i, of either sign. With G the Gram
        matrix for them, the block of c and e is -G, that of c with itself the sum of its G.
        """
        d, k = self.shape
        H = np.zeros((d, k, d, k))
        for c, e in combinations(range(k), 2):
            G = self.gram(weights(c, e))
            H[:, c, :, e] = H[:, e, :, c] = -G
            H[:, c, :, c] += G
            H[:, e, :, e] += G
        return H.reshape(d * k, d * k)


def make_problem(
    rows: Rows,
    y: Targets,
    loss: Loss,
    risk: Risk,
    mu: float,
    smoothing: Smoothing | None = None,
    outer: Array | None = None,
    exposure: Array | None = None,
    masses: Array | None = None,
    groups: NDArray[np.intp] | None = None,
) -> Problem:
    """Build the problem for rows with targets y (numbers, or class codes).

    exposure: (n,) of the rows, for losses that take one. masses: (n,) greater than 0, for how much
    each row counts; a row of mass 3 is the row three times. groups: (n,) codes from 0 on, for risks
    of groups; where there is one group, or all weigh alike, the problem is one of rows.
    """
    known = None if masses is None else make_masses(masses)
    if isinstance(risk, GroupRisk):
        assert groups is not None  # noqa: S101  (the options were checked)
        if groups.any() and not risk.flat:
            of = GroupedRisk(risk, Groups(groups, known))
            sigma, targets = np.array([0.0, of.steepest]), loss.targets(y, exposure)
            return Problem(
                rows, targets, loss, risk.within, sigma, mu, None, masses=known, grouped=of
            )
        risk = risk.within
    spectrum = risk
    if known is None:
        sigma = spectrum.weights(rows.shape[0])
    else:
        sigma = unit_weights(spectrum, known.total)
    if sigma[0] == sigma[-1]:
        smoothing = None
    targets = loss.targets(y, exposure)
    return Problem(rows, targets, loss, spectrum, sigma, mu, smoothing, outer, known)
