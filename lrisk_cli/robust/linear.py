"""Robust linear regression: high-breakdown starts, an S-estimate, and an MM step from it.

Letters: A (n, p) a sample of the rows with their constant, y (n,), B (p, k) coefficients of k
candidates, W (k, n) weights of the rows, h the number of rows that LTS keeps.

Candidates are fits to random subsamples and to two fixed halves of the rows. The best go on by
steps of the S-estimate (Salibian-Barrera & Yohai 2006) and of LTS (Rousseeuw & Van Driessen 2006).
From above, rows beyond 2.5 scales are rejected, starting at the S-scale; from below, rows within
2.5 scales are added, starting at the h rows of LTS: contamination of 40 % inflates an S-scale to
twice that of the errors, and then the first way leads to all rows. The candidate that makes the
rows likeliest under a core, a group apart and errors anywhere wins.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.robust.bisquare import (
    FIT_TUNING,
    MAD_TO_DEVIATION,
    SCALE_TUNING,
    design_scale,
    m_scale,
    rho,
    weight,
)
from lrisk_cli.robust.core_and_group import CoreAndGroup, fit_core
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Flags, Index

# The start is searched on a sample of so many rows, more for many columns.
SAMPLE_ROWS, SAMPLE_PER_COLUMN = 1000, 8
# Multiplications of a weighted fit beyond which all but the last are made on a sample of the rows,
# of at least so many for each column.
WHOLE_WORK, WHOLE_ROWS = 4e8, 20
# Multiplications that the steps of the best candidates may take, and the fewest steps.
STEP_WORK, FEWEST_STEPS = 1e10, 3
# Random subsamples of the rows: as many as this many multiplications allow.
MOST_SUBSETS, FEWEST_SUBSETS, SUBSET_WORK = 500, 20, 4e8
# Concentration steps of every candidate, and how many of them go on to the end.
FIRST_STEPS, KEPT, LAST_STEPS, REJECT_STEPS = 2, 6, 30, 20
# Products of columns are formed once for all candidates up to so many columns.
PRODUCT_COLUMNS = 40
# Weighted fits of the MM step, and how often its scale is corrected, within these factors.
FIT_STEPS, FIT_ACCURACY, RESCALES, RESCALE_WITHIN = 100, 1e-7, 3, (0.8, 2.0)
# Rows farther out than so many scales are suspected, which are so many of normal errors; the
# standard deviation of normal errors cut there.
SUSPECT, SUSPECT_KEEPS, CUT_DEVIATION = 2.5, 0.98758, 0.95460
# Where a larger fraction is suspected, M-steps from a scale that they inflate would follow them.
MOST_SUSPECTED = 1.0 / 3.0
# A half of the rows that was searched for fits its p coefficients too well: what is added to minus
# its mean log-likelihood, for each coefficient per row.
SEARCHED = 0.7
# Errors may be anywhere in so many robust deviations of the target.
ANYWHERE = 6.0
# The search leaves out rows so many robust deviations from the median of a column, if so many rows
# for each column remain. Cells farther out than FARTHEST count as that.
REMOTE, FEWEST_NEAR, FARTHEST = 10.0, 4, 1e100
RIDGE, TINY, MOST_LEVERAGE = 1e-10, 1e-300, 0.98


@dataclass(frozen=True, slots=True, eq=False)
class LinearFit:
    """A robust linear fit. beta: (p,); errors, weights, leverages: (n,).

    errors: y minus its prediction; leverages: x_i' (sum_j w_j x_j x_j')^-1 x_i. scale: of the
    errors of the rows that are not suspected, 0 for an exact fit; suspected: fraction of the
    others.
    """

    beta: Array
    errors: Array
    weights: Array
    leverages: Array
    scale: float
    suspected: float
    method: str

    @property
    def scores(self) -> Array:
        """Errors of the fits without the row, in their standard deviations; with sign. (n,).

        With g_i the leverage among the other rows, errors_i / (1 - w_i h_i) has variance
        s^2 (1 + g_i).
        """
        rest = np.maximum(1.0 - self.weights * self.leverages, 1.0 - MOST_LEVERAGE)
        found: Array = self.errors / rest / np.sqrt(1.0 + self.leverages / rest)
        return found / self.scale if self.scale > 0.0 else found


def fit_linear(rows: Rows, y: Array, *, seed: int = 0) -> LinearFit:
    """An MM fit from the best of many starts, or reweighted least squares where more than a third
    of the rows are suspected. rows: with their constant.
    """
    n, p = rows.shape
    if n * p * p > WHOLE_WORK and n > WHOLE_ROWS * p:
        return _fit_large(rows, y, seed)
    some = _sample(n, p, seed)
    beta, scale = _search(*_near(rows.dense_rows(some), y[some]), np.random.default_rng([seed, 5]))
    smallest = 1e-9 * float(np.abs(y).max())
    if scale <= smallest:
        return _exact(rows, y, beta, smallest)
    beta, _, scale = _reject(rows, y, beta, scale)
    if scale <= smallest:
        return _exact(rows, y, beta, smallest)
    beta, w, scale = _m_steps(rows, y, beta, scale)
    suspected = _suspected(np.abs(_errors(rows, y, beta)) <= SUSPECT * scale)
    if suspected <= MOST_SUSPECTED:
        return _finish(rows, y, beta, w, scale, suspected, "MM")
    beta, kept, scale = _reject(rows, y, beta, scale)
    w = kept.astype(np.float64)
    return _finish(rows, y, beta, w, scale, _suspected(kept), "reweighted LTS")


def _fit_large(rows: Rows, y: Array, seed: int) -> LinearFit:
    """The fit to a sample, and one weighted fit of all rows by its weights."""
    n, p = rows.shape
    most = max(int(WHOLE_WORK / (p * p)), WHOLE_ROWS * p)
    some = np.sort(np.random.default_rng([seed, 7]).permutation(n)[:most])
    found = fit_linear(rows.take(some), y[some], seed=seed)
    if found.scale == 0.0:
        return _exact(rows, y, found.beta, 1e-9 * float(np.abs(y).max()))
    w = weight(_errors(rows, y, found.beta) / found.scale, FIT_TUNING)
    beta = _weighted(rows, y, w)
    return _finish(rows, y, beta, w, found.scale, found.suspected, found.method)


def _suspected(kept: Flags) -> float:
    """The fraction of the rows that are beyond 2.5 scales, less that of normal errors."""
    return float(np.clip(1.0 - kept.mean() / SUSPECT_KEEPS, 0.0, 1.0))


def _sample(n: int, p: int, seed: int) -> Index:
    most = max(SAMPLE_ROWS, SAMPLE_PER_COLUMN * p)
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng([seed, 3]).permutation(n)[:most])


def _near(A: Array, y: Array) -> tuple[Array, Array]:
    """The rows that are not remote in a column, which would bend the search; all if these are few.

    The fit that they lead to decides on the others.
    """
    n, p = A.shape
    near = np.abs(_standardised(A)).max(axis=1, initial=0.0) <= REMOTE
    if near.all() or near.sum() < max(n // 2, FEWEST_NEAR * p):
        return A, y
    return A[near], y[near]


def _standardised(A: Array) -> Array:
    """Columns less their medians, by their MADs, or deviations where those are zero. (n, p)."""
    centre = np.median(A, axis=0)
    mads = MAD_TO_DEVIATION * np.median(np.abs(A - centre), axis=0)
    scales = np.where(mads > 0.0, mads, A.std(axis=0))
    scales[scales == 0.0] = 1.0
    return np.asarray(np.clip((A - centre) / scales, -FARTHEST, FARTHEST))


def _search(A: Array, y: Array, draws: np.random.Generator) -> tuple[Array, float]:
    """The likeliest candidate, (p,), and the scale of the rows it keeps."""
    n, p = A.shape
    fits, n_kept = _WeightedFits(A, y), min(n, (n + p + 1) // 2)
    fixed = _fixed_starts(A, y, n_kept)
    B: Array = fits.solve(np.concatenate([fixed, _subsets(n, p, draws)]))
    for _ in range(FIRST_STEPS):
        B = fits.solve(_nearest(fits.errors(B), n_kept))
    squares = np.sort(np.square(fits.errors(B)), axis=0)[:n_kept].sum(axis=0)
    few = np.union1d(np.argsort(squares, kind="stable")[:KEPT], np.arange(len(fixed)))
    trimmed = np.concatenate([B[:, few], fits.solve(np.ones((1, n)))], axis=1)
    smooth = trimmed
    for _ in range(_affordable_steps(n, p, smooth.shape[1])):
        errors = fits.errors(smooth)
        smooth = fits.solve(weight(errors / _scales(errors, p), SCALE_TUNING).T)
        trimmed = fits.solve(_nearest(fits.errors(trimmed), n_kept))
    above = np.array([m_scale(errors, p) for errors in fits.errors(smooth).T])
    errors = fits.errors(trimmed)
    squares = (np.square(errors) * _nearest(errors, n_kept).T).sum(axis=0)
    below = np.sqrt(squares / max(n_kept - p, 1)) / CUT_DEVIATION
    spread = ANYWHERE * (MAD_TO_DEVIATION * float(np.median(np.abs(y - np.median(y)))))
    spread = spread or ANYWHERE * float(y.std()) or 1.0
    down = _reject_many(fits, smooth, above, min(n, p + 1), spread, 0.0)
    up = _reject_many(fits, trimmed, below, n_kept, spread, SEARCHED * p / n)
    _, beta, scale = min(down, up, key=lambda each: each[0])
    return beta, scale


def _affordable_steps(n: int, p: int, n_candidates: int) -> int:
    return int(np.clip(STEP_WORK / (4.0 * n_candidates * n * p * p), FEWEST_STEPS, LAST_STEPS))


def _reject_many(
    fits: "_WeightedFits", B: Array, scales: Array, fewest: int, spread: float, handicap: float
) -> tuple[float, Array, float]:
    """Fits of the rows within 2.5 scales and the scales of these in turns; the likeliest of them.

    fewest: so many rows are always kept. handicap: added to minus the mean log-likelihood.
    """
    p = len(B)
    errors = fits.errors(B)
    for _ in range(min(REJECT_STEPS, _affordable_steps(len(errors), p, len(scales)))):
        sizes = np.abs(errors)
        least = np.partition(sizes, fewest - 1, axis=0)[fewest - 1]
        kept = sizes <= np.maximum(SUSPECT * scales, least)
        B = fits.solve(kept.T.astype(np.float64))
        errors = fits.errors(B)
        free = np.maximum(kept.sum(axis=0) - p, 1)
        squares = (np.square(errors) * kept).sum(axis=0)
        scales = np.asarray(np.sqrt(squares / free) / CUT_DEVIATION, np.float64)
    found = []
    for beta, e, k, scale in zip(B.T, errors.T, kept.T, scales.tolist(), strict=True):
        alone = np.where(k, e / np.maximum(1.0 - fits.leverages(k), 1.0 - MOST_LEVERAGE), e)
        surprise = fit_core(alone, max(scale, TINY), spread).surprise
        found.append((surprise + handicap, beta, scale))
    return min(found, key=lambda each: each[0])


def _fixed_starts(A: Array, y: Array, n_kept: int) -> Array:
    """Weights of rows: near the median target, and in the middle of the columns. (2, n)."""
    reach = np.square(_standardised(A)).sum(axis=1)
    return _nearest(np.stack([y - np.median(y), reach], axis=1), n_kept)


def _subsets(n: int, p: int, draws: np.random.Generator) -> Array:
    """Weights of random subsamples of p + 1 rows. (k, n)."""
    k = int(np.clip(SUBSET_WORK / (n * p * p), FEWEST_SUBSETS, MOST_SUBSETS))
    size = min(n, p + 1)
    chosen = np.argsort(draws.random((k, n)), axis=1)[:, :size]
    found = np.zeros((k, n))
    np.put_along_axis(found, chosen, 1.0, axis=1)
    return found


def _nearest(errors: Array, n_kept: int) -> Array:
    """1 for the rows of the smallest errors of each candidate. errors: (n, k); (k, n)."""
    sizes = np.abs(errors.T)
    if n_kept >= sizes.shape[1]:
        return np.ones(sizes.shape)
    at = np.argpartition(sizes, n_kept - 1, axis=1)[:, :n_kept]
    found = np.zeros(sizes.shape)
    np.put_along_axis(found, at, 1.0, axis=1)
    return found


def _scales(errors: Array, p: int) -> Array:
    """Two steps towards the M-scale of each candidate, from the MAD. errors: (n, k); (k,)."""
    share = 0.5 * max(1.0 - p / len(errors), 0.1)
    scales = MAD_TO_DEVIATION * np.median(np.abs(errors), axis=0)
    found: Array = np.maximum(scales, np.abs(errors).max(axis=0) * 1e-12 + TINY)
    for _ in range(2):
        ratios = rho(errors / found, SCALE_TUNING).mean(axis=0) / share
        found = found * np.sqrt(np.maximum(ratios, 1e-6))
    return found


class _WeightedFits:
    """Weighted least squares of one sample for many sets of weights."""

    def __init__(self, A: Array, y: Array) -> None:
        p = A.shape[1]
        self._A, self._y, self._moments = A, y, A * y[:, None]
        self._first, self._second = np.triu_indices(p)
        many = p > PRODUCT_COLUMNS
        self._products = None if many else A[:, self._first] * A[:, self._second]

    def errors(self, B: Array) -> Array:
        """y - A B. (n, k)."""
        found: Array = self._y[:, None] - self._A @ B
        return found

    def solve(self, W: Array) -> Array:
        """The fits with these weights. (p, k)."""
        found: Array = _solve(self._grams(W), W @ self._moments).T
        return found

    def leverages(self, kept: Flags) -> Array:
        """a_i' (A_kept' A_kept)^-1 a_i. (n,)."""
        G = self._A[kept].T @ self._A[kept]
        _lift(G)
        found: Array = np.einsum("ij,ij->i", self._A @ np.linalg.inv(G), self._A)
        return found

    def _grams(self, W: Array) -> Array:
        """A' diag(w) A for each set of weights. (k, p, p)."""
        p = self._A.shape[1]
        if self._products is None:
            return np.stack([(self._A.T * w) @ self._A for w in W])
        G = np.empty((len(W), p, p))
        G[:, self._first, self._second] = W @ self._products
        G[:, self._second, self._first] = G[:, self._first, self._second]
        return G


