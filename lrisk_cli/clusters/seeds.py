"""Rows and a spectrum give centres to start from, chosen by chance where the risk still is.

k-means++ draws each new centre with a chance proportional to l_i, the squared distance to the
centres so far, and so mostly draws outliers. Here the chance is lam_i l_i, lam the weights that
the risk gives to these losses: a row that the risk will not count does not become a centre. Of a
few such draws the one that leaves the least risk is taken.
"""

from math import log

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.native.kernels import core
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.weighted import AnyWeighter, make_weighter
from lrisk_cli.types import Array

Generator = np.random.Generator

# Seeds are drawn among so many rows at most; the alternation that follows sees all of them.
SAMPLE_ROWS = 20_000
SAMPLE_ROWS_PER_CENTRE = 200


def draw_seeds(
    X: Array, k: int, spectrum: Spectrum, generator: Generator, masses: Array | None = None
) -> Array:
    """k distinct rows, far apart for the rows that the risk counts. X has k distinct rows; (k, d).

    Which rows come out depends on the generator, on X and on how much its rows count only.
    """
    sample, masses = _sample(X, k, generator, masses)
    centres = _draw_among(sample, k, spectrum, generator, masses)
    if centres is None:
        # Duplicates dominate the sample: take each distinct row instead.
        found = np.empty(k, dtype=np.int32)
        core.count_distinct(X, found)
        centres = X[found]
    return centres


def _sample(
    X: Array, k: int, generator: Generator, masses: Array | None
) -> tuple[Array, Array | None]:
    n_rows = max(SAMPLE_ROWS, SAMPLE_ROWS_PER_CENTRE * k)
    if len(X) <= n_rows:
        return X, masses
    rows = np.sort(generator.choice(len(X), n_rows, replace=False))
    return X[rows], None if masses is None else masses[rows]


def _draw_among(
    X: Array, k: int, spectrum: Spectrum, generator: Generator, weights: Array | None
) -> Array | None:
    """The centres, or None where X has fewer than k distinct rows. weights: of rows, if any."""
    row_weighter = make_weighter(spectrum, len(X), weights)
    n_trials = 2 + int(log(k))
    centres = np.empty((k, X.shape[1]))
    first = generator.integers(len(X)) if weights is None else _draw_rows(weights, 1, generator)[0]
    centres[0] = X[first]
    losses = np.full(len(X), np.inf)
    core.closer_losses(X, centres[0], losses, losses)
    for j in range(1, k):
        masses = row_weighter.weigh(losses).lam * losses
        if not masses.any():
            # All that the risk counts is covered; the rest still tells rows apart.
            masses = losses if weights is None else losses * weights
        if not masses.any():
            return None
        rows = _draw_rows(masses, n_trials, generator)
        trials = [_with_centre(X, row, losses, row_weighter) for row in rows]
        best = min(range(n_trials), key=lambda t: trials[t][0])
        centres[j], losses = X[rows[best]], trials[best][1]
    return centres


def _draw_rows(masses: Array, count: int, generator: Generator) -> NDArray[np.intp]:
    """Row numbers, each with a chance proportional to its mass; never one without mass."""
    # Scaled, so that a sum of large masses does not overflow.
    sums = np.cumsum(masses / masses.max())
    drawn = np.searchsorted(sums, generator.random(count) * sums[-1], side="right")
    return np.asarray(drawn, dtype=np.intp)


def _with_centre(
    X: Array, row: int, losses: Array, row_weighter: AnyWeighter
) -> tuple[float, Array]:
    """The risk and the losses once this row is a centre too."""
    closer = np.empty(len(X))
    core.closer_losses(X, X[row], losses, closer)
    return row_weighter.weigh(closer).value, closer
