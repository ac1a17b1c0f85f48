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
    from lrisk_cli.models.model import load_model
    from lrisk_cli.models.model_file import model_kind
    from lrisk_cli.reports.documents import model_document, print_document
    from lrisk_cli.reports.terminal import print_model

    if model_kind(model) == "clusters":
        _show_clusters(model, as_json=json)
        return
    shown = load_model(model)
    if json:
        print_document(model_document(model, shown))
    else:
        print_model(model, shown)


def _show_clusters(path: str, *, as_json: bool) -> None:
    from lrisk_cli.models.cluster_model import load_clusters
    from lrisk_cli.reports.clusters import cluster_model_document, print_cluster_model
    from lrisk_cli.reports.documents import print_document

    shown = load_clusters(path)
    if as_json:
        print_document(cluster_model_document(path, shown))
    else:
        print_cluster_model(path, shown)
