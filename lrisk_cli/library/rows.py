"""Rows in memory -> raw rows to learn from, or what a model makes of them.

Numbers go the short way: a matrix becomes raw rows without a table. Other columns are read as a
table is, so that categories, dates and booleans are encoded as on the command line.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from lrisk_cli.design.choosing import DesignOptions
from lrisk_cli.design.design import RawDesign, read_design
from lrisk_cli.design.encoding import EncodedBatch
from lrisk_cli.design.raw_rows import RawRows, RowCounts, UsableRows
from lrisk_cli.design.weights import NO_WEIGHT, check_weights
from lrisk_cli.errors import DataError
from lrisk_cli.library.frames import as_arrow, numbered_names
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.models.scoring import RowTally, encode_table
from lrisk_cli.names import Missing
from lrisk_cli.progress import silent
from lrisk_cli.tables.arrays import Buffer
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.number import NUMBER
from lrisk_cli.tables.in_memory import tables_named
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.memory import make_allowance
from lrisk_cli.tables.table import Batch, Column, open_table
from lrisk_cli.types import Array

LABEL = "<X>"
TARGET, WEIGHT = "y", "sample_weight"
# Rows that are encoded at a time.
STEP = 65_536


@dataclass(frozen=True, slots=True)
class Rows:
    """Features, as numbers or as a table, and the names of their columns."""

    numbers: Array | None
    table: pa.Table | None
    names: tuple[str, ...]

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.numbers) if self.numbers is not None else int(self.table.num_rows)  # type: ignore[union-attr]


def rows_of_matrix(X: Array, names: tuple[str, ...] | None = None) -> Rows:
    """Numbers whose columns may have names."""
    return Rows(X, None, names or tuple(numbered_names(X.shape[1])))


def rows_of_table(X: Any) -> Rows:
    """A table of any library."""
    table = as_arrow(X, "X")
    return Rows(None, table, tuple(table.column_names))


def is_numeric(table: Any) -> bool:
    """Whether all columns of a table are numbers, which need no types."""
    return all(
        pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
        for field in as_arrow(table, "X").schema
    )


def raw_rows(
    rows: Rows, y: Array | Texts | None, weights: Array | None, options: DesignOptions
) -> RawDesign:
    """The rows to learn from. y: numbers, or texts for classes; weights: at least 0. (n,)."""
    if weights is not None:
        check_weights(weights, WEIGHT, LABEL, 0)
        if not (weights > 0.0).any():
            raise DataError(f"{LABEL}: all weights are 0; give some row a weight")
    if rows.numbers is None:
        return _raw_of_table(rows, y, weights, options)
    return _raw_of_matrix(rows.numbers, rows.names, y, weights)


def _raw_of_matrix(
    X: Array, names: tuple[str, ...], y: Array | Texts | None, weights: Array | None
) -> RawDesign:
    kept = np.arange(len(X), dtype=np.int64)
    dropped: dict[str, int] = {}
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        dropped = {NO_WEIGHT: len(X) - len(kept)}
    every = len(kept) == len(X)
    buffer = Buffer(len(kept) * X.shape[1], whole=True)
    view = buffer.view().reshape(len(kept), X.shape[1])
    view[:] = X if every else X[kept]
    del view
    raw = RawRows(
        buffer,
        X.shape[1],
        [],
        y if every or y is None else y[kept],
        kept,
        None,
        weights=weights if every or weights is None else weights[kept],
    )
    columns = tuple(Column(name, NUMBER) for name in names)
    goal = None if y is None else Column(TARGET, CATEGORY if isinstance(y, Texts) else NUMBER)
    usable = UsableRows(raw, RowCounts(len(X), len(kept), dropped), "", ())
    return RawDesign(LABEL, columns, goal, usable, make_allowance(None))


def _raw_of_table(
    rows: Rows, y: Array | Texts | None, weights: Array | None, options: DesignOptions
) -> RawDesign:
    """The same from a table, whose types are found as on the command line."""
    table: Any = rows.table
    dtypes = {}
    if isinstance(y, Texts):
        column = pa.DictionaryArray.from_arrays(y.codes, y.values)
        table, dtypes = table.append_column(TARGET, column), {TARGET: "category"}
    elif y is not None:
        table, dtypes = table.append_column(TARGET, pa.array(y)), {TARGET: "number"}
    if weights is not None:
        table = table.append_column(WEIGHT, pa.array(weights))
    with tables_named({LABEL: table}):
        return read_design(open_table(Inputs((LABEL,)), dtypes=dtypes), options)


def encoded_rows(model: Model | ClusterModel, rows: Rows) -> Iterator[EncodedBatch]:
    """The rows as the model takes them, some at a time; a row that cannot be used is refused."""
    encoding = model.encoding
    if encoding.missing is Missing.DROP:
        encoding = replace(encoding, missing=Missing.ERROR)
    if rows.numbers is None:
        names = {LABEL: rows.table}
        with tables_named(names):
            table = open_table(Inputs((LABEL,)), expected=encoding.dtypes, written=encoding.written)
            batches = encode_table(encoding, table, encoding.needed_names, None, RowTally(), silent)
            for _, encoded, _ in batches:
                yield encoded
        return
    place = {name: at for at, name in enumerate(rows.names)}
    for start in range(0, rows.n_rows, STEP):
        X = rows.numbers[start : start + STEP]
        columns: dict[str, Any] = {name: X[:, place[name]] for name in encoding.needed_names}
        yield encoding.encode(Batch(start, len(X), columns, LABEL, start))


def margins(model: Model, rows: Rows) -> tuple[Array, Array | None]:
    """v(x) W of all rows, (n, outputs), and their exposure if the model has one."""
    parts = [(model.margins(each.rows), each.exposure) for each in encoded_rows(model, rows)]
    exposure = [each for _, each in parts if each is not None]
    return np.concatenate([Z for Z, _ in parts]), np.concatenate(exposure) if exposure else None


def predicted(model: Model, rows: Rows) -> Array:
    """Numbers in units of the target, or codes of classes. (n,)."""
    Z, exposure = margins(model, rows)
    found: Any = model.predict(Z, exposure)
    numbers: Array = found if model.target.classes else model.target.restore(found)
    if not np.isfinite(numbers).all():
        raise DataError(f"{LABEL}: a prediction is too large for a number; look for extreme values")
    return numbers
