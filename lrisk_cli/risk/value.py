"""The value of a spectral risk, from sorted losses."""

from functools import lru_cache
from math import fsum

import numpy as np

from lrisk_cli.errors import DataError
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.row_weights import RowOrder
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.weighted import SortedMasses
from lrisk_cli.types import Array

# Spectra of so many rows or fewer are kept for a while.
FEW = 8192


def sort_losses(losses: Array, masses: Array | None = None) -> Array:
    """The losses in ascending order, in place; a loss that overflowed is an error.

    masses: of the rows, which are brought into the same order.
    """
    if masses is None:
        losses.sort()
    else:
        ranked = RowOrder(len(losses))
        ranked.sort(losses)
        losses[:], masses[:] = losses[ranked.order], masses[ranked.order]
    if len(losses) == 0:
        raise DataError("no rows are left to evaluate; every row read was dropped")
    check_largest(float(losses[-1]))
    return losses


def check_largest(loss: float) -> None:
    """DataError if the largest loss overflowed."""
    if not np.isfinite(loss):
        raise DataError("a loss is too large for a number; look for extreme values in the data")


def spectral_risk(
    ascending: Array, spectrum: Spectrum, masses: SortedMasses | None = None
) -> float:
    """Sorted losses dotted with the spectrum, which is held as a whole for few only. (n,).

    masses: of the rows in this order, where they count for unlike much; then it is held.
    """
    if masses is not None:
        return masses.risk(ascending, spectrum)
    n = len(ascending)
    if n <= FEW:
        few = _few(spectrum, n)
        if len(few) == 1:
            start, sigma = few[0]
            return float(core.compensated_dot(ascending[start:], sigma))
    pieces = few if n <= FEW else spectrum.pieces(n)
    return fsum(
        core.compensated_dot(ascending[start : start + len(sigma)], sigma)
        for start, sigma in pieces
    )


@lru_cache(maxsize=64)
def _few(spectrum: Spectrum, n_rows: int) -> tuple[tuple[int, Array], ...]:
    """The spectrum of few rows: groups of the same size share it."""
    return tuple(spectrum.pieces(n_rows))
