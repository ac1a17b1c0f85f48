"""Rows and a seed decide which rows are held out, and which fold each row belongs to."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import DataError, InvalidOption, UsageError
from lrisk_cli.parameters import hint_percent
from lrisk_cli.types import Array, Codes, Flags

Folds = NDArray[np.intp]


def hold_out(n_rows: int, fraction: float, seed: int) -> Flags:
    """True for the round(fraction n) rows kept for testing, at least one on either side. (n,).

    Depends on n_rows, fraction and seed alone.
    """
    n_test = _count_test(n_rows, fraction)
    held_out = np.zeros(n_rows, dtype=np.bool_)
    held_out[_shuffled(n_rows, seed)[:n_test]] = True
    return held_out


def hold_out_groups(groups: Codes, fraction: float, seed: int) -> Flags:
    """True for all rows of some groups, drawn until they have about a fraction of the rows. (n,).

    groups: 0.. of each row. A group is drawn as long as that brings the number of rows nearer.
    """
    n_test = _count_test(len(groups), fraction)
    sizes = np.bincount(groups)
    if len(sizes) < 2:
        raise DataError("all rows are of one group, so none can be held out; choose another column")
    drawn = _shuffled(len(sizes), seed)
    found = np.cumsum(sizes[drawn])
    n_drawn = int(np.argmin(np.abs(found[:-1] - n_test))) + 1
    chosen = np.zeros(len(sizes), np.bool_)
    chosen[drawn[:n_drawn]] = True
    return chosen[groups]


def hold_out_latest(times: Array, fraction: float) -> Flags:
    """True for about a fraction of the rows, those of the latest times. (n,).

    Rows of one time stay together; at least one time is on either side.
    """
    n_test = _count_test(len(times), fraction)
    values, counts = np.unique(times, return_counts=True)
    if len(values) < 2:
        raise DataError("all rows are of one time, so none is later; choose another column")
    before = np.cumsum(counts)[:-1]
    first = int(np.argmin(np.abs(before - (len(times) - n_test)))) + 1
    held_out: Flags = times >= values[first]
    return held_out


def folds(n_rows: int, k: int, seed: int, repeat: int = 0) -> Folds:
    """The fold 0..k-1 of each row; fold sizes differ by at most one. (n,)."""
    _check_folds(n_rows, k, "rows")
    fold = np.empty(n_rows, dtype=np.intp)
    fold[_shuffled(n_rows, seed, repeat)] = np.arange(n_rows) % k
    return fold


def stratified_folds(classes: Codes, k: int, seed: int, repeat: int = 0) -> Folds:
    """The fold 0..k-1 of each row; sizes, and counts of every class, differ by at most one. (n,).

    The shuffled rows are dealt to the folds class after class.
    """
    _check_folds(len(classes), k, "rows")
    shuffled = _shuffled(len(classes), seed, repeat)
    fold = np.empty(len(classes), dtype=np.intp)
    fold[shuffled[np.argsort(classes[shuffled], kind="stable")]] = np.arange(len(classes)) % k
    return fold


def group_folds(groups: Codes, k: int, seed: int, repeat: int = 0) -> Folds:
    """The fold 0..k-1 of each row; no group is in two folds. (n,).

    groups: 0.. of each row. Shuffled groups go to the fold with the fewest rows, so fold sizes
    differ by at most the largest group.
    """
    sizes = np.bincount(groups)
    _check_folds(len(sizes), k, "groups")
    of_group, filled = np.empty(len(sizes), dtype=np.intp), np.zeros(k, np.int64)
    for group in _shuffled(len(sizes), seed, repeat):
        of_group[group] = np.argmin(filled)
        filled[of_group[group]] += sizes[group]
    return of_group[groups]


def time_folds(times: Array, k: int) -> Folds:
    """The fold 0..k-1 of each row, later times in later folds; -1 for the earliest rows. (n,).

    The rows before fold j are those to learn from, so that the past predicts the future. Each fold
    has about n / (k + 1) rows; rows of one time are in one fold.
    """
    values, which, counts = np.unique(times, return_inverse=True, return_counts=True)
    _check_folds(len(values), k + 1, "different times", f"{k} folds that follow earlier rows")
    size, before = len(times) // (k + 1), np.cumsum(counts)
    starts, last = [], 0
    for fold in range(k):
        # As many times must be left as folds, and some must lie before the first.
        begin, end = last, len(values) - (k - fold)
        at = begin + int(np.argmin(np.abs(before[begin:end] - (len(times) - (k - fold) * size))))
        last = at + 1
        starts.append(last)
    found = np.searchsorted(starts, np.arange(len(values)), side="right") - 1
    return found[which.reshape(-1)]


def number_groups(cells: Any) -> Codes:
    """0.. for the groups of each row, in the order of their first rows. (n,)."""
    _, first, which = np.unique(cells, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int32)
    order[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return order[which.reshape(-1)]


def _count_test(n_rows: int, fraction: float) -> int:
    if not 0.0 < fraction < 1.0:
        hint = hint_percent(fraction)
        raise InvalidOption(
            "holdout", f"must be a fraction between 0 and 1; got {fraction:g}{hint}"
        )
    if n_rows < 2:
        raise DataError(f"{n_rows} row cannot be split in two; use more rows or no hold-out")
    return min(max(round(fraction * n_rows), 1), n_rows - 1)


def _check_folds(n_parts: int, k: int, parts: str, whole: str = "") -> None:
    if k < 2:
        raise UsageError(f"cross-validation needs at least 2 folds; got {k}")
    if k > n_parts:
        raise DataError(
            f"{n_parts} {parts} cannot fill {whole or f'{k} folds'}; ask for fewer folds"
        )


def _shuffled(n_rows: int, seed: int, repeat: int = 0) -> Folds:
    """A permutation; the first repeat is that of the seed alone."""
    source = np.random.PCG64([seed, repeat] if repeat else seed)
    return np.random.Generator(source).permutation(n_rows)
