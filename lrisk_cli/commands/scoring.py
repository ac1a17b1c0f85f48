"""Score the rows of a table with a model, batch by batch; shared by several commands."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.progress import Progress, Report

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    from numpy.typing import NDArray

    from lrisk_cli.commands.worst_rows import WorstRows
    from lrisk_cli.design.design import Design, RowCounts
    from lrisk_cli.design.encoding import EncodedBatch, Encoding
    from lrisk_cli.evaluation.metrics import Tally
    from lrisk_cli.models.fitting import ScoredRows
    from lrisk_cli.models.model import Model, Scored
    from lrisk_cli.reports.plots import JudgedRows
    from lrisk_cli.tables.cells import Texts
    from lrisk_cli.tables.row_sample import RowSample
    from lrisk_cli.tables.table import Batch, Table

# Rows whose predictions are kept for a picture.
SAMPLED_ROWS = 1500


@dataclass(slots=True)
class RowTally:
    """Counts rows while they are scored. n_missing, n_unseen: rows with such a cell.

    filled: cells that something stands in for, by column.
    """

    read: int = 0
    used: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    n_missing: int = 0
    n_unseen: int = 0
    filled: dict[str, int] = field(default_factory=dict)

    def add_losses(self, encoded: "EncodedBatch") -> None:
        """Count the rows that a batch lost, and the cells that it lacked."""
        for ours, theirs in ((self.dropped, encoded.dropped), (self.filled, encoded.filled)):
            for name, count in theirs.items():
                ours[name] = ours.get(name, 0) + count

    def counts(self) -> "RowCounts":
        """Rows read, used, dropped by reason, and cells filled in."""
        from lrisk_cli.design.design import RowCounts

        return RowCounts(self.read, self.used, self.dropped, self.filled)


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
        from lrisk_cli.tables.table import join_arrays

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
    from lrisk_cli.models.model import load_model

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


class ScoredBatch(Protocol):
    """What a model of any kind says about a batch."""

    @property
    def kept(self) -> "NDArray[np.int64]":
        """The rows it could use: offsets in the batch."""

    @property
    def encoded(self) -> "EncodedBatch":
        """These rows as numbers, and what became of the others."""


Rows = TypeVar("Rows", bound=ScoredBatch, covariant=True)


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
    goal = model.encoding.goal
    if id_column in (*columns, *([] if goal is None else [goal.name])):
        raise UsageError(
            f"--id: '{id_column}' is read for the model already; choose another column"
        )
    invalid_as_missing = model.encoding.missing is not Missing.ERROR
    as_is = () if id_column is None else (id_column,)
    for batch in table.batches(columns, invalid_as_missing=invalid_as_missing, as_is=as_is):
        scored = model.score(batch)
        tally.read += batch.n_rows
        tally.used += len(scored.kept)
        tally.n_missing += scored.encoded.n_missing
        tally.n_unseen += scored.encoded.n_unseen
        tally.add_losses(scored.encoded)
        ids: Any = None if id_column is None else batch.columns[id_column]
        report(Progress("scoring rows", tally.read, table.n_rows))
        yield scored, None if ids is None else ids.take(scored.kept)


@dataclass(slots=True)
class ScoredTable:
    """Everything that one pass over a table leaves behind; single rows only where kept.

    sample: predictions and targets of a few rows, as numbers.
    """

    tally: "Tally"
    rows: RowTally
    kept: RowKeeper | None
    sample: "RowSample"


def score_all(
    model: "Model",
    table: "Table",
    id_column: str | None,
    *,
    keep: bool,
    report: Report,
    worst: "WorstRows | None" = None,
) -> ScoredTable:
    """One pass over the table; only the losses stay in memory, unless the rows are kept.

    worst: takes the rows with the largest losses, if anybody asks for them.
    """
    from lrisk_cli.evaluation.metrics import Tally
    from lrisk_cli.tables.row_sample import RowSample

    kept = RowKeeper() if keep else None
    result = ScoredTable(Tally(model.task), RowTally(), kept, RowSample(SAMPLED_ROWS))
    columns = [*model.encoding.feature_names, model.target.name]
    for scored, ids in score_table(model, table, columns, id_column, result.rows, report):
        assert scored.losses is not None and scored.targets is not None  # noqa: S101, PT018
        result.tally.add(scored.losses, scored.targets, scored.predictions)
        result.sample.add(scored.rows, scored.predictions, scored.targets)
        if result.kept is not None:
            result.kept.add(scored, ids)
        if worst is not None:
            worst.add(scored.rows, scored.losses, ids, scored.targets, scored.predictions)
    if result.rows.used == 0:
        raise DataError(
            f"{table.label}: no row is left to judge; all {result.rows.read} were dropped"
        )
    return result


def sample_rows(design: "Design", scored: "ScoredRows") -> "tuple[Any, RowSample]":
    """The losses of a design, and a few of its rows as score_all keeps them."""
    from lrisk_cli.tables.row_sample import RowSample

    sample = RowSample(SAMPLED_ROWS)
    sample.add(design.row_numbers, scored.predictions, design.targets)
    return scored.losses, sample


def judged_rows(name: str, model: "Model", losses: Any, sample: "RowSample") -> "JudgedRows":
    """What the figures of a page are drawn from. losses: (n,), in any order."""
    import numpy as np

    from lrisk_cli.reports.plots import JudgedRows
    from lrisk_cli.risk.row_weights import row_weights

    ascending = np.sort(losses)
    weights = row_weights(ascending, model.spectrum)
    return JudgedRows(name, ascending, weights, *sample.columns)


@dataclass(frozen=True, slots=True)
class ScoredTogether:
    """The rows of a batch that every model could use: their numbers, losses by model, groups."""

    rows: "npt.NDArray[np.int64]"
    losses: "list[npt.NDArray[np.float64]]"
    groups: "Texts | None"


def score_together(
    models: "Mapping[str, Model]", table: "Table", by: str | None, tally: RowTally, report: Report
) -> Iterator[ScoredTogether]:
    """Each batch scored by all models (by name), read once; the tally grows along.

    by: a column that names the group of a row.
    """
    from lrisk_cli.tables.cells import Texts, spell_numbers

    strict = any(model.encoding.missing is Missing.ERROR for model in models.values())
    for batch in table.batches(_columns_of(models, by), invalid_as_missing=not strict):
        scored = _score_batch(models, batch)
        kept = _kept_by_all(scored, tally)
        tally.read += batch.n_rows
        tally.used += len(kept)
        tally.n_missing += max(each.encoded.n_missing for each in scored.values())
        tally.n_unseen += max(each.encoded.n_unseen for each in scored.values())
        report(Progress("scoring rows", tally.read, table.n_rows))
        cells: Any = None if by is None else batch.columns[by]
        if cells is not None and not isinstance(cells, Texts):
            cells = spell_numbers(cells)
        yield ScoredTogether(
            batch.first_row + kept,
            [_losses_of(each, kept) for each in scored.values()],
            None if cells is None else cells[kept],
        )


def _score_batch(models: "Mapping[str, Model]", batch: "Batch") -> "dict[str, Scored]":
    """By each model; a batch that the last model encoded in the same way is not encoded again."""
    scored: dict[str, Scored] = {}
    last: Model | None = None
    for name, model in models.items():
        same = last is not None and last.encoding == model.encoding
        encoded = scored[next(reversed(scored))].encoded if same else None
        scored[name] = model.score(batch, encoded)
        last = model
    return scored


def _columns_of(models: "Mapping[str, Model]", by: str | None) -> list[str]:
    """The columns that any of the models needs, the targets, and that of the groups."""
    needed = [
        name
        for model in models.values()
        for name in (*model.encoding.feature_names, model.target.name)
    ]
    return list(dict.fromkeys(needed if by is None else [*needed, by]))


def _kept_by_all(scored: "Mapping[str, Scored]", tally: RowTally) -> "npt.NDArray[np.int64]":
    """Offsets of the rows that every model could use; the others are counted with a reason."""
    import numpy as np

    (_, first), *others = scored.items()
    kept = first.kept
    tally.add_losses(first.encoded)
    for name, each in others:
        if np.array_equal(kept, each.kept):
            continue
        common = np.intersect1d(kept, each.kept, assume_unique=True)
        if len(common) < len(kept):
            reason = f"not usable by {name}"
            tally.dropped[reason] = tally.dropped.get(reason, 0) + len(kept) - len(common)
        kept = common
    return kept


def _losses_of(scored: "Scored", kept: "npt.NDArray[np.int64]") -> "npt.NDArray[np.float64]":
    import numpy as np

    assert scored.losses is not None  # noqa: S101
    if len(kept) == len(scored.kept):
        return scored.losses
    return scored.losses[np.searchsorted(scored.kept, kept)]
