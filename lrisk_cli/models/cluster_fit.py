"""From a design to clusters: check the rows, search, keep the best."""

from lrisk_cli.clusters.clustering import (
    Assignment,
    Clustering,
    ClusterOptions,
    as_matrix,
    check_rows,
    find_clusters,
    pick,
)
from lrisk_cli.design.design import Design, RawDesign
from lrisk_cli.errors import DataError, opt
from lrisk_cli.models.cluster_model import ClusterModel, make_model
from lrisk_cli.progress import Report


def require_numbers(raw: RawDesign) -> None:
    """DataError where there is nothing that distances could be measured by."""
    if not any(column.numeric for column in raw.features):
        raise DataError(
            f"{raw.label}: no feature holds numbers, and distances need one at least; pass "
            f"{opt('dtype', 'COLUMN=number')}, or choose other {opt('features')}"
        )


def fit_clusters(
    label: str, design: Design, ks: tuple[int, ...], options: ClusterOptions, report: Report
) -> tuple[ClusterModel, Assignment, Clustering]:
    """The best clusters of the rows, the rows among them, and the run that found them.

    ks: the numbers of clusters to try, ascending. label: names the table in messages.
    """
    X = as_matrix(design.rows)
    check_rows(label, X, ks[-1])
    found = find_clusters(X, ks, options, report)
    best = pick(found)
    model, placed = make_model(design, best, found, options)
    return model, placed, best
