"""After a search that keeps a fixed fraction of the rows: one fit weighted by the inlier weights.

A subquantile keeps a given number of rows: outliers too where that is too many, and it drops
inliers that a linear model does not fit. The inlier weights have neither limitation.
"""

from dataclasses import replace
from time import perf_counter

from lrisk_cli.errors import opt
from lrisk_cli.native.threads import one_thread
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.starts import fit_weights
from lrisk_cli.types import Array


def reweight(problem: Problem, found: Solution, inliers: Array, limits: Limits) -> Solution:
    """The minimiser of sum_i w_i l_i(W) / sum w + mu/2 ||W||^2, w the inlier weights (n,).

    Its objective is that of the risk, larger than where the search ended: `trimmed_objective`.
    Returns `found` unchanged where the time is up.
    """
    if perf_counter() >= limits.deadline:
        return found
    with one_thread():
        W, passes = _inlier_fit(problem, found, inliers, limits)
        point = problem.at(W, problem.row_weighter())
    fraction = 100.0 * float(inliers.mean())
    cut, limit = perf_counter() >= limits.deadline, opt("time_limit")
    return replace(
        found,
        W=W,
        lam=point.lam,
        objective=point.objective,
        status=f"{found.status}; then fitted to the inliers, {fraction:.3g} % of the rows"
        + (f", for as long as {limits.time_limit:g} s ({limit}) allowed" if cut else ""),
        converged=found.converged and not cut,
        passes=found.passes + passes + 1.0,
        trimmed_objective=found.objective,
    )


def _inlier_fit(
    problem: Problem, found: Solution, inliers: Array, limits: Limits
) -> tuple[Array, int]:
    """The weighted fit, which the search may have made already; the passes it took."""
    if found.inlier_fit is not None and problem.loss.quadratic:
        return found.inlier_fit, 0
    near = found.W if found.inlier_fit is None else found.inlier_fit
    accuracy = 0.1 * limits.tol * abs(found.objective)
    weights = fit_weights(inliers)
    return weighted_minimiser(problem, weights, near, accuracy, until=limits.deadline)
