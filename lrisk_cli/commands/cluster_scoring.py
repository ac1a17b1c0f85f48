"""Score a table with clusters, batch by batch: what evaluate and predict do with such a model."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lrisk_cli.commands.checks import Checks, make_checks, only_file
from lrisk_cli.commands.cluster_pages import (
    PageOptions,
    RowViews,
    check_shape,
    write_evaluation_page,
)
from lrisk_cli.errors import DataError
from lrisk_cli.evaluation.options import Gates
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.progress import Report
from lrisk_cli.tables.inputs import Inputs

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from lrisk_cli.commands.scoring import RowTally
    from lrisk_cli.design.raw_rows import RowCounts
    from lrisk_cli.evaluation.agreement import Agreement, LabelTally
    from lrisk_cli.evaluation.metrics import Figures
    from lrisk_cli.models.cluster_model import ClusterModel, Scored
    from lrisk_cli.reports.clusters import Judged
    from lrisk_cli.risk.spectrum import Spectrum
    from lrisk_cli.tables.table import Table

    Flags = NDArray[np.bool_]
    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Questions:
    """What `evaluate` is asked about clusters. losses, page: files to write, if any."""

    risks: Sequence[str]
    gates: Gates
    losses: str | None
    id_column: str | None
    label: str | None
    inliers: tuple[str, ...]
    page: PageOptions | None

    @property
    def outputs(self) -> tuple[str | None, ...]:
        """The file of every row, and the page; None for those not asked for."""
        return self.losses, self.page.path if self.page else None


@dataclass(slots=True)
class ScoredRows:
    """Scored rows in reading order, as the arrays of their batches."""

    rows: "list[NDArray[np.int64]]" = field(default_factory=list)
    clusters: "list[Codes]" = field(default_factory=list)
    losses: "list[Floats]" = field(default_factory=list)
    outliers: "list[Flags]" = field(default_factory=list)
    ids: "list[pa.Array]" = field(default_factory=list)

    def add(self, scored: "Scored", ids: "pa.Array | None") -> None:
        """Keep what a file can hold of a batch."""
        self.rows.append(scored.rows)
        self.clusters.append(scored.clusters)
        self.losses.append(scored.losses)
        self.outliers.append(scored.outliers)
        if ids is not None:
            self.ids.append(ids)

    def joined(self, name: str) -> Any:
        """One field of all batches. (n,)."""
        import numpy as np

        return np.concatenate(getattr(self, name))

    def named(self) -> dict[str, Any]:
        """row, and id if there are ids."""
        from lrisk_cli.tables.table import join_arrays

        return {"row": self.joined("rows")} | ({"id": join_arrays(self.ids)} if self.ids else {})


def load_cluster_scorer(
    path: str, missing: Missing | None, unseen: Unseen | None
) -> "ClusterModel":
    """The clusters, with the policies of the command line in place of those of the fit."""
    from lrisk_cli.commands.scoring import with_policies
    from lrisk_cli.models.cluster_model import load_clusters

    model = load_clusters(path)
    return replace(model, encoding=with_policies(path, model.encoding, missing, unseen))


def score_clusters(
    model: "ClusterModel",
    table: "Table",
    asked: Questions,
    tally: "LabelTally",
    views: RowViews,
    report: Report,
) -> "tuple[ScoredRows, RowTally]":
    """One pass over the table; the tally takes the labels, the views rows, if asked for."""
    from lrisk_cli.clusters.clustering import as_matrix
    from lrisk_cli.commands.scoring import RowTally, score_table

    kept, rows = ScoredRows(), RowTally()
    columns = [*model.encoding.feature_names, *([] if asked.label is None else [asked.label])]
    for scored, ids in score_table(model, table, columns, asked.id_column, rows, report):
        kept.add(scored, ids)
        if asked.page is not None:
            views.add(
                scored.rows, as_matrix(scored.encoded.rows),
                scored.clusters, scored.losses, scored.outliers,
            )  # fmt: skip
        if asked.label is not None:
            cells: Any = scored.batch.columns[asked.label]
            tally.add(cells[scored.kept], scored.clusters)
    if rows.used == 0:
        raise DataError(f"{table.label}: no row is left to judge; all {rows.read} were dropped")
    return kept, rows


def evaluate_clusters(
    path: str,
    data: Inputs,
    asked: Questions,
    missing: Missing | None,
    unseen: Unseen | None,
    *,
    as_json: bool,
    force: bool,
    quiet: bool,
    bar: bool,
) -> int:
    """Judge clusters on a table: risks of the squared distances, labels, gates."""
    from lrisk_cli.commands.worst_rows import WorstRows, count_rows
    from lrisk_cli.evaluation.agreement import LabelTally
    from lrisk_cli.reports.clusters import cluster_evaluation_document, print_cluster_evaluation
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_apart, check_output, open_table, write_table

    model = load_cluster_scorer(path, missing, unseen)
    spectra, checks = _questions(model, asked)
    check_shape(asked.page, path, model.encoding)
    for output in (*asked.outputs, checks.junit):
        if output is not None:
            check_output(output, force=force, table=output == asked.losses)
    with ProgressDisplay("evaluate", quiet=quiet, bar=bar) as report:
        table = open_table(data, expected=model.encoding.dtypes)
        check_apart([*asked.outputs, checks.junit], [path, *checks.inputs, *table.paths])
        place = f"{table.label}, column '{asked.label}'"
        tally = LabelTally(place, len(model.centres), asked.inliers)
        views = RowViews(model.encoding.n_columns)
        kept, rows = score_clusters(model, table, asked, tally, views, report)
        losses, clusters = kept.joined("losses"), kept.joined("clusters")
        agreement = None if asked.label is None else tally.agreement(losses)
        judged = judge_rows(model, rows.counts(), clusters, losses, agreement, spectra)
        if asked.losses is not None:
            columns = assignment_columns(
                kept.named(), clusters, losses, kept.joined("outliers"), model.spectrum
            )
            write_table(asked.losses, columns)
        verdicts = checks.judge(judged.figures, _row_figures(rows))
        if asked.page is not None:
            seen = views.seen(losses)
            write_evaluation_page(asked.page, path, model, judged, seen, verdicts)
    if as_json:
        print_document(cluster_evaluation_document(path, model, judged, verdicts))
    else:
        print_cluster_evaluation(path, model, judged, verdicts)
    worst = WorstRows()
    if checks.github:
        ids = kept.named().get("id")
        worst.add(kept.joined("rows"), losses, ids, clusters)
    told = worst.placed()
    file = only_file(table.paths)
    shown = Shown("evaluate", file, told, count_rows(rows.used, told))
    return checks.conclude([(None, verdict) for verdict in verdicts], judged.figures, shown)


def judge_rows(
    model: "ClusterModel",
    counts: "RowCounts",
    clusters: "Codes",
    losses: "Floats",
    agreement: "Agreement | None",
    spectra: "Sequence[Spectrum]" = (),
) -> "Judged":
    """Sizes of the clusters, the risks of the squared distances, and what the labels say."""
    import numpy as np

    from lrisk_cli.clusters.clustering import find_outliers
    from lrisk_cli.evaluation.metrics import risk_figures
    from lrisk_cli.evaluation.registry import Needs, figures_of
    from lrisk_cli.reports.clusters import Judged
    from lrisk_cli.risk.value import sort_losses

    k = len(model.centres)
    outliers = find_outliers(losses, model.outlier_distance)
    figures = risk_figures(sort_losses(losses.copy()), (model.spectrum, *spectra))
    figures |= figures_of(outliers, [Needs.FLAGS])
    return Judged(
        counts,
        np.bincount(clusters, minlength=k).tolist(),
        np.bincount(clusters[outliers], minlength=k).tolist(),
        figures | ({} if agreement is None else agreement.figures),
        agreement,
    )


def assignment_columns(
    named: dict[str, Any],
    clusters: "Codes",
    losses: "Floats",
    outliers: "Flags",
    spectrum: "Spectrum",
) -> dict[str, Any]:
    """The columns of the assignments file, rows in reading order; `named` holds row and id."""
    import numpy as np

    from lrisk_cli.evaluation.rankings import rank

    ranking = rank(losses, spectrum)
    return {
        **named,
        "cluster": clusters,
        "distance": np.sqrt(losses),
        "weight": ranking.weights,
        "rank": ranking.ranks,
        "is_outlier": outliers.astype(np.int8),
    }


def prediction_columns(kept: ScoredRows) -> dict[str, Any]:
    """What `predict` writes: each row's cluster, distance, and whether it is an outlier."""
    import numpy as np

    return {
        **kept.named(),
        "cluster": kept.joined("clusters"),
        "distance": np.sqrt(kept.joined("losses")),
        "is_outlier": kept.joined("outliers").astype(np.int8),
    }


def _questions(model: "ClusterModel", asked: Questions) -> "tuple[tuple[Spectrum, ...], Checks]":
    """The risks to report, those that a gate mentions included, and the gates."""
    from lrisk_cli.evaluation.metrics import parse_risks
    from lrisk_cli.evaluation.registry import OF_CLUSTERS, OF_LABELS, spell_metric

    known = OF_CLUSTERS if asked.label is None else OF_CLUSTERS | OF_LABELS
    checks = make_checks(asked.gates, "evaluate", lambda name: spell_metric(name, known))
    return parse_risks([*asked.risks, *checks.risks] or [model.risk]), checks


def _row_figures(rows: "RowTally") -> "Figures":
    """What gates can ask for beside the figures of the rows."""
    from lrisk_cli.evaluation.registry import Needs, figures_of

    return figures_of(rows, [Needs.ROWS, Needs.CELLS])
