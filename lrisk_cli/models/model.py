"""A fitted model: it scores batches of rows, and is kept as plain JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict as fields
from msgspec.structs import replace as replace_fields

from lrisk_cli import __version__
from lrisk_cli.design.columns.registry import feature_from_json
from lrisk_cli.design.encoding import EncodedBatch, Encoding
from lrisk_cli.design.target import Target, outside_scale, target_from_file
from lrisk_cli.design.target_scale import find_outside
from lrisk_cli.errors import DataError
from lrisk_cli.features.linear import LinearMap
from lrisk_cli.features.maps import FeatureMap
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.models.calibration_record import CalibrationRecord, ConformalRecord
from lrisk_cli.models.model_file import (
    FORMAT,
    FORMAT_VERSION,
    EncodingEntry,
    FeatureEntry,
    FitRecord,
    ModelFile,
    RobustRecord,
    TargetScaleEntry,
    encode_file,
)
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.models.validation_record import CrossValidationRecord, HoldoutRecord
from lrisk_cli.models.weight_record import WeightRecord
from lrisk_cli.models.written_record import written_entries, written_from
from lrisk_cli.names import Missing, TargetScale, Task
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.table import Batch, write_bytes
from lrisk_cli.types import Array, Codes, Targets


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """f(x) = v(x) . W on encoded rows. coefficients: W (values, outputs).

    The values v(x) are those of the feature map, then 1 for the intercept if there is one: the
    columns themselves, or the kernel with each landmark. One output for regression and for two
    classes (the log-odds of the second), otherwise one for each class. calibration: what makes of
    these margins those that probabilities and losses follow from.

    Where the logarithm of the target is fitted, all numbers but those of `restored` are logarithms.
    smearing: then the factor from the exponential of a prediction to the mean, if it is one.

    group_columns: of a risk of groups; predictions and losses need none of them.
    """

    encoding: Encoding
    loss: str
    risk: str
    l2: float
    coefficients: Array
    fit: FitRecord
    feature_map: FeatureMap = field(default_factory=LinearMap)
    cross_validation: CrossValidationRecord | None = None
    holdout: HoldoutRecord | None = None
    robust: RobustRecord | None = None
    smearing: float | None = None
    calibration: CalibrationRecord | None = None
    conformal: ConformalRecord | None = None
    group_columns: tuple[str, ...] = ()
    weight: WeightRecord | None = None

    @property
    def uncalibrated(self) -> "Model":
        """The model that was fitted, whose risk was minimised and certified."""
        return replace(self, calibration=None)

    @property
    def task(self) -> Task:
        """Regression for a number, classification for classes."""
        return self.target.task

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
        """The risk that was minimised; of a risk of groups, that within them."""
        risk = parse_fit_risk(self.risk)
        return risk if isinstance(risk, Spectrum) else risk.within

    @property
    def group_risk(self) -> GroupRisk | None:
        """The risk of groups that was minimised, if it was one."""
        risk = parse_fit_risk(self.risk)
        return risk if isinstance(risk, GroupRisk) else None

    @property
    def row_loss(self) -> Loss:
        """The loss of one row, in units of the file."""
        return make_loss(self.loss, len(self.target.classes))

    def margins(self, rows: Rows) -> Array:
        """v(x) W, calibrated if the model is; each row by itself. (n, outputs)."""
        Z = self.feature_map.margins(rows, self.coefficients)
        if self.calibration is None:
            return Z
        from lrisk_cli.models.calibration import calibrated_margins

        return calibrated_margins(self.calibration, Z)

    def in_units(self, Z: Array) -> Array:
        """Margins in units of the file. (n, outputs)."""
        margins: Array = self.target.in_units(Z)
        return margins

    def predict(self, Z: Array, exposure: Array | None = None) -> Array | Codes:
        """Numbers in units of the file, or the code of the likeliest class, from margins. (n,)."""
        return self.row_loss.predict(self.in_units(Z), exposure)

    def losses(self, Z: Array, targets: Array | Codes, exposure: Array | None = None) -> Array:
        """Loss of each row in units of the file. targets: as `predict` would put them. (n,)."""
        loss = self.row_loss
        return loss.values(self.in_units(Z), loss.targets(targets, exposure))

    def _checked_losses(
        self, Z: Array, targets: Array | Codes, encoded: EncodedBatch, batch: Batch
    ) -> Array:
        """Losses of the rows of a batch; a target that the loss cannot take is refused."""
        invalid = self.row_loss.find_invalid(targets)
        if invalid is not None:
            at, demand = invalid
            raise invalid_target(
                f"{batch.source}, column '{self.target.name}', row "
                f"{batch.source_row + int(encoded.kept[at])}",
                float(targets[at]), self.loss, demand,
            )  # fmt: skip
        return self.losses(Z, targets, encoded.exposure)

    def labelled(self, values: Any) -> Any:
        """Class codes as class labels; numbers in units of the file. (n,)."""
        if not self.target.classes:
            return self.target.restore(values)
        import pyarrow as pa

        return pa.DictionaryArray.from_arrays(values, list(self.target.classes))

    def prediction_columns(self, scored: ScoredBatch) -> dict[str, Any]:
        """The prediction of each row, and the probability of each class if there are classes."""
        columns: dict[str, Any] = {"prediction": self.labelled(scored.predictions)}
        if self.smearing is not None:
            columns["prediction_mean"] = self.target.restore(scored.predictions, self.smearing)
        if scored.probabilities is not None:
            for code, label in enumerate(self.target.classes):
                columns[f"probability:{label}"] = scored.probabilities[:, code]
        return columns

    def targets_of(self, batch: Batch, encoded: EncodedBatch) -> Targets | None:
        """Targets of the encoded rows, as `predict` would put them; None if none was read. (n,)."""
        if encoded.y is None:
            return None
        cells = batch.columns[self.target.name]
        if self.target.on is not TargetScale.NONE:
            self._refuse_outside(cells, encoded, batch)
        return self.target.as_read(cells, encoded.kept, encoded.y)

    def _refuse_outside(self, cells: Any, encoded: EncodedBatch, batch: Batch) -> None:
        """Refuse a target that has no logarithm."""
        kept = np.asarray(cells)[encoded.kept]
        at = find_outside(kept, self.target.on)
        if at is not None:
            row = batch.source_row + int(encoded.kept[at])
            place = f"{batch.source}, column '{self.target.name}', row {row}"
            raise outside_scale(place, float(kept[at]), self.target.on)

    def score(self, batch: Batch, encoded: EncodedBatch | None = None) -> ScoredBatch:
        """Predictions, and losses where the batch holds the target; each row by itself.

        encoded: what the encoding makes of the batch, where that is known already.
        """
        encoded = self.encoding.encode(batch) if encoded is None else encoded
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self.margins(encoded.rows)
            predictions = self.predict(Z, encoded.exposure)
        numbers = self.target.restore(predictions, self.smearing or 1.0)
        if not np.isfinite(Z).all() or not np.isfinite(numbers).all():
            raise DataError(
                f"{batch.source}: a prediction is too large for a number; look for extreme values "
                "in the data, or fit the model again"
            )
        targets = self.targets_of(batch, encoded)
        return ScoredBatch(
            batch=batch,
            encoded=encoded,
            predictions=predictions,
            losses=None if targets is None else self._checked_losses(Z, targets, encoded, batch),
            targets=targets,
            probabilities=self.row_loss.probabilities(Z),
        )


def invalid_target(place: str, target: float, loss: str, demand: str) -> DataError:
    """The sentence for a target that a loss cannot take."""
    return DataError(
        f"{place}: the target is {target:g}, and the {loss} loss needs targets of {demand}; "
        "choose another loss or correct the table"
    )


@dataclass(frozen=True, slots=True, eq=False)
class OriginalUnits:
    """A model on the columns of the file. coefficients: (columns, outputs), intercepts: (outputs,).

    outputs: the target, or the classes that they are about. effects: how far one deviation of a
    column (or a category) moves the prediction, on the scale of the fit. (columns,).
    """

    columns: tuple[str, ...]
    outputs: tuple[str, ...]
    coefficients: Array
    intercepts: Array
    effects: Array

    @property
    def order(self) -> list[int]:
        """Positions of the columns by falling effect; equal ones in their order."""
        return sorted(range(len(self.effects)), key=lambda j: -float(self.effects[j]))


def original_units(model: Model) -> OriginalUnits | None:
    """Undo the standardisation of features and target; None for a kernel model.

    A kernel model has no coefficients of columns.
    """
    if not model.is_linear:
        return None
    classes = model.target.classes
    outputs = (classes[1:] if len(classes) == 2 else classes) or (model.target.fitted_name,)
    encoding = model.encoding
    means, scales = encoding.units
    at = encoding.n_columns - encoding.intercept
    W = model.coefficients * (model.target.scale / scales)[:, None]
    intercepts = model.target.mean - np.sum(means[:at, None] * W[:at], axis=0)
    if encoding.intercept:
        intercepts = intercepts + W[at]
    effects = np.abs(model.coefficients[:at]).max(axis=1)
    return OriginalUnits(encoding.column_names[:at], outputs, W[:at], intercepts, effects)


def with_digests(model: Model, digests: Mapping[str, str]) -> Model:
    """The model with digests of its rows, by the name of the field of its record."""
    return replace(model, fit=replace_fields(model.fit, **digests))


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
        written=written_entries(encoding.written),
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
        exposure=encoding.exposure,
        group_columns=model.group_columns,
        cross_validation=model.cross_validation,
        holdout=model.holdout,
        robust=model.robust,
        calibration=model.calibration,
        conformal=model.conformal,
        target_scale=_scale_entry(model),
        weight=model.weight,
    )
    return encode_file(file)


def _scale_entry(model: Model) -> TargetScaleEntry | None:
    match model.target.on:
        case TargetScale.LOG:
            return TargetScaleEntry(transform="log", smearing=model.smearing)
        case TargetScale.LOG1P:
            return TargetScaleEntry(transform="log1p", smearing=model.smearing)
    return None


def build_model(file: ModelFile) -> Model:
    """The model of a file whose types are right; ValueError where its parts disagree."""
    if isinstance(parse_fit_risk(file.risk), GroupRisk) != bool(file.group_columns):
        raise ValueError(f"columns of groups do not fit the risk {file.risk}")
    coded = file.encoding
    features = tuple(feature_from_json(fields(entry)) for entry in coded.features)
    scale = file.target_scale
    target = target_from_file(
        file.task, file.target, coded.target_mean, coded.target_scale, file.classes,
        TargetScale.NONE if scale is None else TargetScale(scale.transform),
    )  # fmt: skip
    encoding = Encoding(
        features, coded.intercept, target, coded.missing, coded.unseen, file.exposure,
        written=written_from(coded.written, features, target.name, target.classes),
    )  # fmt: skip
    _check_encoding(encoding)
    loss = make_loss(file.loss, len(target.classes))
    if loss.task != file.task:
        raise ValueError(f"the {file.loss} loss does not fit {file.task}")
    if file.exposure is not None and not loss.takes_exposure:
        raise ValueError(f"the {file.loss} loss takes no exposure")
    if scale is not None and loss.log_link:
        raise ValueError(f"the {file.loss} loss has a logarithm of its own")
    if not loss.scales_targets and (target.mean, target.scale) != (0.0, 1.0):
        raise ValueError(f"the {file.loss} loss takes targets as they are")
    feature_map = file.feature_map.map()
    n_values = feature_map.width(encoding.n_columns - encoding.intercept) + encoding.intercept
    W = _matrix(file.coefficients, n_values, loss.n_outputs)
    if file.calibration is not None:
        file.calibration.check(len(target.classes))
    if file.conformal is not None:
        file.conformal.check(len(target.classes), log_link=loss.log_link)
    return Model(
        encoding, file.loss, file.risk, file.l2, W, file.fit, feature_map,
        cross_validation=file.cross_validation, holdout=file.holdout,
        robust=file.robust,
        calibration=file.calibration, conformal=file.conformal,
        smearing=None if scale is None else scale.smearing, group_columns=file.group_columns,
        weight=file.weight,
    )  # fmt: skip


def _check_encoding(encoding: Encoding) -> None:
    if encoding.target.name in encoding.needed_names:
        raise ValueError("a column is named twice")
    check_features(encoding)


def check_features(encoding: Encoding) -> None:
    """ValueError where what a file says of its features cannot be."""
    if len(set(encoding.feature_names)) < len(encoding.feature_names):
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
