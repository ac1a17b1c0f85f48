"""A fitted model: it scores batches of rows, and is kept as plain JSON."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from msgspec.structs import asdict as fields
from numpy.typing import NDArray

from lrisk_cli import __version__
from lrisk_cli.design.columns.registry import feature_from_json
from lrisk_cli.design.encoding import EncodedBatch, Encoding, Target
from lrisk_cli.errors import DataError, LriskError, ModelError
from lrisk_cli.features.maps import FeatureMap, LinearMap, map_of
from lrisk_cli.losses.losses import Loss, make_loss
from lrisk_cli.models.model_file import (
    FORMAT,
    FORMAT_VERSION,
    EncodingEntry,
    FeatureEntry,
    FitRecord,
    ModelFile,
    damaged,
    decode_file,
    encode_file,
    read_file,
)
from lrisk_cli.names import Missing, Task
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.table import Batch, write_bytes
from lrisk_cli.types import Array, Codes


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """What a model says about the rows of a batch that it could use.

    rows: numbers in reading order; kept: offsets in the batch. predictions and targets are in
    units of the file, or class codes; targets and losses are None where no target was read.
    """

    rows: NDArray[np.int64]
    kept: NDArray[np.int64]
    predictions: Array | Codes
    probabilities: Array | None
    targets: Array | Codes | None
    losses: Array | None
    encoded: EncodedBatch


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """f(x) = v(x) . W on encoded rows. coefficients: W (values, outputs).

    The values v(x) are those of the feature map, then 1 for the intercept if there is one: the
    columns themselves, or the kernel with each landmark. One output for regression and for two
    classes (the log-odds of the second), otherwise one for each class.
    """

    encoding: Encoding
    loss: Literal["squared", "logistic"]
    risk: str
    l2: float
    coefficients: Array
    fit: FitRecord
    feature_map: FeatureMap = field(default_factory=LinearMap)

    @property
    def task(self) -> Task:
        """Regression for a number, classification for classes."""
        return Task.REGRESSION if self.target.kind == "number" else Task.CLASSIFICATION

    @property
    def target(self) -> Target:
        """What is predicted."""
        return self.encoding.target

    @property
    def is_linear(self) -> bool:
        """Whether it has a coefficient for each column."""
        return isinstance(self.feature_map, LinearMap)

    @property
    def spectrum(self) -> Spectrum:
        """The risk that was minimised."""
        return parse_risk(self.risk)

    @property
    def row_loss(self) -> Loss:
        """The loss of one row."""
        return make_loss(self.loss, len(self.target.classes))

    def margins(self, rows: Rows) -> Array:
        """v(x) W, each row by itself. (n, outputs)."""
        return self.feature_map.margins(rows, self.coefficients)

    def predict(self, Z: Array) -> Array | Codes:
        """Numbers in units of the file, or the code of the likeliest class, from margins. (n,)."""
        if self.task is Task.REGRESSION:
            numbers: Array = self.target.mean + self.target.scale * Z[:, 0]
            return numbers
        if Z.shape[1] == 1:
            return np.asarray(Z[:, 0] > 0.0, dtype=np.int32)
        return np.asarray(np.argmax(Z, axis=1), dtype=np.int32)

    def losses(self, Z: Array, targets: Array | Codes) -> Array:
        """Loss of each row in units of the file. targets: as `predict` would put them. (n,)."""
        loss = self.row_loss
        if self.task is Task.REGRESSION:
            Z = np.asarray(self.predict(Z), dtype=np.float64)[:, None]
        return loss.values(Z, loss.targets(targets))

    def score(self, batch: Batch, encoded: EncodedBatch | None = None) -> Scored:
        """Predictions, and losses where the batch holds the target; each row by itself.

        encoded: what the encoding makes of the batch, where that is known already.
        """
        encoded = self.encoding.encode(batch) if encoded is None else encoded
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self.margins(encoded.rows)
            predictions = self.predict(Z)
        if not np.isfinite(Z).all() or not np.isfinite(predictions).all():
            raise DataError(
                f"{batch.source}: a prediction is too large for a number; look for extreme values "
                "in the data, or fit the model again"
            )
        targets: Any = encoded.y
        if targets is not None and self.task is Task.REGRESSION:
            # The numbers as read: undoing the standardisation would round them.
            targets = np.asarray(batch.columns[self.target.name])[encoded.kept]
        return Scored(
            rows=batch.first_row + encoded.kept,
            kept=encoded.kept,
            predictions=predictions,
            probabilities=self.row_loss.probabilities(Z),
            targets=targets,
            losses=None if targets is None else self.losses(Z, targets),
            encoded=encoded,
        )


@dataclass(frozen=True, slots=True, eq=False)
class OriginalUnits:
    """A model on the columns of the file. coefficients: (columns, outputs), intercepts: (outputs,).

    effects: how far one deviation of a column (or a category) moves the prediction, on the
    scale of the fit. (columns,).
    """

    columns: tuple[str, ...]
    coefficients: Array
    intercepts: Array
    effects: Array


def original_units(model: Model) -> OriginalUnits:
    """Undo the standardisation of features and target of a linear model."""
    encoding = model.encoding
    means, scales = encoding.units
    at = encoding.n_columns - encoding.intercept
    W = model.coefficients * (model.target.scale / scales)[:, None]
    intercepts = model.target.mean - np.sum(means[:at, None] * W[:at], axis=0)
    if encoding.intercept:
        intercepts = intercepts + W[at]
    effects = np.abs(model.coefficients[:at]).max(axis=1)
    return OriginalUnits(encoding.column_names[:at], W[:at], intercepts, effects)


def save_model(path: str | Path, model: Model) -> None:
    """Write the model, whole or not at all; the same model gives the same bytes."""
    write_bytes(path, encode_model(model))


def encode_model(model: Model) -> bytes:
    """The model as indented JSON; every float reads back as the same float."""
    encoding, target = model.encoding, model.target
    W = model.coefficients
    entry = EncodingEntry(
        features=tuple(FeatureEntry(**feature.to_json()) for feature in encoding.features),
        intercept=encoding.intercept,
        target_mean=target.mean,
        target_scale=target.scale,
        missing=encoding.missing,
        unseen=encoding.unseen,
    )
    file = ModelFile(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        lrisk_version=__version__,
        kind="linear",
        task="regression" if model.task is Task.REGRESSION else "classification",
        target=target.name,
        classes=target.classes,
        encoding=entry,
        feature_map=model.feature_map.entry(),
        coefficients=(W[:, 0] if W.shape[1] == 1 else W).tolist(),
        loss=model.loss,
        risk=model.risk,
        l2=model.l2,
        fit=model.fit,
    )
    return encode_file(file)


def load_model(path: str | Path) -> Model:
    """Read a model file; ModelError when it is not one, is damaged, or is newer than this lrisk."""
    file = decode_file(read_file(path), str(path))
    if not isinstance(file, ModelFile):
        raise ModelError(f"{path}: holds clusters, and this needs a model that predicts a target")
    try:
        return _build(file)
    except (LriskError, ValueError) as error:
        raise damaged(str(path), error) from None


def _build(file: ModelFile) -> Model:
    """The model of a file whose types are right; ValueError where its parts disagree."""
    parse_risk(file.risk)
    coded = file.encoding
    features = tuple(feature_from_json(fields(entry)) for entry in coded.features)
    kind: Literal["number", "class"] = "number" if file.task == "regression" else "class"
    target = Target(file.target, kind, coded.target_mean, coded.target_scale, file.classes)
    encoding = Encoding(features, coded.intercept, target, coded.missing, coded.unseen)
    _check_encoding(encoding)
    if (file.loss == "squared") != (kind == "number"):
        raise ValueError(f"the {file.loss} loss does not fit {file.task}")
    n_outputs = make_loss(file.loss, len(target.classes)).n_outputs
    feature_map = map_of(file.feature_map)
    n_values = feature_map.width(encoding.n_columns - encoding.intercept) + encoding.intercept
    W = _matrix(file.coefficients, n_values, n_outputs)
    return Model(encoding, file.loss, file.risk, file.l2, W, file.fit, feature_map)


def _check_encoding(encoding: Encoding) -> None:
    if encoding.target.name in encoding.feature_names:
        raise ValueError("a column is named twice")
    n_classes = len(encoding.target.classes)
    if n_classes != len(set(encoding.target.classes)):
        raise ValueError("a class is named twice")
    if (encoding.target.kind == "class") != (n_classes >= 2):
        raise ValueError(f"{n_classes} classes do not fit the task")
    check_features(encoding)


def check_features(encoding: Encoding) -> None:
    """ValueError where what a file says of its features cannot be."""
    if len(set(encoding.feature_names)) < len(encoding.features):
        raise ValueError("a column is named twice")
    for feature in encoding.features:
        if encoding.missing is Missing.IMPUTE and feature.fill is None:
            raise ValueError(f"feature '{feature.name}' has no fill, and missing cells are filled")


def _matrix(rows: list[float | list[float]], n_columns: int, n_outputs: int) -> Array:
    """The coefficients as an array of the shape that encoding and feature map ask for."""
    width = None if n_outputs == 1 else n_outputs
    widths = {len(row) if isinstance(row, list) else None for row in rows}
    if len(rows) != n_columns or widths != {width}:
        raise ValueError(f"the coefficients do not fit {n_columns} columns and {n_outputs} outputs")
    return np.array(rows, dtype=np.float64).reshape(n_columns, n_outputs)
