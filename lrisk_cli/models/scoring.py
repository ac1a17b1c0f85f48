"""Score the rows of a table with a model of any kind, batch by batch, and count the rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lrisk_cli.design.encoding import EncodedBatch, Encoding
from lrisk_cli.design.raw_rows import RowCounts, count_ragged
from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.models.scored import ScoredBatch, Scorer
from lrisk_cli.names import Missing
from lrisk_cli.progress import Progress, Report
from lrisk_cli.tables.ragged import RaggedRows
from lrisk_cli.tables.row_lines import RowLines
from lrisk_cli.tables.table import Batch, Table, join_arrays
from lrisk_cli.types import Array

# What is kept of a row whose loss is kept, and of one that a file is to hold with its weight and
# rank.
LOSS_BYTES = 8
ROW_BYTES = 48


@dataclass(slots=True)
class RowTally:
    """Counts rows while they are scored. scored: those in batches, whatever became of them.

    n_missing, n_unseen: rows with such a cell. filled: cells that something stands in for, by
    column. ragged: rows that were padded or skipped. learned: usable rows that were left out since
    the model learned from them.
    """

    scored: int = 0
    used: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    n_missing: int = 0
    n_unseen: int = 0
    filled: dict[str, int] = field(default_factory=dict)
    ragged: RaggedRows = field(default_factory=RaggedRows)
    learned: int = 0

    def add_dropped(self, encoded: EncodedBatch) -> None:
        """Count the rows that a batch lost, and the cells that were filled in."""
        for ours, theirs in ((self.dropped, encoded.dropped), (self.filled, encoded.filled)):
            for name, count in theirs.items():
                ours[name] = ours.get(name, 0) + count

    def add(self, batch: Batch, encoded: EncodedBatch) -> None:
        """Count the rows of a batch."""
        self.scored += batch.n_rows
        self.used += len(encoded.kept)
        self.n_missing += encoded.n_missing
        self.n_unseen += encoded.n_unseen
        self.add_dropped(encoded)

    def leave_out(self, n_learned: int) -> None:
        """Count rows of the last batch as learned from instead of used."""
        self.used -= n_learned
        self.learned += n_learned

    @property
    def read(self) -> int:
        """All rows of the files, those that the reader skipped included."""
        return self.scored + self.ragged.skipped

    @property
    def counts(self) -> RowCounts:
        """Rows read, used, dropped by reason, and cells filled in."""
        counts = RowCounts(self.scored, self.used, self.dropped, self.filled, learned=self.learned)
        return count_ragged(counts, self.ragged)

    def require_used(self, label: str, purpose: str) -> None:
        """DataError where every row was dropped."""
        if self.used == 0:
            raise DataError(f"{label}: no row is left to {purpose}; all {self.read} were dropped")


@dataclass(slots=True)
class ScoredRows:
    """Scored rows of a table in reading order, kept for a file."""

    _fields: dict[str, list[Any]] = field(default_factory=dict)
    _ids: list[pa.Array] = field(default_factory=list)

    def add(self, scored: ScoredBatch, ids: pa.Array | None) -> None:
        """Keep what a file can hold of a batch; its features are not needed any more."""
        for name in ("rows", "predictions", "targets", "losses", "outliers", "weights"):
            self._fields.setdefault(name, []).append(getattr(scored, name))
        if ids is not None:
            self._ids.append(ids)

    def joined(self, name: str) -> Any:
        """One field of all batches. (n,)."""
        return np.concatenate(self._fields[name])

    @property
    def ids(self) -> pa.Array | None:
        """The ids of all rows, where there are some."""
        return join_arrays(self._ids) if self._ids else None

    def names(self, lines: RowLines) -> dict[str, Any]:
        """The columns that name a row: row, line of text, and id if there are ids."""
        return lines.columns(self.joined("rows")) | ({"id": self.ids} if self._ids else {})


def columns_of(encoding: Encoding) -> list[str]:
    """The columns of the features and the exposure, and of the target if there is one."""
    goal = encoding.goal
    return [*encoding.needed_names, *([] if goal is None else [goal.name])]


def encode_table(
    encoding: Encoding,
    table: Table,
    columns: Sequence[str],
    id_column: str | None,
    tally: RowTally,
    report: Report,
    kept_bytes: int = 0,
    keep: Sequence[str] = (),
) -> Iterator[tuple[Batch, EncodedBatch, pa.Array | None]]:
    """Each batch, its rows as numbers, and their ids; the tally counts them.

    kept_bytes: what the caller keeps of each row, which counts against the memory limit. keep:
    columns that the batch has as they are.
    """
    if id_column is not None and id_column in (*columns, *columns_of(encoding)):
        raise InvalidOption(
            "id", f": '{id_column}' is read for the model already; choose another column"
        )
    invalid_as_missing = encoding.missing is not Missing.ERROR
    keep = keep if id_column is None else list(dict.fromkeys((*keep, id_column)))
    for batch in table.batches(
        columns, invalid_as_missing=invalid_as_missing, keep=keep, ragged=tally.ragged
    ):
        n_kept = tally.used * kept_bytes
        table.allowance.check_scoring(
            table.label, batch.n_rows, encoding.n_columns, n_kept,
            row_bytes=encoding.layout.row_bytes,
        )  # fmt: skip
        encoded = encoding.encode(batch)
        tally.add(batch, encoded)
        ids: Any = None if id_column is None else batch.kept[id_column]
        report(Progress("scoring rows", tally.read, table.n_rows))
        yield batch, encoded, None if ids is None else ids.take(encoded.kept)


def score_table(
    model: Scorer,
    table: Table,
    columns: Sequence[str],
    id_column: str | None,
    tally: RowTally,
    report: Report,
    kept_bytes: int = 0,
    keep: Sequence[str] = (),
) -> Iterator[tuple[ScoredBatch, pa.Array | None]]:
    """Each batch scored, with the ids of its rows; see `encode_table`."""
    batches = encode_table(
        model.encoding, table, columns, id_column, tally, report, kept_bytes, keep
    )
    for batch, encoded, ids in batches:
        yield model.score(batch, encoded), ids


@dataclass(frozen=True, slots=True, eq=False)
class ScoredTogether:
    """A batch scored by several models. kept: offsets in the batch of the rows that all can use.

    losses: of these rows, by model; weights: theirs, where rows have any. All (kept,).
    """

    batch: Batch
    kept: NDArray[np.int64]
    losses: list[Array]
    weights: Array | None

    @property
    def rows(self) -> NDArray[np.int64]:
        """Their numbers."""
        return self.batch.first_row + self.kept


def score_together(
    models: Mapping[str, Model],
    table: Table,
    by: Sequence[str],
    tally: RowTally,
    report: Report,
    digests: Mapping[str, RowDigest] | None = None,
) -> Iterator[ScoredTogether]:
    """Each batch, read once and scored by all models, which read the same weights.

    by: columns of groups, which are read too. Only rows that every model can use are scored.
    digests: take the rows that each model can use.
    """
    strict = any(model.encoding.missing is Missing.ERROR for model in models.values())
    needed = [name for model in models.values() for name in columns_of(model.encoding)]
    columns = list(dict.fromkeys([*needed, *by]))
    width = max(model.encoding.n_columns for model in models.values())
    row_bytes = max(model.encoding.layout.row_bytes for model in models.values())
    for batch in table.batches(columns, invalid_as_missing=not strict, ragged=tally.ragged):
        n_kept = tally.used * len(models) * LOSS_BYTES
        table.allowance.check_scoring(table.label, batch.n_rows, width, n_kept, row_bytes=row_bytes)
        scored = _score_batch(models, batch)
        for name, digest in (digests or {}).items():
            digest.add(scored[name].encoded.rows, scored[name].known_targets)
        kept = _kept_by_all(scored, tally)
        tally.scored += batch.n_rows
        tally.used += len(kept)
        tally.n_missing += max(each.encoded.n_missing for each in scored.values())
        tally.n_unseen += max(each.encoded.n_unseen for each in scored.values())
        report(Progress("scoring rows", tally.read, table.n_rows))
        first = next(iter(scored.values()))
        weights = first.weights
        losses = [_of_kept(each, each.known_losses, kept) for each in scored.values()]
        weights = None if weights is None else _of_kept(first, weights, kept)
        yield ScoredTogether(batch, kept, losses, weights)


def _score_batch(models: Mapping[str, Model], batch: Batch) -> dict[str, ScoredBatch]:
    """By each model; a batch that the last model encoded in the same way is not encoded again."""
    scored: dict[str, ScoredBatch] = {}
    last: Model | None = None
    for name, model in models.items():
        same = last is not None and last.encoding == model.encoding
        encoded = scored[next(reversed(scored))].encoded if same else None
        scored[name] = model.score(batch, encoded)
        last = model
    return scored


def _kept_by_all(scored: Mapping[str, ScoredBatch], tally: RowTally) -> NDArray[np.int64]:
    """Offsets of the rows that every model could use; the others are counted with a reason."""
    (_, first), *others = scored.items()
    kept = first.kept
    tally.add_dropped(first.encoded)
    for name, each in others:
        if np.array_equal(kept, each.kept):
            continue
        common = np.intersect1d(kept, each.kept, assume_unique=True)
        if len(common) < len(kept):
            reason = f"not usable by {name}"
            tally.dropped[reason] = tally.dropped.get(reason, 0) + len(kept) - len(common)
        kept = common
    return kept


def _of_kept(scored: ScoredBatch, values: Array, kept: NDArray[np.int64]) -> Array:
    """Of the numbers of the rows of a batch those of the rows kept."""
    if len(kept) == len(scored.kept):
        return values
    return values[np.searchsorted(scored.kept, kept)]
