"""Clusters and outliers as estimators of scikit-learn."""

import os
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    OutlierMixin,
    TransformerMixin,
)
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from lrisk_cli.clusters.clustering import as_matrix, find_outliers
from lrisk_cli.clusters.options import ClusterSearch, parse_clusters
from lrisk_cli.design.design import encode_design
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption
from lrisk_cli.library.estimator_base import TableEstimator
from lrisk_cli.library.keywords import Group, Keywords, as_loaded
from lrisk_cli.library.rows import LABEL, WEIGHT, Rows, encoded_rows, raw_rows
from lrisk_cli.models.cluster_fit import fit_clusters
from lrisk_cli.models.cluster_model import ClusterModel, save_clusters
from lrisk_cli.names import Scaling, Standardize
from lrisk_cli.native.options import Seed
from lrisk_cli.outliers.options import parse_contamination
from lrisk_cli.outliers.subjects import subject_of_rows
from lrisk_cli.progress import silent
from lrisk_cli.types import Array, Codes

KEYWORDS = Keywords(
    "estimator",
    (
        Group(
            Columns,
            only=("missing", "unseen", "max_categories", "dates", "standardize", "weight"),
        ),
        Group(ClusterSearch),
        Group(Seed),
    ),
)


class _Clusters(TableEstimator):
    """Clusters that rows are placed in."""

    model_: ClusterModel
    _keywords: ClassVar[Keywords] = KEYWORDS

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model (JSON), which `lrisk` and `lrisk_cli.load` read."""
        check_is_fitted(self)
        save_clusters(os.fspath(path), self.model_)

    def _keep(self, model: ClusterModel) -> None:
        self.model_ = as_loaded(model)
        self.cluster_centers_ = model.centres
        self.n_iter_ = max(1, model.fit.iterations)

    def _place(self, rows: Rows) -> tuple[Codes, Array]:
        """The nearest cluster of each row, and the squared distance to it. (n,) both."""
        parts = [
            self.model_.place(as_matrix(each.rows)) for each in encoded_rows(self.model_, rows)
        ]
        return np.concatenate([each for each, _ in parts]), np.concatenate([d for _, d in parts])


class _Transformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """Columns that are named after the class."""


class SpectralKMeans(_Transformer, ClusterMixin, _Clusters):  # type: ignore[misc]
    """Outlier-robust k-means: a spectral risk of the squared distances to the nearest centre.

    The parameters are the options of `lrisk cluster`; risk="mean" is k-means. n_clusters: a
    number, or a range to choose from, as "2..6". cluster_centers_: in units of the columns;
    labels_, outliers_: of the rows learned from, outliers lying far from every centre.
    """

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        risk: str = "subquantile:auto",
        standardize: str = "features",
        solver: str = "lloyd",
        starts: int = 10,
        tol: float | None = None,
        max_iterations: int | None = None,
        missing: str = "error",
        unseen: str = "error",
        max_categories: int = 100,
        dates: str | None = None,
        seed: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.risk = risk
        self.standardize = standardize
        self.solver = solver
        self.starts = starts
        self.tol = tol
        self.max_iterations = max_iterations
        self.missing = missing
        self.unseen = unseen
        self.max_categories = max_categories
        self.dates = dates
        self.seed = seed

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centres. sample_weight: how often each row occurs. y: not read."""
        rows, _ = self._checked(X, reset=True)
        weights = None
        if sample_weight is not None:
            held = np.empty((rows.n_rows, 1))
            weights = _check_sample_weight(sample_weight, held, dtype=np.float64)
        given = {name: each for name, each in self.get_params().items() if name in KEYWORDS.known}
        if weights is not None:
            given["weight"] = WEIGHT
        with KEYWORDS.called(**given) as of:
            options = of[ClusterSearch].parse(self.risk, of[Seed].seed)
            columns = replace(of[Columns].parse(), intercept=False)
        ks = parse_clusters(str(self.n_clusters))
        design, _ = encode_design(raw_rows(rows, None, weights, columns), columns)
        model, _, _ = fit_clusters(LABEL, design, ks, options, silent)
        self._keep(model)
        self.labels_, distances = self._place(rows)
        self.outliers_ = find_outliers(distances, model.outlier_distance)
        self.inertia_ = model.fit.objective
        return self

    def _keep(self, model: ClusterModel) -> None:
        super()._keep(model)
        self._n_features_out = len(model.centres)

    def predict(self, X: Any) -> Any:
        """The nearest cluster of each row. (n,)."""
        check_is_fitted(self)
        rows, _ = self._checked(X, reset=False)
        return self._place(rows)[0]

    def transform(self, X: Any) -> Any:
        """Distances to the centres, on the encoded columns. (n, clusters)."""
        check_is_fitted(self)
        rows, _ = self._checked(X, reset=False)
        return np.concatenate(
            [
                np.stack(
                    [
                        np.sqrt(np.square(as_matrix(each.rows) - centre).sum(axis=1))
                        for centre in self.model_.encoded_centres
                    ],
                    axis=1,
                )
                for each in encoded_rows(self.model_, rows)
            ]
        )


