"""A model and some rows -> for each row the columns that its loss comes from, in words.

Every loss is split into parts: one of the target, one of each feature. With u the usual row, y the
target of row x and c_j = w_j (x_j - u_j), so that f(x) = f(u) + sum_j c_j:

- linear, numbers: the target's part is the loss at u, that of feature j is c_j times the mean slope
  of the loss between u and x, (l(f(x)) - l(f(u))) / (f(x) - f(u)). They sum to the loss, exactly.
  For squared losses, with r = y - f, the slope is -(r(x) + r(u)) / 2. f is the margin: with a log
  link the logarithm of the mean, so that c_j is a factor on it.
- linear, classes: f = z_o - z_y are the log-odds of the likeliest other class o against the given
  y. The target's part is f(u), that of feature j is c_j. They sum to f(x), exactly.
- kernels: that of the target is the loss of u with y; that of feature j is by how much the loss
  falls when x_j becomes u_j. They need not sum to anything.

Categories are a feature each, whatever the number of their columns.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.describe_row import RowWords, spans
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.number_text import (
    clipped,
    percent,
    spell,
    spell_cell,
    spell_effect,
    spell_factor,
    spell_odds,
)
from lrisk_cli.models.model import Model
from lrisk_cli.names import TargetScale, Task
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# Numbers, or codes of classes.
Targets = NDArray[Any]

MOST_NAMED = 3
# The largest part is always named, others from this fraction of all that raises the loss.
SMALLEST_SHARE = 0.15
# Margins that differ by this fraction are taken for equal: their losses would cancel.
CLOSE = 1e-9
_CHUNK = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Usual:
    """An ordinary encoded row, and how far columns commonly are from it. Both (columns,)."""

    centre: Array
    spread: Array


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """Additive parts of losses. target: (m,); features: (m, features).

    effects: (m, features), what each does to the prediction, in its units or as log-odds of the
    other class against the given one.
    """

    target: Array
    features: Array
    effects: Array


@dataclass(frozen=True, slots=True, eq=False)
class Reasons:
    """Why rows lose so much. named: (m, 3) positions in `columns`, -1 for none, largest part first.

    parts: (m, 3) those of the columns named, NaN for none.
    """

    columns: tuple[str, ...]
    sentences: list[str]
    named: NDArray[np.int32]
    parts: Array

    def of(self, row: int) -> list[tuple[str, float]]:
        """The columns named for a row, and their parts."""
        each = zip(self.named[row].tolist(), self.parts[row].tolist(), strict=True)
        return [(self.columns[column], part) for column, part in each if column >= 0]

    def take(self, rows: NDArray[np.intp]) -> "Reasons":
        """Those of some rows, in this order."""
        sentences = [self.sentences[row] for row in rows.tolist()]
        return Reasons(self.columns, sentences, self.named[rows], self.parts[rows])


def join_reasons(reasons: Sequence[Reasons]) -> Reasons:
    """Reasons of one model, one after the other."""
    return Reasons(
        reasons[0].columns,
        [sentence for each in reasons for sentence in each.sentences],
        np.concatenate([each.named for each in reasons]),
        np.concatenate([each.parts for each in reasons]),
    )


def usual_row(rows: Rows, encoding: Encoding) -> Usual:
    """Medians and robust deviations of numbers, the most frequent category of each text.

    Of dates the median, and its parts.

    Where most rows have the same number, its deviation is the common one. There is a row at least.
    """
    n_rows, n_columns = rows.shape
    centre, spread = np.zeros(n_columns), np.zeros(n_columns)
    # Those of categories are counts.
    sums = rows.combine(np.ones((n_rows, 1)))[:, 0]
    for feature, first, stop in spans(encoding):
        centre[first:stop], spread[first:stop] = feature.usual(rows, first, sums[first:stop])
    centre[encoding.n_columns - encoding.intercept :] = 1.0
    return Usual(centre, spread)


def learned_row(usual: Usual, encoding: Encoding) -> Usual:
    """The usual row of the rows that a model learned from, as far as it remembers them.

    It remembers the centre and scale of numbers unless they were left as they are, and the most
    frequent category if it fills in missing ones. The rest is that of `usual`.
    """
    centre, spread = usual.centre.copy(), usual.spread.copy()
    for feature, first, stop in spans(encoding):
        learned = feature.learned_usual()
        if learned is not None:
            centre[first:stop], spread[first:stop] = learned
    return Usual(centre, spread)


def split_losses(
    model: Model, usual: Usual, X: Array, targets: Targets, exposure: Array | None = None
) -> Parts:
    """The parts of each loss; see above. X: (m, columns); targets: (m,), as the file has them.

    exposure: (m,), where the model needs it; the usual row has that of the row beside it.
    """
    at_usual = np.repeat(model.margins(DenseRows(usual.centre[np.newaxis])), len(X), axis=0)
    if not model.is_linear or model.calibration is not None:
        return _leave_one_out(model, usual, X, targets, at_usual, exposure)
    firsts = first_columns(model.encoding)
    n_columns = model.encoding.n_columns - model.encoding.intercept
    moves = (X - usual.centre)[:, :n_columns]
    W = model.coefficients[:n_columns]
    if model.task is Task.REGRESSION:
        moves *= model.target.scale * W[:, 0]
        effects = np.add.reduceat(moves, firsts, axis=1)
        Z = model.margins(DenseRows(X))
        before, slopes = _split_numbers(model, at_usual, Z, targets, exposure)
        return Parts(before, effects * slopes[:, np.newaxis], effects)
    others = likeliest_other(model.margins(DenseRows(X)), targets)
    by_class = np.column_stack([np.zeros(n_columns), W[:, 0]]) if W.shape[1] == 1 else W
    moves *= (by_class[:, others] - by_class[:, targets]).T
    effects = np.add.reduceat(moves, firsts, axis=1)
    return Parts(log_odds(at_usual, others, targets), effects, effects)


def _split_numbers(
    model: Model, at_usual: Array, Z: Array, targets: Targets, exposure: Array | None
) -> tuple[Array, Array]:
    """Losses at the usual margins, and the mean slope of the loss from there to Z. Both (m,)."""
    loss = model.row_loss
    low, high = model.in_units(at_usual), model.in_units(Z)
    if loss.quadratic:
        before, after = targets - low[:, 0], targets - high[:, 0]
        return 0.5 * before * before, -0.5 * (before + after)
    y = loss.targets(targets, exposure)
    before, apart = loss.values(low, y), (high - low)[:, 0]
    # Where the margins hardly differ, the derivative between them.
    close = np.abs(apart) <= CLOSE * (1.0 + np.abs(low[:, 0]))
    slopes = loss.derivatives(np.ascontiguousarray(0.5 * (low + high)), y)[:, 0]
    np.divide(loss.values(high, y) - before, apart, out=slopes, where=~close)
    return before, slopes


def explain_rows(
    model: Model,
    usual: Usual,
    X: Array,
    targets: Targets,
    exposure: Array | None = None,
    firsts: NDArray[np.int32] | None = None,
    cells: Sequence[str] | None = None,
) -> Reasons:
    """Why each of these rows loses so much. X: (m, columns); targets: (m,), as the file has.

    exposure: (m,), where the model needs it. firsts: (m,) what is named first: 0 the target, k + 1
    feature k, -1 the largest part. cells: (m,) what is wrong with a cell, which comes first.
    """
    reasons = [
        Reasons(_columns(model), [], np.empty((0, MOST_NAMED), np.int32), np.empty((0, MOST_NAMED)))
    ]
    for start in range(0, len(X), _CHUNK):
        rows = slice(start, start + _CHUNK)
        some = None if exposure is None else exposure[rows]
        first = np.full(len(X[rows]), -1, np.int32) if firsts is None else firsts[rows]
        said = [""] * len(X[rows]) if cells is None else cells[rows]
        reasons.append(_explain_some(model, usual, X[rows], targets[rows], some, first, said))
    return join_reasons(reasons)


def _explain_some(
    model: Model,
    usual: Usual,
    X: Array,
    targets: Targets,
    exposure: Array | None,
    firsts: NDArray[np.int32],
    cells: Sequence[str],
) -> Reasons:
    parts = split_losses(model, usual, X, targets, exposure)
    both = np.column_stack([parts.target, parts.features])
    named = put_first(largest_parts(both), firsts)
    words = RowWords(model.encoding, X, usual.centre, usual.spread)
    effect = _effect_words(model)
    sentences = []
    for row, finding in enumerate(_findings(model, X, targets, exposure)):
        wrong = int(firsts[row]) if cells[row] else -1
        features = [column - 1 for column in named[row].tolist() if column > 0]
        features = [j for j in features if j != wrong - 1]
        causes = [
            f"{words.beside_usual(row, j)} {effect(float(parts.effects[row, j]))}" for j in features
        ]
        known = [*features, wrong - 1]
        odd = [oddity for j, oddity in words.oddities(row) if j not in known]
        sentences.append("; ".join([*[cells[row]] * bool(cells[row]), finding, *causes, *odd]))
    return Reasons(_columns(model), sentences, named, named_parts(both, named))


def put_first(named: NDArray[np.int32], firsts: NDArray[np.int32]) -> NDArray[np.int32]:
    """The column that is known to be wrong before the others. (m, 3)."""
    for row in np.flatnonzero(firsts >= 0).tolist():
        others = [each for each in named[row].tolist() if each not in (firsts[row], -1)]
        listed = [int(firsts[row]), *others][:MOST_NAMED]
        named[row] = listed + [-1] * (MOST_NAMED - len(listed))
    return named


def _effect_words(model: Model) -> Callable[[float], str]:
    """What a change of the margin means, in words."""
    if model.task is not Task.REGRESSION:
        return spell_odds
    if model.target.on is TargetScale.LOG:
        return lambda value: spell_factor(value, "prediction")
    return spell_factor if model.row_loss.log_link else spell_effect


def _findings(model: Model, X: Array, targets: Targets, exposure: Array | None) -> list[str]:
    """What the row holds and what the model expects."""
    Z, name = model.margins(DenseRows(X)), model.target.name
    if model.task is Task.REGRESSION:
        predictions = model.target.restore(model.predict(Z, exposure))
        pairs = zip(model.target.restore(targets).tolist(), predictions.tolist(), strict=True)
        return [f"{name} {spell_cell(y)} where {spell(f)} is expected" for y, f in pairs]
    probabilities = model.row_loss.probabilities(Z)
    assert probabilities is not None  # noqa: S101
    others = likeliest_other(Z, targets).tolist()
    labels = [clipped(label) for label in model.target.classes]
    findings = []
    for shares, given, other in zip(probabilities.tolist(), targets.tolist(), others, strict=True):
        mistaken = shares[other] > shares[given]
        likely = f"{labels[other]} is" if mistaken else "that is"
        share = percent(shares[other if mistaken else given])
        findings.append(f"{name} {labels[given]} where {likely} {share} likely")
    return findings


def likeliest_other(Z: Array, given: Targets) -> NDArray[np.intp]:
    """The likeliest class but the given one, the first of equals. Z: (m, outputs); (m,)."""
    margins = _class_margins(Z)
    margins[np.arange(len(Z)), given] = -np.inf
    return np.asarray(np.argmax(margins, axis=1))


def log_odds(Z: Array, ones: NDArray[np.intp], others: Targets) -> Array:
    """Of one class against another. Z: (m, outputs); (m,)."""
    margins, rows = _class_margins(Z), np.arange(len(Z))
    odds: Array = margins[rows, ones] - margins[rows, others]
    return odds


def _class_margins(Z: Array) -> Array:
    """One margin for each class. (m, classes), a new array."""
    return np.column_stack([np.zeros(len(Z)), Z[:, 0]]) if Z.shape[1] == 1 else Z.copy()


def _leave_one_out(
    model: Model,
    usual: Usual,
    X: Array,
    targets: Targets,
    at_usual: Array,
    exposure: Array | None,
) -> Parts:
    Z = model.margins(DenseRows(X))
    losses = model.losses(Z, targets, exposure)
    others = None if model.task is Task.REGRESSION else likeliest_other(Z, targets)
    shape = (len(X), len(model.encoding.features))
    parts, effects = np.empty(shape), np.empty(shape)
    for j, (_, first, stop) in enumerate(spans(model.encoding)):
        without = X.copy()
        without[:, first:stop] = usual.centre[first:stop]
        moved = model.margins(DenseRows(without))
        parts[:, j] = losses - model.losses(moved, targets, exposure)
        if others is None:
            effects[:, j] = (model.in_units(Z) - model.in_units(moved))[:, 0]
        else:
            effects[:, j] = log_odds(Z, others, targets) - log_odds(moved, others, targets)
    return Parts(model.losses(at_usual, targets, exposure), parts, effects)


def largest_parts(parts: Array) -> NDArray[np.int32]:
    """The columns of the largest parts of each row, -1 where they are too small. (m, 3)."""
    raising = np.maximum(parts, 0.0)
    named = np.full((len(parts), MOST_NAMED), -1, np.int32)
    order = np.argsort(-raising, axis=1, kind="stable")[:, :MOST_NAMED]
    values = np.take_along_axis(raising, order, axis=1)
    enough = values >= SMALLEST_SHARE * raising.sum(axis=1, keepdims=True)
    enough[:, 0] = True
    enough &= values > 0.0
    named[:, : order.shape[1]][enough] = order[enough]
    return named


def named_parts(parts: Array, named: NDArray[np.int32]) -> Array:
    return np.where(named >= 0, np.take_along_axis(parts, np.maximum(named, 0), axis=1), np.nan)


def _columns(model: Model) -> tuple[str, ...]:
    return (model.target.name, *model.encoding.feature_names)


def first_columns(encoding: Encoding) -> list[int]:
    return [first for _, first, _ in spans(encoding)]
