"""ERM: the mean of the losses, by lrisk's own solver."""

from lrisk_cli.baselines.common import BaselineFit, Setting, losses_at
from lrisk_cli.solvers.direct import solve_mean
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.solution import Limits


def fit(problem: Problem, setting: Setting) -> BaselineFit:  # noqa: ARG001
    """Ridge or logistic regression, with its proof."""
    solution = solve_mean(problem, Limits(tol=1e-8))
    return BaselineFit(solution.W, None, losses_at(problem, solution.W), solution.status)
