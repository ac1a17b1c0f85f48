"""`lrisk show`: a model file for people."""

from lrisk_cli.commands import options


def show(
    model: options.ModelPath,
    json: options.Json = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
) -> None:
    """Print a model for people.

    Its risk, what was proved about it, and its coefficients in the units of the file, largest
    effect first; or the centres of clusters.
    """
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.models.loading import load_model
    from lrisk_cli.reports.clusters import cluster_model_document, print_cluster_model
    from lrisk_cli.reports.documents import model_document, print_document
    from lrisk_cli.reports.terminal import print_model

    shown = load_model(model)
    if isinstance(shown, ClusterModel):
        if json:
            print_document(cluster_model_document(model, shown))
        else:
            print_cluster_model(model, shown)
    elif json:
        print_document(model_document(model, shown))
    else:
        print_model(model, shown)
