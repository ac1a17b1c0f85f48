"""Losses with kinks: minimise rounded versions of them, ever less rounded.

A rounded loss is below the loss itself, and so are the affine functions that it is computed from:
a lower bound by these holds for the loss as it is. What they miss is at most a quarter of the width
on the rows within the rounding, and nothing on all others.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

# The first width is this fraction of the mean distance of targets from margins, a later one so
# much of the one before; the last as small as this fraction of the first.
FIRST_WIDTH, NARROWER, LEAST_WIDTH = 0.5, 0.2, 1e-9
# Minimise a problem for weights from a start, to an accuracy: where, and the passes it took.
Minimise = Callable[[Problem, Array, float], tuple[Array, int]]


def soften(problem: Problem, width: float) -> Problem:
    """The problem with rounded losses."""
    return replace(problem, loss=problem.loss.softened(width))


def first_width(problem: Problem, Z: Array) -> float:
    """By the distances of targets from margins."""
    distance = problem.mean(np.abs(problem.y - Z[:, 0]))
    return FIRST_WIDTH * distance if 0.0 < distance < np.inf else 1.0


def minimise_softly(
    problem: Problem, lam: Array, start: Array, accuracy: float, minimise: Minimise
) -> tuple[Array, Problem, int]:
    """Nearly minimise lam.l(V) + mu/2 ||V||^2; where, the last rounded problem, and the passes.

    Until the affine functions of that problem miss no more than half the accuracy.
    """
    width = first_width(problem, problem.margins(start))
    least, V, passes = LEAST_WIDTH * width, start, 1
    while True:
        soft = soften(problem, width)
        V, used = minimise(soft, V, 0.5 * accuracy)
        passes += used + 1
        if width <= least or missed(problem, soft, lam, V) <= 0.5 * accuracy:
            return V, soft, passes
        width = max(NARROWER * width, least)


def missed(problem: Problem, soft: Problem, lam: Array, V: Array) -> float:
    """By how much the affine functions of a rounded problem are below the losses at V, weighted."""
    Z = problem.margins(V)
    below, _ = soft.loss.minorants(Z, problem.y)
    return float(core.compensated_dot(lam, problem.loss.values(Z, problem.y) - below))
