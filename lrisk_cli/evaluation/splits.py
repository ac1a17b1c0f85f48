"""Rows and a seed decide which rows are held out, and which fold each row belongs to."""

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import DataError, InvalidOption, UsageError
from lrisk_cli.parameters import hint_percent


def hold_out(n_rows: int, fraction: float, seed: int) -> NDArray[np.bool_]:
    """True for the round(fraction n) rows kept for testing, at least one on either side. (n,).

    Depends on n_rows, fraction and seed alone.
    """
    if not 0.0 < fraction < 1.0:
        hint = hint_percent(fraction)
        raise InvalidOption(
            "holdout", f"must be a fraction between 0 and 1; got {fraction:g}{hint}"
        )
    if n_rows < 2:
        raise DataError(f"{n_rows} row cannot be split in two; use more rows or no hold-out")
    n_test = min(max(round(fraction * n_rows), 1), n_rows - 1)
    held_out = np.zeros(n_rows, dtype=np.bool_)
    held_out[_shuffled(n_rows, seed)[:n_test]] = True
    return held_out


def folds(n_rows: int, k: int, seed: int) -> NDArray[np.intp]:
    """The fold 0..k-1 of each row; fold sizes differ by at most one. (n,)."""
    if k < 2:
        raise UsageError(f"cross-validation needs at least 2 folds; got {k}")
    if k > n_rows:
        raise DataError(f"{n_rows} rows cannot fill {k} folds; ask for fewer folds")
    fold = np.empty(n_rows, dtype=np.intp)
    fold[_shuffled(n_rows, seed)] = np.arange(n_rows) % k
    return fold


def _shuffled(n_rows: int, seed: int) -> NDArray[np.intp]:
    return np.random.Generator(np.random.PCG64(seed)).permutation(n_rows)
