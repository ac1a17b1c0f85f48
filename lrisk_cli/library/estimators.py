"""Regression and classification by spectral risks, and robust regression, for scikit-learn."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from lrisk_cli.design.weights import ClassWeights, Weighting
from lrisk_cli.library.estimator_base import NO_TARGET, SpectralRiskEstimator
from lrisk_cli.library.rows import Rows, margins, predicted
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.models.model import Model
from lrisk_cli.models.robust_fit import TooFewRowsError
from lrisk_cli.names import Task
from lrisk_cli.tables.cells import Texts, shortest_text


class _Regression(RegressorMixin, SpectralRiskEstimator):  # type: ignore[misc]
    _task = Task.REGRESSION

    def _checked(self, X: Any, *, reset: bool, y: Any = NO_TARGET) -> tuple[Rows, Any]:
        rows, y = super()._checked(X, reset=reset, y=y)
        if y is not NO_TARGET:
            y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        return rows, y

    def _keep(self, model: Model) -> None:
        super()._keep(model)
        if model.is_linear:
            self.coef_, self.intercept_ = self.coef_[0], self.intercept_[0]

    def predict(self, X: Any) -> Any:
        """Predictions in units of the target. (n,)."""
        check_is_fitted(self)
        rows, _ = self._checked(X, reset=False)
        return predicted(self.model_, rows)


class SpectralRiskRegressor(_Regression):
    """Regression that minimises a spectral risk of the losses plus an l2 penalty, with a proof.

    The parameters are the options of `lrisk fit`. certificate_: the objective, a lower bound of it
    and the gap; model_: what `lrisk_cli.predict` and others take; coef_, intercept_: of a linear
    model, in units of the columns.
    """

    def __init__(
        self,
        risk: str = "extremile:2",
        *,
        loss: str = "auto",
        l2: float | None = None,
        kernel: str = "linear",
        gamma: str | float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        rank: str | int | None = None,
        smoothing: str = "none",
        nu: float | None = None,
        target_scale: str = "none",
        standardize: str = "both",
        scaling: str | None = None,
        intercept: bool = True,
        missing: str = "error",
        unseen: str = "error",
        max_categories: int = 100,
        dates: str | None = None,
        weight_kind: str = "frequency",
        solver: str = "auto",
        tol: float = 1e-14,
        max_passes: float = 1000.0,
        seed: int = 0,
    ) -> None:
        self.risk = risk
        self.loss = loss
        self.l2 = l2
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank = rank
        self.smoothing = smoothing
        self.nu = nu
        self.target_scale = target_scale
        self.standardize = standardize
        self.scaling = scaling
        self.intercept = intercept
        self.missing = missing
        self.unseen = unseen
        self.max_categories = max_categories
        self.dates = dates
        self.weight_kind = weight_kind
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the risk on these rows. sample_weight: how often each occurs, or counts."""
        return self._fit(X, y, sample_weight)


