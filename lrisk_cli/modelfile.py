"""The JSON of model files: its types, its schema, and the reading and writing of it."""

from inspect import cleandoc
from math import isfinite
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from lrisk_cli import __version__
from lrisk_cli.errors import ModelError
from lrisk_cli.names import Missing, Unseen

FORMAT: Literal["lrisk-model"] = "lrisk-model"
FORMAT_VERSION: Literal[1] = 1

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]
Rows = Annotated[list[list[float]], Meta(min_length=1)]


class FitRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model was fitted and what was proved. The bounds are null for falling risks."""

    solver: str
    solver_reason: str
    status: str
    passes: NotNegative
    objective: float
    lower_bound: float | None
    absolute_gap: float | None
    gap: float | None
    objective_scale: Literal["file", "standardised"]
    smoothing: Literal["none", "l2", "entropy"]
    nu: float | None
    smoothed_objective: float | None
    smoothed_gap: float | None
    step: float | None
    seed: int
    rows_read: Count
    rows_used: Count
    rows_dropped: Count
    drop_reasons: dict[str, Count]
    fingerprint: str

    def as_dict(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        return structs.asdict(self)


class FeatureEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of the table: (number - mean) / scale, or one 0/1 column for each category.

    other: one more 0/1 column for all other categories. fill: stands in for missing cells, or null.
    """

    name: str
    kind: Literal["number", "category"]
    mean: float
    scale: Positive
    categories: tuple[str, ...]
    other: bool
    fill: float | str | None


class EncodingEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How rows become numbers: the columns of the features in order, then the intercept if any."""

    features: Annotated[tuple[FeatureEntry, ...], Meta(min_length=1)]
    intercept: bool
    target_mean: float
    target_scale: Positive
    missing: Missing
    unseen: Unseen


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
    degree: Annotated[int, Meta(ge=1)]
    explained: NotNegative
    landmarks: Rows


class FourierEntry(_MapEntry, frozen=True, kw_only=True, tag="fourier"):
    """sqrt(2/m) cos(omega.x + phase) for each of the m frequencies omega and its phase."""

    gamma: Positive
    frequencies: Rows
    phases: list[float]


FeatureMapEntry = LinearEntry | GaussianEntry | PolynomialEntry | FourierEntry


class ModelFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A model written by lrisk.

    coefficients: for each encoded column (landmark, frequency), and last for the intercept if any,
    a number, or a list of one number for each class where there are more than two; with two
    classes the margin is the log-odds of the second.
    """

    format: Literal["lrisk-model"]
    format_version: Literal[1]
    lrisk_version: str
    kind: Literal["linear"]
    task: Literal["regression", "classification"]
    target: str
    classes: tuple[str, ...]
    encoding: EncodingEntry
    feature_map: FeatureMapEntry
    coefficients: list[float | list[float]]
    loss: Literal["squared", "logistic"]
    risk: str
    l2: NotNegative
    fit: FitRecord


class _Header(Struct):
    """The two keys that say whether the rest can be read."""

    format: str
    format_version: int


def model_schema() -> dict[str, Any]:
    """The JSON Schema of model files."""
    schema = msgspec.json.schema(ModelFile)
    for definition in schema["$defs"].values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"lrisk model, format version {FORMAT_VERSION}",
        **schema,
    }


def encode_file(file: ModelFile) -> bytes:
    """Indented JSON; every float reads back as the same float."""
    figures = (*structs.astuple(file.fit), *structs.astuple(file.feature_map), file.l2)
    if not all(map(_is_finite, (*figures, *file.coefficients))):
        raise ValueError("a model with numbers that are not finite cannot be kept")
    return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"


def _is_finite(value: Any) -> bool:
    """Whether all numbers are finite in a value, or in a list of them."""
    if isinstance(value, list):
        return all(map(_is_finite, value))
    return not isinstance(value, float) or isfinite(value)


def decode_file(data: bytes, label: str) -> ModelFile:
    """The file that was encoded; `label` names it in messages.

    ModelError when it is not a model, has wrong types, or is newer than this lrisk.
    """
    try:
        header = msgspec.json.decode(data, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        header = _Header(format="", format_version=0)
    if header.format != FORMAT:
        raise ModelError(f"{label}: not a model file; models are written by lrisk fit -o")
    if header.format_version > FORMAT_VERSION:
        raise ModelError(
            f"{label}: format version {header.format_version} is newer than this lrisk "
            f"({__version__}) reads; upgrade lrisk"
        )
    try:
        return msgspec.json.decode(data, type=ModelFile)
    except (msgspec.DecodeError, RecursionError) as error:
        raise damaged(label, error) from None


def damaged(label: str, finding: object) -> ModelError:
    """The sentence for a model file whose contents cannot be right."""
    return ModelError(f"{label}: damaged model file ({finding}); fit it again")
