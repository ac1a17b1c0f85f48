"""`lrisk detect-outliers`: rank the rows of a table by how little they fit the others, and why."""

from lrisk_cli.commands import (
    cluster_options,
    detect_options,
    fit_options,
    gate_options,
    options,
    quantile_options,
)
from lrisk_cli.commands.verdicts import conclude, only_file, unnamed
from lrisk_cli.names import Dates, KernelName, Missing, Scaling, Standardize, Task, Unseen
from lrisk_cli.tables.inputs import make_inputs

MAX_CATEGORIES = 100


def detect_outliers(
    data: options.DataPaths,
    target: detect_options.Target = None,
    contamination: detect_options.Contamination = "auto",
    model: detect_options.Model = None,
    clusters: detect_options.Clusters = None,
    features: fit_options.Features = None,
    exclude: fit_options.Exclude = None,
    id_column: options.IdColumn = None,
    dtype: fit_options.Dtypes = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: quantile_options.MissingPolicy = None,
    unseen: quantile_options.UnseenPolicy = None,
    max_categories: fit_options.MaxCategories = MAX_CATEGORIES,
    dates: fit_options.DatesChoice = Dates.NUMBER,
    task: fit_options.TaskChoice = Task.AUTO,
    l2: fit_options.L2 = None,
    no_intercept: fit_options.NoIntercept = False,
    standardize: fit_options.StandardizeChoice = Standardize.BOTH,
    kernel: fit_options.KernelChoice = KernelName.LINEAR,
    gamma: fit_options.Gamma = None,
    degree: fit_options.Degree = None,
    coef0: fit_options.Coef0 = None,
    rank: fit_options.Rank = None,
    feature_map: fit_options.FeatureMapChoice = None,
    seed: fit_options.Seed = 0,
    threads: options.Threads = 1,  # noqa: ARG001  (by its callback)
    top: detect_options.Top = 10,
    fail_on: detect_options.Gates = None,
    warn_on: gate_options.WarnOn = None,
    baseline_metrics: gate_options.StoredMetrics = None,
    max_worsening: gate_options.MaxWorsening = None,
    output: detect_options.Output = None,
    save_model: detect_options.SaveModel = None,
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
    """Rank rows by how little they fit the others, and say why.

    Fits a model that a minority of wrong rows cannot bend, and ranks all rows by their loss under
    it; the reason names the columns that the loss comes from, in their units.
    """
    from lrisk_cli.api.detect_outliers import Job, run
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.models.fitting import FitOptions, check_fit
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.github import Shown
    from lrisk_cli.reports.outliers import (
        describe_border,
        outlier_sentences,
        outliers_document,
        print_outliers,
    )
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.risk.spectrum import Spectrum
    from lrisk_cli.solvers.select import SolverOptions

    of_targets = {
        "--task": task is not Task.AUTO,
        "--l2": l2 is not None,
        "--no-intercept": no_intercept,
        "--kernel": kernel is not KernelName.LINEAR,
        "--gamma": gamma is not None,
        "--degree": degree is not None,
        "--coef0": coef0 is not None,
        "--rank": rank is not None,
        "--feature-map": feature_map is not None,
    }
    of_fits = {
        "--features": features is not None,
        "--exclude": exclude is not None,
        "--dtype": bool(dtype),
        "--max-categories": max_categories != MAX_CATEGORIES,
        "--dates": dates is not Dates.NUMBER,
        "--standardize": standardize is not Standardize.BOTH,
        "--seed": seed != 0,
        "--save-model": save_model is not None,
        "--clusters": clusters is not None,
    }
    detect_options.refuse_idle(model, target, of_fits, of_targets)
    fit = FitOptions(
        Spectrum("mean"),
        l2=l2,
        solver=SolverOptions(seed=seed),
        features=fit_options.parse_features(kernel, gamma, degree, coef0, rank, feature_map),
    )
    check_fit(fit)
    inputs = make_inputs(data, delimiter, decimal, na_values, memory_limit)
    dtypes = fit_options.parse_dtypes(dtype or ())
    columns = DesignOptions(
        target=target,
        features=fit_options.parse_names(features),
        exclude=fit_options.parse_names(exclude),
        id_column=id_column,
        task=task,
        missing=missing or Missing.ERROR,
        unseen=unseen or Unseen.ERROR,
        max_categories=max_categories,
        dates=dates,
        standardize=standardize,
        intercept=target is not None and not no_intercept,
        scaling=Scaling.MAD if standardize is not Standardize.NONE else Scaling.DEVIATION,
    )
    ks = () if clusters is None else cluster_options.parse_clusters(clusters)
    checks = gate_options.GateFlags(
        fail_on or (), warn_on or (), baseline_metrics, max_worsening, junit, github
    ).parse("detect-outliers", _spell)
    fraction = detect_options.parse_contamination(contamination)
    job = Job(
        data=inputs,
        dtypes=dtypes,
        columns=columns,
        fit=fit,
        ks=ks,
        contamination=fraction,
        model=model,
        missing=missing,
        unseen=unseen,
        top=top,
        checks=checks,
        output=output,
        save_model=save_model,
        html=html,
    )
    with ProgressDisplay("detect-outliers", quiet=quiet, bar=not no_progress) as report:
        found = run(job, report, force=force)
        if html is not None:
            from lrisk_cli.reports.html import write_page
            from lrisk_cli.reports.outlier_page import outlier_page

            write_page(html, outlier_page(found, options.command_line()))
    if json:
        print_document(outliers_document(found))
    else:
        print_outliers(found)
    shown = Shown(
        "detect-outliers", only_file(data), outlier_sentences(found), describe_border(found)
    )
    skipped = checks.not_compared(found.figures)
    return conclude(checks, unnamed(found.verdicts), skipped, shown)


def _spell(metric: str) -> str:
    from lrisk_cli.evaluation.registry import OF_CLUSTERS, spell_metric

    return spell_metric(metric, OF_CLUSTERS)
