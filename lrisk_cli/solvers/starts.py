"""Where the search for the minimum of a falling risk begins: named sets of row weights."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.risk.row_weights import row_weights
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

MAJORITY = "majority"
# Rows that belong to the majority less surely than this are left out.
HARDLY = 1e-6


@dataclass(frozen=True, slots=True)
class Start:
    """A search begins at the minimiser of weights.l(W) + mu/2 ||W||^2. weights: (n,), sum 1."""

    name: str
    weights: Array


def starts(problem: Problem, majority: Array | None = None) -> list[Start]:
    """The rows known to agree, all rows, and of numbers those near the median.

    majority: (n,) how surely each row belongs to those that agree, where that is known.
    """
    n = problem.n_rows
    found = [] if majority is None else [Start(MAJORITY, fit_weights(majority))]
    found.append(Start("all rows", np.full(n, 1.0 / n)))
    numbers = problem.loss.numbers(problem.y)
    if numbers is not None:
        found.append(Start("nearest rows", _near_median(problem, numbers)))
    return found


def fit_weights(majority: Array) -> Array:
    """Weights of a fit to the majority: in proportion to how surely a row belongs to it. (n,)."""
    weights: Array = np.where(majority < HARDLY, 0.0, majority)
    weights /= weights.sum()
    return weights


def _near_median(problem: Problem, numbers: Array) -> Array:
    """The weights that the risk gives to the rows if all are predicted to be the median."""
    # The order of the errors is that of their squares, which may overflow.
    return row_weights(np.abs(numbers - np.median(numbers)), problem.spectrum)
