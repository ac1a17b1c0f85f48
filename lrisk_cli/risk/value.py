"""The value of a spectral risk, from sorted losses."""

from math import fsum

import numpy as np

from lrisk_cli.errors import DataError
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.risk.weighted import sorted_weights
from lrisk_cli.types import Array


def sort_losses(losses: Array, masses: Array | None = None) -> Array:
    """The losses in ascending order, in place; a loss that overflowed is an error.

    masses: of the rows, which are brought into the same order.
    """
    if masses is None:
        losses.sort()
    else:
        order = np.argsort(losses, kind="stable")
        losses[:], masses[:] = losses[order], masses[order]
    if len(losses) == 0:
        raise DataError("no rows are left to evaluate; every row read was dropped")
    check_largest(float(losses[-1]))
    return losses


def check_largest(loss: float) -> None:
    """DataError if the largest loss overflowed."""
    if not np.isfinite(loss):
        raise DataError("a loss is too large for a number; look for extreme values in the data")


def spectral_risk(ascending: Array, spectrum: Spectrum, masses: Array | None = None) -> float:
    """Sorted losses dotted with the spectrum, which is never held as a whole. ascending: (n,).

    masses: of the rows in this order, where they count for unlike much; then it is held. (n,).
    """
    if masses is not None:
        return float(core.compensated_dot(ascending, sorted_weights(masses, spectrum)))
    return fsum(
        core.compensated_dot(ascending[start : start + len(sigma)], sigma)
        for start, sigma in spectrum.pieces(len(ascending))
    )
