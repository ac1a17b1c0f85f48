"""The mean: its row weights never change, so one weighted fit is the answer."""

from time import perf_counter

import numpy as np

from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.solution import GAVE_OUT, Limits, Solution, SolverRun, Watch
from lrisk_cli.types import Array


def solve_mean(
    problem: Problem,
    limits: Limits,
    report: Report = silent,
    start: Array | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Ridge by Cholesky for squared losses; Newton, or L-BFGS for many unknowns, for others.

    The others begin at `start` where it is better than zero.
    """
    solver_run = SolverRun(problem, limits, report)
    solver_run.watch = watch
    zero = problem.at(np.zeros(problem.shape), solver_run.row_weighter)
    solver_run.begin(zero.objective, zero.smoothed)
    solver_run.note(zero.objective)
    solver_run.passes += 1.0
    if start is not None and not problem.loss.quadratic:
        near = problem.at(start, solver_run.row_weighter)
        solver_run.passes += 1.0
        solver_run.offer(start, near.objective, near.smoothed)
    # What is accurate enough depends on what is gained: first a rough answer, then the rest.
    accuracy = 1e-3 * zero.objective
    while True:
        W, passes = weighted_minimiser(
            problem, problem.even, solver_run.W, accuracy, until=solver_run.limits.deadline
        )
        point = problem.at(W, solver_run.row_weighter)
        solver_run.passes += passes + 1.0
        solver_run.note(point.objective)
        better = solver_run.offer(W, point.objective, point.smoothed, point)
        needed = 0.1 * limits.tol * solver_run.gained
        # Squared losses are minimised as well as they can be, whatever the accuracy.
        accurate = problem.loss.quadratic
        if not accurate:
            gradient = problem.gradient(W, point.margins, problem.even)
            accurate = float(np.sum(gradient**2)) <= 2.0 * problem.mu * needed
        limit = solver_run.exhausted()
        if accurate or limit or (accuracy <= needed and not better):
            break
        accuracy = needed
    solver_run.prove(problem.even, W, margins=point.margins)
    solver_run.note(point.objective)
    return solver_run.solution(limit or GAVE_OUT)


def mean_minimiser(
    problem: Problem, start: Array | None, tol: float, until: float = np.inf
) -> Array | None:
    """Nearly the minimiser of the mean of the losses plus penalty, whatever the risk is. (d, k).

    It misses at most tol of what the minimum gains over zero coefficients, as far as rounding
    allows; nothing is proved. start: a guess. None where the time is over before.
    """
    lam = problem.even
    zero = np.zeros(problem.shape)
    with one_thread(), np.errstate(all="ignore"):
        at_zero = problem.weighted_value(zero, np.zeros((problem.n_rows, zero.shape[1])), lam)
        W = start
        if W is None:
            # What is accurate enough depends on what is gained: first a rough answer.
            W, _ = weighted_minimiser(problem, lam, zero, 1e-3 * at_zero, until=until)
            if problem.loss.quadratic:
                return W
        Z = problem.margins(W)
        gained = at_zero - problem.weighted_value(W, Z, lam)
        accuracy = tol * max(gained, tol * at_zero)
        gradient = problem.gradient(W, Z, lam)
        if float(np.sum(gradient**2)) <= 2.0 * problem.mu * accuracy:
            return W
        if perf_counter() >= until:
            return None
        W, _ = weighted_minimiser(problem, lam, W, accuracy, until=until)
    return None if perf_counter() >= until else W
