"""Options: what a table is expected to hold."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.options import option
from lrisk_cli.tables.options import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectationFiles:
    """Expectations, read and written."""

    panel: ClassVar[str] = "Gates"

    expect: str | None = option(
        metavar="FILE",
        help="Exit with 1 if the table does not hold what this file (TOML) expects of it.",
    )
    write_expectations: str | None = option(
        metavar="FILE", writes=True, help="Write what the table holds as such a file."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownColumns:
    """The columns that are looked at."""

    panel: ClassVar[str] = "Columns"

    features: Names = option(metavar="A,B", help="Columns to report.", shown="all", listed=True)
    dtype: tuple[str, ...] = option(
        (),
        metavar="A,B=KIND",
        help="Read columns as number, category or string; repeatable.",
    )
