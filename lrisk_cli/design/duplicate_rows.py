"""Usable rows -> how many of them repeat earlier ones, and the consequence for held-out rows."""

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.collected import block_rows
from lrisk_cli.design.raw_rows import RawRows
from lrisk_cli.tables.arrays import distinct
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array

Words = npt.NDArray[np.uint64]

# Longer tables are judged by one row of sixteen: those in whose first columns four bits are zero,
# so that all duplicates of a row are among them or none.
MOST_ROWS = 300_000
ONE_OF = 16
KEY_COLUMNS = 4
NOTED_SHARE = 0.01


def note_duplicates(raw: RawRows) -> tuple[str, ...]:
    """How many rows repeat earlier ones, where they are enough to matter to rows held out."""
    n_rows, n_duplicates = len(raw.rows), count_duplicates(raw)
    if n_duplicates < NOTED_SHARE * n_rows:
        return ()
    about = "about " if n_rows > MOST_ROWS else ""
    return (
        f"{about}{n_duplicates} of {n_rows} rows repeat earlier ones, target included: rows to "
        "test on may be copies of rows learned from, and look easier than new ones",
    )


def count_duplicates(raw: RawRows) -> int:
    """How many rows equal an earlier one in all features and the target, by words of 64 bits.

    Of more than 300,000 rows about how many. 8 bytes of memory for each row at most, and a block.
    """
    if len(raw.rows) <= MOST_ROWS:
        return _count(raw, None)
    return ONE_OF * _count(raw, _some_rows(raw))


def _count(raw: RawRows, rows: npt.NDArray[np.intp] | None) -> int:
    """How many of these rows, or of all, equal an earlier one of them."""
    words = np.empty(len(raw.rows) if rows is None else len(rows), np.uint64)
    beside = [*raw.texts, *([] if raw.target is None else [raw.target])]
    weights = 2 * np.arange(raw.n_numbers + len(beside), dtype=np.uint64) + np.uint64(1)
    step = block_rows(len(weights))
    for start in range(0, len(words), step):
        stop = min(start + step, len(words))
        block = slice(start, stop) if rows is None else rows[start:stop]
        others = [_bits(cells[block])[:, np.newaxis] for cells in beside]
        bits = np.hstack([_bits(raw.numbers[block]), *others])
        words[start:stop] = _scrambled(bits, weights).sum(axis=1, dtype=np.uint64)
    return len(words) - len(distinct(words))


def _some_rows(raw: RawRows) -> npt.NDArray[np.intp]:
    """The rows that the target and the first few features choose."""
    keys: list[Array | Texts] = [] if raw.target is None else [raw.target]
    keys += [raw.numbers[:, at] for at in range(min(raw.n_numbers, KEY_COLUMNS))]
    keys += raw.texts
    chosen, step = np.zeros(len(raw.rows), bool), block_rows(1)
    for start in range(0, len(chosen), step):
        block = slice(start, start + step)
        words = np.zeros(len(chosen[block]), np.uint64)
        for at, cells in enumerate(keys[:KEY_COLUMNS]):
            words += _scrambled(_bits(cells[block]), np.array([2 * at + 1], np.uint64))
        chosen[block] = _scrambled(words, np.ones(1, np.uint64)) >> np.uint64(60) == 0
    return np.flatnonzero(chosen)


def _bits(cells: Array | Texts) -> Words:
    """The bits of each number or code; all NaN are alike, and so are both zeros."""
    if isinstance(cells, Texts):
        return cells.codes.astype(np.uint64)
    return np.where(np.isnan(cells), np.nan, cells + 0.0).view(np.uint64)


def _scrambled(words: Words, weights: Words) -> Words:
    """Words whose sums over the columns differ if those of two rows do. weights: odd.

    A product carries upwards only, so the upper half is folded into the lower one twice.
    """
    words = (words + weights) * np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(29)
    words *= weights * np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(32)
    return words
