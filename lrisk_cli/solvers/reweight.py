"""After a search that keeps a fixed share of the rows: one fit to all rows that belong together.

A subquantile keeps as many rows as it was told, wrong ones among them where it was told too many,
and drops honest rows that a line cannot follow. The majority is judged without either handicap.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.certificate import weighted_minimiser
from lrisk_cli.problem import Problem
from lrisk_cli.solvers.outcome import Limits, Solution
from lrisk_cli.solvers.starts import fit_weights

Array = NDArray[np.float64]


def reweight(problem: Problem, found: Solution, majority: Array, limits: Limits) -> Solution:
    """The minimiser of sum_i w_i l_i(W) / sum w + mu/2 ||W||^2, w the majority (n,).

    Its objective is that of the risk, larger than where the search ended: `trimmed_objective`.
    """
    W, passes = found.majority_fit, 0
    if W is None or problem.loss.name != "squared":
        near = found.W if W is None else W
        accuracy = 0.1 * limits.tol * abs(found.objective)
        W, passes = weighted_minimiser(problem, fit_weights(majority), near, accuracy)
    point = problem.at(W, problem.weigher())
    share = 100.0 * float(majority.mean())
    return replace(
        found,
        W=W,
        lam=point.lam,
        objective=point.objective,
        status=f"{found.status}; then fitted to the majority, {share:.3g} % of the rows",
        passes=found.passes + passes + 1.0,
        trimmed_objective=found.objective,
    )
