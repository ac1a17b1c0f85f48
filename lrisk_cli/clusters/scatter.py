"""Rows -> the location and scatter of their majority: the minimum covariance determinant (MCD).

Letters: X (n, d) rows, m (d,) location, S (d, d) scatter, d_i^2 = (x_i - m)' S^-1 (x_i - m) the
squared Mahalanobis distance, which is chi-square with d degrees of freedom for normal rows.

Deterministic MCD (Hubert, Rousseeuw & Verdonck 2012): from several robust correlation matrices,
concentration steps to the h rows of the smallest distances, of which the covariance of least
determinant is kept; then mean and covariance of the rows that are not far from it.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array, Codes, Flags

MAD_TO_DEVIATION = 1.482602218505602
# Added to the variances of columns in their robust units: no relation is known more exactly.
FLOOR = 1e-4
# With fewer than ENOUGH rows for each column, scatters are drawn to a diagonal one.
ENOUGH = 5
# Rows beyond this quantile of the chi-square distribution are left out of the last step.
KEPT = 0.975
# Concentration steps of every start, and of the two best.
FIRST_STEPS, MOST_STEPS = 2, 50
# A column of two values deviates by at most 1 / TWO_VALUED from its centre.
TWO_VALUED = 0.5
LARGEST = 1e100
CHUNK = 8192


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """What columns are centred and scaled by: median and 1.4826 MAD. All (d,).

    coarse: columns with more than half equal values, or two values only. Their unit is the standard
    deviation, and no correlation of theirs is estimated. used: columns that are not constant.
    """

    centre: Array
    scale: Array
    coarse: Flags
    used: Flags

    def apply(self, X: Array) -> Array:
        """The used columns in these units. (n, used)."""
        scaled = (X[:, self.used] - self.centre[self.used]) / self.scale[self.used]
        return np.clip(scaled, -LARGEST, LARGEST, out=scaled)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A location, (d,), and a scatter, (d, d)."""

    centre: Array
    scatter: Array

    @property
    def whitener(self) -> Array:
        """V with V V' = S^-1: the rows (X - m) V are uncorrelated. (d, d)."""
        factor = np.linalg.cholesky(self.scatter)
        inverse: Array = np.linalg.inv(factor).T
        return np.ascontiguousarray(inverse)

    def whiten(self, X: Array) -> Array:
        """(X - m) V. (n, d)."""
        found: Array = (X - self.centre) @ self.whitener
        return np.clip(found, -LARGEST, LARGEST, out=found)

    def distances(self, X: Array) -> Array:
        """d_i^2. (n,)."""
        white = self.whiten(X)
        found: Array = np.einsum("ij,ij->i", white, white)
        return found


def learn_units(X: Array) -> Units:
    """The units of the columns of X."""
    d = X.shape[1]
    centre, scale = np.empty(d), np.ones(d)
    coarse, used = np.zeros(d, np.bool_), np.zeros(d, np.bool_)
    for j in range(d):
        column = np.sort(X[:, j])
        length = float(column[-1] - column[0])
        centre[j] = np.median(column)
        used[j] = length > 0.0
        if not used[j]:
            continue
        mad = MAD_TO_DEVIATION * float(np.median(np.abs(column - centre[j])))
        two = bool(((column == column[0]) | (column == column[-1])).all())
        coarse[j] = mad == 0.0 or two
        scale[j] = mad
        if coarse[j]:
            centre[j] = column.mean()
            deviation = length * float(np.std((column - column[0]) / length))
            scale[j] = max(deviation, TWO_VALUED * length) if two else deviation
    return Units(centre, scale, coarse, used)


def common_unit(X: Array) -> Units:
    """The largest unit of a column, for all of them: distances are those of X up to a factor."""
    units = learn_units(X)
    largest = float(units.scale[units.used].max()) if units.used.any() else 1.0
    scale, coarse = np.full(len(units.scale), largest), np.zeros(len(units.scale), np.bool_)
    return Units(np.median(X, axis=0), scale, coarse, units.used)


