"""What the estimators share: checks of scikit-learn, rows, options, files."""

import os
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from lrisk_cli.design.design import encode_design
from lrisk_cli.design.options import Columns
from lrisk_cli.design.weights import Weighting
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.library.keywords import Group, Keywords, as_loaded
from lrisk_cli.library.results import Certificate
from lrisk_cli.library.rows import (
    WEIGHT,
    Rows,
    is_numeric,
    raw_rows,
    rows_of_matrix,
    rows_of_table,
)
from lrisk_cli.losses.registry import parse_loss
from lrisk_cli.models.fitting import FitOptions, fit_design
from lrisk_cli.models.model import Model, original_units, save_model
from lrisk_cli.models.options import ModelOptions, choose_scaling, suit_columns
from lrisk_cli.names import Task
from lrisk_cli.native.options import Seed
from lrisk_cli.solvers.options import Solver, Stopping

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.utils.validation import (
        _check_sample_weight,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError as error:
    raise ImportError(
        "the estimators of lrisk need scikit-learn 1.6 or later; pip install 'lrisk-cli[sklearn]'"
    ) from error

# A gap beyond which a fit that did not reach its tolerance is worth a warning.
USUAL_TOL = 1e-6
# For an estimator that is called without a target.
NO_TARGET = object()

KEYWORDS = Keywords(
    "estimator",
    (
        Group(
            Columns,
            only=(
                "missing", "unseen", "max_categories", "dates", "standardize", "scaling",
                "intercept", "target_scale", "weight", "weight_kind",
            ),
        ),
        Group(ModelOptions), Group(KernelOptions), Group(Stopping), Group(Seed), Group(Solver),
    ),
)  # fmt: skip


class TableEstimator(BaseEstimator):  # type: ignore[misc]
    """What all estimators share: rows of numbers or tables, the model, files."""

    model_: Any

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model (JSON), which `lrisk` and `lrisk_cli.load` read."""
        check_is_fitted(self)
        save_model(os.fspath(path), self.model_)

    def _checked(self, X: Any, *, reset: bool, y: Any = NO_TARGET) -> tuple[Rows, Any]:
        """The rows, and y where it is given; what scikit-learn refuses is refused."""
        if _is_table(X) and not is_numeric(X):
            if y is not NO_TARGET:
                y = column_or_1d(y, warn=True)
            validate_data(self, X, reset=reset, skip_check_array=True)
            return rows_of_table(X), y
        finite = "allow-nan" if getattr(self, "missing", "error") == "impute" else True
        how: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": finite}
        how["ensure_min_samples"] = 2 if reset else 1
        if y is NO_TARGET:
            checked = validate_data(self, X, reset=reset, **how)
        else:
            checked, y = validate_data(self, X, y, reset=reset, **how)
        names = getattr(self, "feature_names_in_", None)
        return rows_of_matrix(checked, None if names is None else tuple(map(str, names))), y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = getattr(self, "missing", "error") == "impute"
        return tags


class SpectralRiskEstimator(TableEstimator):
    """A risk that is minimised, with a proof."""

    _task: ClassVar[Task]

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        rows, y = self._checked(X, reset=True, y=y)
        targets = self._targets(y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        with KEYWORDS.called(**self._options(weights)) as of:
            columns, model = of[Columns], of[ModelOptions]
            (risk,), (l2,) = model.risks, model.penalties
            loss = parse_loss(model.loss)
            seed = of[Seed].seed
            fit = FitOptions(
                risk, loss, l2, model.smoothing, model.nu, of[Solver].parse(seed),
                of[Stopping].parse(), of[KernelOptions].parse(), model.robust,
            )  # fmt: skip
            scaling, _ = choose_scaling(
                columns.scaling, columns.standardize, model.risks, robust=model.robust
            )
            design = replace(columns.parse(), target="y", scaling=scaling, task=self._task)
            weighting = self._weighting(design.weighting)
            design = replace(suit_columns(design, loss), weighting=weighting)
        raw = raw_rows(rows, targets, weights, design)
        self._learn(encode_design(raw, design)[0], fit)
        return self

    def _options(self, weights: Any) -> dict[str, Any]:
        """The parameters that are options of `lrisk fit`. weights: of the rows, if any."""
        given = self.get_params()
        found = {name: value for name, value in given.items() if name in KEYWORDS.known}
        if weights is None:
            found.pop("weight_kind", None)
            return found
        return {**found, "weight": WEIGHT}

    def _weighting(self, of_rows: Weighting) -> Weighting:
        return of_rows

    def _targets(self, y: Any) -> Any:
        return np.ascontiguousarray(y, dtype=np.float64)

    def _learn(self, design: Any, options: FitOptions) -> None:
        fitted = fit_design(design, options)
        self._keep(fitted.model)
        gap, most = fitted.model.fit.gap, max(options.limits.tol, USUAL_TOL)
        if not fitted.solution.converged and (gap is None or gap > most):
            warnings.warn(fitted.model.fit.status, ConvergenceWarning, stacklevel=4)

    def _keep(self, model: Model) -> None:
        """The attributes of a fitted estimator."""
        self.model_ = as_loaded(model)
        self.certificate_ = Certificate.of(model)
        self.n_iter_ = max(1, round(model.fit.passes))
        units = original_units(model)
        if units is not None:
            self.coef_, self.intercept_ = units.coefficients.T, units.intercepts
            self.encoded_feature_names_ = np.asarray(units.columns, dtype=object)


def _is_table(X: Any) -> bool:
    """Whether it has columns with types of their own."""
    return hasattr(X, "__arrow_c_stream__") or (hasattr(X, "columns") and hasattr(X, "dtypes"))
