"""`lrisk cluster`: find groups of rows, whatever a few outliers do."""

from typing import TYPE_CHECKING

from lrisk_cli.commands import cluster_options, fit_options, options
from lrisk_cli.commands.cluster_pages import parse_page
from lrisk_cli.errors import ExitCode
from lrisk_cli.names import (
    DEFAULT_CLUSTER_RISK,
    ClusterSolver,
    Dates,
    Missing,
    Standardize,
    Unseen,
)
from lrisk_cli.tables.inputs import make_inputs

if TYPE_CHECKING:
    from lrisk_cli.api.cluster import Clustered, Job


def cluster(
    data: options.DataPaths,
    clusters: cluster_options.Clusters,
    features: fit_options.Features = None,
    exclude: fit_options.Exclude = None,
    id_column: options.IdColumn = None,
    dtype: fit_options.Dtypes = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = ".",
    na_values: options.NaValues = None,
    memory_limit: options.MemoryLimit = None,
    missing: fit_options.MissingPolicy = Missing.ERROR,
    unseen: fit_options.UnseenPolicy = Unseen.ERROR,
    max_categories: fit_options.MaxCategories = 100,
    dates: fit_options.DatesChoice = Dates.NUMBER,
    risk: cluster_options.Risk = DEFAULT_CLUSTER_RISK,
    standardize: cluster_options.StandardizeChoice = Standardize.FEATURES,
    solver: cluster_options.Solver = ClusterSolver.LLOYD,
    starts: cluster_options.Starts = 10,
    tol: cluster_options.Tol = None,
    max_iterations: cluster_options.MaxIterations = None,
    batch_size: cluster_options.BatchSize = None,
    step: cluster_options.Step = None,
    epochs: cluster_options.Epochs = None,
    seed: fit_options.Seed = 0,
    label: cluster_options.Label = None,
    inlier_labels: cluster_options.InlierLabels = None,
    output: cluster_options.Output = None,
    assignments: cluster_options.AssignmentsFile = None,
    html: options.HtmlFile = None,
    image_shape: cluster_options.ImageShape = None,
    json: options.Json = False,
    force: options.Force = False,
    spreadsheet_safe: options.SpreadsheetSafe = False,  # noqa: ARG001  (by its callback)
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
    no_progress: options.NoProgress = False,
) -> int:
    """Group the rows of a table, whatever its outliers.

    Minimises a falling spectral risk of the squared distances to the nearest of K centres: rows
    far from every centre get little or no weight. With --risk mean this is k-means.
    """
    from lrisk_cli.api.cluster import Job, run
    from lrisk_cli.design.design import DesignOptions
    from lrisk_cli.reports.clusters import cluster_document, print_clusters
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay

    job = Job(
        data=make_inputs(data, delimiter, decimal, na_values, memory_limit),
        dtypes=fit_options.parse_dtypes(dtype or ()),
        ks=cluster_options.parse_clusters(clusters),
        columns=DesignOptions(
            target=None,
            features=fit_options.parse_names(features),
            exclude=fit_options.parse_names(exclude),
            id_column=id_column,
            missing=missing,
            unseen=unseen,
            max_categories=max_categories,
            dates=dates,
            standardize=standardize,
            intercept=False,
            aside=None if label is None else ("--label", label),
        ),
        clustering=cluster_options.solver_options(
            risk,
            solver,
            starts,
            seed,
            {"tol": tol, "max_iterations": max_iterations},
            {"batch_size": batch_size, "step": step, "epochs": epochs},
        ),
        label=label,
        inliers=cluster_options.parse_inliers(inlier_labels, label),
        output=output,
        assignments=assignments,
        page=parse_page(html, image_shape),
    )
    with ProgressDisplay("cluster", quiet=quiet, bar=not no_progress) as report:
        found = run(job, report, force=force)
        _write_page(job, found)
    if json:
        print_document(cluster_document(job.output, found))
    else:
        print_clusters(job.output, found)
    return ExitCode.DONE


def _write_page(job: "Job", found: "Clustered") -> None:
    """The page, where one was asked for."""
    if job.page is not None and found.seen is not None:
        from lrisk_cli.reports.cluster_page import cluster_page
        from lrisk_cli.reports.html import write_page

        made = cluster_page(found, found.seen, job.page.shape, options.command_line())
        write_page(job.page.path, made)
