"""`lrisk show`: a readable summary of a model file."""

from typing import Annotated

from lrisk_cli.commands.options.declared import only
from lrisk_cli.models.options import ModelFile
from lrisk_cli.reports.options import Document, Messages


def show(
    model: ModelFile,
    document: Document,
    messages: Annotated[Messages, only("color", "verbose")],  # noqa: ARG001  (read by main)
) -> None:
    """Print a readable summary of a model.

    Its risk, what was proved about it, and its coefficients in the units of the file, largest
    effect first; or the centres of clusters.

    Examples:
        lrisk show model.json
        lrisk show model.json --json > model-summary.json
    """
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.models.loading import load_model
    from lrisk_cli.reports.clusters import cluster_model_document, print_cluster_model
    from lrisk_cli.reports.documents import model_document, print_document
    from lrisk_cli.reports.terminal import print_model

    path = model.model
    shown = load_model(path)
    if isinstance(shown, ClusterModel):
        if document.json:
            print_document(cluster_model_document(path, shown))
        else:
            print_cluster_model(path, shown)
    elif document.json:
        print_document(model_document(path, shown))
    else:
        print_model(path, shown)
