"""Clusters: they take in batches of rows, and are kept as plain JSON beside the linear models."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict as fields
from msgspec.structs import replace as replace_record
from numpy.typing import NDArray

from lrisk_cli import __version__
from lrisk_cli.clusters.anomalies import Anomalies
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
from lrisk_cli.clusters.scatter import nearest_shape
from lrisk_cli.clusters.trimming import Trimming
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
from lrisk_cli.models.weight_record import weight_record
from lrisk_cli.models.written_record import written_entries, written_from
from lrisk_cli.native.threads import one_thread
from lrisk_cli.risk.row_weights import row_weights
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.risk.value import spectral_risk
from lrisk_cli.tables.table import Batch, write_bytes
from lrisk_cli.types import Array, Codes


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """Centres and the rows they were found on. centres: (k, columns), in units of the file.

    sizes, weights: (k,), rows of each cluster and what the risk gives them. scatters: (k, columns,
    columns) on the encoded columns, where distances are Mahalanobis distances; else None.
    """

    encoding: Encoding
    centres: Array
    sizes: NDArray[np.int64]
    weights: Array
    risk: str
    outlier_distance: float | None
    fit: ClusterRecord
    scatters: Array | None = None

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
        clusters, losses = self.place(as_matrix(encoded.rows))
        return ScoredBatch(
            batch=batch,
            encoded=encoded,
            predictions=clusters,
            losses=losses,
            outliers=find_outliers(losses, self.outlier_distance),
        )

    def place(self, X: Array) -> tuple[Codes, Array]:
        """The nearest cluster of each encoded row by itself; squared distances. (n,) both."""
        if self.scatters is None:
            return nearest(X, self.encoded_centres)
        with one_thread():
            return nearest_shape(X, self.encoded_centres, self.scatters)

    def prediction_columns(self, scored: ScoredBatch) -> dict[str, Any]:
        """Each row's cluster, its distance to the centre, and whether it is an outlier."""
        return {
            "cluster": scored.predictions,
            "distance": np.sqrt(scored.known_losses),
            "is_outlier": np.asarray(scored.outliers, np.int8),
        }


def make_model(
    design: Design,
    found: Clustering,
    curve: tuple[Clustering, ...],
    options: ClusterOptions,
    trimming: Trimming | None = None,
) -> tuple[ClusterModel, Assignment]:
    """The model of a clustering, and its own rows among its centres.

    The centres are kept in units of the file and read back from there, so that the rows are placed
    exactly as they will be by the model that is loaded again.
    """
    means, scales = design.encoding.units
    centres = means + scales * found.centres
    X = as_matrix(design.rows)
    placed = assign_rows(X, (centres - means) / scales, options.risk, design.masses)
    k, ones = len(centres), np.broadcast_to(1.0, len(X))
    model = ClusterModel(
        encoding=design.encoding,
        centres=centres,
        sizes=sum_by_cluster(placed.clusters, ones, k).astype(np.int64),
        weights=sum_by_cluster(placed.clusters, placed.weights, k),
        risk=str(options.risk),
        outlier_distance=placed.threshold,
        fit=_record(design, found, curve, options, placed.objective, trimming),
    )
    return model, placed


def make_shape_model(design: Design, found: Anomalies, seed: int) -> ClusterModel:
    """The model of clusters with scatters. Its objective is the mean squared distance of the rows
    that are not estimated to be unusual.
    """
    means, scales = design.encoding.units
    spectrum = Trimming(round(found.unusual, 4), len(found.centres), {}).risk
    weights = row_weights(found.losses, spectrum)
    k, ones = len(found.centres), np.broadcast_to(1.0, len(found.losses))
    curve = tuple(
        CurvePoint(k=each.k, objective=-each.likelihood, criterion=each.icl) for each in found.tried
    )
    return ClusterModel(
        encoding=design.encoding,
        centres=means + scales * found.centres,
        sizes=sum_by_cluster(found.clusters, ones, k).astype(np.int64),
        weights=sum_by_cluster(found.clusters, weights, k),
        risk=str(spectrum),
        outlier_distance=None,
        fit=ClusterRecord(
            solver="em",
            status="the likeliest of the mixtures from several starts",
            iterations=found.chosen.iterations,
            objective=spectral_risk(np.sort(found.losses), spectrum),
            seed=seed,
            starts=(
                StartRecord(
                    objective=-found.chosen.likelihood,
                    iterations=found.chosen.iterations,
                    status="the likeliest",
                    reseeded=0,
                ),
            ),
            curve=curve,
            criterion="icl",
            noise=found.unusual,
            **_counts(design),
        ),
        scatters=found.scatters,
    )


