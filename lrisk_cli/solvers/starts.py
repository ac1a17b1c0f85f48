"""Starting points of the search for the minimum of a falling risk: named sets of row weights."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.native.medians import weighted_median
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

INLIERS_START = "majority"
# Rows with smaller inlier weights than this are left out.
LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, slots=True)
class Start:
    """A search begins at the minimiser of weights.l(W) + mu/2 ||W||^2. weights: (n,), sum 1."""

    name: str
    weights: Array


def starts(problem: Problem, inliers: Array | None = None) -> list[Start]:
    """The inliers where known, all rows, and for numeric targets those near the median.

    inliers: (n,) the probability that each row is an inlier, where that is known.
    """
    found = []
    if inliers is not None:
        found.append(Start(INLIERS_START, _by_masses(problem, fit_weights(inliers))))
    found.append(Start("all rows", problem.even))
    numbers = problem.loss.numbers(problem.y)
    if numbers is not None:
        found.append(Start("nearest rows", _near_median(problem, numbers)))
    return found


def fit_weights(inliers: Array) -> Array:
    """Weights of a fit to the inliers: proportional to the probability of being one. (n,)."""
    weights: Array = np.where(inliers < LEAST_WEIGHT, 0.0, inliers)
    weights /= weights.sum()
    return weights


def _by_masses(problem: Problem, weights: Array) -> Array:
    """The weights times the masses of the rows, where these have any. (n,), sum 1."""
    if problem.masses is None:
        return weights
    weighed = problem.times_masses(weights)
    weighed /= weighed.sum()
    return weighed


def _near_median(problem: Problem, numbers: Array) -> Array:
    """The weights that the risk gives to the rows if all are predicted to be the median."""
    # The order of the errors is that of their squares, which may overflow.
    masses = None if problem.masses is None else problem.masses.values
    return problem.weigh_losses(np.abs(numbers - weighted_median(numbers, masses)))
