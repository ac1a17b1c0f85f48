"""Random rows for the stochastic methods, from a seed and nothing else."""

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array

Rows = NDArray[np.int32]


def random_state(seed: int) -> NDArray[np.uint64]:
    """Four random words for the generator inside the kernels."""
    return np.random.default_rng(seed).integers(1, 2**63, size=4, dtype=np.uint64)


class RowDraws:
    """Draws rows uniformly, or in proportion to weights given at each checkpoint."""

    def __init__(self, n_rows: int, state: NDArray[np.uint64]) -> None:
        self._n = n_rows
        self._state = state
        self._keep: Array | None = None
        self._other = np.empty(0, dtype=np.int32)
        self._work = np.empty(0, dtype=np.int32)

    def follow(self, lam: Array) -> None:
        """From now on draw row i with probability lam_i."""
        if self._keep is None:
            self._keep = np.empty(self._n)
            self._other, self._work = np.empty((2, self._n), dtype=np.int32)
        core.prepare_draws(lam, self._keep, self._other, self._work)

    def draw(self, count: int) -> Rows:
        """`count` independent rows."""
        rows = np.empty(count, dtype=np.int32)
        if self._keep is None:
            core.draw_uniform_rows(self._n, self._state, rows)
        else:
            core.draw_weighted_rows(self._keep, self._other, self._state, rows)
        return rows