def count_rows_of(model: ClusterModel, design: Design, clusters: Codes) -> ClusterModel:
    """A model of copies of rows with the counts of the rows themselves. clusters: theirs, (n,)."""
    record = replace_record(model.fit, rows_used=design.rows.shape[0], weight=weight_record(design))
    sizes = np.bincount(clusters, minlength=len(model.centres))
    return replace(model, sizes=sizes.astype(np.int64), fit=record)


def save_clusters(path: str | Path, model: ClusterModel) -> None:
    """Write the model, whole or not at all; the same model gives the same bytes."""
    write_bytes(path, encode_clusters(model))


def encode_clusters(model: ClusterModel) -> bytes:
    """The model as indented JSON; every float reads back as the same float."""
    encoding = model.encoding
    scatters = [None] * len(model.centres) if model.scatters is None else model.scatters.tolist()
    each = zip(
        model.sizes.tolist(), model.weights.tolist(), model.centres.tolist(), scatters, strict=True
    )
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
            written=written_entries(encoding.written),
        ),
        clusters=tuple(
            ClusterEntry(rows=rows, weight=weight, centre=centre, scatter=scatter)
            for rows, weight, centre, scatter in each
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
    written = written_from(coded.written, features)
    encoding = Encoding(features, False, None, coded.missing, coded.unseen, written=written)
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
        scatters=_build_scatters(file, encoding.n_columns),
    )


def _build_scatters(file: ClustersFile, d: int) -> Array | None:
    """The scatters of a file, which every cluster has or none; ValueError where one cannot be."""
    given = [entry.scatter for entry in file.clusters if entry.scatter is not None]
    if not given:
        return None
    if len(given) < len(file.clusters):
        raise ValueError("some clusters have a scatter and others have not")
    if any(len(S) != d or any(len(row) != d for row in S) for S in given):
        raise ValueError(f"the scatters do not fit {d} columns")
    scatters = np.array(given, dtype=np.float64)
    try:
        np.linalg.cholesky(scatters)
    except np.linalg.LinAlgError:
        raise ValueError("a scatter is not positive definite") from None
    return scatters


def _record(
    design: Design,
    found: Clustering,
    curve: tuple[Clustering, ...],
    options: ClusterOptions,
    objective: float,
    trimming: Trimming | None,
) -> ClusterRecord:
    best = found.best
    return ClusterRecord(
        solver=options.solver.value,
        status=best.status,
        iterations=best.iterations,
        objective=objective,
        seed=options.seed,
        starts=tuple(_start(start) for start in found.starts),
        curve=tuple(
            CurvePoint(k=len(each.centres), objective=each.objective, criterion=each.criterion)
            for each in curve
            if len(curve) > 1
        ),
        criterion="calinski-harabasz" if trimming is None else "icl",
        noise=None if trimming is None else trimming.fraction,
        **_counts(design),
    )


def _counts(design: Design) -> dict[str, Any]:
    """What a record says of the rows."""
    means, scales = design.encoding.units
    return {
        "objective_scale": "standardised" if means.any() or (scales != 1.0).any() else "file",
        "rows_read": design.counts.read,
        "rows_used": design.rows.shape[0],
        "rows_dropped": sum(design.counts.dropped.values()),
        "drop_reasons": design.counts.dropped,
        "fingerprint": design.fingerprint,
        "cells_filled": design.counts.filled,
        "weight": weight_record(design),
    }


def _start(start: Descent) -> StartRecord:
    return StartRecord(
        objective=start.objective,
        iterations=start.iterations,
        status=start.status,
        reseeded=start.reseeded,
    )
