"""What exports of linear models share: features with their coefficients, and what is refused."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.dates import PARTS, WAVES
from lrisk_cli.errors import InvalidOption
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model
from lrisk_cli.names import Missing
from lrisk_cli.types import Array

MONTH, WEEKDAY = "month", "weekday"


@dataclass(frozen=True, slots=True)
class Weighted:
    """A feature and the coefficients of its columns of X. W: (columns, outputs)."""

    feature: Feature
    W: Array

    @property
    def indicator(self) -> Array | None:
        """The coefficients of the column that is 1 where the cell is missing. (outputs,)."""
        return self.W[-1] if self.feature.indicator else None


def weighted_features(model: Model) -> Iterator[Weighted]:
    """The features of a linear model with their coefficients, in order."""
    first = 0
    for feature in model.encoding.features:
        yield Weighted(feature, model.coefficients[first : first + feature.n_columns])
        first += feature.n_columns


def constant_of(model: Model) -> Array:
    """The coefficients of the intercept, zeros where there is none. (outputs,)."""
    last: Array = model.coefficients[-1]
    return last if model.encoding.intercept else np.zeros_like(last)


def fills(model: Model | ClusterModel) -> bool:
    """Whether missing cells are filled in."""
    return model.encoding.missing is Missing.IMPUTE


def require_linear(path: str, model: Model | ClusterModel, to: str) -> Model:
    """The model; clusters and kernels are refused."""
    if isinstance(model, ClusterModel):
        raise InvalidOption(
            "to", f"is for models of a target, and {path} holds clusters; pass onnx", to
        )
    if not model.is_linear:
        raise InvalidOption(
            "to", f"is for linear models, and {path} is one of the {model.feature_map.describe()}; "
            "pass onnx", to,
        )  # fmt: skip
    return model


def parts_of(feature: NumberFeature) -> list[tuple[int, str, str]]:
    """Its parts of the calendar: column among its own, kind (month, weekday, wave) and name."""
    found = []
    for at, part in enumerate(getattr(feature, "parts", ()), 1):
        if part not in PARTS:
            raise ValueError(f"unknown part of a date: {part}")
        kind, _, name = part.partition("=")
        found.append((at, "wave", part) if part in WAVES else (at, kind, name))
    return found
