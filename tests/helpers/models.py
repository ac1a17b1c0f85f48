"""A small model made by hand."""

from dataclasses import replace

import numpy as np

from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.target import ClassTarget, NumberTarget, Target
from lrisk_cli.models.model import Model
from lrisk_cli.models.model_file import FitRecord
from lrisk_cli.names import Missing, Unseen

RECORD = FitRecord(
    solver="lsvrg",
    solver_reason="asked for",
    status="converged",
    passes=12.5,
    objective=0.1 + 0.2,
    lower_bound=0.3,
    absolute_gap=4e-17,
    gap=1e-16,
    objective_scale="standardised",
    smoothing="none",
    nu=None,
    smoothed_objective=None,
    smoothed_gap=None,
    step=0.01,
    seed=0,
    rows_read=10,
    rows_used=9,
    rows_dropped=1,
    drop_reasons={"missing width": 1},
    fingerprint="ab" * 16,
)


FEATURES = (
    NumberFeature("width", mean=3.0, scale=1.7),
    CategoryFeature("color", categories=("blue", "red")),
    NumberFeature("age", mean=-0.1, scale=0.3),
)


NUMBER = NumberTarget("price", mean=100.0, scale=20.0)


def make_model(target: Target = NUMBER, n_outputs: int = 1, **changes) -> Model:
    """A model with coefficients that no decimal spells shortly."""
    encoding = Encoding(FEATURES, True, target, Missing.ERROR, Unseen.ERROR)
    W = np.random.default_rng(0).standard_normal((encoding.n_columns, n_outputs)) / 3.0
    loss = "logistic" if target.classes else "squared"
    return replace(Model(encoding, loss, "superquantile:0.9", 1 / 3, W, RECORD), **changes)


def classes_of(n_classes: int) -> Target:
    return ClassTarget("kind", tuple("abcdef"[:n_classes]))