def fit_mcd(X: Array, coarse: Flags) -> Shape:
    """The reweighted MCD of rows in robust units. X: (n, d), n at least 2."""
    n, d = X.shape
    h = min(max((n + d + 1) // 2, (n + 1) // 2), n)
    found = [_concentrate(X, coarse, rows, h, FIRST_STEPS) for rows in _first_halves(X)]
    found.sort(key=lambda each: each[0])
    best = [_concentrate(X, coarse, rows, h, MOST_STEPS) for _, rows, _ in found[:2]]
    _, _, shape = min(best, key=lambda each: each[0])
    return _reweight(X, coarse, shape)


def covariance(X: Array, coarse: Flags) -> Shape:
    """Mean and regular covariance of all rows."""
    centre = X.mean(axis=0)
    moved = X - centre
    return Shape(centre, regular(moved.T @ moved / len(X), len(X), coarse))


def regular(S: Array, n_rows: float, coarse: Flags) -> Array:
    """S with a variance of at least FLOOR in every direction, and 1 for each coarse column.

    n_rows: of how many rows it is the covariance. Of few, it is drawn to its diagonal, as far as
    the oracle approximating shrinkage of its correlations R says (Chen, Wiesel & Hero 2010):
    rho = min(1, ((1 - 2/d) t + d^2) / ((n + 1 - 2/d) (t - d))), t = tr(R^2).
    """
    S = S.copy()
    S[coarse, :] = 0.0
    S[:, coarse] = 0.0
    fine = ~coarse
    S[fine, fine] += FLOOR
    S[coarse, coarse] = 1.0
    d = int(fine.sum())
    if d > 1 and n_rows < ENOUGH * d:
        variances = np.diag(S)
        squares = float(
            np.sum(np.square(S[np.ix_(fine, fine)]) / np.outer(variances[fine], variances[fine]))
        )
        wanted = (1.0 - 2.0 / d) * squares + d * d
        most = (n_rows + 1.0 - 2.0 / d) * (squares - d)
        share = 1.0 if wanted >= most else wanted / most
        S = (1.0 - share) * S + share * np.diag(variances)
    return S


def log_determinant(S: Array) -> float:
    """log det S of a positive definite matrix."""
    return 2.0 * float(np.log(np.diag(np.linalg.cholesky(S))).sum())


def nearest_shape(X: Array, centres: Array, scatters: Array) -> tuple[Codes, Array]:
    """The cluster of the smallest squared Mahalanobis distance of each row by itself, and that.

    centres: (k, d); scatters: (k, d, d).
    """
    clusters, losses = np.zeros(len(X), np.int32), np.full(len(X), np.inf)
    white = np.empty((min(CHUNK, len(X)), X.shape[1]))
    for j, (centre, scatter) in enumerate(zip(centres, scatters, strict=True)):
        V = Shape(centre, scatter).whitener
        shift = np.empty((1, len(centre)))
        core.scores(np.ascontiguousarray(centre[np.newaxis]), V, shift)
        for start in range(0, len(X), CHUNK):
            rows = X[start : start + CHUNK]
            some = white[: len(rows)]
            # By a kernel whose sums do not depend on the other rows.
            core.scores(rows, V, some)
            some -= shift
            np.clip(some, -LARGEST, LARGEST, out=some)
            np.square(some, out=some)
            here, at = some.sum(axis=1), slice(start, start + CHUNK)
            closer = here < losses[at]
            clusters[at][closer], losses[at][closer] = j, here[closer]
    return clusters, losses


def deviates(losses: Array, n_columns: int) -> Array:
    """Squared distances on a scale where those of normal rows are standard normal. (n,).

    The cube root of a chi-square variable is nearly normal (Wilson & Hilferty 1931).
    """
    spread = 2.0 / (9.0 * n_columns)
    found: Array = (np.cbrt(losses / n_columns) - (1.0 - spread)) / np.sqrt(spread)
    return found


def far_distance(n_columns: int) -> float:
    """The 97.5 % quantile of the Mahalanobis distances of normal rows."""
    from scipy.special import chdtri

    return float(np.sqrt(chdtri(n_columns, 1.0 - KEPT)))


def _first_halves(X: Array) -> list[Array]:
    """Half of the rows by each of several robust correlation matrices: DetMCD but for its OGK.

    Hyperbolic tangents, ranks, normal scores, spatial signs, and the rows of the smallest norms.
    """
    from scipy.special import ndtri

    n = len(X)
    ranks = np.column_stack([_ranks(X[:, j]) for j in range(X.shape[1])])
    norms = np.sqrt(np.einsum("ij,ij->i", X, X))
    signs = X / np.where(norms > 0.0, norms, 1.0)[:, np.newaxis]
    inner = X[np.argsort(norms, kind="stable")[: (n + 1) // 2]]
    matrices = [
        _correlations(np.tanh(X)),
        _correlations(ranks),
        _correlations(ndtri((ranks - 1.0 / 3.0) / (n + 1.0 / 3.0))),
        signs.T @ signs / n,
        np.atleast_2d(np.cov(inner, rowvar=False)) if len(inner) > 1 else np.eye(X.shape[1]),
    ]
    return [_half(X, matrix) for matrix in matrices]


def _ranks(column: Array) -> Array:
    """Ranks from 1 on, those of equal values averaged. (n,)."""
    _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
    found: Array = (np.cumsum(counts) - 0.5 * (counts - 1.0))[places]
    return found


def _correlations(X: Array) -> Array:
    moved = X - X.mean(axis=0)
    deviations = moved.std(axis=0)
    moved /= np.where(deviations > 0.0, deviations, 1.0)
    found: Array = moved.T @ moved / len(X)
    return found


def _half(X: Array, matrix: Array) -> Array:
    """The half of the rows nearest to the median along the eigenvectors, in robust deviations."""
    vectors = np.linalg.eigh(matrix)[1]
    along = X @ vectors
    along -= np.median(along, axis=0)
    sizes = np.abs(along)
    units = MAD_TO_DEVIATION * np.median(sizes, axis=0)
    along /= np.maximum(units, np.sqrt(FLOOR))
    distances = np.einsum("ij,ij->i", along, along)
    return _smallest(distances, (len(X) + 1) // 2)


def _smallest(distances: Array, h: int) -> Array:
    """The rows of the h smallest distances, ascending; of equal ones the first."""
    return np.sort(np.argsort(distances, kind="stable")[:h])


def _concentrate(
    X: Array, coarse: Flags, rows: Array, h: int, steps: int
) -> tuple[float, Array, Shape]:
    """Steps that never increase the determinant: the h rows nearest to the mean of the last ones.

    The logarithm of the determinant, the rows, and their mean and covariance.
    """
    shape = covariance(X[rows], coarse)
    for _ in range(steps):
        nearer = _smallest(shape.distances(X), h)
        if np.array_equal(nearer, rows):
            break
        rows = nearer
        shape = covariance(X[rows], coarse)
    return log_determinant(shape.scatter), rows, shape


def _reweight(X: Array, coarse: Flags, shape: Shape) -> Shape:
    """Mean and covariance of the rows within the 97.5 % quantile, consistent for normal rows.

    The raw scatter is scaled by the median of its distances; the truncated covariance is divided by
    P(chi2_(d+2) <= q) / 0.975, q the quantile (Croux & Haesbroeck 1999).
    """
    from scipy.special import chdtr, chdtri

    d = X.shape[1]
    half, cut = float(chdtri(d, 0.5)), float(chdtri(d, 1.0 - KEPT))
    unit = float(np.median(shape.distances(X))) / half
    shape = Shape(shape.centre, max(unit, FLOOR) * shape.scatter)
    inflation = KEPT / float(chdtr(d + 2, cut))
    for _ in range(2):
        kept = X[shape.distances(X) <= cut]
        if len(kept) < 2:
            return shape
        inner = covariance(kept, coarse)
        scatter = inner.scatter * inflation
        scatter[coarse, coarse] = 1.0
        shape = Shape(inner.centre, scatter)
    return shape