class RobustRegressor(_Regression):
    """Robust regression: an MM fit of the rows that are no outliers, as `lrisk fit --robust`."""

    def __init__(
        self,
        *,
        loss: str = "auto",
        l2: float | None = None,
        target_scale: str = "none",
        standardize: str = "both",
        scaling: str | None = None,
        intercept: bool = True,
        missing: str = "error",
        unseen: str = "error",
        max_categories: int = 100,
        dates: str | None = None,
        weight_kind: str = "frequency",
        tol: float = 1e-6,
        max_passes: float = 1000.0,
        seed: int = 0,
    ) -> None:
        self.loss = loss
        self.l2 = l2
        self.target_scale = target_scale
        self.standardize = standardize
        self.scaling = scaling
        self.intercept = intercept
        self.missing = missing
        self.unseen = unseen
        self.max_categories = max_categories
        self.dates = dates
        self.weight_kind = weight_kind
        self.tol = tol
        self.max_passes = max_passes
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the rows that are no outliers. sample_weight: how often each occurs, or counts."""
        return self._fit(X, y, sample_weight)

    def _options(self, weights: Any) -> dict[str, Any]:
        return {**super()._options(weights), "robust": True}

    def _learn(self, design: Any, options: FitOptions) -> None:
        try:
            super()._learn(design, options)
        except TooFewRowsError as error:
            warnings.warn(f"{error}; the ordinary fit stands in", UserWarning, stacklevel=4)
            super()._learn(design, replace(options, robust=False))

    def _keep(self, model: Model) -> None:
        super()._keep(model)
        record = model.robust
        self.scale_ = None if record is None else record.scale
        self.outlier_fraction_ = None if record is None else record.fraction


class SpectralRiskClassifier(ClassifierMixin, SpectralRiskEstimator):  # type: ignore[misc]
    """Logistic regression that minimises a spectral risk of the losses, with a proof.

    The parameters are the options of `lrisk fit`. class_weight: "balanced", or the weights of the
    classes in the fit.
    """

    _task = Task.CLASSIFICATION

    def __init__(
        self,
        risk: str = "extremile:2",
        *,
        robust: bool = False,
        l2: float | None = None,
        kernel: str = "linear",
        gamma: str | float | None = None,
        degree: int | None = None,
        coef0: float | None = None,
        rank: str | int | None = None,
        smoothing: str = "none",
        nu: float | None = None,
        standardize: str = "both",
        scaling: str | None = None,
        intercept: bool = True,
        missing: str = "error",
        unseen: str = "error",
        max_categories: int = 100,
        dates: str | None = None,
        class_weight: str | dict[Any, float] | None = None,
        weight_kind: str = "frequency",
        solver: str = "auto",
        tol: float = 1e-14,
        max_passes: float = 1000.0,
        seed: int = 0,
    ) -> None:
        self.risk = risk
        self.robust = robust
        self.l2 = l2
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank = rank
        self.smoothing = smoothing
        self.nu = nu
        self.standardize = standardize
        self.scaling = scaling
        self.intercept = intercept
        self.missing = missing
        self.unseen = unseen
        self.max_categories = max_categories
        self.dates = dates
        self.class_weight = class_weight
        self.weight_kind = weight_kind
        self.solver = solver
        self.tol = tol
        self.max_passes = max_passes
        self.seed = seed

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimise the risk on these rows. sample_weight: how often each occurs, or counts."""
        return self._fit(X, y, sample_weight)

    def _options(self, weights: Any) -> dict[str, Any]:
        found = super()._options(weights)
        found.pop("class_weight", None)
        return {**found, "risk": ()} if self.robust else found

    def _targets(self, y: Any) -> Any:
        check_classification_targets(y)
        classes, codes = np.unique(column_or_1d(y), return_inverse=True)
        self.classes_ = classes
        return Texts(codes.astype(np.int32), _labels(classes))

    def _weighting(self, of_rows: Weighting) -> Weighting:
        if self.class_weight is None:
            return of_rows
        if isinstance(self.class_weight, str):
            return replace(of_rows, classes=ClassWeights())
        known = dict(zip(self.classes_.tolist(), _labels(self.classes_), strict=True))
        named = tuple(
            (known[each], float(w)) for each, w in self.class_weight.items() if each in known
        )
        return replace(of_rows, classes=ClassWeights(named))

    def _learn(self, design: Any, options: FitOptions) -> None:
        super()._learn(design, options)
        # Classes that have no row with a weight, or differ only in spaces, are one or none.
        known = dict(zip(_labels(self.classes_), self.classes_.tolist(), strict=True))
        of_model = [known[label] for label in self.model_.target.classes]
        self.classes_ = np.asarray(of_model, dtype=self.classes_.dtype)

    def decision_function(self, X: Any) -> Any:
        """The log-odds of the second of two classes, (n,), or the margins of all. (n, classes)."""
        Z = self._margins(X)
        return Z[:, 0] if Z.shape[1] == 1 else Z

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class. (n, classes)."""
        Z = self._margins(X)
        return self.model_.row_loss.probabilities(Z)

    def predict_log_proba(self, X: Any) -> Any:
        """Its logarithm. (n, classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Any:
        """The likeliest class of each row. (n,)."""
        Z = self._margins(X)
        return self.classes_[self.model_.predict(Z)]

    def _margins(self, X: Any) -> Any:
        check_is_fitted(self)
        rows, _ = self._checked(X, reset=False)
        return margins(self.model_, rows)[0]


def _labels(classes: Any) -> list[str]:
    """How classes are called in a model file: numbers as briefly as possible."""
    if classes.dtype.kind in "iuf":
        return shortest_text(classes.astype(np.float64))
    return [str(each) for each in classes.tolist()]
