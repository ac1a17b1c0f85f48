"""Options of exports."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.names import ExportFormat
from lrisk_cli.options import option
from lrisk_cli.tables.options import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What a model is written as."""

    panel: ClassVar[str] = "Output"

    to: ExportFormat = option(
        metavar="onnx|sql|python",
        required=True,
        help="sql: a SELECT for DuckDB and PostgreSQL; python: a function that needs nothing else; "
        "onnx: a graph, also of kernels and clusters.",
    )
    table: str | None = option(
        metavar="TABLE", help="The table that the SELECT reads.", shown="rows"
    )
    id_column: str | None = option(
        name="id",
        metavar="COLUMN",
        help="Column that the SELECT copies, in place of the features.",
    )
    date_columns: Names = option(
        metavar="A,B",
        help="Number columns of the model that the SELECT finds as dates or times: their days "
        "since 1970 are meant.",
        listed=True,
    )
    output: str | None = option(
        short="-o",
        metavar="FILE",
        writes=True,
        help="Write it here; without it, text is printed.",
    )
