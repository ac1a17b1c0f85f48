"""The value of a spectral risk, from sorted losses."""

from math import fsum

import numpy as np

from lrisk_cli.errors import DataError
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.types import Array


def sort_losses(losses: Array) -> Array:
    """The losses in ascending order, in place; a loss that overflowed is an error."""
    losses.sort()
    if len(losses) == 0:
        raise DataError("no rows are left to evaluate; every row read was dropped")
    check_largest(float(losses[-1]))
    return losses


def check_largest(loss: float) -> None:
    """DataError if the largest loss overflowed."""
    if not np.isfinite(loss):
        raise DataError("a loss is too large for a number; look for extreme values in the data")


def spectral_risk(ascending: Array, spectrum: Spectrum) -> float:
    """Sorted losses dotted with the spectrum, which is never held as a whole. ascending: (n,)."""
    return fsum(
        core.compensated_dot(ascending[start : start + len(sigma)], sigma)
        for start, sigma in spectrum.pieces(len(ascending))
    )
