"""The mean: its row weights never change, so one weighted fit is the answer."""

import numpy as np

from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.solution import GAVE_OUT, Limits, Solution, SolverRun
from lrisk_cli.types import Array


def solve_mean(
    problem: Problem, limits: Limits, report: Report = silent, start: Array | None = None
) -> Solution:
    """Ridge by Cholesky for squared losses; Newton, or L-BFGS for many unknowns, for others.

    The others begin at `start` where it is better than zero.
    """
    solver_run = SolverRun(problem, limits, report)
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
            problem, problem.sigma, solver_run.W, accuracy, until=solver_run.limits.deadline
        )
        point = problem.at(W, solver_run.row_weighter)
        solver_run.passes += passes + 1.0
        solver_run.note(point.objective)
        better = solver_run.offer(W, point.objective, point.smoothed)
        needed = 0.1 * limits.tol * solver_run.gained
        gradient = problem.gradient(W, point.margins, problem.sigma)
        accurate = float(np.sum(gradient**2)) <= 2.0 * problem.mu * needed
        limit = solver_run.exhausted()
        if accurate or limit or (accuracy <= needed and not better):
            break
        accuracy = needed
    solver_run.prove(problem.sigma, W)
    solver_run.note(point.objective)
    return solver_run.solution(limit or GAVE_OUT)
