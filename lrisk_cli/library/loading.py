"""Model files -> fitted estimators."""

import os
from typing import Any

import numpy as np

from lrisk_cli.library.cluster_estimators import OutlierDetector, SpectralKMeans
from lrisk_cli.library.estimator_base import TableEstimator
from lrisk_cli.library.estimators import (
    RobustRegressor,
    SpectralRiskClassifier,
    SpectralRiskRegressor,
)
from lrisk_cli.library.frames import numbered_names
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.loading import load_model
from lrisk_cli.models.model import Model
from lrisk_cli.names import Task


def load(path: str | os.PathLike[str]) -> Any:
    """The fitted estimator of a model file, of this library or of the command line.

    A model of classes is a SpectralRiskClassifier, one of a robust fit a RobustRegressor, clusters
    with scatters an OutlierDetector. Rows are tables with the columns of the model, or arrays of
    these columns in their order.
    """
    model = load_model(os.fspath(path))
    estimator = _clusters(model) if isinstance(model, ClusterModel) else _predictor(model)
    names = model.encoding.feature_names
    estimator.n_features_in_ = len(names)
    if names != tuple(numbered_names(len(names))):
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    estimator._keep(model)
    return estimator


def _predictor(model: Model) -> TableEstimator:
    shared: dict[str, Any] = {
        "l2": model.l2,
        "intercept": model.encoding.intercept,
        "missing": str(model.encoding.missing),
        "unseen": str(model.encoding.unseen),
        "seed": model.fit.seed,
    }
    if model.task is Task.CLASSIFICATION:
        risk, is_robust = model.risk, model.robust is not None
        classifier = SpectralRiskClassifier(risk, robust=is_robust, **shared)
        labels = model.target.classes
        if model.target.dtype == "number":
            numbers = np.array([float(label) for label in labels])
            whole = bool((numbers == np.rint(numbers)).all())
            classifier.classes_ = numbers.astype(np.int64) if whole else numbers
        else:
            classifier.classes_ = np.asarray(labels, dtype=object)
        return classifier
    shared |= {"loss": model.loss, "target_scale": str(model.target.on)}
    if model.robust is not None:
        return RobustRegressor(**shared)
    return SpectralRiskRegressor(model.risk, **shared)


def _clusters(model: ClusterModel) -> TableEstimator:
    shared: dict[str, Any] = {
        "missing": str(model.encoding.missing),
        "unseen": str(model.encoding.unseen),
        "seed": model.fit.seed,
    }
    if model.scatters is not None:
        return OutlierDetector("auto", clusters=len(model.centres), **shared)
    return SpectralKMeans(len(model.centres), risk=model.risk, **shared)
