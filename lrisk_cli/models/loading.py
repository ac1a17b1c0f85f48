"""Read a model file of any kind."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import InvalidOption, LriskError, ModelError, UsageError, opt
from lrisk_cli.models.cluster_model import ClusterModel, build_clusters
from lrisk_cli.models.model import Model, build_model
from lrisk_cli.models.model_file import ModelFile, damaged, decode_file, read_file
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.tables.model_text import is_model_file

AnyModel = TypeVar("AnyModel", Model, ClusterModel, Model | ClusterModel)


# Models that the caller holds in memory, by the names that stand for their paths.
_MODELS: ContextVar[Mapping[str, Model | ClusterModel] | None] = ContextVar("models", default=None)


@contextmanager
def models_named(models: Mapping[str, Model | ClusterModel]) -> Iterator[None]:
    """In this context these names stand for models in memory instead of paths."""
    token = _MODELS.set(models)
    try:
        yield
    finally:
        _MODELS.reset(token)


def load_model(path: str | Path) -> Model | ClusterModel:
    """The model that a file holds, whatever its kind.

    ModelError when it is not a model file, is damaged, or is newer than this lrisk.
    """
    in_memory = (_MODELS.get() or {}).get(str(path))
    if in_memory is not None:
        return in_memory
    file = decode_file(read_file(path), str(path))
    try:
        return build_model(file) if isinstance(file, ModelFile) else build_clusters(file)
    except (LriskError, ValueError) as error:
        raise damaged(str(path), error) from None


def load_beside(path: str | Path, data: Iterable[str]) -> Model | ClusterModel:
    """The model of a file. data: the tables named beside it, one of which may be the model."""
    try:
        return load_model(path)
    except ModelError:
        swapped = next((each for each in data if is_model_file(each)), None)
        if swapped is None or is_model_file(path):
            raise
        raise ModelError(
            f"{path}: not a model file, and {swapped} is one: the two seem to be swapped; name the "
            "model first, then the table"
        ) from None


def load_predictor(path: str | Path) -> Model:
    """A model that predicts a target; ModelError for clusters."""
    model = load_model(path)
    if isinstance(model, ClusterModel):
        raise ModelError(f"{path}: holds clusters, and this needs a model that predicts a target")
    return model


def with_policies(
    path: str,
    model: AnyModel,
    missing: Missing | None,
    unseen: Unseen | None,
    exposure: str | None = None,
) -> AnyModel:
    """The model with other policies than those of the fit, where they are given.

    exposure: the column that holds it in place of the one that the fit recorded.
    """
    encoding: Encoding = model.encoding
    missing, unseen = missing or encoding.missing, unseen or encoding.unseen
    if missing is Missing.IMPUTE and any(feature.fill is None for feature in encoding.features):
        raise UsageError(
            f"{path}: the fit learnt no values to fill in; pass {opt('missing', 'drop')}, or fit "
            f"with {opt('missing', 'impute')}"
        )
    if exposure is not None:
        encoding = _with_exposure(path, encoding, exposure)
    return replace(model, encoding=replace(encoding, missing=missing, unseen=unseen))


def _with_exposure(path: str, encoding: Encoding, exposure: str) -> Encoding:
    if encoding.exposure is None:
        raise InvalidOption("exposure", f": {path} was fitted without one; leave it out")
    if exposure in (*encoding.feature_names, encoding.target.name):
        raise InvalidOption("exposure", f": '{exposure}' is read for the model already")
    return replace(encoding, exposure=exposure)
