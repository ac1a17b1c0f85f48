"""The linear kernel: the encoded columns themselves."""

from dataclasses import dataclass
from typing import Any

from lrisk_cli.features.maps import KernelSpec, MapEntry
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array


class LinearEntry(MapEntry, frozen=True, kw_only=True, tag="linear"):
    """The encoded columns themselves."""

    def map(self) -> "LinearMap":
        """The map that it describes."""
        return LinearMap()


@dataclass(frozen=True, slots=True)
class LinearMap:
    """The encoded columns themselves."""

    def width(self, n_columns: int) -> int:
        return n_columns

    def margins(self, rows: Rows, W: Array) -> Array:
        return rows.scores(W)

    def summary(self) -> dict[str, Any]:
        return {"kernel": "linear"}

    def describe(self) -> str:
        return "linear"

    def entry(self) -> LinearEntry:
        return LinearEntry()


SPEC = KernelSpec("the columns themselves")
