"""`lrisk quantile-report`: loss quantiles of models beside those of a baseline."""

from typing import TYPE_CHECKING

from lrisk_cli.commands import fit_options, gate_options, options, quantile_options
from lrisk_cli.commands.quantile_subjects import files_subject, fits_subject
from lrisk_cli.commands.verdicts import conclude, only_file
from lrisk_cli.names import REPORTED_QUANTILES
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.api.quantile_report import QuantileResults, Subject


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
    from lrisk_cli.api.quantile_report import Job, run
    from lrisk_cli.evaluation.quantile_gates import quantile_metric
    from lrisk_cli.evaluation.quantiles import parse_levels
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.progress import ProgressDisplay

    inputs = make_inputs(data, delimiter, decimal, na_values, memory_limit)
    checks = gate_options.GateFlags(
        fail_on or (), warn_on or (), baseline_metrics, max_worsening, junit, github
    ).parse("quantile-report", quantile_metric)
    levels = parse_levels(quantiles)
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
    job = Job(inputs, subject, levels, by, checks, output, html)
    with ProgressDisplay("quantile-report", quiet=quiet, bar=not no_progress) as report:
        results = run(job, report, force=force)
        _write(results, output, html)
    _show(results, as_json=json)
    shown = Shown("quantile-report", only_file(results.paths), (), "")
    return conclude(checks, results.verdicts, results.skipped, shown)


def _write(results: "QuantileResults", output: str | None, html: str | None) -> None:
    """The figures, then the page."""
    from lrisk_cli.api.quantile_report import is_json, quantile_columns
    from lrisk_cli.reports.documents import encode_document
    from lrisk_cli.reports.quantile_document import quantile_document
    from lrisk_cli.tables.table import write_bytes, write_table

    if output is not None and is_json(output):
        write_bytes(output, encode_document(quantile_document(results)))
    elif output is not None:
        write_table(output, quantile_columns(results))
    if html is not None:
        from lrisk_cli.reports.html import write_page
        from lrisk_cli.reports.quantile_page import quantile_page

        write_page(html, quantile_page(results, options.command_line()))


def _show(results: "QuantileResults", *, as_json: bool) -> None:
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.quantile_document import quantile_document
    from lrisk_cli.reports.quantile_text import print_quantiles

    if as_json:
        print_document(quantile_document(results))
    else:
        print_quantiles(results)
