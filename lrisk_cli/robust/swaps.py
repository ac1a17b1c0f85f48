"""Margins of classes and labels -> how often labels are swapped, and which ones probably are.

Letters: n rows, C classes, Z (n, C) margins of fits that have not seen the row, p = softmax(a Z)
the probabilities of the true class, T (C, C) with T_kj the probability that class k is written j.

A label is seen with probability sum_k p_k T_ky, and is right with probability p_y T_yy over that.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Array, Index

# The largest rate of wrong labels of a class.
MOST_RATE = 0.5
# Temperatures change by this factor, within these bounds.
WARMER, COLDEST, WARMEST = 1.19, 0.2, 10.0
# Classes are swapped only if the columns tell them from the others: the probability of the class,
# averaged over the rows where it is the true one, is at least this.
TOLD_APART = 0.35
TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Swaps:
    """T (C, C), the temperature a, and the log-likelihood of the labels under both."""

    rates: Array
    temperature: float = 1.0
    likelihood: float = -np.inf


def one_rate(rate: float, n_classes: int) -> Array:
    """T with one rate for every class, all its swaps equally likely."""
    others: Array = 1.0 - np.eye(n_classes)
    return _with_diagonal(rate * others / (n_classes - 1))


def without_swaps(Z: Array, y: Index) -> Swaps:
    """The best temperature for margins of labels that are all right."""
    swaps = _warm(Swaps(np.eye(Z.shape[1])), Z, y)
    while (better := _warm(swaps, Z, y)).temperature != swaps.temperature:
        swaps = better
    return swaps


def improve(swaps: Swaps, Z: Array, y: Index, *, by_pair: bool) -> Swaps:
    """A step of expectation maximisation for T, and one of the temperature.

    by_pair: a rate for every pair of classes; otherwise one for all.
    """
    n_classes = Z.shape[1]
    joint = _joint(swaps, Z, y)
    counts = np.stack([joint[y == j].sum(axis=0) for j in range(n_classes)], axis=1)
    if by_pair:
        rates = _rates_by_pair(counts)
    else:
        wrong = 1.0 - float(np.trace(counts)) / max(float(counts.sum()), TINY)
        rates = one_rate(min(wrong, MOST_RATE), n_classes)
    return _warm(Swaps(rates, swaps.temperature), Z, y)


def only_told_apart(swaps: Swaps, Z: Array, y: Index) -> Swaps:
    """The same without swaps of classes that the columns do not tell from the others.

    The rows of such a class disagree with the columns because these say little about it.
    """
    joint = _joint(swaps, Z, y)
    own = (joint * _probabilities(Z, swaps.temperature)).sum(axis=0)
    told = own >= TOLD_APART * joint.sum(axis=0)
    return Swaps(_with_diagonal(swaps.rates * np.outer(told, told)), swaps.temperature)


def right_labels(swaps: Swaps, Z: Array, y: Index) -> tuple[Array, Array]:
    """The probability that a label is right, and the log-odds that it is wrong. Both (n,)."""
    joint = _joint(swaps, Z, y)
    rows = np.arange(len(y))
    right = joint[rows, y].copy()
    joint[rows, y] = 0.0
    wrong = joint.sum(axis=1)
    return right, np.log(np.maximum(wrong, TINY)) - np.log(np.maximum(right, TINY))


def fit_weights(swaps: Swaps, Z: Array, y: Index) -> Array:
    """Weights by which the labels follow the true classes: P(right) / T_yy, at most 1. (n,)."""
    kept = np.diag(swaps.rates)
    found: Array = right_labels(swaps, Z, y)[0] * (kept.min() / kept[y])
    return found


def _rates_by_pair(counts: Array) -> Array:
    """T from how many rows of true class k are written j, one row added to each class. (C, C)."""
    n_classes = len(counts)
    others = 1.0 - np.eye(n_classes)
    off = counts * others
    wrong = np.minimum(off.sum(axis=1) / (counts.sum(axis=1) + 1.0), MOST_RATE)
    off += others / (n_classes - 1)
    return _with_diagonal(wrong[:, None] * off / off.sum(axis=1, keepdims=True))


def _with_diagonal(off: Array) -> Array:
    """T from its rates of swaps: what is left stays as it is."""
    T = off.copy()
    np.fill_diagonal(T, 0.0)
    np.fill_diagonal(T, 1.0 - T.sum(axis=1))
    return T


def _warm(swaps: Swaps, Z: Array, y: Index) -> Swaps:
    """The best of three neighbouring temperatures; the present one of equals."""
    best = swaps
    for factor in (1.0, 1.0 / WARMER, WARMER):
        a = float(np.clip(swaps.temperature * factor, COLDEST, WARMEST))
        seen = (_probabilities(Z, a) * swaps.rates[:, y].T).sum(axis=1)
        likelihood = float(np.log(np.maximum(seen, TINY)).sum())
        if factor == 1.0 or likelihood > best.likelihood:
            best = Swaps(swaps.rates, a, likelihood)
    return best


def _probabilities(Z: Array, a: float) -> Array:
    scaled = a * Z
    scaled -= scaled.max(axis=1, keepdims=True)
    np.exp(scaled, out=scaled)
    scaled /= scaled.sum(axis=1, keepdims=True)
    return scaled


def _joint(swaps: Swaps, Z: Array, y: Index) -> Array:
    """The probability of each true class, given the label. (n, C)."""
    joint = _probabilities(Z, swaps.temperature) * swaps.rates[:, y].T
    joint /= np.maximum(joint.sum(axis=1, keepdims=True), TINY)
    return joint
