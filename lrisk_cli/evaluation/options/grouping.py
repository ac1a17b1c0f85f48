"""The columns by which rows belong to groups."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.options import option
from lrisk_cli.tables.named_columns import as_texts
from lrisk_cli.tables.options import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The groups of rows that are reported, and that a risk of groups is of."""

    panel: ClassVar[str] = "Validation"

    by: Names = option(
        metavar="A,B",
        help="Report each group of rows too, by the cells of these columns.",
        listed=True,
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """Texts that name the columns; none where no groups are asked for."""
        return as_texts(self.by)
