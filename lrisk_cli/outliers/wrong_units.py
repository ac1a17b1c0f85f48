"""Wrong cells -> another sign or another unit that makes them fit, in words."""

from collections.abc import Mapping, Sequence

import numpy as np

from lrisk_cli.robust.cells import Cells, CellScreen
from lrisk_cli.types import Array, Flags, Index

# Factors by which cells in another unit are too large, or too small.
DECIMAL: Mapping[float, str] = {10.0: "10", 100.0: "100", 1000.0: "1000", 1e6: "a million"}
UNITS: Mapping[float, str] = {
    2.54: "2.54 (inches and cm?)", 3.28084: "3.28 (metres and feet?)",
    1.60934: "1.61 (miles and km?)", 10.7639: "10.8 (square metres and feet?)",
    2.20462: "2.2 (kg and pounds?)", 4.184: "4.18 (kcal and kJ?)",
    3.78541: "3.79 (gallons and litres?)", 60.0: "60 (minutes and hours?)",
}  # fmt: skip
# A cell fits within so many spreads, and others do not from so many on.
FITS, FITS_NOT = 2.0, 3.0
# Units need so many cells of a column as evidence. Factors that fit nearly as many cells as the
# best one are compared by their mean misfit.
FEWEST, NEARLY = 3, 0.8


def name_units(screen: CellScreen, columns: Sequence[Cells], rows: Index) -> dict[int, str]:
    """What makes the worst cells of these rows fit, by row; nothing where it is not clear."""
    found: dict[int, str] = {}
    for column in np.unique(screen.cells[rows]).tolist():
        mine = rows[screen.cells[rows] == column]
        cells = columns[column][mine]
        signed = (cells < 0.0) & (np.abs(screen.misfits(column, mine, -cells)) <= FITS)
        found |= dict.fromkeys(mine[signed].tolist(), "without the sign it fits")
        rest = ~signed & (cells != 0.0)
        found |= _factors(screen, column, mine[rest], cells[rest])
    return found


def _factors(screen: CellScreen, column: int, rows: Index, cells: Array) -> dict[int, str]:
    """The factor that the cells of a column have in common, or the one that fits alone."""
    if len(rows) == 0:
        return {}
    both = {**DECIMAL, **UNITS}
    tried = [(f, f"{words} times too large") for f, words in both.items()]
    tried += [(1.0 / f, f"{words} times too small") for f, words in both.items()]
    decimal = np.array([f in DECIMAL for f in both] * 2)
    misfits = np.stack([screen.misfits(column, rows, cells / f) for f, _ in tried])
    common = _common(misfits, decimal)
    found = {}
    for k, row in enumerate(rows.tolist()):
        best = common if common >= 0 and abs(misfits[common, k]) <= FITS else -1
        if best < 0:
            sizes = np.where(decimal, np.abs(misfits[:, k]), np.inf)
            first, second = np.argsort(sizes)[:2].tolist()
            best = first if sizes[first] <= FITS and sizes[second] >= FITS_NOT else -1
        if best >= 0:
            found[row] = tried[best][1]
    return found


def _common(misfits: Array, decimal: Flags) -> int:
    """The factor that fits most of several cells, and these best on average; -1 for none."""
    fits = np.abs(misfits) <= FITS
    counts = fits.sum(axis=1)
    needed = max(FEWEST, float(counts.max()) * NEARLY)
    means = [
        abs(float(misfits[k, fits[k]].mean())) if counts[k] >= needed else np.inf
        for k in range(len(counts))
    ]
    best = int(np.argmin(means))
    whole = counts[best] > 0.5 * misfits.shape[1] or decimal[best]
    return best if np.isfinite(means[best]) and whole else -1
