"""How tables are read and files are written, as the user says it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.names import Ragged
from lrisk_cli.options import argument, option
from lrisk_cli.tables.inputs import Inputs, make_inputs
from lrisk_cli.tables.memory import check_limits

# Names at once or in parts, each as CSV writes a list (`tables/named_columns.py`).
Names = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Where the rows are, and how their cells are written."""

    panel: ClassVar[str] = "Data"

    data: tuple[str, ...] = argument(
        metavar="DATA",
        help="CSV, TSV, JSON lines, Parquet, Arrow or ORC: paths, globs, folders, addresses such "
        "as s3://, or - for standard input.",
    )
    delimiter: str | None = option(
        metavar="CHARACTER",
        help="Field separator: one character or `tab`.",
        shown="detected",
    )
    encoding: str | None = option(
        metavar="NAME",
        help="Encoding of text files, such as cp1252, latin-1 or utf-16.",
        shown="utf-8, or by its mark",
    )
    skip_rows: int = option(
        0, metavar="N", minimum=0, help="Lines of text files before the header, left out."
    )
    no_header: bool = option(
        False, help="Read the first line of text files as a row; columns are column_1, ..."
    )
    comment: str | None = option(
        metavar="CHARACTER",
        help="Leave out lines of text files that begin with this character.",
        shown="no line is a comment",
        expert=True,
    )
    decimal: str | None = option(
        metavar="MARK", help="Decimal mark of numbers in text: . or ,", shown="by the cells"
    )
    thousands: str | None = option(
        metavar="MARK",
        help="Mark between thousands of numbers in text: , . ' space or none.",
        shown="by the cells",
        expert=True,
    )
    date_format: tuple[str, ...] = option(
        (),
        metavar="A,B=ORDER",
        help="Order of day, month and year in dates, dmy, mdy or ymd, or a pattern such as "
        "%d/%m/%Y; of some columns, or of all without a name; repeatable.",
        shown="by the cells",
    )
    merge_case: bool = option(
        False,
        help="Take texts that differ in capitals and spaces only for one, without capitals.",
        expert=True,
    )
    keep_spaces: bool = option(
        False, help="Keep the spaces around texts, which are left out otherwise.", expert=True
    )
    na_values: Names = option(
        metavar="A,B",
        help="Values treated as missing, in addition to empty cells.",
        listed=True,
    )
    ragged: Ragged = option(
        Ragged.ERROR,
        help="Rows of text files with more or fewer fields than the header: `pad` fills short ones "
        "with missing cells and drops empty fields beyond the header; `skip` leaves them out.",
    )
    rename_duplicates: bool = option(
        False,
        help="Read columns of the same name as `name`, `name.2`, ... instead of refusing them.",
    )
    memory_limit: str | None = option(
        metavar="SIZE",
        help="Refuse a table whose rows and kernel features would take more memory than this, such "
        "as 2GB or 500MB.",
        shown="all of this machine",
        expert=True,
    )

    def __post_init__(self) -> None:
        """Refuse a process that is too limited before anything large is loaded."""
        check_limits()

    def parse(self) -> Inputs:
        """The tables to read; UsageError for an impossible option."""
        return make_inputs(
            self.data,
            self.delimiter,
            self.decimal,
            self.na_values,
            self.memory_limit,
            self.ragged,
            rename_duplicates=self.rename_duplicates,
            thousands=self.thousands,
            keep_spaces=self.keep_spaces,
            merge_case=self.merge_case,
            date_format=self.date_format,
            encoding=self.encoding,
            comment=self.comment,
            skip_rows=self.skip_rows,
            no_header=self.no_header,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """How files are written."""

    panel: ClassVar[str] = "Output"

    force: bool = option(False, help="Overwrite files that exist.")
    spreadsheet_safe: bool = option(
        False,
        help="In CSV and TSV, put an apostrophe before texts that a spreadsheet would take for "
        "formulas, and begin with the mark by which it reads UTF-8.",
        expert=True,
    )

    @contextmanager
    def during(self) -> Iterator[None]:
        """Files written in this context follow the options."""
        if not self.spreadsheet_safe:
            yield
            return
        from lrisk_cli.tables.outputs import SPREADSHEET_SAFE

        token = SPREADSHEET_SAFE.set(True)
        try:
            yield
        finally:
            SPREADSHEET_SAFE.reset(token)
