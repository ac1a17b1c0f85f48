"""Move values between Arrow and numpy by their memory, and hold numbers in memory that can grow.

pyarrow's own conversions import pandas where it is installed, which costs time and megabytes.
"""

import mmap
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.types import Flags


def numpy_of(column: pa.Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """The values of a column of fixed width, not copied; where it is null they mean nothing."""
    if not len(column):
        return np.empty(0, dtype)
    start = column.offset * np.dtype(dtype).itemsize
    return np.frombuffer(column.buffers()[1], dtype, len(column), start)


def null_flags(column: pa.Array) -> Flags | None:
    """Where the column is null; None when it nowhere is."""
    return true_flags(compute.is_null(column)) if column.null_count else None


def true_flags(column: pa.Array) -> Flags:
    """Where a column of booleans is true; null is not."""
    flags = numpy_of(compute.cast(column, pa.uint8()), np.uint8).view(np.bool_)
    nulls = null_flags(column)
    return flags if nulls is None else flags & ~nulls


def arrow_of(values: npt.NDArray[Any]) -> pa.Array:
    """A numpy array of numbers as an Arrow array over the same memory; NaN becomes null."""
    values = np.ascontiguousarray(values)
    validity = None
    if values.dtype.kind == "f" and (missing := np.isnan(values)).any():
        validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(values)])


def arrow_texts(values: Sequence[str]) -> pa.Array:
    """Texts as an Arrow array."""
    encoded = [text.encode() for text in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return compute.cast(
        pa.Array.from_buffers(pa.large_string(), len(encoded), buffers), pa.string()
    )


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The distinct values in rising order, none of them NaN.

    np.unique loads numpy.ma first, which takes longer than most tables.
    """
    ascending = np.sort(values)
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return ascending[first]


class Buffer:
    """Float64 numbers in memory of their own, resized without a copy where the system can.

    Pages that were never written take no memory. whole: all of it will be written, so that large
    pages, of which there are few, do.
    """

    def __init__(self, size: int, *, whole: bool = False) -> None:
        self._memory = _allocate(size)
        if whole and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # The system may have none.
                self._memory.madvise(mmap.MADV_HUGEPAGE)
        self.size = size

    def view(self) -> npt.NDArray[np.float64]:
        """The numbers as an array, which must be gone before the next resize."""
        return np.frombuffer(self._memory, np.float64, self.size)

    def resize(self, size: int) -> None:
        """Keep the first `size` numbers; added ones are zero."""
        try:
            self._memory.resize(max(size, 1) * 8)
        except SystemError:  # The system cannot remap memory.
            memory = _allocate(size)
            kept = min(size, self.size) * 8
            memory[:kept] = self._memory[:kept]
            self._memory = memory
        self.size = size


def _allocate(size: int) -> mmap.mmap:
    return mmap.mmap(-1, max(size, 1) * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