class OutlierDetector(OutlierMixin, _Clusters):  # type: ignore[misc]
    """Outliers by robust distances: MCD, or clusters with scatters of their own.

    A score is minus the Mahalanobis distance of a row to the nearest cluster, which `lrisk
    detect-outliers` finds on tables without a target. contamination: the fraction of outliers;
    auto: rows farther than the threshold that the distances call for, which may be none.
    """

    def __init__(
        self,
        contamination: str | float = 0.1,
        *,
        clusters: int | str | None = None,
        standardize: str = "both",
        missing: str = "error",
        unseen: str = "error",
        max_categories: int = 100,
        dates: str | None = None,
        seed: int = 0,
    ) -> None:
        self.contamination = contamination
        self.clusters = clusters
        self.standardize = standardize
        self.missing = missing
        self.unseen = unseen
        self.max_categories = max_categories
        self.dates = dates
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the clusters that most rows form, and the threshold. y: not read."""
        fraction = _fraction(self.contamination)
        rows, _ = self._checked(X, reset=True)
        given = {name: each for name, each in self.get_params().items() if name in KEYWORDS.known}
        with KEYWORDS.called(**given) as of:
            plain = of[Columns].standardize is Standardize.NONE
            scaling = Scaling.DEVIATION if plain else Scaling.MAD
            columns = replace(of[Columns].parse(), intercept=False, scaling=scaling)
            seed = of[Seed].seed
        ks = () if self.clusters is None else parse_clusters(str(self.clusters))
        raw = raw_rows(rows, None, None, columns)
        subject, _ = subject_of_rows(raw, columns, ks, seed, fraction)
        assert isinstance(subject.model, ClusterModel)  # noqa: S101
        self._keep(subject.model)
        if fraction is not None:
            self.offset_ = float(np.percentile(self._scores(rows), 100.0 * fraction))
        return self

    def _keep(self, model: ClusterModel) -> None:
        super()._keep(model)
        limit = model.outlier_distance
        self.offset_ = -np.inf if limit is None else -limit

    def score_samples(self, X: Any) -> Any:
        """Minus the distance of each row to the nearest cluster. (n,)."""
        check_is_fitted(self)
        rows, _ = self._checked(X, reset=False)
        return self._scores(rows)

    def decision_function(self, X: Any) -> Any:
        """How far within the threshold each row is; outliers have negative values. (n,)."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """-1 for outliers, 1 for the other rows. (n,)."""
        return np.where(self.decision_function(X) < 0.0, -1, 1)

    def _scores(self, rows: Rows) -> Array:
        return -np.sqrt(self._place(rows)[1])


def _fraction(contamination: str | float) -> float | None:
    """The fraction of outliers; None where it is to be found."""
    if not isinstance(contamination, str) and not 0.0 < contamination <= 0.5:
        raise InvalidOption(
            "contamination", f"takes auto or a fraction in (0, 0.5]; got {contamination!r}"
        )
    return None if contamination == 0.5 else parse_contamination(contamination)
