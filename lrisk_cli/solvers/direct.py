"""The mean: its row weights never change, so one weighted fit is the answer."""

import numpy as np

from lrisk_cli.certificate import weighted_minimiser
from lrisk_cli.problem import Problem
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.outcome import Course, Limits, Solution


def solve_mean(problem: Problem, limits: Limits, report: Report = silent) -> Solution:
    """Ridge by Cholesky for squared losses; Newton, or L-BFGS for many unknowns, for others."""
    course, weigher = Course(problem, limits, report), problem.weigher()
    zero = problem.at(np.zeros(problem.shape), weigher)
    course.begin(zero.objective, zero.smoothed)
    course.note(zero.objective)
    course.passes += 1.0
    # What is accurate enough depends on what is gained: first a rough answer, then the rest.
    accuracy = 1e-3 * zero.objective
    while True:
        W, passes = weighted_minimiser(problem, problem.sigma, course.W, accuracy)
        point = problem.at(W, weigher)
        course.passes += passes + 1.0
        course.note(point.objective)
        better = course.offer(W, point.objective, point.smoothed)
        accuracy = 0.1 * limits.tol * course.gained
        gradient = problem.gradient(W, point.margins, problem.sigma)
        accurate = float(np.sum(gradient**2)) <= 2.0 * problem.mu * accuracy
        limit = course.exhausted()
        if accurate or limit or not better:
            break
    course.prove(problem.sigma, W)
    course.note(point.objective)
    return course.solution(limit or "stopped because rounding hides what is left")
