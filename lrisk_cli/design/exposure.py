"""The exposures of rows: numbers greater than 0, none missing."""

import numpy as np

from lrisk_cli.errors import DataError
from lrisk_cli.types import Array


def check_exposure(cells: Array, name: str, label: str, first_row: int) -> None:
    """DataError that names the first exposure that is missing or not greater than 0."""
    valid = (cells > 0.0) & np.isfinite(cells)
    if not valid.all():
        row = int(np.argmin(valid))
        found = "the cell is missing" if np.isnan(cells[row]) else f"the exposure is {cells[row]:g}"
        raise DataError(
            f"{label}, column '{name}', row {first_row + row}: {found}; an exposure is a number "
            "greater than 0, so correct the table or leave the row out"
        )
