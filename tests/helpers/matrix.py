"""The numbers behind rows, for oracles that are written with plain arrays."""

from typing import Protocol

from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array


class HasRows(Protocol):
    """A problem, a design, a batch."""

    @property
    def rows(self) -> Rows: ...


def matrix(holder: HasRows) -> Array:
    """X (n, d)."""
    return holder.rows.dense_rows(slice(None))
