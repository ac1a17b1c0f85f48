"""Results on outliers, clusters, comparisons and quantiles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import lrisk_cli
from lrisk_cli.api.cluster import Clustered
from lrisk_cli.api.evaluate import ClusterEvaluation
from lrisk_cli.library.result import Result, from_lines, joined
from lrisk_cli.library.results import PredictionResult
from lrisk_cli.models.cluster_model import ClusterModel, save_clusters
from lrisk_cli.models.model import Model, save_model
from lrisk_cli.tables.outputs import as_table

if TYPE_CHECKING:
    import pandas as pd

    from lrisk_cli.api.columns import TableProfile
    from lrisk_cli.api.quantile_report import QuantileResults
    from lrisk_cli.evaluation.comparison import Comparison
    from lrisk_cli.outliers.detection import Outliers
    from lrisk_cli.reports.facts import Fact, Grid
    from lrisk_cli.reports.figures import Plot


@dataclass(frozen=True, repr=False)
class ClusterEvaluationResult(Result):
    """Clusters on a table."""

    result: ClusterEvaluation

    @property
    def figures(self) -> dict[str, float | None]:
        """Risks of the squared distances and further figures, by name."""
        return dict(self.result.figures)

    def losses(self) -> "pd.DataFrame":
        """Cluster, distance, weight and rank of each row."""
        return as_table(self.result.kept or {}).to_pandas()

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.clusters import cluster_evaluation_document

        return cluster_evaluation_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each figure."""
        return from_lines(("figure", "value"), list(self.result.figures.items()))

    def _print(self) -> None:
        from lrisk_cli.reports.clusters import print_cluster_evaluation

        print_cluster_evaluation(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.cluster_plots import row_plots

        found = self.result
        return [] if found.seen is None else row_plots(found.model, found.evaluated, found.seen)

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        return _clusters_shown(self.result.model, self.result)


@dataclass(frozen=True, repr=False)
class OutlierResult(Result):
    """Rows ranked by how little they fit the others, with reasons."""

    result: "Outliers"

    @property
    def model(self) -> Model | ClusterModel:
        """What the rows were ranked by."""
        return self.result.model

    @property
    def threshold(self) -> float:
        """Rows of higher scores are outliers."""
        return float(self.result.threshold.threshold)

    def save(self, path: str) -> None:
        """Write the model, as `lrisk detect-outliers --save-model` does."""
        _save(path, self.result.model)

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.outliers import outliers_document

        return outliers_document(self.result)

    def to_arrow(self) -> pa.Table:
        """The ranking of all rows, the most outlying first."""
        return joined(self.result.ranking)

    def _print(self) -> None:
        from lrisk_cli.reports.outliers import print_outliers

        print_outliers(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.outlier_page import score_plot

        return [score_plot(self.result)]

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.facts import note_facts
        from lrisk_cli.reports.outliers import outlier_facts, top_grid

        found = self.result
        facts = [*outlier_facts(found), *note_facts(found.notes)]
        return f"{found.n_outliers:,} outliers", facts, [top_grid(found)]


@dataclass(frozen=True, repr=False)
class ClusterResult(Result):
    """Clusters that were found."""

    result: Clustered

    @property
    def model(self) -> ClusterModel:
        """The clusters."""
        return self.result.model

    def save(self, path: str) -> None:
        """Write the clusters, as `lrisk cluster -o` does."""
        save_clusters(path, self.result.model)

    def predict(self, data: Any, **options: Any) -> PredictionResult:
        """`lrisk_cli.predict` with these clusters."""
        return lrisk_cli.predict(self.model, data, **options)

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.clusters import cluster_document

        return cluster_document(None, self.result)

    def to_arrow(self) -> pa.Table:
        """Cluster, distance, weight and outlier flag of each row."""
        return as_table(self.result.kept or {})

    def _print(self) -> None:
        from lrisk_cli.reports.clusters import print_clusters

        print_clusters(None, self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.cluster_plots import row_plots

        found = self.result
        return [] if found.seen is None else row_plots(found.model, found.evaluated, found.seen)

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        return _clusters_shown(self.result.model, self.result)


@dataclass(frozen=True, repr=False)
class ComparisonResult(Result):
    """Methods on rows that they have not seen."""

    result: "Comparison"

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.comparisons import comparison_document

        return comparison_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each method and figure: mean over the splits, and deviation between them."""
        lines = [
            (each.method, each.kind, name, each.mean(name), each.deviation(name))
            for each in self.result.results
            for name in (*each.trials[0].figures, "seconds")
        ]
        return from_lines(("method", "kind", "figure", "mean", "deviation"), lines)

    def _print(self) -> None:
        from lrisk_cli.reports.comparisons import print_comparison

        print_comparison(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.comparison_page import main_figures, method_plot

        return [method_plot(self.result, name) for name in main_figures(self.result)]

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.comparisons import comparison_facts, comparison_grid
        from lrisk_cli.reports.facts import note_facts

        facts = [*comparison_facts(self.result), *note_facts(self.result.notes)]
        return "Comparison", facts, [comparison_grid(self.result)]


@dataclass(frozen=True, repr=False)
class QuantileResult(Result):
    """Loss quantiles of models beside those of a baseline."""

    result: "QuantileResults"

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.quantile_document import quantile_document

        return quantile_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each model and quantile, and for each group if there are groups."""
        from lrisk_cli.api.quantile_report import quantile_columns

        return as_table(quantile_columns(self.result))

    def _print(self) -> None:
        from lrisk_cli.reports.quantile_text import print_quantiles

        print_quantiles(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.quantile_page import difference_plots

        return difference_plots(self.result)

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.facts import Grid, note_facts
        from lrisk_cli.reports.quantile_text import QUANTILE_HEADS, quantile_facts, quantile_rows

        found = self.result
        grids = []
        for _, compared in found.compared:
            grids.append(Grid(QUANTILE_HEADS, quantile_rows(found, compared)))
        return "Loss quantiles", [*quantile_facts(found), *note_facts(found.notes)], grids


@dataclass(frozen=True, repr=False)
class ColumnsResult(Result):
    """The columns of a table: how they are read, what they hold, and every doubt."""

    result: "TableProfile"

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.columns import columns_document

        return columns_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each column."""
        names = ("name", "kind", "missing", "invalid", "distinct", "min", "median", "max", "doubts")
        lines = []
        for each in self.document()["columns"]:
            # Numbers and dates stand in one column, so both are texts.
            texts = [
                None if each[key] is None else str(each[key]) for key in ("min", "median", "max")
            ]
            counts = [each[key] for key in names[:5]]
            lines.append((*counts, *texts, "; ".join(each["doubts"])))
        return from_lines(names, lines)

    def _print(self) -> None:
        from lrisk_cli.reports.columns import print_columns

        print_columns(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.prediction_plot import missing_plot

        found = [(each.name, each.missing) for each in self.result.columns]
        return [missing_plot(found, self.result.n_rows)]

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.columns import column_facts, columns_grid, doubts_grid
        from lrisk_cli.reports.facts import note_facts

        doubts = doubts_grid(self.result)
        grids = [columns_grid(self.result), *([] if doubts is None else [doubts])]
        facts = [*column_facts(self.result), *note_facts(self.result.notes)]
        return f"{len(self.result.columns)} columns", facts, grids


def _clusters_shown(
    model: ClusterModel, found: Any
) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
    from lrisk_cli.reports.clusters import (
        centres_grid,
        cluster_fact,
        outliers_fact,
        search_facts,
        sizes_grid,
    )
    from lrisk_cli.reports.facts import note_facts, rows_fact

    evaluated = found.evaluated
    facts = [cluster_fact(model), rows_fact(evaluated.counts), outliers_fact(model, evaluated)]
    facts += [*search_facts(model), *note_facts(found.notes)]
    title = f"{len(model.centres)} clusters by {model.risk}"
    return title, facts, [sizes_grid(evaluated), centres_grid(model)]


def _save(path: str, model: Model | ClusterModel) -> None:
    write: Callable[..., None] = save_clusters if isinstance(model, ClusterModel) else save_model
    write(path, model)
