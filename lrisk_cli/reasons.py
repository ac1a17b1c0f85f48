"""Why a row's loss is large: what each feature adds to it, in words of the original columns.

A feature's effect on a row is how far it moves the margins away from where its usual value (the
centre that standardising took off; for a category, the average over all of them) would leave them.
For a linear model the effects add up, and so do their shares of the loss. For a kernel the share is
what the loss would lose with the usual value in place of the row's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.encoding import OTHER, Feature, Targets
from lrisk_cli.model import Model
from lrisk_cli.names import Task

Array = NDArray[np.float64]

# Features named in a reason, and the least share of the loss that is worth a word.
NAMED = 3
LEAST_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Explained:
    """Shares of the loss of some rows. features: (rows, features); target: (rows,), the rest."""

    features: Array
    target: Array


def explain(model: Model, X: Array, targets: Targets) -> Explained:
    """How the loss of each row comes about. X: (m, columns) encoded; targets: units of the file.

    Regression, linear: with r = y - f(x) and f(x) = base + sum_j e_j the loss r^2/2 is r/2 times
    (y - base) - sum_j e_j, term by term. Classification, linear: the margin by which the likeliest
    wrong class beats the true one, term by term. Kernels: differences of the loss.
    """
    Z = model.margins(X)
    if not model.is_linear:
        return _by_differences(model, X, Z, targets)
    effects = _linear_effects(model, X)
    if model.task is Task.REGRESSION:
        residuals = np.asarray(targets, dtype=np.float64) - model.predict(Z)
        parts = -model.target.scale * effects[:, :, 0]
        whole = residuals
    else:
        true, rival = _contest(Z, np.asarray(targets, dtype=np.int32))
        parts = _picked(effects, rival) - _picked(effects, true)
        whole = _picked(Z[:, None, :], rival)[:, 0] - _picked(Z[:, None, :], true)[:, 0]
    shares = parts / np.where(whole == 0.0, 1.0, whole)[:, None]
    return Explained(shares, 1.0 - shares.sum(axis=1))


def reasons(model: Model, X: Array, targets: Targets) -> list[str]:
    """A sentence for each row: what was expected, and which features make the difference."""
    explained = explain(model, X, targets)
    findings = _findings(model, X, targets)
    starts = _starts(model)
    lines = []
    for i, finding in enumerate(findings):
        shares = explained.features[i]
        largest = [j for j in np.argsort(-shares, kind="stable")[:NAMED] if shares[j] > LEAST_SHARE]
        words = [
            f"{_value(model.encoding.features[j], X[i], starts[j])} ({100 * shares[j]:.0f} %)"
            for j in largest
        ]
        if explained.target[i] > LEAST_SHARE and model.task is Task.REGRESSION:
            words.append(f"{model.target.name} itself ({100 * explained.target[i]:.0f} %)")
        lines.append(finding + (": " + ", ".join(words) if words else ""))
    return lines


def _linear_effects(model: Model, X: Array) -> Array:
    """What each feature adds to the margins beyond its usual value. (m, features, k)."""
    W = model.coefficients
    effects = np.empty((len(X), len(model.encoding.features), W.shape[1]))
    for j, (feature, start) in enumerate(zip(model.encoding.features, _starts(model), strict=True)):
        columns = slice(start, start + feature.n_columns)
        usual = W[columns].mean(axis=0) if feature.kind == "category" else 0.0
        effects[:, j] = X[:, columns] @ W[columns] - usual
    return effects


def _by_differences(model: Model, X: Array, Z: Array, targets: Targets) -> Explained:
    losses = model.losses(Z, targets)
    shares = np.empty((len(X), len(model.encoding.features)))
    for j, (feature, start) in enumerate(zip(model.encoding.features, _starts(model), strict=True)):
        usual = X.copy()
        usual[:, start : start + feature.n_columns] = (
            1.0 / feature.n_columns if feature.kind == "category" else 0.0
        )
        shares[:, j] = losses - model.losses(model.margins(usual), targets)
    shares /= np.where(losses == 0.0, 1.0, losses)[:, None]
    # Differences need not add up; what all features leave is the target's.
    return Explained(shares, 1.0 - np.maximum(shares, 0.0).sum(axis=1))


def _contest(Z: Array, codes: Targets) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The columns of the true class and of its strongest rival; of one column, -1 is its zero."""
    rows = np.arange(len(Z))
    if Z.shape[1] == 1:
        return np.where(codes == 1, 0, -1), np.where(codes == 1, -1, 0)
    others = Z.copy()
    others[rows, codes] = -np.inf
    return codes.astype(np.intp), np.argmax(others, axis=1)


def _picked(effects: Array, columns: NDArray[np.intp]) -> Array:
    """effects[i, :, columns[i]], zero where the column is -1. (m, features)."""
    picked: Array = effects[np.arange(len(effects)), :, columns]
    return np.where(columns[:, None] < 0, 0.0, picked)


def _findings(model: Model, X: Array, targets: Targets) -> list[str]:
    """What the model expected of each row."""
    Z, name = model.margins(X), model.target.name
    if model.task is Task.REGRESSION:
        return [
            f"{name} = {target:.6g}, {expected:.6g} expected"
            for target, expected in zip(targets, model.predict(Z), strict=True)
        ]
    probabilities = np.exp(-model.losses(Z, targets))
    return [
        f"{name} = {model.target.classes[code]} has probability {p:.2g}"
        for code, p in zip(targets, probabilities, strict=True)
    ]


def _starts(model: Model) -> Sequence[int]:
    """The first column of X of each feature."""
    widths = [feature.n_columns for feature in model.encoding.features]
    return [sum(widths[:j]) for j in range(len(widths))]


def _value(feature: Feature, x: Array, start: int) -> str:
    """The row's value of a feature, and the usual one where it is known."""
    if feature.kind == "category":
        hot = np.flatnonzero(x[start : start + feature.n_columns])
        text = (*feature.categories, OTHER)[hot[0]] if len(hot) else OTHER
        return f"{feature.name} = {text}"
    value = feature.mean + feature.scale * x[start]
    standardised = (feature.mean, feature.scale) != (0.0, 1.0)
    usual = f", usually {feature.mean:.4g}" if standardised else ""
    return f"{feature.name} = {value:.6g}{usual}"
