"""Where the search for the minimum of a falling risk begins: named sets of row weights."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.problem import Problem
from lrisk_cli.risk import row_weights

Array = NDArray[np.float64]

# Fits to a few random rows, and how many rows for each unknown they see.
N_RANDOM, ROWS_PER_UNKNOWN = 2, 2


@dataclass(frozen=True, slots=True)
class Start:
    """A search begins at the minimiser of weights.l(W) + mu/2 ||W||^2. weights: (n,), sum 1."""

    name: str
    weights: Array


def starts(problem: Problem, seed: int) -> list[Start]:
    """All rows, those with a target near the median, and a few random ones; each set once."""
    n = problem.n_rows
    found = [Start("all rows", np.full(n, 1.0 / n))]
    if problem.loss.name == "squared":
        found.append(Start("nearest rows", _near_median(problem)))
    rng = np.random.default_rng([seed, 2])
    n_few = ROWS_PER_UNKNOWN * (problem.X.shape[1] + 1)
    if n_few < n:
        for k in range(N_RANDOM):
            weights = np.zeros(n)
            weights[rng.choice(n, n_few, replace=False)] = 1.0 / n_few
            found.append(Start(f"random rows {k + 1}", weights))
    return found


def _near_median(problem: Problem) -> Array:
    """The weights that the risk gives to the rows if all are predicted to be the median."""
    # The order of the errors is that of their squares, which may overflow.
    return row_weights(np.abs(problem.y - np.median(problem.y)), problem.spectrum)
