"""Predict the rows of a table: each batch is written before the next one is read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.errors import InvalidOption
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.models.loading import load_beside, with_policies
from lrisk_cli.models.model import Model
from lrisk_cli.models.scored import ScoredBatch, Scorer
from lrisk_cli.models.scoring import RowTally, score_table
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.progress import Report
from lrisk_cli.tables.arrays import arrow_of
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.kept_columns import beside, find_kept
from lrisk_cli.tables.outputs import write_csv_parts, write_parts
from lrisk_cli.tables.places import STANDARD_OUTPUT
from lrisk_cli.tables.table import Table, check_apart, check_output, open_table
from lrisk_cli.warnings import Warnings, count_warnings

if TYPE_CHECKING:
    from lrisk_cli.evaluation.checks import Checks
    from lrisk_cli.evaluation.gates import GateResult
    from lrisk_cli.evaluation.options.gates import Gates

# Further columns of a batch.
AddColumns = Callable[[ScoredBatch], dict[str, Any]]

# Rows of a row group of a Parquet file: as many as a table has that is written at once.
GROUP_ROWS = 1 << 20
GROUP_CELLS = 1 << 23


@dataclass(frozen=True, slots=True)
class Job:
    """What to score and by which model. output: a file; None for CSV into a stream.

    checks: gates, where there are any.
    """

    model: str
    data: Inputs
    output: str | None
    id_column: str | None
    missing: Missing | None
    unseen: Unseen | None
    exposure: str | None = None
    interval: float | None = None
    checks: "Checks | None" = None
    copied: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Predictions:
    """What became of the rows; the predictions are in the file or the stream.

    notes: on files of folders that were not read.
    """

    model: str
    output: str | None
    counts: RowCounts
    notes: tuple[str, ...] = ()
    warnings: Warnings = ()
    gate_results: "Sequence[GateResult]" = ()


def make_checks(gates: "Gates") -> "Checks | None":
    """The gates, where there are any."""
    if not gates.asked:
        return None
    from lrisk_cli.evaluation.checks import make_checks
    from lrisk_cli.evaluation.registry import OF_SCORED, spell_metric

    return make_checks(gates, "predict", lambda text: spell_metric(text, OF_SCORED))


def run(job: Job, stream: BinaryIO, report: Report, *, force: bool) -> Predictions:
    """One pass over the table, a batch of predictions at a time. stream: where no file is named."""
    # Without a file, standard output is taken by the predictions.
    model, table = _open(job, job.output or STANDARD_OUTPUT, force=force)
    tally = RowTally()
    parts = _parts(job, model, table, tally, report)
    if job.output is None:
        write_csv_parts(stream, parts)
    else:
        write_parts(job.output, parts, group_rows=GROUP_ROWS, group_cells=GROUP_CELLS)
    return _conclude(job, table, tally)


def collect(
    job: Job, report: Report, *, force: bool
) -> tuple[Predictions, Scorer, list[dict[str, Any]]]:
    """The same, and the model and the columns of each batch; a file is written if one is named."""
    model, table = _open(job, job.output, force=force)
    tally = RowTally()
    parts = list(_parts(job, model, table, tally, report))
    if job.output is not None:
        write_parts(job.output, parts, group_rows=GROUP_ROWS, group_cells=GROUP_CELLS)
    return _conclude(job, table, tally), model, parts


def _open(job: Job, output: str | None, *, force: bool) -> tuple[Scorer, Table]:
    """The model and the table; outputs that cannot be written, or replace an input, are refused."""
    loaded = load_beside(job.model, job.data.names)
    model = with_policies(job.model, loaded, job.missing, job.unseen, job.exposure)
    if job.output is not None:
        check_output(job.output, force=force, table=True)
    junit = None if job.checks is None else job.checks.junit
    if junit is not None:
        check_output(junit, force=force)
    table = open_table(job.data, expected=model.encoding.dtypes, written=model.encoding.written)
    check_apart([output, junit], [job.model, *table.paths])
    return model, table


def _conclude(job: Job, table: Table, tally: RowTally) -> Predictions:
    same = warn_of_same_files(table.paths)
    gated = _check(job, tally, same)
    return Predictions(job.model, job.output, tally.counts, table.notes, same, gated)


def _check(job: Job, tally: RowTally, warnings: Warnings) -> "Sequence[GateResult]":
    """The results of the gates, where there are any."""
    if job.checks is None:
        return ()
    from lrisk_cli.evaluation.metric import Needs
    from lrisk_cli.evaluation.registry import figures_of

    of_rows = figures_of(tally, [Needs.ROWS, Needs.CELLS])
    return job.checks.apply(of_rows, count_warnings(warnings))


def _make_intervals(job: Job, model: Scorer) -> AddColumns:
    """What adds the intervals asked for; a model without scores for them is refused."""
    if job.interval is None:
        return lambda _: {}
    if not isinstance(model, Model):
        raise InvalidOption(
            "interval", f": {job.model} holds clusters, which predict no target; leave it out"
        )
    from lrisk_cli.models.conformal import bounds_of, interval_columns, require_intervals

    bounds = bounds_of(require_intervals(job.model, model), job.interval, job.model)
    return lambda scored: interval_columns(model, bounds, scored)


def _parts(
    job: Job, model: Scorer, table: Table, tally: RowTally, report: Report
) -> Iterator[dict[str, Any]]:
    """The columns to write, batch by batch; nothing before a row can be scored."""
    add, id_column = _make_intervals(job, model), job.id_column
    columns = model.encoding.needed_names
    kept = find_kept(table, job.copied, id_column)
    names = kept if id_column is None else (*kept, id_column)
    types = {name: table.arrow_type(name) for name in names}
    for scored, ids in score_table(model, table, columns, id_column, tally, report, keep=kept):
        if not len(scored.kept):
            continue
        named = tally.ragged.lines.columns(scored.rows)
        named |= {} if ids is None else {"id": ids.cast(types[str(id_column)])}
        original = {
            name: scored.batch.kept[name].take(arrow_of(scored.kept)).cast(types[name])
            for name in kept
        }
        yield beside(named | model.prediction_columns(scored) | add(scored), original)
    tally.require_used(table.label, "score")
