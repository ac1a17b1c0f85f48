"""What the functions return: facts and figures as text, as a table, for notebooks, and drawn."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import lrisk_cli
from lrisk_cli.api.evaluate import Evaluation
from lrisk_cli.api.fit_result import Fits
from lrisk_cli.api.predict import Predictions
from lrisk_cli.errors import InvalidOption
from lrisk_cli.library.result import Result, from_lines
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model, save_model
from lrisk_cli.tables.outputs import as_table

if TYPE_CHECKING:
    import pandas as pd

    from lrisk_cli.reports.facts import Fact, Grid
    from lrisk_cli.reports.figures import Plot


@dataclass(frozen=True, repr=False)
class FitResult(Result):
    """Models that were fitted, one for each risk."""

    result: Fits

    def __len__(self) -> int:
        return len(self.result.results)

    def __iter__(self) -> "Iterator[FitResult]":
        return (self[at] for at in range(len(self)))

    def __getitem__(self, at: int) -> "FitResult":
        one = (self.result.results[at],)
        return FitResult(replace(self.result, results=one))

    @property
    def model(self) -> Model:
        """The model; of several, choose one by its position."""
        if len(self) > 1:
            raise ValueError(f"{len(self)} models were fitted; choose one, such as result[0]")
        return self.result.results[0].model

    @property
    def certificate(self) -> "Certificate":
        """What was proved about the fit."""
        return Certificate.of(self.model)

    def save(self, path: str) -> None:
        """Write the model, as `lrisk fit -o` does."""
        save_model(path, self.model)

    def coefficients(self) -> "pd.DataFrame":
        """Coefficients and intercept in units of the table; none of a kernel model."""
        return coefficient_table(self.model).to_pandas()

    def predict(self, data: Any, **options: Any) -> "PredictionResult":
        """`lrisk_cli.predict` with this model."""
        return lrisk_cli.predict(self.model, data, **options)

    def evaluate(self, data: Any, **options: Any) -> "EvaluationResult":
        """`lrisk_cli.evaluate` with this model."""
        return lrisk_cli.evaluate(self.model, data, **options)  # type: ignore[return-value]

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.documents import fits_document

        return fits_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each model, set of rows and figure; of the ordinary fit too."""
        lines = [
            (each.model.risk, fit, rows, name, value)
            for each in self.result.results
            for fit, figures in _figures_by_fit(each)
            for rows, of_rows in figures.items()
            for name, value in of_rows.items()
        ]
        return from_lines(("risk", "fit", "rows", "figure", "value"), lines)

    def _print(self) -> None:
        from lrisk_cli.reports.paths import print_path
        from lrisk_cli.reports.terminal import print_fit

        (print_path if len(self) > 1 else print_fit)(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.plots import row_plots

        first = self.result.results[0]
        rows = first.evaluated_rows()
        if not rows:
            raise InvalidOption("engine", "a streamed fit keeps no rows to plot; evaluate some")
        return row_plots(first.model, rows)

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.facts import note_facts, rows_fact
        from lrisk_cli.reports.figure_facts import figures_grid, result_fact
        from lrisk_cli.reports.model_facts import coefficient_grid, model_facts, run_facts

        facts: list[Fact] = []
        grids: list[Grid] = []
        for each in self.result.results:
            model, reference = each.model, each.reference
            facts += [result_fact(each), *model_facts(model), *run_facts(model)]
            figures = None if reference is None else reference.figures
            grids.append(figures_grid(model, each.figures, figures))
            coefficients = coefficient_grid(model)
            grids += [] if coefficients is None else [coefficients]
        facts += [rows_fact(self.result.counts), *note_facts(self.result.notes)]
        target = self.result.results[0].model.target.name
        risks = ", ".join(each.model.risk for each in self.result.results)
        return f"Fit of {target} by {risks}", facts, grids


@dataclass(frozen=True, repr=False)
class EvaluationResult(Result):
    """A model on a table."""

    result: Evaluation

    @property
    def figures(self) -> dict[str, float | None]:
        """Risks and errors by name."""
        return dict(self.result.figures)

    def losses(self) -> "pd.DataFrame":
        """Prediction, loss, weight and rank of each row."""
        return as_table(self.result.kept or {}).to_pandas()

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.documents import evaluation_document

        return evaluation_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each figure, with its interval if it has one."""
        intervals = self.result.intervals
        lines = [(name, value) for name, value in self.result.figures.items()]
        table = from_lines(("figure", "value"), lines)
        if intervals is None:
            return table
        ends = [intervals.get(name) for name, _ in lines]
        for at, name in enumerate(("low", "high")):
            values = [None if each is None else each[at] for each in ends]
            table = table.append_column(name, pa.array(values, pa.float64()))
        return table

    def _print(self) -> None:
        from lrisk_cli.reports.terminal import print_evaluation

        print_evaluation(self.result)

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.plots import row_plots

        rows = self.result.rows
        return [] if rows is None else row_plots(self.result.model, [rows])

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.facts import confusion_grid, note_facts, rows_fact
        from lrisk_cli.reports.figure_facts import figures_grid
        from lrisk_cli.reports.model_facts import model_facts

        found = self.result
        model = found.model
        grids = [figures_grid(model, {"value": found.figures}, intervals=found.intervals)]
        if found.confusion is not None:
            grids.append(confusion_grid(found.confusion))
        facts = [*model_facts(model), rows_fact(found.counts), *note_facts(found.notes)]
        return f"Evaluation of {model.target.name}", facts, grids


@dataclass(frozen=True, repr=False)
class PredictionResult(Result):
    """Predictions of rows. model: that made them; table: those of `lrisk predict -o`."""

    result: Predictions
    model: Model | ClusterModel
    table: pa.Table = field(repr=False)

    @property
    def values(self) -> Any:
        """The predictions as an array. (rows,)."""
        column = self.table.column(self.model_column).combine_chunks()
        if pa.types.is_dictionary(column.type):
            return np.asarray(column.cast(pa.string()).to_pylist(), dtype=object)
        return column.to_numpy(zero_copy_only=False)

    @property
    def model_column(self) -> str:
        """The column of the predictions: `prediction`, or `cluster`."""
        return "cluster" if isinstance(self.model, ClusterModel) else "prediction"

    def document(self) -> dict[str, Any]:
        from lrisk_cli.reports.documents import prediction_document

        return prediction_document(self.result)

    def to_arrow(self) -> pa.Table:
        """A row for each row that could be scored."""
        return self.table

    def _print(self) -> None:
        from lrisk_cli.reports.facts import describe_rows

        print(f"{type(self).__name__}: {describe_rows(self.result.counts)}")
        print(self.table.slice(0, 10).to_pandas().to_string(index=False))

    def _plots(self) -> "Sequence[Plot]":
        from lrisk_cli.reports.prediction_plot import prediction_plot

        return [prediction_plot(self.model_column, self.values)]

    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        from lrisk_cli.reports.facts import Grid, note_facts, rows_fact

        first = self.table.slice(0, 10)
        rows = [[_cell(value) for value in row.values()] for row in first.to_pylist()]
        facts = [rows_fact(self.result.counts), *note_facts(self.result.notes)]
        title = f"{self.table.num_rows:,} predictions"
        return title, facts, [Grid(self.table.column_names, rows)]


@dataclass(frozen=True, slots=True)
class Certificate:
    """What was proved about a fit. The bounds are None for falling risks.

    objective: at the fit; lower_bound: of every other model; gap: relative, absolute_gap: their
    difference. stationarity: of falling risks, the length of the gradient at the fit.
    """

    status: str
    objective: float
    lower_bound: float | None
    gap: float | None
    absolute_gap: float | None
    stationarity: float | None

    @classmethod
    def of(cls, model: Model) -> "Certificate":
        """That of a model."""
        fit = model.fit
        return cls(
            fit.status, fit.objective, fit.lower_bound, fit.gap, fit.absolute_gap, fit.stationarity
        )


def coefficient_table(model: Model) -> pa.Table:
    """One row for each column and output, the intercept last; in units of the table."""
    from lrisk_cli.models.model import original_units

    units = original_units(model)
    if units is None:
        raise ValueError("a kernel model has no coefficients of columns")
    names = [*units.columns, "(intercept)"]
    values = np.vstack([units.coefficients, units.intercepts[None, :]])
    lines = [
        (output, name, float(values[j, k]))
        for k, output in enumerate(units.outputs)
        for j, name in enumerate(names)
    ]
    return from_lines(("output", "column", "coefficient"), lines)


def _figures_by_fit(each: Any) -> list[tuple[str, Mapping[str, Mapping[str, float | None]]]]:
    of_fit = [("fitted", each.figures)]
    return of_fit if each.reference is None else [*of_fit, ("ordinary", each.reference.figures)]


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
