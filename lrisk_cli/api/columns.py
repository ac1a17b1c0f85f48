"""Report how the columns of a table are read, and check what they hold: one pass over its rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lrisk_cli.design.options import parse_dtypes
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.evaluation.worst_rows import RowSentence
from lrisk_cli.profiles.expectations import (
    Expectations,
    ExpectationTally,
    read_expectations,
    spell_expectations,
)
from lrisk_cli.profiles.options import ExpectationFiles, ShownColumns
from lrisk_cli.profiles.profile import ColumnProfile, TableTally
from lrisk_cli.progress import Progress, Report
from lrisk_cli.tables.column_types.nested import NestedType
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.named_columns import as_texts, find_columns
from lrisk_cli.tables.options import Data
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.table import (
    Batch,
    Column,
    Table,
    check_apart,
    check_output,
    open_table,
    write_bytes,
)
from lrisk_cli.warnings import Warnings

# Columns that a note names.
MOST_NAMED = 5
# More than usual: every batch of a dictionary brings all of its texts.
BATCH_ROWS = 1 << 17


@dataclass(frozen=True, slots=True)
class Job:
    """The table, what is expected of it, and where the results go."""

    data: Inputs
    features: tuple[str, ...]
    dtypes: dict[str, str]
    expect: str | None
    write: str | None
    html: str | None
    checks: Checks

    @property
    def outputs(self) -> list[str | None]:
        """All files to be written."""
        return [self.write, self.html, self.checks.junit]


@dataclass(frozen=True, slots=True, eq=False)
class TableProfile:
    """The columns of a table. rows: sentences on those that break an expectation.

    skipped: rows of text that were left out, since they have more or fewer fields than the header.
    """

    label: str
    paths: Sequence[str]
    n_rows: int
    columns: tuple[ColumnProfile, ...]
    gate_results: Sequence[GateResult]
    rows: Sequence[RowSentence]
    notes: tuple[str, ...]
    warnings: Warnings = ()
    padded: int = 0
    skipped: int = 0


def make_job(
    data: Data, columns: ShownColumns, files: ExpectationFiles, gates: Gates, *, html: str | None
) -> Job:
    """What the options ask for; impossible ones are refused."""
    if files.expect is None and gates.junit is not None:
        add = opt("expect", "FILE")
        raise InvalidOption("junit", f"reports expectations, and there are none; add {add}")
    return Job(
        data.parse(),
        as_texts(columns.features),
        parse_dtypes(columns.dtype),
        files.expect,
        files.write_expectations,
        html,
        Checks("columns", (), None, gates.junit, gates.github),
    )


def run(job: Job, report: Report, *, force: bool) -> TableProfile:
    """Read the table once: profile its columns, check and write expectations."""
    for path in job.outputs:
        if path is not None:
            check_output(path, force=force)
    expected = None if job.expect is None else read_expectations(job.expect)
    kinds = None if expected is None else expected.kinds
    table = open_table(job.data, dtypes=job.dtypes, expected=kinds, batch_rows=BATCH_ROWS)
    check_apart(job.outputs, [*([job.expect] if job.expect else []), *table.paths])
    columns = _choose(table, job.features)
    usable = [column for column in columns if not isinstance(column.type, NestedType)]
    checked = [] if expected is None else [each.name for each in expected.columns]
    read = {column.name: column for column in usable}
    read |= {each.name: each for each in table.columns if each.name in checked}
    tally, ragged = TableTally(usable), RaggedRows()
    candidates = [each.name for each in usable] if job.write is not None else []
    expectations = ExpectationTally(expected or Expectations("", ()), table, candidates)
    n_rows = 0
    for batch in _batches(table, list(read.values()), ragged):
        n_rows = batch.first_row + batch.n_rows
        places = {
            name: ragged.lines.place(batch.first_row + cell.offset)
            for name, cell in batch.invalid.items()
        }
        tally.add(batch, places)
        expectations.add(batch)
        report(Progress("read", n_rows, table.n_rows))
    profiles = tally.finish()
    if job.write is not None:
        text = spell_expectations(profiles, expectations.differing(), table.label)
        write_bytes(job.write, text.encode())
    results: tuple[list[GateResult], list[RowSentence]] = ([], [])
    if expected is not None:
        results = expectations.finish(ragged.lines)
    found = {each.name: each for each in profiles}
    return TableProfile(
        table.label,
        table.paths,
        n_rows,
        tuple(found.get(each.name) or _nested(each, n_rows) for each in columns),
        *results,
        (*table.notes, *_others(table, checked)),
        warn_of_same_files(table.paths),
        ragged.padded,
        ragged.skipped,
    )


def _batches(table: Table, columns: Sequence[Column], ragged: RaggedRows) -> Iterator[Batch]:
    """The rows; each batch of a typed file with the texts that are in it.

    The dictionary of a file holds all of its texts, of which a batch would bring every one.
    """
    texts = [] if table.textual else [each.name for each in columns if not each.numeric]
    others = [each.name for each in columns if each.name not in texts]
    for batch in table.batches(others, invalid_as_missing=True, keep=texts, ragged=ragged):
        for name in texts:
            batch.columns[name], invalid = table.types[name].read(batch.kept[name], table.spelling)
            if invalid is not None:
                batch.invalid[name] = invalid
        yield batch


def _choose(table: Table, features: Sequence[str]) -> list[Column]:
    """The columns to report: all, or those that were named."""
    if not features:
        return list(table.columns)
    names = [column.name for column in table.columns]
    found = dict.fromkeys(each.name for each in find_columns(features, names, table.label))
    return [table.column(name) for name in found]


def _nested(column: Column, n_rows: int) -> ColumnProfile:
    """A column that cannot be used."""
    finding = column.type.finding if isinstance(column.type, NestedType) else ""
    doubts = (f"{finding}; pass {opt('exclude', column.name)}",)
    return ColumnProfile(
        column.name, column.kind, n_rows, 0, 0, 0, True, None, None, None, (), (), (), doubts
    )


def _others(table: Table, checked: Sequence[str]) -> tuple[str, ...]:
    """A note on columns of which nothing is expected, where something is of others."""
    names = [column.name for column in table.columns if column.name not in checked]
    if not checked or not names:
        return ()
    more = " ..." * (len(names) > MOST_NAMED)
    return (f"nothing is expected of {', '.join(map(repr, names[:MOST_NAMED]))}{more}",)
