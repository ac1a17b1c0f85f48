"""The JSON of model files: its types, its schema, and the reading and writing of it."""

from collections.abc import Iterator
from inspect import cleandoc
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from lrisk_cli import __version__
from lrisk_cli.errors import ModelError, UsageError, opt
from lrisk_cli.features.registry import FeatureMapEntry
from lrisk_cli.losses.registry import loss_pattern
from lrisk_cli.models.calibration_record import CalibrationRecord, ConformalRecord
from lrisk_cli.models.model_text import MOST_BYTES, check_bulk, check_keys
from lrisk_cli.models.validation_record import CrossValidationRecord, HoldoutRecord
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.models.written_record import WrittenEntry
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.tables.small_files import read_small

FORMAT: Literal["lrisk-model"] = "lrisk-model"
FORMAT_VERSION: Literal[1] = 1

Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0.0)]
NotNegative = Annotated[float, Meta(ge=0.0)]
LossText = Annotated[str, Meta(pattern=loss_pattern())]


class Omitting(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Keys that have their default are left out of the file."""


class FitStart(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one start of a fit ended; rounds: weighted fits that it took."""

    name: str
    objective: float
    rounds: Count


class GroupRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows whose errors lie around one centre off zero, in units of the target, and their share."""

    centre: float
    fraction: NotNegative


class RobustRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A robust fit. fraction: of outliers, estimated; groups: those that lie apart.

    scale: of the errors of the other rows, in units of the target (with the poisson loss, of
    deviance residuals); null for classes.
    """

    method: Literal["MM", "reweighted LTS", "exact fit", "label noise"]
    scale: NotNegative | None
    fraction: NotNegative
    groups: tuple[GroupRecord, ...] = ()


class FitRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the model was fitted and what was proved. The bounds are null for falling risks.

    smoothing_error: the smoothed risk differs from the risk by at most so much. passes: sweeps over
    the rows of any kind. epochs, gradient_evaluations: those of stochastic steps, apart from
    evaluations and proofs; null for other methods. stationarity: of falling risks, the length of
    the gradient at the fit, or of the step projected on a norm bound over its size. starts: where
    the search for a falling risk began; null where one start is enough. reweighted,
    trimmed_objective: of versions that weighed the rows once more after a subquantile.
    contamination: estimated fraction of outliers; null if not estimated. training_rows,
    held_out_rows: count and order-free digest of the encoded rows; empty if not known.
    engine: where the rows were; passes of a stream are over the files.
    """

    solver: str
    solver_reason: str
    status: str
    passes: NotNegative
    objective: float
    lower_bound: float | None
    absolute_gap: float | None
    gap: float | None
    objective_scale: Literal["file", "standardised"]
    smoothing: Literal["none", "l2", "entropy", "softplus"]
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
    cells_filled: dict[str, Count] = {}
    starts: tuple[FitStart, ...] | None = None
    reweighted: bool = False
    trimmed_objective: float | None = None
    contamination: float | None = None
    smoothing_error: float | None = None
    stationarity: float | None = None
    epochs: float | None = None
    gradient_evaluations: int | None = None
    training_rows: str = ""
    held_out_rows: str = ""
    engine: Literal["memory", "stream"] = "memory"

    def as_dict(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class FeatureEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of the table: (number - mean) / scale, or one 0/1 column for each category.

    A date is (days since 1970 - mean) / scale, then a column for each of its parts: 0/1 for months
    and weekdays of UTC; day_sin, day_cos of 2 pi x the minute / 1440, half_day_ of twice that.

    mean, scale: mean and deviation, or with --scaling mad median and 1.4826 MAD.
    other: one more 0/1 column for all other categories. fill: stands in for missing cells, or null.
    indicator: one more 0/1 column, the last of the feature, that is 1 where the cell is missing.
    """

    name: str
    kind: Literal["number", "category", "date"]
    mean: float
    scale: Positive
    categories: tuple[str, ...]
    other: bool
    fill: float | str | None
    indicator: bool = False
    parts: tuple[str, ...] = ()


class EncodingEntry(Omitting, frozen=True, kw_only=True):
    """How rows become numbers: the columns of the features in order, then the intercept if any.

    written: how cells of text were written, where not as programs write them.
    """

    features: Annotated[tuple[FeatureEntry, ...], Meta(min_length=1)]
    intercept: bool
    target_mean: float
    target_scale: Positive
    missing: Missing
    unseen: Unseen
    written: dict[str, WrittenEntry] = {}


class TargetScaleEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The logarithm that is fitted in place of the target: log(y), or log(1 + y).

    target_mean and target_scale of the encoding, losses and margins are those of the logarithm.
    smearing: the mean of exp(residual), which times exp(margin) estimates the mean (for log1p, that
    of 1 + y); null where the prediction is no mean.
    """

    transform: Literal["log", "log1p"]
    smearing: Positive | None


class ModelFile(Omitting, frozen=True, kw_only=True):
    """A model written by lrisk.

    coefficients: for each encoded column (landmark, frequency), and last for the intercept if any,
    a number, or a list of one number for each class where there are more than two; with two
    classes the margin is the log-odds of the second. With the poisson loss the margin is the
    logarithm of the mean over the exposure. exposure: the column that holds it; left out for none.
    cross_validation, holdout: how the candidate was chosen, and which rows were held out.
    calibration: what makes calibrated margins of these. conformal: scores for prediction intervals.
    target_scale: the logarithm that is fitted in place of the target; left out for none. robust:
    of a robust fit, whose objective is not the mean of the losses; left out for others.
    group_columns: of a risk of groups; scoring needs none of them. weight: how much the rows
    counted; left out where all counted alike.
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
    loss: LossText
    risk: str
    l2: NotNegative
    fit: FitRecord
    exposure: str | None = None
    group_columns: tuple[str, ...] = ()
    cross_validation: CrossValidationRecord | None = None
    holdout: HoldoutRecord | None = None
    robust: RobustRecord | None = None
    calibration: CalibrationRecord | None = None
    conformal: ConformalRecord | None = None
    target_scale: TargetScaleEntry | None = None
    weight: WeightRecord | None = None


class StartRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one start of a clustering ended. reseeded: clusters that lost all their weight."""

    objective: float
    iterations: Count
    status: str
    reseeded: Count


class CurvePoint(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One number of clusters that was tried; criterion: null where it is not defined."""

    k: Annotated[int, Meta(ge=1)]
    objective: float
    criterion: float | None


class ClusterRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the centres were found. curve: the numbers of clusters tried.

    criterion: of these. noise: the estimated fraction of the rows that belong to no cluster; null
    where it was not estimated. weight: how much the rows counted; null for alike.
    """

    solver: str
    status: str
    iterations: Count
    objective: float
    objective_scale: Literal["file", "standardised"]
    seed: int
    starts: Annotated[tuple[StartRecord, ...], Meta(min_length=1)]
    curve: tuple[CurvePoint, ...]
    rows_read: Count
    rows_used: Count
    rows_dropped: Count
    drop_reasons: dict[str, Count]
    fingerprint: str
    cells_filled: dict[str, Count] = {}
    criterion: Literal["calinski-harabasz", "icl"] = "calinski-harabasz"
    noise: NotNegative | None = None
    weight: WeightRecord | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record as it stands in the file."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return plain


class ClusterEncodingEntry(Omitting, frozen=True, kw_only=True):
    """How rows become numbers: the columns of the features in order; written as of models."""

    features: Annotated[tuple[FeatureEntry, ...], Meta(min_length=1)]
    missing: Missing
    unseen: Unseen
    written: dict[str, WrittenEntry] = {}


class ClusterEntry(Omitting, frozen=True, kw_only=True):
    """A cluster: its rows, the weight that the risk gives them, and its centre.

    centre: one number for each of the columns, in units of the file; fractions for categories.
    scatter: its covariance matrix on the encoded columns, where distances are Mahalanobis
    distances; left out where they are Euclidean.
    """

    rows: Count
    weight: NotNegative
    centre: list[float]
    scatter: list[list[float]] | None = None


class ClustersFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Clusters found by lrisk. A row belongs to the nearest centre on the encoded columns.

    outlier_distance: rows farther than this from their centre are outliers; null for none.
    """

    format: Literal["lrisk-model"]
    format_version: Literal[1]
    lrisk_version: str
    kind: Literal["clusters"]
    risk: str
    columns: tuple[str, ...]
    encoding: ClusterEncodingEntry
    clusters: Annotated[tuple[ClusterEntry, ...], Meta(min_length=1)]
    outlier_distance: NotNegative | None
    fit: ClusterRecord


class _Header(Struct):
    """The keys that say whether and how the rest can be read."""

    format: str
    format_version: int
    kind: str = "linear"


_FILES: dict[str, type[ModelFile] | type[ClustersFile]] = {
    "linear": ModelFile,
    "clusters": ClustersFile,
}


def model_schema() -> dict[str, Any]:
    """The JSON Schema of model files, which are of one kind or another."""
    kinds, definitions = msgspec.json.schema_components(
        _FILES.values(), ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        if "description" in definition:
            definition["description"] = cleandoc(definition["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"lrisk model, format version {FORMAT_VERSION}",
        "anyOf": list(kinds),
        "$defs": definitions,
    }


def encode_file(file: ModelFile | ClustersFile) -> bytes:
    """Indented JSON; every float reads back as the same float."""
    if not all(isfinite(x) for x in _floats(msgspec.to_builtins(file))):
        raise ValueError("a model with numbers that are not finite cannot be kept")
    text = msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"
    if len(text) > MOST_BYTES:
        raise UsageError(
            f"the model takes {len(text):,} bytes, more than the {MOST_BYTES:,} that lrisk reads "
            f"back; lower {opt('rank')}, or leave columns out"
        )
    return text


def _floats(part: Any) -> Iterator[float]:
    """All floats of a document."""
    if isinstance(part, float):
        yield part
    elif isinstance(part, dict | list | tuple):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _floats(inner)


def read_file(path: str | Path) -> bytes:
    """The bytes of a model file; ModelError when it cannot be read, or is far too long."""
    try:
        text = read_small(path, MOST_BYTES)
    except FileNotFoundError:
        raise ModelError(f"{path}: no such model file; check the path") from None
    except OSError as error:
        raise ModelError(f"{path}: the model cannot be read ({error.strerror})") from None
    if text is None:
        raise ModelError(f"{path}: not a model file; no model has more than {MOST_BYTES:,} bytes")
    return text


def decode_file(data: bytes, label: str) -> ModelFile | ClustersFile:
    """The file that was encoded; `label` names it in messages.

    ModelError when it is not a model, has wrong types, or is newer than this lrisk.
    """
    kind = _header(data, label).kind
    try:
        if kind not in _FILES:
            raise msgspec.ValidationError(f"unknown kind {kind!r}")
        file = msgspec.json.decode(data, type=_FILES[kind])
        check_keys(data)
        return file
    # Before 0.21, the errors of msgspec are no ValueErrors.
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise damaged(label, error) from None


def _header(data: bytes, label: str) -> _Header:
    try:
        check_bulk(data)
        header = msgspec.json.decode(data, type=_Header)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        header = _Header(format="", format_version=0)
    except ValueError as error:
        raise damaged(label, error) from None
    if header.format != FORMAT:
        raise ModelError(
            f"{label}: not a model file; models are written by lrisk fit -o and lrisk cluster -o"
        )
    if header.format_version > FORMAT_VERSION:
        raise ModelError(
            f"{label}: format version {header.format_version} is newer than this lrisk "
            f"({__version__}) reads; upgrade lrisk"
        )
    return header


def damaged(label: str, finding: object) -> ModelError:
    """The sentence for a model file whose contents cannot be right."""
    return ModelError(f"{label}: damaged model file ({finding}); fit it again")
