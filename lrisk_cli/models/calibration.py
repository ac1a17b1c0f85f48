"""Margins of classes -> calibrated margins, by a map that is learned from out-of-fold margins.

A margin is the log-odds of the second of two classes, or one number for each of more. Calibrated
margins are margins again, so that losses, probabilities and predictions follow from them as ever.

Letters: n rows, k classes, Z (n, k) margins with a column for each class, T (k, k) targets.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lrisk_cli.models.calibration_record import CalibrationCurve, CalibrationRecord
from lrisk_cli.names import CalibrationName
from lrisk_cli.native.kernels import core
from lrisk_cli.native.threads import one_thread
from lrisk_cli.types import Array, Codes, Flags

# Rows of a chunk: sums do not depend on memory or threads.
_CHUNK = 8192
# Newton steps, and the decrement (in nats per row) below which one more whole step is the last: it
# squares the error, and a smaller gain would be lost among the roundings of the sums.
_STEPS, _LAST_DECREMENT = 100, 1e-10


def calibrated_margins(record: CalibrationRecord, margins: Array) -> Array:
    """Calibrated margins, each row by itself. margins: (n, 1) of two classes, (n, k) of more."""
    if record.slope is not None:
        return np.ascontiguousarray(record.slope * margins + np.array(record.intercepts))
    odds = log_odds_of_classes(margins)
    found = np.column_stack(
        [
            np.interp(odds[:, j], curve.scores, curve.probabilities)
            for j, curve in enumerate(record.curves)
        ]
    )
    if found.shape[1] == 1:
        return np.ascontiguousarray(np.log(found) - np.log1p(-found))
    # Probabilities that follow from these are divided by their sum.
    return np.ascontiguousarray(np.log(found))


def learn_calibration(
    method: CalibrationName,
    margins: Array,
    codes: Codes,
    n_classes: int,
    n_folds: int,
    weights: Array | None = None,
) -> CalibrationRecord:
    """The map of a method. margins: of rows by models that did not learn from them; codes: (n,).

    weights: of the rows, where they have any. (n,).
    """
    n = len(codes)
    if method is CalibrationName.PLATT:
        slope, intercepts = fit_platt(margins, codes, n_classes, weights)
        return CalibrationRecord(
            method="platt", folds=n_folds, rows=n, slope=slope, intercepts=intercepts
        )
    odds = log_odds_of_classes(margins)
    of_columns = [1] if odds.shape[1] == 1 else range(n_classes)
    curves = tuple(fit_isotonic(odds[:, j], codes == c, weights) for j, c in enumerate(of_columns))
    return CalibrationRecord(method="isotonic", folds=n_folds, rows=n, curves=curves)


def log_odds_of_classes(margins: Array) -> Array:
    """log(p / (1 - p)) of the second of two classes, or of each of more against all others."""
    if margins.shape[1] == 1:
        return margins
    rows, top = np.arange(len(margins)), np.argmax(margins, axis=1)
    Z = margins - margins[rows, top][:, None]
    powers = np.exp(Z)
    powers[rows, top] = 0.0
    rest = np.sum(powers, axis=1)
    # Of the likeliest class 1 - p is rest / (1 + rest); of any other one p is at most 1/2.
    logs = Z - np.log1p(rest)[:, None]
    with np.errstate(divide="ignore"):
        odds: Array = logs - np.log1p(-np.exp(logs))
        odds[rows, top] = -np.log(np.maximum(rest, np.finfo(np.float64).tiny))
    return odds


def fit_isotonic(scores: Array, hits: Flags, weights: Array | None = None) -> CalibrationCurve:
    """The non-decreasing fractions of hits nearest to them, as points of a curve. All (n,).

    Rows with equal scores count together. Fractions are kept within 1 / (n + 2) of 0 and 1, n the
    rows or their weight, so that no loss is infinite.
    """
    n = len(scores) if weights is None else float(weights.sum())
    places, which = np.unique(scores, return_inverse=True)
    which = which.reshape(-1)
    of_hits = None if weights is None else weights[hits]
    kind = np.int64 if weights is None else np.float64
    counts = np.bincount(which, weights, len(places)).astype(kind)
    found = np.bincount(which[hits], of_hits, len(places)).astype(kind)
    starts = np.empty(len(places), np.int32)
    n_blocks = core.pool_fractions(found, counts, starts)
    first = starts[:n_blocks]
    last = np.append(first[1:], len(places)) - 1
    least = 1.0 / (n + 2.0)
    levels = np.clip(found[:n_blocks] / counts[:n_blocks], least, 1.0 - least)
    ends = np.column_stack([first, last]).reshape(-1)
    keep = np.append(True, ends[1:] != ends[:-1])
    return CalibrationCurve(
        scores=tuple(places[ends[keep]].tolist()),
        probabilities=tuple(np.repeat(levels, 2)[keep].tolist()),
    )


def fit_platt(
    margins: Array, codes: Codes, n_classes: int, weights: Array | None = None
) -> tuple[float, tuple[float, ...]]:
    """a >= 0 and b of the probabilities softmax(a z + b) with the least mean cross-entropy.

    Of a row of class c the target is (N_c + 1) / (N_c + 2) for c, as Platt's, and the rest for the
    other classes alike. b: of the second of two classes, or of each of more with the sum 0. N_c:
    rows of a class, or their weight.
    """
    Z = margins if margins.shape[1] > 1 else np.column_stack([np.zeros(len(margins)), margins])
    Z = Z - Z.mean(axis=1)[:, None]
    scale = float(np.abs(Z).max()) or 1.0
    counts = np.bincount(codes, weights, n_classes)
    T = np.repeat(1.0 / (counts + 2.0) / (n_classes - 1), n_classes).reshape(n_classes, -1)
    np.fill_diagonal(T, (counts + 1.0) / (counts + 2.0))
    begin = np.append(scale, np.zeros(n_classes - 1))
    with one_thread():
        theta = _least_cross_entropy(_Scored(Z / scale, codes, T, weights), begin)
    if theta[0] <= 0.0:
        # Scores that rank the classes in reverse tell nothing: the fractions of the classes.
        logs = np.log(counts @ T)
        theta = np.append(0.0, logs[1:] - logs[0])
    slope, b = float(theta[0]) / scale, np.append(0.0, theta[1:])
    if n_classes == 2:
        return slope, (float(b[1]),)
    return slope, tuple((b - b.mean()).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """Rows by Z, class and weight, if any, and T."""

    Z: Array
    codes: Codes
    T: Array
    weights: Array | None

    def chunks(self) -> Iterator[tuple[Array, Array, Array | None]]:
        """Z, targets and weights of some rows."""
        for start in range(0, len(self.Z), _CHUNK):
            some = slice(start, start + _CHUNK)
            weights = None if self.weights is None else self.weights[some]
            yield self.Z[some], self.T[self.codes[some]], weights

    @property
    def total(self) -> float:
        """The rows, or their weight."""
        return len(self.Z) if self.weights is None else float(self.weights.sum())


def _least_cross_entropy(rows: _Scored, theta: Array) -> Array:
    """Newton's method with halved steps from theta = (a, b_2, ..., b_k); the problem is convex."""
    value, gradient, hessian = _derivatives(rows, theta)
    for _ in range(_STEPS):
        # So little that it moves no digit of a well-posed problem; scores may all be equal.
        hessian[np.diag_indices_from(hessian)] += 1e-15 * (1.0 + np.trace(hessian))
        step = np.linalg.solve(hessian, gradient)
        decrement = float(gradient @ step)
        if decrement <= _LAST_DECREMENT:
            return np.asarray(theta - step)
        length = 1.0
        while (found := _derivatives(rows, theta - length * step))[0] > (
            value - 1e-4 * length * decrement
        ):
            length *= 0.5
            if length < 1e-10:
                return theta
        theta = theta - length * step
        value, gradient, hessian = found
    return theta


