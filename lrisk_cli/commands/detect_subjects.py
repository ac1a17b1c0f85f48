"""Rows with their losses, to be ranked: of a robust fit, of a robust clustering, of a model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lrisk_cli.commands.scoring import RowTally
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.names import DEFAULT_CLUSTER_RISK, Missing, Unseen
from lrisk_cli.outliers.options import default_clusters
from lrisk_cli.progress import Report
from lrisk_cli.tables.inputs import Inputs

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from lrisk_cli.design.design import Design, DesignOptions, RawDesign
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.models.fitting import FitOptions
    from lrisk_cli.models.model import Model
    from lrisk_cli.outliers.reasons import Reasons, Usual
    from lrisk_cli.robust.scale_mixture import Threshold
    from lrisk_cli.tables.table import Table

    Array = NDArray[np.float64]
    Places = NDArray[np.intp]

# Rows of a stream by which its usual row is judged.
SAMPLED_ROWS = 2000


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """Numbers and ids of rows, and why some of them are where they are."""

    rows: "NDArray[np.int64]"
    ids: "pa.Array | None"
    reasons: "Reasons"


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Rows to be ranked. losses: (n,), in reading order.

    look: places of some rows, ascending, and whether to name all rows or only these -> `Looked`,
    with the reasons of these.
    """

    model: "Model | ClusterModel"
    losses: "Array"
    border: "Threshold"
    rows: RowTally
    look: "Callable[[Places, bool], Looked]"
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Input:
    """A table to be read, and the outputs that must replace neither it nor other inputs."""

    data: Inputs
    outputs: Sequence[str | None]
    others: Sequence[str]
    contamination: float | None
    id_column: str | None

    def open(self, **how: Any) -> "Table":
        """The table; refused if an output would replace an input."""
        from lrisk_cli.tables.table import check_apart, open_table

        table = open_table(self.data, **how)
        check_apart(self.outputs, [*self.others, *table.paths])
        return table


def fit_rows(
    source: Input,
    dtypes: dict[str, str],
    columns: "DesignOptions",
    fit: "FitOptions",
    report: Report,
) -> Subject:
    """Rows by their loss under a robust fit to them."""
    from lrisk_cli.design.design import encode_design, read_design
    from lrisk_cli.models.fitting import score_design
    from lrisk_cli.outliers.reasons import explain_rows, usual_row
    from lrisk_cli.outliers.robust_fit import fit_robust

    raw = read_design(source.open(dtypes=dtypes), columns, report)
    rows = _tally(raw, columns.missing)
    design, _ = encode_design(raw, columns)
    del raw
    robust = fit_robust(design, fit, source.contamination, report)
    model = robust.fitted.model
    losses = score_design(model, design).losses

    def explain(places: "Places") -> "Reasons":
        usual = usual_row(design.rows, design.encoding)
        few = design.rows.dense_rows(places)
        return explain_rows(model, usual, few, design.targets[places])

    notes = (*design.notes, *robust.fitted.notes, *robust.notes)
    return Subject(model, losses, robust.border, rows, _looker(design, explain), notes)


def cluster_rows(
    source: Input,
    dtypes: dict[str, str],
    columns: "DesignOptions",
    ks: tuple[int, ...],
    seed: int,
    report: Report,
) -> Subject:
    """Rows by their squared distance to the nearest centre. ks: none for the usual number."""
    from lrisk_cli.clusters.clustering import (
        ClusterOptions,
        as_matrix,
        check_rows,
        find_clusters,
        pick,
    )
    from lrisk_cli.commands.cluster import require_numbers
    from lrisk_cli.design.design import encode_design, read_design
    from lrisk_cli.models.cluster_model import make_model
    from lrisk_cli.outliers.reasons import explain_distances
    from lrisk_cli.risk.spectrum import parse_risk
    from lrisk_cli.robust.scale_mixture import find_border

    raw = read_design(source.open(dtypes=dtypes), columns, report)
    require_numbers(raw)
    rows, label = _tally(raw, columns.missing), raw.label
    design, _ = encode_design(raw, columns)
    del raw
    X = as_matrix(design.rows)
    ks = ks or (default_clusters(len(X)),)
    check_rows(label, X, ks[-1])
    options = ClusterOptions(parse_risk(DEFAULT_CLUSTER_RISK), seed=seed)
    found = find_clusters(X, ks, options, report)
    model, placed = make_model(design, pick(found), found, options)
    border = find_border(placed.losses, "squared", source.contamination)

    def explain(places: "Places") -> "Reasons":
        return explain_distances(model, X[places], placed.clusters[places])

    return Subject(model, placed.losses, border, rows, _looker(design, explain), design.notes)


def stream_rows(
    source: Input,
    path: str,
    target: str | None,
    missing: Missing | None,
    unseen: Unseen | None,
    report: Report,
) -> Subject:
    """Rows by their loss under a model, 8 bytes of memory for each; `look` reads them again."""
    from lrisk_cli.risk.value import check_largest
    from lrisk_cli.robust.scale_mixture import find_border

    model = _load(path, target, missing, unseen)
    table = source.open(expected=model.encoding.dtypes)
    rows, usual, losses = _losses_of(model, table, report)
    check_largest(float(losses.max()))
    border = find_border(losses, loss_kind(model), source.contamination, _n_classes(model))

    def look(places: "Places", name_all: bool) -> Looked:
        return _look_again(model, table, source.id_column, usual, places, name_all, report)

    return Subject(model, losses, border, rows, look, ())


