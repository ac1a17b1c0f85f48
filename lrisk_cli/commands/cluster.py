"""`lrisk cluster`: outlier-robust k-means clustering."""

from typing import TYPE_CHECKING, Annotated

from lrisk_cli.clusters.options import ClusterOutput, Clusters, ClusterSearch
from lrisk_cli.commands.gate_results import NO_BASELINE, conclude_fit, unnamed
from lrisk_cli.commands.options import command_line
from lrisk_cli.commands.options.declared import vary, without
from lrisk_cli.design.options import Columns
from lrisk_cli.evaluation.options.evaluating import Labels
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.registry import OF_CLUSTERED, OF_LABELS, list_metrics
from lrisk_cli.names import Standardize
from lrisk_cli.native.options import Seed
from lrisk_cli.reports.options import ClusterPage, Document, Messages
from lrisk_cli.tables.options import Data, Files

if TYPE_CHECKING:
    from lrisk_cli.api.cluster import Clustered, Job

FAIL_ON = (
    "Exit with 1 if this holds, for example 'outlier_fraction>0.05'; repeatable. Any risk of the "
    f"squared distances, {list_metrics(OF_CLUSTERED)}, and with `label` "
    f"{list_metrics(OF_LABELS)}."
)


def cluster(
    data: Data,
    clusters: Clusters,
    columns: Annotated[
        Columns,
        without(
            "target", "target_scale", "exposure", "task", "scaling", "intercept", "class_weight"
        ),
        vary(
            "standardize",
            default=Standardize.FEATURES,
            help="Centre and scale the features, or none (both: features).",
        ),
    ],
    labels: Labels,
    gates: Annotated[Gates, NO_BASELINE, vary("fail_on", help=FAIL_ON)],
    output: ClusterOutput,
    page: ClusterPage,
    document: Document,
    files: Files,
    messages: Messages,
    seed: Seed,
    search: ClusterSearch,
) -> int:
    """Outlier-robust k-means clustering.

    Minimises a falling spectral risk of the squared distances to the nearest of K centres: rows
    far from every centre get little or no weight. With --risk mean this is k-means.

    Examples:
        lrisk cluster sample_data/clouds.csv -k 3 --features x,y -o clusters.json
        lrisk cluster sample_data/clouds.csv -k 2..5 --id id --label cloud
    """
    from lrisk_cli.api.cluster import make_job, run
    from lrisk_cli.reports.clusters import cluster_document, print_clusters
    from lrisk_cli.reports.documents import print_document
    from lrisk_cli.reports.progress import ProgressDisplay

    job = make_job(
        data, clusters, columns, labels, search, output, gates,
        seed=seed.seed, html=page.html, image_shape=page.image_shape,
    )  # fmt: skip
    with ProgressDisplay("cluster", quiet=messages.quiet, bar=messages.progress) as report:
        found = run(job, report, force=files.force)
        _write_page(job, found)
    if document.json:
        print_document(cluster_document(job.output, found))
    else:
        print_clusters(job.output, found)
    return conclude_fit(job.checks, unnamed(found.gate_results), data.data, found.warnings)


def _write_page(job: "Job", found: "Clustered") -> None:
    """The page, where one was asked for."""
    if job.page is not None and found.seen is not None:
        from lrisk_cli.reports.cluster_page import cluster_page
        from lrisk_cli.reports.html import write_page

        made = cluster_page(found, found.seen, job.page.shape, command_line())
        write_page(job.page.path, made)