def _lift(G: Array) -> None:
    """Raise the diagonals a little, for columns that depend on each other. (..., p, p)."""
    diagonal = np.einsum("...ii->...i", G)
    diagonal += RIDGE * diagonal + 1e-12 * diagonal.max(axis=-1, keepdims=True) + TINY


def _solve(G: Array, b: Array) -> Array:
    """G^-1 b. (..., p, p), (..., p)."""
    _lift(G)
    found: Array = np.asarray(np.linalg.solve(G, b[..., None])[..., 0], np.float64)
    return found


def _weighted(rows: Rows, y: Array, w: Array) -> Array:
    return _solve(rows.gram(w), rows.combine((w * y)[:, None])[:, 0])


def _errors(rows: Rows, y: Array, beta: Array) -> Array:
    found: Array = y - rows.margins(beta[:, None])[:, 0]
    return found


def _reject(rows: Rows, y: Array, beta: Array, scale: float) -> tuple[Array, Flags, float]:
    """Least squares of the rows within 2.5 scales, and the scale of these, in turns."""
    errors, p = _errors(rows, y, beta), rows.shape[1]
    kept = np.abs(errors) <= SUSPECT * scale
    for _ in range(REJECT_STEPS):
        beta = _weighted(rows, y, kept.astype(np.float64))
        errors = _errors(rows, y, beta)
        free = max(int(kept.sum()) - p, 1)
        scale = float(np.sqrt(np.square(errors[kept]).sum() / free)) / CUT_DEVIATION
        before, kept = kept, np.abs(errors) <= SUSPECT * scale
        if np.array_equal(before, kept) or kept.sum() <= p:
            break
    return beta, before, scale


