"""From a design to clusters: check the rows, search, keep the best."""

from dataclasses import replace

from lrisk_cli.clusters.anomalies import Anomalies, find_anomalies
from lrisk_cli.clusters.clustering import (
    Assignment,
    Clustering,
    ClusterOptions,
    as_matrix,
    check_rows,
    count_distinct,
    find_clusters,
    pick,
)
from lrisk_cli.clusters.trimming import estimate_trimming, numbers_of_clusters
from lrisk_cli.design.design import Design, RawDesign
from lrisk_cli.errors import DataError, opt
from lrisk_cli.models.cluster_model import ClusterModel, make_model, make_shape_model
from lrisk_cli.progress import Report
from lrisk_cli.risk.units import count_units
from lrisk_cli.types import Array


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

    ks: the numbers of clusters to try, ascending; none for those that are usual. label: names the
    table in messages.
    """
    X, masses = as_matrix(design.rows), design.masses
    check_rows(label, X, ks[-1] if ks else 1)
    if not ks:
        usual = numbers_of_clusters(count_units(masses, len(X)))
        # The index of a risk that is given compares two clusters or more.
        ks = _fewer(X, usual if options.estimated else usual[1:] or usual)
    trimming = None
    if options.estimated:
        trimming = estimate_trimming(X, ks, options.seed, masses)
        options = replace(options, risk=trimming.risk, estimated=False)
    found = find_clusters(X, ks, options, report, masses)
    if trimming is not None:
        found = tuple(trimming.judge(each) for each in found)
    best = pick(found)
    model, placed = make_model(design, best, found, options, trimming)
    return model, placed, best


def fit_shapes(
    label: str, design: Design, ks: tuple[int, ...], usual: int, seed: int
) -> tuple[ClusterModel, Anomalies]:
    """The clusters that most rows form, each with a scatter, and how far the rows are from them.

    ks: the numbers of clusters to try, ascending; none for up to the usual one.
    """
    X = as_matrix(design.rows)
    check_rows(label, X, ks[-1] if ks else 1)
    tried = ks or _fewer(X, tuple(range(1, usual + 1)))
    found = find_anomalies(design.rows, tried, seed=seed, patient=bool(ks))
    return make_shape_model(design, found, seed), found


def _fewer(matrix: Array, ks: tuple[int, ...]) -> tuple[int, ...]:
    """Those of the numbers that are at most that of the distinct rows, or the first."""
    n_distinct = count_distinct(matrix, ks[-1])
    return tuple(k for k in ks if k <= n_distinct) or ks[:1]
