"""Score the rows of a table with a model, batch by batch; shared by several commands."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.progress import Progress, Report

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from lrisk_cli.design import RowCounts
    from lrisk_cli.encoding import EncodedBatch, Encoding
    from lrisk_cli.metrics import Tally
    from lrisk_cli.model import Model, Scored
    from lrisk_cli.tables import Batch, Table


@dataclass(slots=True)
class RowTally:
    """Counts rows while they are scored. n_missing, n_unseen: rows with such a cell."""

    read: int = 0
    used: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    n_missing: int = 0
    n_unseen: int = 0

    def counts(self) -> "RowCounts":
        """Rows read, used, and dropped by reason."""
        from lrisk_cli.design import RowCounts

        return RowCounts(self.read, self.used, self.dropped)


@dataclass(slots=True)
class RowKeeper:
    """Keeps scored rows for a file, in reading order."""

    fields: dict[str, list[Any]] = field(default_factory=dict)
    ids: "list[pa.Array]" = field(default_factory=list)

    def add(self, scored: "Scored", ids: "pa.Array | None") -> None:
        """Keep what a file can hold of a batch; its features are not needed any more."""
        for name in ("rows", "predictions", "probabilities", "targets", "losses"):
            self.fields.setdefault(name, []).append(getattr(scored, name))
        if ids is not None:
            self.ids.append(ids)

    def named(self, model: "Model") -> dict[str, Any]:
        """row, id (if there are ids) and prediction; classes by their labels."""
        from lrisk_cli.tables import join_arrays

        columns = {"row": self.joined("rows")}
        if self.ids:
            columns["id"] = join_arrays(self.ids)
        return columns | {"prediction": labelled(model, self.joined("predictions"))}

    def joined(self, name: str) -> Any:
        """One field of all batches. (n, ...)."""
        import numpy as np

        return np.concatenate(self.fields[name])


def labelled(model: "Model", values: Any) -> Any:
    """Class codes as class labels; numbers as they are."""
    import pyarrow as pa

    if model.target.kind == "number":
        return values
    return pa.DictionaryArray.from_arrays(values, list(model.target.classes))


def load_scorer(path: str, missing: Missing | None, unseen: Unseen | None) -> "Model":
    """The model, with the policies of the command line in place of those of the fit."""
    from lrisk_cli.model import load_model

    model = load_model(path)
    return replace(model, encoding=with_policies(path, model.encoding, missing, unseen))


def with_policies(
    path: str, encoding: "Encoding", missing: Missing | None, unseen: Unseen | None
) -> "Encoding":
    """The encoding of a model with the policies of the command line, where they are given."""
    missing, unseen = missing or encoding.missing, unseen or encoding.unseen
    if missing is Missing.IMPUTE and any(feature.fill is None for feature in encoding.features):
        raise UsageError(
            f"{path}: the fit learnt no values to fill in; pass --missing drop, or fit with "
            "--missing impute"
        )
    return replace(encoding, missing=missing, unseen=unseen)


class ScoredRows(Protocol):
    """What a model of any kind says about a batch."""

    @property
    def kept(self) -> "NDArray[np.int64]":
        """The rows it could use: offsets in the batch."""

    @property
    def encoded(self) -> "EncodedBatch":
        """These rows as numbers, and what became of the others."""


Rows = TypeVar("Rows", bound=ScoredRows, covariant=True)


class Scorer(Protocol[Rows]):
    """A model of any kind."""

    @property
    def encoding(self) -> "Encoding":
        """How it reads a table."""

    def score(self, batch: "Batch") -> Rows:
        """What it says about the rows of a batch, each by itself."""


def score_table(
    model: "Scorer[Rows]",
    table: "Table",
    columns: Sequence[str],
    id_column: str | None,
    tally: RowTally,
    report: Report,
) -> "Iterator[tuple[Rows, pa.Array | None]]":
    """Each batch scored, with the ids of its rows; the tally grows along."""
    strays_are_missing = model.encoding.missing is not Missing.ERROR
    as_is = () if id_column is None else (id_column,)
    for batch in table.batches(columns, strays_are_missing=strays_are_missing, as_is=as_is):
        scored = model.score(batch)
        tally.read += batch.n_rows
        tally.used += len(scored.kept)
        tally.n_missing += scored.encoded.n_missing
        tally.n_unseen += scored.encoded.n_unseen
        for reason, n_rows in scored.encoded.dropped.items():
            tally.dropped[reason] = tally.dropped.get(reason, 0) + n_rows
        ids: Any = None if id_column is None else batch.columns[id_column]
        report(Progress("scoring rows", tally.read, table.n_rows))
        yield scored, None if ids is None else ids.take(scored.kept)


@dataclass(slots=True)
class ScoredTable:
    """Everything that one pass over a table leaves behind; single rows only where kept."""

    tally: "Tally"
    rows: RowTally
    kept: RowKeeper | None


def score_all(
    model: "Model", table: "Table", id_column: str | None, *, keep: bool, report: Report
) -> ScoredTable:
    """One pass over the table; only the losses stay in memory, unless the rows are kept."""
    from lrisk_cli.metrics import Tally

    result = ScoredTable(Tally(model.task), RowTally(), RowKeeper() if keep else None)
    columns = [*model.encoding.feature_names, model.target.name]
    for scored, ids in score_table(model, table, columns, id_column, result.rows, report):
        assert scored.losses is not None and scored.targets is not None  # noqa: S101, PT018
        result.tally.add(scored.losses, scored.targets, scored.predictions)
        if result.kept is not None:
            result.kept.add(scored, ids)
    if result.rows.used == 0:
        raise DataError(
            f"{table.label}: no row is left to judge; all {result.rows.read} were dropped"
        )
    return result
