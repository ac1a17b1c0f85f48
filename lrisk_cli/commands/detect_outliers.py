"""`lrisk detect-outliers`: rank the rows of a table by how little they fit the others, and why."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from lrisk_cli.clusters.options import parse_clusters
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import vary, without
from lrisk_cli.commands.verdicts import conclude, only_file, unnamed
from lrisk_cli.design.options import MAX_CATEGORIES, Columns
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.registry import OF_CLUSTERS, list_metrics
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.losses.registry import AUTO
from lrisk_cli.models.options import Penalty, RowLoss, suit_columns
from lrisk_cli.names import Dates, KernelName, Scaling, Standardize, Task
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.outliers.options import Detection, DetectionOutput
from lrisk_cli.reports.options import Document, Messages, Page
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.models.fitting import FitOptions
    from lrisk_cli.outliers.detection import Outliers

TARGET = (
    "Column to predict: rows are ranked by their loss under a robust fit. Without it, by their "
    "distance to the nearest centre of a robust clustering."
)
FAIL_ON = (
    "Exit with 1 if this holds, for example 'outlier_fraction>0.05'; repeatable. "
    f"{list_metrics(OF_CLUSTERS)}, any risk of the losses."
)


def detect_outliers(
    data: Data,
    columns: Annotated[
        Columns,
        without("scaling"),
        vary("target", help=TARGET),
        vary("missing", shown="as in the fit, or error"),
        vary("unseen", shown="as in the fit, or error"),
    ],
    detection: Detection,
    loss: RowLoss,
    penalty: Penalty,
    kernel: KernelOptions,
    gates: Annotated[Gates, vary("fail_on", help=FAIL_ON)],
    output: DetectionOutput,
    page: Page,
    document: Document,
    files: Files,
    messages: Messages,
    seed: Seed,
    threads: Threads,  # noqa: ARG001  (holds while the command runs)
) -> int:
    """Rank rows by how little they fit the others, and say why.

    Fits a model that a minority of wrong rows cannot bend, and ranks all rows by their loss under
    it; the reason names the columns that the loss comes from, in their units.

    Examples:
        lrisk detect-outliers sample_data/contaminated.csv --target heating_kwh_day \\
            --id id --exclude planted -o outliers.csv
        lrisk detect-outliers sample_data/clouds.csv --features x,y --top 5
    """
    from lrisk_cli.api.detect_outliers import Job, run
    from lrisk_cli.evaluation.checks import make_checks
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.outliers import (
        describe_threshold,
        outlier_sentences,
        outliers_document,
        print_outliers,
    )
    from lrisk_cli.reports.progress import ProgressDisplay

    _refuse_idle(columns, detection, loss, penalty, kernel, output, seed.seed)
    fit = _make_fit(loss, penalty, kernel, seed.seed)
    target = columns.target
    how = replace(
        suit_columns(columns.parse(), fit.loss),
        intercept=target is not None and columns.intercept,
        scaling=(Scaling.DEVIATION if columns.standardize is Standardize.NONE else Scaling.MAD),
    )
    checks = make_checks(gates, "detect-outliers", _spell)
    job = Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        columns=how,
        fit=fit,
        ks=() if detection.clusters is None else parse_clusters(detection.clusters),
        contamination=detection.fraction,
        model=detection.model,
        missing=columns.missing,
        unseen=columns.unseen,
        top=output.top,
        checks=checks,
        output=output.output,
        save_model=output.save_model,
        html=page.html,
    )
    with ProgressDisplay("detect-outliers", quiet=messages.quiet, bar=messages.progress) as report:
        found = run(job, report, force=files.force)
        _write_page(page.html, found)
    if document.json:
        print_document(outliers_document(found))
    else:
        print_outliers(found)
    rows, count = outlier_sentences(found), describe_threshold(found)
    shown = Shown("detect-outliers", only_file(data.data), rows, count)
    skipped = checks.not_compared(found.figures)
    return conclude(checks, unnamed(found.verdicts), skipped, shown)


def _write_page(path: str | None, found: "Outliers") -> None:
    """The page, where one was asked for."""
    if path is not None:
        from lrisk_cli.reports.html import write_page
        from lrisk_cli.reports.outlier_page import outlier_page

        write_page(path, outlier_page(found, command_line()))


def _make_fit(loss: RowLoss, penalty: Penalty, kernel: KernelOptions, seed: int) -> "FitOptions":
    """The fit of a target; wrong options are refused."""
    from lrisk_cli.losses.registry import parse_loss
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.risk.spectrum import Spectrum
    from lrisk_cli.solvers.select import SolverOptions

    solver = SolverOptions(seed=seed)
    fit = FitOptions(
        Spectrum("mean"), parse_loss(loss.loss), penalty.l2, solver=solver, features=kernel.parse()
    )
    check_fit(fit)
    return fit


def _refuse_idle(
    columns: Columns,
    detection: Detection,
    loss: RowLoss,
    penalty: Penalty,
    kernel: KernelOptions,
    output: DetectionOutput,
    seed: int,
) -> None:
    """UsageError that names the first option given that would not be used."""
    of_targets = {
        "task": columns.task not in (None, Task.AUTO),
        "loss": loss.loss != AUTO,
        "exposure": columns.exposure is not None,
        "l2": penalty.l2 is not None,
        "no_intercept": not columns.intercept,
        "kernel": kernel.kernel is not KernelName.LINEAR,
        "gamma": kernel.gamma is not None,
        "degree": kernel.degree is not None,
        "coef0": kernel.coef0 is not None,
        "rank": kernel.rank is not None,
        "feature_map": kernel.feature_map is not None,
    }
    of_fits = {
        "features": columns.features is not None,
        "exclude": columns.exclude is not None,
        "dtype": bool(columns.dtype),
        "max_categories": columns.max_categories != MAX_CATEGORIES,
        "dates": columns.dates not in (None, Dates.NUMBER),
        "standardize": columns.standardize is not Standardize.BOTH,
        "seed": seed != 0,
        "save_model": output.save_model is not None,
        "clusters": detection.clusters is not None,
    }
    if detection.model is not None:
        idle = {**of_fits, **of_targets}
        why = f"is for a fit, and {opt('model')} names one that is done"
    elif columns.target is None:
        idle, why = of_targets, f"is for a fit of a {opt('target')}, and none is named"
    else:
        idle = {"clusters": of_fits["clusters"]}
        why = f"is for tables without a {opt('target')}"
    for option, is_given in idle.items():
        if is_given:
            raise InvalidOption(option, f"{why}; leave it out")


def _spell(metric: str) -> str:
    from lrisk_cli.evaluation.registry import OF_CLUSTERS, spell_metric

    return spell_metric(metric, OF_CLUSTERS)
