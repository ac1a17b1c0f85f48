"""Centres to start from become centres that no alternation of Lloyd's improves.

    assign    a_i = the nearest centre, l_i = ||x_i - c_(a_i)||^2
    weigh     lam = the weights of the falling spectrum for these losses
    move      c_j = sum of lam_i x_i over its rows / sum of lam_i

Each of the three lowers sum_i lam_i ||x_i - c_(a_i)||^2 or leaves it, since a falling risk is the
least such sum over all lam that its spectrum allows. So the risk never rises.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.risk.weighted import AnyWeighter
from lrisk_cli.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class Descent:
    """Where a start ended. status: a sentence. reseeded: centres that lost all their weight."""

    centres: Array
    objective: float
    iterations: int
    status: str
    reseeded: int = 0


class Lloyd:
    """Lloyd's alternation on the rows X with memory of its own, for one start after the other.

    Hamerly's bounds spare the comparison of rows whose centre cannot have changed.
    """

    def __init__(self, X: Array, k: int, row_weighter: AnyWeighter) -> None:
        n_rows, n_columns = X.shape
        self._X = X
        self._row_weighter = row_weighter
        self._assignment = np.zeros(n_rows, dtype=np.int32)
        self._losses = np.empty(n_rows)
        self._lam = self._losses
        self._lower = np.empty(n_rows, dtype=np.float32)
        self._panels = np.empty(core.panel_size(k, n_columns))
        self._gaps = np.empty(k)
        self._shifts = np.empty((k, n_columns))
        self._masses = np.empty(k)

    def descend(self, centres: Array, tol: float, max_iterations: int) -> Descent:
        """Alternate until an iteration gains no more than tol times the objective."""
        self._lower[:] = 0.0
        self._assign(centres, np.zeros(len(centres)), np.zeros(len(centres)))
        value = self._weigh()
        reseeded = 0
        for iteration in range(1, max_iterations + 1):
            moved, n_lost = self._move(centres)
            self._assign(moved, np.sqrt(np.sum((moved - centres) ** 2, axis=1)), self._apart(moved))
            before, value = value, self._weigh()
            reseeded += n_lost
            if not value < before:
                status = "no iteration lowers the objective any further"
                return Descent(centres, before, iteration, status, reseeded)
            centres = moved
            if before - value <= tol * value:
                status = f"an iteration lowered the objective by less than {tol:g} of it"
                return Descent(centres, value, iteration, status, reseeded)
        status = f"stopped after {max_iterations} iterations, the objective still falling"
        return Descent(centres, value, max_iterations, status, reseeded)

    def _weigh(self) -> float:
        """Renew the weights; the risk."""
        # The last weights go before the next come: memory for every row is dear.
        self._lam = self._losses
        weighed = self._row_weighter.weigh(self._losses)
        self._lam = weighed.lam
        return weighed.value

    def _apart(self, centres: Array) -> Array:
        """Half the distance of each centre to the nearest other one."""
        core.centre_gaps(centres, self._gaps)
        return 0.5 * np.sqrt(self._gaps)

    def _assign(self, centres: Array, moved: Array, apart: Array) -> None:
        """Nearest centres and losses, given how far each centre went since the last time."""
        core.pack_centres(centres, self._panels)
        # The distances are rounded against the bounds that they serve.
        core.reassign_rows(
            self._X, centres, self._panels, moved * (1.0 + 1e-12), apart * (1.0 - 1e-12),
            self._assignment, self._losses, self._lower,
        )  # fmt: skip

    def _move(self, centres: Array) -> tuple[Array, int]:
        """The weighted means of the clusters; how many had no weight and got another row instead.

        Such a centre goes to the row that contributes most to the risk, which lowers it.
        """
        core.cluster_shifts(
            self._X, centres, self._assignment, self._lam, self._shifts, self._masses
        )
        lost = np.flatnonzero(self._masses < np.finfo(float).tiny)
        moved = centres + self._shifts / np.where(self._masses > 0.0, self._masses, 1.0)[:, None]
        moved[lost] = centres[lost]
        if len(lost) == 0:
            return moved, 0
        contributions = self._lam * self._losses
        rows = np.argsort(-contributions, kind="stable")[: len(lost)]
        useful = contributions[rows] > 0.0
        moved[lost[useful]] = self._X[rows[useful]]
        return moved, int(np.count_nonzero(useful))
