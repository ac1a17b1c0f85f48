"""`lrisk quantile-report`: loss quantiles of models beside those of a baseline."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.commands.checks import Checks, make_checks, only_file
from lrisk_cli.commands.comparing import Outcome
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import only, vary
from lrisk_cli.commands.quantile_subjects import Subject, files_subject, fits_subject
from lrisk_cli.design.options import Columns
from lrisk_cli.evaluation.options import ComparedModels, Gates, QuantileOutput, RandomSplits
from lrisk_cli.evaluation.registry import OF_PAIRS, Needs, list_metrics, metrics_of, spell_metric
from lrisk_cli.models.options import Penalty
from lrisk_cli.native.options import Threads
from lrisk_cli.parameters import spell
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.evaluation.gates import Verdict
    from lrisk_cli.reports.quantile_results import QuantileResults
    from lrisk_cli.types import Array


TARGET = (
    "Without models: column to predict. The mean, which is the baseline, and the named risks are "
    "fitted on random parts of the table and compared on the rest."
)
FAIL_ON = (
    "Exit with 1 if this holds for any model, for example 'difference:0.95<0'; repeatable. "
    f"{list_metrics(OF_PAIRS)}."
)


def quantile_report(
    data: Data,
    columns: Annotated[
        Columns,
        only("target", "features", "exclude", "dtype", "missing", "unseen", "dates", "task"),
        vary("target", help=TARGET),
        vary("missing", shown="as in the fit, or error"),
        vary("unseen", shown="as in the fit, or error"),
    ],
    models: ComparedModels,
    penalty: Penalty,
    splits: RandomSplits,
    gates: Annotated[Gates, vary("fail_on", help=FAIL_ON)],
    output: QuantileOutput,
    page: Page,
    document: Document,
    files: Files,
    messages: Messages,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
) -> int:
    """Compare loss quantiles: what the tail gains, what it costs.

    Name fitted models with --model and --baseline; or name a --target, and the mean and the risks
    are fitted on the spot. Differences are baseline minus model: positive where the model is
    better.

    Examples:
        lrisk quantile-report sample_data/simulated.csv --target y --repeats 2
        lrisk quantile-report sample_data/wine_quality_red.csv --model model.json \\
            --baseline mean.json --quantiles 0.5,0.95
    """
    from lrisk_cli.evaluation.quantiles import parse_levels
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_apart

    inputs, by = data.parse(), output.by
    checks = make_checks(gates, "quantile-report", _metric_name)
    asked = _Asked(parse_levels(output.quantiles), checks, by)
    subject: Subject
    if models.model or models.baseline:
        subject = files_subject(models, columns, penalty, splits)
    else:
        subject = fits_subject(models, columns, penalty, splits)
    written = output.output, page.html, gates.junit
    _check_outputs(*written, force=files.force)
    with ProgressDisplay("quantile-report", quiet=messages.quiet, bar=messages.progress) as report:
        table = subject.open(inputs)
        check_apart(written, [*subject.paths, *checks.inputs, *table.paths])
        if by is not None:
            table.column(by)
        outcome = subject.compare(table, by, asked.levels, report)
        results = _results(subject, outcome, asked)
        _write(results, output.output, page.html)
    _show(results, as_json=document.json)
    shown = Shown("quantile-report", only_file(table.paths), (), "")
    return checks.answer(results.verdicts, _not_compared(outcome, asked), shown)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The levels to report, the gates to judge, and the column of the groups."""

    quantiles: tuple[float, ...]
    checks: Checks
    by: str | None

    @property
    def levels(self) -> "Array":
        """All levels at which quantiles are needed, ascending: asked for, gated, and drawn."""
        import numpy as np

        from lrisk_cli.evaluation.quantiles import CURVE

        gated = [_level_of(gate.metric) for gate in self.checks.gates]
        wanted = [*self.quantiles, *(level for level in gated if level is not None)]
        return np.unique([*CURVE.tolist(), *wanted])


def _metric_name(text: str) -> str:
    """The spelling under which a metric is reported; a metric without a figure is refused."""
    return spell_metric(text, OF_PAIRS)


def _level_of(metric: str) -> float | None:
    """The level that the name of a metric ends with, if it has one."""
    _, separator, level = metric.partition(":")
    return float(level) if separator else None