def _derivatives(rows: _Scored, theta: Array) -> tuple[float, Array, Array]:
    """The mean cross-entropy, its gradient and its second derivatives in theta."""
    n, k = rows.total, rows.Z.shape[1]
    value, gradient, hessian = 0.0, np.zeros(k), np.zeros((k, k))
    b = np.append(0.0, theta[1:])
    for z, t, weights in rows.chunks():
        margins = theta[0] * z + b
        margins -= margins.max(axis=1)[:, None]
        P = np.exp(margins)
        totals = P.sum(axis=1)
        P /= totals[:, None]
        losses = np.log(totals) - np.einsum("ij,ij->i", t, margins)
        apart = P - t
        if weights is not None:
            losses *= weights
            apart *= weights[:, None]
        value += float(np.sum(losses))
        gradient += np.append(np.einsum("ij,ij->", z, apart), apart.sum(axis=0)[1:])
        mean = np.einsum("ij,ij->i", P, z)
        moved = P * (z - mean[:, None])
        if weights is not None:
            moved *= weights[:, None]
        hessian[0, 0] += float(np.einsum("ij,ij->", moved, z))
        hessian[0, 1:] += moved.sum(axis=0)[1:]
        Q = P[:, 1:]
        M = Q if weights is None else Q * weights[:, None]
        hessian[1:, 1:] += np.diag(M.sum(axis=0)) - np.einsum("ij,ik->jk", M, Q)
    hessian[1:, 0] = hessian[0, 1:]
    return value / n, gradient / n, hessian / n
