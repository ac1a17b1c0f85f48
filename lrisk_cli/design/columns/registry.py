"""The registry of features, by the kind of their column."""

from collections.abc import Mapping
from typing import Any

from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.date import DateFeature
from lrisk_cli.design.columns.number import NumberFeature

FEATURES: dict[str, type[Feature]] = {
    feature.kind: feature for feature in (NumberFeature, CategoryFeature, DateFeature)
}
NUMERIC_FEATURES: dict[str, type[NumberFeature]] = {
    feature.kind: feature for feature in (NumberFeature, DateFeature)
}


def feature_from_json(entry: Mapping[str, Any]) -> Feature:
    """The feature of an entry of a model file; ValueError where its fields disagree."""
    feature = FEATURES[entry["kind"]].from_json(entry)
    if feature.indicator and feature.fill is None:
        raise ValueError(f"feature '{feature.name}' has an indicator and no fill")
    return feature
