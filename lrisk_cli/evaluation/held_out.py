"""Find the rows that a fit held out in the table that it learned from, and score only those."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from lrisk_cli.design.dividers import Divider
from lrisk_cli.design.encoding import EncodedBatch
from lrisk_cli.errors import DataError, InvalidOption, opt
from lrisk_cli.evaluation.dividing import Division, Holdout, digest_flags
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.models.scoring import RowTally, columns_of, encode_table
from lrisk_cli.models.validation_record import HoldoutRecord
from lrisk_cli.names import Missing
from lrisk_cli.progress import Report
from lrisk_cli.tables.arrays import arrow_of
from lrisk_cli.tables.table import Table
from lrisk_cli.types import Flags

_OPTIONS = {"groups": "cv_groups", "time": "cv_time"}


def require_holdout(path: str, model: Model, missing: Missing | None) -> None:
    """Refuse a model that records no rows held out, and a policy that changes the usable rows.

    missing: the policy asked for, which decides which rows are usable.
    """
    if model.holdout is None or not model.fit.held_out_rows:
        raise InvalidOption(
            "held_out", f": {path} records no rows held out; fit it with {opt('holdout', 0.2)}"
        )
    if missing not in (None, model.encoding.missing):
        raise InvalidOption(
            "missing",
            f"has no meaning with {opt('held_out')}: {path} was fitted with "
            f"{opt('missing', model.encoding.missing)}; leave it out",
            missing,
        )


def find_held_out(model: Model, table: Table, report: Report) -> Flags:
    """True for the usable rows that the fit held out. (usable,).

    Rows drawn at random follow from their number alone; groups and times need a pass over the
    table. A table in which other rows would be held out is refused.
    """
    record = _recorded(model)
    option = _OPTIONS.get(record.kind)
    divided = None if option is None or record.column is None else (option, record.column)
    holdout = Holdout(record.fraction, record.seed, Division.by(divided))
    if divided is None:
        flags = holdout.flags(record.usable, None)
    else:
        cells = _divider_of_usable(model, table, divided[1], report)
        _check_count(table, len(cells), record)
        flags = holdout.flags(len(cells), cells)
    if digest_flags(flags) != record.fingerprint:
        raise _other_rows(table)
    return flags


def score_held_out(
    model: Model,
    table: Table,
    flags: Flags,
    columns: Sequence[str],
    id_column: str | None,
    tally: RowTally,
    report: Report,
    kept_bytes: int = 0,
) -> Iterator[tuple[ScoredBatch, pa.Array | None]]:
    """As `score_table`, only the rows held out; DataError at the end if they are other rows."""
    digest, n_usable = RowDigest(), 0
    batches = encode_table(model.encoding, table, columns, id_column, tally, report, kept_bytes)
    for batch, encoded, ids in batches:
        n_kept = len(encoded.kept)
        chosen = np.flatnonzero(flags[n_usable : n_usable + n_kept])
        n_usable += n_kept
        tally.leave_out(n_kept - len(chosen))
        scored = model.score(batch, _take(encoded, chosen))
        digest.add(scored.encoded.rows, scored.known_targets)
        yield scored, None if ids is None else ids.take(arrow_of(chosen))
    _check_count(table, n_usable, _recorded(model))
    if digest.text != model.fit.held_out_rows:
        raise _other_rows(table)


def _recorded(model: Model) -> HoldoutRecord:
    if model.holdout is None:
        raise TypeError("no rows were held out")
    return model.holdout


def _divider_of_usable(model: Model, table: Table, name: str, report: Report) -> Any:
    """The cells of the column by which rows were held out, of the usable rows. (usable,)."""
    column = table.column(name)
    divider, usable = Divider(column), list[Any]()
    columns = list(dict.fromkeys([*columns_of(model.encoding), name]))
    for batch, encoded, _ in encode_table(model.encoding, table, columns, None, RowTally(), report):
        divider.add(batch, [name])
        usable.append(batch.first_row + encoded.kept)
    cells = divider.finish()
    assert cells is not None  # noqa: S101
    return cells[np.concatenate(usable)]


def _take(encoded: EncodedBatch, chosen: Any) -> EncodedBatch:
    """Some of the rows of a batch."""
    return replace(
        encoded,
        rows=encoded.rows.take(chosen),
        y=None if encoded.y is None else encoded.y[chosen],
        kept=encoded.kept[chosen],
        exposure=None if encoded.exposure is None else encoded.exposure[chosen],
        weights=None if encoded.weights is None else encoded.weights[chosen],
    )


def _check_count(table: Table, n_usable: int, record: HoldoutRecord) -> None:
    if n_usable != record.usable:
        raise DataError(
            f"{table.label}: has {n_usable} usable rows, and the fit held out {record.rows} of "
            f"{record.usable}; name the table that the model was fitted to"
        )


def _other_rows(table: Table) -> DataError:
    return DataError(
        f"{table.label}: these are not the rows that the fit held out (others, in another order, "
        "or changed since); name the table that the model was fitted to"
    )
