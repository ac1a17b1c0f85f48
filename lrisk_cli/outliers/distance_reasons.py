"""Clusters and some rows -> for each row the columns that its distance comes from, in words.

The part of feature j is (x_j - centre_j)^2, or (x - centre)_j [S^-1 (x - centre)]_j with the
scatter S of the cluster. Parts sum to the squared distance, exactly.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.describe_row import RowWords, spans
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.outliers.reasons import (
    Reasons,
    Targets,
    first_columns,
    largest_parts,
    named_parts,
    put_first,
)
from lrisk_cli.types import Array


def explain_distances(
    model: ClusterModel,
    X: Array,
    clusters: Targets,
    firsts: NDArray[np.int32] | None = None,
    cells: Sequence[str] | None = None,
) -> Reasons:
    """Which columns are far from the nearest centre, or from what the others let expect.

    X: (m, columns); clusters: (m,). firsts: (m,) the feature that is named first, -1 for the
    largest part. cells: (m,) what is wrong with a cell, which comes first.
    """
    encoding = model.encoding
    squares, expected = _split_distances(model, X, clusters)
    parts = np.add.reduceat(squares, first_columns(encoding), axis=1)
    named = largest_parts(parts)
    if firsts is not None:
        named = put_first(named, firsts)
    words = RowWords(encoding, X, np.zeros(X.shape[1]), np.zeros(X.shape[1]))
    related = model.scatters is not None and len(encoding.features) > 1
    who = "the other columns suggest" if related else "the centre has"
    where = len(model.centres) > 1 or model.scatters is None
    sentences = []
    for row, cluster in enumerate(clusters.tolist()):
        said = "" if cells is None else cells[row]
        known = firsts[row] if said and firsts is not None else -1
        far = [said] * bool(said)
        far += [
            words.beside_centre(row, j, expected[row], who)
            for j in named[row].tolist()
            if j >= 0 and j != known
        ]
        place = f" (cluster {cluster})" if where else ""
        sentences.append("; ".join(far) + place if far else f"at the centre of cluster {cluster}")
    return Reasons(encoding.feature_names, sentences, named, named_parts(parts, named))


def _split_distances(model: ClusterModel, X: Array, clusters: Targets) -> tuple[Array, Array]:
    """What each column adds to the squared distance, and its expected value in units of the file.

    The latter is the centre's, or with P = S^-1 and given the other columns of the row
    x_j - [P (x - centre)]_j / P_jj. (m, columns) both.
    """
    moves = X - model.encoded_centres[clusters]
    expected = model.centres[clusters]
    if model.scatters is None:
        return moves**2, expected
    squares = np.empty_like(moves)
    means, scales = model.encoding.units
    numbers = np.zeros(len(scales), np.bool_)
    for feature, first, _ in spans(model.encoding):
        numbers[first] = isinstance(feature, NumberFeature)
    for cluster in np.unique(clusters).tolist():
        mine = np.flatnonzero(clusters == cluster)
        precision = np.linalg.inv(model.scatters[cluster])
        pulls = moves[mine] @ precision
        squares[mine] = moves[mine] * pulls
        given = means + scales * (X[mine] - pulls / np.diag(precision))
        expected[mine] = np.where(numbers, given, expected[mine])
    return squares, expected
