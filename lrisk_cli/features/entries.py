"""The feature map of a model file: one struct for each kind."""

from typing import Annotated

from msgspec import Meta, Struct

from lrisk_cli.names import MOST_DEGREE

Positive = Annotated[float, Meta(gt=0.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]
Rows = Annotated[list[list[float]], Meta(min_length=1)]


class _MapEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kernel"):
    """What is linear in the coefficients; `kernel` tells which kind it is."""


class LinearEntry(_MapEntry, frozen=True, kw_only=True, tag="linear"):
    """The encoded columns themselves."""


class GaussianEntry(_MapEntry, frozen=True, kw_only=True, tag="rbf"):
    """exp(-gamma ||x - z||^2) for each landmark z, a row as encoded.

    explained: share of the kernel's trace over the training rows that the landmarks span.
    """

    gamma: Positive
    explained: NotNegative
    landmarks: Rows


class PolynomialEntry(_MapEntry, frozen=True, kw_only=True, tag="poly"):
    """(gamma x.z + coef0)^degree for each landmark z, a row as encoded."""

    gamma: Positive
    coef0: NotNegative
    degree: Annotated[int, Meta(ge=1, le=MOST_DEGREE)]
    explained: NotNegative
    landmarks: Rows


class FourierEntry(_MapEntry, frozen=True, kw_only=True, tag="fourier"):
    """sqrt(2/m) cos(omega.x + phase) for each of the m frequencies omega and its phase."""

    gamma: Positive
    frequencies: Rows
    phases: list[float]


FeatureMapEntry = LinearEntry | GaussianEntry | PolynomialEntry | FourierEntry
