"""The column by which rows are divided into folds: groups that stay together, or times."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lrisk_cli.errors import DataError
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.table import Batch, Column
from lrisk_cli.types import Array


class Divider:
    """Collects the cells of a column batch by batch; none may be missing."""

    def __init__(self, column: Column | None) -> None:
        self._name = None if column is None else column.name
        self._known: dict[str, int] = {}
        self._parts: list[Any] = []
        self._is_text = False

    def add(self, batch: Batch, names: Sequence[str]) -> None:
        """Take the cells of the next rows, if the columns `names` hold them."""
        if self._name is None or self._name not in names:
            return
        cells: Any = batch.columns[self._name]
        self._is_text = isinstance(cells, Texts)
        missing = cells.codes < 0 if self._is_text else np.isnan(cells)
        if missing.any():
            row = batch.source_row + int(np.argmax(missing))
            raise DataError(
                f"{batch.source}, column '{self._name}', row {row}: the cell is missing, so "
                "the row belongs to no fold; correct the table or leave the row out"
            )
        if self._is_text:
            known = self._known
            codes = [known.setdefault(text, len(known)) for text in cells.values]
            self._parts.append(np.array(codes, np.int32)[cells.codes])
        else:
            self._parts.append(np.array(cells, np.float64))

    def finish(self) -> Array | Texts | None:
        """The cells of all rows; None where no column was named. (n,)."""
        if not self._parts:
            return None
        cells = np.concatenate(self._parts)
        return Texts(cells, list(self._known)) if self._is_text else cells