def loss_kind(model: "Model | ClusterModel") -> Any:
    """ "squared" for errors and distances, "logistic" for classes."""
    from lrisk_cli.models.cluster_model import ClusterModel

    return "squared" if isinstance(model, ClusterModel) else model.loss


def _n_classes(model: "Model | ClusterModel") -> int:
    goal = model.encoding.goal
    return 2 if goal is None else max(2, len(goal.classes))


def _looker(
    design: "Design", explain: "Callable[[Places], Reasons]"
) -> "Callable[[Places, bool], Looked]":
    def look(places: "Places", name_all: bool) -> Looked:
        if name_all:
            return Looked(design.row_numbers, design.ids, explain(places))
        ids = None if design.ids is None else design.ids.take(places)
        return Looked(design.row_numbers[places], ids, explain(places))

    return look


def _tally(raw: "RawDesign", missing: Missing) -> RowTally:
    """What became of the rows. n_missing: those dropped for a missing cell, and those filled in."""
    import numpy as np

    counts, kept = raw.usable.counts, raw.usable.rows
    n_missing = sum(n for why, n in counts.dropped.items() if why.startswith("missing "))
    if missing is Missing.IMPUTE:
        holes = np.isnan(kept.numbers).any(axis=1)
        for texts in kept.texts:
            holes |= texts.codes < 0
        n_missing += int(np.count_nonzero(holes))
    return RowTally(counts.read, counts.used, counts.dropped, n_missing, filled=counts.filled)


def _load(
    path: str, target: str | None, missing: Missing | None, unseen: Unseen | None
) -> "Model | ClusterModel":
    from lrisk_cli.commands.cluster_scoring import load_cluster_scorer
    from lrisk_cli.commands.scoring import load_scorer
    from lrisk_cli.models.model_file import model_kind

    if model_kind(path) == "clusters":
        if target is not None:
            raise UsageError(f"--target: {path} holds clusters, which have none; leave it out")
        return load_cluster_scorer(path, missing, unseen)
    model = load_scorer(path, missing, unseen)
    if target not in (None, model.target.name):
        raise UsageError(f"--target: {path} predicts '{model.target.name}', not '{target}'")
    return model


def _columns_of(model: "Model | ClusterModel") -> list[str]:
    goal = model.encoding.goal
    return [*model.encoding.feature_names, *([] if goal is None else [goal.name])]


def _losses_of(
    model: "Model | ClusterModel", table: "Table", report: Report
) -> "tuple[RowTally, Usual, Array]":
    """One pass over the table: what became of its rows, an ordinary one, and their losses."""
    import numpy as np

    from lrisk_cli.commands.scoring import score_table
    from lrisk_cli.outliers.reasons import learned_row, usual_row
    from lrisk_cli.rows.dense import DenseRows
    from lrisk_cli.tables.arrays import Buffer
    from lrisk_cli.tables.row_sample import RowSample

    rows, sample, kept = RowTally(), RowSample(SAMPLED_ROWS), Buffer(table.n_rows or 0)
    used = 0
    scorer: Any = model
    for scored, _ in score_table(scorer, table, _columns_of(model), None, rows, report):
        losses = scored.losses
        if used + len(losses) > kept.size:
            kept.resize(used + len(losses) + used // 2)
        kept.view()[used : used + len(losses)] = losses
        used += len(losses)
        encoded = scored.encoded.rows
        sample.add(scored.rows, *(encoded.column(j) for j in range(encoded.shape[1])))
    if used == 0:
        raise DataError(f"{table.label}: no row is left to judge; all {rows.read} were dropped")
    kept.resize(used)
    usual = usual_row(DenseRows(np.column_stack(sample.columns)), model.encoding)
    return rows, learned_row(usual, model.encoding), kept.view()


def _look_again(
    model: "Model | ClusterModel",
    table: "Table",
    id_column: str | None,
    usual: "Usual",
    places: "Places",
    name_all: bool,
    report: Report,
) -> Looked:
    """A second pass: names and reasons of some rows, as far as they go, or names of all."""
    import numpy as np

    from lrisk_cli.commands.scoring import score_table
    from lrisk_cli.outliers.reasons import join_reasons
    from lrisk_cli.tables.table import join_arrays

    rows: list[Any] = []
    names: list[Any] = []
    reasons: list[Reasons] = []
    before = 0
    scorer: Any = model
    columns = _columns_of(model)
    for scored, ids in score_table(scorer, table, columns, id_column, RowTally(), report):
        after = before + len(scored.kept)
        mine = places[slice(*np.searchsorted(places, [before, after]))] - before
        reasons.append(_explain(model, usual, scored, mine))
        shown = slice(None) if name_all else mine
        rows.append(scored.rows[shown])
        if ids is not None:
            names.append(ids if name_all else ids.take(mine))
        before = after
        if not name_all and (len(places) == 0 or places[-1] < after):
            break
    ids = join_arrays(names) if names else None
    return Looked(np.concatenate(rows), ids, join_reasons(reasons))


def _explain(
    model: "Model | ClusterModel", usual: "Usual", scored: Any, places: "Places"
) -> "Reasons":
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.outliers.reasons import explain_distances, explain_rows

    few = scored.encoded.rows.dense_rows(places)
    if isinstance(model, ClusterModel):
        return explain_distances(model, few, scored.clusters[places])
    return explain_rows(model, usual, few, scored.targets[places])
