"""Tables of any library in memory -> Arrow tables, whose columns are not copied where possible.

What offers the Arrow PyCapsule interface (polars, pyarrow, DuckDB) is taken as it is. pandas and
NumPy share the memory of columns that lie in one piece and have no missing values.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lrisk_cli.errors import DataError, InvalidOption


def is_path(data: Any) -> bool:
    """Whether it names files: a text, a path, or a list of these."""
    if isinstance(data, str | os.PathLike):
        return True
    return isinstance(data, list | tuple) and bool(data) and all(is_path(each) for each in data)


def as_arrow(data: Any, option: str = "data") -> pa.Table:
    """The table. option: the keyword that it was passed as, for messages."""
    try:
        return _as_arrow(data, option)
    except (pa.ArrowException, TypeError) as error:
        raise _unusable(option, data, error) from error


def with_column(table: pa.Table, name: str, values: Any, option: str) -> pa.Table:
    """The table and one more column. values: one for each row, in any form."""
    column = as_column(values, option)
    if len(column) != table.num_rows:
        raise InvalidOption(
            option, f"has {len(column)} values, and the table {table.num_rows} rows"
        )
    if name in table.column_names:
        raise InvalidOption(
            option, f": the table has a column '{name}' already; name it, or rename it"
        )
    return table.append_column(name, column)


def as_column(values: Any, option: str) -> Any:
    """A series, array or list as an Arrow array."""
    try:
        if hasattr(values, "__arrow_c_stream__"):
            return pa.chunked_array(values)
        if _is_pandas(values, "Series"):
            return pa.Array.from_pandas(values)
        array = np.asarray(values)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim != 1:
            raise InvalidOption(option, f"takes one value for each row; got {array.ndim} axes")
        return _column(array, option)
    except (pa.ArrowException, TypeError) as error:
        raise _unusable(option, values, error) from error


def numbered_names(n_columns: int) -> list[str]:
    """The names of columns that have none: x0, x1, ... as scikit-learn calls them."""
    return [f"x{j}" for j in range(n_columns)]


def from_matrix(matrix: Any) -> pa.Table:
    """A column for each column of a matrix of numbers."""
    columns = [pa.array(np.ascontiguousarray(matrix[:, j])) for j in range(matrix.shape[1])]
    return pa.Table.from_arrays(columns, names=numbered_names(matrix.shape[1]))


def _as_arrow(data: Any, option: str) -> pa.Table:
    if isinstance(data, pa.Table):
        return data
    if _is_pandas(data, "DataFrame"):
        return _from_pandas(data, option)
    if isinstance(data, np.ndarray):
        return _from_array(data, option)
    if isinstance(data, Mapping):
        named = {str(name): as_column(column, option) for name, column in data.items()}
        return pa.table(named)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        return pa.table(data)
    raise InvalidOption(
        option,
        "takes paths, or a table of pandas, polars, pyarrow or NumPy; got "
        f"{type(data).__module__}.{type(data).__qualname__}",
    )


def _from_pandas(frame: Any, option: str) -> pa.Table:
    """Column by column, so that a column that Arrow cannot hold is named."""
    columns, names = [], []
    for at, name in enumerate(frame.columns):
        if isinstance(name, tuple):
            raise InvalidOption(
                option, f": column {name} has a name of several levels; join them into one text"
            )
        try:
            columns.append(pa.Array.from_pandas(frame.iloc[:, at]))
        except (pa.ArrowException, TypeError) as error:
            raise _mixed(option, str(name), error) from error
        names.append(str(name))
    return pa.Table.from_arrays(columns, names=names)


def _from_array(array: np.ndarray, option: str) -> pa.Table:
    if array.dtype.names:
        fields = {name: _column(array[name], option) for name in array.dtype.names}
        return pa.table(fields)
    if array.ndim != 2:
        raise InvalidOption(
            option, f"takes an array of rows and columns; got one of {array.ndim} axes"
        )
    if array.dtype.kind in "fiub":
        return from_matrix(array)
    columns = [_column(array[:, j], option) for j in range(array.shape[1])]
    return pa.Table.from_arrays(columns, names=numbered_names(array.shape[1]))


def _column(array: np.ndarray, option: str) -> Any:
    """One column; cells of one that holds objects may be missing (None, NaN)."""
    if array.dtype.kind == "c":
        raise InvalidOption(option, "takes real numbers; got complex ones")
    return pa.array(np.ascontiguousarray(array), from_pandas=True)


def _is_pandas(data: Any, name: str) -> bool:
    """Whether it is of a class of pandas, which is not imported for that."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, getattr(pandas, name))


def _mixed(option: str, name: str, error: Exception) -> DataError:
    reason = str(error).strip().splitlines()[0].rstrip(".")
    return DataError(
        f"<{option}>, column '{name}': its cells are of several types ({reason}); convert the "
        "column to one"
    )


def _unusable(option: str, data: Any, error: Exception) -> DataError:
    reason = str(error).strip().splitlines()[0].rstrip(".") if str(error) else "no reason given"
    kind = type(data).__qualname__
    return DataError(f"<{option}>: the {kind} cannot be read ({reason}); convert it")
