"""Improve initial centres by gradient steps on the risk of random batches of rows.

C <- C - eta sum_b sigma_b grad l_(b)(C), the losses of a batch sorted and weighed by the spectrum
in as many bins: what Mehta et al. run from centres at 0. The step is constant, so the centres keep
trembling; the best that an epoch ended with is kept.
"""

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.clusters.lloyd import Descent
from lrisk_cli.errors import InvalidOption
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.units import count_units, rows_of_units
from lrisk_cli.risk.weighted import AnyWeighter
from lrisk_cli.types import Array

# Batches are drawn from so many units of rows with masses at most, or from as many as rows.
MOST_UNITS = 1 << 22


def _scaled(masses: Array) -> Array:
    """Masses of as many units as the pool may have."""
    most = max(MOST_UNITS, len(masses))
    return masses * min(1.0, most / count_units(masses, len(masses)))


class Minibatches:
    """Batches of the rows X, drawn without replacement from the state `rng`, for several starts.

    masses: how much the rows count; a row is in the pool as often.
    """

    def __init__(
        self,
        X: Array,
        k: int,
        row_weighter: AnyWeighter,
        batch_size: int,
        rng: NDArray[np.uint64],
        masses: Array | None = None,
    ) -> None:
        n_rows = len(X)
        pool = np.arange(n_rows) if masses is None else rows_of_units(_scaled(masses))
        size = min(batch_size, len(pool))
        self._X = X
        self._row_weighter = row_weighter
        self._rng = rng
        self._sigma = row_weighter.spectrum.weights(size)
        self._pool = pool.astype(np.int32)
        self._nearest, self._order = np.empty((2, size), dtype=np.int32)
        self._batch_losses = np.empty(size)
        self._gradient = np.empty((k, X.shape[1]))
        self._n_steps = -(-len(pool) // size)
        self._assignment = np.empty(n_rows, dtype=np.int32)
        self._losses = np.empty(n_rows)

    def descend(self, centres: Array, step: float, epochs: int) -> Descent:
        """So many epochs of about n / batch steps."""
        running, best = centres.copy(), centres
        least = self._risk(centres)
        for _ in range(epochs):
            core.cluster_steps(
                self._X, self._sigma, running, self._gradient, step, self._n_steps, self._rng,
                self._pool, self._nearest, self._batch_losses, self._order,
            )  # fmt: skip
            value = self._risk(running)
            if value < least:
                least, best = value, running.copy()
        return Descent(best, least, epochs, f"the best of {epochs} epochs of batches")

    def _risk(self, centres: Array) -> float:
        """The risk of all rows."""
        core.nearest_centres(self._X, centres, self._assignment, self._losses)
        if not np.isfinite(self._losses).all():
            raise InvalidOption("step", ": the centres diverged; pass a smaller one")
        return self._row_weighter.weigh(self._losses).value