def _m_steps(rows: Rows, y: Array, beta: Array, first: float) -> tuple[Array, Array, float]:
    """Bisquare fits for a given scale, and the scale that the leverages correct, in turns.

    A group apart has no part in either.
    """
    start = _errors(rows, y, beta)
    scale, spread = first, float(np.ptp(start)) or 1.0
    core = fit_core(start, first, spread)
    for _ in range(RESCALES):
        errors = start
        for _ in range(FIT_STEPS):
            w = weight(errors / scale, FIT_TUNING) * _outside_group(core, errors)
            beta = _weighted(rows, y, w)
            before, errors = errors, _errors(rows, y, beta)
            if float(np.abs(errors - before).max()) <= FIT_ACCURACY * scale:
                break
        outside = _outside_group(core, errors)
        w = weight(errors / scale, FIT_TUNING) * outside
        own = np.minimum(w * _leverages(rows, w), MOST_LEVERAGE)
        low, high = RESCALE_WITHIN
        found = design_scale(errors, own, outside, scale)
        new = min(max(found, low * first), high * first)
        if abs(new - scale) <= 1e-3 * scale:
            break
        scale = new
    return beta, w, scale


def _outside_group(core: CoreAndGroup, errors: Array) -> Array:
    """The probability that a row does not belong to the group apart; 1 where there is none."""
    return 1.0 - core.in_group(errors) if core.apart else np.ones(len(errors))


def _leverages(rows: Rows, w: Array) -> Array:
    """x_i' (sum_j w_j x_j x_j')^-1 x_i. (n,)."""
    G = rows.gram(w)
    _lift(G)
    inverse = np.asarray(np.linalg.inv(G), np.float64)
    found = rows.quadratic_forms(inverse)
    return np.maximum(found, 0.0, out=found)


def _finish(
    rows: Rows, y: Array, beta: Array, w: Array, scale: float, suspected: float, method: str
) -> LinearFit:
    errors = _errors(rows, y, beta)
    return LinearFit(beta, errors, w, _leverages(rows, w), scale, suspected, method)


def _exact(rows: Rows, y: Array, beta: Array, smallest: float) -> LinearFit:
    """More than half of the rows agree with one linear function, up to rounding."""
    w = (np.abs(_errors(rows, y, beta)) <= 100.0 * smallest).astype(np.float64)
    return _finish(rows, y, beta, w, 0.0, float(1.0 - w.mean()), "exact fit")
