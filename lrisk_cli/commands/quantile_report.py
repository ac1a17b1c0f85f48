"""`lrisk quantile-report`: loss quantiles of models beside those of a baseline."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lrisk_cli.commands import fit_options, gate_options, options, quantile_options
from lrisk_cli.commands.comparing import Outcome
from lrisk_cli.commands.quantile_subjects import Subject, files_subject, fits_subject
from lrisk_cli.evaluation.registry import OF_PAIRS, Needs, metrics_of, spell_metric
from lrisk_cli.names import REPORTED_QUANTILES
from lrisk_cli.parameters import spell
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.evaluation.gates import Verdict
    from lrisk_cli.reports.quantile_results import QuantileResults
    from lrisk_cli.types import Array


def quantile_report(
    data: options.DataPaths,
    model: quantile_options.Models = None,
    baseline: quantile_options.Baseline = None,
    target: quantile_options.Target = None,
    risk: quantile_options.Risks = None,
    holdout: quantile_options.Holdout = None,
    repeats: quantile_options.Repeats = None,
    seed: quantile_options.Seed = None,
    threads: options.Threads = 1,  # noqa: ARG001  (by its callback)
    features: fit_options.Features = None,
    exclude: fit_options.Exclude = None,
    dtype: fit_options.Dtypes = None,
    dates: quantile_options.DatesChoice = None,
    task: quantile_options.TaskChoice = None,
    l2: fit_options.L2 = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: quantile_options.MissingPolicy = None,
    unseen: quantile_options.UnseenPolicy = None,
    quantiles: quantile_options.Levels = REPORTED_QUANTILES,
    by: quantile_options.By = None,
    fail_on: quantile_options.Gates = None,
    warn_on: gate_options.WarnOn = None,
    baseline_metrics: gate_options.StoredMetrics = None,
    max_worsening: gate_options.MaxWorsening = None,
    output: quantile_options.Output = None,
    html: options.HtmlFile = None,
    junit: gate_options.Junit = None,
    github: gate_options.Github = False,
    json: options.Json = False,
    force: options.Force = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,  # noqa: ARG001  (by its callback)
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> int:
    """Compare loss quantiles: what the tail gains, what it costs.

    Name fitted models with --model and --baseline; or name a --target, and the mean and the risks
    are fitted on the spot. Differences are baseline minus model: positive where the model is
    better.
    """
    from lrisk_cli.evaluation.quantiles import parse_levels
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import check_apart

    inputs = make_inputs(data, delimiter, decimal, na_values, memory_limit)
    checks = gate_options.GateFlags(
        fail_on or (), warn_on or (), baseline_metrics, max_worsening, junit, github
    ).parse("quantile-report", _metric_name)
    asked = _Asked(parse_levels(quantiles), checks, by)
    of_fits = {
        "--target": target, "--risk": risk, "--holdout": holdout, "--repeats": repeats,
        "--seed": seed, "--features": features, "--exclude": exclude, "--dtype": dtype,
        "--dates": dates,
        "--task": task, "--l2": l2,
    }  # fmt: skip
    subject: Subject
    if model or baseline:
        subject = files_subject(model or (), baseline, of_fits, missing, unseen)
    else:
        subject = fits_subject(of_fits, missing, unseen)
    _check_outputs(output, html, junit, force=force)
    with ProgressDisplay("quantile-report", quiet=quiet, bar=not no_progress) as report:
        table = subject.open(inputs)
        check_apart([output, html, junit], [*subject.paths, *checks.inputs, *table.paths])
        if by is not None:
            table.column(by)
        outcome = subject.compare(table, by, asked.levels, report)
        results = _results(subject, outcome, asked)
        _write(results, output, html)
    _show(results, as_json=json)
    shown = Shown("quantile-report", gate_options.only_file(table.paths), (), "")
    return checks.answer(results.verdicts, _not_compared(outcome, asked), shown)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The levels to report, the gates to judge, and the column of the groups."""

    quantiles: tuple[float, ...]
    checks: gate_options.Checks
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

        write_page(html, quantile_page(results, options.command_line()))
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
