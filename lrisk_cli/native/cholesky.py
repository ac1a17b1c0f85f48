"""Symmetric positive systems: factor once, solve with it.

SciPy has these too, but loading it takes longer than most fits. The factor is LAPACK's by NumPy;
what is left to solve with it is a sweep down its rows and one up, in `_core`.
"""

import numpy as np
from numpy.linalg import LinAlgError

from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array

# Shares of the mean diagonal that are added to a matrix which rounding keeps from being positive.
LIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6, 1e-4, 1e-2, 1.0)


def cho_factor(H: Array) -> Array:
    """Lower triangular L with L L' = H. (d, d). LinAlgError where H is not positive."""
    return np.linalg.cholesky(H).astype(np.float64, copy=False)


def cho_factor_lifted(H: Array) -> Array:
    """The same of H with as little added to its diagonal as makes it positive.

    LinAlgError where nothing does, as of numbers that are not finite.
    """
    mean = float(np.trace(H)) / len(H)
    for lift in LIFTS if np.isfinite(mean) else ():
        try:
            L = cho_factor(H + lift * mean * np.eye(len(H)) if lift else H)
        except LinAlgError:
            continue
        # A NaN anywhere in H reaches the last pivot.
        if np.isfinite(L[-1, -1]):
            return L
    raise LinAlgError("a matrix that no lift makes positive")


def cho_solve(L: Array, B: Array) -> Array:
    """(L L')^-1 B. B: (d,) or (d, m), m small."""
    columns = np.array(B.T, dtype=np.float64, order="C", ndmin=2)
    core.cholesky_solve(L, columns)
    return np.ascontiguousarray(columns.T).reshape(B.shape)
