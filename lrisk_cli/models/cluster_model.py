"""Clusters: they take in batches of rows, and are kept as plain JSON beside the linear models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict as fields
from numpy.typing import NDArray

from lrisk_cli import __version__
from lrisk_cli.clusters.clustering import (
    Assignment,
    Clustering,
    ClusterOptions,
    as_matrix,
    assign_rows,
    find_outliers,
    nearest,
    sum_by_cluster,
)
from lrisk_cli.clusters.lloyd import Descent
from lrisk_cli.design.columns.registry import feature_from_json
from lrisk_cli.design.design import Design
from lrisk_cli.design.encoding import EncodedBatch, Encoding
from lrisk_cli.losses.squared import SquaredLoss
from lrisk_cli.models.model import check_features
from lrisk_cli.models.model_file import (
    FORMAT,
    FORMAT_VERSION,
    ClusterEncodingEntry,
    ClusterEntry,
    ClusterRecord,
    ClustersFile,
    CurvePoint,
    FeatureEntry,
    StartRecord,
    encode_file,
)
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.tables.table import Batch, write_bytes
from lrisk_cli.types import Array


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """Centres and the rows they were found on. centres: (k, columns), in units of the file.

    sizes, weights: (k,), rows of each cluster and what the risk gives them.
    """

    encoding: Encoding
    centres: Array
    sizes: NDArray[np.int64]
    weights: Array
    risk: str
    outlier_distance: float | None
    fit: ClusterRecord

    @property
    def spectrum(self) -> Spectrum:
        """The risk that was minimised."""
        return parse_risk(self.risk)

    @property
    def row_loss(self) -> SquaredLoss:
        """What a distance is evaluated as: half the squared size of an error."""
        return SquaredLoss()

    @property
    def encoded_centres(self) -> Array:
        """The centres on the columns of X. (k, columns)."""
        means, scales = self.encoding.units
        return (self.centres - means) / scales

    def in_units(self, X: Array) -> Array:
        """Encoded rows in units of the file. (n, columns)."""
        means, scales = self.encoding.units
        return means + scales * X

    def score(self, batch: Batch, encoded: EncodedBatch | None = None) -> ScoredBatch:
        """The nearest centre of each row by itself; losses are squared distances to it."""
        encoded = self.encoding.encode(batch) if encoded is None else encoded
        clusters, losses = nearest(as_matrix(encoded.rows), self.encoded_centres)
        return ScoredBatch(
            batch=batch,
            encoded=encoded,
            predictions=clusters,
            losses=losses,
            outliers=find_outliers(losses, self.outlier_distance),
        )

    def prediction_columns(self, scored: ScoredBatch) -> dict[str, Any]:
        """Each row's cluster, its distance to the centre, and whether it is an outlier."""
        return {
            "cluster": scored.predictions,
            "distance": np.sqrt(scored.known_losses),
            "is_outlier": np.asarray(scored.outliers, np.int8),
        }


def make_model(
    design: Design, found: Clustering, curve: tuple[Clustering, ...], options: ClusterOptions
) -> tuple[ClusterModel, Assignment]:
    """The model of a clustering, and its own rows among its centres.

    The centres are kept in units of the file and read back from there, so that the rows are placed
    exactly as they will be by the model that is loaded again.
    """
    means, scales = design.encoding.units
    centres = means + scales * found.centres
    X = as_matrix(design.rows)
    placed = assign_rows(X, (centres - means) / scales, options.risk)
    k, ones = len(centres), np.broadcast_to(1.0, len(X))
    model = ClusterModel(
        encoding=design.encoding,
        centres=centres,
        sizes=sum_by_cluster(placed.clusters, ones, k).astype(np.int64),
        weights=sum_by_cluster(placed.clusters, placed.weights, k),
        risk=str(options.risk),
        outlier_distance=placed.threshold,
        fit=_record(design, found, curve, options, placed.objective),
    )
    return model, placed


def save_clusters(path: str | Path, model: ClusterModel) -> None:
    """Write the model, whole or not at all; the same model gives the same bytes."""
    write_bytes(path, encode_clusters(model))


def encode_clusters(model: ClusterModel) -> bytes:
    """The model as indented JSON; every float reads back as the same float."""
    encoding = model.encoding
    each = zip(model.sizes.tolist(), model.weights.tolist(), model.centres.tolist(), strict=True)
    file = ClustersFile(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        lrisk_version=__version__,
        kind="clusters",
        risk=model.risk,
        columns=encoding.column_names,
        encoding=ClusterEncodingEntry(
            features=tuple(FeatureEntry(**feature.to_json()) for feature in encoding.features),
            missing=encoding.missing,
            unseen=encoding.unseen,
        ),
        clusters=tuple(
            ClusterEntry(rows=rows, weight=weight, centre=centre) for rows, weight, centre in each
        ),
        outlier_distance=model.outlier_distance,
        fit=model.fit,
    )
    return encode_file(file)


def build_clusters(file: ClustersFile) -> ClusterModel:
    """The clusters of a file whose types are right; ValueError where its parts disagree."""
    parse_risk(file.risk)
    coded = file.encoding
    features = tuple(feature_from_json(fields(entry)) for entry in coded.features)
    encoding = Encoding(features, False, None, coded.missing, coded.unseen)
    check_features(encoding)
    if any(feature.indicator for feature in features):
        raise ValueError("clusters have no indicators")
    if file.columns != encoding.column_names:
        raise ValueError("the columns and the features disagree")
    if any(len(entry.centre) != encoding.n_columns for entry in file.clusters):
        raise ValueError(f"the centres do not fit {encoding.n_columns} columns")
    return ClusterModel(
        encoding=encoding,
        centres=np.array([entry.centre for entry in file.clusters], dtype=np.float64),
        sizes=np.array([entry.rows for entry in file.clusters], dtype=np.int64),
        weights=np.array([entry.weight for entry in file.clusters], dtype=np.float64),
        risk=file.risk,
        outlier_distance=file.outlier_distance,
        fit=file.fit,
    )


def _record(
    design: Design,
    found: Clustering,
    curve: tuple[Clustering, ...],
    options: ClusterOptions,
    objective: float,
) -> ClusterRecord:
    best = found.best
    means, scales = design.encoding.units
    return ClusterRecord(
        solver=options.solver.value,
        status=best.status,
        iterations=best.iterations,
        objective=objective,
        objective_scale="standardised" if means.any() or (scales != 1.0).any() else "file",
        seed=options.seed,
        starts=tuple(_start(start) for start in found.starts),
        curve=tuple(
            CurvePoint(k=len(each.centres), objective=each.objective, criterion=each.criterion)
            for each in curve
            if len(curve) > 1
        ),
        rows_read=design.counts.read,
        rows_used=design.rows.shape[0],
        rows_dropped=sum(design.counts.dropped.values()),
        drop_reasons=design.counts.dropped,
        fingerprint=design.fingerprint,
        cells_filled=design.counts.filled,
    )


def _start(start: Descent) -> StartRecord:
    return StartRecord(
        objective=start.objective,
        iterations=start.iterations,
        status=start.status,
        reseeded=start.reseeded,
    )