def _verdicts(outcome: Outcome, asked: _Asked) -> "tuple[tuple[str | None, Verdict], ...]":
    """Every gate about models on each of them, then those about the rows, once."""
    from lrisk_cli.evaluation.gates import judge

    gates, stored = asked.checks.gates, asked.checks.stored
    about_rows = metrics_of([Needs.ROWS])
    of_models = [gate for gate in gates if gate.metric not in about_rows]
    found: list[tuple[str | None, Verdict]] = []
    for name, figures in _figures_by_model(outcome, asked).items():
        kept = () if stored is None else stored.gates(figures, name)
        gated = figures | {gate.metric: _figure(outcome, name, gate.metric) for gate in of_models}
        found += [(name, verdict) for verdict in judge((*of_models, *kept), gated)]
    of_rows = [gate for gate in gates if gate.metric in about_rows]
    return (*found, *((None, verdict) for verdict in judge(of_rows, {"n_rows": outcome.n_tested})))


def _figures_by_model(outcome: Outcome, asked: _Asked) -> "dict[str, dict[str, float | None]]":
    """What the document tells of each model under the names that gates have for it."""
    names = [
        spell(name, level)
        for name, metric in metrics_of([Needs.PAIRS]).items()
        for level in ([None] if metric.parameter is None else asked.quantiles)
    ]
    return {
        model: {name: _figure(outcome, model, name) for name in names}
        for model in [*outcome.models][1:]
    }


def _not_compared(outcome: Outcome, asked: _Asked) -> list[str]:
    """A sentence for each figure that is not in both runs."""
    stored = asked.checks.stored
    if stored is None:
        return []
    return [
        sentence
        for model, figures in _figures_by_model(outcome, asked).items()
        for sentence in stored.not_compared(figures, model)
    ]


def _figure(outcome: Outcome, model: str, metric: str) -> float | None:
    """The figure of a model that a gate asks for; None where it does not exist."""
    from lrisk_cli.evaluation.quantiles import PairAt

    comparison = outcome.comparison
    compared = comparison.models[[*outcome.models].index(model) - 1]
    formula = metrics_of([Needs.PAIRS])[metric.partition(":")[0]].formula
    return formula(PairAt(comparison, compared, _level_of(metric)))


def _results(subject: Subject, outcome: Outcome, asked: _Asked) -> "QuantileResults":
    from lrisk_cli.reports.quantile_results import NamedModel, QuantileResults
    from lrisk_cli.reports.terminal import describe_model

    models = tuple(
        NamedModel(name, describe_model(model), model.risk, outcome.gaps[name])
        for name, model in outcome.models.items()
    )
    return QuantileResults(
        models,
        asked.quantiles,
        outcome.comparison,
        outcome.groups,
        asked.by,
        outcome.counts,
        subject.splits(outcome),
        _verdicts(outcome, asked),
        outcome.notes,
    )


def _check_outputs(output: str | None, html: str | None, junit: str | None, *, force: bool) -> None:
    """Refuse outputs that cannot be written before any work starts."""
    from lrisk_cli.tables.table import check_output

    if output is not None:
        check_output(output, force=force, table=not _is_json(output))
    for path in (html, junit):
        if path is not None:
            check_output(path, force=force)


def _is_json(path: str) -> bool:
    return path.lower().endswith(".json")


def _write(results: "QuantileResults", output: str | None, html: str | None) -> None:
    from lrisk_cli.reports.documents import encode_document
    from lrisk_cli.reports.quantile_results import quantile_columns, quantile_document
    from lrisk_cli.tables.table import write_bytes, write_table

    if html is not None:
        from lrisk_cli.reports.html import write_page
        from lrisk_cli.reports.quantile_page import quantile_page

        write_page(html, quantile_page(results, command_line()))
    if output is None:
        return
    if _is_json(output):
        write_bytes(output, encode_document(quantile_document(results)))
    else:
        write_table(output, quantile_columns(results))


def _show(results: "QuantileResults", *, as_json: bool) -> None:
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.quantile_results import quantile_document
    from lrisk_cli.reports.quantile_text import print_quantiles

    if as_json:
        print_document(quantile_document(results))
    else:
        print_quantiles(results)
